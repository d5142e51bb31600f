//! Who may use a connection, and with which tools.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use haft_core::connection::Grant;
use haft_runtime::connections::check_grant;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kept::{find, in_force, kept, meant, mistaken, own, unopened};
use crate::api::need;
use crate::api::only_if::OnlyIf;
use crate::body;
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Outdated, Problem};
use crate::who::{Role, Who};

/// So many grants may one connection have.
const MOST: usize = 1_000;

/// A grant on record.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Given {
    /// `stored` here, or `declared` in `haft.toml` and read-only.
    pub(crate) source: &'static str,
    /// Who: `user:mara`, `agent:*`, `*`.
    pub(crate) principals: Vec<String>,
    /// Names of tools, with `*`.
    pub(crate) tools: Vec<String>,
    /// What is probably not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// All grants of a connection.
#[derive(Serialize, ToSchema)]
pub(crate) struct Grants {
    items: Vec<Given>,
}

/// A grant that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewGrant {
    /// Who may use it: `user:<id>`, `agent:<id>`, `agent:*`, `*`.
    #[schema(min_items = 1, max_items = 256)]
    pub(crate) principals: Vec<String>,
    /// With which tools: names, with `*`.
    #[schema(min_items = 1, max_items = 256)]
    pub(crate) tools: Vec<String>,
}

/// What was taken back.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Revoked {
    /// How many grants were changed or removed.
    pub(crate) revoked: u64,
    /// How many `haft.toml` declares, which still hold.
    pub(crate) declared: usize,
}

/// The grants of the tenant, with the connection of each: those that are declared, and those that are
/// stored.
pub(super) async fn all(door: &Door, who: &Who) -> Result<Vec<(String, Given)>, Problem> {
    let given = |source, principals: &[String], tools: &[String]| Given {
        source,
        principals: principals.to_vec(),
        tools: tools.to_vec(),
        warnings: Vec::new(),
    };
    let declared = door.runtime.declared().records.grants.iter();
    let declared = declared.filter(|one| one.tenant == *who.tenant);
    let mut all: Vec<_> = declared
        .map(|one| (one.connection.clone(), given("declared", &one.principals, &one.tools)))
        .collect();
    let stored = kept(door)?.grants_in(&who.tenant).await.map_err(unopened)?;
    all.extend(
        stored
            .iter()
            .map(|one| (one.connection.clone(), given("stored", &one.principals, &one.tools))),
    );
    Ok(all)
}

async fn of(door: &Door, who: &Who, id: &str) -> Result<Vec<Given>, Problem> {
    need(who, Role::Administrator)?;
    find(&**kept(door)?, who, id).await?;
    let all = all(door, who).await?.into_iter();
    Ok(all.filter(|(connection, _)| connection == id).map(|(_, given)| given).collect())
}

/// Who may use a connection.
#[utoipa::path(get, path = "/v1/connections/{id}/grants", tag = "connections",
    operation_id = "list_grants", params(("id" = String, Path, description = "The connection.")),
    responses((status = 200, description = "Declared and stored ones.", body = Grants),
        NoKey, NoRole, Absent))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Json<Grants>, Problem> {
    Ok(Json(Grants { items: of(&door, &who, &id).await? }))
}

/// Lets somebody use a connection with some tools, from now on.
#[utoipa::path(post, path = "/v1/connections/{id}/grants", tag = "connections",
    operation_id = "grant_connection",
    params(("id" = String, Path, description = "The connection."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    request_body = NewGrant,
    responses((status = 201, description = "The grant.", body = Given),
        NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`, or as many as there may be.",
            body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    only_if: OnlyIf,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    let new: NewGrant = body::shape(body::json(&headers, body, &door.limits).await?)?;
    meant(&door, &who, &id, &only_if).await?;
    let given = granted(&door, &who, &id, new).await?;
    Ok((StatusCode::CREATED, Json(given)).into_response())
}

/// Grants a connection of the tenant.
pub(crate) async fn granted(
    door: &Door,
    who: &Who,
    id: &str,
    new: NewGrant,
) -> Result<Given, Problem> {
    let kept = own(door, who, id).await?;
    check_grant(&new.principals, &new.tools).map_err(mistaken)?;
    if of(door, who, id).await?.len() >= MOST {
        let why = format!("the connection has {MOST} grants, which is as many as there may be");
        return Err(Problem::full(why));
    }
    let account = find(&**kept, who, id).await?;
    let grant = Grant {
        tenant: who.tenant.to_string(),
        connection: id.to_owned(),
        principals: new.principals.clone(),
        tools: new.tools.clone(),
    };
    kept.grant(grant, &who.principal).await.map_err(unopened)?;
    in_force(door).await;
    let warnings = door.runtime.grant_doubts(&who.tenant, &account.provider, &new.tools);
    let NewGrant { principals, tools } = new;
    Ok(Given { source: "stored", principals, tools, warnings })
}

/// Takes back whatever was granted of a connection here.
#[utoipa::path(delete, path = "/v1/connections/{id}/grants", tag = "connections",
    operation_id = "revoke_grants",
    params(("id" = String, Path, description = "The connection."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    responses((status = 200, description = "What was taken back.", body = Revoked),
        NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn revoke_all(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    only_if: OnlyIf,
) -> Result<Json<Revoked>, Problem> {
    meant(&door, &who, &id, &only_if).await?;
    revoked(&door, &who, &id, None).await.map(Json)
}

/// Takes back what was granted to one principal, as it was granted: `agent:*` is not every agent by
/// name.
#[utoipa::path(delete, path = "/v1/connections/{id}/grants/{principal}", tag = "connections",
    operation_id = "revoke_grant",
    params(("id" = String, Path, description = "The connection."),
        ("principal" = String, Path, description = "From whom: `agent:helper`, `agent:*`, `*`."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    responses((status = 200, description = "What was taken back.", body = Revoked),
        NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn revoke(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((id, principal)): Path<(String, String)>,
    only_if: OnlyIf,
) -> Result<Json<Revoked>, Problem> {
    meant(&door, &who, &id, &only_if).await?;
    revoked(&door, &who, &id, Some(&principal)).await.map(Json)
}

/// Takes grants back, those of one principal or all.
pub(crate) async fn revoked(
    door: &Door,
    who: &Who,
    id: &str,
    principal: Option<&str>,
) -> Result<Revoked, Problem> {
    let all = of(door, who, id).await?;
    let meant = |one: &&Given| principal.is_none_or(|who| one.principals.iter().any(|p| p == who));
    let (declared, stored): (Vec<_>, Vec<_>) =
        all.iter().filter(meant).partition(|one| one.source == "declared");
    if stored.is_empty() && !declared.is_empty() {
        return Err(Problem::declared());
    }
    if stored.is_empty() && principal.is_some() {
        return Err(Problem::missing("grant"));
    }
    let mut revoked = 0;
    if !stored.is_empty() {
        let taken = kept(door)?.revoke(&who.tenant, id, principal, &who.principal).await;
        revoked = taken.map_err(unopened)?;
        in_force(door).await;
    }
    Ok(Revoked { revoked, declared: declared.len() })
}
