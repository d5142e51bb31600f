//! Where a tool may be used, how long a call may take there, and what is reduced.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use haft_core::Contract;
use haft_core::contract::{Clamp, Mode, ModeRules};
use serde_json::{Number, Value, json};

use super::gained;
use super::limits::cap;
use crate::diff::change::{Change, Impact, shown};
use crate::diff::{number, schema};

pub(super) fn allowed(old: &[Mode], new: &[Mode], out: &mut Vec<Change>) {
    for mode in gained(new, old) {
        let what = format!("no longer usable in {} mode", mode.as_str());
        let change = Change::new(Impact::Breaking, "/allowedModes", what);
        out.push(change.values(json!(old), json!(new)));
    }
    for mode in gained(old, new) {
        let what = format!("now usable in {} mode", mode.as_str());
        let change = Change::new(Impact::Compatible, "/allowedModes", what);
        out.push(change.values(json!(old), json!(new)));
    }
}

/// In voice the budget is a deadline, so that a smaller one ends calls that were answered. In text
/// it only warns.
pub(super) fn latency(old: &Contract, new: &Contract, out: &mut Vec<Change>) {
    let (before, after) = (old.latency_budget_ms, new.latency_budget_ms);
    let spoken = old.allowed_modes.contains(&Mode::Voice);
    let (impact, how, why) = match (after.cmp(&before), spoken) {
        (Ordering::Equal, _) => return,
        (Ordering::Less, true) => {
            (Impact::Breaking, "lowered", ": slower calls now time out in voice mode")
        }
        (Ordering::Less, false) => (Impact::Compatible, "lowered", ""),
        (Ordering::Greater, _) => (Impact::Compatible, "raised", ""),
    };
    let what = format!("latency budget {how} from {before} to {after} ms{why}");
    out.push(Change::new(impact, "/latencyBudgetMs", what).values(before, after));
}

pub(super) fn clamps(
    old: &BTreeMap<Mode, ModeRules>,
    new: &BTreeMap<Mode, ModeRules>,
    out: &mut Vec<Change>,
) {
    let none = BTreeMap::new();
    let modes: BTreeSet<Mode> = old.keys().chain(new.keys()).copied().collect();
    for mode in modes {
        let old = old.get(&mode).map_or(&none, |rules| &rules.clamp);
        let new = new.get(&mode).map_or(&none, |rules| &rules.clamp);
        let paths: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for path in paths {
            let clamped = Clamped {
                pointer: format!("/modes/{}/clamp/{}", mode.as_str(), schema::step(path)),
                name: format!("clamp of `{path}` in {} mode", mode.as_str()),
            };
            clamped.compare(old.get(path), new.get(path), out);
        }
    }
}

/// The clamp of one argument in one mode.
struct Clamped {
    pointer: String,
    name: String,
}

impl Clamped {
    fn compare(&self, old: Option<&Clamp>, new: Option<&Clamp>, out: &mut Vec<Change>) {
        match (old, new) {
            (None, None) => {}
            (None, Some(new)) => out.push(self.told(Impact::Breaking, "added", None, Some(new))),
            (Some(old), None) => {
                out.push(self.told(Impact::Compatible, "removed", Some(old), None));
            }
            (Some(old), Some(new)) => self.fields(old, new, out),
        }
    }

    fn fields(&self, old: &Clamp, new: &Clamp, out: &mut Vec<Change>) {
        let Clamp { max, min, max_items, max_length, without, value, remove } = old;
        let count = |n: Option<u64>| n.map(Number::from);
        out.extend(self.upper("max", max.clone(), new.max.clone()));
        out.extend(self.upper("maxItems", count(*max_items), count(new.max_items)));
        out.extend(self.upper("maxLength", count(*max_length), count(new.max_length)));
        let both = (Some(old), Some(new));
        let mut tell = |impact, how: &str| out.push(self.told(impact, how, both.0, both.1));
        match lower(min.as_ref(), new.min.as_ref()) {
            Ordering::Equal => {}
            Ordering::Greater => tell(Impact::Breaking, "raises its `min`"),
            Ordering::Less => tell(Impact::Compatible, "loosens its `min`"),
        }
        let (old_without, new_without) =
            (without.as_deref().unwrap_or_default(), new.without.as_deref().unwrap_or_default());
        for taken in gained(old_without, new_without) {
            tell(Impact::Breaking, &format!("now also takes out {}", shown(taken)));
        }
        for left in gained(new_without, old_without) {
            tell(Impact::Compatible, &format!("no longer takes out {}", shown(left)));
        }
        match (value, &new.value) {
            (Some(_), None) => tell(Impact::Compatible, "no longer sets a fixed value"),
            (old, Some(new)) if !old.as_ref().is_some_and(|old| number::same(old, new)) => {
                tell(Impact::Breaking, &format!("now sets {}", shown(new)));
            }
            (None, None) | (Some(_) | None, Some(_)) => {}
        }
        match (*remove, new.remove) {
            (false, true) => tell(Impact::Breaking, "now takes the argument away"),
            (true, false) => tell(Impact::Compatible, "no longer takes the argument away"),
            (true, true) | (false, false) => {}
        }
    }

    fn upper(&self, field: &str, old: Option<Number>, new: Option<Number>) -> Option<Change> {
        let name = format!("{}: `{field}`", self.name);
        cap(format!("{}/{field}", self.pointer), &name, old, new)
    }

    fn told(&self, impact: Impact, how: &str, old: Option<&Clamp>, new: Option<&Clamp>) -> Change {
        let value = |clamp: Option<&Clamp>| clamp.map(|clamp| -> Value { json!(clamp) });
        let what = format!("{} {how}", self.name);
        Change::new(impact, self.pointer.clone(), what).optional_values(value(old), value(new))
    }
}

/// A lower limit: none is the loosest.
fn lower(old: Option<&Number>, new: Option<&Number>) -> Ordering {
    match (old, new) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(old), Some(new)) => number::order(new, old),
    }
}
