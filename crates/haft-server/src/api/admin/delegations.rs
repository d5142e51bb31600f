//! Who may act for whom.

use serde::Deserialize;
use utoipa::ToSchema;

/// That somebody may act for somebody else.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DelegationSettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// Who acts: `agent:helper`.
    actor: String,
    /// For whom: `user:mara`.
    subject: String,
    /// With which tools: ids, short names, patterns.
    tools: Vec<String>,
    /// Through which of the subject's connections; none when left out.
    #[serde(default)]
    connections: Vec<String>,
    /// Until when, as RFC 3339.
    until: String,
}

super::crud! {
    Delegation, Said, Said, "/v1/admin/delegations", "/v1/admin/delegations/{id}",
    "Who may act for whom.",
    "list_delegations", "show_delegation", "put_delegation", "remove_delegation"
}
