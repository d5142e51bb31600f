//! A validator's verdict in our words.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ReferencingError, ValidationError};
use serde_json::Value;

use crate::nearest;
use crate::pointer::{escape, spoken};

/// Why a schema does not compile.
pub(super) fn about_schema(error: &ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    let place = if at.is_empty() { String::new() } else { format!("at `{at}`: ") };
    let (kind, found) = (error.kind(), error.instance());
    if let ValidationErrorKind::Referencing(error) = kind {
        return format!("{place}{}", reference(error));
    }
    if matches!(kind, ValidationErrorKind::Format { format } if format == "regex") {
        return format!(
            "{place}{} cannot be compiled: check its brackets; lookaround, back-references and \
             huge repetitions are refused, since their time has no bound",
            short(found)
        );
    }
    if let ValidationErrorKind::Custom { message, .. } = kind {
        return match found.as_str() {
            Some(word) if at == "/format" || at.ends_with("/format") => {
                let help = nearest::suggest(word, super::FORMATS);
                format!("{place}`{word}` is not a known format; {help}")
            }
            _ => format!("{place}{}", plain(message)),
        };
    }
    format!("{place}{} {}", short(found), why(kind, error, &Value::Null))
}

/// Where and why a value is not valid; several for one error where several names are meant.
pub(super) fn about_value(error: &ValidationError<'_>, schema: &Value) -> Vec<(String, String)> {
    use ValidationErrorKind as Kind;
    let at = error.instance_path().to_string();
    if let Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } =
        error.kind()
    {
        let known = siblings(error, schema);
        return unexpected.iter().map(|extra| unknown(&at, extra, &known)).collect();
    }
    let message = if let Kind::Required { property: Value::String(missing) } = error.kind() {
        format!("{} is missing", spoken(&format!("{at}/{}", escape(missing))))
    } else if let Kind::PropertyNames { error } = error.kind() {
        let name = short(error.instance());
        format!("the property name {name} {}", why(error.kind(), error, schema))
    } else {
        format!("{} {}", spoken(&at), why(error.kind(), error, schema))
    };
    vec![(at, message)]
}

fn unknown(at: &str, name: &str, known: &[&str]) -> (String, String) {
    let at = format!("{at}/{}", escape(name));
    let near = nearest::find(name, known.iter().copied());
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let message = format!("{} is not a known property{near}", spoken(&at));
    (at, message)
}

/// The rest of a sentence that begins with what is wrong.
fn why(kind: &ValidationErrorKind, error: &ValidationError<'_>, schema: &Value) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::AdditionalItems { limit } => format!("must have at most {}", many(*limit, "element")),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<&str> = unexpected.iter().map(String::as_str).collect();
            format!("has no property {}", nearest::list(&names))
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => none_fits(context, schema),
        Kind::OneOfMultipleValid { context } => {
            format!("fits more than one of the {} alternatives; it must fit one", context.len())
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "could not be matched against its pattern".to_owned()
        }
        Kind::Constant { expected_value } => format!("must be {}", name(expected_value)),
        Kind::Contains => "does not have the elements that it must contain".to_owned(),
        Kind::ContentEncoding { content_encoding } => {
            format!("is not encoded as `{content_encoding}`")
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("does not hold `{content_media_type}`")
        }
        Kind::Custom { message, .. } => plain(message),
        Kind::Enum { options } => one_of(options, error.instance()),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::Format { format } => formatted(format),
        Kind::FromUtf8 { .. } => "is not UTF-8 once it is decoded".to_owned(),
        Kind::MaxItems { limit } => format!("must have at most {}", many(*limit, "element")),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::MaxLength { limit } => format!("must have at most {}", many(*limit, "character")),
        Kind::MaxProperties { limit } => format!("must have at most {}", properties(*limit)),
        Kind::MinItems { limit } => format!("must have at least {}", many(*limit, "element")),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::MinLength { limit } => format!("must have at least {}", many(*limit, "character")),
        Kind::MinProperties { limit } => format!("must have at least {}", properties(*limit)),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::Not { .. } => "is what the schema excludes".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern `{pattern}`"),
        Kind::PropertyNames { error } => {
            format!("has a property whose name {}", why(error.kind(), error, schema))
        }
        Kind::Required { property } => format!("is missing {}", name(property)),
        Kind::Type { kind } => {
            format!(
                "must be {}, not {}",
                types(kind),
                type_word(JsonType::from(&**error.instance()))
            )
        }
        Kind::UnevaluatedItems { .. } => "has elements that are not allowed".to_owned(),
        Kind::UniqueItems => "must not have the same element twice".to_owned(),
        Kind::Referencing(error) => reference(error),
    }
}

fn reference(error: &ReferencingError) -> String {
    match error {
        ReferencingError::Unretrievable { uri, .. } => {
            format!("`{uri}` is not part of the schema, and nothing is fetched")
        }
        ReferencingError::PointerToNowhere { pointer } => {
            format!("a reference leads to `{pointer}`, which does not exist")
        }
        ReferencingError::InvalidPercentEncoding { pointer, .. } => {
            format!("the reference `{pointer}` is not well encoded")
        }
        ReferencingError::InvalidArrayIndex { pointer, index, .. } => {
            format!("in the reference `{pointer}`, `{index}` is not the number of an element")
        }
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            format!("a reference names the anchor `{anchor}`, which does not exist")
        }
        ReferencingError::InvalidUri(_) => "a reference is not a URI".to_owned(),
        ReferencingError::UnknownSpecification { specification } => {
            format!("`{specification}` is not a known draft of JSON Schema")
        }
        ReferencingError::CircularMetaschema { uri } => {
            format!("the meta-schema `{uri}` describes itself")
        }
    }
}

/// Of several alternatives, the one with the fewest complaints is most likely meant.
fn none_fits(alternatives: &[Vec<ValidationError<'static>>], schema: &Value) -> String {
    let nearest = alternatives.iter().filter(|list| !list.is_empty()).min_by_key(|list| list.len());
    let told = nearest.and_then(|list| list.first()).and_then(|error| {
        about_value(error, schema).into_iter().next().map(|(_, message)| message)
    });
    let count = alternatives.len();
    match told {
        Some(message) => format!("fits none of {count} alternatives; in the nearest, {message}"),
        None => format!("fits none of {count} alternatives"),
    }
}

fn one_of(options: &Value, found: &Value) -> String {
    let options: &[Value] = options.as_array().map_or(&[], Vec::as_slice);
    let words = options.iter().filter_map(Value::as_str);
    let near = found.as_str().and_then(|found| nearest::find(found, words));
    let near = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
    let shown: Vec<String> = options.iter().take(20).map(name).collect();
    let rest = match options.len().saturating_sub(20) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("must be one of {}{rest}{near}", shown.join(", "))
}

fn formatted(format: &str) -> String {
    let example = match format {
        "attachment" => return "must be the id of an attachment".to_owned(),
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T09:30:00Z",
        "duration" => "P3DT12H",
        "email" => "ada@example.com",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "time" => "09:30:00Z",
        "uri" => "https://example.com/a",
        "uuid" => "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        _ => return format!("must be written as `{format}`"),
    };
    format!("must be written as `{format}`: `{example}`, say")
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => type_word(*one).to_owned(),
        TypeKind::Multiple(set) => {
            let words: Vec<&str> = set.iter().map(type_word).collect();
            words.join(" or ")
        }
    }
}

fn type_word(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Null => "null",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "an array",
        JsonType::Object => "an object",
    }
}

/// The properties that stand beside the keyword which complains.
fn siblings<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Vec<&'s str> {
    let keyword = error.schema_path().to_string();
    let around = keyword.rsplit_once('/').map_or("", |(around, _)| around);
    let known = schema.pointer(around).and_then(|schema| schema.get("properties")?.as_object());
    known.into_iter().flat_map(|known| known.keys().map(String::as_str)).collect()
}

/// What the keyword that complains says; for a name that is not known, the names that are.
pub(super) fn expectation(error: &ValidationError<'_>, schema: &Value) -> Option<Value> {
    use ValidationErrorKind as Kind;
    if let Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } = error.kind() {
        return Some(siblings(error, schema).into());
    }
    schema.pointer(&error.schema_path().to_string()).cloned()
}

fn name(value: &Value) -> String {
    match value.as_str() {
        Some(text) => format!("`{text}`"),
        None => format!("`{value}`"),
    }
}

/// A value of a schema as the subject of a sentence.
fn short(value: &Value) -> String {
    match value {
        Value::Object(_) => "the object".to_owned(),
        Value::Array(_) => "the array".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => name(value),
    }
}

fn many(count: impl ToString, what: &str) -> String {
    match count.to_string().as_str() {
        "1" => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn properties(count: u64) -> String {
    if count == 1 { "1 property".to_owned() } else { format!("{count} properties") }
}

/// The library's own sentence in our style.
fn plain(message: &str) -> String {
    let message = message.trim().trim_end_matches('.');
    let mut letters = message.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_lowercase(), letters.as_str()),
        None => String::new(),
    }
}
