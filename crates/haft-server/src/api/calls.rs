//! Making calls: one, several in order, or those of a provider's message; answered now or later, with
//! progress or without.

pub(crate) mod later;
mod notes;
mod watched;
mod work;

use std::cmp::Ordering;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::call::{Call, Caller, LONGEST_KEY, MOST_OCCURRENCES, RawArguments, is_key};
use haft_core::{Digest, Envelope, ToolError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::dialects::{self, Said};
use super::{ModeName, caller};
use crate::body::{self, Params};
use crate::door::Door;
use crate::later::Standing;
use crate::problem::{self, NoKey, Problem};
use crate::shapes;
use crate::who::{Role, Who};
pub(crate) use notes::Notes;
use work::Work;

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// A model that is told to be careful tries again at once, so its client alone cannot say so.
const OVERRULES: &str = "`despite_unknown` needs the role `operator`: whoever may settle what is not \
                         known may also have it done besides";

/// What a call says its arguments in.
const ARGUMENTS: &str = "arguments";

const PREFER: HeaderName = HeaderName::from_static("prefer");

/// One call, or several. For the document alone: which of the two it is decides `calls`, so that
/// the message about a mistake is about the right one.
#[derive(ToSchema)]
#[schema(as = CallOrBatch)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document")]
pub(crate) enum Asked {
    /// Several, in order; the rest is left alone after a critical one that does not end well.
    Batch(Batch),
    /// One.
    One(Box<One>),
}

/// Several calls in order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    /// The calls.
    calls: Vec<One>,
}

/// One call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct One {
    /// The tool, by canonical id or by a short name.
    tool: String,
    /// What it is asked: an object, or a text that holds one.
    #[serde(default)]
    arguments: Option<Value>,
    /// The model's id for the call.
    id: Option<String>,
    /// The session that it belongs to.
    session: Option<String>,
    /// How model and user talk, where no session says.
    #[serde(default)]
    mode: ModeName,
    /// The caller's own key for this act; the `Idempotency-Key` header says the same.
    idempotency_key: Option<String>,
    /// Which of several deliberate repetitions this is; the first is 1.
    #[serde(default, deserialize_with = "nth")]
    occurrence: Option<u32>,
    /// The connection that it may use.
    connection: Option<String>,
    /// An approval's token.
    confirmation: Option<String>,
    /// Only these tools, where the run is narrowed to some.
    only: Option<Vec<String>>,
    /// Decide everything and do nothing.
    #[serde(default)]
    dry_run: bool,
    /// Do it although the outcome of the same act under another key is not known. For operators.
    #[serde(default)]
    despite_unknown: bool,
    /// When the request was made, in milliseconds of the Unix epoch.
    issued_at_ms: Option<i64>,
    /// In a batch: whether the rest is left alone when this one does not end well.
    critical: Option<bool>,
}

impl One {
    /// Reads a call. The arguments are the path's to read: they go aside as they are.
    fn read(mut said: Value) -> Result<Self, Problem> {
        let arguments = said.as_object_mut().and_then(|said| said.shift_remove(ARGUMENTS));
        let mut one: Self = body::shape(said)?;
        one.arguments = arguments.filter(|arguments| !arguments.is_null());
        Ok(one)
    }

    /// The call, by someone who may decide about effects or may not.
    pub(crate) fn call(self, caller: Caller, operates: bool) -> Result<Call, Problem> {
        if self.despite_unknown && !operates {
            return Err(Problem::forbidden(OVERRULES));
        }
        let arguments = match self.arguments {
            None => RawArguments::Text(String::new()),
            Some(Value::String(text)) => RawArguments::Text(text),
            Some(value) => RawArguments::Value(value),
        };
        let mut call = Call::new(caller, self.tool, arguments);
        call.id = self.id;
        call.session = self.session;
        call.mode = self.mode.into();
        call.key = self.idempotency_key;
        call.occurrence = self.occurrence.unwrap_or(1);
        call.connections = self.connection.iter().cloned().collect();
        call.connection = self.connection;
        call.confirmation = self.confirmation;
        call.only = self.only;
        call.dry_run = self.dry_run;
        call.overrule.similar_unknown = self.despite_unknown;
        call.issued_at_ms = self.issued_at_ms;
        Ok(call)
    }
}

/// Nought is no repetition: it would be another act than the first.
fn nth<'de, D: Deserializer<'de>>(said: D) -> Result<Option<u32>, D::Error> {
    let nth = Option::<u32>::deserialize(said)?;
    match nth.is_none_or(|nth| (1..=MOST_OCCURRENCES).contains(&nth)) {
        true => Ok(nth),
        false => Err(D::Error::custom(format!(
            "`occurrence` is a whole number from 1 to {MOST_OCCURRENCES}"
        ))),
    }
}

/// Takes a call through the one path. The status follows from how it ended; the envelope says the
/// rest. With `format` the body is a provider's message, and the answer holds the tool messages to
/// append to the conversation. With `Accept: text/event-stream` the calls' events, their progress and
/// each of their ends come as they happen, and last what the answer would have been; with
/// `Prefer: respond-async` the answer is fetched later.
#[utoipa::path(post, path = "/v1/agents/{agent}/calls", tag = "calls",
    operation_id = "make_calls",
    params(("agent" = String, Path, description = "The agent."), Said,
        ("Idempotency-Key" = Option<String>, Header,
            description = "The same key for the same act: it is done once."),
        ("Prefer" = Option<String>, Header, description = "`respond-async` to poll for the answer.")),
    request_body = Asked,
    responses(
        (status = 200, description = "The answer, or events with the answer last.",
            content((shapes::CallAnswer = "application/json"), (String = "text/event-stream"))),
        (status = 202, description = "A person has to approve first, or the answer comes later.",
            body = shapes::NotYet),
        (status = 400, description = "Not a call, or a writing call without a key.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        NoKey,
        (status = 403, description = "Not allowed.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 404, description = "No such agent or tool.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 409, description = "In flight, in conflict, or of unknown outcome.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 410, description = "Too old, or the session has ended.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 413, description = "Too large.", body = Problem,
            content_type = "application/problem+json"),
        (status = 415, description = "Not JSON.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The arguments do not fit the contract, or there are more calls than are taken at once.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 429, description = "Too many.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 500, description = "A fault.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 502, description = "The tool failed for good.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 503, description = "Failed for now.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json"))),
        (status = 504, description = "Stopped at its deadline.",
            content((shapes::Envelope = "application/json"),
                (Problem = "application/problem+json")))))]
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    asked(&door, &who, &agent, request).await
}

/// The agent in a request for calls whose path says so plainly. Nearly every request is one, and so
/// need not be looked for among all routes.
pub(crate) fn plainly(request: &Request) -> Option<&str> {
    let agent = request.uri().path().strip_prefix("/v1/agents/")?.strip_suffix("/calls")?;
    let plain = !agent.is_empty() && !agent.contains(['/', '%']);
    (plain && request.method() == Method::POST).then_some(agent)
}

/// Makes the calls that a request asks for.
pub(crate) async fn asked(
    door: &Arc<Door>,
    who: &Who,
    agent: &str,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let (headers, uri) = (&parts.headers, &parts.uri);
    let caller = caller(door, who, agent)?;
    let said = Params::<Said>::of(uri)?;
    let key = key(headers)?;
    let operates = who.is(Role::Operator);
    let later = prefers(headers, "respond-async");
    let bytes = body::json_bytes(headers, body, &door.limits).await?;
    // What is sent again under its key while it is worked on is the same work.
    let same = key
        .as_ref()
        .filter(|_| later)
        .map(|key| Digest::of_json(&json!([key, uri.query(), Digest::of_bytes(&bytes)])));
    let work = match said.format.clone() {
        Some(format) => {
            // Boxed: most calls are ours, and pay for no other way.
            let read = dialects::read(door, caller, &format, said, key.into(), &bytes);
            let mut message = Box::pin(read).await?;
            message.shows_rules(operates);
            Work::Message(Box::new(message))
        }
        None => {
            said.refuse_for_own()?;
            let (said, arguments) = body::object_with(&bytes, &[ARGUMENTS], &door.limits)?;
            Work::read(door, &caller, (&bytes, said, arguments), key, operates)?
        }
    };
    if later {
        return later::begin(door, who, agent, work, same);
    }
    if accepts_events(headers) {
        return watched::stream(door.clone(), who, work);
    }
    Ok(work.run(&door.runtime, &|_, _| {}).await?.respond())
}

pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(KEY) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Problem::malformed("`Idempotency-Key` is not text"))?;
    let text = text.trim();
    // A header of that name may be a string in quotes. Only a pair of them is no part of the key.
    let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match bare.unwrap_or(text) {
        "" => Err(Problem::malformed("`Idempotency-Key` is empty")),
        text if is_key(text) => Ok(Some(text.to_owned())),
        _ => Err(Problem::malformed(format!(
            "`Idempotency-Key` is not made of 1 to {LONGEST_KEY} visible ASCII characters"
        ))),
    }
}

fn prefers(headers: &HeaderMap, word: &str) -> bool {
    let all = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split([',', ';'])).any(|one| one.trim().eq_ignore_ascii_case(word))
}

/// Whether a client would rather have a stream of events than JSON. Where it likes both the same, it
/// says so by naming the stream; a range such as `*/*` asks for none.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let (events, by) = liking(headers, "text", "event-stream");
    let (json, _) = liking(headers, "application", "json");
    events > json || (events > 0.0 && events == json && by == Range::Itself)
}

/// What a client names a kind by, the more exactly the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Range {
    Nothing,
    Anything,
    Family,
    Itself,
}

/// How much a client likes a kind: what the most exact of the ranges that it is in says (RFC 9110,
/// section 12.5.1). Parameters make no other kind of ours.
fn liking(headers: &HeaderMap, family: &str, name: &str) -> (f32, Range) {
    let all = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let (mut liked, mut by) = (0.0_f32, Range::Nothing);
    for one in all.flat_map(|value| value.split(',')) {
        let mut parts = one.split(';').map(str::trim);
        let range = match parts.next().and_then(|kind| kind.split_once('/')) {
            Some(("*", "*")) => Range::Anything,
            Some((of, "*")) if of.eq_ignore_ascii_case(family) => Range::Family,
            Some((of, kind))
                if of.eq_ignore_ascii_case(family) && kind.eq_ignore_ascii_case(name) =>
            {
                Range::Itself
            }
            Some(_) | None => continue,
        };
        let quality = parts.find_map(quality).unwrap_or(1.0);
        match range.cmp(&by) {
            Ordering::Less => {}
            Ordering::Equal => liked = liked.max(quality),
            Ordering::Greater => (liked, by) = (quality, range),
        }
    }
    (liked, by)
}

/// `q=0.5`, `Q=0.000`; one that is none is not there.
fn quality(parameter: &str) -> Option<f32> {
    let (name, value) = parameter.split_once('=')?;
    let named = name.trim().eq_ignore_ascii_case("q");
    let read = value.trim().parse().ok().filter(|quality| (0.0..=1.0).contains(quality));
    named.then(|| read.unwrap_or(1.0))
}

/// The envelope under the status of its end.
pub(crate) fn answer(envelope: &Envelope) -> Response {
    let error = envelope.result.as_ref().err();
    let status = error.map_or(StatusCode::OK, |error| problem::status(error.kind));
    let Ok(body) = written(envelope) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.reserve(HEADERS);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let again = |error: &ToolError| problem::retry_after(error.kind, error.details.as_ref());
    if let Some(seconds) = error.and_then(again) {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// How long most envelopes are, at most.
const ENVELOPE: usize = 2 << 10;

/// How many headers an answer has by the time that it leaves: room for them is made once.
const HEADERS: usize = 10;

fn written(envelope: &Envelope) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(ENVELOPE);
    serde_json::to_writer(&mut body, envelope)?;
    Ok(body)
}

/// An id that nobody can guess.
pub(crate) fn fresh(what: &str) -> Result<String, Problem> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| Problem::overloaded())?;
    Ok(format!("{what}-{}", Digest::of_bytes(&random).hex()))
}

/// The answer of a call that was to be answered later.
#[utoipa::path(get, path = "/v1/agents/{agent}/calls/{call}", tag = "calls",
    operation_id = "poll_call",
    params(("agent" = String, Path, description = "The agent."),
        ("call" = String, Path, description = "The id under which it was accepted.")),
    responses(
        (status = 200, description = "The answer: as it would have been at once, or that it was called off.",
            body = shapes::LaterAnswer),
        (status = 202, description = "It is running.", body = shapes::Accepted),
        NoKey,
        (status = 404, description = "No such call of yours.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn poll(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, call)): Path<(String, String)>,
) -> Result<Response, Problem> {
    caller(&door, &who, &agent)?;
    match door.later.standing(&call, &who, &agent) {
        None => Err(Problem::missing("call")),
        Some(Standing::Running) => {
            let wait = [(header::RETRY_AFTER, "1")];
            let body = Json(json!({ "id": call, "status": "running" }));
            Ok((StatusCode::ACCEPTED, wait, body).into_response())
        }
        Some(Standing::Ended(answer)) => {
            Ok(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &'static str, expected: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        assert_eq!(accepts_events(&headers), expected, "{accept}");
    }

    #[test]
    fn a_stream_is_for_whoever_takes_one() {
        check("text/event-stream", true);
        check("Text/Event-Stream", true);
        check("application/json, text/event-stream", true);
        check("application/json, text/event-stream;q=0.1", false);
        check("application/json;q=0.1, text/event-stream;q=0.2", true);
        check("text/event-stream;q=odd", true);
        check("text/event-stream;q=nan, application/json;q=-1", true);
        check("text/event-stream; q=0", false);
        check("text/event-stream;level=1;Q=0.000, application/json", false);
        check("text/event-streams", false);
        check("", false);
    }

    /// Of the ranges that a kind is in, the most exact one counts, in whatever order they are.
    #[test]
    fn a_range_is_weighed_for_both_kinds() {
        check("*/*", false);
        check("application/*", false);
        check("text/html, application/xml;q=0.9, */*;q=0.8", false);
        check("text/*", true);
        check("TEXT/*;q=0.5, application/json;q=0.4", true);
        check("text/*;q=0.4, application/*;q=0.5", false);
        check("text/*, application/*", false);
        check("*/*, text/event-stream", true);
        check("*/*, text/event-stream;q=0.1", false);
        check("text/event-stream;q=0.1, */*;q=0.1", true);
        check("application/json;q=0.1, */*;q=0.5", true);
        check("*/*;q=0.5, application/json", false);
        check("text/event-stream;q=0, text/*", false);
        check("text/event-stream;q=0, */*", false);
        check("application/*;q=0.2, text/event-stream;q=0.2", true);
        check("application/json;q=0, */*", true);
        check("*/*;q=0", false);
        check("*/json, text", false);
    }
}
