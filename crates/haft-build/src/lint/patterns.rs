//! How much the patterns of a tool may take together, for tools that somebody sends: they are
//! compiled while others wait, and kept.

use std::collections::HashMap;

use serde_json::Value;

use crate::code;
use crate::diagnostic::Findings;

/// So many patterns, each counted at every place that refers to it.
const MOST: usize = 100;
/// So many bytes for all of them, compiled.
const MOST_BYTES: usize = 2 << 20;
/// What a pattern takes is the first of these that it fits into. The last is the most that one may.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 256 << 10, MOST_OF_ONE];
const MOST_OF_ONE: usize = 1 << 20;
/// More than a schema may have once its references are followed; that is reported elsewhere.
const MOST_PLACES: usize = 100_000;
/// Definitions that lead to each other in a longer row than this are not followed further.
const MOST_STEPS: usize = 32;

/// Whether the patterns of a contract are few and small enough to be compiled at all.
pub(crate) fn fit(contract: &Value, out: &mut Findings) -> bool {
    let (mut sizes, mut count, mut bytes) = (HashMap::new(), 0, 0);
    for name in ["parameters", "output"] {
        let Some(schema) = contract.get(name) else { continue };
        let mut walk = Walk { root: schema, through: Vec::new(), places: 0, found: Vec::new() };
        walk.value(schema);
        for pattern in walk.found {
            count += 1;
            if count > MOST {
                return too_much(name, format!("it has more than {MOST} patterns"), out);
            }
            bytes += *sizes.entry(pattern).or_insert_with(|| size(pattern));
            if bytes > MOST_BYTES {
                let message = format!(
                    "its patterns take more than {} KiB, compiled and taken together",
                    MOST_BYTES >> 10
                );
                return too_much(name, message, out);
            }
        }
    }
    true
}

fn too_much(name: &str, message: String, out: &mut Findings) -> bool {
    let help = "use `enum`, `format` or `maxLength` where they say the same, and bound what repeats: \
                `[a-z]+` with a `maxLength` instead of `[a-z]{1,1000}`";
    out.contract(&code::TOO_COMPLEX, format!("/{name}"), message).help(help);
    false
}

/// What one takes, at most. One that is refused takes nothing, and is reported where it stands.
fn size(pattern: &str) -> usize {
    for most in SIZES {
        match regex::RegexBuilder::new(pattern).size_limit(most).build() {
            Ok(_) => return most,
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(_) => return 0,
        }
    }
    MOST_OF_ONE
}

/// Everything in a schema, with what it refers to.
struct Walk<'a> {
    root: &'a Value,
    through: Vec<&'a str>,
    places: usize,
    found: Vec<&'a str>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &'a Value) {
        self.places += 1;
        if self.places > MOST_PLACES || self.found.len() > MOST {
            return;
        }
        match value {
            Value::Object(map) => map.iter().for_each(|(name, value)| self.member(name, value)),
            Value::Array(list) => list.iter().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn member(&mut self, name: &str, value: &'a Value) {
        match (name, value) {
            // What stands there is data; definitions are looked at where they are referred to.
            ("enum" | "const" | "default" | "examples" | "$defs", _) => {}
            ("pattern", Value::String(pattern)) => self.found.push(pattern),
            ("$ref", Value::String(target)) => self.reference(target),
            ("patternProperties", Value::Object(map)) => {
                self.found.extend(map.keys().map(String::as_str));
                self.value(value);
            }
            _ => self.value(value),
        }
    }

    fn reference(&mut self, target: &'a str) {
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(found) = found else { return };
        if self.through.contains(&target) || self.through.len() >= MOST_STEPS {
            return;
        }
        self.through.push(target);
        self.value(found);
        self.through.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks a contract with these parameters.
    #[track_caller]
    fn check(parameters: Value, expected: Option<&str>) {
        let mut out = Findings::default();
        let fits = fit(&json!({ "parameters": parameters }), &mut out);
        let told: Vec<&str> = out.list().iter().map(|one| one.message.as_str()).collect();
        assert_eq!(fits, expected.is_none(), "{told:?}");
        match expected {
            Some(part) => assert!(told.len() == 1 && told[0].contains(part), "{told:?}"),
            None => assert!(told.is_empty(), "{told:?}"),
        }
    }

    fn properties(count: usize, schema: impl Fn(usize) -> Value) -> Value {
        let all: serde_json::Map<_, _> = (0..count).map(|n| (format!("p{n}"), schema(n))).collect();
        json!({ "properties": all })
    }

    #[test]
    fn patterns_are_bounded_in_number_and_in_size() {
        let small = |n: usize| json!({ "pattern": format!("^[a-z]{{{}}}$", n % 20 + 1) });
        check(properties(MOST, small), None);
        check(properties(MOST + 1, small), Some("more than 100 patterns"));
        let large = |n: usize| json!({ "pattern": format!("^[a-z]{{{}}}$", 2_000 + n) });
        check(properties(1, large), None);
        check(properties(20, large), Some("take more than 2048 KiB"));
        let names: serde_json::Map<_, _> =
            (0..=MOST).map(|n| (format!("^x{n}"), json!({}))).collect();
        check(json!({ "patternProperties": names }), Some("more than 100 patterns"));
        // What is refused where it stands, and what is no pattern, does not count.
        check(properties(10, |_| json!({ "pattern": "(" })), None);
        check(properties(1, |_| json!({ "enum": vec![json!({ "pattern": "a" }); 500] })), None);
        check(properties(1, |_| properties(500, |_| json!({ "type": "string" }))), None);
    }

    #[test]
    fn a_pattern_counts_wherever_it_is_referred_to() {
        let to = |count: usize| {
            let mut schema = properties(count, |_| json!({ "$ref": "#/$defs/code" }));
            schema["$defs"] =
                json!({ "code": { "pattern": "^[a-z]$" }, "idle": { "pattern": "a" } });
            schema
        };
        check(to(MOST), None);
        check(to(MOST + 1), Some("more than 100 patterns"));
        // What contains itself ends.
        let node = json!({ "pattern": "a", "properties": { "next": { "$ref": "#/$defs/node" } } });
        check(json!({ "$ref": "#/$defs/node", "$defs": { "node": node } }), None);
    }
}
