//! Every keyword that a contract's schema may have: what its value is and what it is about.

use serde_json::Value;

use super::Place;

/// Which subschemas a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Nothing,
    One,
    List,
    Map,
}

/// What a keyword's value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Text,
    Pattern,
    Format,
    Flag,
    Count,
    Number,
    /// A number above zero.
    Step,
    /// Different texts.
    Names,
    List,
    NamesByName,
    Anything,
    Subschemas(Holds),
}

/// Which types a keyword says something about; none means all.
type About = &'static [&'static str];

const ALL: About = &[];
const STRING: About = &["string"];
const NUMBER: About = &["number", "integer"];
const ARRAY: About = &["array"];
const OBJECT: About = &["object"];

const ONE: Takes = Takes::Subschemas(Holds::One);
const SEVERAL: Takes = Takes::Subschemas(Holds::List);
const BY_NAME: Takes = Takes::Subschemas(Holds::Map);

static KEYWORDS: &[(&str, Takes, About)] = &[
    ("type", Takes::Anything, ALL),
    ("description", Takes::Text, ALL),
    ("title", Takes::Text, ALL),
    ("$comment", Takes::Text, ALL),
    ("$ref", Takes::Text, ALL),
    ("$defs", BY_NAME, ALL),
    ("default", Takes::Anything, ALL),
    ("enum", Takes::List, ALL),
    ("const", Takes::Anything, ALL),
    ("examples", Takes::List, ALL),
    ("deprecated", Takes::Flag, ALL),
    ("readOnly", Takes::Flag, ALL),
    ("writeOnly", Takes::Flag, ALL),
    ("allOf", SEVERAL, ALL),
    ("anyOf", SEVERAL, ALL),
    ("oneOf", SEVERAL, ALL),
    ("not", ONE, ALL),
    ("if", ONE, ALL),
    ("then", ONE, ALL),
    ("else", ONE, ALL),
    ("properties", BY_NAME, OBJECT),
    ("required", Takes::Names, OBJECT),
    ("additionalProperties", ONE, OBJECT),
    ("patternProperties", BY_NAME, OBJECT),
    ("propertyNames", ONE, OBJECT),
    ("minProperties", Takes::Count, OBJECT),
    ("maxProperties", Takes::Count, OBJECT),
    ("dependentRequired", Takes::NamesByName, OBJECT),
    ("dependentSchemas", BY_NAME, OBJECT),
    ("unevaluatedProperties", ONE, OBJECT),
    ("items", ONE, ARRAY),
    ("prefixItems", SEVERAL, ARRAY),
    ("contains", ONE, ARRAY),
    ("minContains", Takes::Count, ARRAY),
    ("maxContains", Takes::Count, ARRAY),
    ("minItems", Takes::Count, ARRAY),
    ("maxItems", Takes::Count, ARRAY),
    ("uniqueItems", Takes::Flag, ARRAY),
    ("unevaluatedItems", ONE, ARRAY),
    ("minLength", Takes::Count, STRING),
    ("maxLength", Takes::Count, STRING),
    ("pattern", Takes::Pattern, STRING),
    ("format", Takes::Format, STRING),
    ("contentEncoding", Takes::Text, STRING),
    ("contentMediaType", Takes::Text, STRING),
    ("contentSchema", ONE, STRING),
    ("minimum", Takes::Number, NUMBER),
    ("maximum", Takes::Number, NUMBER),
    ("exclusiveMinimum", Takes::Number, NUMBER),
    ("exclusiveMaximum", Takes::Number, NUMBER),
    ("multipleOf", Takes::Step, NUMBER),
];

/// What a keyword takes and what it is about; nothing for one that a contract does not know.
pub(super) fn find(keyword: &str) -> Option<(Takes, About)> {
    KEYWORDS.iter().find(|(name, ..)| *name == keyword).map(|(_, takes, about)| (*takes, *about))
}

pub(super) fn holds(keyword: &str) -> Holds {
    match find(keyword) {
        Some((Takes::Subschemas(holds), _)) => holds,
        Some(_) | None => Holds::Nothing,
    }
}

/// Where the subschemas of a keyword stand.
pub(super) fn place(keyword: &str) -> Place {
    match keyword {
        "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas" => {
            Place::Branch
        }
        _ => Place::Whole,
    }
}

/// The types that a schema names.
pub(super) fn types_of(schema: &serde_json::Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
