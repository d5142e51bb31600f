//! What the tenant has taken, and what it brings along: tier 1 to tier 2.

use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::shapes::{DefinitionKept, Open};

/// What the tenant says about a tool; the entry's id is the tool's.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DefinitionSettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// The versions that the tenant has taken, `^1.2` say; any when left out.
    version: Option<String>,
    /// Whether the tenant has it. Left out, it has what is its own, and nothing discovered.
    enabled: Option<bool>,
    /// `own` or `discovered`.
    #[serde(default)]
    source: String,
    /// The contract of a tool that the tenant brings along, as the `schema.json` of a tool's folder,
    /// with an `http` gateway. The entry's id is then a new tool's: `<namespace>__<toolId>`.
    contract: Option<Open>,
    /// What is always in the prompt of a tool that the tenant brings along, at most 250 characters;
    /// the contract's description when left out.
    summary: Option<String>,
    /// Its document, in Markdown with the seven sections of a `doc.md`.
    doc: Option<String>,
}

super::crud! {
    Definition, Said, DefinitionKept, "/v1/admin/definitions", "/v1/admin/definitions/{id}",
    "What the tenant has taken or left, and the tools that it brings along.",
    "list_definitions", "show_definition", "put_definition", "remove_definition"
}

/// Takes a tool that the tenant may know of; what else was said of it stays.
pub(crate) async fn taken(door: &Door, who: &Who, tool: &str) -> Result<(), Problem> {
    crate::api::need(who, crate::who::Role::Administrator)?;
    if !door.runtime.offers(&who.tenant).iter().any(|one| one.tool.id == tool) {
        return Err(Problem::missing("tool"));
    }
    let before = super::stored(door, who, Kind::Definition, tool).await?;
    let from = before.as_ref().map_or(0, |entry| entry.version);
    let mut body = before.map_or_else(|| json!({}), |entry| entry.body);
    if let Some(fields) = body.as_object_mut() {
        fields.insert("enabled".to_owned(), json!(true));
    }
    let change = super::change(who, Kind::Definition, tool, from, Some(body));
    door.runtime.change(change).await?;
    Ok(())
}
