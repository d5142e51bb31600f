//! Members by any name, as a list of `key` and `value`.

use serde_json::{Map, Value};

use super::object::Parts;
use super::{Node, Plan, Step, Walk, join, null, object_of, of_kind, word, words};
use crate::loss::Fate;
use crate::tools::plan::More;
use crate::tools::profile::Objects;

impl Walk<'_> {
    /// What holds for the number of members holds for the length of the list.
    pub(super) fn constrain_entries(
        &mut self,
        node: &mut Node,
        map: &Map<String, Value>,
        at: &str,
    ) {
        let mut lengths = Map::new();
        for (members, items) in [("minProperties", "minItems"), ("maxProperties", "maxItems")] {
            if let Some(count) = map.get(members) {
                self.lose(join(at, members), members, Fate::Changed, format!("said as `{items}`"));
                lengths.insert(items.to_owned(), count.clone());
            }
        }
        let counts = |keyword: &str| matches!(keyword, "minProperties" | "maxProperties");
        self.constrain_but(node, "object", map, at, counts);
        self.constrain(node, "array", &lengths, at);
    }

    /// A list of `key` and `value`, and what was done to each value.
    pub(super) fn entries(
        &mut self,
        value: Option<&Value>,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<(Map<String, Value>, Plan)>> {
        let place = join(at, "additionalProperties");
        let node = match value {
            Some(value) => self.schema(value, &place, depth + 2)?,
            None => Some(self.anything(&place, "additionalProperties")),
        };
        let Some(node) = node else { return Ok(None) };
        let (value, plan) = self.place(node, &place);
        let mut key = of_kind("string");
        if let Some(pattern) = map.get("propertyNames").and_then(|names| names.get("pattern"))
            && self.profile.keywords.have("pattern")
        {
            key.insert("pattern".to_owned(), pattern.clone());
        }
        let both = object_of([("key", Value::Object(key)), ("value", value)]);
        let entry = object_of([
            ("type", word("object")),
            ("properties", Value::Object(both)),
            ("required", Value::Array(vec![word("key"), word("value")])),
            ("additionalProperties", Value::Bool(false)),
        ]);
        let list = object_of([("type", word("array")), ("items", Value::Object(entry))]);
        Ok(Some((list, plan)))
    }

    /// A member that holds what is not listed.
    pub(super) fn further_member(
        &mut self,
        parts: &mut Parts,
        value: Option<&Value>,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<More>> {
        let Some((mut schema, each)) = self.entries(value, map, at, depth)? else {
            return Ok(None);
        };
        let taken = |name: &str| {
            parts.members.iter().any(|member| &*member.wire == name || &*member.name == name)
        };
        let wire = (0..)
            .map(|n| if n == 0 { "more".to_owned() } else { format!("more_{n}") })
            .find(|name| !taken(name))
            .unwrap_or_default();
        let note = format!("members that are not listed are said under `{wire}`");
        self.lose(join(at, "additionalProperties"), "additionalProperties", Fate::Changed, note);
        let always = self.profile.objects == Objects::AllRequired;
        let words = "further members of this object, by name; each `key` once".to_owned();
        words::describe(&mut schema, &[words]);
        if always {
            schema = null::listing_null(schema);
            parts.required.push(word(&wire));
        }
        parts.properties.insert(wire.clone(), Value::Object(schema));
        Ok(Some(More { wire, each, always }))
    }
}
