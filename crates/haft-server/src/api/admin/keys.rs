//! Keys to the doors: shown once, kept as hashes, with an end.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::Principal;
use haft_core::call::PrincipalKind;
use haft_core::config::Kind;
use haft_runtime::policy::Instant;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::listing::cut;
use super::{Listing, Page, Thing, tag};
use crate::api::need;
use crate::api::only_if::OnlyIf;
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Outdated, Problem};
use crate::shapes::{Configurations, Configured, KeyKept};
use crate::who::facts::Facts;
use crate::who::stored::{self, Wanted};
use crate::who::{Key, Role, Who};

/// A key that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewKey {
    /// What it is for.
    name: Option<String>,
    /// Who holds it: `user:mara`, `agent:helper`, `service:billing`.
    #[schema(value_type = String)]
    principal: Principal,
    /// For whom its holder acts, always.
    #[schema(value_type = Option<String>)]
    subject: Option<Principal>,
    /// `agent`, `approver`, `operator`, `administrator`, `metrics`. An agent's key has only the
    /// first; only a user's has the second.
    #[schema(value_type = Vec<String>)]
    roles: Vec<Role>,
    /// The agents whose calls it may make; all of the tenant where absent, and for an agent's key
    /// that agent alone.
    agents: Option<Vec<String>>,
    /// What is known about its user, `context.user` in rules: texts, numbers, booleans and lists of
    /// texts by name.
    #[serde(default)]
    #[schema(value_type = Option<crate::shapes::Open>)]
    user: Facts,
    /// When it ends, as RFC 3339; never where absent.
    #[schema(value_type = Option<String>)]
    expires: Option<Instant>,
}

/// A key that was made.
#[derive(Serialize, ToSchema)]
pub(crate) struct Minted {
    /// Its text, shown this once.
    pub(crate) key: String,
    /// What is kept of it.
    #[schema(value_type = Configured<KeyKept>)]
    pub(crate) entry: Thing,
}

/// The tenant's keys, without what opens anything.
#[utoipa::path(get, path = "/v1/admin/keys", tag = "administration", operation_id = "list_keys",
    params(Page),
    responses((status = 200, description = "Declared and stored ones, by id.", body = Configurations<KeyKept>),
        NoKey, NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(page): Params<Page>,
) -> Result<Json<Listing>, Problem> {
    cut(all(&door, &who).await?, &page).map(Json)
}

/// Every key of the tenant, without what opens anything.
pub(crate) async fn all(door: &Door, who: &Who) -> Result<Vec<Thing>, Problem> {
    need(who, Role::Administrator)?;
    let entries = door.runtime.store().entries(Kind::Key, Some(&who.tenant)).await;
    let entries = entries.map_err(crate::api::confirmations::unreadable)?;
    let own = door.keys.declared().filter(|key| *key.tenant == *who.tenant);
    let mut items: Vec<Thing> = own.map(declared).collect();
    items.extend(entries.iter().map(Thing::stored).map(shown));
    Ok(items)
}

fn declared(key: &Key) -> Thing {
    let mut value = json!(key);
    strip(&mut value, &["id", "tenant", "sha256", "expires"]);
    if let (Some(fields), Some(at)) = (value.as_object_mut(), key.expires) {
        fields.insert("expires_at_ms".to_owned(), json!(at.0));
    }
    Thing::declared(key.id.clone(), value)
}

/// A hash opens nothing, and is still nobody's business.
fn shown(mut thing: Thing) -> Thing {
    strip(&mut thing.value, &["sha256"]);
    thing
}

fn strip(value: &mut Value, names: &[&str]) {
    if let Some(object) = value.as_object_mut() {
        names.iter().for_each(|name| drop(object.shift_remove(*name)));
    }
}

/// Makes a key. Its text is shown once.
#[utoipa::path(post, path = "/v1/admin/keys", tag = "administration", operation_id = "make_key",
    request_body = NewKey,
    responses((status = 201, description = "The key, with its version as `ETag`.", body = Minted),
        NoKey, NoRole,
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    let new: NewKey = body::shape(body::json(&headers, body, &door.limits).await?)?;
    Ok(respond(made(&door, &who, new).await?))
}

impl NewKey {
    pub(crate) fn new(
        name: Option<String>,
        principal: Principal,
        subject: Option<Principal>,
        roles: Vec<Role>,
        agents: Option<Vec<String>>,
        expires: Option<Instant>,
    ) -> Self {
        let user = Facts::default();
        Self { name, principal, subject, roles, agents, user, expires }
    }

    /// With what is known about its user.
    pub(crate) fn knowing(self, user: Facts) -> Self {
        Self { user, ..self }
    }

    /// A program never approves, nor makes somebody who does.
    pub(super) fn may_be_made_by(&self, who: &Who) -> Result<(), Problem> {
        let approves = self.is_for_a_person()
            && (self.is_for(Role::Approver) || self.is_for(Role::Administrator));
        if !approves || who.principal.kind == PrincipalKind::User {
            return Ok(());
        }
        let why = "a key that may approve is made by a person, and this one is a program's";
        Err(Problem::forbidden(why).advise(
            "use the key of an administrator who is a `user:…`, or `haft keys new` for `haft.toml`",
        ))
    }

    pub(super) fn is_for(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    pub(super) fn is_for_a_person(&self) -> bool {
        self.principal.kind == PrincipalKind::User
    }
}

pub(super) fn respond(minted: Minted) -> Response {
    let place = format!("/v1/admin/keys/{}", minted.entry.id);
    let tag = minted.entry.version.map(tag).unwrap_or_default();
    let headers = [(header::LOCATION, place), (header::ETAG, tag)];
    (StatusCode::CREATED, headers, Json(minted)).into_response()
}

/// Makes a key that whoever asks may make.
pub(crate) async fn made(door: &Door, who: &Who, new: NewKey) -> Result<Minted, Problem> {
    new.may_be_made_by(who)?;
    minted(door, who, new).await
}

/// Makes a key in the tenant of `who`.
pub(super) async fn minted(door: &Door, who: &Who, new: NewKey) -> Result<Minted, Problem> {
    let wanted = Wanted {
        name: new.name,
        principal: new.principal,
        subject: new.subject,
        roles: new.roles,
        agents: new.agents,
        user: new.user,
        expires_at_ms: new.expires.map(|at| at.0),
    };
    let (text, entry) = stored::mint(&door.runtime, &who.principal, &who.tenant, wanted).await?;
    Ok(Minted { key: text, entry: shown(Thing::stored(&entry)) })
}

/// One key, without what opens anything.
#[utoipa::path(get, path = "/v1/admin/keys/{id}", tag = "administration",
    operation_id = "show_key", params(("id" = String, Path, description = "Its id.")),
    responses((status = 200, description = "With its version as `ETag`.", body = Configured<KeyKept>),
        NoKey, NoRole, Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    let mut own = door.keys.declared().filter(|key| *key.tenant == *who.tenant);
    if let Some(key) = own.find(|key| key.id == id) {
        return Ok(declared(key).respond(StatusCode::OK));
    }
    let entry = super::stored(&door, &who, Kind::Key, &id).await?;
    let entry = entry.ok_or_else(|| Problem::missing("key"))?;
    Ok(shown(Thing::stored(&entry)).respond(StatusCode::OK))
}

/// Revokes a key: it opens nothing from now on. It stays listed.
#[utoipa::path(delete, path = "/v1/admin/keys/{id}", tag = "administration",
    operation_id = "revoke_key", params(("id" = String, Path, description = "Its id."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    responses((status = 200, description = "Revoked, now or before.", body = Configured<KeyKept>),
        NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn revoke(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    only_if: OnlyIf,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    if let Some(entry) = super::stored(&door, &who, Kind::Key, &id).await? {
        only_if.is(&tag(entry.version))?;
    }
    Ok(revoked(&door, &who, &id).await?.respond(StatusCode::OK))
}

/// Revokes a key of the tenant.
pub(crate) async fn revoked(door: &Door, who: &Who, id: &str) -> Result<Thing, Problem> {
    need(who, Role::Administrator)?;
    if door.keys.declared().any(|key| *key.tenant == *who.tenant && key.id == id) {
        return Err(Problem::declared());
    }
    let entry = stored::revoke(&door.runtime, &who.principal, &who.tenant, id).await?;
    Ok(shown(Thing::stored(&entry)))
}
