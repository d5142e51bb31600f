//! The audit trail: what is in it, and whether it is intact.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::Uri;
use axum::response::Response;
use haft_core::port::Checked;
use haft_core::record::AuditEntry;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::confirmations::unreadable;
use super::need;
use super::paging::Paging;
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// Which entries.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// Before this entry, by its number.
    pub(crate) before: Option<u64>,
    /// At most so many, up to 1,000; 100 where absent.
    pub(crate) limit: Option<usize>,
}

/// The tenant's entries, newest first. Their hashes chain those of all tenants. What a late or
/// probed outcome gave is left out of what they say: redaction has not seen it.
#[utoipa::path(get, path = "/v1/audit", tag = "records", params(Part),
    responses(
        (status = 200, description = "The entries.", body = Vec<Object>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not numbers.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(part): Params<Part>,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(part.limit);
    let wanted = Part { limit: Some(page.wanted()), ..part };
    let entries = entries(&door, &who, &wanted).await?;
    Ok(page.respond(&uri, "before", entries, |one| one.number.to_string(), seen))
}

/// What is seen of an entry.
fn seen(entry: &AuditEntry) -> Value {
    json!({
        "number": entry.number,
        "atMs": entry.at_ms,
        "kind": entry.kind,
        "body": said(entry),
        "previous": entry.previous,
        "hash": entry.hash,
    })
}

/// What an entry says, without results that nobody has made safe. Those of calls are.
pub(crate) fn said(entry: &AuditEntry) -> Value {
    let mut body = serde_json::from_str(&entry.body).unwrap_or(Value::Null);
    if let Value::Object(members) = &mut body
        && entry.kind != "call"
    {
        members.remove("result");
        members.remove("late");
    }
    body
}

/// The entries of a tenant.
pub(crate) async fn entries(
    door: &Door,
    who: &Who,
    part: &Part,
) -> Result<Vec<AuditEntry>, Problem> {
    need(who, Role::Operator)?;
    let most = part.limit.unwrap_or(100).clamp(1, 1_001);
    door.runtime.store().trail(&who.tenant, part.before, most).await.map_err(unreadable)
}

/// Checks every entry's hash, the chain between them and the signed checkpoints. One check at a
/// time: it reads the whole trail.
#[utoipa::path(post, path = "/v1/audit/verify", tag = "records",
    responses(
        (status = 200, description = "What was found; `broken` where it is not intact.",
            body = Object),
        NoKey,
        NoRole,
        (status = 503, description = "Another check is going on.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn verify(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(json!(verified(&door, &who).await?)))
}

/// Checks the trail.
pub(crate) async fn verified(door: &Door, who: &Who) -> Result<Checked, Problem> {
    need(who, Role::Operator)?;
    let _alone = door.verifying.try_acquire().map_err(|_| Problem::overloaded())?;
    door.runtime.store().verify().await.map_err(unreadable)
}
