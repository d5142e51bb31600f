//! Schemas that nobody means well with: each is rendered or left out, soon and without a panic.

use haft_wire::Target;
use serde_json::{Map, Value, json};

use crate::support::tool;

/// Rendered or left out in every target; the good tool beside it is there.
fn check(parameters: &Value) {
    let hostile = tool("hostile", parameters);
    let good =
        tool("good", &json!({"type": "object", "properties": {}, "additionalProperties": false}));
    for target in Target::ALL {
        let rendering = target.render([&hostile, &good]);
        assert_eq!(rendering.tool("test__good"), Some("test__good"));
        let shown = rendering.tool("test__hostile").is_some();
        assert_ne!(shown, !rendering.quarantined.is_empty(), "{}", target.name());
        if shown {
            let _ = rendering.arguments("test__hostile", "{\"p\": {\"p\": [1, {}, null]}}");
            let _ = rendering.lower_arguments("test__hostile", &json!({"p": [[], {}, 1, null]}));
        }
    }
}

fn with(parameter: &Value, definitions: &Value) -> Value {
    json!({
        "type": "object", "properties": {"p": parameter}, "additionalProperties": false,
        "$defs": definitions,
    })
}

#[test]
fn references_that_follow_one_another() {
    let chain: Map<String, Value> = (0..2_000)
        .map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)})))
        .chain([("d2000".to_owned(), json!({"type": "string"}))])
        .collect();
    check(&with(&json!({"$ref": "#/$defs/d0"}), &Value::Object(chain)));
}

#[test]
fn references_that_turn_in_a_circle() {
    let circle = json!({"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}});
    check(&with(&json!({"$ref": "#/$defs/a"}), &circle));
    check(&with(&json!({"$ref": "#"}), &json!({})));
    check(&with(&json!({"allOf": [{"$ref": "#/$defs/a"}]}), &circle));
}

#[test]
fn definitions_that_double() {
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let itself =
            json!({keyword: [{"$ref": "#/$defs/t"}, {"$ref": "#/$defs/t"}, {"type": "object"}]});
        check(&with(&json!({"$ref": "#/$defs/t"}), &json!({"t": itself})));
        let levels: Map<String, Value> = (0..24)
            .map(|n| {
                let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
                (format!("d{n}"), json!({keyword: [next, next, {"type": "array", "items": next}]}))
            })
            .chain([("d24".to_owned(), json!({"type": "object"}))])
            .collect();
        check(&with(&json!({"$ref": "#/$defs/d0"}), &Value::Object(levels)));
    }
    let properties = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"a": {"$ref": "#/$defs/t"}, "b": {"$ref": "#/$defs/t"}, "c": {"$ref": "#/$defs/t"}},
    });
    check(&with(&json!({"$ref": "#/$defs/t"}), &json!({"t": properties})));
}

#[test]
fn what_nests_deep() {
    for wrap in [
        |inner: Value| json!({"type": "array", "items": inner}),
        |inner: Value| json!({"anyOf": [inner, {"type": "string"}]}),
        |inner: Value| json!({"allOf": [inner]}),
        |inner: Value| json!({"type": "object", "additionalProperties": inner}),
        |inner: Value| json!({"not": inner}),
    ] {
        let deep = (0..110).fold(json!({"type": "integer"}), |inner, _| wrap(inner));
        check(&with(&deep, &json!({})));
    }
}

#[test]
fn what_is_large() {
    let members: Map<String, Value> =
        (0..600).map(|n| (format!("member {n}"), json!({"type": ["string", "null"]}))).collect();
    let large = json!({"type": "object", "properties": members, "additionalProperties": false});
    check(&with(&large, &json!({})));
    let many: Vec<Value> = (0..40).map(|n| json!({"properties": {"kind": {"const": n}}})).collect();
    check(&with(&json!({"type": "object", "properties": members, "anyOf": many}), &json!({})));
    let words: Vec<String> = (0..3_000).map(|n| format!("word {n}")).collect();
    check(&with(&json!({"type": "string", "enum": words}), &json!({})));
}

#[test]
fn what_is_no_schema() {
    for odd in [
        json!({"type": 5}),
        json!({"type": []}),
        json!({"type": "text"}),
        json!({"enum": []}),
        json!({"enum": {}}),
        json!({"anyOf": []}),
        json!({"anyOf": {}}),
        json!({"allOf": [1]}),
        json!({"properties": []}),
        json!({"required": {}}),
        json!({"items": [1]}),
        json!(7),
        json!({"prefixItems": {}}),
        json!({"type": "array", "prefixItems": [false], "items": true}),
        json!({"minLength": "x"}),
        json!({"$ref": 5}),
        json!({"$ref": "elsewhere.json"}),
        json!({"description": 5, "examples": {}, "default": null, "type": "string"}),
    ] {
        check(&with(&odd, &json!({})));
        check(&with(
            &json!({"type": "object", "properties": {"q": odd}, "required": ["q"]}),
            &json!({}),
        ));
    }
    check(&json!(true));
    check(&json!({"type": "string"}));
    check(&json!({}));
}

#[test]
fn alternatives_of_the_root_that_follow_one_another() {
    let chain: Map<String, Value> = (0..4_000)
        .map(|n| {
            (
                format!("d{n}"),
                json!({"anyOf": [{"$ref": format!("#/$defs/d{}", n + 1)}, {"$ref": "#"}]}),
            )
        })
        .chain([("d4000".to_owned(), json!({"type": "string"}))])
        .collect();
    check(
        &json!({"type": "object", "anyOf": [{"$ref": "#/$defs/d0"}, {"$ref": "#"}], "$defs": chain}),
    );
}
