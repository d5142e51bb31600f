//! What happens, as it happens.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, Stream, StreamExt as _};
use haft_core::record::Event;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::need;
use crate::body::Params;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::{NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// There is nothing to choose: whoever asks for a part is told that there is none.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// The tenant's events as server-sent events, from now on. Who cannot keep up is told how many
/// were lost.
#[utoipa::path(get, path = "/v1/events", tag = "records",
    responses(
        (status = 200, description = "Events without end.", body = String,
            content_type = "text/event-stream"),
        (status = 400, description = "It takes no parameters.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole,
        (status = 429, description = "Too many are open for this key or tenant.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn live(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    credential: Option<Extension<Credential>>,
    Params(Nothing {}): Params<Nothing>,
) -> Result<Response, Problem> {
    need(&who, Role::Operator)?;
    let place = door.places.take(&who)?;
    let shut = door.clone().shut(credential.map(|Extension(one)| one), who.clone());
    let events = stream(door.hub.watch(), move |event| {
        // The place is taken for as long as somebody listens.
        let _ = &place;
        *event.tenant == *who.tenant
    });
    let events = events.take_until(Box::pin(door.stopped())).take_until(Box::pin(shut));
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// The events that `wanted` picks.
fn stream(
    from: Receiver<Arc<Event>>,
    wanted: impl Fn(&Event) -> bool + Send + 'static,
) -> impl Stream<Item = Result<Line, Infallible>> {
    stream::unfold((from, wanted), |(mut from, wanted)| async move {
        loop {
            let line = match from.recv().await {
                Ok(event) if wanted(&event) => line(&event),
                Ok(_) => continue,
                Err(RecvError::Lagged(lost)) => {
                    let told = Line::default().event("lost").json_data(json!({ "events": lost }));
                    told.unwrap_or_default()
                }
                Err(RecvError::Closed) => return None,
            };
            return Some((Ok(line), (from, wanted)));
        }
    })
}

/// One event, under its own name.
pub(crate) fn line(event: &Event) -> Line {
    let name = serde_json::to_value(event.kind).unwrap_or_default();
    let line = Line::default().event(name.as_str().unwrap_or("event"));
    line.json_data(event).unwrap_or_default()
}
