//! Members that only the alternatives or conditions of the root name.
//!
//! Alternatives may not stand at the root of arguments. They are told in words; the members that
//! they name have to be listed by the root itself, or nobody could send them where it is closed.

use serde_json::{Map, Value, json};

/// A schema with the members that its parts under these keywords name. Each may be left out,
/// unless every alternative needs it.
pub(super) fn with_named(
    map: &Map<String, Value>,
    keywords: &[&str],
    root: &Value,
) -> Map<String, Value> {
    // Where it names its members itself, no others fit, whatever the alternatives say.
    if map.get("additionalProperties") == Some(&Value::Bool(false)) {
        return map.clone();
    }
    let mut found = Found::new(root);
    let mut needed = Vec::new();
    for keyword in keywords {
        needed.extend(found.part(keyword, map.get(*keyword)));
    }
    let mut whole = map.clone();
    found.listed(&mut whole);
    add_required(&mut whole, &needed);
    if found.open
        && !["additionalProperties", "unevaluatedProperties"].iter().any(|w| map.contains_key(*w))
    {
        whole.insert("additionalProperties".to_owned(), json!(true));
    }
    whole
}

struct Found<'s> {
    root: &'s Value,
    /// References that were followed.
    followed: Vec<&'s str>,
    /// By name: what a member may be.
    members: Vec<(&'s str, Vec<&'s Value>)>,
    /// Whether some part says that there may be members by any name.
    open: bool,
}

impl<'s> Found<'s> {
    fn new(root: &'s Value) -> Self {
        Self { root, followed: Vec::new(), members: Vec::new(), open: false }
    }

    /// Looks at what stands under a keyword; the names that are needed in any case.
    fn part(&mut self, keyword: &str, value: Option<&'s Value>) -> Vec<&'s str> {
        match (keyword, value) {
            ("anyOf" | "oneOf", Some(Value::Array(branches))) => {
                let possible = branches.iter().filter(|branch| **branch != Value::Bool(false));
                let each: Vec<Vec<&str>> = possible.map(|branch| self.schema(branch)).collect();
                let Some((first, others)) = each.split_first() else { return Vec::new() };
                let by_all = |name: &&&str| others.iter().all(|names| names.contains(*name));
                first.iter().filter(by_all).copied().collect()
            }
            ("allOf", Some(Value::Array(parts))) => {
                parts.iter().flat_map(|part| self.schema(part)).collect()
            }
            ("then" | "else", Some(schema)) => {
                self.schema(schema);
                Vec::new()
            }
            ("dependentSchemas", Some(Value::Object(schemas))) => {
                for schema in schemas.values() {
                    self.schema(schema);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn schema(&mut self, schema: &'s Value) -> Vec<&'s str> {
        let Some(map) = schema.as_object() else { return Vec::new() };
        let needed = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let mut needed: Vec<&str> = needed.filter_map(Value::as_str).collect();
        for name in &needed {
            self.member(name, None);
        }
        for (name, member) in map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            self.member(name, Some(member));
        }
        let further = map.get("additionalProperties");
        self.open |= further.is_some_and(|further| *further != Value::Bool(false));
        for keyword in ["anyOf", "oneOf", "allOf", "then", "else", "dependentSchemas"] {
            needed.extend(self.part(keyword, map.get(keyword)));
        }
        // Each is followed once: whatever it names is found by then.
        if let Some(target) = map.get("$ref").and_then(Value::as_str)
            && !self.followed.contains(&target)
        {
            self.followed.push(target);
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            needed.extend(found.map(|found| self.schema(found)).unwrap_or_default());
        }
        needed
    }

    fn member(&mut self, name: &'s str, schema: Option<&'s Value>) {
        let place = self.members.iter().position(|(known, _)| *known == name);
        let place = place.unwrap_or_else(|| {
            self.members.push((name, Vec::new()));
            self.members.len() - 1
        });
        if let Some((_, known)) = self.members.get_mut(place) {
            known.extend(schema.filter(|schema| !known.contains(schema)));
        }
    }

    /// Lists the members that are not listed.
    fn listed(&self, whole: &mut Map<String, Value>) {
        let further = whole.get("additionalProperties").filter(|f| f.is_object()).cloned();
        let own = whole.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut all = own.clone();
        for (name, schemas) in self.members.iter().filter(|(name, _)| !own.contains_key(*name)) {
            let schema = match (one_of(schemas), &further) {
                (schema, None) => schema,
                (schema, Some(further)) => json!({"allOf": [schema, further]}),
            };
            all.insert((*name).to_owned(), schema);
        }
        if all.len() > own.len() {
            whole.insert("properties".to_owned(), Value::Object(all));
        }
    }
}

fn add_required(whole: &mut Map<String, Value>, needed: &[&str]) {
    if needed.is_empty() {
        return;
    }
    let names = whole.entry("required").or_insert_with(|| json!([]));
    let Value::Array(names) = names else { return };
    for name in needed {
        if !names.iter().any(|known| known == name) {
            names.push(json!(name));
        }
    }
}

/// What a member is that several alternatives name: the values of all where they list values.
fn one_of(schemas: &[&Value]) -> Value {
    match schemas {
        [] => json!(true),
        [one] => (*one).clone(),
        many => match many.iter().map(|schema| values(schema)).collect::<Option<Vec<_>>>() {
            Some(lists) => {
                let mut all: Vec<&Value> = Vec::new();
                for value in lists.into_iter().flatten() {
                    if !all.contains(&value) {
                        all.push(value);
                    }
                }
                json!({"enum": all})
            }
            None => json!({"anyOf": many}),
        },
    }
}

/// The values of a schema that says no more than those.
fn values(schema: &Value) -> Option<Vec<&Value>> {
    let map = schema.as_object()?;
    let plain = ["type", "title", "description", "const", "enum"];
    match (map.get("const"), map.get("enum")) {
        _ if !map.keys().all(|keyword| plain.contains(&keyword.as_str())) => None,
        (Some(value), None) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}
