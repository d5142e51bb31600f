//! Making calls: one, several in order, now or later, with progress or without.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use haft_core::call::{Call, Caller, Keyed, MOST_OCCURRENCES, RawArguments};
use haft_core::port::Invoke as _;
use haft_core::record::Event;
use haft_core::{Digest, Envelope};
use haft_runtime::batch::{Planned, Step};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::dialects::{self, Said};
use super::{ModeName, caller, events};
use crate::body::{self, Params};
use crate::door::Door;
use crate::later::Standing;
use crate::problem::{self, NoKey, Problem};
use crate::who::{Role, Who};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
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
    #[schema(value_type = Object)]
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
    /// When the request was made, in milliseconds of the Unix epoch.
    issued_at_ms: Option<i64>,
    /// In a batch: whether the rest is left alone when this one does not end well.
    critical: Option<bool>,
}

impl One {
    /// Reads a call. The arguments are the path's to read: they go aside as they are.
    fn read(mut said: Value) -> Result<Self, Problem> {
        let arguments = said.as_object_mut().and_then(|said| said.shift_remove("arguments"));
        let mut one: Self = body::shape(said)?;
        one.arguments = arguments.filter(|arguments| !arguments.is_null());
        Ok(one)
    }

    pub(crate) fn call(self, caller: Caller) -> Call {
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
        call.issued_at_ms = self.issued_at_ms;
        call
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
/// rest. With `Accept: text/event-stream` its events come as they happen and the envelope last;
/// with `Prefer: respond-async` the answer is fetched later. With `format` the body is a provider's
/// message, and the answer holds the tool messages to append to the conversation.
#[utoipa::path(post, path = "/v1/agents/{agent}/calls", tag = "calls",
    params(("agent" = String, Path, description = "The agent."), Said,
        ("Idempotency-Key" = Option<String>, Header,
            description = "The same key for the same act: it is done once."),
        ("Prefer" = Option<String>, Header, description = "`respond-async` to poll for the answer.")),
    request_body = Asked,
    responses(
        (status = 200, description = "The envelope, or a list of them for a batch.", body = Value),
        (status = 202, description = "A person has to approve first, or the answer comes later.",
            body = Object),
        (status = 400, description = "Not a call, or a writing call without a key.", body = Object),
        NoKey,
        (status = 403, description = "Not allowed.", body = Object),
        (status = 404, description = "No such agent or tool.", body = Object),
        (status = 409, description = "In flight, in conflict, or of unknown outcome.", body = Object),
        (status = 410, description = "Too old, or the session has ended.", body = Object),
        (status = 413, description = "Too large.", body = Problem,
            content_type = "application/problem+json"),
        (status = 415, description = "Not JSON.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The arguments do not fit the contract.", body = Object),
        (status = 429, description = "Too many.", body = Object),
        (status = 500, description = "A fault.", body = Object),
        (status = 502, description = "The tool failed for good.", body = Object),
        (status = 503, description = "Failed for now.", body = Object),
        (status = 504, description = "Stopped at its deadline.", body = Object)))]
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    Params(said): Params<Said>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let key = key(&headers)?;
    let sees_rules = who.is(Role::Operator);
    if let Some(format) = &said.format {
        let bytes = body::json_bytes(&headers, body, &door.limits).await?;
        let answered = dialects::answer(&door, caller, format, &said, key.into(), &bytes).await?;
        return Ok(answered.into_response());
    }
    let value = body::json(&headers, body, &door.limits).await?;
    if value.get("calls").is_some() {
        let batch: Batch = body::shape(value)?;
        return several(&door, &caller, batch, key.as_deref(), sees_rules).await;
    }
    let mut call = One::read(value)?.call(caller);
    call.sees_rules = sees_rules;
    if call.key.is_none() {
        (call.key, call.keyed) = (key, Keyed::Request);
    }
    if prefers(&headers, "respond-async") {
        return later(&door, &who, &agent, call);
    }
    if accepts_events(&headers) {
        return watched(door, call);
    }
    Ok(answer(&door.runtime.invoke(call).await))
}

pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(KEY) else { return Ok(None) };
    let text = value.to_str().map_err(|_| Problem::malformed("`Idempotency-Key` is not text"))?;
    match text.trim().trim_matches('"') {
        "" => Err(Problem::malformed("`Idempotency-Key` is empty")),
        text => Ok(Some(text.to_owned())),
    }
}

fn prefers(headers: &HeaderMap, word: &str) -> bool {
    let all = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split([',', ';'])).any(|one| one.trim().eq_ignore_ascii_case(word))
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// The envelope under the status of its end.
pub(crate) fn answer(envelope: &Envelope) -> Response {
    let kind = envelope.result.as_ref().err().map(|error| error.kind);
    let status = kind.map_or(StatusCode::OK, problem::status);
    let mut response = match written(envelope) {
        Ok(body) => (status, [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    if let Some(seconds) = kind.and_then(problem::retry_after) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// How long most envelopes are, at most.
const ENVELOPE: usize = 2 << 10;

fn written(envelope: &Envelope) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(ENVELOPE);
    serde_json::to_writer(&mut body, envelope)?;
    Ok(body)
}

async fn several(
    door: &Door,
    caller: &Caller,
    batch: Batch,
    key: Option<&str>,
    sees_rules: bool,
) -> Result<Response, Problem> {
    let keyed = if batch.calls.len() > 1 { Keyed::Batch } else { Keyed::Request };
    let planned = batch.calls.into_iter().map(|one| {
        let critical = one.critical.unwrap_or(true);
        let mut call = one.call(caller.clone());
        call.sees_rules = sees_rules;
        if call.key.is_none() {
            // One key for the request: what each call asks for tells them apart.
            (call.key, call.keyed) = (key.map(str::to_owned), keyed);
        }
        Planned { call, critical }
    });
    let steps = door.runtime.batch(planned.collect()).await?;
    let shown = steps.iter().map(|step| match step {
        Step::Ended(envelope) => json!(envelope),
        Step::Skipped => json!({ "skipped": true }),
    });
    Ok(Json(shown.collect::<Vec<Value>>()).into_response())
}

/// Accepts a call and answers under its own address. It counts as work until it has ended.
fn later(door: &Arc<Door>, who: &Who, agent: &str, call: Call) -> Result<Response, Problem> {
    let room = door.work(&who.tenant)?;
    let id = fresh("later")?;
    if !door.later.begin(&id, who, agent) {
        return Err(Problem::overloaded());
    }
    let place = format!("/v1/agents/{agent}/calls/{id}");
    let (door, slot) = (door.clone(), id.clone());
    let trace = haft_runtime::trace::current();
    tokio::spawn(async move {
        let runtime = door.runtime.clone();
        let work = async move { runtime.invoke(call).await };
        let end = tokio::spawn(haft_runtime::trace::within(trace, work)).await;
        match end.ok().and_then(|envelope| serde_json::to_vec(&envelope).ok()) {
            Some(answer) => door.later.end(&slot, answer.into()),
            None => door.later.drop_out(&slot),
        }
        drop(room);
    });
    let applied = (HeaderName::from_static("preference-applied"), "respond-async".to_owned());
    let headers = [(header::LOCATION, place), applied];
    let body = Json(json!({ "id": id, "status": "running" }));
    Ok((StatusCode::ACCEPTED, headers, body).into_response())
}

/// An id that nobody can guess.
pub(crate) fn fresh(what: &str) -> Result<String, Problem> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| Problem::overloaded())?;
    Ok(format!("{what}-{}", Digest::of_bytes(&random).hex()))
}

/// The answer of a call that was to be answered later.
#[utoipa::path(get, path = "/v1/agents/{agent}/calls/{call}", tag = "calls",
    params(("agent" = String, Path, description = "The agent."),
        ("call" = String, Path, description = "The id under which it was accepted.")),
    responses(
        (status = 200, description = "The envelope.", body = Object),
        (status = 202, description = "It is running.", body = Object),
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

/// The call's events as they happen, then its envelope. Whoever stops watching, or cannot keep up,
/// does not stop the call.
fn watched(door: Arc<Door>, mut call: Call) -> Result<Response, Problem> {
    let room = door.work(&call.caller.tenant)?;
    let id = match &call.id {
        Some(id) => id.clone(),
        None => fresh("call")?,
    };
    call.id = Some(id.clone());
    // An id is the client's own word: others may use the same.
    let (caller, session) = (call.caller.clone(), call.session.clone());
    let wanted = move |event: &Event| {
        *event.tenant == *caller.tenant
            && *event.agent == *caller.agent
            && event.session == session
            && event.model_call.as_ref() == Some(&id)
    };
    let mut events = door.hub.watch();
    let (to, lines) = tokio::sync::mpsc::channel(64);
    let trace = haft_runtime::trace::current();
    tokio::spawn(haft_runtime::trace::within(trace, async move {
        let mut end = door.runtime.invoke(call);
        let tell = |event: &Event| {
            if wanted(event) {
                let _ = to.try_send(events::line(event));
            }
        };
        let envelope = loop {
            tokio::select! {
                biased;
                event = events.recv() => if let Ok(event) = event { tell(&event) },
                envelope = &mut end => break envelope,
            }
        };
        drop(room);
        // Whatever came before the end is told before it.
        while let Ok(event) = events.try_recv() {
            tell(&event);
        }
        let line = Line::default().event("result").json_data(&envelope);
        let _ = to.send(line.unwrap_or_default()).await;
    }));
    let lines = futures_util::stream::unfold(lines, |mut lines| async move {
        let line = lines.recv().await?;
        Some((Ok::<_, Infallible>(line), lines))
    });
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()).into_response())
}
