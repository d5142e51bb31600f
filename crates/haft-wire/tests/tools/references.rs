//! Schemas that refer to parts of themselves.

use haft_wire::{Dialect, Rendering, Strictness, Target, render};
use serde_json::{Value, json};

use crate::support::tool;

fn rendering(target: Target, parameters: &Value) -> Rendering {
    target.render([&tool("t", parameters)])
}

/// Every reference of a rendered tool leads somewhere.
#[track_caller]
fn check_leads(parameters: &Value) {
    for dialect in [Dialect::OpenAiChat, Dialect::OpenAiRealtime, Dialect::Anthropic, Dialect::Mcp]
    {
        let rendering = render(dialect, Strictness::Plain, [&tool("t", parameters)]);
        let said = ["/0/function/parameters", "/0/parameters", "/0/input_schema", "/0/inputSchema"]
            .iter()
            .find_map(|at| rendering.tools.pointer(at));
        let Some(said) = said else {
            assert_eq!(rendering.quarantined.len(), 1, "{dialect}: {}", rendering.tools);
            continue;
        };
        let mut targets = Vec::new();
        references(said, &mut targets);
        for target in targets {
            assert!(said.pointer(&target[1..]).is_some(), "{dialect}: `{target}` in {said}");
        }
    }
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|inner| references(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn references_to_what_was_renamed_or_moved_lead_somewhere() {
    check_leads(&json!({
        "type": "object", "properties": {
            "a b": {"type": "object", "properties": {"c/d": {"type": "string"}}},
            "e": {"$ref": "#/properties/a b"}, "f": {"$ref": "#/properties/a b/properties/c~1d"},
        },
    }));
    check_leads(&json!({
        "type": "object", "properties": {"e": {"$ref": "#/anyOf/0/properties/x"}},
        "anyOf": [{"properties": {"x": {"type": "string"}}}, {"required": ["e"]}],
    }));
}

#[test]
fn a_renamed_member_is_referred_to_by_its_new_name() {
    let parameters = json!({
        "type": "object",
        "properties": {"a b": {"type": "string"}, "e": {"$ref": "#/properties/a b"}},
    });
    let rendering = render(Dialect::Anthropic, Strictness::Plain, [&tool("t", &parameters)]);
    let members = rendering.tools.pointer("/0/input_schema/properties").unwrap();
    let wire = members.as_object().unwrap().keys().next().unwrap();
    assert_eq!(members["e"]["$ref"], format!("#/properties/{wire}"));
}

/// Two definitions never have one name.
#[test]
fn a_definition_without_a_simple_name_gets_a_free_one() {
    let parameters = json!({
        "type": "object", "additionalProperties": false, "required": ["a", "b"],
        "properties": {"a": {"$ref": "#/$defs/definition_2"}, "b": {"$ref": "#/$defs/x y"}},
        "$defs": {
            "definition_2": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "x y": {"type": "object", "properties": {"s": {"type": "string"}}},
        },
    });
    let target = Target::new(Dialect::OpenAiChat, Strictness::Strict);
    let tools = rendering(target, &parameters).tools;
    let said = tools.pointer("/0/function/parameters").unwrap();
    assert_eq!(said["$defs"].as_object().unwrap().len(), 2, "{said}");
    assert_ne!(said["properties"]["a"], said["properties"]["b"], "{said}");
}

/// What no one schema says is quoted whole: what the reference leads to, and what stands beside it.
#[test]
fn what_cannot_be_merged_with_a_reference_is_quoted_with_it() {
    let parameters = json!({
        "type": "object", "additionalProperties": false, "required": ["a"],
        "properties": {"a": {
            "$ref": "#/$defs/word", "pattern": "^b", "description": "Which word.",
        }},
        "$defs": {"word": {"type": "string", "pattern": "a$"}},
    });
    let target = Target::new(Dialect::OpenAiChat, Strictness::Strict);
    let tools = rendering(target, &parameters).tools;
    let text = tools.pointer("/0/function/parameters/properties/a/description").unwrap();
    let text = text.as_str().unwrap();
    for part in ["Which word.", "\"pattern\":\"^b\"", "\"pattern\":\"a$\""] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
