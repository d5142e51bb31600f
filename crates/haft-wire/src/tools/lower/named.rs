//! Members that only the alternatives or conditions of the root name.
//!
//! Alternatives may not stand at the root of arguments. They are told in words; the members that
//! they name have to be listed by the root itself, or nobody could send them where it is closed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

/// Parts and references inside of one another; members further down are not looked for.
const DEEP: usize = 128;

/// A schema with the members that its parts under these keywords name. Each may be left out,
/// unless every alternative needs it.
pub(super) fn with_named<'m>(
    map: &'m Map<String, Value>,
    keywords: &[&str],
    root: &Value,
) -> Cow<'m, Map<String, Value>> {
    // Where it names its members itself, no others fit, whatever the alternatives say.
    let closed = map.get("additionalProperties") == Some(&Value::Bool(false));
    if closed || !keywords.iter().any(|keyword| map.contains_key(*keyword)) {
        return Cow::Borrowed(map);
    }
    let mut found = Found::new(root);
    let mut needed = Vec::new();
    for keyword in keywords {
        needed.extend(found.part(keyword, map.get(*keyword), DEEP));
    }
    let mut whole = map.clone();
    found.listed(&mut whole);
    add_required(&mut whole, &needed);
    if found.open
        && !["additionalProperties", "unevaluatedProperties"].iter().any(|w| map.contains_key(*w))
    {
        whole.insert("additionalProperties".to_owned(), json!(true));
    }
    Cow::Owned(whole)
}

struct Found<'s> {
    root: &'s Value,
    /// References that were followed.
    followed: HashSet<&'s str>,
    /// By name: what a member may be.
    members: Vec<(&'s str, Vec<&'s Value>)>,
    /// Where a name stands among them.
    places: HashMap<&'s str, usize>,
    /// Whether some part says that there may be members by any name.
    open: bool,
}

impl<'s> Found<'s> {
    fn new(root: &'s Value) -> Self {
        Self {
            root,
            followed: HashSet::new(),
            members: Vec::new(),
            places: HashMap::new(),
            open: false,
        }
    }

    /// Looks at what stands under a keyword; the names that are needed in any case.
    fn part(&mut self, keyword: &str, value: Option<&'s Value>, left: usize) -> Vec<&'s str> {
        match (keyword, value) {
            ("anyOf" | "oneOf", Some(Value::Array(branches))) => {
                let possible = branches.iter().filter(|branch| **branch != Value::Bool(false));
                let mut by_all: Option<Vec<&str>> = None;
                for branch in possible {
                    let needed = self.schema(branch, left);
                    by_all = Some(match by_all {
                        None => needed,
                        Some(so_far) => {
                            let needed: HashSet<&str> = needed.into_iter().collect();
                            so_far.into_iter().filter(|name| needed.contains(name)).collect()
                        }
                    });
                }
                by_all.unwrap_or_default()
            }
            ("allOf", Some(Value::Array(parts))) => {
                parts.iter().flat_map(|part| self.schema(part, left)).collect()
            }
            ("then" | "else", Some(schema)) => {
                self.schema(schema, left);
                Vec::new()
            }
            ("dependentSchemas", Some(Value::Object(schemas))) => {
                for schema in schemas.values() {
                    self.schema(schema, left);
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn schema(&mut self, schema: &'s Value, left: usize) -> Vec<&'s str> {
        let (Some(map), Some(left)) = (schema.as_object(), left.checked_sub(1)) else {
            return Vec::new();
        };
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
            needed.extend(self.part(keyword, map.get(keyword), left));
        }
        // Each is followed once: whatever it names is found by then.
        if let Some(target) = map.get("$ref").and_then(Value::as_str)
            && self.followed.insert(target)
        {
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            needed.extend(found.map(|found| self.schema(found, left)).unwrap_or_default());
        }
        needed
    }

    fn member(&mut self, name: &'s str, schema: Option<&'s Value>) {
        let next = self.members.len();
        let place = *self.places.entry(name).or_insert(next);
        if place == next {
            self.members.push((name, Vec::new()));
        }
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
    let mut known: HashSet<String> =
        names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    for name in needed {
        if known.insert((*name).to_owned()) {
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
                let said = many.iter().filter_map(|schema| schema.get("description")?.as_str());
                let said: Vec<&str> = said.collect();
                match said.is_empty() {
                    true => json!({"enum": all}),
                    false => json!({"enum": all, "description": said.join("; ")}),
                }
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
