//! What happened, and what happens, as it happens.

mod history;
mod live;

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use haft_core::record::EventKind;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use super::need;
use crate::body::Params;
use crate::console::Visitor;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::{NoKey, NoRole, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// Which events.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Of these kinds, with commas between them; all where absent. On record are `tool_call_result`,
    /// `effect_changed`, `confirmation_decided` and `audit_note`; a stream has the others as well.
    kind: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// Of this tool, by id or by a short name.
    tool: Option<String>,
    /// Of this session.
    session: Option<String>,
    /// Of this call.
    call: Option<String>,
    /// Not before, in milliseconds of the Unix epoch. For events on record.
    since_ms: Option<i64>,
    /// Not after. For events on record.
    until_ms: Option<i64>,
    /// Only those after this one in the list, by its `id`: `Link` says the address of the next page.
    /// For events on record; a stream goes on after `Last-Event-ID`.
    after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent. For events on record.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl Filter {
    /// The kinds that it names.
    fn kinds(&self) -> Result<Vec<EventKind>, Problem> {
        let named = self.kind.iter().flat_map(|kinds| kinds.split(',')).map(str::trim);
        let kind = |name: &str| {
            serde_json::from_value(Value::String(name.to_owned())).map_err(|_| {
                let known: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
                let why = format!("`kind`: there are no events of the kind `{name}`");
                Problem::malformed(why).advise(&format!("name one of {}", known.join(", ")))
            })
        };
        named.map(kind).collect()
    }
}

/// The tenant's events. As JSON: those on record, newest first. With `Accept: text/event-stream`: all
/// of them from now on, or after the one that `Last-Event-ID` names, without end. Who comes back too
/// late for what was missed, or cannot keep up, is sent a `lost` that says how many, where that is
/// known, and from where to read what is on record of them.
#[utoipa::path(get, path = "/v1/events", tag = "records",
    operation_id = "list_events",
    params(Filter, ("Last-Event-ID" = Option<String>, Header,
        description = "The `id` of the last event of a stream that arrived.")),
    responses(
        (status = 200, description = "A page of events, or events without end.",
            content((Vec<shapes::Event> = "application/json"), (String = "text/event-stream")),
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole,
        (status = 429, description = "Too many are open for this key or tenant.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    credential: Option<Extension<Credential>>,
    Params(filter): Params<Filter>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response, Problem> {
    need(&who, Role::Operator)?;
    match super::calls::accepts_events(&headers) {
        true => {
            let credential = credential.map(|Extension(one)| one);
            live::stream(door, who, credential, std::future::pending(), &filter, &headers)
        }
        false => history::page(&door, &who, filter, &uri).await,
    }
}

/// The stream by itself, for the console's page. It ends with the visit.
pub(crate) async fn live(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(filter): Params<Filter>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    need(&visitor.who, Role::Operator)?;
    let credential = visitor.token.map(Credential);
    let over = door.clone().left(visitor.id);
    live::stream(door, visitor.who, credential, over, &filter, &headers)
}
