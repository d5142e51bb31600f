//! Sessions: a mode, a pinned registry, turns, messages and signals.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use haft_core::ErrorKind;
use haft_core::port::StoreError;
use haft_core::session::Session;
use haft_runtime::session::Signal;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::confirmations::unreadable;
use super::paging::{Paging, placed};
use super::{ModeName, caller, need};
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{NoKey, NoRole, NoSession, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// What a session begins with.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Begin {
    /// How model and user talk, for good.
    #[serde(default)]
    mode: ModeName,
}

/// Begins a session, pinned to the registry in use.
#[utoipa::path(post, path = "/v1/agents/{agent}/sessions", tag = "sessions",
    operation_id = "begin_session",
    params(("agent" = String, Path, description = "The agent.")),
    request_body = Begin,
    responses(
        (status = 201, description = "The session.", body = shapes::Session),
        NoKey,
        (status = 403, description = "The user is blocked.", body = Problem,
            content_type = "application/problem+json"),
        (status = 404, description = "No such agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn begin(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let begin: Begin = body::shape(body::json(&headers, body, &door.limits).await?)?;
    let session = door.runtime.open(&caller, begin.mode.into()).await?;
    let place = format!("/v1/agents/{agent}/sessions/{}", session.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(json!(session))).into_response())
}

/// Which of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// Only those after this one in the list: `Link` says the address of the next page.
    after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The tenant's sessions, newest first.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions",
    operation_id = "list_sessions", params(Part),
    responses(
        (status = 200, description = "The sessions, without what was said in them.",
            body = Vec<shapes::SessionSeen>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not a number.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(part): Params<Part>,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(part.limit)?;
    let found = found(&door, &who, part.after.as_deref(), Some(page.wanted())).await?;
    let after = part.after.as_deref();
    placed(&found, after, one(&door, &who, after.unwrap_or_default())).await?;
    Ok(page.respond(&uri, "after", found, |one| one.id.clone(), seen))
}

/// The sessions of a tenant.
pub(crate) async fn found(
    door: &Door,
    who: &Who,
    after: Option<&str>,
    limit: Option<usize>,
) -> Result<Vec<Session>, Problem> {
    need(who, Role::Operator)?;
    let most = limit.unwrap_or(100).clamp(1, 1_001);
    let found = door.runtime.store().sessions(&who.tenant, after, most).await;
    let found = found.map_err(unreadable)?;
    Ok(found.into_iter().map(|one| door.runtime.as_it_is(one)).collect())
}

/// One session of a tenant, whoever it serves.
pub(crate) async fn one(door: &Door, who: &Who, id: &str) -> Result<Session, Problem> {
    need(who, Role::Operator)?;
    let found = door.runtime.store().session(&who.tenant, id).await;
    let found = found.map_err(|error| match error == StoreError::Missing {
        true => Problem::missing("session"),
        false => unreadable(error),
    })?;
    Ok(door.runtime.as_it_is(found))
}

/// What is seen of a session by others: where it stands. Messages and answers may hold what
/// redaction strips.
fn seen(session: &Session) -> Value {
    json!({
        "id": session.id,
        "agent": session.agent,
        "principal": session.principal,
        "mode": session.mode,
        "registryVersion": session.registry_version,
        "phase": session.phase,
        "turn": session.turn,
        "waiting": session.waiting.len(),
        "createdAtMs": session.created_at_ms,
    })
}

/// A session as it is now. Operators are shown those of others without what was said in them.
#[utoipa::path(get, path = "/v1/agents/{agent}/sessions/{session}", tag = "sessions",
    operation_id = "show_session",
    params(("agent" = String, Path, description = "The agent."),
        ("session" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "The session.", body = shapes::SessionShown),
        NoKey, NoSession))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, session)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let refused = match door.runtime.session(&caller, &session).await {
        Ok(own) => return Ok(Json(json!(own))),
        Err(error) => error,
    };
    if refused.kind == ErrorKind::SessionInactive && who.is(Role::Operator) {
        let theirs = one(&door, &who, &session).await.ok().filter(|one| one.agent == agent);
        if let Some(theirs) = theirs {
            return Ok(Json(seen(&theirs)));
        }
    }
    Err(refused.into())
}

/// Ends a session at once.
#[utoipa::path(delete, path = "/v1/agents/{agent}/sessions/{session}", tag = "sessions",
    operation_id = "close_session",
    params(("agent" = String, Path, description = "The agent."),
        ("session" = String, Path, description = "The session.")),
    responses(
        (status = 200, description = "The session, ended.", body = shapes::Session),
        NoKey, NoSession))]
pub(crate) async fn close(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, session)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let session = door.runtime.close(&caller, &session).await?;
    Ok(Json(json!(session)))
}

/// A message of the user: any JSON, kept for the model.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// What the user said.
    message: Value,
}

/// Brings a message of the user: it begins a turn, or waits for the one that is going on.
#[utoipa::path(post, path = "/v1/agents/{agent}/sessions/{session}/messages", tag = "sessions",
    operation_id = "send_message",
    params(("agent" = String, Path, description = "The agent."),
        ("session" = String, Path, description = "The session.")),
    request_body = Message,
    responses(
        (status = 200, description = "What became of it.", body = shapes::Arrived),
        NoKey, NoSession))]
pub(crate) async fn message(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, session)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let said: Message = body::shape(body::json(&headers, body, &door.limits).await?)?;
    Ok(Json(json!(door.runtime.message(&caller, &session, said.message).await?)))
}

/// What a client reports.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Report {
    /// `turn_complete` or `farewell_spoken`.
    signal: SignalName,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SignalName {
    TurnComplete,
    FarewellSpoken,
}

impl From<SignalName> for Signal {
    fn from(name: SignalName) -> Self {
        match name {
            SignalName::TurnComplete => Self::TurnComplete,
            SignalName::FarewellSpoken => Self::FarewellSpoken,
        }
    }
}

/// Tells the session what its client has seen; intents that waited for it are carried out.
#[utoipa::path(post, path = "/v1/agents/{agent}/sessions/{session}/signals", tag = "sessions",
    operation_id = "send_signal",
    params(("agent" = String, Path, description = "The agent."),
        ("session" = String, Path, description = "The session.")),
    request_body = Report,
    responses(
        (status = 200, description = "Intents carried out, messages that waited, the session.",
            body = shapes::Signalled),
        NoKey, NoSession))]
pub(crate) async fn signal(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, session)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let report: Report = body::shape(body::json(&headers, body, &door.limits).await?)?;
    Ok(Json(json!(door.runtime.signal(&caller, &session, report.signal.into()).await?)))
}
