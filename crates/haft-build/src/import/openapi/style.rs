//! How a parameter or a field of a form is written: `style`, `explode` and `allowReserved`.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::Source;

/// Schemas in schemas are looked into no deeper.
const DEEPEST: usize = 6;

/// Where a value goes, as far as that says how it can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    Query,
    Header,
}

impl Place {
    fn usual(self) -> &'static str {
        if self == Self::Query { "form" } else { "simple" }
    }

    fn has(self, style: &str) -> bool {
        match self {
            Self::Path => matches!(style, "simple" | "label" | "matrix"),
            Self::Query => {
                matches!(style, "form" | "spaceDelimited" | "pipeDelimited" | "deepObject")
            }
            Self::Header => style == "simple",
        }
    }
}

/// What fills a place of the request: the tool's parameter by its name where that says it all, else
/// with the style.
pub(super) fn slot(
    source: &Source<'_>,
    place: Place,
    (said, schema): (&Value, &Value),
    (from, at): (&str, &str),
    log: &mut Log,
) -> Value {
    let mut style = said.get("style").and_then(Value::as_str).unwrap_or(place.usual());
    if !place.has(style) {
        let what = format!("there is no style `{style}` in this place, so the usual one is used");
        log.note(Severity::Changed, &format!("{at}/style"), what);
        style = place.usual();
    }
    let explode = said.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    // Values that stand by themselves have nothing between them.
    if explode && matches!(style, "spaceDelimited" | "pipeDelimited") {
        style = "form";
    }
    let reserved = said.get("allowReserved") == Some(&Value::Bool(true));
    if reserved && place != Place::Query {
        let what = "`allowReserved` is for the query alone; values are escaped";
        log.note(Severity::Dropped, &format!("{at}/allowReserved"), what);
    }
    let reserved = reserved && place == Place::Query;
    let shape = Shape::of(source, schema);
    let plain = !reserved
        && match (place, style) {
            (Place::Path, "simple") => !shape.object && !shape.list,
            (Place::Header, _) => !shape.object,
            (Place::Query, "form") => !shape.object && (explode || !shape.list),
            _ => false,
        };
    if plain {
        return json!(from);
    }
    let mut slot = Map::new();
    slot.insert("from".to_owned(), json!(from));
    slot.insert("style".to_owned(), json!(style));
    if explode != (style == "form") && matches!(style, "form" | "simple" | "label" | "matrix") {
        slot.insert("explode".to_owned(), json!(explode));
    }
    if reserved {
        slot.insert("allowReserved".to_owned(), json!(true));
    }
    Value::Object(slot)
}

/// The parameter of the tool that a slot is filled with.
pub(super) fn parameter(slot: &Value) -> Option<&str> {
    slot.as_str().or_else(|| slot.get("from")?.as_str())
}

/// What a value may be beside text, a number or a boolean.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) object: bool,
    pub(super) list: bool,
}

impl Shape {
    pub(super) fn of(source: &Source<'_>, schema: &Value) -> Self {
        let mut shape = Self::default();
        shape.look(source, schema, 0);
        shape
    }

    fn look(&mut self, source: &Source<'_>, schema: &Value, depth: usize) {
        let schema = source.follow(schema).unwrap_or(schema);
        let named = |name: &str| match schema.get("type") {
            Some(Value::String(one)) => one == name,
            Some(Value::Array(several)) => several.iter().any(|one| one == name),
            _ => false,
        };
        let untyped = schema.get("type").is_none();
        let about_members =
            ["properties", "additionalProperties"].iter().any(|key| schema.get(key).is_some());
        self.object |= named("object") || (untyped && about_members);
        self.list |= named("array") || (untyped && schema.get("items").is_some());
        if depth >= DEEPEST {
            return;
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for branch in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.look(source, branch, depth + 1);
            }
        }
    }
}
