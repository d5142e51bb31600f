//! Texts for models and people, and notes for haft itself.

use haft_core::Contract;
use haft_core::contract::{ConfirmationText, Gateway};
use serde::Serialize;
use serde_json::json;

use crate::diff::change::{Change, Impact};

/// A description stands before the model. Where somebody else writes it, a change of it is a
/// change of what our model is told.
pub(super) fn description(old: &Contract, new: &Contract, out: &mut Vec<Change>) {
    let (before, after) = (old.description.as_str(), new.description.as_str());
    if before != after {
        let foreign = new.origin.is_some() || matches!(new.gateway, Some(Gateway::Mcp { .. }));
        let change = Change::new(Impact::Wording, "/description", "description changed");
        out.push(change.values(before, after).look_if(foreign));
    }
}

/// What the person who approves is shown decides what they agree to.
pub(super) fn prompt(
    old: Option<&ConfirmationText>,
    new: Option<&ConfirmationText>,
    out: &mut Vec<Change>,
) {
    let (how, look) = match (old, new) {
        (None, Some(_)) => ("added", false),
        (Some(_), None) => ("removed", true),
        (Some(old), Some(new)) if old != new => ("changed", true),
        (None, None) | (Some(_), Some(_)) => return,
    };
    let what = format!("what the person who approves is asked: {how}");
    let change = Change::new(Impact::Wording, "/confirmation/prompt", what);
    let text = |it: &ConfirmationText| it.prompt.clone();
    out.push(change.optional_values(old.map(text), new.map(text)).look_if(look));
}

pub(super) fn internal<T: PartialEq + Serialize>(
    field: &str,
    old: &T,
    new: &T,
    out: &mut Vec<Change>,
) {
    if old != new {
        let change =
            Change::new(Impact::Internal, format!("/{field}"), format!("`{field}` changed"));
        out.push(change.values(json!(old), json!(new)));
    }
}
