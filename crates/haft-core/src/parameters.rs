//! The typed view of a contract's parameters: what planners, forms and documents read instead of
//! JSON Schema.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::present::present;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What a single value is.
    pub kind: Kind,
    /// How many values there are.
    pub cardinality: Cardinality,
    /// Whether a call must have it.
    pub required: bool,
    /// What it means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The values that are allowed, where they are listed.
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    /// What is filled in when it is absent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// A value to learn from.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// The members of an object, or of the objects in a list or map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Parameter>,
}

/// What a single value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Text, kept as it is.
    String,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// An object.
    JsonObject,
    /// A list of lists, or a list of anything.
    JsonArray,
    /// An instant (RFC 3339).
    Timestamp,
    /// An absolute URI.
    Uri,
    /// One of a list of words.
    EnumToken,
    /// A reference to an attachment: a string with `"format": "attachment"`.
    AttachmentReference,
}

impl Kind {
    /// The word used in registries and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Boolean => "Boolean",
            Self::Integer => "Integer",
            Self::Number => "Number",
            Self::JsonObject => "JsonObject",
            Self::JsonArray => "JsonArray",
            Self::Timestamp => "Timestamp",
            Self::Uri => "Uri",
            Self::EnumToken => "EnumToken",
            Self::AttachmentReference => "AttachmentReference",
        }
    }
}

/// How many values there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cardinality {
    /// Exactly one.
    Single,
    /// One or none.
    Optional,
    /// A list.
    List,
    /// Values by name.
    Map,
}

impl Cardinality {
    /// The word used in registries and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "Single",
            Self::Optional => "Optional",
            Self::List => "List",
            Self::Map => "Map",
        }
    }
}

/// The typed view of an object schema, in the author's order. Local `$ref`s are followed;
/// where a schema contains itself, the second meeting is shown without its members.
///
/// ```
/// use haft_core::parameters::{view, Cardinality, Kind};
/// use serde_json::json;
/// let seen = view(&json!({
///     "type": "object",
///     "required": ["when"],
///     "properties": {
///         "when": {"type": "string", "format": "date-time"},
///         "tags": {"type": "array", "items": {"type": "string"}}
///     }
/// }));
/// assert_eq!((seen[0].kind, seen[0].cardinality), (Kind::Timestamp, Cardinality::Single));
/// assert_eq!((seen[1].kind, seen[1].cardinality), (Kind::String, Cardinality::List));
/// ```
#[must_use]
pub fn view(schema: &Value) -> Vec<Parameter> {
    View { root: schema, path: Vec::new(), left: MAX_NODES }.members(schema)
}

/// Deeper nesting is still valid; only the view of it ends here.
const MAX_DEPTH: usize = 16;

/// References multiply; nobody reads a form with more members than this.
const MAX_NODES: usize = 2_000;

struct View<'a> {
    root: &'a Value,
    /// The schemas that the one at hand stands in.
    path: Vec<&'a Value>,
    /// How many members may still be shown.
    left: usize,
}

impl<'a> View<'a> {
    fn members(&mut self, schema: &'a Value) -> Vec<Parameter> {
        let met = self.path.iter().any(|above| std::ptr::eq(*above, schema));
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        if met || self.path.len() >= MAX_DEPTH {
            return Vec::new();
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|names| names.iter().any(|n| n.as_str() == Some(name)))
        };
        self.path.push(schema);
        let mut members = Vec::new();
        for (name, property) in properties {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            members.push(self.parameter(name, property, is_required(name)));
        }
        self.path.pop();
        members
    }

    fn parameter(&mut self, name: &str, written: &'a Value, required: bool) -> Parameter {
        let schema = self.follow(written);
        let (cardinality, single) = self.cardinality(schema, required);
        Parameter {
            name: name.to_owned(),
            kind: kind(single),
            cardinality,
            required,
            description: first(written, schema, "description")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            allowed: single.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            default: first(written, schema, "default").cloned(),
            example: first(written, schema, "examples")
                .and_then(Value::as_array)
                .and_then(|examples| examples.first())
                .cloned(),
            fields: self.members(single),
        }
    }

    fn cardinality(&self, schema: &'a Value, required: bool) -> (Cardinality, &'a Value) {
        let open = schema.get("additionalProperties").filter(|open| open.is_object());
        match (type_of(schema), schema.get("items"), open) {
            (Some("array"), Some(items), _) if items.is_object() => {
                (Cardinality::List, self.follow(items))
            }
            (Some("object"), _, Some(values)) if schema.get("properties").is_none() => {
                (Cardinality::Map, self.follow(values))
            }
            _ if required => (Cardinality::Single, schema),
            _ => (Cardinality::Optional, schema),
        }
    }

    fn follow(&self, schema: &'a Value) -> &'a Value {
        // Chains of references are short; the bound only keeps a circle of them from turning.
        (0..MAX_DEPTH).fold(schema, |schema, _| {
            schema
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|target| target.strip_prefix('#'))
                .and_then(|pointer| self.root.pointer(pointer))
                .unwrap_or(schema)
        })
    }
}

fn first<'a>(written: &'a Value, followed: &'a Value, keyword: &str) -> Option<&'a Value> {
    written.get(keyword).or_else(|| followed.get(keyword))
}

/// The one type that is not `null`.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.next().filter(|_| names.next().is_none())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn kind(schema: &Value) -> Kind {
    let single = schema.get("const").map(std::slice::from_ref);
    let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).or(single);
    if let Some(values) = listed.filter(|values| !values.is_empty())
        && let Some(kind) = kind_of_values(values)
    {
        return kind;
    }
    match (type_of(schema), schema.get("format").and_then(Value::as_str)) {
        (Some("string"), Some("date-time")) => Kind::Timestamp,
        (Some("string"), Some("uri")) => Kind::Uri,
        (Some("string"), Some("attachment")) => Kind::AttachmentReference,
        (Some("string"), _) => Kind::String,
        (Some("boolean"), _) => Kind::Boolean,
        (Some("integer"), _) => Kind::Integer,
        (Some("number"), _) => Kind::Number,
        (Some("array"), _) => Kind::JsonArray,
        (Some("object"), _) => Kind::JsonObject,
        _ if schema.get("properties").is_some() => Kind::JsonObject,
        // Several types or none. A reader that mends arguments never touches what the schema
        // accepts, so calling it text changes nothing.
        _ => Kind::String,
    }
}

/// What listed values have in common.
fn kind_of_values(values: &[Value]) -> Option<Kind> {
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    if all(Value::is_string) {
        Some(Kind::EnumToken)
    } else if all(Value::is_boolean) {
        Some(Kind::Boolean)
    } else if all(|value| value.is_i64() || value.is_u64()) {
        Some(Kind::Integer)
    } else if all(Value::is_number) {
        Some(Kind::Number)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::contract::Clamp;
    use crate::digest::canonical;

    #[test]
    fn a_schema_that_contains_itself_has_an_end() {
        let properties: serde_json::Map<String, Value> =
            (0..8).map(|n| (format!("c{n}"), json!({"$ref": "#/$defs/node"}))).collect();
        let seen = view(&json!({
            "properties": {"tree": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"type": "object", "properties": properties}}
        }));
        assert_eq!(seen[0].fields.len(), 8);
        assert!(seen[0].fields.iter().all(|field| field.fields.is_empty()));
    }

    /// `null`, or something else that JSON has.
    fn anything() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(json!([null])),
            Just(json!({"a": null})),
            any::<i32>().prop_map(Value::from)
        ]
    }

    proptest! {
        /// Whoever reads a registry and takes its digests anew gets the same ones.
        #[test]
        fn what_is_written_is_read_again(
            default in option::of(anything()),
            example in option::of(anything()),
            allowed in vec(anything(), 0..3),
            fixed in option::of(anything()),
            without in option::of(vec(anything(), 0..3)),
        ) {
            let mut schema = json!({ "enum": allowed });
            if let Some(default) = default { schema["default"] = default; }
            if let Some(example) = example { schema["examples"] = json!([example]); }
            let nested = json!({ "properties": { "inner": schema.clone() } });
            let seen = view(&json!({ "properties": { "one": schema, "two": nested } }));
            let text = canonical(&json!(seen));
            let again: Vec<Parameter> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(canonical(&json!(again)), text);
            let clamp = Clamp { value: fixed, without, ..Clamp::default() };
            let text = canonical(&json!(clamp));
            let again: Clamp = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&again, &clamp);
            prop_assert_eq!(canonical(&json!(again)), text);
        }
    }

    #[test]
    fn a_default_of_null_is_one_and_is_read_as_it_was_written() {
        let schema = json!({"properties": {
            "a": {"type": ["string", "null"], "default": null, "examples": [null]},
            "b": {"type": "string"},
        }});
        let seen = view(&schema);
        assert_eq!((&seen[0].default, &seen[0].example), (&Some(Value::Null), &Some(Value::Null)));
        let written = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Parameter>>(&written).unwrap(), seen);
    }

    #[test]
    fn kinds_follow_from_types_and_values() {
        for (schema, expected) in [
            (json!({"enum": ["a"]}), Kind::EnumToken),
            (json!({"enum": [1, 2]}), Kind::Integer),
            (json!({"enum": [1, 2.5]}), Kind::Number),
            (json!({"const": true}), Kind::Boolean),
            (json!({"type": ["integer", "null"]}), Kind::Integer),
            (json!({"type": "string", "format": "uri"}), Kind::Uri),
            (json!({"type": "string", "format": "attachment"}), Kind::AttachmentReference),
            (json!({"properties": {}}), Kind::JsonObject),
            (json!({"type": "array"}), Kind::JsonArray),
        ] {
            assert_eq!(kind(&schema), expected, "{schema}");
        }
    }
}
