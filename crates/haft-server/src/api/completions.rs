//! `POST /v1/chat/completions`: the whole loop, for any client of OpenAI's API that changes its base
//! URL. The client keeps the conversation and sends all of it; tools are run here.

mod asked;
mod told;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use haft_agent::{Agent, Cancel, Chat, Told};
use haft_core::contract::Mode;
use haft_core::{Caller, Digest, ErrorKind, ToolError};
use haft_runtime::toolbox::Catalog;
use haft_wire::Dialect;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use utoipa::ToSchema;

use super::{caller, calls, calls_somebody};
use crate::body;
use crate::door::Door;
use crate::problem::{NoKey, Problem};
use crate::room::Work;
use crate::shapes::{ChatCompletion, ChatError, ChatRequest};
use crate::who::Who;
use asked::Asked;
pub(crate) use told::Failure;
use told::{Answer, Pieces};

/// So long the same conversation is the same turn, and what it did is not done again.
const AGAIN: Duration = Duration::from_secs(15 * 60);

/// Answers a conversation as OpenAI's Chat Completions do, with the tools of the agent that the key
/// is for, or that `model` names. Those are called here; calls of the client's own `tools` are
/// handed back.
#[utoipa::path(post, path = "/v1/chat/completions", tag = "chat",
    operation_id = "complete_chat",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "The same key for the same request: what it does is done once.")),
    request_body = ChatRequest,
    responses(
        (status = 200, description = "A chat completion, or a stream of its chunks.",
            content((ChatCompletion = "application/json"), (String = "text/event-stream"))),
        (status = 400, description = "Not a request that this agent's model can answer.",
            body = ChatError),
        (status = 401, description = "No valid key.", body = ChatError),
        (status = 404, description = "No such agent, or one without a model.", body = ChatError),
        (status = 409, description = "The key was used for another request.", body = ChatError),
        (status = 429, description = "The tenant's tokens are used up; `Retry-After` says until when.",
            body = ChatError),
        (status = 502, description = "The model's provider refused the request.", body = ChatError),
        (status = 503, description = "The model did not answer, or there is too much work; send it again.",
            body = ChatError)))]
pub(crate) async fn complete(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    calls_somebody(&who)?;
    let asked = Asked::read(body::json(&headers, body, &door.limits).await?)?;
    let named = asked.model.strip_prefix("haft/").unwrap_or(&asked.model);
    let caller = caller(&door, &who, named).or_else(|_| {
        // A client that only changes its base URL still names the model that it was made for.
        let agent = who.only_agent().ok_or_else(|| unnamed(named))?;
        super::caller(&door, &who, agent)
    })?;
    talk(door, caller, &headers, asked).await
}

/// What `model` may name.
#[derive(Serialize, ToSchema)]
#[schema(as = ModelList)]
pub(crate) struct Listed {
    /// `list`.
    object: &'static str,
    /// The agents.
    data: Vec<Model>,
}

/// An agent that has a model to talk to.
#[derive(Serialize, ToSchema)]
pub(crate) struct Model {
    /// The agent.
    id: String,
    /// `model`.
    object: &'static str,
    /// 0: nobody knows.
    created: u64,
    /// `haft`.
    owned_by: &'static str,
}

/// What `model` may name: the agents of the key that have a model to talk to.
#[utoipa::path(get, path = "/v1/models", tag = "chat",
    operation_id = "list_models",
    responses(
        (status = 200, description = "A list as OpenAI's clients read it.", body = Listed),
        NoKey))]
pub(crate) async fn models(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Json<Listed> {
    let has_model =
        |agent: &str| door.models.as_ref().is_some_and(|models| models(&who.tenant, agent).is_ok());
    let agents = door.runtime.agents(&who.tenant).into_iter();
    let talking = agents.filter(|agent| who.may_call(agent) && has_model(agent));
    let data = talking.map(|id| Model { id, object: "model", created: 0, owned_by: "haft" });
    Json(Listed { object: "list", data: data.collect() })
}

/// The same for the agent in the path, whatever `model` says.
#[utoipa::path(post, path = "/v1/agents/{agent}/chat/completions", tag = "chat",
    operation_id = "complete_chat_of_agent",
    params(("agent" = String, Path, description = "The agent."),
        ("Idempotency-Key" = Option<String>, Header,
            description = "The same key for the same request: what it does is done once.")),
    request_body = ChatRequest,
    responses(
        (status = 200, description = "A chat completion, or a stream of its chunks.",
            content((ChatCompletion = "application/json"), (String = "text/event-stream"))),
        (status = 400, description = "Not a request that this agent's model can answer.",
            body = ChatError),
        (status = 401, description = "No valid key.", body = ChatError),
        (status = 404, description = "No such agent, or one without a model.", body = ChatError),
        (status = 409, description = "The key was used for another request.", body = ChatError),
        (status = 429, description = "The tenant's tokens are used up; `Retry-After` says until when.",
            body = ChatError),
        (status = 502, description = "The model's provider refused the request.", body = ChatError),
        (status = 503, description = "The model did not answer, or there is too much work; send it again.",
            body = ChatError)))]
pub(crate) async fn of_agent(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let caller = caller(&door, &who, &agent)?;
    let asked = Asked::read(body::json(&headers, body, &door.limits).await?)?;
    talk(door, caller, &headers, asked).await
}

/// Whether a path is one of these: whoever asks there reads errors in OpenAI's shape.
pub(crate) fn is_at(path: &str) -> bool {
    path.starts_with("/v1/") && path.ends_with("/chat/completions")
}

fn unnamed(model: &str) -> Problem {
    let model: String = model.chars().take(64).collect();
    Problem::malformed(format!(
        "`model` must name an agent of yours, which `{}` is not; or use \
         `/v1/agents/<agent>` as the base URL",
        model.escape_debug()
    ))
}

async fn talk(
    door: Arc<Door>,
    caller: Caller,
    headers: &HeaderMap,
    asked: Asked,
) -> Result<Response, Failure> {
    let agent = agent(&door, &caller)?;
    within_budget(&agent, &caller, door.runtime.store().now_ms()).await?;
    let (name, request) = name(calls::key(headers)?, &asked);
    let catalog = catalog(&door, &caller, agent.mode(), &name).await?;
    let told = asked.told(agent.dialect(), &catalog)?;
    if let Some(name) =
        told.offered().find(|name| catalog.get(name).is_some_and(|one| one.tool.id == *name))
    {
        let why =
            format!("`tools`: `{name}` is a tool of the agent; give the client's another name");
        return Err(Problem::malformed(why).into());
    }
    let session = door.runtime.rejoin(&caller, agent.mode(), &name, request.as_ref(), AGAIN).await;
    let session = session.map_err(Problem::from)?;
    let pieces = Pieces::new(&asked, &session.id, &caller)?;
    let tenant = caller.tenant.clone();
    let chat = agent.take_up(caller, &session, told);
    match asked.stream {
        false => whole(&door, chat, pieces).await,
        true => streamed(door, &tenant, chat, pieces),
    }
}

/// Before anything is begun: a stream could only say so in its first piece.
async fn within_budget(agent: &Agent, caller: &Caller, now_ms: i64) -> Result<(), Problem> {
    let Some(standing) = agent.budget(&caller.tenant).await? else { return Ok(()) };
    standing.allows_more().map_err(|error| {
        let wait = standing.resets_at_ms.saturating_sub(now_ms).max(0).unsigned_abs();
        Problem::from(error).again_after(wait.div_ceil(1000).max(1))
    })
}

/// The tools as the session has them: it may be pinned to another registry, and rules may ask for it.
async fn catalog(
    door: &Door,
    caller: &Caller,
    mode: Mode,
    name: &Digest,
) -> Result<Catalog, Problem> {
    let session = door.runtime.foresee(caller, mode, name, AGAIN).await.map_err(Problem::from)?;
    let pinned = door.runtime.catalog_in(caller, &session);
    Ok(pinned.unwrap_or_else(|| door.runtime.catalog(caller, mode)))
}

fn agent(door: &Door, caller: &Caller) -> Result<Agent, Problem> {
    let missing = || "no model is configured".to_owned();
    let models = door.models.as_ref();
    let found = models.ok_or_else(missing).and_then(|models| models(&caller.tenant, &caller.agent));
    found.map_err(|why| {
        let message = format!("this agent has no model to talk to: {why}");
        let error = ToolError::new(ErrorKind::Unavailable, message);
        error.suggest("ask an administrator for one; the request itself is in order").into()
    })
}

/// What makes two requests the same turn: the caller's own key, which is for this one request, else
/// the conversation up to what the user said last, and who that was.
fn name(key: Option<String>, asked: &Asked) -> (Digest, Option<Digest>) {
    match key {
        Some(key) => (Digest::of_json(&json!(["key", key])), Some(asked.whole.clone())),
        None => (Digest::of_json(&json!(["talk", asked.user, asked.until_the_user()])), None),
    }
}

/// Everything at once. Whoever hangs up drops this; what has begun is carried out.
async fn whole(door: &Door, mut chat: Chat, pieces: Pieces) -> Result<Response, Failure> {
    let (cancel, mut answer) = (Cancel::new(), Answer::default());
    let mut hear = |event| drop(answer.hear(&event));
    let done = {
        let asked = chat.answer(&mut hear, &cancel);
        tokio::pin!(asked);
        tokio::select! {
            done = &mut asked => done,
            () = door.stopped() => {
                cancel.cancel();
                asked.await
            }
        }
    };
    Ok(Json(pieces.whole(answer, &done)?).into_response())
}

/// Piece by piece. It counts as work until it has ended.
fn streamed(
    door: Arc<Door>,
    tenant: &Arc<str>,
    mut chat: Chat,
    pieces: Pieces,
) -> Result<Response, Failure> {
    let room = door.work(tenant)?;
    let (to, lines) = tokio::sync::mpsc::channel::<Value>(64);
    // A task of its own, and still part of what the client traces.
    let trace = haft_runtime::trace::current();
    let work = async move { run(&door, &mut chat, pieces, to, room).await };
    tokio::spawn(haft_runtime::trace::within(trace, work));
    let lines = futures_util::stream::unfold((lines, false), |(mut lines, ended)| async move {
        let (line, ended) = match lines.recv().await {
            // After an error nothing may look like a clean end.
            Some(piece) => {
                let failed = piece.get("error").is_some();
                (Line::default().data(piece.to_string()), ended || failed)
            }
            None if ended => return None,
            None => return Some((Ok(Line::default().data("[DONE]")), (lines, true))),
        };
        Some((Ok::<_, Infallible>(line), (lines, ended)))
    });
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()).into_response())
}

async fn run(door: &Door, chat: &mut Chat, pieces: Pieces, to: Sender<Value>, room: Work) {
    let cancel = Cancel::new();
    let mut listener = pieces.listener(to.clone());
    let done = {
        let asked = chat.answer(&mut listener, &cancel);
        tokio::pin!(asked);
        tokio::select! {
            done = &mut asked => Some(done),
            // Nobody listens any more: nothing new begins, and what has begun is carried out.
            () = to.closed() => None,
            () = door.stopped() => {
                cancel.cancel();
                Some(asked.await)
            }
        }
    };
    drop(room);
    if let Some(done) = done {
        for piece in pieces.end(listener.answer, &done) {
            let _ = to.send(piece).await;
        }
    }
}

impl Asked {
    /// The conversation in the words of the agent's model, and what is asked of it.
    fn told(&self, dialect: Dialect, catalog: &Catalog) -> Result<Told, Problem> {
        let mut told =
            Told::read(dialect, &self.messages, &self.tools).map_err(Problem::malformed)?;
        told.fits(dialect, catalog).map_err(Problem::malformed)?;
        if let Some(wanted) = &self.tool_choice {
            told.choose(wanted, catalog).map_err(Problem::malformed)?;
        }
        for (name, value) in &self.rest {
            if !told.wish(dialect, name, value).map_err(Problem::malformed)? {
                let why =
                    format!("`{}` is not a parameter that is known here", name.escape_debug());
                return Err(Problem::malformed(why));
            }
        }
        Ok(told)
    }
}
