//! What there may be too much of.

use haft_wire::{Dialect, Fate, Rendering, Strictness, Target, render};
use serde_json::{Value, json};

use crate::support::tool;

fn one(dialect: Dialect, properties: &Value) -> Rendering {
    let parameters = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    render(dialect, Strictness::Strict, [&tool("t", &parameters)])
}

fn members(count: usize, schema: &Value) -> Value {
    (0..count).map(|n| (format!("p{n}"), schema.clone())).collect::<serde_json::Map<_, _>>().into()
}

/// The fates of what is lost about a keyword.
#[track_caller]
fn check(rendering: &Rendering, keyword: &str, expected: &[Fate]) {
    let of_it = rendering.report.iter().filter(|loss| loss.keyword == keyword);
    let fates: Vec<Fate> = of_it.map(|loss| loss.fate).collect();
    assert_eq!(fates, expected, "{:?}", rendering.report);
    assert_eq!(rendering.quarantined, []);
}

#[test]
fn lists_of_values_that_are_too_long_are_not_listed() {
    let words = |count: usize, length: usize| -> Value {
        let word = |n: usize| json!(format!("{n:0length$}"));
        json!({"a": {"type": "string", "enum": (0..count).map(word).collect::<Vec<_>>()}})
    };
    for dialect in [Dialect::OpenAiChat, Dialect::OpenAiResponses] {
        check(&one(dialect, &words(1_000, 15)), "enum", &[]);
        check(&one(dialect, &words(1_001, 4)), "enum", &[Fate::Dropped]);
        check(&one(dialect, &words(251, 60)), "enum", &[Fate::Dropped]);
        check(&one(dialect, &words(250, 100)), "enum", &[]);
        check(&one(dialect, &words(251, 59)), "enum", &[]);
    }
    check(&one(Dialect::Anthropic, &words(1_001, 4)), "enum", &[]);
}

#[test]
fn a_tool_that_is_too_large_for_strict_mode_is_left_out() {
    let many = one(Dialect::OpenAiChat, &members(5_001, &json!({"type": "string"})));
    assert!(many.quarantined[0].reason.contains("5001 properties, and 5000 may"), "{many:?}");
    let long = json!({"x".repeat(120_001): {"type": "string"}});
    let long = one(Dialect::OpenAiChat, &long);
    assert!(long.quarantined[0].reason.contains("and 120000 may"), "{:?}", long.quarantined);
}

#[test]
fn a_tool_that_anthropic_cannot_compile_is_shown_and_not_strict() {
    let text = json!({"type": "string"});
    check(&one(Dialect::Anthropic, &members(24, &text)), "strict", &[]);
    let many = one(Dialect::Anthropic, &members(25, &text));
    check(&many, "strict", &[Fate::Dropped]);
    assert_eq!(many.tools[0].get("strict"), None);
    let several = json!({"type": ["string", "integer"]});
    check(&one(Dialect::Anthropic, &members(16, &several)), "strict", &[]);
    check(&one(Dialect::Anthropic, &members(17, &several)), "strict", &[Fate::Dropped]);
}

#[test]
fn a_request_holds_the_model_to_as_many_tools_as_it_may() {
    let schema = json!({
        "type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false,
    });
    let tools: Vec<_> = (0..30).map(|n| tool(&format!("t{n:02}"), &schema)).collect();
    let rendering = render(Dialect::Anthropic, Strictness::Strict, &tools);
    assert_eq!(rendering.excess(), ["a request takes at most 20 strict tools"]);
    let sent = rendering.for_request();
    assert_eq!(sent.excess(), [""; 0]);
    let strict: Vec<bool> =
        sent.tools.as_array().unwrap().iter().map(|tool| tool["strict"] == true).collect();
    assert_eq!(strict, [[true; 20].as_slice(), &[false; 10]].concat());
    check(&sent, "strict", &[Fate::Dropped; 10]);
    assert_eq!(sent.report[0].tool, "test__t20");
}

#[test]
fn too_many_tools_for_a_request_are_said_to_be_so() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let tools: Vec<_> = (0..600).map(|n| tool(&format!("t{n:03}"), &schema)).collect();
    for (dialect, most) in [
        (Dialect::OpenAiChat, Some(128)),
        (Dialect::Gemini, Some(512)),
        (Dialect::GeminiLive, Some(512)),
        (Dialect::Anthropic, None),
        (Dialect::Mcp, None),
    ] {
        assert_eq!(Target::new(dialect, Strictness::Plain).per_request().tools, most);
        let some = |count: usize| render(dialect, Strictness::Plain, tools.iter().take(count));
        let expected: Vec<String> = most
            .map(|most| format!("a request takes at most {most} tools, and here are 600"))
            .into_iter()
            .collect();
        assert_eq!(some(600).excess(), expected, "{dialect}");
        assert_eq!(some(most.unwrap_or(1)).excess(), [""; 0], "{dialect}");
    }
}
