//! What the tenant has taken: tier 1 to tier 2.

use serde::Deserialize;
use utoipa::ToSchema;

/// What the tenant says about a tool; the entry's id is the tool's.
#[derive(Deserialize, ToSchema)]
#[schema(as = DefinitionSettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// The versions that the tenant has taken, `^1.2` say; any when left out.
    version: Option<String>,
    /// Whether the tenant has it. Left out, it has what is its own, and nothing discovered.
    enabled: Option<bool>,
    /// `own` or `discovered`.
    source: Option<String>,
}

super::crud! {
    Definition, Said, "/v1/admin/definitions", "/v1/admin/definitions/{id}",
    "What the tenant has taken, or left, beside its own toolset.",
    "list_definitions", "show_definition", "put_definition", "remove_definition"
}
