//! Where, in what a model sent, something stands that the contract has in another place.

use haft_core::pointer::{escape, unescape};
use serde_json::Value;

use super::{HOPS, ObjectPlan, Plan, Plans};

/// A place in what was sent.
pub(crate) struct Place<'v> {
    /// The way there; as far as it goes where nothing was sent.
    pub(crate) pointer: String,
    /// The rest of the way, inside of a JSON text.
    pub(crate) inside: Option<String>,
    /// Whether something on the way has another form than in the contract, not only another name.
    pub(crate) reshaped: bool,
    /// The list of entries that stands for an object of the contract, the innermost.
    pub(crate) list: Option<String>,
    /// What was sent there.
    pub(crate) value: Option<&'v Value>,
}

impl Plans {
    /// Follows a pointer of the contract's shape through what was sent.
    pub(crate) fn place<'v>(&self, path: &str, sent: &'v Value) -> Place<'v> {
        let mut place = Place {
            pointer: String::new(),
            inside: None,
            reshaped: false,
            list: None,
            value: Some(sent),
        };
        let mut plan = self.settled(&self.root, &mut place);
        let mut rest = path;
        while let Some(after) = rest.strip_prefix('/') {
            if place.enters_text(plan) {
                place.inside = Some(rest.to_owned());
                return place;
            }
            let (step, beyond) = after.split_at(after.find('/').unwrap_or(after.len()));
            plan = self.step(plan, &unescape(step), &mut place);
            plan = self.settled(plan, &mut place);
            rest = beyond;
        }
        place.arrive(plan);
        place
    }

    /// The plan that is followed at a place.
    fn settled<'p>(&'p self, mut plan: &'p Plan, place: &mut Place<'_>) -> &'p Plan {
        for _ in 0..=HOPS {
            plan = match plan {
                Plan::Definition(number) => self.definitions.get(*number).unwrap_or(&Plan::Keep),
                Plan::NotNull(inner) => inner,
                Plan::Either(branches) => {
                    place.reshaped = true;
                    let branch = place.value.and_then(|value| self.branch(branches, value));
                    branch.map_or(&Plan::Keep, |branch| &branch.plan)
                }
                Plan::Keep
                | Plan::Object(_)
                | Plan::List(_)
                | Plan::Tuple(..)
                | Plan::Entries(_)
                | Plan::Text
                | Plan::Words(_)
                | Plan::Anything
                | Plan::Renamed(_) => return plan,
            };
        }
        &Plan::Keep
    }

    fn step<'p>(&'p self, plan: &'p Plan, name: &str, place: &mut Place<'_>) -> &'p Plan {
        match plan {
            Plan::Object(object) => object.follow(name, place),
            Plan::List(each) => {
                place.go(name);
                each
            }
            Plan::Tuple(places, rest) => {
                place.go(name);
                let at = name.parse::<usize>().ok();
                at.and_then(|at| places.get(at)).unwrap_or(rest)
            }
            Plan::Entries(each) if place.value.is_some_and(Value::is_array) => {
                place.go_to_entry(name);
                each
            }
            Plan::Renamed(names) => {
                let wire = names.iter().find(|(_, meant)| meant == name);
                place.go(wire.map_or(name, |(wire, _)| wire));
                plan
            }
            Plan::Keep
            | Plan::Entries(_)
            | Plan::Text
            | Plan::Words(_)
            | Plan::Anything
            | Plan::Definition(_)
            | Plan::NotNull(_)
            | Plan::Either(_) => {
                place.go(name);
                &Plan::Keep
            }
        }
    }
}

impl ObjectPlan {
    fn follow(&self, name: &str, place: &mut Place<'_>) -> &Plan {
        if let Some(member) = self.members.iter().find(|member| &*member.name == name) {
            place.go(&member.wire);
            return &member.plan;
        }
        let in_place = place.value.is_some_and(|value| value.get(name).is_some());
        match &self.more {
            Some(more) if !in_place => {
                place.go(&more.wire);
                place.go_to_entry(name);
                &more.each
            }
            Some(_) | None => {
                place.go(name);
                &self.rest
            }
        }
    }
}

impl Place<'_> {
    fn go(&mut self, step: &str) {
        self.pointer.push('/');
        self.pointer.push_str(&escape(step));
        self.value = self.value.and_then(|value| match value {
            Value::Object(members) => members.get(step),
            Value::Array(list) => list.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        });
    }

    /// To the value of the first entry with this key; no further than the list without one.
    fn go_to_entry(&mut self, key: &str) {
        self.reshaped = true;
        self.list = Some(self.pointer.clone());
        let has_key =
            |entry: &Value| entry.get("key").and_then(Value::as_str).is_some_and(|it| it == key);
        let list = self.value.and_then(Value::as_array);
        match list.and_then(|list| list.iter().position(has_key)) {
            Some(at) => {
                self.go(&at.to_string());
                self.go("value");
            }
            None => self.value = None,
        }
    }

    /// Whether a JSON text was sent here, which the way leads into.
    fn enters_text(&mut self, plan: &Plan) -> bool {
        match plan {
            Plan::Text => self.value.is_some_and(Value::is_string),
            Plan::Anything => {
                let text = self.value.and_then(|value| value.get("json"));
                let is_text = text.is_some_and(Value::is_string);
                if is_text {
                    self.go("json");
                }
                is_text
            }
            Plan::Keep
            | Plan::Definition(_)
            | Plan::Object(_)
            | Plan::List(_)
            | Plan::Tuple(..)
            | Plan::Entries(_)
            | Plan::Words(_)
            | Plan::Renamed(_)
            | Plan::NotNull(_)
            | Plan::Either(_) => false,
        }
    }

    fn arrive(&mut self, plan: &Plan) {
        if self.enters_text(plan) {
            self.inside = Some(String::new());
            return;
        }
        match plan {
            Plan::Entries(_) => {
                self.reshaped = true;
                self.list = Some(self.pointer.clone());
            }
            Plan::Words(_) | Plan::Text | Plan::Anything => self.reshaped = true,
            Plan::Keep
            | Plan::Definition(_)
            | Plan::Object(_)
            | Plan::List(_)
            | Plan::Tuple(..)
            | Plan::Renamed(_)
            | Plan::NotNull(_)
            | Plan::Either(_) => {}
        }
    }
}
