//! A provider's assistant message in, the tool messages that answer it out.

mod adm;

use std::borrow::Cow;
use std::sync::Arc;

use haft_agent::describe::as_shown;
use haft_core::call::{Asked, Call, Caller, Keyed, Together};
use haft_core::port::Invoke as _;
use haft_core::{Digest, Envelope, ErrorKind, ToolError};
use haft_runtime::Runtime;
use haft_runtime::toolbox::{Catalog, EffectiveTool};
use haft_wire::decode::{Foreign, TOO_MANY, posted};
use haft_wire::results::{Answer, malformed, results};
use haft_wire::{Broken, Dialect, Finish, Limits, Rendering, Turn, WireCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::{ModeName, tools};
use crate::door::Door;
use crate::problem::Problem;
use crate::shown::target;

/// How the body is to be read, and where the calls of a provider's message belong.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Said {
    /// The body is the assistant message, or the whole response, of this provider, as it was sent, and
    /// nothing else of the conversation: `openai`, `openai-responses`, `openai-realtime`, `anthropic`,
    /// `gemini`, `gemini-live`, `mcp` or `adm`. Absent: the body is a call of ours.
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
    /// The connections that the calls of a provider's message may use, with commas between them;
    /// each call takes the one that fits. Where absent, those that are granted: a call takes the only
    /// one that fits.
    connection: Option<String>,
    /// Decide everything about the calls of a provider's message, and do nothing.
    #[serde(default)]
    dry_run: bool,
}

impl Said {
    /// What is said here of calls that say it themselves: those of ours do in the body.
    pub(crate) fn refuse_for_own(&self) -> Result<(), Problem> {
        let said = [
            ("session", self.session.is_some()),
            ("mode", matches!(self.mode, ModeName::Voice)),
            ("strict", self.strict),
            ("connection", self.connection.is_some()),
            ("dry_run", self.dry_run),
        ];
        let Some((name, _)) = said.into_iter().find(|(_, is_said)| *is_said) else { return Ok(()) };
        Err(Problem::malformed(format!(
            "`{name}` in the address is for a provider's message, with `format`; a call of ours has it \
             in its body"
        )))
    }

    /// Of a session, whose mode is set.
    pub(crate) fn in_session(format: &str, session: &str) -> Self {
        let (format, session) = (Some(format.to_owned()), Some(session.to_owned()));
        let mode = ModeName::default();
        Self { format, session, mode, strict: false, connection: None, dry_run: false }
    }

    /// As the tools were shown, with these connections, and perhaps without doing anything.
    pub(crate) fn so(mut self, strict: bool, connection: Option<String>, dry_run: bool) -> Self {
        (self.strict, self.connection, self.dry_run) = (strict, connection, dry_run);
        self
    }
}

/// What tells a message from another with the same text: a provider's calls may have no ids.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    /// Nothing but the turn that it is sent in.
    Plain,
    /// The request's key.
    Keyed(String),
    /// The id of the frame that it came in.
    Framed(String),
}

impl Sent {
    /// What the ids of its calls begin with: the same when it is sent again. Providers count their
    /// own anew in every answer, or give none; a session must tell the answers apart.
    fn stem(&self, turn: Option<u64>, bytes: &[u8]) -> String {
        let text = Digest::of_bytes(bytes);
        let all = match self {
            Self::Plain => json!(["turn", turn, text]),
            Self::Keyed(key) => json!(["key", key, text]),
            Self::Framed(frame) => return frame.clone(),
        };
        Digest::of_json(&all).hex().to_owned()
    }
}

impl From<Option<String>> for Sent {
    fn from(key: Option<String>) -> Self {
        key.map_or(Self::Plain, Self::Keyed)
    }
}

/// What is appended to the conversation.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answered {
    /// The provider's own messages or items, in order: append them to what was sent.
    #[schema(value_type = Vec<crate::shapes::Open>)]
    messages: Vec<Value>,
    /// The envelope of each call, for programs that want more than the model is told.
    #[schema(value_type = Vec<crate::shapes::Envelope>)]
    pub(crate) outcomes: Vec<Envelope>,
}

/// Reads a provider's message and the calls in it. The body is the assistant message, or the whole
/// response, as the provider sent it.
pub(crate) async fn read(
    door: &Door,
    caller: Caller,
    format: &str,
    said: Said,
    sent: Sent,
    bytes: &[u8],
) -> Result<Message, Problem> {
    let target = target(format, said.strict)?;
    let dialect = target.dialect;
    if dialect == Dialect::Adm {
        adm::check(bytes)?;
    }
    let turn = said_by_model(dialect, door.runtime.most_in_message(), bytes)?;
    if is_nothing(&turn) {
        let why = turn.end.fault.map_or_else(String::new, |fault| format!(": {}", fault.message));
        return Err(Problem::malformed(format!("this is no message of `{dialect}`{why}")));
    }
    // The tools as they were shown, so that what was changed on the way out is changed back.
    let mode = said.mode.into();
    let (catalog, session) = tools::catalog(door, &caller, said.session.as_deref(), mode).await?;
    let rendering = door.renderings.of(&catalog, target);
    let stem = sent.stem(session.map(|session| session.turn.number), bytes);
    let is_old = is_old(&turn);
    let mut message = Message { dialect, is_old, catalog, rendering, parts: Vec::new() };
    // A conversation goes on with one alternative: the first.
    let calls: Vec<&WireCall> = turn.calls_to_run().collect();
    let keyed = if calls.len() > 1 { Keyed::Batch } else { Keyed::Request };
    let asking = Asking { door, caller, said, stem, sent, keyed, asked: Arc::default() };
    for wire in calls {
        let call = asking.call(&message, wire);
        message.parts.push((wire.clone(), Part::Call(Box::new(call))));
    }
    for broken in turn.broken.iter().filter(|broken| broken.call.choice == 0) {
        let mut end = malformed(broken, &broken.call.answer_id());
        if dialect == Dialect::Adm && broken.why == Broken::Contradiction {
            adm::explain(bytes, broken.call.position, &mut end);
        }
        let part = match end.result {
            // It is refused like any other call, so that it is on record.
            Err(why) if broken.why.names_a_function() => {
                let mut call = asking.call(&message, &broken.call);
                call.unreadable = Some(Box::new(why));
                Part::Call(Box::new(call))
            }
            _ => Part::Broken(Box::new(end)),
        };
        message.parts.push((broken.call.clone(), part));
    }
    message.parts.sort_by_key(|(wire, _)| wire.position);
    Ok(message)
}

/// What the model said. Its calls are about to be carried out, so nothing else may stand there: in a
/// conversation most of them were, long ago.
fn said_by_model(dialect: Dialect, most: usize, bytes: &[u8]) -> Result<Turn, Problem> {
    let limits = Limits { calls: most, ..Limits::default() };
    let turn = posted(dialect, limits, bytes).map_err(|foreign| {
        let why = format!("this is not one message of a model: {foreign}");
        Problem::malformed(why).advise(Foreign::ADVICE)
    })?;
    let code = turn.end.fault.as_ref().and_then(|fault| fault.code.as_deref());
    match code == Some(TOO_MANY) {
        true => Err(too_many(most).into()),
        false => Ok(turn),
    }
}

fn too_many(most: usize) -> ToolError {
    let calls = if most == 1 { "call" } else { "calls" };
    let message = format!(
        "a message has at most {most} {calls}, and this one has more; none of them was made"
    );
    ToolError::new(ErrorKind::InvalidArguments, message)
        .suggest("have the model make fewer calls at once, or raise `runtime.max_message_calls`")
}

/// Whether nothing was read that this dialect would say: another one's message, most often.
fn is_nothing(turn: &Turn) -> bool {
    let failed = matches!(turn.end.finish, Finish::Failed | Finish::Cut);
    let empty = turn.text.is_empty() && turn.replay.is_empty() && turn.cancelled.is_empty();
    turn.calls.is_empty() && turn.broken.is_empty() && (failed || empty)
}

/// Whether a message of Chat Completions has a `function_call`, as those did before there were
/// `tool_calls`.
fn is_old(turn: &Turn) -> bool {
    let said = turn.replay.first().and_then(|message| message.value());
    said.is_some_and(|message| message.get("function_call").is_some_and(Value::is_object))
}

/// Answers to a `function_call`: by the function's name. A `tool` message is refused behind one.
fn as_functions(messages: Vec<Value>, answers: &[Answer<'_>]) -> Vec<Value> {
    let one = |(message, answer): (Value, &Answer<'_>)| json!({ "role": "function", "name": answer.name, "content": message.get("content") });
    messages.into_iter().zip(answers).map(one).collect()
}

/// The id under which a call is answered. Gemini's need none, and one that it did not give would pair
/// with nothing.
fn paired(dialect: Dialect, wire: &WireCall) -> Option<Cow<'_, str>> {
    match dialect {
        Dialect::Gemini | Dialect::GeminiLive => wire.id.as_deref().map(Cow::Borrowed),
        Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::OpenAiRealtime
        | Dialect::Anthropic
        | Dialect::Mcp
        | Dialect::Adm => Some(wire.answer_id()),
    }
}

/// A provider's message, whose calls are ready to be made.
pub(crate) struct Message {
    dialect: Dialect,
    is_old: bool,
    catalog: Catalog,
    rendering: Arc<Rendering>,
    parts: Vec<(WireCall, Part)>,
}

/// What stands in a message.
enum Part {
    Call(Box<Call>),
    /// No call, and how it is answered.
    Broken(Box<Envelope>),
}

impl Message {
    /// The calls that will be made, each with the id that its provider knows it by.
    pub(crate) fn calls(&mut self) -> impl Iterator<Item = (String, &mut Call)> {
        self.parts.iter_mut().filter_map(|(wire, part)| match part {
            Part::Call(call) => Some((wire.answer_id().to_string(), &mut **call)),
            Part::Broken(_) => None,
        })
    }

    /// Whether whoever has sent it may learn which rules decide, where nothing is done. The rest is
    /// for a model to read.
    pub(crate) fn shows_rules(&mut self, sees: bool) {
        self.calls().for_each(|(_, call)| call.sees_rules = sees && call.dry_run);
    }

    /// The ids that the provider knows its calls by, those that cannot be made included.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.parts.iter().map(|(wire, _)| wire.answer_id().to_string()).collect()
    }

    /// Makes the calls, in order, and answers in the provider's own words. `told` hears of each end,
    /// by the place of its call in the message.
    pub(crate) async fn answer(
        self,
        runtime: &Runtime,
        told: &(dyn Fn(usize, &Envelope) + Send + Sync),
    ) -> Answered {
        let Self { dialect, is_old, catalog, rendering, parts } = self;
        let mut ends: Vec<(WireCall, Envelope)> = Vec::with_capacity(parts.len());
        let together = Arc::new(Together::default());
        for (place, (wire, part)) in parts.into_iter().enumerate() {
            let end = match part {
                Part::Call(mut call) => {
                    call.together = Some(together.clone());
                    runtime.invoke(*call).await
                }
                Part::Broken(end) => *end,
            };
            told(place, &end);
            ends.push((wire, end));
        }
        let shown = Shown { catalog: &catalog, rendering: &rendering };
        let ids: Vec<_> = ends.iter().map(|(wire, _)| paired(dialect, wire)).collect();
        let told: Vec<Envelope> = ends.iter().map(|(wire, end)| shown.told(wire, end)).collect();
        let answers: Vec<Answer<'_>> = ends
            .iter()
            .zip(&ids)
            .zip(&told)
            .map(|(((wire, _), id), envelope)| Answer {
                id: id.as_deref(),
                name: &wire.name,
                envelope,
            })
            .collect();
        let messages = results(dialect, &answers);
        Answered {
            messages: if is_old { as_functions(messages, &answers) } else { messages },
            outcomes: ends.into_iter().map(|(_, envelope)| envelope).collect(),
        }
    }
}

/// The tools that the model was shown.
struct Shown<'a> {
    catalog: &'a Catalog,
    rendering: &'a Rendering,
}

impl Shown<'_> {
    /// The end in their words.
    fn told(&self, wire: &WireCall, end: &Envelope) -> Envelope {
        let Some(name) = wire.offered_name() else { return end.clone() };
        let told = self.rendering.retold(name, &wire.arguments, end.clone());
        match self.rendering.tool(name) {
            Some(tool) => as_shown(self.rendering.target(), self.catalog, tool, told),
            None => told,
        }
    }
}

/// Who has sent a message, and how.
struct Asking<'a> {
    door: &'a Door,
    caller: Caller,
    said: Said,
    /// What the calls' ids begin with.
    stem: String,
    sent: Sent,
    /// Whether the message makes one call or several.
    keyed: Keyed,
    /// What its calls have asked for so far.
    asked: Arc<Asked>,
}

impl Asking<'_> {
    fn call(&self, message: &Message, wire: &WireCall) -> Call {
        let rendering = &message.rendering;
        let ours = wire.offered_name().and_then(|name| rendering.tool(name));
        let tool = ours.map_or_else(|| wire.full_name().into_owned(), str::to_owned);
        let arguments = rendering.arguments(&wire.name, &wire.arguments);
        let mut call = Call::new(self.caller.clone(), tool, arguments);
        let place = wire.position;
        call.id = Some(format!("{}/{place}", self.stem));
        call.session.clone_from(&self.said.session);
        call.mode = self.said.mode.into();
        if let Some(found) = message.catalog.get(&call.tool) {
            connect(self.door, &mut call, found, self.said.connection.as_deref());
        }
        call.dry_run = self.said.dry_run;
        if let Sent::Keyed(key) = &self.sent {
            // As in a batch: what each call asks for tells them apart, wherever it stands.
            (call.key, call.keyed) = (Some(key.clone()), self.keyed);
            call.asked = Some(self.asked.clone());
        }
        call
    }
}

/// Gives a call the connections that were named, with commas between them, or else the agent's own, or
/// all that are granted for its tool. It uses the only one of them that fits.
pub(crate) fn connect(door: &Door, call: &mut Call, tool: &EffectiveTool, named: Option<&str>) {
    if named.is_none() && tool.connection.is_some() {
        // The path puts it in, and policy says whether it is granted.
        return;
    }
    let granted = door.runtime.connections(&call.caller, &tool.tool);
    call.connections = match named {
        Some(named) => named.split(',').map(|one| one.trim().to_owned()).collect(),
        None => granted.clone(),
    };
    let mut fitting = call.connections.iter().filter(|one| granted.contains(one));
    call.connection = match (fitting.next(), fitting.next()) {
        (Some(only), None) => Some(only.clone()),
        (Some(_), Some(_)) | (None, _) => None,
    };
}
