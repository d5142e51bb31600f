//! Objects: members, what may be left out, and members by any name.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::null::one_word;
use super::{Node, Plan, Step, Walk, boxed, fits, join, member, object_of, word};
use crate::loss::Fate;
use crate::names::Names;
use crate::tools::plan::{Absence, Member, ObjectPlan};
use crate::tools::profile::{Nulls, Objects};

/// Members that the schema does not list.
pub(super) enum Further<'m> {
    /// There are none.
    Shut,
    /// The schema does not say.
    Unsaid,
    /// Any.
    Any,
    /// These.
    Like(Cow<'m, Value>),
}

/// An object on its way.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<Value>,
    pub(super) members: Vec<Member>,
}

impl Walk<'_> {
    pub(super) fn object(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        if depth >= self.profile.levels {
            let note = "what nests too deep is said as JSON text";
            return Ok(Some(self.text(map, at, "type", note)));
        }
        let lists_members = map
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|p| !p.is_empty())
            || map.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
        let mut patterns = Vec::new();
        let further = self.further(map, at, &mut patterns);
        let node = if lists_members || self.is_root(at) {
            self.with_members(map, &further, at, depth)?
        } else {
            self.without_members(map, &further, at, depth)?
        };
        let Some(mut node) = node else { return Ok(None) };
        node.words.extend(patterns);
        if matches!(node.plan, Plan::Entries(_)) {
            self.constrain_entries(&mut node, map, at);
        } else if node.plan != Plan::Text {
            self.constrain(&mut node, "object", map, at);
        }
        Ok(Some(node))
    }

    /// Members by any name, as one schema; the patterns of their names in words.
    fn further<'m>(
        &mut self,
        map: &'m Map<String, Value>,
        at: &str,
        words: &mut Vec<String>,
    ) -> Further<'m> {
        let patterns = map.get("patternProperties").and_then(Value::as_object);
        let word = ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .find(|word| map.contains_key(*word));
        if word == Some("unevaluatedProperties") {
            let note = "said of all members that are not listed";
            let place = join(at, "unevaluatedProperties");
            self.lose(place, "unevaluatedProperties", Fate::Changed, note);
        }
        let open = match word.and_then(|word| map.get(word)) {
            None => Further::Unsaid,
            Some(Value::Bool(false)) => Further::Shut,
            Some(Value::Bool(true)) => Further::Any,
            Some(Value::Object(schema)) if schema.is_empty() => Further::Any,
            Some(schema) => Further::Like(Cow::Borrowed(schema)),
        };
        let Some(patterns) = patterns.filter(|patterns| !patterns.is_empty()) else { return open };
        let mut kinds: Vec<&Value> = Vec::new();
        for (pattern, schema) in patterns {
            words.push(format!("names matching the pattern `{pattern}`{}", of(schema)));
            if !kinds.contains(&schema) {
                kinds.push(schema);
            }
        }
        let note = "said as members by any name; the description says which names";
        self.lose(join(at, "patternProperties"), "patternProperties", Fate::Approximated, note);
        match (open, kinds.as_slice()) {
            (Further::Any | Further::Unsaid, _) => Further::Any,
            (Further::Shut, [one]) => Further::Like(Cow::Borrowed(one)),
            (Further::Shut, _) => Further::Like(Cow::Owned(json!({"anyOf": kinds}))),
            (Further::Like(rest), _) => {
                let all: Vec<&Value> = kinds.into_iter().chain([&*rest]).collect();
                Further::Like(Cow::Owned(json!({"anyOf": all})))
            }
        }
    }

    /// An object that lists members.
    fn with_members(
        &mut self,
        map: &Map<String, Value>,
        further: &Further<'_>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let listed = map.get("properties").and_then(Value::as_object);
        let needed: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let any = Value::Bool(true);
        let mut wanted: Vec<(&str, &Value)> =
            listed.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema)).collect();
        for name in &needed {
            if wanted.iter().any(|(known, _)| known == name) {
                continue;
            }
            match further {
                Further::Shut => return Ok(None),
                Further::Unsaid | Further::Any => wanted.push((name, &any)),
                Further::Like(schema) => wanted.push((name, schema)),
            }
        }
        let names = match self.profile.names {
            Some(rule) => Names::new(rule, wanted.iter().map(|(name, _)| *name)),
            None => Names::default(),
        };
        let mut parts = Parts {
            properties: Map::with_capacity(wanted.len() + 1),
            required: Vec::with_capacity(wanted.len() + 1),
            members: Vec::with_capacity(wanted.len()),
        };
        for (name, schema) in wanted {
            let place = member(at, name);
            let required = needed.contains(&name);
            match self.schema(schema, &place, depth + 1)? {
                Some(node) => {
                    let wire = names.wire(name);
                    if wire != name {
                        let note = format!("said as `{wire}`");
                        self.lose(place.clone(), "properties", Fate::Changed, note);
                    }
                    self.member(&mut parts, name, wire, node, required, schema, &place);
                }
                None if required => return Ok(None),
                None => {
                    let note = "it can never be sent";
                    self.lose(place, "properties", Fate::Changed, note);
                    // So is everything that is said about it.
                }
            }
        }
        self.closed(parts, map, further, at, depth).map(Some)
    }

    #[expect(clippy::too_many_arguments, reason = "a member is all of that")]
    fn member(
        &mut self,
        parts: &mut Parts,
        name: &str,
        wire: &str,
        mut node: Node,
        required: bool,
        schema: &Value,
        at: &str,
    ) {
        let mut absence = Absence::Plain;
        let mut is_required = required;
        if self.profile.objects == Objects::AllRequired && !required {
            absence = self.made_nullable(&mut node, schema, at);
            is_required = true;
        }
        if self.profile.nulls == Nulls::Unsaid && node.null && required && node.plan != Plan::Text {
            let note = "null is said by leaving it out";
            self.lose(at.to_owned(), "type", Fate::Changed, note);
            self.lose(at.to_owned(), "required", Fate::Changed, note);
            (absence, is_required, node.null) = (Absence::MeansNull, false, false);
        }
        let (said, plan) = self.place(node, at);
        parts.properties.insert(wire.to_owned(), said);
        if is_required {
            parts.required.push(word(wire));
        }
        let own: Arc<str> = name.into();
        let wire = if wire == name { own.clone() } else { wire.into() };
        parts.members.push(Member { name: own, wire, plan, absence });
    }

    /// A member that may be left out, where none may: `null` stands for that.
    fn made_nullable(&mut self, node: &mut Node, schema: &Value, at: &str) -> Absence {
        let defaults_to_null = schema.get("default") == Some(&Value::Null);
        if !node.null || defaults_to_null {
            node.null = true;
            let note = "`null` stands for leaving it out";
            self.lose(at.to_owned(), "required", Fate::Changed, note);
            return Absence::Null;
        }
        if node.plan == Plan::Anything {
            let note = "`null` stands for leaving it out, {\"json\": \"null\"} for null";
            self.lose(at.to_owned(), "required", Fate::Changed, note);
            node.words.push(note.to_owned());
            return Absence::NullUnlessMeant;
        }
        let (_, schemas) = self.definitions_so_far();
        let own = Value::Object(node.schema.clone());
        let meant = json!({"json": "null"});
        if fits::fits(&own, &meant, &schemas) || self.refers_to_unfinished(&own) {
            let note = "`null` stands for leaving it out, and null itself cannot be said";
            self.lose(at.to_owned(), "required", Fate::Approximated, note);
            return Absence::NullAlone;
        }
        let note = "`null` stands for leaving it out, {\"json\": \"null\"} for null";
        self.lose(at.to_owned(), "required", Fate::Changed, note);
        node.words.push(note.to_owned());
        let null_box = Value::Object(boxed(one_word("null")));
        let title = node.schema.shift_remove("title");
        let description = node.schema.shift_remove("description");
        let mut schema = std::mem::take(&mut node.schema);
        let mut branches = match schema.len() == 1 && schema.contains_key("anyOf") {
            true => match schema.shift_remove("anyOf") {
                Some(Value::Array(branches)) => branches,
                Some(_) | None => Vec::new(),
            },
            false => vec![Value::Object(schema)],
        };
        branches.push(null_box);
        node.schema = object_of([("anyOf", Value::Array(branches))]);
        node.schema.extend(title.map(|title| ("title".to_owned(), title)));
        node.schema.extend(description.map(|text| ("description".to_owned(), text)));
        Absence::NullUnlessMeant
    }

    /// The object with its members, closed in the dialect's way.
    fn closed(
        &mut self,
        mut parts: Parts,
        map: &Map<String, Value>,
        further: &Further<'_>,
        at: &str,
        depth: usize,
    ) -> Step<Node> {
        let (mut more, mut rest, mut open) = (None, Plan::Keep, Value::Bool(false));
        match (further, self.profile.objects) {
            (Further::Shut, _) => {}
            (Further::Unsaid, Objects::Said) => open = Value::Null,
            (Further::Any, Objects::Said) => open = Value::Bool(true),
            (Further::Like(schema), Objects::Said) => {
                let place = join(at, "additionalProperties");
                if let Some(node) = self.schema(schema, &place, depth + 1)? {
                    (open, rest) = self.place(node, &place);
                }
            }
            (Further::Unsaid, _) if self.is_root(at) => {}
            (Further::Unsaid, _) => {
                let note = "members that are not listed, which are not ruled out, are not said";
                self.lose(at.to_owned(), "additionalProperties", Fate::Approximated, note);
            }
            (Further::Any, _) => more = self.further_member(&mut parts, None, map, at, depth)?,
            (Further::Like(schema), _) => {
                more = self.further_member(&mut parts, Some(schema), map, at, depth)?;
            }
        }
        let Parts { properties, required, members } = parts;
        let order = (self.profile.ordering && properties.len() > 1)
            .then(|| properties.keys().map(|name| word(name)).collect());
        let mut schema =
            object_of([("type", word("object")), ("properties", Value::Object(properties))]);
        if !required.is_empty() || self.profile.objects == Objects::AllRequired {
            schema.insert("required".to_owned(), Value::Array(required));
        }
        if !open.is_null() {
            schema.insert("additionalProperties".to_owned(), open);
        }
        schema.extend(order.map(|order| ("propertyOrdering".to_owned(), Value::Array(order))));
        let plan = Plan::Object(Box::new(ObjectPlan { members, more, rest })).tidy();
        Ok(Node { schema, plan, null: false, words: Vec::new() })
    }
}

/// ` (string)`: the type that a pattern's members have.
fn of(schema: &Value) -> String {
    match schema.get("type").and_then(Value::as_str) {
        Some(name) => format!(" ({name})"),
        None => String::new(),
    }
}
