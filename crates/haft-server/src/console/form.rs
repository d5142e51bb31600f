//! A form made from a tool's typed parameters, and the arguments that were filled in.

use haft_adm::strict;
use haft_core::parameters::{Cardinality, Kind, Parameter};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::posted::Posted;
use super::visible::{self, visible};

/// Groups in groups in groups are written as JSON.
const DEEPEST: usize = 3;

/// What somebody fills in for a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Fields of its own.
    Group,
    /// One of a list.
    Choice,
    /// Yes, no, or nothing.
    YesNo,
    /// A number.
    Number,
    /// Text.
    Text,
    /// One value a line.
    Lines,
    /// JSON.
    Json,
}

fn field(parameter: &Parameter, depth: usize) -> Field {
    let is_single = matches!(parameter.cardinality, Cardinality::Single | Cardinality::Optional);
    match (parameter.cardinality, parameter.kind) {
        (Cardinality::Map, _) | (_, Kind::JsonArray) => Field::Json,
        (Cardinality::List, Kind::JsonObject) => Field::Json,
        (Cardinality::List, _) => Field::Lines,
        (_, Kind::JsonObject) if is_single && !parameter.fields.is_empty() && depth < DEEPEST => {
            Field::Group
        }
        (_, Kind::JsonObject) => Field::Json,
        _ if !parameter.allowed.is_empty() => Field::Choice,
        (_, Kind::Boolean) => Field::YesNo,
        (_, Kind::Integer | Kind::Number) => Field::Number,
        (_, Kind::String | Kind::Timestamp | Kind::Uri | Kind::EnumToken)
        | (_, Kind::AttachmentReference) => Field::Text,
    }
}

/// The fields of a tool's parameters, with what was filled in before.
/// `schema` is what they are typed by, for the limits that it sets.
pub(crate) fn fields(parameters: &[Parameter], schema: &Value, filled: Option<&Posted>) -> Markup {
    Form { filled }.all(parameters, schema, "a", 0)
}

struct Form<'a> {
    filled: Option<&'a Posted>,
}

impl Form<'_> {
    fn all(&self, parameters: &[Parameter], schema: &Value, at: &str, depth: usize) -> Markup {
        let of = |name: &str| {
            schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null)
        };
        html! {
            @for (place, parameter) in parameters.iter().enumerate() {
                (self.one(parameter, of(&parameter.name), &format!("{at}.{place}"), depth))
            }
        }
    }

    fn one(&self, parameter: &Parameter, schema: &Value, name: &str, depth: usize) -> Markup {
        let field = field(parameter, depth);
        if field == Field::Group {
            return html! {
                fieldset {
                    legend { (label(parameter)) }
                    @if !parameter.description.is_empty() { p .note { (visible(&parameter.description)) } }
                    (self.all(&parameter.fields, schema, name, depth + 1))
                }
            };
        }
        html! {
            div .field {
                label for=(name) { (label(parameter)) }
                (self.input(parameter, field, name))
                p .note id={ (name) "-note" } { (note(parameter, schema, field)) }
            }
        }
    }

    fn input(&self, parameter: &Parameter, field: Field, name: &str) -> Markup {
        let value = self.filled.and_then(|filled| filled.one(name)).unwrap_or_default();
        let example = parameter.example.as_ref().map(|example| shown(&written(example, field)));
        let described = format!("{name}-note");
        let rows = value.lines().count().clamp(3, 12);
        match field {
            Field::Choice | Field::YesNo => {
                let choices = choices(parameter);
                html! {
                    select id=(name) name=(name) aria-describedby=(described) {
                        option value="" { (default(parameter)) }
                        @for (text, shown) in &choices {
                            option value=(text) selected[text == value] { (shown) }
                        }
                    }
                }
            }
            Field::Number => html! {
                input id=(name) name=(name) value=(value) inputmode="decimal" autocomplete="off"
                    placeholder=[example] aria-describedby=(described);
            },
            Field::Lines | Field::Json => html! {
                textarea id=(name) name=(name) rows=(rows) spellcheck="false" autocomplete="off"
                    placeholder=[example] aria-describedby=(described) { "\n" (value) }
            },
            // Grows with its text where browsers can, and takes more than one line everywhere.
            Field::Text | Field::Group => html! {
                textarea .text id=(name) name=(name) rows="1" autocomplete="off"
                    placeholder=[example] aria-describedby=(described) { "\n" (value) }
            },
        }
    }
}

fn label(parameter: &Parameter) -> Markup {
    html! {
        code { (visible(&parameter.name)) }
        @if parameter.required { span .must { " required" } }
    }
}

fn note(parameter: &Parameter, schema: &Value, field: Field) -> Markup {
    let how = match field {
        Field::Lines if is_text(parameter) => ", one a line, as it is written",
        Field::Lines => ", one a line",
        Field::Json => ", as JSON",
        Field::Group | Field::Choice | Field::YesNo | Field::Number | Field::Text => "",
    };
    html! {
        span .kind { (parameter.kind.as_str()) (how) "." } " "
        (visible(&parameter.description))
        @if field == Field::Lines && !parameter.allowed.is_empty() {
            " One of " @for (place, (_, word)) in choices(parameter).iter().enumerate() {
                @if place > 0 { ", " } code { (word) }
            } "."
        }
        @if let Some(limits) = limits(schema) { " " (visible(&limits)) "." }
        @if let (Some(value), Field::Text | Field::Number | Field::Lines | Field::Json) = (&parameter.default, field) {
            " Default " code { (visible::written(&value.to_string())) } "."
        }
    }
}

/// The limits that a schema sets, and those of what is in a list.
fn limits(schema: &Value) -> Option<String> {
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
    let of = |schema: &Value| {
        let one = |(name, word): &(&str, &str)| {
            schema
                .get(name)
                .filter(|limit| limit.is_number())
                .map(|limit| format!("{word} {limit}"))
        };
        let form = |(name, word): &(&str, &str)| {
            let said = schema.get(name).and_then(Value::as_str)?;
            Some(format!("{word} `{said}`"))
        };
        let unique = schema.get("uniqueItems").and_then(Value::as_bool).unwrap_or_default();
        let unique = unique.then(|| "no value twice".to_owned());
        let numbers = NAMES.iter().filter_map(one);
        numbers.chain(unique).chain(FORMS.iter().filter_map(form)).collect::<Vec<_>>()
    };
    let (own, each) = (of(schema), schema.get("items").map(of).unwrap_or_default());
    let each = (!each.is_empty()).then(|| format!("each {}", each.join(", ")));
    let all: Vec<String> = own.into_iter().chain(each).collect();
    let mut all = all.join(", ");
    let first = all.get_mut(..1)?;
    first.make_ascii_uppercase();
    Some(all)
}

fn default(parameter: &Parameter) -> String {
    match &parameter.default {
        Some(value) => format!("(default: {})", visible::written(&value.to_string())),
        None => "(nothing)".to_owned(),
    }
}

/// The text that is sent, and the text that is shown.
fn choices(parameter: &Parameter) -> Vec<(String, String)> {
    let both = [Value::Bool(true), Value::Bool(false)];
    let allowed = match parameter.allowed.is_empty() {
        true => both.as_slice(),
        false => parameter.allowed.as_slice(),
    };
    let shown = |value: &Value| visible::written(value.as_str().unwrap_or(&value.to_string()));
    allowed.iter().map(|value| (value.to_string(), shown(value))).collect()
}

/// An example as somebody would fill it in.
fn written(example: &Value, field: Field) -> String {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match (field, example) {
        (Field::Lines, Value::Array(list)) => list.iter().map(plain).collect::<Vec<_>>().join("\n"),
        (Field::Json, value) => value.to_string(),
        (_, value) => plain(value),
    }
}

/// An example, line by line: the ends of lines are ours.
fn shown(example: &str) -> String {
    example.lines().map(visible::written).collect::<Vec<_>>().join("\n")
}

/// What was filled in, as arguments. What was left empty is left out.
pub(crate) fn arguments(parameters: &[Parameter], posted: &Posted) -> Result<Value, String> {
    Ok(Value::Object(read(parameters, posted, "a", 0)?))
}

fn read(
    parameters: &[Parameter],
    posted: &Posted,
    at: &str,
    depth: usize,
) -> Result<Map<String, Value>, String> {
    let mut found = Map::new();
    for (place, parameter) in parameters.iter().enumerate() {
        let name = format!("{at}.{place}");
        let field = field(parameter, depth);
        let value = match (field, posted.filled(&name)) {
            (Field::Group, _) => {
                let members = read(&parameter.fields, posted, &name, depth + 1)?;
                let is_there = parameter.required || !members.is_empty();
                is_there.then_some(Value::Object(members))
            }
            (_, None) => None,
            (Field::Lines, Some(text)) => {
                Some(lines(parameter, text).map(|line| single(parameter.kind, line)).collect())
            }
            (Field::Json | Field::Choice | Field::YesNo, Some(text)) => {
                let read = strict::parse(text, strict::Limits::default());
                Some(read.map_err(|error| format!("`{}` is not JSON: {error}", parameter.name))?)
            }
            (Field::Number, Some(text)) => Some(single(parameter.kind, text.trim())),
            (Field::Text, Some(text)) => Some(Value::String(text.to_owned())),
        };
        if let Some(value) = value {
            found.insert(parameter.name.clone(), value);
        }
    }
    Ok(found)
}

/// The values of a list. Spaces around a number mean nothing, nor does an empty line among them; in a
/// text, both are what somebody has written.
fn lines<'a>(parameter: &Parameter, text: &'a str) -> impl Iterator<Item = &'a str> {
    let is_text = is_text(parameter);
    text.lines()
        .map(move |line| if is_text { line } else { line.trim() })
        .filter(move |line| is_text || !line.is_empty())
}

/// Whether a value is any text.
fn is_text(parameter: &Parameter) -> bool {
    match parameter.kind {
        Kind::String | Kind::Timestamp | Kind::Uri | Kind::AttachmentReference => {
            parameter.allowed.is_empty()
        }
        Kind::Boolean
        | Kind::Integer
        | Kind::Number
        | Kind::JsonObject
        | Kind::JsonArray
        | Kind::EnumToken => false,
    }
}

/// One value. What is not one of its kind stays text, and the path says what is wrong with it.
fn single(kind: Kind, text: &str) -> Value {
    let as_json = || strict::parse(text, strict::Limits::default()).ok();
    let read = match kind {
        Kind::Integer | Kind::Number => as_json().filter(Value::is_number),
        Kind::Boolean => as_json().filter(Value::is_boolean),
        Kind::JsonObject | Kind::JsonArray => as_json(),
        Kind::String
        | Kind::Timestamp
        | Kind::Uri
        | Kind::EnumToken
        | Kind::AttachmentReference => None,
    };
    read.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use haft_core::parameters::view;
    use serde_json::json;

    use super::*;

    fn parameters() -> Vec<Parameter> {
        view(&schema())
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "required": ["title", "where"],
            "properties": {
                "title": {"type": "string", "examples": ["Budget"]},
                "count": {"type": "integer", "default": 3},
                "kind": {"enum": ["big", "small"]},
                "urgent": {"type": "boolean"},
                "tags": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "number"}},
                "where": {"type": "object", "properties": {"city": {"type": "string"}}},
                "more": {"type": "object", "additionalProperties": {"type": "string"}},
                "colours": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"enum": ["red", "blue"]}},
                "level": {"type": "integer", "minimum": 1, "maximum": 9},
                "size": {"enum": ["a b", "a\u{a0}b", "a\tb"], "default": "a\u{a0}b"},
                "code": {"type": "string", "pattern": "^[a-z]+$", "examples": ["p\u{430}y"]},
                "days": {"type": "array", "items": {"type": "string", "format": "date"}}
            }
        })
    }

    #[track_caller]
    fn check(filled: &str, expected: Value) {
        let posted = Posted::read(filled.as_bytes());
        assert_eq!(arguments(&parameters(), &posted), Ok(expected), "{filled}");
    }

    #[test]
    fn what_is_filled_in_becomes_arguments() {
        check("", json!({"where": {}}));
        check(
            "a.0=A+%26+B&a.1=7&a.2=%22big%22&a.3=false&a.4=x%0D%0Ay+z%0D%0A&a.5=1%0A2.5&a.6.0=Rome&a.7=%7B%22k%22%3A%22v%22%7D",
            json!({"title": "A & B", "count": 7, "kind": "big", "urgent": false, "tags": ["x", "y z"],
                   "sizes": [1, 2.5], "where": {"city": "Rome"}, "more": {"k": "v"}}),
        );
        check("a.4=+x+%0A%0Ay", json!({"tags": [" x ", "", "y"], "where": {}}));
        check("a.5=+1%0A%0A+2", json!({"sizes": [1, 2], "where": {}}));
        check("a.8=+red%0A%0A", json!({"colours": ["red"], "where": {}}));
        check("a.1=many", json!({"count": "many", "where": {}}));
        check(
            "a.1=12345678901234567890123",
            json!({"count": "12345678901234567890123", "where": {}}),
        );
    }

    #[test]
    fn json_that_is_none_is_said_at_once() {
        let posted = Posted::read(b"a.7=%7Boops");
        let wrong = arguments(&parameters(), &posted).unwrap_err();
        assert!(wrong.starts_with("`more` is not JSON"), "{wrong}");
    }

    #[test]
    fn every_parameter_has_a_labelled_field_that_keeps_what_was_filled_in() {
        let posted = Posted::read(b"a.0=%3Cb%3E%22&a.2=%22small%22");
        let shown = fields(&parameters(), &schema(), Some(&posted)).into_string();
        for place in ["a.0", "a.1", "a.2", "a.3", "a.4", "a.5", "a.6.0", "a.7"] {
            assert!(shown.contains(&format!("for=\"{place}\"")), "{place}");
            assert!(shown.contains(&format!("name=\"{place}\"")), "{place}");
        }
        assert!(shown.contains("&lt;b&gt;"), "{shown}");
        assert!(shown.contains("value=\"&quot;small&quot;\" selected"), "{shown}");
        assert!(shown.contains("Default <code>3</code>"), "{shown}");
        assert!(shown.contains("One of <code>red</code>, <code>blue</code>."), "{shown}");
        for said in [
            "Values: at most 2, no value twice.",
            "Fits the pattern `^[a-z]+$`.",
            "Each of the format `date`.",
            ">a b</option>",
            ">aU+00A0b</option>",
            ">aU+0009b</option>",
            "(default: &quot;aU+00A0b&quot;)",
            "placeholder=\"p\u{430}U+0430y\"",
        ] {
            assert!(shown.contains(said), "{said}: {shown}");
        }
        assert!(shown.contains("At least 1, at most 9."));
    }
}
