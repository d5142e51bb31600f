//! Arrays.

use serde_json::{Map, Value};

use super::{Node, Plan, Step, Walk, join, object_of, of_kind, word};
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
        match node.schema.shift_remove("maxItems") {
            Some(most) => {
                let mut rules = map.clone();
                // The tuple's own length is the stricter bound.
                if map.get("maxItems").and_then(Value::as_f64) >= most.as_f64() {
                    rules.shift_remove("maxItems");
                }
                rules.entry("maxItems").or_insert(most);
                self.constrain(&mut node, "array", &rules, at);
            }
            None => self.constrain(&mut node, "array", map, at),
        }
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
                Ok(Node::of(object_of([("type", word("array")), ("items", items)]), plan))
            }
            None => {
                self.lose(place, "items", Fate::Changed, "only the empty list fits");
                let items = Value::Object(of_kind("string"));
                let empty =
                    object_of([("type", word("array")), ("items", items), ("maxItems", 0.into())]);
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
        let Places { schemas, plans, ends } = self.places(prefix, map, at, depth)?;
        let rest = match ends {
            true => None,
            false => Some(self.rest(map, at, depth)?),
        };
        let (further, plan) =
            rest.map_or((None, Plan::Keep), |(schema, plan)| (Some(schema), plan));
        let plan = Plan::Tuple(plans, Box::new(plan)).tidy();
        let mut schema = of_kind("array");
        if ends {
            schema.insert("maxItems".to_owned(), schemas.len().into());
            if map.contains_key("items") {
                let note = "the length says that no further items are allowed";
                self.lose(join(at, "items"), "items", Fate::Changed, note);
            }
        }
        let named = map.contains_key("items");
        if self.profile.keywords.have("prefixItems") && !schemas.is_empty() {
            schema.insert("prefixItems".to_owned(), Value::Array(schemas));
            let items = further.filter(|_| named);
            schema.extend(items.map(|items| ("items".to_owned(), items)));
            return Ok(Some(Node::of(schema, plan)));
        }
        let words = place_words(&schemas, further.as_ref().filter(|_| named));
        let Some(items) = self.any_place(schemas.into_iter().chain(further)) else {
            return Ok(None);
        };
        schema.insert("items".to_owned(), items);
        let note = "what stands at which place is in the description";
        self.lose(join(at, "prefixItems"), "prefixItems", Fate::Approximated, note);
        Ok(Some(Node { words, ..Node::of(schema, plan) }))
    }

    /// The places, as far as something can stand there.
    fn places(
        &mut self,
        prefix: &[Value],
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Places> {
        let ends = map.get("items") == Some(&Value::Bool(false));
        let mut places = Places { schemas: Vec::new(), plans: Vec::new(), ends };
        for (place, schema) in prefix.iter().enumerate() {
            let pointer = format!("{at}/prefixItems/{place}");
            let Some(node) = self.schema(schema, &pointer, depth + 1)? else {
                places.ends = true;
                break;
            };
            let (schema, plan) = self.place(node, &pointer);
            places.schemas.push(schema);
            places.plans.push(plan);
        }
        Ok(places)
    }

    /// One schema for whatever may stand at any place.
    fn any_place(&self, schemas: impl Iterator<Item = Value>) -> Option<Value> {
        let mut all: Vec<Value> = Vec::new();
        for schema in schemas.map(undescribed) {
            if !all.contains(&schema) {
                all.push(schema);
            }
        }
        match all.len() {
            0 => Some(Value::Object(of_kind("string"))),
            1 => all.pop(),
            _ if self.profile.unions => Some(Value::Object(object_of([("anyOf", all.into())]))),
            _ => None,
        }
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

/// The places of a list, lowered.
struct Places {
    schemas: Vec<Value>,
    plans: Vec<Plan>,
    /// Whether nothing may follow them.
    ends: bool,
}

/// What stands where.
fn place_words(schemas: &[Value], further: Option<&Value>) -> Vec<String> {
    let place = |(place, schema)| format!("item {}: {}", place + 1, in_short(schema));
    let further = further.map(|schema| format!("further items: {}", in_short(schema)));
    schemas.iter().enumerate().map(place).chain(further).collect()
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
