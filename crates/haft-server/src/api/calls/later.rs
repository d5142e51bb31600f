//! Accepting work and answering under its own address.

use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::Digest;
use serde_json::json;

use super::fresh;
use super::work::Work;
use crate::door::Door;
use crate::later::Begun;
use crate::problem::Problem;
use crate::who::Who;

/// Accepts work. It counts as work until it has ended. What is the `same` as work that is being done
/// has its address.
pub(super) fn begin(
    door: &Arc<Door>,
    who: &Who,
    agent: &str,
    work: Work,
    same: Option<Digest>,
) -> Result<Response, Problem> {
    let room = door.work(&who.tenant)?;
    let id = fresh("later")?;
    match door.later.begin(&id, who, agent, same) {
        Begun::Full => return Err(Problem::overloaded()),
        Begun::Already(id) => return Ok(accepted(agent, &id)),
        Begun::New => {}
    }
    let (door, slot) = (door.clone(), id.clone());
    let trace = haft_runtime::trace::current();
    tokio::spawn(async move {
        let runtime = door.runtime.clone();
        let work = async move { work.run(&runtime, &|_, _| {}).await };
        let end = tokio::spawn(haft_runtime::trace::within(trace, work)).await;
        let answer = match end {
            Ok(Ok(done)) => serde_json::to_vec(&done).ok(),
            Ok(Err(_)) | Err(_) => None,
        };
        match answer {
            Some(answer) => door.later.end(&slot, answer.into()),
            None => door.later.drop_out(&slot),
        }
        drop(room);
    });
    Ok(accepted(agent, &id))
}

fn accepted(agent: &str, id: &str) -> Response {
    let place = format!("/v1/agents/{agent}/calls/{id}");
    let applied = (HeaderName::from_static("preference-applied"), "respond-async".to_owned());
    let body = Json(json!({ "id": id, "status": "running" }));
    (StatusCode::ACCEPTED, [(header::LOCATION, place), applied], body).into_response()
}
