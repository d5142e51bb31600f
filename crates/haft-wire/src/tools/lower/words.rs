//! Rules that a schema cannot say, in few words for the model.

use serde_json::{Map, Value};

/// Longer schemas are not quoted: nobody reads them in a description.
const QUOTE: usize = 1_000;

/// The kind of value that a keyword is about.
pub(super) fn about(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
        | "contentMediaType" | "contentSchema" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        "items" | "prefixItems" | "contains" | "minItems" | "maxItems" | "uniqueItems"
        | "minContains" | "maxContains" | "unevaluatedItems" => "array",
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => "object",
        _ => return None,
    })
}

/// Whether a keyword about the one kind says something about a type.
pub(super) fn covers(kind: &str, name: &str) -> bool {
    kind == name || (kind == "number" && name == "integer")
}

/// A rule in words; nothing where words don't help a model.
pub(super) fn rule(keyword: &str, value: &Value, map: &Map<String, Value>) -> Option<String> {
    Some(match (keyword, value) {
        ("minimum", n) => format!("at least {n}"),
        ("maximum", n) => format!("at most {n}"),
        ("exclusiveMinimum", n) => format!("more than {n}"),
        ("exclusiveMaximum", n) => format!("less than {n}"),
        ("multipleOf", n) => format!("a multiple of {n}"),
        ("minLength", n) => format!("at least {}", counted(n, "character")),
        ("maxLength", n) => format!("at most {}", counted(n, "character")),
        ("minItems", n) => format!("at least {}", counted(n, "item")),
        ("maxItems", n) => format!("at most {}", counted(n, "item")),
        ("minProperties", n) => format!("at least {}", counted(n, "member")),
        ("maxProperties", n) => format!("at most {}", counted(n, "member")),
        ("uniqueItems", Value::Bool(true)) => "no item twice".to_owned(),
        ("pattern", Value::String(pattern)) => format!("matching the pattern `{pattern}`"),
        ("format", Value::String(format)) => format!("format: {format}"),
        ("contentEncoding", Value::String(name)) => format!("encoded as {name}"),
        ("contentMediaType", Value::String(name)) => format!("media type: {name}"),
        ("contains", schema) => format!("with {} {}", contained(map), like(schema)?),
        ("propertyNames", schema) => format!("with names {}", like(schema)?),
        ("not", schema) => format!("not {}", like(schema)?),
        ("if", schema) => conditional(schema, map)?,
        ("dependentRequired", Value::Object(needs)) => {
            let each = needs.iter().map(|(name, needed)| {
                format!("`{name}` only together with {}", listed(needed, "and"))
            });
            each.collect::<Vec<_>>().join("; ")
        }
        ("dependentSchemas", Value::Object(needs)) => {
            let each: Option<Vec<String>> = needs
                .iter()
                .map(|(name, schema)| Some(format!("with `{name}`, {}", like(schema)?)))
                .collect();
            each?.join("; ")
        }
        ("unevaluatedItems", schema) if schema.is_object() => {
            format!("further items {}", like(schema)?)
        }
        ("deprecated", Value::Bool(true)) => "deprecated".to_owned(),
        ("default", value) => format!("default: {value}"),
        ("examples", Value::Array(list)) if !list.is_empty() => {
            let all: Vec<String> = list.iter().map(Value::to_string).collect();
            format!("for example {}", all.join(", "))
        }
        _ => return None,
    })
    .filter(|words| words.len() <= 2 * QUOTE)
}

/// A keyword that another one speaks for, and that one where it is there.
pub(super) fn spoken_for(keyword: &str) -> Option<&'static str> {
    match keyword {
        "then" | "else" => Some("if"),
        "minContains" | "maxContains" => Some("contains"),
        _ => None,
    }
}

fn conditional(schema: &Value, map: &Map<String, Value>) -> Option<String> {
    let mut words = format!("if it is {}", like(schema)?);
    for (keyword, word) in [("then", "then"), ("else", "otherwise")] {
        if let Some(schema) = map.get(keyword) {
            words.push_str(&format!(", {word} {}", like(schema)?));
        }
    }
    Some(words)
}

fn contained(map: &Map<String, Value>) -> String {
    let least = map.get("minContains").map_or_else(|| "1".to_owned(), Value::to_string);
    match map.get("maxContains") {
        Some(most) => format!("{least} to {most} items"),
        None => format!("at least {least} item{}", if least == "1" { "" } else { "s" }),
    }
}

/// `like {"type":"string"}`: a schema short enough to quote.
pub(super) fn like(schema: &Value) -> Option<String> {
    let text = schema.to_string();
    (text.len() <= QUOTE).then(|| format!("like {text}"))
}

/// `` `a`, `b` and `c` ``
pub(super) fn listed(names: &Value, word: &str) -> String {
    let names: Vec<String> = names
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {word} {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn counted(number: &Value, thing: &str) -> String {
    let one = number.as_f64() == Some(1.0);
    format!("{number} {thing}{}", if one { "" } else { "s" })
}

/// Adds words to a description.
pub(super) fn describe(schema: &mut Map<String, Value>, words: &[String]) {
    if words.is_empty() {
        return;
    }
    let said = words.join("; ");
    let text = match schema.get("description").and_then(Value::as_str).map(str::trim) {
        Some(own) if !own.is_empty() => format!("{own} ({said})"),
        Some(_) | None => said,
    };
    schema.insert("description".to_owned(), Value::String(text));
}
