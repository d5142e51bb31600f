//! `tools/call`: into the one path, and what came of it back in the protocol's words.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::request::Parts;
use haft_core::call::{Call, Caller, Credential, MOST_OCCURRENCES, RawArguments};
use haft_core::contract::Mode;
use haft_core::port::{Can, Client as _, Invoke as _};
use haft_core::trace::Trace;
use haft_core::{Envelope, ErrorKind};
use haft_runtime::toolbox::Found;
use haft_runtime::trace;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, InputRequiredResult, RequestMetaObject,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::SAME_ACT;
use super::Seat;
use super::approval::{self, Again, Said, Word};
use super::coded::of_kind;
use super::handler::Handler;
use super::http::SESSION;
use super::sessions::InUse;
use super::state::{Request, State};
use super::talk::{self, Line, Talk};
use super::told::Told;
use crate::problem::Problem;

/// Our words in `_meta`.
const KEY: &str = "haft/idempotencyKey";
const OCCURRENCE: &str = "haft/occurrence";
const DRY_RUN: &str = "haft/dryRun";
const CONNECTION: &str = "haft/connection";
const ISSUED_AT: &str = "haft/issuedAtMs";
const DESPITE_UNKNOWN: &str = "haft/despiteUnknown";
/// What `_meta` can say of a call.
const WORDS: [&str; 6] = [KEY, OCCURRENCE, DRY_RUN, CONNECTION, ISSUED_AT, DESPITE_UNKNOWN];

pub(super) const METHOD: &str = "tools/call";

/// How a call ended, in the protocol's words.
pub(super) enum Ended {
    /// With a result.
    Told(Told),
    /// With questions; it is made again with their answers.
    Asks(InputRequiredResult),
}

/// The text of a call's arguments, past the SDK, which keeps values alone: a number that becomes a text
/// is written as it was, whichever way a call comes, or the same act would have two keys.
#[derive(Clone)]
pub(super) struct ArgumentsText(Arc<str>);

impl ArgumentsText {
    pub(super) fn of(text: Option<&str>) -> Option<Self> {
        text.map(|text| Self(text.into()))
    }

    /// What came with a request: beside its message, or in the head of what carried it.
    fn handed_on(context: &RequestContext<RoleServer>) -> Option<&Self> {
        let head = || context.extensions.get::<Parts>()?.extensions.get::<Self>();
        context.extensions.get::<Self>().or_else(head)
    }
}

/// What a request came in with, past the SDK, which hands on who began the session: they may have come in
/// with another key or an older token then.
#[derive(Clone)]
pub(super) struct CameWith(Option<Arc<Credential>>);

impl CameWith {
    pub(super) fn of(seat: &Seat) -> Self {
        Self(seat.caller.credential.clone())
    }
}

/// Who makes this call.
fn caller(handler: &Handler, context: &RequestContext<RoleServer>) -> Caller {
    let mut caller = handler.seat.caller.clone();
    let head = context.extensions.get::<Parts>();
    if let Some(CameWith(credential)) = head.and_then(|head| head.extensions.get::<CameWith>()) {
        caller.credential.clone_from(credential);
    }
    caller
}

/// A call that the SDK has read.
pub(super) async fn call(
    handler: &Handler,
    mut request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let _in_use = in_use(handler, &context);
    let _room = match outlasts_its_head(&context) {
        true => Some(handler.door.work(&handler.seat.caller.tenant).map_err(|_| busy())?),
        false => None,
    };
    let (line, trace) = (Line::of(&context), traced(&context));
    let arguments = Value::Object(request.arguments.take().unwrap_or_default());
    let text = ArgumentsText::handed_on(&context);
    let arguments = RawArguments::Value(arguments).from_text(text.map(|text| &*text.0));
    let caller = caller(handler, &context);
    let made = take(handler, caller, request, arguments, line, &context.meta);
    let made = Box::pin(trace::within(trace, made));
    let ended = tokio::select! {
        biased;
        ended = made => ended?,
        // Dropping the call is how the path learns that nobody waits: what has begun is finished.
        () = context.ct.cancelled() => {
            let error = ErrorData::invalid_request("the request was cancelled", None);
            return Err(of_kind(ErrorKind::Cancelled, error));
        }
    };
    match ended {
        Ended::Asks(questions) => Ok(questions.into()),
        Ended::Told(told) => {
            let read = CallToolResult::deserialize(json!(told.result()));
            let wrong = |_| ErrorData::internal_error("the answer cannot be told", None);
            read.map(CallToolResponse::Complete).map_err(wrong)
        }
    }
}

/// Whether the answer has begun before the call has ended: in a session, and where progress is told.
/// The guard counts a request as work until then, and such a call goes on.
fn outlasts_its_head(context: &RequestContext<RoleServer>) -> bool {
    match context.extensions.get::<Parts>() {
        Some(parts) => {
            parts.headers.contains_key(SESSION) || context.meta.get_progress_token().is_some()
        }
        // No head at all: lines on standard input.
        None => true,
    }
}

/// The session of a call, which is in use until it has ended, though its client may have hung up.
fn in_use(handler: &Handler, context: &RequestContext<RoleServer>) -> Option<InUse> {
    let parts = context.extensions.get::<Parts>()?;
    let session = parts.headers.get(SESSION)?.to_str().ok()?;
    handler.door.owners.enter(session, &handler.seat)
}

/// As much is under way as may be.
fn busy() -> ErrorData {
    let problem = Problem::overloaded();
    let help = json!({ "code": problem.code(), "suggestion": "wait, then send the same request",
        "retryAfterMs": 1000 });
    ErrorData::internal_error("too much is under way; try again in a second", Some(help))
}

/// The trace that a request says it is part of: in `_meta`, or in the header of what carries it. The
/// SDK runs handlers on tasks of its own, to which nothing is handed on.
fn traced(context: &RequestContext<RoleServer>) -> Option<Trace> {
    let head = || {
        let parts = context.extensions.get::<Parts>()?;
        parts.headers.get("traceparent")?.to_str().ok()
    };
    context.meta.get_traceparent().or_else(head).and_then(Trace::parse)
}

/// Makes a call; its arguments are apart from the rest of the request, as they came.
pub(super) async fn take(
    handler: &Handler,
    caller: Caller,
    request: CallToolRequestParams,
    arguments: RawArguments,
    line: Line,
    meta: &RequestMetaObject,
) -> Result<Ended, ErrorData> {
    if !handler.calls() {
        let why = "MCP is for look-up only here; calls are made through the HTTP API";
        return Err(of_kind(ErrorKind::Denied, ErrorData::invalid_request(why, None)));
    }
    let mut call = Call::new(caller, request.name, arguments);
    let (sealed, said) = (request.request_state.as_deref(), request.input_responses);
    let words = bound(meta);
    let mut round = Round::open(handler, line, asked(&call, &words), sealed, said)?;
    settle_words(&mut call, meta, handler.seat.operates())?;
    call.client = Some(round.talk.clone());
    let (door, seat) = (&*handler.door, &*handler.seat);
    let said = Said::of(round.talk.answers());
    let before = round.state.confirmation.take();
    // Whoever has closed the question is not asked it again: it waits, for them or for another.
    let is_closed = before.is_some() && said == Said::Nothing;
    let word = match before {
        Some(id) => approval::decide(door, seat, &id, said).await?,
        None => Word::None,
    };
    call.declined = said == Said::No;
    let was_approved = round.state.approved;
    round.state.approved |= word == Word::Taken && said == Said::Yes;
    // Only for a client that can be asked something is a call made again.
    let again = (round.talk.can() != Can::default()).then(|| call.clone());
    let (name, is_dry) = (call.tool.clone(), call.dry_run);
    let mut envelope = door.runtime.invoke(call).await;
    if let Some(call) = &again {
        let waiting = |envelope: &Envelope, word: Word| {
            let before = match word {
                Word::Void(why) => Some(Again::Void(why)),
                Word::Over => Some(Again::Over),
                Word::Unrecorded => Some(Again::Unrecorded),
                Word::Taken | Word::None => was_approved.then_some(Again::Used),
            };
            approval::waiting((door, seat), &round.talk, call, envelope, before)
        };
        if round.talk.by_result {
            if let Some(waiting) = waiting(&envelope, word).filter(|_| !is_closed) {
                return round.ask_for(handler, asked(call, &words), waiting).map(Ended::Asks);
            }
        } else {
            let (at, call) = ((door, seat), call.clone());
            envelope = approval::settled(at, &round.talk, call, envelope, &waiting).await?;
        }
        approval::say_where((door, seat), &round.talk, call, &mut envelope);
    }
    if !envelope.is_ok() {
        if let Some(lacking) = round.talk.lacking() {
            return Err(ErrorData::missing_required_client_capability(lacking));
        }
        if let Some(call) = &again
            && round.talk.by_result
            && !round.talk.unanswered().is_empty()
        {
            return round.ask(handler, asked(call, &words)).map(Ended::Asks);
        }
    }
    known(handler, &name, &envelope)?;
    Ok(Ended::Told(Told::of(envelope, is_dry)))
}

/// What a call asks for.
fn asked<'a>(call: &'a Call, words: &'a Value) -> Request<'a> {
    let arguments = match &call.arguments {
        RawArguments::Value(value) | RawArguments::Read(value, _) => value,
        RawArguments::Text(_) => &Value::Null,
    };
    Request { method: METHOD, name: &call.tool, arguments, words }
}

/// What `_meta` says in our words, but for the time: it is another each time that a request is made.
fn bound(meta: &RequestMetaObject) -> Value {
    let all = WORDS.iter().filter(|word| **word != ISSUED_AT);
    all.filter_map(|word| Some(((*word).to_owned(), meta.0.0.get(*word)?.clone()))).collect()
}

/// One round of a request that may take several.
pub(super) struct Round {
    pub(super) talk: Arc<Talk>,
    state: State,
}

impl Round {
    pub(super) fn open(
        handler: &Handler,
        line: Line,
        request: Request<'_>,
        sealed: Option<&str>,
        said: Option<BTreeMap<String, Value>>,
    ) -> Result<Self, ErrorData> {
        let state = match line.is_newer() {
            true => State::open(&handler.door, &handler.seat, request, sealed)?,
            false => State::default(),
        };
        let mut answers = state.answers.clone();
        answers.extend(said.filter(|_| line.is_newer()).unwrap_or_default());
        // An approval is one for what was sealed with it, and for nothing else.
        if state.confirmation.is_none() {
            answers.remove(approval::NAME);
        }
        let talk = Arc::new(Talk::new(line, handler.level(), answers));
        Ok(Self { talk, state })
    }

    /// Ends the round with what the handler asked.
    pub(super) fn ask(
        self,
        handler: &Handler,
        request: Request<'_>,
    ) -> Result<InputRequiredResult, ErrorData> {
        let questions = self.talk.unanswered();
        self.end(handler, request, questions, None)
    }

    /// Ends the round with the question whether the call may be made.
    fn ask_for(
        self,
        handler: &Handler,
        request: Request<'_>,
        waiting: approval::Waiting,
    ) -> Result<InputRequiredResult, ErrorData> {
        self.end(handler, request, vec![waiting.asked], Some(waiting.id))
    }

    fn end(
        self,
        handler: &Handler,
        request: Request<'_>,
        questions: Vec<haft_core::port::Asked>,
        confirmation: Option<String>,
    ) -> Result<InputRequiredResult, ErrorData> {
        let mut inputs = BTreeMap::new();
        for asked in questions {
            let input = talk::input(&asked.question)
                .map_err(|error| ErrorData::internal_error(error.into_fault().message, None))?;
            inputs.insert(asked.name, input);
        }
        let mut answers = self.talk.answers().clone();
        answers.remove(approval::NAME);
        let next = State { answers, confirmation, ..self.state };
        let sealed = next.seal(&handler.door, &handler.seat, request)?;
        Ok(InputRequiredResult::new(Some(inputs), Some(sealed)))
    }
}

/// What `_meta` says in our words.
fn settle_words(
    call: &mut Call,
    meta: &RequestMetaObject,
    operates: bool,
) -> Result<(), ErrorData> {
    let words: &Map<String, Value> = &meta.0.0;
    let wrong = |name: &str, what: &str| {
        ErrorData::invalid_params(format!("`_meta`: `{name}` must be {what}"), None)
    };
    // A dry run that is misspelt must not become a real one.
    let odd =
        words.keys().find(|name| name.starts_with("haft/") && !WORDS.contains(&name.as_str()));
    if let Some(name) = odd {
        let all = WORDS.join("`, `");
        let message = format!("`_meta`: `{name}` is not known; there are `{all}`");
        return Err(ErrorData::invalid_params(message, None));
    }
    let text = |name: &str| match words.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(name, "a text")),
    };
    call.key = text(KEY)?;
    call.same_within = Some(SAME_ACT);
    if let Some(connection) = text(CONNECTION)? {
        call.connections = vec![connection.clone()];
        call.connection = Some(connection);
    }
    if let Some(nth) = words.get(OCCURRENCE) {
        let nth = nth.as_u64().and_then(|nth| u32::try_from(nth).ok());
        let nth = nth.filter(|nth| (1..=MOST_OCCURRENCES).contains(nth));
        call.occurrence = nth.ok_or_else(|| wrong(OCCURRENCE, "a whole number from 1"))?;
    }
    let flag = |name: &str| match words.get(name) {
        None => Ok(false),
        Some(Value::Bool(said)) => Ok(*said),
        Some(_) => Err(wrong(name, "true or false")),
    };
    call.dry_run = flag(DRY_RUN)?;
    // Models read the rest of what is told here.
    call.sees_rules = operates && call.dry_run;
    call.overrule.similar_unknown = flag(DESPITE_UNKNOWN)?;
    if call.overrule.similar_unknown && !operates {
        let message = format!("`_meta`: `{DESPITE_UNKNOWN}` needs the role `operator`");
        return Err(ErrorData::invalid_params(message, None));
    }
    match words.get(ISSUED_AT).map(Value::as_i64) {
        None => {}
        Some(Some(at)) => call.issued_at_ms = Some(at),
        Some(None) => return Err(wrong(ISSUED_AT, "milliseconds of the Unix epoch")),
    }
    Ok(())
}

/// That there is no such tool is the protocol's affair; everything else is for the model to read.
fn known(handler: &Handler, name: &str, envelope: &Envelope) -> Result<(), ErrorData> {
    if envelope.result.as_ref().is_err_and(|error| error.kind == ErrorKind::Unavailable) {
        let catalog = handler.door.runtime.catalog(&handler.seat.caller, Mode::Text);
        if let Found::Unknown = catalog.find(name) {
            let name = &envelope.meta.tool;
            let error = ErrorData::invalid_params(format!("unknown tool: {name}"), None);
            return Err(of_kind(ErrorKind::Unavailable, error));
        }
    }
    Ok(())
}
