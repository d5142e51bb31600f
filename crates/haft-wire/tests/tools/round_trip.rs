//! For every schema and every value that fits it: lowered, sent, raised, it is the same again.

use std::collections::BTreeMap;

use haft_core::Tool;
use haft_core::call::RawArguments;
use haft_core::digest::canonical;
use haft_wire::{Dialect, Rendering, Strictness, Target};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

use crate::dice::{self, Dice};
use crate::support::{Types, tool};

/// The parameters as rendered, as JSON Schema.
fn said_schema(rendering: &Rendering) -> Option<Value> {
    let target = rendering.target();
    let first = rendering.tools.get(0);
    let found = match target.dialect {
        Dialect::OpenAiChat => first?.pointer("/function/parameters").cloned(),
        Dialect::OpenAiResponses | Dialect::OpenAiRealtime => first?.get("parameters").cloned(),
        Dialect::Anthropic => first?.get("input_schema").cloned(),
        Dialect::Mcp => first?.get("inputSchema").cloned(),
        Dialect::Gemini | Dialect::GeminiLive => {
            let function = first?.pointer("/functionDeclarations/0")?;
            let own = function.get("parameters").cloned().map(from_capitals);
            own.or_else(|| function.get("parametersJsonSchema").cloned())
        }
        Dialect::Adm => rendering
            .tools
            .pointer("/function_declarations/0/parameters")
            .cloned()
            .map(from_capitals),
    };
    found.or_else(|| Some(json!({"type": "object"})))
}

/// Gemini's and ADM's schemas as JSON Schema: objects that list members are closed.
fn from_capitals(schema: Value) -> Value {
    let Value::Object(map) = schema else { return schema };
    let nullable = map.get("nullable") == Some(&json!(true));
    let mut read = Map::new();
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => {
                if name == "OBJECT" {
                    read.insert("additionalProperties".into(), json!(true));
                }
                read.insert(keyword, json!(name.to_lowercase()));
            }
            ("properties", Value::Object(members)) => {
                if !members.is_empty() {
                    read.insert("additionalProperties".into(), json!(false));
                }
                let members =
                    members.into_iter().map(|(name, schema)| (name, from_capitals(schema)));
                read.insert(keyword, Value::Object(members.collect()));
            }
            ("anyOf", Value::Array(list)) => {
                read.insert(keyword, list.into_iter().map(from_capitals).collect());
            }
            ("items", schema) => {
                read.insert(keyword, from_capitals(schema));
            }
            ("nullable" | "propertyOrdering" | "example", _) => {}
            (_, value) => {
                read.insert(keyword, value);
            }
        }
    }
    if nullable { json!({"anyOf": [read, {"type": "null"}]}) } else { Value::Object(read) }
}

fn raised(rendering: &Rendering, id: &str, sent: &Value) -> Value {
    let wire = rendering.wire_name(id).unwrap();
    match rendering.arguments(wire, &sent.to_string()) {
        RawArguments::Text(text) => serde_json::from_str(&text).unwrap(),
        RawArguments::Value(value) | RawArguments::Read(value, _) => value,
    }
}

/// What holds for one schema in one target: the number of values that it cannot say.
fn check(
    target: Target,
    tool: &Tool,
    values: &[Value],
    types: &mut Types,
) -> Result<usize, String> {
    let rendering = target.render([tool]);
    if let [stopped] = rendering.quarantined.as_slice() {
        return Err(format!("quarantined: {} {}", stopped.pointer, stopped.reason));
    }
    let errors = types.of_tools(target, &rendering.tools);
    if !errors.is_empty() {
        return Err(format!("{errors:?}\n{}", rendering.tools));
    }
    let said = said_schema(&rendering).unwrap();
    if target.strictness == Strictness::Strict {
        strict(&said, target, true).map_err(|why| format!("{why}\nin {said}"))?;
    }
    let validator = haft_core::validator::compile(&said).map_err(|why| format!("{why}: {said}"))?;
    let mut unsaid = 0;
    for value in values {
        let sent = match rendering.lower_arguments(&tool.id, value) {
            Ok(sent) => sent,
            // Only what the report admits may be beyond saying.
            Err(why) if rendering.report.iter().any(|loss| loss.fate.is_loss()) => {
                if target.dialect != Dialect::Adm {
                    eprintln!("{}: {why}: {value} of {}", target.name(), tool.contract.parameters);
                }
                unsaid += 1;
                continue;
            }
            Err(why) => return Err(format!("cannot be said: {why}\nvalue {value}")),
        };
        let back = raised(&rendering, &tool.id, &sent);
        if canonical(&back) != canonical(value) {
            return Err(format!("sent {sent}\nback {back}\nvalue {value}\nas {said}"));
        }
        let problems = haft_core::validator::errors(&validator, &sent);
        // A value may fit only because some object does not rule further members out, which the
        // report says is not said.
        let open = rendering.report.iter().any(|loss| loss.note.contains("not ruled out"));
        if !problems.is_empty() && open {
            unsaid += 1;
        } else if !problems.is_empty() {
            return Err(format!(
                "sent {sent}\nwhich is not as said: {problems:?}\nvalue {value}\n{said}"
            ));
        }
    }
    Ok(unsaid)
}

/// The rules of strict modes, as far as no SDK type knows them.
fn strict(schema: &Value, target: Target, is_root: bool) -> Result<(), String> {
    let wrong = |why: &str| Err(format!("{why}: {schema}"));
    let Some(map) = schema.as_object() else { return wrong("not an object") };
    let openai = target.dialect != Dialect::Anthropic;
    let known = [
        "type",
        "title",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "anyOf",
        "$ref",
        "$defs",
        "format",
        "minItems",
    ];
    let of_openai = [
        "pattern",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "maxItems",
    ];
    let is_known =
        |keyword: &str| known.contains(&keyword) || (openai && of_openai.contains(&keyword));
    if let Some(keyword) = map.keys().find(|keyword| !is_known(keyword)) {
        return wrong(&format!("`{keyword}` is not taken"));
    }
    if !["type", "anyOf", "$ref"].iter().any(|word| map.contains_key(*word)) {
        return wrong("no type");
    }
    if is_root && (map.contains_key("anyOf") || map.contains_key("$ref")) {
        return wrong("alternatives at the root");
    }
    if map.contains_key("$ref") && map.len() > 1 {
        return wrong("something beside a reference");
    }
    if !openai && map.get("minItems").and_then(Value::as_u64).is_some_and(|least| least > 1) {
        return wrong("`minItems` above 1");
    }
    let of_type = |name: &str| match map.get("type") {
        Some(Value::String(word)) => word == name,
        Some(Value::Array(words)) => words.iter().any(|word| word == name),
        _ => false,
    };
    if of_type("array") && !map.contains_key("items") {
        return wrong("no items");
    }
    if let Some(Value::Array(types)) = map.get("type")
        && (!openai || types.len() != 2 || !types.contains(&json!("null")))
    {
        return wrong("a list of types");
    }
    let members = map.get("properties").and_then(Value::as_object);
    if of_type("object") {
        let required = map.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        if map.get("additionalProperties") != Some(&json!(false)) || members.is_none() {
            return wrong("not closed");
        }
        if openai && members.is_some_and(|members| members.len() != required) {
            return wrong("not all required");
        }
    }
    let defs = map.get("$defs").and_then(Value::as_object);
    for inner in members.into_iter().chain(defs).flat_map(Map::values).chain(map.get("items")) {
        strict(inner, target, false)?;
    }
    for inner in map.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        strict(inner, target, false)?;
    }
    Ok(())
}

thread_local! {
    static TYPES: std::cell::RefCell<Types> = std::cell::RefCell::default();
    /// By target: how many values there were, and how many could not be said.
    static SAID: std::cell::RefCell<BTreeMap<String, (usize, usize)>> = std::cell::RefCell::default();
}

fn check_seed(seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let schema = dice::schema(&mut dice);
    let validator =
        haft_core::validator::compile(&schema).map_err(|why| format!("{why}: {schema}"))?;
    let tool = tool("t", &schema);
    let values: Vec<Value> = (0..8)
        .map(|_| dice::value(&mut dice, &schema, &schema, 0))
        .filter(|value| validator.is_valid(value))
        .collect();
    for target in Target::ALL {
        let unsaid = TYPES.with_borrow_mut(|types| check(target, &tool, &values, types));
        let unsaid =
            unsaid.map_err(|why| format!("seed {seed}, {}: {why}\nof {schema}", target.name()))?;
        SAID.with_borrow_mut(|said| {
            let (all, not) = said.entry(target.name()).or_default();
            (*all, *not) = (*all + values.len(), *not + unsaid);
        });
    }
    Ok(())
}

/// The same seeds in every run, so that a change alone decides whether the tests pass.
/// `PROPTEST_CASES=NUMBER` asks for as many others, new in each run.
fn cases() -> ProptestConfig {
    let (rng_seed, cases) = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => (RngSeed::Random, ProptestConfig::default().cases),
        None => (RngSeed::Fixed(1), 60),
    };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_is_lowered_is_raised_again(seed: u64) {
        if let Err(why) = check_seed(seed) {
            prop_assert!(false, "{}", why);
        }
    }
}

#[track_caller]
fn check_one(schema: &Value, value: &Value) {
    let tool = tool("t", schema);
    for target in Target::ALL {
        let unsaid =
            TYPES.with_borrow_mut(|types| check(target, &tool, std::slice::from_ref(value), types));
        assert_eq!(unsaid, Ok(0), "{}", target.name());
    }
}

/// Two alternatives could be sent, and only the second keeps its rules.
#[test]
fn patterns_decide_between_alternatives() {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"a": {"anyOf": [
            {
                "type": "object", "properties": {"a": {"type": "null"}},
                "additionalProperties": {"type": "string", "pattern": "^[a-z]"},
            },
            {"type": "string"},
            {"type": "object", "additionalProperties": {"type": ["integer", "string"]}},
        ]}},
    });
    check_one(&schema, &json!({"a": {"k": "{}"}}));
}

#[test]
fn members_that_only_the_alternatives_of_the_root_name_can_be_said() {
    let kinds = json!([
        {"properties": {"kind": {"const": "by id"}, "id": {"type": "integer"}}, "required": ["kind", "id"]},
        {"$ref": "#/$defs/by_name"},
    ]);
    for keyword in ["anyOf", "oneOf"] {
        let schema = json!({
            "type": "object", keyword: kinds,
            "$defs": {"by_name": {
                "properties": {"kind": {"const": "by name"}, "name": {"type": "string"}},
                "required": ["kind"],
            }},
        });
        check_one(&schema, &json!({"kind": "by id", "id": 1}));
        check_one(&schema, &json!({"kind": "by name", "name": "x"}));
        check_one(&schema, &json!({"kind": "by name"}));
    }
    let conditional = json!({
        "type": "object", "properties": {"deep": {"type": "boolean"}},
        "if": {"required": ["deep"]}, "then": {"properties": {"depth": {"type": "integer"}}},
    });
    check_one(&conditional, &json!({"deep": true, "depth": 2}));
}

/// The same over fixed numbers, so that how much cannot be said is a number too.
/// `HAFT_ROUND_TRIPS=FROM..TO` asks for others.
#[test]
fn little_cannot_be_said() {
    let asked = std::env::var("HAFT_ROUND_TRIPS").unwrap_or_else(|_| "0..200".to_owned());
    let (from, to) = asked.split_once("..").expect("`FROM..TO`");
    for seed in from.parse().unwrap()..to.parse().unwrap() {
        if let Err(why) = check_seed(seed) {
            panic!("{why}");
        }
    }
    for (target, (all, unsaid)) in SAID.take() {
        eprintln!("{target}: {unsaid} of {all} values could not be said");
        let most = if target == "adm" { 150 } else { 2 };
        assert!(all > 500 && unsaid * 1_000 <= all * most, "{target}: {unsaid} of {all}");
    }
}
