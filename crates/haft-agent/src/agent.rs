//! An agent: a runtime, a model, and how its loop runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::contract::Mode;
use haft_core::session::Session;
use haft_core::{Caller, ErrorKind, Principal, Tool, ToolError};
use haft_runtime::Runtime;
use haft_wire::{Dialect, render};

use crate::approve::{Approve, Nobody};
use crate::budget::{Spending, Standing};
use crate::chat::Chat;
use crate::model::Model;
use crate::offer::Shelf;
use crate::settings::Settings;
use crate::told::Told;

/// An agent. Cheap to clone; conversations of one agent share what is rendered.
#[derive(Clone)]
pub struct Agent {
    pub(crate) runtime: Runtime,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) approve: Arc<dyn Approve>,
    /// By provider, the connection that calls may use.
    pub(crate) connections: Arc<BTreeMap<String, String>>,
    pub(crate) shelf: Arc<Shelf>,
    spending: Arc<Spending>,
}

impl Agent {
    /// An agent with nobody to ask: what needs approval waits for someone to approve it elsewhere.
    #[must_use]
    pub fn new(runtime: Runtime, model: Arc<dyn Model>, settings: Settings) -> Self {
        Self {
            runtime,
            model,
            settings: Arc::new(settings),
            approve: Arc::new(Nobody(Principal::user("nobody"))),
            connections: Arc::default(),
            shelf: Arc::default(),
            spending: Arc::default(),
        }
    }

    /// Where a tenant stands with its tokens; none where it may use as many as it likes.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn budget(&self, tenant: &str) -> Result<Option<Standing>, ToolError> {
        let found = self.spending.of(&self.runtime, tenant).await;
        found.map_err(|why| {
            let message = "it cannot be read how many tokens were used";
            ToolError::new(ErrorKind::StoreUnavailable, message).caused_by(why)
        })
    }

    /// With somebody who can be asked.
    #[must_use]
    pub fn approved_by(mut self, approve: Arc<dyn Approve>) -> Self {
        self.approve = approve;
        self
    }

    /// With connections for the tools that need one, by provider.
    #[must_use]
    pub fn connected(mut self, connections: BTreeMap<String, String>) -> Self {
        self.connections = Arc::new(connections);
        self
    }

    /// Begins a conversation, in a session of its own.
    ///
    /// # Errors
    ///
    /// The user is blocked, no registry is loaded, or the store cannot be written.
    pub async fn chat(&self, caller: Caller) -> Result<Chat, ToolError> {
        let session = self.runtime.open(&caller, self.settings.mode).await?;
        Ok(Chat::new(self.clone(), caller, &session))
    }

    /// Goes on with a conversation that somebody else keeps, in a session of theirs.
    #[must_use]
    pub fn take_up(&self, caller: Caller, session: &Session, told: Told) -> Chat {
        Chat::new(self.clone(), caller, session).told(told)
    }

    /// The dialect of its model.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.model.dialect()
    }

    /// Whether a tool's arguments are shown to the model in another form than the contract's.
    pub(crate) fn is_changed(&self, tool: &Tool) -> bool {
        render(self.model.dialect(), self.settings.strictness, [tool]).is_changed(&tool.id)
    }

    /// How user and model talk.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.settings.mode
    }
}
