//! Arrays.

use serde_json::{Map, Value, json};

use super::{Node, Plan, Step, Walk, join};
use crate::loss::Fate;

impl Walk<'_> {
    pub(super) fn list(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        if depth >= self.profile.levels {
            let note = "what nests too deep is said as JSON text";
            return Ok(Some(self.text(map, at, "type", note)));
        }
        let prefix = map.get("prefixItems").and_then(Value::as_array).filter(|p| !p.is_empty());
        let mut node = match prefix {
            Some(prefix) => match self.tuple(prefix, map, at, depth)? {
                Some(node) => node,
                None => {
                    let note = "places of different kinds are said as JSON text";
                    return Ok(Some(self.text(map, at, "prefixItems", note)));
                }
            },
            None => self.plain_list(map, at, depth)?,
        };
        let mut rules = map.clone();
        if let Some(most) = node.schema.get("maxItems").cloned() {
            // The tuple's own length is the stricter bound.
            if map.get("maxItems").and_then(Value::as_f64) >= most.as_f64() {
                rules.shift_remove("maxItems");
            }
            node.schema.shift_remove("maxItems");
            if !rules.contains_key("maxItems") {
                rules.insert("maxItems".to_owned(), most);
            }
        }
        self.constrain(&mut node, "array", &rules, at);
        Ok(Some(node))
    }

    fn plain_list(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Step<Node> {
        let place = join(at, "items");
        let items = match map.get("items") {
            Some(items) => self.schema(items, &place, depth + 1)?,
            None => Some(self.anything(&place, "items")),
        };
        match items {
            Some(items) => {
                let (items, plan) = self.place(items, &place);
                let plan = Plan::List(Box::new(plan)).tidy();
                Ok(Node::of(json!({"type": "array", "items": items}), plan))
            }
            None => {
                self.lose(place, "items", Fate::Changed, "only the empty list fits");
                let empty = json!({"type": "array", "items": {"type": "string"}, "maxItems": 0});
                Ok(Node::of(empty, Plan::Keep))
            }
        }
    }

    /// A list whose places differ. Nothing where it cannot be said as a list.
    fn tuple(
        &mut self,
        prefix: &[Value],
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let (mut schemas, mut plans, mut words) = (Vec::new(), Vec::new(), Vec::new());
        let mut ends = map.get("items") == Some(&Value::Bool(false));
        for (place, schema) in prefix.iter().enumerate() {
            let pointer = format!("{at}/prefixItems/{place}");
            let Some(node) = self.schema(schema, &pointer, depth + 1)? else {
                ends = true;
                break;
            };
            let (schema, plan) = self.place(node, &pointer);
            words.push(format!("item {}: {}", place + 1, in_short(&schema)));
            schemas.push(schema);
            plans.push(plan);
        }
        let rest = match ends {
            true => None,
            false => Some(self.rest(map, at, depth)?),
        };
        let says_places = self.profile.keywords.have("prefixItems");
        let mut schema = Map::from_iter([("type".to_owned(), json!("array"))]);
        if ends {
            schema.insert("maxItems".to_owned(), json!(schemas.len()));
            if map.contains_key("items") {
                let note = "the length says that no further items are allowed";
                self.lose(join(at, "items"), "items", Fate::Changed, note);
            }
        }
        if says_places && !schemas.is_empty() {
            schema.insert("prefixItems".to_owned(), json!(schemas));
            if let Some((rest, _)) = rest.as_ref().filter(|_| map.contains_key("items")) {
                schema.insert("items".to_owned(), rest.clone());
            }
            words.clear();
        } else {
            if let Some((rest, _)) = rest.as_ref().filter(|_| map.contains_key("items")) {
                words.push(format!("further items: {}", in_short(rest)));
            }
            let mut all: Vec<Value> = Vec::new();
            for schema in schemas.into_iter().chain(rest.iter().map(|(schema, _)| schema.clone())) {
                let schema = undescribed(schema);
                if !all.contains(&schema) {
                    all.push(schema);
                }
            }
            let items = match all.as_slice() {
                [] => json!({"type": "string"}),
                [one] => one.clone(),
                _ if self.profile.unions => json!({"anyOf": all}),
                _ => return Ok(None),
            };
            schema.insert("items".to_owned(), items);
            let note = "what stands at which place is in the description";
            self.lose(join(at, "prefixItems"), "prefixItems", Fate::Approximated, note);
        }
        let rest = rest.map_or(Plan::Keep, |(_, plan)| plan);
        let plan = Plan::Tuple(plans, Box::new(rest)).tidy();
        Ok(Some(Node { schema, plan, null: false, words }))
    }

    /// What stands beyond the places.
    fn rest(&mut self, map: &Map<String, Value>, at: &str, depth: usize) -> Step<(Value, Plan)> {
        let place = join(at, "items");
        let node = match map.get("items") {
            Some(items) => self.schema(items, &place, depth + 1)?,
            None => None,
        };
        let node = node.unwrap_or_else(|| self.anything(&place, "items"));
        Ok(self.place(node, &place))
    }
}

/// A description, or else the type.
fn in_short(schema: &Value) -> String {
    match (schema.get("description").and_then(Value::as_str), schema.get("type")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(Value::String(name))) => name.clone(),
        (None, Some(Value::Array(names))) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        (None, _) => "one of several kinds".to_owned(),
    }
}

/// The list's own description says what stands where.
fn undescribed(mut schema: Value) -> Value {
    if let Some(schema) = schema.as_object_mut() {
        schema.shift_remove("description");
    }
    schema
}
