//! Objects: members, what may be left out, and members by any name.

use serde_json::{Map, Value, json};

use super::{Node, Plan, Step, Walk, boxed, fits, join, words};
use crate::loss::Fate;
use crate::names::Names;
use crate::tools::plan::{Absence, Member, ObjectPlan};
use crate::tools::profile::{Nulls, Objects};

/// Members that the schema does not list.
enum Further {
    /// There are none.
    Shut,
    /// The schema does not say.
    Unsaid,
    /// Any.
    Any,
    /// These.
    Like(Value),
}

/// An object on its way.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
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
    fn further(&mut self, map: &Map<String, Value>, at: &str, words: &mut Vec<String>) -> Further {
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
            Some(schema) => Further::Like(schema.clone()),
        };
        let Some(patterns) = patterns.filter(|patterns| !patterns.is_empty()) else { return open };
        let mut kinds: Vec<Value> = Vec::new();
        for (pattern, schema) in patterns {
            words.push(format!("names matching the pattern `{pattern}`{}", of(schema)));
            if !kinds.contains(schema) {
                kinds.push(schema.clone());
            }
        }
        let note = "said as members by any name; the description says which names";
        self.lose(join(at, "patternProperties"), "patternProperties", Fate::Approximated, note);
        match (open, kinds.as_slice()) {
            (Further::Any | Further::Unsaid, _) => Further::Any,
            (Further::Shut, [one]) => Further::Like(one.clone()),
            (Further::Shut, _) => Further::Like(json!({"anyOf": kinds})),
            (Further::Like(rest), _) => {
                kinds.push(rest);
                Further::Like(json!({"anyOf": kinds}))
            }
        }
    }

    /// An object that lists no members.
    fn without_members(
        &mut self,
        map: &Map<String, Value>,
        further: &Further,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let empty = json!({
            "type": "object", "properties": {}, "required": [], "additionalProperties": false,
        });
        match (further, self.profile.objects) {
            (Further::Shut, Objects::Said) => {
                let shut =
                    json!({"type": "object", "properties": {}, "additionalProperties": false});
                Ok(Some(Node::of(shut, Plan::Keep)))
            }
            (Further::Any | Further::Unsaid, Objects::Said) => {
                Ok(Some(Node::of(json!({"type": "object"}), Plan::Keep)))
            }
            (Further::Like(schema), Objects::Said) => self.open_object(schema, at, depth),
            (Further::Any | Further::Unsaid, Objects::Implied) if self.profile.bare_objects => {
                Ok(Some(Node::of(json!({"type": "object", "properties": {}}), Plan::Keep)))
            }
            (Further::Any | Further::Unsaid, _) => {
                let note = "an object of any members is said as JSON text";
                self.lose(at.to_owned(), "type", Fate::Changed, note);
                for keyword in map.keys().filter(|keyword| words::about(keyword) == Some("object"))
                {
                    if !matches!(keyword.as_str(), "properties" | "required") {
                        self.lose(join(at, keyword), keyword, Fate::Changed, note);
                    }
                }
                let words = vec![match words::like(&Value::Object(super::annotate::bare(map))) {
                    Some(like) if map.len() > 3 => format!("JSON text of an object {like}"),
                    _ => "a JSON object, as JSON text".to_owned(),
                }];
                Ok(Some(Node { words, ..Node::of(json!({"type": "string"}), Plan::Text) }))
            }
            (Further::Shut, Objects::Closed | Objects::AllRequired) => {
                Ok(Some(Node::of(empty, Plan::Keep)))
            }
            (Further::Shut, Objects::Implied) => {
                let note = "only the empty object fits, which is said as a word";
                self.lose(at.to_owned(), "additionalProperties", Fate::Changed, note);
                let words = vec![("{}".to_owned(), json!({}))];
                Ok(Some(Node::of(json!({"type": "string", "enum": ["{}"]}), Plan::Words(words))))
            }
            (Further::Like(schema), _) => {
                let note = "members by any name are said as a list of `key` and `value`";
                let word = if map.contains_key("patternProperties") {
                    "patternProperties"
                } else {
                    "additionalProperties"
                };
                self.lose(join(at, word), word, Fate::Changed, note);
                let Some((schema, plan)) = self.entries(Some(schema), map, at, depth)? else {
                    // No value could ever stand in it, so the object is empty.
                    return Ok(Some(Node::of(empty, Plan::Keep)));
                };
                let names = vec!["each `key` once".to_owned()];
                Ok(Some(Node { words: names, ..Node::of(schema, Plan::Entries(Box::new(plan))) }))
            }
        }
    }

    /// Members by any name where the dialect has a word for them.
    fn open_object(&mut self, schema: &Value, at: &str, depth: usize) -> Step<Option<Node>> {
        let place = join(at, "additionalProperties");
        let Some(node) = self.schema(schema, &place, depth + 1)? else {
            let shut = json!({"type": "object", "properties": {}, "additionalProperties": false});
            return Ok(Some(Node::of(shut, Plan::Keep)));
        };
        let (schema, rest) = self.place(node, &place);
        let plan =
            Plan::Object(Box::new(ObjectPlan { members: Vec::new(), more: None, rest })).tidy();
        Ok(Some(Node::of(json!({"type": "object", "additionalProperties": schema}), plan)))
    }

    /// An object that lists members.
    fn with_members(
        &mut self,
        map: &Map<String, Value>,
        further: &Further,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let listed = map.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let needed: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut wanted: Vec<(String, Value)> = listed.into_iter().collect();
        for name in &needed {
            if wanted.iter().any(|(known, _)| known == name) {
                continue;
            }
            match further {
                Further::Shut => return Ok(None),
                Further::Unsaid | Further::Any => wanted.push(((*name).to_owned(), json!(true))),
                Further::Like(schema) => wanted.push(((*name).to_owned(), schema.clone())),
            }
        }
        let names = match self.profile.names {
            Some(rule) => Names::new(rule, wanted.iter().map(|(name, _)| name.as_str())),
            None => Names::default(),
        };
        let mut parts = Parts::default();
        for (name, schema) in &wanted {
            let place = format!("{at}/properties/{}", haft_core::pointer::escape(name));
            let required = needed.contains(&name.as_str());
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
            parts.required.push(wire.to_owned());
        }
        let (name, wire) = (name.to_owned(), wire.to_owned());
        parts.members.push(Member { name, wire, plan, absence });
    }

    /// A member that may be left out, where none may: `null` stands for that.
    fn made_nullable(&mut self, node: &mut Node, schema: &Value, at: &str) -> Absence {
        let defaults_to_null = schema.get("default") == Some(&Value::Null);
        let meant = json!({"json": "null"});
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
        if fits::fits(&own, &meant, &schemas) || self.refers_to_unfinished(&own) {
            let note = "`null` stands for leaving it out, and null itself cannot be said";
            self.lose(at.to_owned(), "required", Fate::Approximated, note);
            return Absence::NullAlone;
        }
        let note = "`null` stands for leaving it out, {\"json\": \"null\"} for null";
        self.lose(at.to_owned(), "required", Fate::Changed, note);
        node.words.push(note.to_owned());
        let null_box = boxed(json!({"type": "string", "enum": ["null"]}));
        let title = node.schema.shift_remove("title");
        let description = node.schema.shift_remove("description");
        let mut branches = match node.schema.get("anyOf").and_then(Value::as_array) {
            Some(branches) if node.schema.len() == 1 => branches.clone(),
            _ => vec![Value::Object(node.schema.clone())],
        };
        branches.push(null_box);
        node.schema = Map::from_iter([("anyOf".to_owned(), Value::Array(branches))]);
        node.schema.extend(title.map(|title| ("title".to_owned(), title)));
        node.schema.extend(description.map(|text| ("description".to_owned(), text)));
        Absence::NullUnlessMeant
    }

    /// The object with its members, closed in the dialect's way.
    fn closed(
        &mut self,
        mut parts: Parts,
        map: &Map<String, Value>,
        further: &Further,
        at: &str,
        depth: usize,
    ) -> Step<Node> {
        let (mut more, mut rest, mut open) = (None, Plan::Keep, json!(false));
        match (further, self.profile.objects) {
            (Further::Shut, _) => {}
            (Further::Unsaid, Objects::Said) => open = Value::Null,
            (Further::Any, Objects::Said) => open = json!(true),
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
        let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        let order: Vec<&String> = properties.keys().collect();
        let order = (self.profile.ordering && order.len() > 1).then(|| json!(order));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() || self.profile.objects == Objects::AllRequired {
            schema.insert("required".to_owned(), json!(required));
        }
        if !open.is_null() {
            schema.insert("additionalProperties".to_owned(), open);
        }
        schema.extend(order.map(|order| ("propertyOrdering".to_owned(), order)));
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
