//! Rules of the tenant, checked before they are saved; earlier versions can be read.

use axum::http::Uri;
use haft_core::config::Entry;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::Thing;
use crate::api::paging::Paging;
use crate::shapes::Versions;

/// Rules beside those of `haft.toml`, for this tenant alone.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicySettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// For people.
    description: Option<String>,
    /// Cedar policies.
    #[serde(default)]
    cedar: String,
    /// Tools that may be used.
    #[serde(default)]
    allow: Vec<String>,
    /// Tools that may not be used, whatever else is said.
    #[serde(default)]
    deny: Vec<String>,
    /// What a person must approve: effects, tools, patterns.
    #[serde(default)]
    approve: Vec<String>,
}

super::crud! {
    Policy, Said, Said, "/v1/admin/policies", "/v1/admin/policies/{id}",
    "The tenant's own rules.",
    "list_policies", "show_policy", "put_policy", "remove_policy"
}

/// Which versions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// Before this version: `Link` says the address of the next page.
    pub(crate) before: Option<u64>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// The versions of a policy, newest first, also of one that was removed; of one that `haft.toml` declares,
/// that alone.
#[utoipa::path(get, path = "/v1/admin/policies/{id}/versions", tag = "administration",
    operation_id = "list_policy_versions",
    params(("id" = String, Path, description = "Its id."), Part),
    responses(
        (status = 200, description = "Some of them.", body = Versions<Said>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not numbers.", body = Problem,
            content_type = "application/problem+json"),
        NoKey, NoRole, Absent))]
pub(crate) async fn versions(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    Params(part): Params<Part>,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(part.limit)?;
    let found = earlier(&door, &who, &id, part.before, page.wanted()).await?;
    if let Some(only) = super::declared(&door, &who, Kind::Policy, &id).filter(|_| found.is_empty())
    {
        // What it said before is in git.
        let all: Vec<Thing> = Some(only).filter(|_| part.before.is_none()).into_iter().collect();
        return Ok(axum::response::IntoResponse::into_response(Json(all)));
    }
    // A page beyond the last is empty; a policy that never was is none.
    if found.is_empty() && (part.before.is_none() || !is_known(&door, &who, &id).await?) {
        return Err(Problem::missing("policy"));
    }
    let seen = |entry: &Entry| serde_json::json!(Thing::stored(entry));
    Ok(page.respond(&uri, "before", found, |entry| entry.version.to_string(), seen))
}

async fn is_known(door: &Door, who: &Who, id: &str) -> Result<bool, Problem> {
    Ok(!earlier(door, who, id, None, 1).await?.is_empty())
}

/// Versions of a policy, newest first: before one of them, or from the newest on.
pub(crate) async fn earlier(
    door: &Door,
    who: &Who,
    id: &str,
    before: Option<u64>,
    most: usize,
) -> Result<Vec<Entry>, Problem> {
    crate::api::need(who, crate::who::Role::Administrator)?;
    let found = door.runtime.store().versions(Kind::Policy, &who.tenant, id, before, most).await;
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
