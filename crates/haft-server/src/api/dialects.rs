//! A provider's assistant message in, the tool messages that answer it out.

use axum::Json;
use haft_core::call::{Call, Caller};
use haft_core::contract::Mode;
use haft_core::port::Invoke as _;
use haft_core::{Envelope, Tool};
use haft_wire::results::{Answer, malformed, results};
use haft_wire::{Dialect, Finish, Limits, Rendering, Strictness, Turn, WireCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::ModeName;
use crate::door::Door;
use crate::problem::Problem;

/// How the body is to be read, and where the calls of a provider's message belong.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said {
    /// The body is the assistant message, or the whole response, of this provider, as it was sent:
    /// `openai`, `openai-responses`, `openai-realtime`, `anthropic`, `gemini`, `gemini-live`, `mcp`
    /// or `adm`. Absent: the body is a call of ours.
    pub(crate) format: Option<String>,
    /// The session that the calls belong to.
    session: Option<String>,
    /// How model and user talk, where no session says: `text` (as when absent) or `voice`.
    #[serde(default)]
    #[param(inline)]
    mode: ModeName,
    /// Whether the tools were shown with `strict=true`.
    #[serde(default)]
    strict: bool,
}

/// What is appended to the conversation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answered {
    /// The provider's own messages or items, in order: append them to what was sent.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// The envelope of each call, for programs that want more than the model is told.
    #[schema(value_type = Vec<Object>)]
    outcomes: Vec<Value>,
}

/// Runs the calls of a provider's message, in order, and answers in the provider's own words. The
/// body is the assistant message, or the whole response, as the provider sent it.
pub(crate) async fn answer(
    door: &Door,
    caller: Caller,
    format: &str,
    said: &Said,
    key: Option<String>,
    bytes: &[u8],
) -> Result<Json<Answered>, Problem> {
    let dialect: Dialect =
        format.parse().map_err(|error| Problem::malformed(format!("`format`: {error}")))?;
    let turn = haft_wire::decode::message(dialect, Limits::default(), bytes);
    if let Finish::Failed | Finish::Cut = turn.end.finish
        && turn.calls.is_empty()
        && turn.broken.is_empty()
    {
        let why = turn.end.fault.map_or_else(String::new, |fault| format!(": {}", fault.message));
        return Err(Problem::malformed(format!("this is no message of `{dialect}`{why}")));
    }
    let run = Run { door, caller, said, dialect, key };
    Ok(Json(run.all(&turn).await))
}

struct Run<'a> {
    door: &'a Door,
    caller: Caller,
    said: &'a Said,
    dialect: Dialect,
    key: Option<String>,
}

impl Run<'_> {
    async fn all(&self, turn: &Turn) -> Answered {
        let rendering = self.rendering();
        let mut ends: Vec<(WireCall, Envelope)> = Vec::new();
        for call in &turn.calls {
            let envelope = self.door.runtime.invoke(self.call(&rendering, call)).await;
            ends.push((call.clone(), envelope));
        }
        for broken in &turn.broken {
            let id = broken.call.id.clone().unwrap_or_default();
            ends.push((broken.call.clone(), malformed(broken, &id)));
        }
        ends.sort_by_key(|(call, _)| (call.choice, call.position));
        let answers: Vec<Answer<'_>> = ends
            .iter()
            .map(|(call, envelope)| Answer { id: call.id.as_deref(), name: &call.name, envelope })
            .collect();
        Answered {
            messages: results(self.dialect, &answers),
            outcomes: ends.iter().map(|(_, envelope)| json!(envelope)).collect(),
        }
    }

    /// The tools as they were shown, so that what was changed on the way out is changed back.
    fn rendering(&self) -> Rendering {
        let mode: Mode = self.said.mode.into();
        let catalog = self.door.runtime.catalog(&self.caller, mode);
        let strict = if self.said.strict { Strictness::Strict } else { Strictness::Plain };
        let tools: Vec<&Tool> = catalog.list().map(|one| &*one.tool).collect();
        haft_wire::render(self.dialect, strict, tools)
    }

    fn call(&self, rendering: &Rendering, wire: &WireCall) -> Call {
        let tool = rendering.tool(&wire.name).unwrap_or(&wire.name).to_owned();
        let arguments = rendering.arguments(&wire.name, &wire.arguments);
        let mut call = Call::new(self.caller.clone(), tool, arguments);
        call.id.clone_from(&wire.id);
        call.session.clone_from(&self.said.session);
        call.mode = self.said.mode.into();
        // A message that is posted again has its calls at the same places.
        call.key = self.key.as_ref().map(|key| format!("{key}/{}/{}", wire.choice, wire.position));
        call
    }
}
