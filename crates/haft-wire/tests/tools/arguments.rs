//! What a model sends, in the contract's shape.

use haft_core::call::RawArguments;
use haft_wire::{Dialect, Rendering, Strictness, Target, render};
use serde_json::{Value, json};

use crate::support::tool;

fn rendering(properties: &Value, required: &Value) -> Rendering {
    let parameters = json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    });
    render(Dialect::OpenAiChat, Strictness::Strict, [&tool("t", &parameters)])
}

#[track_caller]
fn check(properties: &Value, sent: &str, expected: RawArguments) {
    let rendering = rendering(properties, &json!([]));
    assert_eq!(rendering.arguments("test__t", sent), expected);
}

fn text(text: &str) -> RawArguments {
    RawArguments::Text(text.to_owned())
}

#[test]
fn null_stands_for_leaving_out_only_where_it_is_not_allowed() {
    let properties = json!({
        "plain": {"type": "string"},
        "nullable": {"type": ["string", "null"]},
        "defaults": {"type": ["string", "null"], "default": null},
    });
    for (sent, expected) in [
        (json!({"plain": null, "nullable": null, "defaults": null}), json!({})),
        (
            json!({"plain": "x", "nullable": {"json": "null"}}),
            json!({"plain": "x", "nullable": null}),
        ),
        (json!({"nullable": "null"}), json!({"nullable": "null"})),
    ] {
        check(&properties, &sent.to_string(), RawArguments::Value(expected));
    }
}

#[test]
fn a_key_that_stands_twice_is_refused_by_its_name() {
    let map = json!({"labels": {"type": "object", "additionalProperties": {"type": "string"}}});
    let sent = json!({"labels": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]});
    let rendering = rendering(&map, &json!([]));
    let RawArguments::Text(text) = rendering.arguments("test__t", &sent.to_string()) else {
        panic!("only text can say a key twice");
    };
    let why = haft_adm::strict::parse(&text, haft_adm::strict::Limits::default()).unwrap_err();
    assert!(why.to_string().contains("at `/labels/a`"), "{why}");
    assert!(
        why.to_string().contains("the key `a` appears twice in this object; keep one"),
        "{why}"
    );
}

#[test]
fn a_member_by_both_of_its_names_is_refused() {
    let parameters = json!({
        "type": "object", "properties": {"in": {
            "type": "object", "properties": {"a b": {"type": "integer"}},
        }},
    });
    let rendering = render(Dialect::Anthropic, Strictness::Plain, [&tool("t", &parameters)]);
    let sent = rendering.lower_arguments("test__t", &json!({"in": {"a b": 1}})).unwrap();
    let wire = sent["in"].as_object().unwrap().keys().next().unwrap();
    assert_ne!(wire, "a b");
    let sent = json!({"in": {wire: 1, "a b": 2}});
    let RawArguments::Text(text) = rendering.arguments("test__t", &sent.to_string()) else {
        panic!("only text can say a key twice");
    };
    let why = haft_adm::strict::parse(&text, haft_adm::strict::Limits::default()).unwrap_err();
    assert!(why.to_string().contains("the key `a b` appears twice"), "{why}");
    let both = json!({"in": {wire: 1, "a b": 2}});
    assert!(rendering.lower_arguments("test__t", &both).is_err());
}

#[test]
fn what_cannot_be_read_passes_untouched() {
    let properties = json!({"a": {"type": "string"}});
    for sent in
        ["", "{", "{\"a\": null, \"a\": null}", "{\"a\": 1e999}", "nonsense", "{} x", "\"{\""]
    {
        check(&properties, sent, text(sent));
    }
}

#[test]
fn an_object_in_a_text_is_raised_in_its_text() {
    let properties = json!({"a": {"type": "string"}, "b": {"type": "string"}});
    let sent = Value::String(json!({"a": null, "b": "x"}).to_string()).to_string();
    check(&properties, &sent, RawArguments::Value(json!("{\"b\":\"x\"}")));
}

#[test]
fn what_is_not_as_shown_stays_as_it_came() {
    let properties = json!({
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object"},
    });
    for sent in [
        json!({"map": {"a": "b"}, "free": {"c": 1}}),
        json!({"map": [1, 2]}),
        json!({"map": [{"key": "a"}]}),
        json!({"free": "not JSON"}),
        json!({"unknown": true}),
        json!([1]),
    ] {
        check(&properties, &sent.to_string(), RawArguments::Value(sent.clone()));
    }
}

#[test]
fn text_passes_untouched_where_nothing_was_changed() {
    let parameters = json!({
        "type": "object", "properties": {"a": {"type": "object"}}, "additionalProperties": false,
    });
    let tool = tool("t", &parameters);
    let odd = "{ \"a\" : {\"x\":1.0} }";
    for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Mcp, Dialect::OpenAiRealtime]
    {
        let rendering = Target::new(dialect, Strictness::Plain).render([&tool]);
        assert_eq!(rendering.arguments("test__t", odd), text(odd), "{dialect}");
        assert_eq!(rendering.arguments("gone", odd), text(odd), "{dialect}");
    }
}

#[test]
fn a_deep_schema_is_said_as_text_from_the_tenth_level() {
    let mut deep = json!({"type": "string"});
    let mut value = json!("x");
    for _ in 0..14 {
        deep = json!({"type": "object", "properties": {"a": deep}, "required": ["a"], "additionalProperties": false});
        value = json!({"a": value});
    }
    let rendering = rendering(&json!({"deep": deep}), &json!(["deep"]));
    assert_eq!(rendering.quarantined, []);
    let value = json!({"deep": value});
    let sent = rendering.lower_arguments("test__t", &value).unwrap();
    let raised = rendering.arguments("test__t", &sent.to_string());
    assert_eq!(raised, RawArguments::Value(value));
    let text = sent.to_string();
    assert!(text.matches('{').count() - text.matches("{\\\"").count() <= 10, "{text}");
}
