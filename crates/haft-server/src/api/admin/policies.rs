//! Rules of the tenant, checked before they are saved; earlier versions can be read.

use haft_core::config::Entry;
use serde::Deserialize;
use utoipa::ToSchema;

/// Rules beside those of `haft.toml`, for this tenant alone.
#[derive(Deserialize, ToSchema)]
#[schema(as = PolicySettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// For people.
    description: Option<String>,
    /// Cedar policies.
    cedar: Option<String>,
    /// Tools that may be used.
    allow: Option<Vec<String>>,
    /// Tools that may not be used, whatever else is said.
    deny: Option<Vec<String>>,
    /// What a person must approve: effects, tools, patterns.
    approve: Option<Vec<String>>,
}

super::crud! {
    Policy, Said, "/v1/admin/policies", "/v1/admin/policies/{id}",
    "The tenant's own rules.",
    "list_policies", "show_policy", "put_policy", "remove_policy"
}

/// Every version of a policy, newest first, also of one that was removed.
#[utoipa::path(get, path = "/v1/admin/policies/{id}/versions", tag = "administration",
    operation_id = "list_policy_versions",
    params(("id" = String, Path, description = "Its id.")),
    responses((status = 200, description = "At most a hundred.", body = Vec<Thing>), NoKey, NoRole, Absent))]
pub(crate) async fn versions(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Json<Vec<Thing>>, Problem> {
    let found = earlier(&door, &who, &id).await?;
    match found.is_empty() {
        true => Err(Problem::missing("policy")),
        false => Ok(Json(found.iter().map(Thing::stored).collect())),
    }
}

/// Every version of a policy that is kept, newest first.
pub(crate) async fn earlier(door: &Door, who: &Who, id: &str) -> Result<Vec<Entry>, Problem> {
    crate::api::need(who, crate::who::Role::Administrator)?;
    let found = door.runtime.store().versions(Kind::Policy, &who.tenant, id, 100).await;
    found.map_err(crate::api::confirmations::unreadable)
}

/// Every policy of the tenant.
pub(crate) async fn all(door: &Door, who: &Who) -> Result<Vec<Thing>, Problem> {
    let (mut all, mut page) = (Vec::new(), Page::default());
    loop {
        let listing = super::list(door, who, Kind::Policy, &page).await?;
        all.extend(listing.items);
        match listing.next {
            Some(next) => page = Page { after: Some(next), limit: Some(1_000) },
            None => return Ok(all),
        }
    }
}
