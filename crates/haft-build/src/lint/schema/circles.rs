//! References that go round in a circle without a step into the value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::diagnostic::escape;

/// Deeper than any schema that a reader lets through.
const DEEPEST: usize = 256;

/// Keywords whose schemas are for the very value that the schema around them is for.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SINGLE: [&str; 4] = ["not", "if", "then", "else"];
const BY_NAME: &str = "dependentSchemas";

/// A definition that leads back to itself at one and the same value: whoever follows it never arrives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Circle {
    /// A pointer to the reference that closes it.
    pub(crate) at: String,
    /// What is wrong with it.
    pub(crate) message: String,
}

pub(crate) const HELP: &str = "say what it is; it may contain itself below `properties` or `items`, \
                               where each round is a step into the value";

/// A reference to `target`, which stands at `at`.
struct Reference<'a> {
    target: &'a str,
    at: String,
}

/// All circles of a schema, each told once.
pub(crate) fn circles(root: &Value) -> Vec<Circle> {
    let mut search = Search { root, open: Vec::new(), known: HashMap::new(), found: Vec::new() };
    let mut all = Vec::new();
    // What is asked for comes before what only definitions speak of, wherever those stand.
    let (defs, rest): (Vec<_>, Vec<_>) =
        root.as_object().into_iter().flatten().partition(|(keyword, _)| *keyword == "$defs");
    all.extend(root.get("$ref").and_then(Value::as_str));
    rest.into_iter().chain(defs).for_each(|(_, value)| everywhere(value, 0, &mut all));
    all.into_iter().for_each(|target| search.follow(target));
    search.found
}

struct Search<'a> {
    root: &'a Value,
    /// The references that are being followed, each with those behind it that are still to be.
    open: Vec<(&'a str, Vec<Reference<'a>>)>,
    /// What was begun; true once everything behind it has been followed.
    known: HashMap<&'a str, bool>,
    found: Vec<Circle>,
}

impl<'a> Search<'a> {
    fn follow(&mut self, first: &'a str) {
        self.enter(first);
        while let Some((_, left)) = self.open.last_mut() {
            match left.pop() {
                Some(next) => match self.known.get(next.target) {
                    Some(true) => {}
                    Some(false) => self.close(next),
                    None => self.enter(next.target),
                },
                None => {
                    let done = self.open.pop();
                    self.known.extend(done.map(|(target, _)| (target, true)));
                }
            }
        }
    }

    fn enter(&mut self, target: &'a str) {
        if self.known.contains_key(target) {
            return;
        }
        // What is elsewhere is refused elsewhere.
        let Some(pointer) = target.strip_prefix('#') else { return };
        let mut behind = Vec::new();
        if let Some(schema) = self.root.pointer(pointer) {
            in_place(schema, pointer.to_owned(), 0, &mut behind);
        }
        // They are taken from the end.
        behind.reverse();
        self.known.insert(target, false);
        self.open.push((target, behind));
    }

    fn close(&mut self, last: Reference<'a>) {
        let round = self.open.iter().map(|(target, _)| *target);
        let through: Vec<String> = round
            .skip_while(|target| *target != last.target)
            .skip(1)
            .map(|target| format!("`{}`", named(target)))
            .collect();
        let through = match through.as_slice() {
            [] => String::new(),
            [one] => format!(" through {one}"),
            [most @ .., one] => format!(" through {} and {one}", most.join(", ")),
        };
        let name = named(last.target);
        let message = format!("`{name}` leads back to itself{through}, at one and the same value");
        self.found.push(Circle { at: last.at, message });
    }
}

fn named(target: &str) -> &str {
    target.strip_prefix("#/$defs/").unwrap_or(target)
}

/// What a schema refers to that is for the same value.
fn in_place<'a>(schema: &'a Value, at: String, depth: usize, out: &mut Vec<Reference<'a>>) {
    let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else { return };
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        out.push(Reference { target, at: format!("{at}/$ref") });
    }
    for (keyword, place, inner) in beside(map) {
        in_place(inner, format!("{at}/{keyword}{place}"), depth + 1, out);
    }
}

/// The schemas in a schema that are for the same value, and where they stand.
fn beside(map: &Map<String, Value>) -> impl Iterator<Item = (&'static str, String, &Value)> {
    let lists = LISTS.into_iter().flat_map(|word| {
        let list = map.get(word).and_then(Value::as_array).into_iter().flatten();
        list.enumerate().map(move |(at, inner)| (word, format!("/{at}"), inner))
    });
    let single = SINGLE.into_iter().filter_map(|word| Some((word, String::new(), map.get(word)?)));
    let named = map.get(BY_NAME).and_then(Value::as_object).into_iter().flatten();
    let named = named.map(|(name, inner)| (BY_NAME, format!("/{}", escape(name)), inner));
    lists.chain(single).chain(named)
}

/// Every reference in a schema, wherever it stands. What only looks like one is followed in vain.
fn everywhere<'a>(value: &'a Value, depth: usize, out: &mut Vec<&'a str>) {
    if depth >= DEEPEST {
        return;
    }
    match value {
        Value::Object(map) => {
            out.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|inner| everywhere(inner, depth + 1, out));
        }
        Value::Array(list) => list.iter().for_each(|inner| everywhere(inner, depth + 1, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Where in `$defs` it is said, and of whom; `a` is what the schema refers to.
    #[track_caller]
    fn check(defs: Value, expected: &[(&str, &str)]) {
        let root = json!({"$defs": defs, "properties": {"x": {"$ref": "#/$defs/a"}}});
        let expected: Vec<Circle> = expected
            .iter()
            .map(|(at, what)| Circle {
                at: format!("/$defs/{at}"),
                message: format!("{what}, at one and the same value"),
            })
            .collect();
        assert_eq!(circles(&root), expected, "{root}");
    }

    fn to(name: &str) -> Value {
        json!({"$ref": format!("#/$defs/{name}")})
    }

    #[test]
    fn what_leads_to_itself_alone_is_found_where_it_does() {
        check(json!({"a": to("a")}), &[("a/$ref", "`a` leads back to itself")]);
        check(
            json!({"a": to("b"), "b": to("a")}),
            &[("b/$ref", "`a` leads back to itself through `b`")],
        );
        check(
            json!({"a": to("b"), "b": to("c"), "c": to("a")}),
            &[("c/$ref", "`a` leads back to itself through `b` and `c`")],
        );
        check(
            json!({"a": to("b"), "b": to("c"), "c": to("d"), "d": to("a")}),
            &[("d/$ref", "`a` leads back to itself through `b`, `c` and `d`")],
        );
        // Not what was asked for, but what is behind it; and what nobody asks for.
        check(json!({"a": to("b"), "b": to("b")}), &[("b/$ref", "`b` leads back to itself")]);
        check(json!({"a": {}, "b": to("b")}), &[("b/$ref", "`b` leads back to itself")]);
        // Below a definition.
        check(
            json!({"a": {"properties": {"c": to("a/properties/c")}}}),
            &[("a/properties/c/$ref", "`a/properties/c` leads back to itself")],
        );
    }

    #[test]
    fn what_else_is_said_of_the_value_helps_nobody_who_follows() {
        let again = [("a/allOf/1/$ref", "`a` leads back to itself")];
        check(json!({"a": {"type": "string", "allOf": [{}, to("a")]}}), &again);
        check(
            json!({"a": {"anyOf": [{"type": "string"}, to("b")]}, "b": {"not": to("a")}}),
            &[("b/not/$ref", "`a` leads back to itself through `b`")],
        );
        check(
            json!({"a": {"oneOf": [{"if": {}, "then": {}, "else": to("a")}]}}),
            &[("a/oneOf/0/else/$ref", "`a` leads back to itself")],
        );
        check(
            json!({"a": {"dependentSchemas": {"x/y": to("a")}}}),
            &[("a/dependentSchemas/x~1y/$ref", "`a` leads back to itself")],
        );
        check(
            json!({"a": {"anyOf": [to("a"), to("b")]}, "b": to("b")}),
            &[
                ("a/anyOf/0/$ref", "`a` leads back to itself"),
                ("b/$ref", "`b` leads back to itself"),
            ],
        );
    }

    #[test]
    fn a_step_into_the_value_is_a_step() {
        check(json!({"a": {"properties": {"c": to("a")}}}), &[]);
        check(json!({"a": to("b"), "b": {"items": to("a")}}), &[]);
        check(json!({"a": {"anyOf": [{"additionalProperties": to("a")}, {}]}}), &[]);
        check(json!({"a": {"properties": {"c": {"anyOf": [to("a"), {"type": "null"}]}}}}), &[]);
        // The same by two ways, and what leads nowhere at all, which is told elsewhere.
        check(json!({"a": {"allOf": [to("b"), to("b")]}, "b": {}}), &[]);
        check(json!({"a": to("gone")}), &[]);
        check(json!({"a": {"$ref": "https://example.com/a.json"}}), &[]);
        let outside = json!({"allOf": [{"$ref": "https://example.com/a.json"}]});
        assert_eq!(circles(&outside), []);
    }
}
