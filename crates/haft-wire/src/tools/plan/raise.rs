//! What a model sent → the contract's shape.
//!
//! Nothing is refused here. Where a value is not what the schema asked for, it stays as it came, so
//! that the one path says what is wrong with it.

use haft_adm::strict::{self, Limits};
use haft_core::call::RawArguments;
use serde_json::{Map, Value};

use super::{Absence, Branch, HOPS, Member, ObjectPlan, Plan, Plans, fits};

impl Plans {
    /// Arguments in the contract's shape.
    pub(crate) fn raise(&self, text: &str) -> RawArguments {
        let untouched = || RawArguments::Text(text.to_owned());
        let Ok(value) = strict::parse(text, Limits::default()) else { return untouched() };
        // Models do send the object as JSON in a text; whether that is taken is not decided here.
        if let Value::String(inner) = value {
            return match strict::parse(&inner, Limits::default()) {
                Ok(value) if value.is_object() && !self.is_unfit(&value) => {
                    RawArguments::Value(Value::String(self.up(&self.root, value, HOPS).to_string()))
                }
                Ok(value) if value.is_object() => RawArguments::Value(Value::Array(vec![value])),
                Ok(_) | Err(_) => untouched(),
            };
        }
        let sent = value.clone();
        match self.up(&self.root, value, HOPS) {
            // No contract's arguments are a list: this is refused, whatever members are allowed.
            raised if raised.is_unfit() => RawArguments::Value(Value::Array(vec![sent])),
            raised if raised.repeats() => RawArguments::Text(raised.to_string()),
            raised => RawArguments::Value(raised.into_value()),
        }
    }

    /// Whether further members were sent in a form that could be taken for something else.
    pub(crate) fn is_unfit(&self, sent: &Value) -> bool {
        self.up(&self.root, sent.clone(), HOPS).is_unfit()
    }

    fn up(&self, plan: &Plan, value: Value, hops: usize) -> Raised {
        match (plan, value) {
            (Plan::Definition(_) | Plan::Either(_), value) if hops == 0 => Raised::Value(value),
            (Plan::Definition(number), value) => match self.definitions.get(*number) {
                Some(plan) => self.up(plan, value, hops - 1),
                None => Raised::Value(value),
            },
            (Plan::Object(plan), Value::Object(members)) => self.object(plan, members),
            (Plan::List(each), Value::Array(list)) => {
                Raised::List(list.into_iter().map(|value| self.up(each, value, HOPS)).collect())
            }
            (Plan::Tuple(places, rest), Value::Array(list)) => {
                let plans = places.iter().chain(std::iter::repeat(&**rest));
                Raised::List(
                    list.into_iter().zip(plans).map(|(v, plan)| self.up(plan, v, HOPS)).collect(),
                )
            }
            (Plan::Entries(each), Value::Array(list)) => self.entries(each, list),
            (Plan::Text, Value::String(text)) => Raised::Value(read(text)),
            (Plan::Words(words), Value::String(text)) => Raised::Value(
                words
                    .iter()
                    .find(|(word, _)| *word == text)
                    .map_or(Value::String(text), |(_, value)| value.clone()),
            ),
            (Plan::Anything, Value::Object(members)) => Raised::Value(anything(members)),
            (Plan::Either(branches), value) => match self.branch(branches, &value) {
                Some(branch) => self.up(&branch.plan, value, hops - 1),
                None => Raised::Value(value),
            },
            (Plan::NotNull(plan), value) => self.up(plan, value, hops),
            (Plan::Renamed(names), value) => rename(value, &|name| {
                names.iter().find(|(wire, _)| wire == name).map(|(_, meant)| meant.as_str())
            }),
            (
                Plan::Keep
                | Plan::Object(_)
                | Plan::List(_)
                | Plan::Tuple(..)
                | Plan::Entries(_)
                | Plan::Text
                | Plan::Words(_)
                | Plan::Anything,
                value,
            ) => Raised::Value(value),
        }
    }

    /// The branch that the value fits; where a detail is wrong, the only one of its kind.
    pub(super) fn branch<'b>(&self, branches: &'b [Branch], value: &Value) -> Option<&'b Branch> {
        let fitting = branches.iter().find(|b| fits::fits(&b.schema, value, &self.schemas));
        fitting.or_else(|| {
            let mut near =
                branches.iter().filter(|b| fits::same_kind(&b.schema, value, &self.schemas));
            near.next().filter(|_| near.next().is_none())
        })
    }

    fn object(&self, plan: &ObjectPlan, mut sent: Map<String, Value>) -> Raised {
        let mut raised = Vec::with_capacity(sent.len());
        let more = plan.more.as_ref().map(|more| (more, sent.shift_remove(&more.wire)));
        let mut absent = Vec::new();
        for member in &plan.members {
            if member.absence == Absence::MeansNull && !sent.contains_key(&*member.wire) {
                absent.push((member.name.to_string(), Raised::Value(Value::Null)));
            }
        }
        for (wire, value) in sent {
            match plan.members.iter().find(|member| *member.wire == *wire) {
                Some(member) => raised.extend(self.member(member, value)),
                None => raised.push((wire, self.up(&plan.rest, value, HOPS))),
            }
        }
        raised.extend(absent);
        match more {
            Some((more, Some(Value::Array(list)))) => match self.entries(&more.each, list) {
                Raised::Map(further) => raised.extend(further),
                // Not entries. Under its own name it would be a member that nobody meant.
                Raised::Value(_) | Raised::List(_) | Raised::Unfit => return Raised::Unfit,
            },
            Some((_, None | Some(Value::Null))) | None => {}
            Some((_, Some(_))) => return Raised::Unfit,
        }
        Raised::Map(raised)
    }

    fn member(&self, member: &Member, value: Value) -> Option<(String, Raised)> {
        let raised = match (member.absence, value) {
            (Absence::Null | Absence::NullAlone | Absence::NullUnlessMeant, Value::Null) => {
                return None;
            }
            (Absence::NullUnlessMeant, value) if is_meant_null(&value) => {
                Raised::Value(Value::Null)
            }
            (_, value) => self.up(&member.plan, value, HOPS),
        };
        Some((member.name.to_string(), raised))
    }

    fn entries(&self, each: &Plan, list: Vec<Value>) -> Raised {
        let is_entry = |entry: &Value| {
            entry.as_object().is_some_and(|entry| {
                // A third member would be lost with the entry.
                entry.len() == 2
                    && entry.get("key").is_some_and(Value::is_string)
                    && entry.contains_key("value")
            })
        };
        if !list.iter().all(is_entry) {
            return Raised::Value(Value::Array(list));
        }
        let members = list.into_iter().filter_map(|entry| {
            let Value::Object(mut entry) = entry else { return None };
            let value = entry.shift_remove("value")?;
            let Value::String(key) = entry.shift_remove("key")? else { return None };
            Some((key, self.up(each, value, HOPS)))
        });
        Raised::Map(members.collect())
    }
}

/// Members by other names, wherever they stand. Two names may come to be one.
pub(super) fn rename<'n>(value: Value, name_of: &impl Fn(&str) -> Option<&'n str>) -> Raised {
    match value {
        Value::Object(members) => Raised::Map(
            members
                .into_iter()
                .map(|(name, value)| {
                    let value = rename(value, name_of);
                    (name_of(&name).map_or(name, str::to_owned), value)
                })
                .collect(),
        ),
        Value::Array(list) => {
            Raised::List(list.into_iter().map(|value| rename(value, name_of)).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Raised::Value(value),
    }
}

/// `{"json": "null"}`
pub(super) fn is_meant_null(value: &Value) -> bool {
    let members = value.as_object().filter(|members| members.len() == 1);
    members.and_then(|members| members.get("json")).is_some_and(|text| text == "null")
}

/// JSON text, read; what is not JSON is a text of its own.
fn read(text: String) -> Value {
    strict::parse(&text, Limits::default()).unwrap_or(Value::String(text))
}

fn anything(mut members: Map<String, Value>) -> Value {
    let inner = match members.get("json") {
        Some(Value::String(text)) if members.len() == 1 => {
            strict::parse(text, Limits::default()).ok()
        }
        _ => None,
    };
    inner.unwrap_or_else(|| Value::Object(std::mem::take(&mut members)))
}

/// A value in which a key may stand twice: only text can say that, and only the reader of text
/// says it to the model.
pub(super) enum Raised {
    Value(Value),
    List(Vec<Raised>),
    Map(Vec<(String, Raised)>),
    /// What could be taken for something that was not meant.
    Unfit,
}

impl Raised {
    pub(super) fn repeats(&self) -> bool {
        match self {
            Self::Value(_) | Self::Unfit => false,
            Self::List(list) => list.iter().any(Self::repeats),
            Self::Map(members) => {
                let mut seen = std::collections::HashSet::with_capacity(members.len());
                members.iter().any(|(name, value)| !seen.insert(name) || value.repeats())
            }
        }
    }

    fn is_unfit(&self) -> bool {
        match self {
            Self::Unfit => true,
            Self::Value(_) => false,
            Self::List(list) => list.iter().any(Self::is_unfit),
            Self::Map(members) => members.iter().any(|(_, value)| value.is_unfit()),
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Unfit => Value::Null,
            Self::Value(value) => value,
            Self::List(list) => list.into_iter().map(Self::into_value).collect(),
            Self::Map(members) => {
                members.into_iter().map(|(name, value)| (name, value.into_value())).collect()
            }
        }
    }
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unfit => f.write_str("null"),
            Self::Value(value) => write!(f, "{value}"),
            Self::List(list) => {
                f.write_str("[")?;
                for (place, value) in list.iter().enumerate() {
                    write!(f, "{}{value}", if place == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Map(members) => {
                f.write_str("{")?;
                for (place, (name, value)) in members.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    write!(f, "{comma}{}:{value}", Value::String(name.clone()))?;
                }
                f.write_str("}")
            }
        }
    }
}
