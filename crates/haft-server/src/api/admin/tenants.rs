//! Tenants: one's own, and for administrators of the installation's home tenant all of them.
//!
//! Whoever runs the installation can make a tenant and its first administrator's key. What is in
//! it they do not see: from then on it is administered with keys of its own.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use haft_core::call::PrincipalKind;
use haft_core::config::Kind;
use haft_core::ledger::State as Outcome;
use haft_core::port::EffectFilter;
use serde::Deserialize;
use utoipa::ToSchema;

use super::keys::{self, NewKey};
use super::listing::cut;
use super::{Listing, Page, Thing};
use crate::api::confirmations::unreadable;
use crate::api::need;
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Problem, Unchanged};
use crate::shapes::{Configurations, Configured};
use crate::who::{Role, Who};

/// What is said of a tenant.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TenantSettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// For people.
    description: Option<String>,
    /// Who may approve that an agent's rules are looser than a contract: `user:mara`.
    #[serde(default)]
    administrators: Vec<String>,
    /// How its tools may be used over MCP: `whole`, `discovery` or `off`.
    #[serde(default)]
    mcp: String,
    /// How many tokens of models its agents may use: as many as they like where absent.
    tokens: Option<Tokens>,
}

/// How many tokens of models a tenant may use, in and out.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TokenBudget)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Tokens {
    /// So many.
    most: u64,
    /// In an `hour`, a `day` or a `month` of the calendar, in UTC; a day where absent.
    #[serde(default)]
    per: String,
}

/// The tenants that the key's holder may know of: their own, or all for the home tenant's.
#[utoipa::path(get, path = "/v1/admin/tenants", tag = "administration",
    operation_id = "list_tenants", params(Page),
    responses((status = 200, description = "Some of them.", body = Configurations<Said>),
        NoKey, NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(page): Params<Page>,
) -> Result<Json<Listing>, Problem> {
    need(&who, Role::Administrator)?;
    if !door.is_home(&who) {
        return super::list(&door, &who, Kind::Tenant, &page).await.map(Json);
    }
    let declared = &door.runtime.declared().records.tenants;
    let named = |id: &String| declared.iter().any(|one| one.id == *id);
    let entries = door.runtime.store().entries(Kind::Tenant, None).await;
    let entries = entries.map_err(crate::api::confirmations::unreadable)?;
    let mut items: Vec<Thing> =
        entries.iter().filter(|one| !named(&one.id)).map(Thing::stored).collect();
    let declared =
        declared.iter().flat_map(|one| super::listing::declared(&door, Kind::Tenant, &one.id));
    items.extend(declared.map(|(id, value)| Thing::declared(id, value)));
    cut(items, &page).map(Json)
}

/// Whoever may look at or change a tenant, as if they were in it.
fn inside(door: &Door, who: &Who, tenant: &str) -> Result<Who, Problem> {
    need(who, Role::Administrator)?;
    match *who.tenant == *tenant || door.is_home(who) {
        true => Ok(who.in_tenant(tenant)),
        false => Err(Problem::missing("tenant")),
    }
}

/// Making and removing tenants is for whoever runs the installation.
fn home(door: &Door, who: &Who, tenant: &str) -> Result<Who, Problem> {
    let inside = inside(door, who, tenant)?;
    match door.is_home(who) {
        true => Ok(inside),
        false => Err(Problem::forbidden("only administrators of the home tenant can do this")),
    }
}

/// One tenant.
#[utoipa::path(get, path = "/v1/admin/tenants/{id}", tag = "administration",
    operation_id = "show_tenant", params(("id" = String, Path, description = "Its id.")),
    responses((status = 200, description = "With its version as `ETag`.", body = Configured<Said>),
        NoKey, NoRole, Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let inside = inside(&door, &who, &id)?;
    super::show(&door, &inside, Kind::Tenant, &id).await
}

/// Makes a tenant, or with `If-Match` says something else of it. For the home tenant's
/// administrators.
#[utoipa::path(put, path = "/v1/admin/tenants/{id}", tag = "administration",
    operation_id = "put_tenant",
    params(("id" = String, Path, description = "Its id."),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only a new one.")),
    request_body = Said,
    responses((status = 200, description = "Changed.", body = Configured<Said>),
        (status = 201, description = "New.", body = Configured<Said>),
        NoKey, NoRole, Absent, Unchanged))]
pub(crate) async fn put(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let inside = home(&door, &who, &id)?;
    let said = body::json(&headers, body, &door.limits).await?;
    super::put(&door, &inside, Kind::Tenant, &id, &headers, said).await
}

/// Removes a tenant of which nothing is left. For the home tenant's administrators.
#[utoipa::path(delete, path = "/v1/admin/tenants/{id}", tag = "administration",
    operation_id = "remove_tenant",
    params(("id" = String, Path, description = "Its id."),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read.")),
    responses((status = 204, description = "It is gone."), NoKey, NoRole, Absent, Unchanged))]
pub(crate) async fn remove(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let inside = home(&door, &who, &id)?;
    // Whoever makes a tenant of the same name later must not find its accounts.
    if crate::api::connections::any(&door, &id).await? {
        return Err(Problem::not_empty("the tenant still has its connections"));
    }
    // What it wrote goes with it, and nobody could settle this any more.
    let open = EffectFilter {
        tenant: id.clone(),
        states: vec![Outcome::Started, Outcome::Unknown, Outcome::Compensating, Outcome::Stuck],
        limit: 1,
        ..EffectFilter::default()
    };
    if !door.runtime.store().effects(open).await.map_err(unreadable)?.is_empty() {
        return Err(Problem::not_empty(
            "the tenant has effects whose outcome is open; settle them first (`haft effects`)",
        ));
    }
    super::remove(&door, &inside, Kind::Tenant, &id, &headers).await
}

/// Makes the first administrator's key of a tenant, where nobody holds one that opens anything; for a
/// person, where no person does. Its text is shown once. For the home tenant's administrators, who
/// cannot let themselves in later; one that is a program makes no person's.
#[utoipa::path(post, path = "/v1/admin/tenants/{id}/keys", tag = "administration",
    operation_id = "make_tenant_key", params(("id" = String, Path, description = "The tenant.")),
    request_body = NewKey,
    responses((status = 201, description = "The key.", body = keys::Minted),
        NoKey, NoRole,
        (status = 404, description = "There is no such tenant.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "The tenant has an administrator.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn key(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let inside = home(&door, &who, &id)?;
    let known = door.runtime.configured();
    if !known.records.tenants.iter().any(|one| one.id == id) {
        return Err(Problem::missing("tenant"));
    }
    let new: NewKey = body::shape(body::json(&headers, body, &door.limits).await?)?;
    if !new.is_for(Role::Administrator) {
        let why = "the first key of a tenant is an administrator's, who makes the others";
        return Err(Problem::invalid_configuration(why));
    }
    new.may_be_made_by(&who).map_err(|problem| {
        problem.advise(
            "make the first key of the tenant for a `service:…` that sets it up; a person of the \
             home tenant, or `haft.toml`, makes the first person's",
        )
    })?;
    // Two at once would both be the first.
    let _alone = door.founding.lock().await;
    // A program that set the tenant up makes nobody who approves, so the first person still has to be
    // let in.
    let same = |who: &Who| who.principal.kind == PrincipalKind::User || !new.is_for_a_person();
    if door.has_administrator(&id, same) {
        return Err(Problem::administered());
    }
    Ok(keys::respond(keys::minted(&door, &inside, new).await?))
}
