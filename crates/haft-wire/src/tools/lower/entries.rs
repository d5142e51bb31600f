//! Members by any name, as a list of `key` and `value`.

use serde_json::{Map, Value, json};

use super::object::Parts;
use super::{Node, Plan, Step, Walk, join, null, words};
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
        let mut rules = map.clone();
        let mut lengths = Map::new();
        for (members, items) in [("minProperties", "minItems"), ("maxProperties", "maxItems")] {
            if let Some(count) = rules.shift_remove(members) {
                self.lose(join(at, members), members, Fate::Changed, format!("said as `{items}`"));
                lengths.insert(items.to_owned(), count);
            }
        }
        self.constrain(node, "object", &rules, at);
        self.constrain(node, "array", &lengths, at);
    }

    /// A list of `key` and `value`, and what was done to each value.
    pub(super) fn entries(
        &mut self,
        value: Option<&Value>,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<(Value, Plan)>> {
        let place = join(at, "additionalProperties");
        let node = match value {
            Some(value) => self.schema(value, &place, depth + 2)?,
            None => Some(self.anything(&place, "additionalProperties")),
        };
        let Some(node) = node else { return Ok(None) };
        let (value, plan) = self.place(node, &place);
        let mut key = json!({"type": "string"});
        if let Some(pattern) = map.get("propertyNames").and_then(|names| names.get("pattern"))
            && self.profile.keywords.have("pattern")
            && let Some(key) = key.as_object_mut()
        {
            key.insert("pattern".to_owned(), pattern.clone());
        }
        let entry = json!({
            "type": "object",
            "properties": {"key": key, "value": value},
            "required": ["key", "value"],
            "additionalProperties": false,
        });
        Ok(Some((json!({"type": "array", "items": entry}), plan)))
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
            parts.members.iter().any(|member| member.wire == name || member.name == name)
        };
        let wire = (0..)
            .map(|n| if n == 0 { "more".to_owned() } else { format!("more_{n}") })
            .find(|name| !taken(name))
            .unwrap_or_default();
        let note = format!("members that are not listed are said under `{wire}`");
        self.lose(join(at, "additionalProperties"), "additionalProperties", Fate::Changed, note);
        let always = self.profile.objects == Objects::AllRequired;
        if let Some(schema) = schema.as_object_mut() {
            let words = "further members of this object, by name; each `key` once".to_owned();
            words::describe(schema, &[words]);
            if always {
                *schema = null::listing_null(std::mem::take(schema));
                parts.required.push(wire.clone());
            }
        }
        parts.properties.insert(wire.clone(), schema);
        Ok(Some(More { wire, each, always }))
    }
}
