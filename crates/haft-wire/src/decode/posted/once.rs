//! Each id once: it is what a call is answered by.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::Value;

use crate::said::{Broken, BrokenCall, Turn, WireCall};

/// The turn in which no two calls of one alternative share an id, unless the later one is broken.
pub(super) fn each_id(mut turn: Turn) -> Turn {
    let whole = std::mem::take(&mut turn.calls).into_iter().map(|call| (call, None));
    let broken = std::mem::take(&mut turn.broken);
    let broken = broken.into_iter().map(|one| (one.call, Some((one.why, one.replayed))));
    let mut all: Vec<(WireCall, Option<(Broken, bool)>)> = whole.chain(broken).collect();
    all.sort_by_key(|(call, _)| (call.choice, call.position));
    let mut firsts: HashMap<(u32, String), WireCall> = HashMap::new();
    for (call, broken) in all {
        let mut broken = broken;
        if let Some(id) = call.id.clone() {
            match firsts.entry((call.choice, id)) {
                Entry::Vacant(first) => drop(first.insert(call.clone())),
                Entry::Occupied(first) if is_same(first.get(), &call) => continue,
                // What is broken by itself says more of what is wrong.
                Entry::Occupied(_) => drop(broken.get_or_insert((Broken::SameId, true))),
            }
        }
        match broken {
            None => turn.calls.push(call),
            Some((why, replayed)) => turn.broken.push(BrokenCall { call, why, replayed }),
        }
    }
    turn
}

/// Whether a call asks for what another one does: of the same tool the same, however it is spaced.
fn is_same(one: &WireCall, other: &WireCall) -> bool {
    (&one.name, &one.namespace) == (&other.name, &other.namespace)
        && (one.arguments == other.arguments || reads_same(&one.arguments, &other.arguments))
}

fn reads_same(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    read(one).is_some_and(|one| read(other).is_some_and(|other| one == other))
}
