//! The keywords of JSON Schema 2020-12: what each holds and where it says something.

use serde_json::{Map, Value};

use crate::code;
use crate::diagnostic::Findings;
use crate::shape::kind_of;

/// What a keyword's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Type,
    List,
    Any,
    Text,
    Bool,
    Number,
    Positive,
    Count,
    Names,
    NamesMap,
    Pattern,
    Format,
    Schema,
    Schemas,
    SchemaMap,
    Reference,
    /// Refers to something outside of the contract, or changes what references mean.
    Foreign,
    /// `$schema`.
    Dialect,
}

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

static KEYWORDS: &[(&str, Holds)] = &[
    ("type", Holds::Type),
    ("description", Holds::Text),
    ("title", Holds::Text),
    ("properties", Holds::SchemaMap),
    ("required", Holds::Names),
    ("items", Holds::Schema),
    ("enum", Holds::List),
    ("default", Holds::Any),
    ("examples", Holds::List),
    ("additionalProperties", Holds::Schema),
    ("minimum", Holds::Number),
    ("maximum", Holds::Number),
    ("exclusiveMinimum", Holds::Number),
    ("exclusiveMaximum", Holds::Number),
    ("multipleOf", Holds::Positive),
    ("minLength", Holds::Count),
    ("maxLength", Holds::Count),
    ("pattern", Holds::Pattern),
    ("format", Holds::Format),
    ("minItems", Holds::Count),
    ("maxItems", Holds::Count),
    ("uniqueItems", Holds::Bool),
    ("minProperties", Holds::Count),
    ("maxProperties", Holds::Count),
    ("const", Holds::Any),
    ("prefixItems", Holds::Schemas),
    ("contains", Holds::Schema),
    ("minContains", Holds::Count),
    ("maxContains", Holds::Count),
    ("propertyNames", Holds::Schema),
    ("patternProperties", Holds::SchemaMap),
    ("dependentRequired", Holds::NamesMap),
    ("dependentSchemas", Holds::SchemaMap),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("not", Holds::Schema),
    ("if", Holds::Schema),
    ("then", Holds::Schema),
    ("else", Holds::Schema),
    ("contentEncoding", Holds::Text),
    ("contentMediaType", Holds::Text),
    ("contentSchema", Holds::Schema),
    ("readOnly", Holds::Bool),
    ("writeOnly", Holds::Bool),
    ("deprecated", Holds::Bool),
    ("$comment", Holds::Text),
    ("$ref", Holds::Reference),
    ("$defs", Holds::SchemaMap),
    ("$schema", Holds::Dialect),
    ("$id", Holds::Foreign),
    ("$anchor", Holds::Foreign),
    ("$dynamicRef", Holds::Foreign),
    ("$dynamicAnchor", Holds::Foreign),
    ("$vocabulary", Holds::Foreign),
];

/// What a keyword holds; nothing where it is no keyword.
pub(super) fn holds(keyword: &str) -> Option<Holds> {
    KEYWORDS.iter().find(|(name, _)| *name == keyword).map(|(_, holds)| *holds)
}

/// Every keyword.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(name, _)| *name)
}

const TYPES: &[&str] = &["string", "number", "integer", "boolean", "object", "array", "null"];

/// Whether a value is what its keyword holds.
pub(super) fn value(keyword: &str, holds: Holds, value: &Value) -> Result<(), String> {
    let must = |good: bool, expected: &str| {
        let found = kind_of(value);
        if good { Ok(()) } else { Err(format!("`{keyword}` must be {expected}, not {found}")) }
    };
    match holds {
        Holds::Any | Holds::Foreign => Ok(()),
        Holds::Text | Holds::Pattern | Holds::Format | Holds::Reference => {
            must(value.is_string(), "a text")
        }
        Holds::Bool => must(value.is_boolean(), "`true` or `false`"),
        Holds::Number => must(value.is_number(), "a number"),
        Holds::Positive => {
            let positive = value.as_f64().is_some_and(|number| number > 0.0);
            if positive { Ok(()) } else { Err(format!("`{keyword}` must be a number above 0")) }
        }
        Holds::Count => match is_count(value) {
            true => Ok(()),
            false => Err(format!("`{keyword}` must be a whole number of at least 0")),
        },
        Holds::Names => names(keyword, value),
        Holds::NamesMap => match value.as_object() {
            Some(map) => map.values().try_for_each(|list| names(keyword, list)),
            None => must(false, "an object of lists"),
        },
        Holds::List => list(keyword, value),
        Holds::Schema => must(value.is_object() || value.is_boolean(), "a schema"),
        Holds::Schemas => match value.as_array() {
            Some(list) if !list.is_empty() && list.iter().all(is_schema) => Ok(()),
            _ => Err(format!("`{keyword}` must be a list of schemas, with at least one")),
        },
        Holds::SchemaMap => match value.as_object() {
            Some(map) => match map.iter().find(|(_, schema)| !is_schema(schema)) {
                Some((name, found)) => {
                    Err(format!("`{name}` in `{keyword}` must be a schema, not {}", kind_of(found)))
                }
                None => Ok(()),
            },
            None => must(false, "an object"),
        },
        Holds::Type => types(value),
        Holds::Dialect => match value.as_str() == Some(DIALECT) {
            true => Ok(()),
            false => Err(format!("contracts are written in `{DIALECT}`")),
        },
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some() || value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0)
}

fn names(keyword: &str, value: &Value) -> Result<(), String> {
    let Some(list) = value.as_array().filter(|list| list.iter().all(Value::is_string)) else {
        return Err(format!("`{keyword}` must be a list of names"));
    };
    match repeated(list) {
        Some(twice) => Err(format!("{twice} stands twice in `{keyword}`")),
        None => Ok(()),
    }
}

fn list(keyword: &str, value: &Value) -> Result<(), String> {
    let Some(list) = value.as_array() else {
        return Err(format!("`{keyword}` must be a list, not {}", kind_of(value)));
    };
    match (keyword, repeated(list)) {
        ("enum", _) if list.is_empty() => Err("`enum` is empty: no value could ever fit".into()),
        ("enum", Some(twice)) => Err(format!("{twice} stands twice in `enum`")),
        _ => Ok(()),
    }
}

fn repeated(list: &[Value]) -> Option<&Value> {
    let mut seen = std::collections::HashSet::with_capacity(list.len());
    list.iter().find(|value| !seen.insert(haft_core::digest::canonical(value)))
}

fn types(value: &Value) -> Result<(), String> {
    let words: Vec<&Value> = match value.as_array().filter(|list| !list.is_empty()) {
        Some(list) => list.iter().collect(),
        None => vec![value],
    };
    for word in &words {
        match word.as_str() {
            Some(name) if TYPES.contains(&name) => {}
            Some(name) => {
                let help = haft_core::nearest::suggest(name, TYPES);
                return Err(format!("`{name}` is not a type of JSON Schema; {help}"));
            }
            None => {
                return Err("`type` must be a word or a list of words, with at least one".into());
            }
        }
    }
    let distinct: std::collections::HashSet<_> = words.iter().filter_map(|w| w.as_str()).collect();
    if distinct.len() == words.len() { Ok(()) } else { Err("a type stands twice in `type`".into()) }
}

/// The compiled size that a pattern may have: `((a{50}){50}){50}` would take megabytes.
const PATTERN_SIZE: usize = 1 << 20;

/// Whether a pattern runs in linear time and bounded space.
pub(super) fn pattern(pattern: &str) -> Result<(), String> {
    let built = regex::RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build();
    built.map(drop).map_err(|error| {
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}

/// Keywords that say nothing about the schema's type.
pub(super) fn applies(schema: &Map<String, Value>, at: &str, out: &mut Findings) {
    let Some(types) = types_of(schema).filter(|types| types.iter().all(|t| TYPES.contains(t)))
    else {
        return;
    };
    for keyword in schema.keys() {
        let about: &[&str] = match keyword.as_str() {
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
            | "contentMediaType" | "contentSchema" => &["string"],
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                &["number", "integer"]
            }
            "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems"
            | "minContains" | "maxContains" | "unevaluatedItems" => &["array"],
            "properties"
            | "required"
            | "additionalProperties"
            | "patternProperties"
            | "propertyNames"
            | "minProperties"
            | "maxProperties"
            | "dependentRequired"
            | "dependentSchemas"
            | "unevaluatedProperties" => &["object"],
            _ => continue,
        };
        if !types.iter().any(|name| about.contains(name)) {
            let message = format!("`{keyword}` says nothing about {}", article(&types));
            out.contract_key(&code::IDLE_KEYWORD, format!("{at}/{keyword}"), message)
                .help("take it out, or move it to where it applies");
        }
    }
}

fn article(types: &[&str]) -> String {
    types
        .iter()
        .map(|name| match *name {
            "array" | "integer" | "object" => format!("an {name}"),
            "null" => "null".to_owned(),
            name => format!("a {name}"),
        })
        .collect::<Vec<_>>()
        .join(" or ")
}

/// The types that a schema names.
pub(super) fn types_of(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(vec![name]),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Pairs of bounds, and whether a value may meet both where they are equal.
const BOUNDS: &[(&str, &str, bool)] = &[
    ("minimum", "maximum", true),
    ("minimum", "exclusiveMaximum", false),
    ("exclusiveMinimum", "maximum", false),
    ("exclusiveMinimum", "exclusiveMaximum", false),
    ("minLength", "maxLength", true),
    ("minItems", "maxItems", true),
    ("minProperties", "maxProperties", true),
    ("minContains", "maxContains", true),
];

/// Bounds of a schema that leave no room between them.
pub(crate) fn without_room(
    schema: &Map<String, Value>,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let number = |keyword| schema.get(keyword).and_then(Value::as_f64);
    BOUNDS.iter().filter_map(move |(low, high, may_meet)| {
        let (least, most) = (number(*low)?, number(*high)?);
        (least > most || (least == most && !may_meet)).then_some((*low, *high))
    })
}

pub(super) fn bounds(schema: &Map<String, Value>, at: &str, out: &mut Findings) {
    for (low, high) in without_room(schema) {
        let value = |keyword| schema.get(keyword).map(Value::to_string).unwrap_or_default();
        let message =
            format!("`{low}` is {}, but `{high}` is {}: nothing fits", value(low), value(high));
        out.contract(&code::IMPOSSIBLE, format!("{at}/{low}"), message);
    }
}
