//! What is told about a tool's arguments when it is described: what was shown, and what holds beyond.

use haft_wire::{Dialect, Strictness, Target};
use serde_json::{Value, json};

use crate::support::tool;

/// Something of everything that some dialect cannot say.
fn schema() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["name", "sizes"],
        "$comment": "for people",
        "properties": {
            "name": {"type": "string", "minLength": 2, "title": "A name"},
            "filter[x]": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}},
            "sizes": {"type": "object", "additionalProperties": {"type": "number"}},
            "level": {"enum": [1, 2, 3]},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            "open": {"type": "object", "properties": {"a": {"type": "string"}}},
            "owner": {"$ref": "#/$defs/person"},
        },
        "$defs": {"person": {"type": "object", "additionalProperties": false,
            "properties": {"mail": {"type": "string", "contentSchema": {"type": "string"}}}}},
    })
}

/// The schema of the only tool, wherever the dialect has it.
fn shown(target: Target) -> Value {
    let tools = target.render([&tool("t", &schema())]).tools;
    let places = [
        "/0/function/parameters",
        "/0/parameters",
        "/0/input_schema",
        "/0/inputSchema",
        "/0/functionDeclarations/0/parameters",
        "/0/functionDeclarations/0/parametersJsonSchema",
        "/function_declarations/0/parameters",
    ];
    places.iter().find_map(|place| tools.pointer(place)).unwrap().clone()
}

#[test]
fn what_is_described_is_what_is_shown() {
    for target in Target::ALL {
        let told = target.describe(&tool("t", &schema())).unwrap();
        assert_eq!(told.parameters, shown(target), "{}", target.name());
        let rendering = target.render([&tool("t", &schema())]);
        assert_eq!(told.changed, rendering.is_changed("test__t"), "{}", target.name());
    }
}

#[track_caller]
fn check(target: Target, notes: &[&str]) {
    let told = target.describe(&tool("t", &schema())).unwrap();
    assert_eq!(told.notes, notes, "{}", target.name());
}

#[test]
fn what_the_schema_leaves_unsaid_is_told_beside_it() {
    let pair = "`pair`: `prefixItems` is [{\"type\":\"string\"},{\"type\":\"number\"}]; what stands at \
                which place is in the description";
    let open = "`open`: members that are not listed, which are not ruled out, are not said";
    let mail = "`contentSchema` is {\"type\":\"string\"}; there is no way to say it";
    let (defined, inlined) =
        (format!("`$defs.person.mail`: {mail}"), format!("`owner.mail`: {mail}"));
    for dialect in [Dialect::OpenAiChat, Dialect::OpenAiResponses, Dialect::Anthropic] {
        check(Target::new(dialect, Strictness::Plain), &[]);
        check(Target::new(dialect, Strictness::Strict), &[pair, open, &defined]);
    }
    for dialect in [Dialect::Gemini, Dialect::GeminiLive] {
        check(Target::new(dialect, Strictness::Plain), &[pair, open, &inlined]);
    }
    let json = Target::new(Dialect::Gemini, Strictness::Plain).with_json_schema();
    check(json, &[&defined]);
    check(Target::new(Dialect::Adm, Strictness::Plain), &[open, &inlined]);
    check(Target::new(Dialect::Mcp, Strictness::Plain), &[]);
}

/// Places have the names that are shown, and a rule that is too long is only named.
#[test]
fn places_have_the_names_that_are_shown() {
    let long = json!({"enum": ["x".repeat(600)]});
    let parameters = json!({"type": "object", "properties": {
        "filter[x]": {"type": "array", "items": {"type": "string", "contentSchema": true,
            "contentMediaType": "text/plain"}},
        "b": {"type": "array", "items": {"type": "string", "contentSchema": long}},
    }, "additionalProperties": false});
    let told = Target::new(Dialect::Gemini, Strictness::Plain).describe(&tool("t", &parameters));
    let [about] = &told.unwrap().notes[..] else { panic!("one rule is unsaid") };
    assert_eq!(about, "`b[]`: there is `contentSchema` as well; there is no way to say it");
    let parameters = json!({"type": "object", "properties": {
        "filter[x]": {"type": "array", "items": {"type": "string", "contentSchema": {}}},
    }, "additionalProperties": false});
    let told = Target::new(Dialect::Gemini, Strictness::Plain).describe(&tool("t", &parameters));
    let told = told.unwrap();
    let shown = told.parameters["properties"].as_object().unwrap().keys().next().unwrap();
    assert_eq!(
        told.notes,
        [format!("`{shown}[]`: `contentSchema` is {{}}; there is no way to say it")]
    );
    assert!(shown.starts_with("filter_x__"), "{shown}");
}

#[test]
fn a_function_without_parameters_is_described_by_an_object_without_members() {
    let none = json!({"type": "object", "additionalProperties": false});
    for target in Target::ALL {
        let told = target.describe(&tool("t", &none)).unwrap();
        assert!(told.parameters.is_object(), "{}", target.name());
        assert_eq!(told.notes, [""; 0], "{}", target.name());
    }
}

#[test]
fn what_is_not_shown_says_why() {
    let broken = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}});
    let told = Target::new(Dialect::Gemini, Strictness::Plain).describe(&tool("t", &broken));
    assert!(told.unwrap_err().reason.contains("leads nowhere"));
}
