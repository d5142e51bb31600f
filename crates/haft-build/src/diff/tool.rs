//! One tool of both registries.

use haft_core::contract::{Capability, Gateway, Handler};
use haft_core::registry::{Implementation, Tool};
use serde::Serialize;

use super::bump::{Bump, Made};
use super::change::{Change, Impact};
use super::contract;

/// What changed about one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDiff {
    /// `<namespace>__<toolId>`, as in the new registry.
    pub id: String,
    /// Its old version.
    pub old_version: String,
    /// Its new version.
    pub new_version: String,
    /// The bump that the changes ask for.
    pub owes: Bump,
    /// The bump that the version made.
    pub made: Made,
    /// Whether the version rose far enough.
    pub paid: bool,
    /// The changes, breaking ones first. Empty when only the version moved.
    pub changes: Vec<Change>,
}

/// What changed, where anything did.
pub(super) fn compare(old: &Tool, new: &Tool) -> Option<ToolDiff> {
    if same(old, new) {
        return None;
    }
    let changes = changes(old, new);
    let owes = Bump::owed(&old.contract, &changes);
    let made = Made::between(&old.contract, &new.contract);
    Some(ToolDiff {
        id: new.id.clone(),
        old_version: old.contract.version.to_string(),
        new_version: new.contract.version.to_string(),
        owes,
        made,
        paid: made.pays(owes),
        changes,
    })
}

/// Ids are left out: they follow from the namespace, whose change is told once. So are digests and
/// the typed view of the parameters, which follow from the rest.
fn same(old: &Tool, new: &Tool) -> bool {
    old.contract == new.contract
        && old.summary == new.summary
        && old.doc == new.doc
        && old.handler == new.handler
}

fn changes(old: &Tool, new: &Tool) -> Vec<Change> {
    let mut changes = Vec::new();
    contract::compare(&old.contract, &new.contract, &mut changes);
    changes.extend(handler(old, new));
    if old.summary != new.summary {
        let change = Change::new(Impact::Wording, "/summary", "summary changed");
        changes.push(change.values(old.summary.as_str(), new.summary.as_str()));
    }
    if old.doc != new.doc {
        // Whole documents would drown the rest; a text diff of the folder shows them better.
        changes.push(Change::new(Impact::Wording, "/doc", "doc changed"));
    }
    if changes.is_empty() && old.contract.version == new.contract.version {
        let what = "the contract is written differently and means the same";
        changes.push(Change::new(Impact::Wording, "", what));
    }
    changes.sort_by_key(|change| change.impact);
    changes
}

/// What runs the tool. Its code is behind the contract, so a caller cannot tell; but a tool that
/// reaches out can do something else there with the same contract, and that is how updates have
/// gone bad.
fn handler(old: &Tool, new: &Tool) -> Option<Change> {
    let (before, after) = (runner(old), runner(new));
    let look = matches!(after.confined, Confined::No) || reaches_out(new);
    match (before.kind, after.kind) {
        (old_kind, new_kind) if old_kind != new_kind => {
            let impact = match (old_kind, new_kind) {
                (_, "unbound") => Impact::Breaking,
                ("unbound", _) => Impact::Compatible,
                _ => Impact::Internal,
            };
            let what = format!("handler changed from `{old_kind}` to `{new_kind}`");
            let change = Change::new(impact, "/handler/kind", what).values(old_kind, new_kind);
            Some(change.look_if(look))
        }
        _ if before.identity != after.identity => {
            let change = Change::new(Impact::Internal, "/handler", "handler changed")
                .values(before.identity, after.identity);
            Some(change.look_if(look))
        }
        _ => None,
    }
}

/// What a reviewer must know of a handler.
struct Runner {
    kind: &'static str,
    /// Differs whenever its behaviour may.
    identity: String,
    confined: Confined,
}

/// Whether capabilities are all that the handler can reach.
enum Confined {
    Yes,
    No,
}

fn runner(tool: &Tool) -> Runner {
    let (identity, confined) = match &tool.handler {
        Implementation::Js { digest, .. } | Implementation::Wasm { digest, .. } => {
            (digest.to_string(), Confined::Yes)
        }
        Implementation::Process { digest, .. } => (digest.to_string(), Confined::No),
        Implementation::Native => (native(tool), Confined::No),
        // The gateway is part of the contract and compared there.
        Implementation::Gateway | Implementation::Unbound => (String::new(), Confined::Yes),
    };
    Runner { kind: tool.handler.as_str(), identity, confined }
}

fn native(tool: &Tool) -> String {
    match &tool.contract.handler {
        Some(Handler::Native { krate, crate_version, revision }) => {
            format!("{krate} {crate_version} revision {revision}")
        }
        Some(Handler::Unbound) | None => String::new(),
    }
}

fn reaches_out(tool: &Tool) -> bool {
    let contract = &tool.contract;
    let outward = [Capability::Http, Capability::Messaging, Capability::CallTool];
    contract.connection.is_some()
        || matches!(&contract.gateway, Some(Gateway::Http(_) | Gateway::Mcp { .. }))
        || contract.capabilities.iter().any(|capability| outward.contains(capability))
}
