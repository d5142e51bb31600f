//! Accepting work and answering under its own address.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::Digest;
use haft_core::call::Call;
use haft_core::record::EventKind;
use haft_core::trace::Trace;
use serde_json::{Value, json};

use super::fresh;
use super::watched::Wanted;
use super::work::Work;
use crate::door::Door;
use crate::hub::Watching;
use crate::later::{Begun, CalledOff, Doing};
use crate::problem::{NoKey, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// Accepts work. It counts as work until it has ended. What is the `same` as work that is being done
/// has its address.
pub(super) fn begin(
    door: &Arc<Door>,
    who: &Who,
    agent: &str,
    mut work: Work,
    same: Option<Digest>,
) -> Result<Response, Problem> {
    let room = door.work(&who.tenant)?;
    let id = fresh("later")?;
    let begun = Begins::new(door, &mut work)?;
    let doing = match door.later.begin(&id, who, agent, same) {
        Begun::Full => return Err(Problem::overloaded()),
        Begun::Already(id) => return Ok(accepted(agent, &id)),
        Begun::New(doing) => doing,
    };
    let (door, slot) = (door.clone(), id.clone());
    let trace = haft_runtime::trace::current();
    tokio::spawn(async move {
        run(&door, &slot, work, (begun, doing), trace).await;
        drop(room);
    });
    Ok(accepted(agent, &id))
}

/// Does the work to its end, or until it is called off: then nothing more of it begins.
async fn run(
    door: &Door,
    id: &str,
    work: Work,
    (mut begun, mut doing): (Begins, Doing),
    trace: Option<Trace>,
) {
    let (runtime, ends) = (door.runtime.clone(), Arc::new(Mutex::new(BTreeMap::new())));
    let told = ends.clone();
    let work = async move {
        let tell = |place: usize, end: Value| {
            told.lock().unwrap_or_else(PoisonError::into_inner).insert(place, end);
        };
        work.run(&runtime, &tell).await
    };
    let mut working = tokio::spawn(haft_runtime::trace::within(trace, work));
    let end = tokio::select! {
        biased;
        end = &mut working => end,
        Ok(()) = &mut doing.called_off => {
            working.abort();
            working.await
        }
    };
    let answer = match end {
        Ok(Ok(done)) => serde_json::to_vec(&done).ok(),
        Err(why) if why.is_cancelled() => {
            let ends = ends.lock().unwrap_or_else(PoisonError::into_inner).clone();
            door.later.end_early(id, begun.left(id, &ends).to_string().into());
            return;
        }
        Ok(Err(_)) | Err(_) => None,
    };
    match answer {
        Some(answer) => door.later.end(id, answer.into()),
        None => door.later.drop_out(id),
    }
}

/// The side effects of some calls, as they begin and end.
struct Begins {
    wanted: Wanted,
    events: Watching,
    /// The ids that clients know calls by, of those that are known here by another: a provider's calls.
    known: HashMap<String, String>,
}

impl Begins {
    fn new(door: &Door, work: &mut Work) -> Result<Self, Problem> {
        let (wanted, tenant) = Wanted::of(work)?;
        let own = |(id, call): (String, &mut Call)| Some((call.id.clone()?, id));
        let known = work.known().into_iter().filter_map(own).collect();
        Ok(Self { wanted, events: door.hub.watch(&tenant), known })
    }

    /// What is said of work that was called off: what had ended, and what had begun and cannot be
    /// called off. Where more happened than is kept, that is not known.
    fn left(&mut self, id: &str, ends: &BTreeMap<usize, Value>) -> Value {
        let (mut begun, mut is_known) = (BTreeMap::new(), true);
        while let Some(next) = self.events.ready() {
            let Ok(event) = next else {
                is_known = false;
                continue;
            };
            let ended = [EventKind::ToolSideEffectCompleted, EventKind::ToolSideEffectFailed];
            if event.kind == EventKind::ToolSideEffectStarted && self.wanted.takes(&event) {
                let (call, tool) = (&event.call, &event.tool);
                let id = event.model_call.as_ref().map(|id| self.known.get(id).unwrap_or(id));
                begun.insert(call.clone(), json!({ "call": call, "tool": tool, "id": id }));
            } else if ended.contains(&event.kind) {
                begun.remove(&event.call);
            }
        }
        let ends = ends.iter().map(|(place, end)| json!({ "index": place, "end": end }));
        let begun = is_known.then(|| begun.into_values().collect::<Vec<_>>());
        json!({ "id": id, "status": "cancelled", "ended": ends.collect::<Vec<_>>(), "begun": begun })
    }
}

/// Calls off work that was to be answered later. Nothing more of it begins; a side effect that has begun
/// is carried out, and its outcome recorded.
#[utoipa::path(delete, path = "/v1/agents/{agent}/calls/{call}", tag = "calls",
    operation_id = "cancel_call",
    params(("agent" = String, Path, description = "The agent."),
        ("call" = String, Path, description = "The id under which it was accepted.")),
    responses(
        (status = 200, description = "It goes no further.", body = shapes::CalledOff),
        NoKey,
        (status = 404, description = "No such call of yours.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "It has ended by itself.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, call)): Path<(String, String)>,
) -> Result<Response, Problem> {
    if !who.is(Role::Operator) {
        super::caller(&door, &who, &agent)?;
    }
    match door.later.call_off(&call, &who, &agent).await {
        None => Err(Problem::missing("call")),
        Some(CalledOff::TooLate) => Err(Problem::ended()),
        Some(CalledOff::Answer { answer, own }) => {
            let answer = if own { answer } else { without_ends(&answer) };
            Ok(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
        }
    }
}

/// What calls gave is their caller's: an operator is told that they ended.
fn without_ends(answer: &[u8]) -> Bytes {
    let mut said: Value = serde_json::from_slice(answer).unwrap_or_default();
    let ended = said.get_mut("ended").and_then(Value::as_array_mut);
    for one in ended.into_iter().flatten().filter_map(Value::as_object_mut) {
        one.remove("end");
    }
    said.to_string().into()
}

fn accepted(agent: &str, id: &str) -> Response {
    let place = format!("/v1/agents/{agent}/calls/{id}");
    let applied = (HeaderName::from_static("preference-applied"), "respond-async".to_owned());
    let body = Json(json!({ "id": id, "status": "running" }));
    (StatusCode::ACCEPTED, [(header::LOCATION, place), applied], body).into_response()
}
