//! `parameters` and `output`: valid 2020-12, closed, understood by providers, and within bounds.
//!
//! The check walks the schema itself instead of validating it against the meta-schema: the
//! meta-schema lets misspelt keywords pass and cannot say what was meant.

pub(crate) mod circles;
pub(crate) mod keyword;
mod plain;
mod references;
mod samples;
pub(crate) mod secret;

use serde_json::{Map, Value};

use crate::code;
use crate::diagnostic::{Findings, escape};
use haft_core::nearest;
use keyword::Holds;
use plain::Looks;

/// Which of the two schemas it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What the model sends.
    Parameters,
    /// What the handler returns.
    Output,
}

/// More subschemas than this are nobody's tool, and cost every call.
const MAX_SUBSCHEMAS: usize = 2_000;
/// So many lists or objects can be told apart by comparing each with each.
const MAX_UNIQUE: f64 = 1_000.0;
/// Keywords that not every provider can say.
pub(crate) const UNPORTABLE: &[&str] =
    &["oneOf", "anyOf", "allOf", "not", "if", "then", "else", "patternProperties"];

/// Checks one schema. `at` is its pointer in the contract, `allowed` what `portability.allow` lists.
/// Returns the unportable keywords that it uses.
pub(crate) fn check(
    schema: &Value,
    role: Role,
    allowed: &[&str],
    out: &mut Findings,
) -> Vec<&'static str> {
    let at = match role {
        Role::Parameters => "/parameters",
        Role::Output => "/output",
    };
    let looks = Looks { root: schema, left: references::MAX_EXPANDED };
    let used = Vec::new();
    let mut walk =
        Walk { root: schema, at, role, allowed, used, seen: 0, refers: false, looks, out };
    walk.root();
    let used = std::mem::take(&mut walk.used);
    let clean = !walk.out.has_errors_under(at);
    if clean {
        samples::check(schema, at, walk.out);
    }
    used
}

struct Walk<'a> {
    root: &'a Value,
    at: &'static str,
    role: Role,
    allowed: &'a [&'a str],
    used: Vec<&'static str>,
    seen: usize,
    /// Whether there is a reference in it.
    refers: bool,
    looks: Looks<'a>,
    out: &'a mut Findings,
}

impl<'a> Walk<'a> {
    fn root(&mut self) {
        let Some(root) = self.root.as_object() else {
            let message = format!("{} must be a JSON Schema object", name(self.at));
            self.out.contract(&code::NOT_AN_OBJECT, self.at, message);
            return;
        };
        if self.role == Role::Parameters {
            self.closed_object(root);
        }
        self.schema(root, self.at.to_owned());
        if self.seen > MAX_SUBSCHEMAS {
            let message = format!("it has more than {MAX_SUBSCHEMAS} subschemas");
            self.out.contract(&code::TOO_COMPLEX, self.at, message).help("split the tool");
        } else if self.refers {
            self.references();
        }
    }

    fn references(&mut self) {
        for circle in circles::circles(self.root) {
            let at = format!("{}{}", self.at, circle.at);
            self.out.contract(&code::DANGLING_REFERENCE, at, circle.message).help(circles::HELP);
        }
        if haft_core::validator::expanded(self.root) > references::MAX_EXPANDED {
            self.out
                .contract(
                    &code::TOO_COMPLEX,
                    self.at,
                    "its references multiply: followed, they make more than 100000 subschemas",
                )
                .help("refer to each definition from fewer places");
        } else if let Some(name) = references::forks(self.root) {
            let message = format!(
                "`{name}` contains itself by two ways at one place: checking doubles with every level"
            );
            self.out.contract(&code::TOO_COMPLEX, self.at, message).help(
                "let one branch of `allOf`, `anyOf` or `oneOf` lead back at most, none beside \
                 `unevaluatedProperties`, and no pattern beside a property",
            );
        }
    }

    fn closed_object(&mut self, root: &Map<String, Value>) {
        if root.get("type").and_then(Value::as_str) != Some("object") {
            let at = if root.contains_key("type") { "/parameters/type" } else { "/parameters" };
            self.out
                .contract(&code::NOT_AN_OBJECT, at, "`parameters` must have `\"type\": \"object\"`")
                .help("a call's arguments are named; put a single value into a property");
        }
        if root.get("additionalProperties") != Some(&Value::Bool(false)) {
            let at = match root.contains_key("additionalProperties") {
                true => "/parameters/additionalProperties",
                false => "/parameters",
            };
            self.out
                .contract(
                    &code::OPEN_OBJECT,
                    at,
                    "`parameters` must have `\"additionalProperties\": false`",
                )
                .help("otherwise arguments that a model makes up are passed over in silence");
        }
        for property in root.get("properties").and_then(Value::as_object).into_iter().flatten() {
            secret::reserved(property.0, self.out);
        }
        for pattern in
            root.get("patternProperties").and_then(Value::as_object).into_iter().flatten()
        {
            secret::pattern(pattern.0, self.out);
        }
    }

    fn schema(&mut self, schema: &'a Map<String, Value>, at: String) {
        self.seen += 1;
        if self.seen > MAX_SUBSCHEMAS {
            return;
        }
        for (keyword, value) in schema {
            let place = format!("{at}/{}", escape(keyword));
            match keyword::holds(keyword) {
                Some(holds) => self.keyword(keyword, holds, value, schema, &place),
                None => {
                    let help = nearest::find(keyword, keyword::all())
                        .map_or("it would be ignored; take it out".to_owned(), |known| {
                            format!("did you mean `{known}`?")
                        });
                    let message = format!("`{keyword}` is not a keyword of JSON Schema 2020-12");
                    self.out.contract_key(&code::UNKNOWN_KEYWORD, place, message).help(help);
                }
            }
        }
        self.portability(schema, &at);
        keyword::applies(schema, &at, self.out);
        keyword::bounds(schema, &at, self.out);
        self.unique(schema, &at);
        self.members(schema, &at);
        self.open(schema, &at);
    }

    fn keyword(
        &mut self,
        keyword: &str,
        holds: Holds,
        value: &'a Value,
        schema: &'a Map<String, Value>,
        place: &str,
    ) {
        if let Err(message) = keyword::value(keyword, holds, value) {
            self.out.contract(&code::KEYWORD_VALUE, place.to_owned(), message);
            return;
        }
        match (holds, value) {
            (Holds::Schema, Value::Object(inner)) => self.schema(inner, place.to_owned()),
            (Holds::Schemas, Value::Array(list)) => {
                for (index, inner) in list.iter().enumerate() {
                    if let Some(inner) = inner.as_object() {
                        self.schema(inner, format!("{place}/{index}"));
                    }
                }
            }
            (Holds::SchemaMap, Value::Object(map)) => {
                for (name, inner) in map {
                    if let Some(inner) = inner.as_object() {
                        self.schema(inner, format!("{place}/{}", escape(name)));
                    }
                }
                if keyword == "patternProperties" {
                    for pattern in map.keys() {
                        self.pattern(pattern, place);
                    }
                }
            }
            (Holds::Pattern, Value::String(pattern)) => self.pattern(pattern, place),
            (Holds::Format, Value::String(format)) => self.format(format, place),
            (Holds::Reference, Value::String(target)) => self.reference(target, place),
            (Holds::Foreign, _) => {
                let message = format!("`{keyword}` cannot be carried into a registry");
                self.out
                    .contract(&code::FOREIGN_REFERENCE, place.to_owned(), message)
                    .help("refer to a definition in `$defs` with `\"$ref\": \"#/$defs/name\"`");
            }
            (Holds::Names, Value::Array(names)) if keyword == "required" => {
                self.required(names, schema, place);
            }
            _ => {}
        }
    }

    fn portability(&mut self, schema: &Map<String, Value>, at: &str) {
        for keyword in UNPORTABLE.iter().filter(|keyword| schema.contains_key(**keyword)) {
            if !self.used.contains(keyword) {
                self.used.push(keyword);
            }
            if self.role == Role::Parameters && !self.allowed.contains(keyword) {
                let message = format!("not every provider can say `{keyword}`");
                self.out
                    .contract_key(&code::NOT_PORTABLE, format!("{at}/{keyword}"), message)
                    .help(format!(
                        "{}; say it with plain types and enums, or accept the loss: \
                         \"portability\": {{\"allow\": [\"{keyword}\"]}}",
                        lost(keyword)
                    ));
            }
        }
    }

    fn members(&mut self, schema: &Map<String, Value>, at: &str) {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        for (name, property) in properties {
            let place = format!("{at}/properties/{}", escape(name));
            let target = property.get("$ref").and_then(Value::as_str);
            let target = target.and_then(|t| self.root.pointer(t.strip_prefix('#')?));
            let described = property
                .get("description")
                .or_else(|| target?.get("description"))
                .and_then(Value::as_str);
            if self.role == Role::Parameters {
                secret::named(name, &place, self.out);
                if described.is_none_or(|text| text.trim().is_empty()) && property.is_object() {
                    let message = format!("`{name}` has no description");
                    self.out
                        .contract_key(&code::NO_DESCRIPTION, place, message)
                        .help("the model has only this to go by");
                }
            }
        }
    }

    /// Texts and numbers are told apart by looking them up, lists and objects may have to be compared
    /// each with each.
    fn unique(&mut self, schema: &'a Map<String, Value>, at: &str) {
        let bounded =
            schema.get("maxItems").and_then(Value::as_f64).is_some_and(|n| n <= MAX_UNIQUE);
        if schema.get("uniqueItems") != Some(&Value::Bool(true)) || bounded {
            return;
        }
        let first = schema.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
        let mut plain = |schema| self.looks.is_plain(schema);
        if schema.get("items").is_some_and(&mut plain) && first.into_iter().all(plain) {
            return;
        }
        let message =
            format!("`uniqueItems` of lists or objects needs a `maxItems` of at most {MAX_UNIQUE}");
        self.out.contract(&code::TOO_COMPLEX, format!("{at}/uniqueItems"), message).help(
            "each may have to be compared with each; bound them, or make them texts or numbers",
        );
    }

    /// Places that take more than their author may have thought.
    fn open(&mut self, schema: &Map<String, Value>, at: &str) {
        let object = schema.get("type").is_some_and(|name| name == "object");
        let settled = ["additionalProperties", "unevaluatedProperties", "patternProperties"];
        if at != self.at && object && !settled.iter().any(|word| schema.contains_key(*word)) {
            self.out
                .contract(&code::OPEN_NESTED_OBJECT, at.to_owned(), "this object takes any further members")
                .help("close it with `\"additionalProperties\": false`, or open it on purpose with `true`");
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if self.role == Role::Parameters && takes_anything(property) {
                let place = format!("{at}/properties/{}", escape(name));
                self.out
                    .contract_key(
                        &code::OPEN_NESTED_OBJECT,
                        place,
                        format!("`{name}` takes any value"),
                    )
                    .help("give it a `type`, so that what a model makes up is refused");
            }
        }
    }

    fn required(&mut self, names: &[Value], schema: &Map<String, Value>, place: &str) {
        // `anyOf: [{"required": ["a"]}, …]` speaks of properties that stand further up.
        let properties = schema.get("properties").and_then(Value::as_object);
        if properties.is_none() && !schema.contains_key("type") {
            return;
        }
        let known: Vec<&str> =
            properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        for (index, name) in names.iter().enumerate() {
            let Some(name) = name.as_str().filter(|name| !known.contains(name)) else { continue };
            let message = format!("`{name}` is required, but it is not among the properties");
            let finding =
                self.out.contract(&code::REQUIRED_UNKNOWN, format!("{place}/{index}"), message);
            if let Some(near) = nearest::find(name, known.iter().copied()) {
                finding.help(format!("did you mean `{near}`?"));
            }
        }
    }

    fn pattern(&mut self, pattern: &str, place: &str) {
        if let Err(why) = keyword::pattern(pattern) {
            self.out
                .contract(
                    &code::PATTERN,
                    place.to_owned(),
                    format!("this pattern is refused: {why}"),
                )
                .help("patterns run in linear time here: no look-around, no back-references");
        }
    }

    fn format(&mut self, format: &str, place: &str) {
        if !haft_core::validator::FORMATS.contains(&format) {
            let message = format!("`{format}` is not a format that is checked");
            let help = nearest::suggest(format, haft_core::validator::FORMATS);
            self.out.contract(&code::UNKNOWN_FORMAT, place.to_owned(), message).help(help);
        }
    }

    fn reference(&mut self, target: &str, place: &str) {
        self.refers = true;
        let local = target.strip_prefix("#/$defs/");
        match (local, target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer))) {
            (Some(_), Some(_)) => {}
            (Some(name), None) => {
                let defs = self.root.get("$defs").and_then(Value::as_object);
                let known = defs.into_iter().flatten().map(|(name, _)| name.as_str());
                let help = nearest::find(name, known)
                    .map_or("add it to `$defs`".to_owned(), |near| {
                        format!("did you mean `{near}`?")
                    });
                let message = format!("`$defs` has no `{name}`");
                self.out.contract(&code::DANGLING_REFERENCE, place.to_owned(), message).help(help);
            }
            (None, _) => {
                let message = format!("`{target}` is not a definition in this schema's `$defs`");
                self.out.contract(&code::FOREIGN_REFERENCE, place.to_owned(), message).help(
                    "nothing is fetched or followed elsewhere; put the definition into `$defs`",
                );
            }
        }
    }
}

fn name(at: &str) -> String {
    format!("`{}`", at.trim_start_matches('/'))
}

/// Whether a schema says nothing about the value itself.
fn takes_anything(schema: &Value) -> bool {
    let Some(map) = schema.as_object() else { return schema == &Value::Bool(true) };
    let notes = ["description", "title", "default", "examples", "deprecated", "$comment"];
    map.keys().all(|keyword| notes.contains(&keyword.as_str()))
}

/// Who cannot say a keyword, and what becomes of it there.
fn lost(keyword: &str) -> &'static str {
    match keyword {
        "anyOf" => "at the root OpenAI and Anthropic are told in words, and ADM as JSON text",
        "oneOf" => "strict modes and Gemini are told `anyOf`, and ADM as JSON text",
        "allOf" => "strict modes, Gemini and ADM are told one schema, or as JSON text",
        "patternProperties" => {
            "strict modes, Gemini and ADM are told members by any name, and the patterns in words"
        }
        _ => "strict modes, Gemini and ADM are told in the description alone",
    }
}
