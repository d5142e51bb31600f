//! What stands beside a field: what a value may be, and what it means.

use haft_core::parameters::{Cardinality, Kind, Parameter};
use maud::{Markup, html};
use serde_json::Value;

use super::filled::is_text;
use super::typed::Field;
use crate::console::visible::{self, visible};

pub(super) fn note(parameter: &Parameter, schema: &Value, field: Field) -> Markup {
    let how = match field {
        Field::Lines if is_text(parameter) => ", one a line, as it is written",
        Field::Lines => ", one a line",
        Field::Json => ", as JSON",
        Field::Group | Field::Choice | Field::YesNo | Field::Number | Field::Text => "",
    };
    html! {
        span .kind { (kind(parameter, field)) (how) "." } " "
        (described(&parameter.description))
        @if field == Field::Lines && !parameter.allowed.is_empty() {
            " One of " @for (place, (_, word)) in choices(parameter).iter().enumerate() {
                @if place > 0 { ", " } code { (word) }
            } "."
        }
        (limits(schema))
        @if let (Some(value), Field::Text | Field::Number | Field::Lines | Field::Json) = (&parameter.default, field) {
            " Default " code { (visible::written(&value.to_string())) } "."
        }
    }
}

/// What a value is. Where it may be of several kinds, the typed view calls it text.
fn kind(parameter: &Parameter, field: Field) -> &'static str {
    match (field, parameter.kind, parameter.cardinality) {
        (Field::Json, Kind::String, Cardinality::List) => "Values",
        (Field::Json, Kind::String, Cardinality::Single | Cardinality::Optional) => "Value",
        (_, kind, _) => kind.as_str(),
    }
}

/// A description that ends, so that what follows is not read as more of it.
pub(super) fn described(text: &str) -> Markup {
    let text = text.trim_end();
    let is_open = !text.is_empty() && !text.ends_with(['.', '!', '?', '…', ':', '。']);
    html! { (visible(text)) @if is_open { "." } }
}

/// A limit: its words, and what is written as it is.
struct Limit(String, Option<String>);

/// The limits that a schema sets, and those of what is in a list.
fn limits(schema: &Value) -> Markup {
    let mut own = of(schema);
    if let Some(first) = own.first_mut().and_then(|limit| limit.0.get_mut(..1)) {
        first.make_ascii_uppercase();
    }
    let each = schema.get("items").map(of).unwrap_or_default();
    html! {
        @if !own.is_empty() { " " (listed(&own)) "." }
        @if !each.is_empty() { " Each " (listed(&each)) "." }
    }
}

fn listed(limits: &[Limit]) -> Markup {
    html! {
        @for (place, Limit(words, code)) in limits.iter().enumerate() {
            @if place > 0 { ", " }
            (words)
            @if let Some(text) = code { " " code { (visible(text)) } }
        }
    }
}

fn of(schema: &Value) -> Vec<Limit> {
    const NAMES: [(&str, &str); 10] = [
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
        ("minLength", "letters: at least"),
        ("maxLength", "letters: at most"),
        ("minItems", "values: at least"),
        ("maxItems", "values: at most"),
        ("minProperties", "members: at least"),
    ];
    const FORMS: [(&str, &str); 2] = [("format", "of the format"), ("pattern", "fits the pattern")];
    let number = |(name, word): &(&str, &str)| {
        let limit = schema.get(name).filter(|limit| limit.is_number())?;
        Some(Limit(format!("{word} {limit}"), None))
    };
    let form = |(name, word): &(&str, &str)| {
        let said = schema.get(name).and_then(Value::as_str)?;
        Some(Limit((*word).to_owned(), Some(said.to_owned())))
    };
    let unique = schema.get("uniqueItems").and_then(Value::as_bool).unwrap_or_default();
    let unique = unique.then(|| Limit("no value twice".to_owned(), None));
    NAMES.iter().filter_map(number).chain(unique).chain(FORMS.iter().filter_map(form)).collect()
}

pub(super) fn default(parameter: &Parameter) -> String {
    match &parameter.default {
        Some(value) => format!("(default: {})", visible::written(&value.to_string())),
        None => "(nothing)".to_owned(),
    }
}

/// The text that is sent, and the text that is shown.
pub(super) fn choices(parameter: &Parameter) -> Vec<(String, String)> {
    let both = [Value::Bool(true), Value::Bool(false)];
    let allowed = match parameter.allowed.is_empty() {
        true => both.as_slice(),
        false => parameter.allowed.as_slice(),
    };
    let shown = |value: &Value| visible::written(value.as_str().unwrap_or(&value.to_string()));
    allowed.iter().map(|value| (value.to_string(), shown(value))).collect()
}

/// An example as somebody would fill it in.
pub(super) fn written(example: &Value, field: Field) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (field, example) {
        (Field::Lines, Value::Array(list)) => list.iter().map(plain).collect::<Vec<_>>().join("\n"),
        (Field::Json, value) => value.to_string(),
        (_, value) => plain(value),
    }
}

/// An example, line by line: the ends of lines are ours.
pub(super) fn shown(example: &str) -> String {
    example.lines().map(visible::written).collect::<Vec<_>>().join("\n")
}
