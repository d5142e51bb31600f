//! Defaults: what is filled in where the caller said nothing, in members and elements too.
//!
//! Defaults are completed when the tool is loaded (a default object gets its own members'
//! defaults), so that filling is insertion and nothing else.

use serde_json::{Map, Value};

use super::plan::{Id, Plan};

const ROOT: Id = 0;
/// No contract needs more; a schema whose defaults contain themselves would go on for ever.
const MOST_FILLED: usize = 10_000;

/// Fills in every default that is absent. New members stand behind those that came.
pub(super) fn fill(plan: &Plan, value: &mut Value) {
    fill_at(plan, ROOT, value);
}

/// Whether a default is absent somewhere below the first level.
pub(super) fn lacks_inside(plan: &Plan, value: &Value) -> bool {
    let Some(node) = plan.node(ROOT).filter(|node| node.fills_inside) else { return false };
    let members = value.as_object().into_iter().flatten();
    members.into_iter().any(|(name, value)| {
        node.member(name).is_some_and(|id| plan.fills(id) && lacks(plan, id, value))
    })
}

fn lacks(plan: &Plan, id: Id, value: &Value) -> bool {
    let Some(node) = plan.node(id) else { return false };
    let inside = |id: Option<Id>, value: &Value| {
        id.is_some_and(|id| plan.fills(id) && lacks(plan, id, value))
    };
    match value {
        Value::Object(map) => {
            node.defaults.iter().any(|(name, _)| !has(map, name))
                || map.iter().any(|(name, value)| inside(node.member(name), value))
        }
        Value::Array(list) => {
            list.iter().enumerate().any(|(index, value)| inside(node.element(index), value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn fill_at(plan: &Plan, id: Id, value: &mut Value) {
    let Some(node) = plan.node(id) else { return };
    if node.fills_inside {
        inside(plan, id, value, &mut |id, value| fill_at(plan, id, value));
    }
    if let Value::Object(map) = value {
        insert(&node.defaults, map);
    }
}

fn insert(defaults: &[(String, Value)], map: &mut Map<String, Value>) -> usize {
    let before = map.len();
    for (name, default) in defaults {
        if !has(map, name) {
            map.insert(name.clone(), default.clone());
        }
    }
    map.len() - before
}

/// Whether an object has a member. Most are small: looking at each name is quicker than hashing this one.
fn has(map: &Map<String, Value>, name: &str) -> bool {
    match map.len() {
        0..=8 => map.keys().any(|other| other == name),
        _ => map.contains_key(name),
    }
}

fn inside(plan: &Plan, id: Id, value: &mut Value, each: &mut dyn FnMut(Id, &mut Value)) {
    let Some(node) = plan.node(id) else { return };
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                if let Some(id) = node.member(name).filter(|id| plan.fills(*id)) {
                    each(id, value);
                }
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter_mut().enumerate() {
                if let Some(id) = node.element(index).filter(|id| plan.fills(*id)) {
                    each(id, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Completes every default with the defaults that belong inside it.
pub(super) fn complete_defaults(plan: &mut Plan) -> Result<(), String> {
    let mut completed = Vec::with_capacity(plan.len());
    for id in 0..plan.len() {
        let Some(node) = plan.node(id) else { continue };
        let mut defaults = node.defaults.clone();
        for (name, default) in &mut defaults {
            let mut budget = Budget { left: MOST_FILLED, levels: super::MAX_DEPTH };
            let member = node.member(name);
            if !member.is_none_or(|member| complete(plan, member, default, &mut budget)) {
                return Err(format!(
                    "the default of `{name}` calls for itself; give it a default that ends"
                ));
            }
        }
        completed.push(defaults);
    }
    for (node, defaults) in plan.nodes_mut().iter_mut().zip(completed) {
        node.defaults = defaults;
    }
    Ok(())
}

/// Says whether it came to an end.
fn complete(plan: &Plan, id: Id, value: &mut Value, budget: &mut Budget) -> bool {
    let Some(node) = plan.node(id) else { return true };
    if let Value::Object(map) = value {
        let filled = insert(&node.defaults, map);
        let Some(left) = budget.left.checked_sub(filled) else { return false };
        budget.left = left;
    }
    let Some(levels) = budget.levels.checked_sub(1) else { return false };
    budget.levels = levels;
    let mut ended = true;
    inside(plan, id, value, &mut |id, value| ended = ended && complete(plan, id, value, budget));
    budget.levels += 1;
    ended
}

/// What completing one default may cost.
struct Budget {
    left: usize,
    levels: usize,
}
