//! Who may act for whom.

use haft_runtime::policy::Instant;
use serde::Deserialize;
use serde_json::Value;
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

/// A delegation that is over already would be taken for one that holds.
pub(super) fn check(said: &Value, now_ms: i64) -> Result<(), Problem> {
    // One that is no time is found with what else is wrong.
    let until = said.get("until").and_then(|until| Instant::deserialize(until).ok());
    match until.is_some_and(|until| until.0 <= now_ms) {
        true => Err(Problem::invalid_configuration("`until` is over already")
            .advise("name a time that is to come; what is to end now is removed")),
        false => Ok(()),
    }
}

super::crud! {
    Delegation, Said, Said, "/v1/admin/delegations", "/v1/admin/delegations/{id}",
    "Who may act for whom.",
    "list_delegations", "show_delegation", "put_delegation", "remove_delegation"
}
