//! A value in the contract's shape → what a model would send.

use haft_core::digest::canonical;
use serde_json::{Map, Value, json};

use super::{Absence, Branch, HOPS, ObjectPlan, Plan, Plans, fits, raise};

/// Why a value cannot be said: a sentence.
type Said = Result<Value, String>;

impl Plans {
    /// Arguments as a model would send them.
    pub(crate) fn say(&self, value: &Value) -> Said {
        self.down(&self.root, value)
    }

    pub(crate) fn down(&self, plan: &Plan, value: &Value) -> Said {
        self.down_from(plan, value, HOPS)
    }

    fn down_from(&self, plan: &Plan, value: &Value, hops: usize) -> Said {
        match (plan, value) {
            (Plan::Definition(_) | Plan::Either(_), _) if hops == 0 => {
                Err("its schema is nothing but itself".to_owned())
            }
            (Plan::NotNull(_), Value::Null) => Err("null cannot be said".to_owned()),
            (Plan::NotNull(plan), value) => self.down_from(plan, value, hops),
            (Plan::Keep, value) => Ok(value.clone()),
            (Plan::Definition(number), value) => match self.definitions.get(*number) {
                Some(plan) => self.down_from(plan, value, hops - 1),
                None => Ok(value.clone()),
            },
            (Plan::Object(plan), Value::Object(members)) => self.object_down(plan, members),
            (Plan::List(each), Value::Array(list)) => {
                list.iter().map(|value| self.down(each, value)).collect()
            }
            (Plan::Tuple(places, rest), Value::Array(list)) => {
                let plans = places.iter().chain(std::iter::repeat(&**rest));
                list.iter().zip(plans).map(|(value, plan)| self.down(plan, value)).collect()
            }
            (Plan::Entries(each), Value::Object(members)) => self.entries_down(each, members),
            (Plan::Text, value) => Ok(Value::String(value.to_string())),
            (Plan::Words(words), value) => words
                .iter()
                .find(|(_, meant)| canonical(meant) == canonical(value))
                .map(|(word, _)| Value::String(word.clone()))
                .or_else(|| value.is_null().then_some(Value::Null))
                .ok_or_else(|| format!("{value} is none of the listed values")),
            (Plan::Anything, Value::Array(_) | Value::Object(_)) => {
                Ok(json!({"json": value.to_string()}))
            }
            (Plan::Anything, value) => Ok(value.clone()),
            (Plan::Either(branches), value) => self.either_down(branches, value, hops - 1),
            (Plan::Renamed(names), value) => {
                let said = raise::rename(value.clone(), &|name| {
                    names.iter().find(|(_, meant)| meant == name).map(|(wire, _)| wire.as_str())
                });
                match said.repeats() {
                    true => Err("two of its members would have the same name".to_owned()),
                    false => Ok(said.into_value()),
                }
            }
            // Null is allowed beside the type without a word of the plan.
            (_, Value::Null) => Ok(Value::Null),
            (Plan::Object(_) | Plan::Entries(_), value) => Err(format!("{value} is no object")),
            (Plan::List(_) | Plan::Tuple(..), value) => Err(format!("{value} is no list")),
        }
    }

    fn either_down(&self, branches: &[Branch], value: &Value, hops: usize) -> Said {
        let mut shaped = branches.iter().filter_map(|branch| {
            let said = self.down_from(&branch.plan, value, hops).ok()?;
            fits::fits(&branch.schema, &said, &self.schemas).then_some((branch, said))
        });
        // The shape of what is sent says which alternative it is of; of several that could be
        // sent, it is one whose every rule holds.
        let first = shaped.next();
        let said = match (first, shaped.next()) {
            (Some((one, said)), Some(second)) if !self.keeps_rules(&one.schema, &said) => {
                let mut others = std::iter::once(second).chain(shaped);
                let other = others.find(|(branch, said)| self.keeps_rules(&branch.schema, said));
                Some(other.map_or(said, |(_, said)| said))
            }
            (first, _) => first.map(|(_, said)| said),
        };
        match (said, value) {
            (Some(said), _) => Ok(said),
            (None, Value::Null) => Ok(Value::Null),
            (None, value) => Err(format!("{value} fits no alternative")),
        }
    }

    /// Whether a value keeps every rule of a lowered schema, patterns and formats included.
    fn keeps_rules(&self, schema: &Value, value: &Value) -> bool {
        let mut whole = schema.as_object().cloned().unwrap_or_default();
        if !self.schemas.is_empty() {
            whole.insert("$defs".to_owned(), Value::Object(self.schemas.clone()));
        }
        haft_core::validator::compile(&Value::Object(whole))
            .is_ok_and(|validator| validator.is_valid(value))
    }

    fn object_down(&self, plan: &ObjectPlan, members: &Map<String, Value>) -> Said {
        let mut said = Map::new();
        for member in &plan.members {
            let value = match (members.get(&*member.name), member.absence) {
                (None, Absence::Null | Absence::NullAlone | Absence::NullUnlessMeant) => {
                    Value::Null
                }
                (Some(Value::Null), Absence::NullAlone) => {
                    return Err(format!("null cannot be said of `{}`", member.name));
                }
                (None, Absence::Plain | Absence::MeansNull) => continue,
                (Some(Value::Null), Absence::MeansNull) => continue,
                (Some(Value::Null), Absence::NullUnlessMeant) => json!({"json": "null"}),
                (Some(value), _) => self.down(&member.plan, value)?,
            };
            said.insert(member.wire.to_string(), value);
        }
        let known = |name: &str| plan.members.iter().any(|member| &*member.name == name);
        let further: Map<String, Value> = members
            .iter()
            .filter(|(name, _)| !known(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        match &plan.more {
            Some(more) if further.is_empty() && more.always => {
                said.insert(more.wire.clone(), Value::Null);
            }
            Some(_) if further.is_empty() => {}
            Some(more) => {
                said.insert(more.wire.clone(), self.entries_down(&more.each, &further)?);
            }
            None => {
                for (name, value) in &further {
                    if plan.members.iter().any(|member| *member.wire == **name) {
                        return Err(format!("`{name}` is the name of another member there"));
                    }
                    said.insert(name.clone(), self.down(&plan.rest, value)?);
                }
            }
        }
        Ok(Value::Object(said))
    }

    fn entries_down(&self, each: &Plan, members: &Map<String, Value>) -> Said {
        members
            .iter()
            .map(|(key, value)| Ok(json!({"key": key, "value": self.down(each, value)?})))
            .collect()
    }
}
