//! Whether an approval would still be for what would run.

use haft_core::contract::Mode;
use haft_core::record::Confirmation;
use haft_core::{Caller, ErrorKind, Tool, ToolError};
use serde_json::json;

use super::{Inner, Runtime};
use crate::shelf::Shelf;
use crate::toolbox::{Found, Why};

/// What has changed since a question was put, so that its answer would count for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Void {
    /// Other rules are in force, for this tenant's calls.
    Rules,
    /// The contract is another one.
    Tool,
    /// The agent has the tool no longer.
    ToolGone,
    /// The connection is not there any more.
    ConnectionGone,
}

impl Void {
    const ALL: [Self; 4] = [Self::Rules, Self::Tool, Self::ToolGone, Self::ConnectionGone];

    /// What an approver was told, where that is why their approval was not taken.
    #[must_use]
    pub fn of(error: &ToolError) -> Option<Self> {
        let why = error.details.as_ref()?.get("why")?.as_str()?;
        let is_refusal = error.kind == ErrorKind::ConfirmationRefused;
        Self::ALL.into_iter().find(|one| is_refusal && one.as_str() == why)
    }

    /// The word for programs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules_changed",
            Self::Tool => "tool_changed",
            Self::ToolGone => "tool_gone",
            Self::ConnectionGone => "connection_gone",
        }
    }

    /// In words, for whoever answers.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Rules => "the rules have changed since this was asked",
            Self::Tool => "the tool has changed since this was asked",
            Self::ToolGone => "the agent no longer has the tool that this was asked for",
            Self::ConnectionGone => "the connection that this was asked for is gone",
        }
    }

    /// What an approver is told, who would approve what does not run.
    pub(super) fn refusal(self) -> ToolError {
        let message =
            format!("{}, so an approval would count for nothing; none was given", self.in_words());
        ToolError::new(ErrorKind::ConfirmationRefused, message)
            .suggest(
                "have the agent make the call again, and answer the question that it asks then",
            )
            .with_details(json!({ "why": self.as_str() }))
    }
}

impl Runtime {
    /// What has changed since a question was put, where an answer to it would count for nothing.
    /// The call is decided anew when it is made, so what cannot be told here is found there.
    pub async fn void(&self, asked: &Confirmation) -> Option<Void> {
        let inner = &self.inner;
        let gone = match inner.tool_asked_for(asked).await {
            AskedFor::Other(void) => return Some(void),
            AskedFor::Same(tool) => inner.lacks_connection(asked, &tool).await,
            AskedFor::NotKnown => false,
        };
        if gone {
            return Some(Void::ConnectionGone);
        }
        let now = inner.policy().version_for(&asked.tenant);
        asked.policy_version.as_ref().is_some_and(|then| *then != now).then_some(Void::Rules)
    }
}

/// How the tool of a question stands.
enum AskedFor {
    Same(Box<Tool>),
    Other(Void),
    /// Its session keeps to a registry that is not loaded here, or it is from before anybody said.
    NotKnown,
}

impl Inner {
    /// An approval holds in the session that asked, and outside of any: only what neither would run is
    /// another tool.
    async fn tool_asked_for(&self, asked: &Confirmation) -> AskedFor {
        let session = match &asked.session {
            Some(id) => self.store.session(&asked.tenant, id).await.ok(),
            None => None,
        };
        let mode = session.as_ref().map_or(Mode::Text, |session| session.mode);
        let pinned = session.as_ref().map(|session| session.registry_version.as_str());
        let Some(own) = self.shelf(&asked.tenant, pinned) else { return AskedFor::NotKnown };
        match (self.tool_on(&own, asked, mode), pinned, self.shelf(&asked.tenant, None)) {
            (AskedFor::Other(_), Some(_), Some(current)) => self.tool_on(&current, asked, mode),
            (stands, ..) => stands,
        }
    }

    fn tool_on(&self, shelf: &Shelf, asked: &Confirmation, mode: Mode) -> AskedFor {
        let Some(digest) = &asked.tool_digest else { return AskedFor::NotKnown };
        let caller = Caller {
            actor: asked.actor.clone(),
            subject: asked.subject.clone(),
            ..Caller::agent(&asked.tenant, &asked.agent)
        };
        let now_ms = self.store.now_ms();
        let catalog = self.catalog(shelf, &caller, mode, asked.session.as_deref(), now_ms);
        let tool = match catalog.find(&asked.tool) {
            Found::Tool(tool) | Found::Narrowed(tool) => &tool.tool,
            // What depends on who asks, and when, is decided when the call is made.
            Found::Unavailable(one) if !is_for_good(one.why) => &one.tool,
            Found::Unavailable(_) | Found::Ambiguous(_) | Found::Unknown => {
                return AskedFor::Other(Void::ToolGone);
            }
        };
        match tool.digest == *digest {
            true => AskedFor::Same(Box::new(Tool::clone(tool))),
            false => AskedFor::Other(Void::Tool),
        }
    }

    /// Whether a tool would ask for credentials that nobody has any more.
    async fn lacks_connection(&self, asked: &Confirmation, tool: &Tool) -> bool {
        let (Some(id), Some(_)) = (&asked.connection, &tool.contract.connection) else {
            return false;
        };
        let Some(connections) = self.office.connections() else { return false };
        let accounts = connections.accounts(&asked.tenant).await;
        accounts.is_ok_and(|all| !all.iter().any(|one| one.id == *id))
    }
}

/// Whether a tool is missing whoever asks.
fn is_for_good(why: Why) -> bool {
    match why {
        Why::NeedsDefinition
        | Why::DisabledForTenant
        | Why::Version
        | Why::Unbound
        | Why::NotInAgentTools
        | Why::DisabledForAgent => true,
        Why::Mode
        | Why::ConnectionMissing
        | Why::Policy
        | Why::Availability
        | Why::ApprovalHidden
        | Why::Narrowed => false,
    }
}
