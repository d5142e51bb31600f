//! What a tool does to the world, and what it asks before it does it.

use haft_core::contract::{
    Arguments, Availability, Category, Confirmation, Deprecated, Documentation, Effect, Fraction,
    Leniency, SideEffectPolicy, SideEffects,
};
use serde_json::json;

use crate::diff::change::{Change, Impact};

pub(super) fn side_effects(old: SideEffects, new: SideEffects, out: &mut Vec<Change>) {
    out.extend(reach("/sideEffects", "side effects", (old, old.as_str()), (new, new.as_str())));
}

pub(super) fn effect(old: Effect, new: Effect, out: &mut Vec<Change>) {
    out.extend(reach("/effect", "effect", (old, old.as_str()), (new, new.as_str())));
}

/// Policies and budgets are written for what a tool does; one that does more slips under them.
fn reach<T: Ord>(
    pointer: &str,
    name: &str,
    (old, before): (T, &str),
    (new, after): (T, &str),
) -> Option<Change> {
    let (impact, how) = match new.cmp(&old) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => (Impact::Breaking, "raised"),
        std::cmp::Ordering::Less => (Impact::Compatible, "lowered"),
    };
    let what = format!("{name} {how} from `{before}` to `{after}`");
    let change = Change::new(impact, pointer, what).values(before, after);
    Some(change.look_if(impact == Impact::Breaking))
}

/// A policy that forgives more makes the runtime repeat or undo by itself what it left to a person
/// before: good news for callers, and worth a look.
pub(super) fn policy(old: SideEffectPolicy, new: SideEffectPolicy, out: &mut Vec<Change>) {
    let (impact, how) = match new.cmp(&old) {
        std::cmp::Ordering::Equal => return,
        std::cmp::Ordering::Greater => (Impact::Breaking, "forgives less"),
        std::cmp::Ordering::Less => (Impact::Compatible, "forgives more"),
    };
    let (before, after) = (old.as_str(), new.as_str());
    let what = format!("side-effect policy {how}: `{before}` became `{after}`");
    let change = Change::new(impact, "/sideEffectPolicy", what).values(before, after);
    out.push(change.look_if(impact == Impact::Compatible));
}

pub(super) fn idempotent(old: bool, new: bool, out: &mut Vec<Change>) {
    let change = match (old, new) {
        (true, false) => Change::new(Impact::Breaking, "/idempotent", "no longer safe to repeat"),
        (false, true) => {
            let what = "now called safe to repeat: a failed call may be repeated by itself";
            Change::new(Impact::Compatible, "/idempotent", what).look()
        }
        (true, true) | (false, false) => return,
    };
    out.push(change.values(old, new));
}

pub(super) fn confirmation(old: &Confirmation, new: &Confirmation, out: &mut Vec<Change>) {
    use Confirmation::{Always, When};
    if old == new {
        return;
    }
    let breaking = |what: &str| Change::new(Impact::Breaking, "/requiresConfirmation", what);
    let looser = |what: &str| Change::new(Impact::Compatible, "/requiresConfirmation", what).look();
    let change = match (old, new) {
        (Always(true), When { .. }) => {
            looser("confirmation is now asked only under a condition: a safeguard is looser")
        }
        (Always(true) | When { .. }, Always(false)) => {
            looser("confirmation is no longer asked: a safeguard is gone")
        }
        (Always(false), Always(true)) => breaking("confirmation is now always asked"),
        (Always(false), When { .. }) => breaking("confirmation is now asked under a condition"),
        (When { .. }, Always(true)) => {
            breaking("confirmation is now always asked, whatever the condition was")
        }
        // Which of two conditions holds more often cannot be read off them.
        (When { .. }, When { .. }) => breaking("the condition for confirmation changed").look(),
        (Always(true), Always(true)) | (Always(false), Always(false)) => return,
    };
    out.push(change.values(json!(old), json!(new)));
}

pub(super) fn availability(
    old: Option<&Availability>,
    new: Option<&Availability>,
    out: &mut Vec<Change>,
) {
    let pointer = "/availability/condition";
    let change = match (old, new) {
        (None, Some(_)) => {
            Change::new(Impact::Breaking, pointer, "now offered only under a condition")
        }
        (Some(old), Some(new)) if old != new => {
            Change::new(Impact::Breaking, pointer, "the condition for offering it changed").look()
        }
        (Some(_), None) => {
            Change::new(Impact::Compatible, pointer, "now offered without a condition").look()
        }
        (None, None) | (Some(_), Some(_)) => return,
    };
    let condition = |it: &Availability| it.condition.clone();
    out.push(change.optional_values(old.map(condition), new.map(condition)));
}

pub(super) fn arguments(old: Arguments, new: Arguments, out: &mut Vec<Change>) {
    let mut tell = |impact, pointer: &str, what: &str| {
        out.push(Change::new(impact, pointer, what).values(json!(old), json!(new)));
    };
    match (old.mode, new.mode) {
        (Leniency::Lenient, Leniency::Strict) => tell(
            Impact::Breaking,
            "/arguments/mode",
            "arguments are now read strictly: what was repaired is refused",
        ),
        (Leniency::Strict, Leniency::Lenient) => {
            tell(
                Impact::Compatible,
                "/arguments/mode",
                "arguments are now repaired where possible",
            );
        }
        (Leniency::Strict, Leniency::Strict) | (Leniency::Lenient, Leniency::Lenient) => {}
    }
    match (old.fraction, new.fraction) {
        (Fraction::Truncate, Fraction::Refuse) => tell(
            Impact::Breaking,
            "/arguments/fraction",
            "fractions are refused where whole numbers are due; before, they were cut off",
        ),
        (Fraction::Refuse, Fraction::Truncate) => tell(
            Impact::Compatible,
            "/arguments/fraction",
            "fractions are cut off where whole numbers are due; before, they were refused",
        ),
        (Fraction::Refuse, Fraction::Refuse) | (Fraction::Truncate, Fraction::Truncate) => {}
    }
}

pub(super) fn category(old: Category, new: Category, out: &mut Vec<Change>) {
    if old != new {
        let (before, after) = (old.as_str(), new.as_str());
        let what = format!(
            "category changed from `{before}` to `{after}`: calls count against other budgets"
        );
        out.push(Change::new(Impact::Compatible, "/category", what).values(before, after));
    }
}

pub(super) fn documentation(old: Documentation, new: Documentation, out: &mut Vec<Change>) {
    if old != new {
        let (before, after) = (old.as_str(), new.as_str());
        let what = format!("the model is given the document `{after}`, no longer `{before}`");
        out.push(Change::new(Impact::Wording, "/documentation", what).values(before, after));
    }
}

pub(super) fn deprecated(
    old: Option<&Deprecated>,
    new: Option<&Deprecated>,
    out: &mut Vec<Change>,
) {
    let (impact, what) = match (old, new) {
        (None, Some(_)) => (Impact::Compatible, "now deprecated"),
        (Some(_), None) => (Impact::Compatible, "no longer deprecated"),
        (Some(old), Some(new)) if old != new => {
            (Impact::Wording, "the advice on its deprecation changed")
        }
        (None, None) | (Some(_), Some(_)) => return,
    };
    let values = (old.map(|it| json!(it)), new.map(|it| json!(it)));
    out.push(Change::new(impact, "/deprecated", what).optional_values(values.0, values.1));
}
