//! Random schemas over the small world of `values`.

use serde_json::{Map, Value, json};

use super::tape::Tape;
use super::values;

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// What is referred to, and refers to itself.
pub(super) const SHELF: [&str; 2] = ["k", "n"];

/// A schema may refer to what contains it only where a value gets smaller, or it has no meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum References {
    Allowed,
    Forbidden,
}

pub(super) fn root(tape: &mut Tape<'_>) -> Value {
    let mut shelf = Map::new();
    for name in SHELF {
        shelf.insert(name.into(), Value::Object(keywords(tape, 1, References::Forbidden)));
    }
    let mut root = keywords(tape, 0, References::Allowed);
    root.insert("$defs".into(), Value::Object(shelf));
    Value::Object(root)
}

/// Half of the schemas keep to one subject, because keywords that know of each other must meet.
fn keywords(tape: &mut Tape<'_>, depth: usize, references: References) -> Map<String, Value> {
    let subject = if tape.one_in(2) { Some(tape.below(SUBJECTS)) } else { None };
    let count = 1 + tape.below(4);
    let mut keywords = Map::new();
    for _ in 0..count {
        let subject = subject.unwrap_or_else(|| tape.below(SUBJECTS));
        let (keyword, value) = about(subject, tape, depth, references);
        keywords.insert(keyword.to_owned(), value);
    }
    keywords
}

pub(super) fn schema(tape: &mut Tape<'_>, depth: usize, references: References) -> Value {
    if depth > 3 {
        return json!({"type": *tape.pick(&["integer", "string", "object"])});
    }
    match tape.below(12) {
        0 => json!(true),
        1 => json!(false),
        2 => json!({}),
        _ => Value::Object(keywords(tape, depth, references)),
    }
}

/// A keyword that stands alone as well as beside any other.
pub(super) fn keyword(
    tape: &mut Tape<'_>,
    depth: usize,
    references: References,
) -> (&'static str, Value) {
    about(tape.below(SUBJECTS), tape, depth, references)
}

const SUBJECTS: usize = 7;

fn about(
    subject: usize,
    tape: &mut Tape<'_>,
    depth: usize,
    references: References,
) -> (&'static str, Value) {
    match subject {
        0 => ("type", kind(tape)),
        1 => listed(tape),
        2 => bound(tape),
        3 => range(tape),
        4 => members(tape, depth),
        5 => items(tape, depth),
        _ => combined(tape, depth, references),
    }
}

fn range(tape: &mut Tape<'_>) -> (&'static str, Value) {
    match tape.below(5) {
        0 => ("type", json!(tape.pick(&["integer", "number"]))),
        _ => (*tape.pick(&EDGES), edge(tape)),
    }
}

fn kind(tape: &mut Tape<'_>) -> Value {
    let names = ["object", "integer", "number", "string", "array", "null", "boolean"];
    if tape.one_in(3) {
        let at = tape.below(6);
        return json!([names[at], names[at + 1]]);
    }
    json!(tape.pick(&names))
}

fn listed(tape: &mut Tape<'_>) -> (&'static str, Value) {
    match tape.below(5) {
        0 => ("const", values::value(tape, 2)),
        1 => ("pattern", json!(tape.pick(&["^a", "b$"]))),
        2 => ("format", json!(tape.pick(&["date", "email"]))),
        _ => {
            let mut list = vec![values::value(tape, 2)];
            for value in [values::value(tape, 2), values::value(tape, 1)] {
                if !list.contains(&value) {
                    list.push(value);
                }
            }
            ("enum", Value::Array(list))
        }
    }
}

fn bound(tape: &mut Tape<'_>) -> (&'static str, Value) {
    let counts =
        ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];
    match tape.below(5) {
        0 => ("multipleOf", tape.pick(&[json!(1), json!(2), json!(4), json!(0.5)]).clone()),
        1 => ("uniqueItems", json!(tape.one_in(2))),
        _ => (*tape.pick(&counts), json!(tape.below(4))),
    }
}

/// Each with the one that leaves the end itself out, or lets it in.
pub(super) const EDGES: [&str; 4] = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];

fn edge(tape: &mut Tape<'_>) -> Value {
    tape.pick(&[json!(-1), json!(0), json!(1), json!(1.5), json!(2), json!(2.0), json!(3)]).clone()
}

fn members(tape: &mut Tape<'_>, depth: usize) -> (&'static str, Value) {
    let some = |tape: &mut Tape<'_>| {
        let mut map = Map::new();
        for name in NAMES {
            if tape.one_in(2) {
                map.insert(name.into(), schema(tape, depth + 1, References::Allowed));
            }
        }
        map
    };
    match tape.below(12) {
        0..=3 => ("properties", Value::Object(some(tape))),
        4 | 5 => {
            let names: Vec<&str> = NAMES.into_iter().filter(|_| tape.one_in(2)).collect();
            ("required", json!(names))
        }
        6 | 7 => {
            let rest = if tape.one_in(2) {
                json!(false)
            } else {
                schema(tape, depth + 1, References::Allowed)
            };
            ("additionalProperties", rest)
        }
        8 => ("patternProperties", json!({"^a": schema(tape, depth + 1, References::Allowed)})),
        9 => ("propertyNames", schema(tape, depth + 1, References::Forbidden)),
        10 => ("dependentRequired", json!({"a": [*tape.pick(&NAMES)]})),
        _ => ("unevaluatedProperties", json!(false)),
    }
}

fn items(tape: &mut Tape<'_>, depth: usize) -> (&'static str, Value) {
    let below = |tape: &mut Tape<'_>| schema(tape, depth + 1, References::Allowed);
    match tape.below(8) {
        0..=2 => ("items", below(tape)),
        3..=5 => ("prefixItems", json!([below(tape), below(tape)])),
        6 => ("contains", below(tape)),
        _ => ("unevaluatedItems", json!(false)),
    }
}

fn combined(tape: &mut Tape<'_>, depth: usize, references: References) -> (&'static str, Value) {
    let below = |tape: &mut Tape<'_>| schema(tape, depth + 1, references);
    match tape.below(10) {
        0 | 1 => ("anyOf", json!([below(tape), below(tape)])),
        2 | 3 => ("allOf", json!([below(tape), below(tape)])),
        4 => ("oneOf", json!([below(tape), below(tape)])),
        5 => ("not", below(tape)),
        6 => ("if", below(tape)),
        7 => (*tape.pick(&["then", "else"]), below(tape)),
        _ if references == References::Allowed => {
            ("$ref", json!(format!("#/$defs/{}", tape.pick(&SHELF))))
        }
        _ => ("dependentSchemas", json!({"a": below(tape)})),
    }
}

/// The schema as a reader takes it who passes over members that are not listed. Inside of `oneOf`,
/// `not` and their like only sameness counts, so these stay as they are, and so does what they
/// refer to.
pub(super) fn opened(root: &Value) -> Value {
    let mut opened = open(root);
    let shelf = root["$defs"].as_object().unwrap();
    for (name, schema) in shelf {
        opened["$defs"][format!("{name}-open")] = open(schema);
    }
    opened
}

fn open(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let unevaluated = |keyword: &String| keyword.starts_with("unevaluated");
    if keywords.keys().any(unevaluated) {
        return schema.clone();
    }
    let opened = keywords.iter().filter_map(|(keyword, value)| {
        let value = match (keyword.as_str(), value) {
            ("additionalProperties", Value::Bool(false)) => return None,
            ("additionalProperties" | "items", schema) => open(schema),
            ("properties", Value::Object(map)) => Value::Object(
                map.iter().map(|(name, schema)| (name.clone(), open(schema))).collect(),
            ),
            ("anyOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                Value::Array(list.iter().map(open).collect())
            }
            ("$ref", Value::String(target)) => json!(format!("{target}-open")),
            (_, value) => value.clone(),
        };
        Some((keyword.clone(), value))
    });
    Value::Object(opened.collect())
}
