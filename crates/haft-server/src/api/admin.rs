//! Administration: what is configured, read and changed by administrators of a tenant.
//!
//! The tenant is the credential's. Things that `haft.toml` declares are listed and read-only. Every
//! stored thing has a version, which is its `ETag`; changing one takes `If-Match`.

pub(crate) mod activations;
pub(crate) mod agents;
pub(crate) mod definitions;
pub(crate) mod delegations;
pub(crate) mod keys;
mod listing;
pub(crate) mod policies;
pub(crate) mod suggestions;
pub(crate) mod tenants;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::config::{Change, Entry, Kind};
use haft_core::port::StoreError;
use haft_runtime::config::Changed;
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use listing::{Listing, Page, list};

use super::need;
use crate::door::Door;
use crate::problem::Problem;
use crate::who::{Role, Who};

/// One thing that is configured; the OpenAPI document has a `Configured` for each kind.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thing {
    /// Its id.
    pub(crate) id: String,
    /// `stored` here, or `declared` in `haft.toml` and read-only.
    pub(crate) source: &'static str,
    /// Raised by every change; absent where it is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<u64>,
    /// When it was last changed, in milliseconds of the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at_ms: Option<i64>,
    /// By whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_by: Option<String>,
    /// What it says.
    pub(crate) value: Value,
    /// What is probably not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

impl Thing {
    pub(crate) fn stored(entry: &Entry) -> Self {
        Self {
            id: entry.id.clone(),
            source: "stored",
            version: Some(entry.version),
            changed_at_ms: Some(entry.changed_at_ms),
            changed_by: Some(entry.changed_by.to_string()),
            value: entry.body.clone(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn declared(id: String, value: Value) -> Self {
        Self {
            id,
            source: "declared",
            version: None,
            changed_at_ms: None,
            changed_by: None,
            value,
            warnings: Vec::new(),
        }
    }

    /// With its version as the tag.
    pub(crate) fn respond(&self, status: StatusCode) -> Response {
        let mut response = (status, Json(self)).into_response();
        if let Some(tag) = self.version.and_then(|version| tag(version).parse().ok()) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

fn tag(version: u64) -> String {
    format!("\"v{version}\"")
}

/// One thing by its id.
pub(crate) async fn show(
    door: &Door,
    who: &Who,
    kind: Kind,
    id: &str,
) -> Result<Response, Problem> {
    Ok(shown(door, who, kind, id).await?.respond(StatusCode::OK))
}

pub(crate) async fn shown(door: &Door, who: &Who, kind: Kind, id: &str) -> Result<Thing, Problem> {
    need(who, Role::Administrator)?;
    if let Some(thing) = declared(door, who, kind, id) {
        return Ok(thing);
    }
    let entry = stored(door, who, kind, id).await?.ok_or_else(|| Problem::missing("entry"))?;
    Ok(Thing::stored(&entry))
}

/// What `haft.toml` says under this id.
fn declared(door: &Door, who: &Who, kind: Kind, id: &str) -> Option<Thing> {
    let declared = listing::declared(door, kind, &who.tenant);
    let (id, value) = declared.into_iter().find(|(one, _)| one == id)?;
    Some(Thing::declared(id, value))
}

pub(crate) async fn stored(
    door: &Door,
    who: &Who,
    kind: Kind,
    id: &str,
) -> Result<Option<Entry>, Problem> {
    match door.runtime.store().entry(kind, &who.tenant, id).await {
        Ok(entry) => Ok(Some(entry)),
        Err(StoreError::Missing) => Ok(None),
        Err(error) => Err(super::confirmations::unreadable(error)),
    }
}

/// Writes a thing: a new one, or another version of the one that the request has read.
pub(crate) async fn put(
    door: &Door,
    who: &Who,
    kind: Kind,
    id: &str,
    headers: &HeaderMap,
    body: Value,
) -> Result<Response, Problem> {
    let (status, thing) = written(door, who, kind, id, headers, body).await?;
    Ok(thing.respond(status))
}

async fn written(
    door: &Door,
    who: &Who,
    kind: Kind,
    id: &str,
    headers: &HeaderMap,
    body: Value,
) -> Result<(StatusCode, Thing), Problem> {
    need(who, Role::Administrator)?;
    if kind == Kind::Agent {
        agents::check(&body)?;
    }
    if kind == Kind::Delegation {
        delegations::check(&body, door.runtime.store().now_ms())?;
    }
    let now = stored(door, who, kind, id).await?.map(|entry| entry.version);
    // What is declared is said before what the request lacks: no version would help.
    let from = match door.runtime.is_declared(kind, &who.tenant, id) {
        true => 0,
        false => expected(headers, now)?,
    };
    let changed = door.runtime.change(change(who, kind, id, from, Some(body))).await?;
    let status = if from == 0 { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, thing(&changed)))
}

/// Removes a thing that the request has read.
pub(crate) async fn remove(
    door: &Door,
    who: &Who,
    kind: Kind,
    id: &str,
    headers: &HeaderMap,
) -> Result<StatusCode, Problem> {
    need(who, Role::Administrator)?;
    let now = stored(door, who, kind, id).await?.map(|entry| entry.version);
    let declared = door.runtime.is_declared(kind, &who.tenant, id);
    let from = match (now, declared) {
        (_, true) => 0,
        (None, false) => return Err(Problem::missing("entry")),
        (Some(_), false) => expected(headers, now)?,
    };
    door.runtime.change(change(who, kind, id, from, None)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) fn change(who: &Who, kind: Kind, id: &str, from: u64, to: Option<Value>) -> Change {
    let (tenant, id, by) = (who.tenant.to_string(), id.to_owned(), who.principal.clone());
    Change { kind, tenant, id, from, to, by }
}

pub(crate) fn thing(changed: &Changed) -> Thing {
    let warnings = changed.warnings.iter().map(ToString::to_string).collect();
    Thing { warnings, ..Thing::stored(&changed.entry) }
}

/// The version that a change is made on. Two administrators do not overwrite each other unseen: a
/// thing that is there is changed only by who says which version they read.
fn expected(headers: &HeaderMap, now: Option<u64>) -> Result<u64, Problem> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH), now) {
        (None, None | Some("*"), None) => Ok(0),
        // Both have to hold: whoever says `*` here wants a new one or nothing.
        (_, Some("*"), Some(_)) => Err(Problem::precondition_failed("it exists already")),
        (None, _, Some(_)) => Err(Problem::precondition_required()),
        (Some(_), _, None) => Err(Problem::precondition_failed("there is nothing to change")),
        (Some("*"), _, Some(now)) => Ok(now),
        (Some(tags), _, Some(now)) if tags.split(',').any(|one| one.trim() == tag(now)) => Ok(now),
        (Some(_), _, Some(_)) => Err(Problem::precondition_failed("it has changed since")),
        (None, Some(_), None) => {
            Err(Problem::malformed("`If-None-Match` can only be `*` where something is changed"))
        }
    }
}

/// The four routes of a kind: all, one, write, remove.
macro_rules! crud {
    ($kind:ident, $said:ty, $kept:ty, $all:tt, $one:tt, $what:tt,
     $list_id:tt, $show_id:tt, $put_id:tt, $remove_id:tt) => {
        use std::sync::Arc;

        use axum::Json;
        use axum::body::Body;
        use axum::extract::{Extension, Path, State};
        use axum::http::{HeaderMap, StatusCode};
        use axum::response::Response;
        use haft_core::config::Kind;

        use super::{Listing, Page};
        use crate::body::{self, Params};
        use crate::door::Door;
        use crate::problem::{Absent, NoKey, NoRole, Problem, Unchanged};
        use crate::shapes::{Configurations, Configured};
        use crate::who::Who;

        #[utoipa::path(get, path = $all, tag = "administration", operation_id = $list_id,
            summary = $what, description = "Declared and stored ones, by id.", params(Page),
            responses((status = 200, description = "Some of them.", body = Configurations<$kept>),
                NoKey, NoRole))]
        pub(crate) async fn list(
            State(door): State<Arc<Door>>,
            Extension(who): Extension<Who>,
            Params(page): Params<Page>,
        ) -> Result<Json<Listing>, Problem> {
            super::list(&door, &who, Kind::$kind, &page).await.map(Json)
        }

        #[utoipa::path(get, path = $one, tag = "administration", operation_id = $show_id,
            summary = "One of them.", params(("id" = String, Path, description = "Its id.")),
            responses((status = 200, description = "With its version as `ETag`.", body = Configured<$kept>),
                NoKey, NoRole, Absent))]
        pub(crate) async fn show(
            State(door): State<Arc<Door>>,
            Extension(who): Extension<Who>,
            Path(id): Path<String>,
        ) -> Result<Response, Problem> {
            super::show(&door, &who, Kind::$kind, &id).await
        }

        #[utoipa::path(put, path = $one, tag = "administration", operation_id = $put_id,
            summary = "Writes one: a new one, or with `If-Match` another version.",
            params(("id" = String, Path, description = "Its id."),
                ("If-Match" = Option<String>, Header, description = "The `ETag` that was read."),
                ("If-None-Match" = Option<String>, Header, description = "`*`: only a new one.")),
            request_body = $said,
            responses((status = 200, description = "Changed.", body = Configured<$kept>),
                (status = 201, description = "New.", body = Configured<$kept>),
                NoKey, NoRole, Absent, Unchanged))]
        pub(crate) async fn put(
            State(door): State<Arc<Door>>,
            Extension(who): Extension<Who>,
            Path(id): Path<String>,
            headers: HeaderMap,
            body: Body,
        ) -> Result<Response, Problem> {
            crate::api::need(&who, crate::who::Role::Administrator)?;
            let said = body::json(&headers, body, &door.limits).await?;
            super::put(&door, &who, Kind::$kind, &id, &headers, said).await
        }

        #[utoipa::path(delete, path = $one, tag = "administration", operation_id = $remove_id,
            summary = "Removes one.", params(("id" = String, Path, description = "Its id."),
                ("If-Match" = Option<String>, Header, description = "The `ETag` that was read.")),
            responses((status = 204, description = "It is gone."), NoKey, NoRole, Absent, Unchanged))]
        pub(crate) async fn remove(
            State(door): State<Arc<Door>>,
            Extension(who): Extension<Who>,
            Path(id): Path<String>,
            headers: HeaderMap,
        ) -> Result<StatusCode, Problem> {
            super::remove(&door, &who, Kind::$kind, &id, &headers).await
        }
    };
}
pub(crate) use crud;

/// What is wrong with a change, for programs.
pub(crate) fn problems(found: &[haft_runtime::policy::Problem]) -> Value {
    let one = |problem: &haft_runtime::policy::Problem| {
        json!({
            "place": problem.file,
            "line": problem.line,
            "message": problem.message,
            "help": problem.help,
        })
    };
    json!({ "problems": found.iter().map(one).collect::<Vec<_>>() })
}
