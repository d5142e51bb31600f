//! What a mode reduces, whatever the model asked for.

use std::collections::BTreeMap;

use haft_core::contract::{Clamp, Mode, ModeRules};
use haft_core::outcome::Clamped;
use haft_core::pointer::escape;
use serde_json::{Map, Value};

use super::dotted::{self, Step};
use super::plan::same;

/// The clamps of a tool, by mode.
#[derive(Debug, Default)]
pub(super) struct Clamps {
    text: Vec<Rule>,
    voice: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    steps: Vec<Step>,
    /// Of each step, whether the object there may be made to hold nothing but what the next one names.
    makes: Vec<bool>,
    clamp: Clamp,
}

impl Clamps {
    pub(super) fn compile(modes: &BTreeMap<Mode, ModeRules>, parameters: &Value) -> Self {
        let rules = |mode: Mode| {
            let clamps = modes.get(&mode).into_iter().flat_map(|rules| &rules.clamp);
            let rule = |(path, clamp): (&String, &Clamp)| {
                let steps = dotted::parse(path);
                Rule { makes: makes(&steps, parameters), steps, clamp: clamp.clone() }
            };
            clamps.map(rule).collect()
        };
        Self { text: rules(Mode::Text), voice: rules(Mode::Voice) }
    }

    /// Reduces the arguments and tells what it did; `keep` sees them before each change.
    pub(super) fn apply(
        &self,
        mode: Mode,
        value: &mut Value,
        mut keep: impl FnMut(&Value),
    ) -> Vec<Clamped> {
        let rules = match mode {
            Mode::Text => &self.text,
            Mode::Voice => &self.voice,
        };
        let mut all = Vec::new();
        for rule in rules {
            let mut found = Vec::new();
            rule.find(value, &rule.steps, &mut String::new(), &mut found);
            if !found.is_empty() {
                keep(value);
            }
            // From the back, so that an element that goes does not move those still to be looked at.
            for clamped in found.iter().rev() {
                change(value, clamped);
            }
            all.append(&mut found);
        }
        all
    }
}

impl Rule {
    /// Follows the path and writes down what has to change.
    fn find(&self, value: &Value, steps: &[Step], at: &mut String, out: &mut Vec<Clamped>) {
        let length = at.len();
        match (steps.split_first(), value) {
            (None, value) => {
                if let Some(after) = self.reduced(value) {
                    let before = Some(value.clone());
                    out.push(Clamped { path: at.clone(), before, after });
                }
            }
            (Some((Step::Name(name), rest)), Value::Object(map)) => {
                at.push('/');
                at.push_str(&escape(name));
                match map.get(name) {
                    Some(value) => self.find(value, rest, at, out),
                    None => self.absent(rest, at, out),
                }
            }
            (Some((Step::Each, rest)), Value::Array(list)) => {
                for (index, value) in list.iter().enumerate() {
                    at.push_str(&format!("/{index}"));
                    self.find(value, rest, at, out);
                    at.truncate(length);
                }
            }
            // Something else than the schema asks for stands here; validation will say so.
            (Some(_), _) => {}
        }
        at.truncate(length);
    }

    /// An argument that is not there needs no reducing, unless it always has one value. An object around it
    /// that needs other members, too, is not made: nobody asked for it, and the call would not fit.
    fn absent(&self, rest: &[Step], at: &str, out: &mut Vec<Clamped>) {
        let Some(value) = &self.clamp.value else { return };
        let first = self.steps.len().saturating_sub(rest.len() + 1);
        if self.makes.iter().skip(first).any(|makes| !makes) {
            return;
        }
        let mut path = at.to_owned();
        for step in rest {
            match step {
                Step::Name(name) => path.push_str(&format!("/{}", escape(name))),
                Step::Each => return,
            }
        }
        out.push(Clamped { path, before: None, after: Some(value.clone()) });
    }

    /// What a value becomes: `None` if it stays, `Some(None)` if it goes.
    fn reduced(&self, value: &Value) -> Option<Option<Value>> {
        let clamp = &self.clamp;
        if clamp.remove {
            return Some(None);
        }
        if let Some(fixed) = &clamp.value {
            return (!same(fixed, value)).then(|| Some(fixed.clone()));
        }
        let reduced = match value {
            Value::Number(number) => self.number(number),
            Value::Array(list) => self.list(list),
            Value::String(text) => self.text(text),
            Value::Null | Value::Bool(_) | Value::Object(_) => None,
        };
        reduced.map(Some)
    }

    fn number(&self, number: &serde_json::Number) -> Option<Value> {
        let beyond = |limit: &&serde_json::Number, above: bool| {
            let (number, limit) = (number.as_f64(), limit.as_f64());
            if above { number > limit } else { number < limit }
        };
        let over = self.clamp.max.as_ref().filter(|max| beyond(max, true));
        let under = || self.clamp.min.as_ref().filter(|min| beyond(min, false));
        over.or_else(under).cloned().map(Value::Number)
    }

    fn list(&self, list: &[Value]) -> Option<Value> {
        let unwanted = self.clamp.without.as_deref().unwrap_or_default();
        let wanted = |value: &&Value| !unwanted.iter().any(|out| same(out, value));
        let most = self
            .clamp
            .max_items
            .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let stays = list.len() <= most && (unwanted.is_empty() || list.iter().all(|v| wanted(&v)));
        (!stays).then(|| list.iter().filter(wanted).take(most).cloned().collect())
    }

    fn text(&self, text: &str) -> Option<Value> {
        let most = usize::try_from(self.clamp.max_length?).unwrap_or(usize::MAX);
        let (end, _) = text.char_indices().nth(most)?;
        text.get(..end).map(Value::from)
    }
}

/// What each step leads to, by whether it needs nothing but what the next step names. What the schema says of
/// it in another way is not looked for.
fn makes(steps: &[Step], parameters: &Value) -> Vec<bool> {
    let mut here = Some(parameters);
    let mut makes = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        here = here.and_then(|schema| referred(schema, parameters)).and_then(|schema| match step {
            Step::Name(name) => schema.get("properties")?.get(name),
            Step::Each => schema.get("items"),
        });
        let required = here
            .and_then(|schema| referred(schema, parameters))
            .and_then(|schema| schema.get("required"));
        let next = steps.get(at + 1);
        let is_next = |name: &Value| matches!(next, Some(Step::Name(next)) if name.as_str() == Some(next.as_str()));
        let names = required.and_then(Value::as_array);
        makes.push(next.is_none() || names.is_none_or(|names| names.iter().all(is_next)));
    }
    makes
}

/// The schema that one refers to, if it does.
fn referred<'s>(schema: &'s Value, root: &'s Value) -> Option<&'s Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.strip_prefix('#')?),
        None => Some(schema),
    }
}

fn change(value: &mut Value, clamped: &Clamped) {
    let Some((above, last)) = clamped.path.rsplit_once('/') else { return };
    let name = last.replace("~1", "/").replace("~0", "~");
    let Some(parent) = make(value, above) else { return };
    match (parent, &clamped.after) {
        (Value::Object(map), Some(after)) => {
            map.insert(name, after.clone());
        }
        (Value::Object(map), None) => {
            map.shift_remove(&name);
        }
        (Value::Array(list), after) => {
            let Some(index) = name.parse().ok().filter(|index| *index < list.len()) else { return };
            match (list.get_mut(index), after) {
                (Some(place), Some(after)) => *place = after.clone(),
                (_, None) => drop(list.remove(index)),
                (None, Some(_)) => {}
            }
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
    }
}

/// The value at a pointer, with the objects on the way made where they are absent.
fn make<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    let mut here = value;
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        here = match here {
            Value::Object(map) => map.entry(name).or_insert_with(|| Value::Object(Map::new())),
            Value::Array(list) => list.get_mut(name.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(here)
}
