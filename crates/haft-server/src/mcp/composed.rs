//! The agent's own system prompt as a prompt: the toolset's texts, what each tool is for, the loop.

use haft_build::prompt::compose_for;
use haft_core::content::Content;
use haft_core::contract::Mode;
use haft_core::{Caller, ErrorKind, Tool, ToolError};
use haft_runtime::Runtime;
use serde_json::{Map, Value};

use super::extra::{Argument, Message, Prompt};

/// Its name.
pub(super) const NAME: &str = "system";
const MODES: [Mode; 2] = [Mode::Text, Mode::Voice];

pub(super) fn prompt() -> Prompt {
    Prompt {
        name: NAME.to_owned(),
        description: "the system prompt of this agent, with its tools".to_owned(),
        arguments: vec![Argument {
            name: "mode".to_owned(),
            description: "how model and user talk: `text` (as when absent) or `voice`".to_owned(),
            required: false,
        }],
    }
}

pub(super) fn get(
    runtime: &Runtime,
    caller: &Caller,
    arguments: &Map<String, Value>,
) -> Result<Vec<Message>, ToolError> {
    let asked = arguments.get("mode").and_then(Value::as_str).unwrap_or(Mode::Text.as_str());
    let mode = MODES.into_iter().find(|mode| mode.as_str() == asked).ok_or_else(|| {
        ToolError::new(ErrorKind::InvalidArguments, "`mode` must be `text` or `voice`")
    })?;
    let (registry, catalog) = (runtime.current(), runtime.catalog(caller, mode));
    let tools: Vec<&Tool> = catalog.list().map(|one| &*one.tool).collect();
    let text = compose_for(&registry, mode, &tools, &[]);
    Ok(vec![Message::user(Content::text(text))])
}

/// What the mode's beginning might become.
pub(super) fn complete(argument: &str, so_far: &str) -> Vec<String> {
    let modes = MODES.iter().map(|mode| mode.as_str()).filter(|mode| mode.starts_with(so_far));
    let modes = modes.filter(|_| argument == "mode");
    modes.map(str::to_owned).collect()
}
