//! Calls on record, in the view that redaction allows.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use haft_core::ErrorKind;
use haft_core::port::CallFilter;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::confirmations::unreadable;
use super::need;
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// Which calls.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filter {
    /// Of this agent.
    agent: Option<String>,
    /// Of this tool.
    tool: Option<String>,
    /// Of this session.
    session: Option<String>,
    /// That ended in this kind of error.
    #[param(value_type = Option<String>)]
    error: Option<ErrorKind>,
    /// Only those that ended well, or only those that did not.
    ok: Option<bool>,
    /// Not before, in milliseconds of the Unix epoch.
    since_ms: Option<i64>,
    /// At most so many, up to 1,000.
    limit: Option<usize>,
}

impl Filter {
    fn of(self, who: &Who) -> CallFilter {
        CallFilter {
            tenant: who.tenant.to_string(),
            agent: self.agent,
            tool: self.tool,
            session: self.session,
            error: self.error,
            ok: self.ok,
            since_ms: self.since_ms,
            call: None,
            limit: self.limit.unwrap_or(100).min(1_000),
        }
    }
}

/// Calls, newest first.
#[utoipa::path(get, path = "/v1/calls", tag = "records", params(Filter),
    responses(
        (status = 200, description = "The calls.", body = Vec<Object>),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn calls(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(filter): Params<Filter>,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Operator)?;
    let found = door.runtime.store().calls(filter.of(&who)).await.map_err(unreadable)?;
    Ok(Json(json!(found)))
}

/// Per tool: calls, errors, latency.
#[utoipa::path(get, path = "/v1/stats", tag = "records", params(Filter),
    responses(
        (status = 200, description = "The figures.", body = Vec<Object>),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn stats(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(filter): Params<Filter>,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Operator)?;
    let found = door.runtime.store().stats(filter.of(&who)).await.map_err(unreadable)?;
    Ok(Json(json!(found)))
}
