//! The act: what a call does, whatever its key and however it is spelt.
//!
//! A model that got no answer asks again, and seldom in the same words: a space more, another letter
//! case, a list in another order, a default written out. While nobody knows what became of the first
//! attempt, all of these are the same act. What really differs is another act, also where only one
//! letter or digit does.

use std::borrow::Cow;

use haft_core::contract::{Contract, SideEffectPolicy};
use haft_core::digest::canonical;
use haft_core::ledger::EffectRecord;
use haft_core::{Digest, ToolError};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::authorize::Authorized;
use super::replay;
use crate::arguments::dotted;
use crate::redact::is_hidden;

/// The act of a call, by which the ledger finds it.
pub(super) fn of(call: &Authorized) -> Digest {
    let (tenant, tool) = (&*call.call.caller.tenant, &call.tool.tool);
    let gist = gist(&tool.contract, &counted(call));
    Digest::of_json(&(tenant, &tool.id, call.account(), gist))
}

/// The same by all that the tool gets. What an act goes by, and what is left out of it as a default, is the
/// contract's of the day: an act that was begun under another is found by this.
pub(super) fn deed(call: &Authorized, account: Option<&str>) -> Digest {
    let (tenant, tool) = (&*call.call.caller.tenant, &call.tool.tool.id);
    let all = canonical(&plain(call.effective()));
    Digest::of_json(&(tenant, tool, account, all))
}

/// What was asked for, so that a clamp that has changed since, or that only one mode has, makes no other
/// act. Declared fields count as the tool gets them.
fn counted(call: &Authorized) -> Cow<'_, Value> {
    match declared(&call.tool.tool.contract, call.effective()) {
        Some(_) => Cow::Borrowed(call.effective()),
        None => call.accepted(),
    }
}

/// Whether what is on record, of the same tool, was the same act.
pub(super) fn is_that_of(call: &Authorized, record: &EffectRecord) -> bool {
    let contract = &call.tool.tool.contract;
    let (then, now) = (&record.effect.arguments, &**call.effective());
    call.account() == call.counts(record.effect.connection.as_deref())
        && (gist(contract, then) == gist(contract, now) || plain(then) == plain(now))
}

/// Why an act is not begun while nobody knows what became of the same one under another key.
pub(super) fn open(call: &Authorized, record: &EffectRecord) -> ToolError {
    let same = match record.effect.arguments == **call.effective() {
        true => "the same act was asked for before",
        false => {
            "an act that only looks different (spaces, letter case, order, defaults, or fields that \
             its contract does not count) was asked for before"
        }
    };
    let contract = &call.tool.tool.contract;
    let after = record.effect.after.as_ref();
    let has_probe = after.map_or(contract.probe.is_some(), |after| after.probe.is_some());
    let ways = ways(&record.effect.call, has_probe);
    let message = format!("{same}, and its outcome is not known; it was not begun again");
    let again = match record.effect.policy {
        SideEffectPolicy::Idempotent => {
            "do not repeat it under another key, by which its provider does not know it; under the key that it had \
             it may be sent again"
        }
        SideEffectPolicy::Pure
        | SideEffectPolicy::Compensatable
        | SideEffectPolicy::Irreversible => "do not repeat it",
    };
    replay::unknown(record, &message).suggest(format!(
        "{again}: it may have been done; tell the user that it is being checked. Whoever runs \
         haft {ways}; what is meant to be done besides, an operator calls with `despite_unknown`"
    ))
}

/// What whoever runs haft does about an effect of which nobody knows. Not every tool can be asked.
pub(crate) fn ways(call: &str, has_probe: bool) -> String {
    let probe = match has_probe {
        true => format!("asks with `haft effects probe {call}`, or "),
        false => String::new(),
    };
    format!(
        "{probe}finds out and says so with `haft effects settle {call} --happened yes|no --note TEXT`"
    )
}

/// The fields that say which act it is. Where a call has none of them they say nothing, and two calls that have
/// nothing else in common would be one.
pub(super) fn declared<'c>(contract: &'c Contract, arguments: &Value) -> Option<&'c [String]> {
    let fields = contract.idempotency_key_fields.as_deref()?;
    let says = |field: &String| dotted::find(field, arguments).is_some_and(|it| !it.is_null());
    fields.iter().any(says).then_some(fields)
}

/// The arguments that make up the act, spelt one way: the declared ones, else all.
fn gist(contract: &Contract, arguments: &Value) -> String {
    let Some(all) = arguments.as_object() else { return canonical(&plain(arguments)) };
    let declared = declared(contract, arguments).map(|fields| {
        let value = |field: &String| dotted::find(field, arguments).map(Cow::into_owned);
        fields.iter().filter_map(|field| Some((field.clone(), value(field)?))).collect()
    });
    let properties = contract.parameters.get("properties");
    let default = |name: &String| properties?.get(name)?.get("default").map(plain);
    let mut said = map(declared.as_ref().unwrap_or(all));
    said.retain(|name, value| default(name).as_ref() != Some(value));
    canonical(&said)
}

fn plain(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let seen = |one: &char| one.is_whitespace() || !is_hidden(*one);
            // Plain text is composed already.
            let seen: String = match text.is_ascii() {
                true => text.chars().filter(seen).collect(),
                false => text.nfkc().filter(seen).collect(),
            };
            // Capitals fold more than small letters do: ß and ss, both forms of sigma.
            Value::String(seen.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase())
        }
        Value::Array(list) => {
            let mut list: Vec<Value> = list.iter().map(plain).collect();
            list.sort_by_cached_key(canonical);
            Value::Array(list)
        }
        Value::Object(all) => Value::Object(map(all)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// What is empty is as good as left out.
fn map(all: &Map<String, Value>) -> Map<String, Value> {
    let plain = all.iter().map(|(name, value)| (name.clone(), plain(value)));
    plain.filter(|(_, value)| !is_empty(value)).collect()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(same: bool, one: &Value, other: &Value) {
        assert_eq!(canonical(&plain(one)) == canonical(&plain(other)), same, "{one} {other}");
    }

    #[test]
    fn spelling_makes_no_other_act_and_everything_else_does() {
        let same = [
            (json!({ "to": "Mara" }), json!({ "to": " mara\u{200b}\n" })),
            (json!({ "to": "a  b" }), json!({ "to": "a\tb" })),
            (json!({ "to": "caf\u{e9}" }), json!({ "to": "cafe\u{301}" })),
            (json!({ "to": "Straße" }), json!({ "to": "STRASSE" })),
            (json!({ "to": "ΟΔΟΣ" }), json!({ "to": "οδοσ" })),
            (json!({ "sum": 50 }), json!({ "sum": 50.0 })),
            (json!({ "to": ["b", "A"] }), json!({ "to": ["a", "b"] })),
            (
                json!([{ "id": 1, "n": "x" }, { "id": 2 }]),
                json!([{ "id": 2 }, { "n": "X", "id": 1 }]),
            ),
            (json!({ "cc": [], "note": " ", "on": null, "in": {} }), json!({})),
            (json!({ "deep": { "note": "" } }), json!({})),
        ];
        for (one, other) in &same {
            check(true, one, other);
        }
        let different = [
            (json!({ "to": "mara" }), json!({ "to": "maria" })),
            (json!({ "to": "ab" }), json!({ "to": "a b" })),
            (json!({ "sum": "1.50" }), json!({ "sum": "150" })),
            (json!({ "sum": 50 }), json!({ "sum": 51 })),
            (json!({ "sum": 50 }), json!({ "sum": "50" })),
            (json!({ "to": ["a", "a"] }), json!({ "to": ["a"] })),
            (json!({ "to": ["a", "b"] }), json!({ "to": ["a b"] })),
            (json!({ "on": false }), json!({})),
            (json!({ "sum": 0 }), json!({})),
            (json!({ "from": "a", "to": "b" }), json!({ "from": "b", "to": "a" })),
        ];
        for (one, other) in &different {
            check(false, one, other);
        }
    }
}
