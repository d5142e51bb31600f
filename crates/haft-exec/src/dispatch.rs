//! Which executor runs a tool: the first that can.

use std::sync::Arc;

use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Ended, Execute, Job};
use haft_core::registry::{Implementation, Tool};
use serde_json::Value;

/// A list of executors, asked in order.
#[derive(Clone, Default)]
pub struct Executors(Vec<Arc<dyn Execute>>);

impl Executors {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more, asked after the others.
    #[must_use]
    pub fn with(mut self, executor: impl Execute + 'static) -> Self {
        self.0.push(Arc::new(executor));
        self
    }

    fn for_tool(&self, tool: &Tool) -> Option<&Arc<dyn Execute>> {
        self.0.iter().find(|executor| executor.can_run(tool))
    }
}

impl Execute for Executors {
    fn can_run(&self, tool: &Tool) -> bool {
        self.for_tool(tool).is_some()
    }

    fn vet(&self, tool: &Tool, arguments: &Value) -> Result<(), ToolError> {
        self.for_tool(tool).map_or(Ok(()), |executor| executor.vet(tool, arguments))
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        match self.for_tool(&job.tool) {
            Some(executor) => executor.execute(job),
            None => Box::pin(std::future::ready(Ended::NotBegun(nobody_runs(&job.tool)))),
        }
    }
}

fn nobody_runs(tool: &Tool) -> ToolError {
    let why = match &tool.handler {
        Implementation::Native => "no function was registered for it in this program".to_owned(),
        Implementation::Gateway => "this program has no executor for its gateway".to_owned(),
        Implementation::Unbound => "it has no handler; add one to its folder".to_owned(),
        Implementation::Js { .. }
        | Implementation::Wasm { .. }
        | Implementation::Process { .. } => {
            format!("this program has no executor for `{}` handlers", tool.handler.as_str())
        }
    };
    ToolError::new(ErrorKind::Internal, format!("`{}` cannot be run: {why}", tool.id))
}
