//! Errors of the path in the words that the model was shown.

use haft_core::call::RawArguments;
use haft_core::outcome::{Clamped, Meta};
use haft_core::{Envelope, ErrorKind, ToolError, validator};
use haft_wire::{Dialect, Rendering, Strictness, Target, render};
use serde_json::{Value, json};

use crate::support::tool;

/// The error that the path makes of arguments in the contract's shape.
fn refused(schema: &Value, raised: &RawArguments) -> Option<ToolError> {
    if let RawArguments::Text(text) = raised
        && let Ok(value) = haft_adm::strict::parse(text, haft_adm::strict::Limits::default())
    {
        return refused(schema, &RawArguments::Value(value));
    }
    let (problems, what): (Vec<Value>, _) = match raised {
        RawArguments::Value(value) | RawArguments::Read(value, _) => {
            let contract = validator::compile(schema).unwrap();
            let found = validator::problems(&contract, value, 64);
            let problem = |one: &validator::Problem| {
                json!({"path": one.path, "code": one.code(), "message": one.message,
                       "expected": one.expected})
            };
            (found.iter().map(problem).collect(), "the arguments do not fit the tool's parameters")
        }
        RawArguments::Text(text) => {
            let why = haft_adm::strict::parse(text, haft_adm::strict::Limits::default()).err()?;
            let problem = |one: haft_adm::Error| json!({"path": one.pointer, "code": "duplicate_key", "message": one.to_string()});
            (why.into_iter().map(problem).collect(), "the arguments cannot be read")
        }
    };
    let sentences: Vec<&str> =
        problems.iter().map(|one| one["message"].as_str().unwrap()).collect();
    let message = format!("{what}: {}", sentences.join("; "));
    let error = ToolError::new(ErrorKind::InvalidArguments, message)
        .with_details(json!({"problems": problems, "warnings": []}));
    (!problems.is_empty()).then_some(error)
}

fn retold(rendering: &Rendering, schema: &Value, sent: &Value) -> Option<ToolError> {
    let wire = rendering.wire_name("test__t").unwrap();
    let raised = rendering.arguments(wire, &sent.to_string());
    let error = refused(schema, &raised)?;
    let envelope = Envelope { result: Err(error), intents: Vec::new(), meta: Meta::default() };
    rendering.retold(wire, &sent.to_string(), envelope).result.err()
}

/// The problems of arguments, as the model is told of them.
pub(crate) fn told(rendering: &Rendering, schema: &Value, sent: &Value) -> Vec<Value> {
    let error = retold(rendering, schema, sent);
    let details = error.and_then(|error| error.details.clone());
    details.and_then(|all| all["problems"].as_array().cloned()).unwrap_or_default()
}

#[track_caller]
fn check(target: (Dialect, Strictness), property: Value, sent: Value, expected: &[(&str, &str)]) {
    let schema = json!({
        "type": "object", "properties": {"a": property}, "required": ["a"],
        "additionalProperties": false,
    });
    let rendering = render(target.0, target.1, [&tool("t", &schema)]);
    let found = told(&rendering, &schema, &sent);
    let found: Vec<_> = found
        .iter()
        .map(|one| (one["path"].as_str().unwrap(), one["message"].as_str().unwrap()))
        .collect();
    assert_eq!(found, expected, "{sent}");
    let error = retold(&rendering, &schema, &sent).unwrap();
    for (_, message) in expected {
        assert!(error.message.contains(message), "{} lacks {message}", error.message);
    }
}

const OPENAI: (Dialect, Strictness) = (Dialect::OpenAiChat, Strictness::Strict);
const ANTHROPIC: (Dialect, Strictness) = (Dialect::Anthropic, Strictness::Strict);
const GEMINI: (Dialect, Strictness) = (Dialect::Gemini, Strictness::Plain);
const ADM: (Dialect, Strictness) = (Dialect::Adm, Strictness::Plain);

#[test]
fn a_map_is_spoken_of_as_the_list_that_was_shown() {
    let map = json!({"type": "object", "additionalProperties": {"type": "integer", "maximum": 9}});
    for target in [OPENAI, ANTHROPIC, GEMINI] {
        check(
            target,
            map.clone(),
            json!({"a": [{"key": "x", "value": 1, "note": "lost?"}]}),
            &[("/a/0/note", "`a[0].note` is not a known property")],
        );
        check(
            target,
            map.clone(),
            json!({"a": [{"key": "x", "value": 1}, {"key": "y", "value": "two"}]}),
            &[("/a/1/value", "`a[1].value` must be an integer, not a string")],
        );
        check(
            target,
            map.clone(),
            json!({"a": [{"key": "x", "value": 1}, {"key": "x", "value": 2}]}),
            &[("/a/0/value", "the key `x` stands twice in `a`; keep one")],
        );
    }
    // Anthropic's strict mode cannot say the bound, so only the contract complains.
    check(
        ANTHROPIC,
        map,
        json!({"a": [{"key": "x", "value": 12}]}),
        &[("/a/0/value", "`a[0].value` must be at most 9")],
    );
}

#[test]
fn further_members_are_spoken_of_where_they_were_sent() {
    let open = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": {"type": "string", "maxLength": 3},
    });
    check(
        ANTHROPIC,
        open.clone(),
        json!({"a": {"n": 1, "more": [{"key": "k", "value": "long"}]}}),
        &[("/a/more/0/value", "`a.more[0].value` must have at most 3 characters")],
    );
    let any = json!({
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": true,
    });
    for target in [OPENAI, ANTHROPIC, GEMINI] {
        // The contract takes a member `more`, and that is not what was meant.
        check(
            target,
            any.clone(),
            json!({"a": {"n": 1, "more": [{"key": "k", "value": 1, "x": 2}]}}),
            &[("/a/more/0/x", "`a.more[0].x` is not a known property")],
        );
        check(
            target,
            any.clone(),
            json!({"a": {"n": 1, "more": "text"}}),
            &[(
                "/a/more",
                match target == OPENAI {
                    true => "`a.more` must be null or an array, not a string",
                    false => "`a.more` must be an array, not a string",
                },
            )],
        );
    }
}

#[test]
fn values_are_spoken_of_as_the_words_that_were_shown() {
    let numbers = json!({"type": "integer", "enum": [10, 20]});
    for target in [GEMINI, ADM] {
        check(
            target,
            numbers.clone(),
            json!({"a": "30"}),
            &[("/a", "`a` must be one of `10`, `20`; the nearest is `10`")],
        );
    }
}

#[test]
fn json_text_is_spoken_of_as_such() {
    let free = json!({"type": "object", "maxProperties": 1});
    check(
        OPENAI,
        free.clone(),
        json!({"a": "{\"x\": 1, \"y\": 2}"}),
        &[("/a", "the JSON text of `a` must have at most 1 property")],
    );
    check(
        OPENAI,
        free.clone(),
        json!({"a": "[1]"}),
        &[("/a", "the JSON text of `a` must be an object, not an array")],
    );
    check(
        OPENAI,
        free,
        json!({"a": "{x"}),
        &[(
            "/a",
            "`a` must be JSON text: line 1, column 2: expected a key in double quotes, found `x`",
        )],
    );
    let tree = json!({
        "type": "object", "required": ["word"], "additionalProperties": false,
        "properties": {
            "word": {"type": "string"},
            "left": {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": true},
        },
    });
    let deep =
        json!({"anyOf": [tree, {"type": "object", "properties": {"word": {"type": "integer"}}}]});
    check(
        ADM,
        deep,
        json!({"a": "{\"word\": null}"}),
        &[(
            "/a",
            "the JSON text of `a` fits none of 2 alternatives; in the nearest, in the JSON text of `a`, `word` must be a string, not null",
        )],
    );
}

#[test]
fn names_are_those_that_were_shown() {
    let odd = json!({
        "type": "object", "properties": {"x y": {"type": "string", "pattern": "^z"}, "1st.one": {"type": "integer"}},
        "required": ["x y"], "additionalProperties": false,
    });
    let schema = json!({
        "type": "object", "properties": {"a": odd.clone()}, "required": ["a"],
        "additionalProperties": false,
    });
    for dialect in [Dialect::Gemini, Dialect::Anthropic] {
        let rendering = render(dialect, Strictness::Plain, [&tool("t", &schema)]);
        let sent = rendering.lower_arguments("test__t", &json!({"a": {"x y": "z", "1st.one": 1}}));
        let sent = sent.unwrap();
        let wire: Vec<&String> = sent["a"].as_object().unwrap().keys().collect();
        assert_ne!(wire[0], "x y");
        let plain = (dialect, Strictness::Plain);
        check(
            plain,
            odd.clone(),
            json!({"a": {wire[0]: "b"}}),
            &[(
                &format!("/a/{}", wire[0]),
                &format!("`a.{}` must match the pattern `^z`", wire[0]),
            )],
        );
        check(
            plain,
            odd.clone(),
            json!({"a": {wire[1]: 1}}),
            &[("/a", &format!("`a.{}` is missing", wire[0]))],
        );
        let misspelt = format!("{}x", wire[0]);
        let error =
            retold(&rendering, &schema, &json!({"a": {misspelt.as_str(): 1, wire[0]: "z"}}));
        let error = error.unwrap();
        let known = &error.details.clone().unwrap()["problems"][0]["expected"];
        assert_eq!(known, &json!(wire), "{}", error.message);
    }
}

#[test]
fn what_stayed_as_it_was_is_told_as_it_was() {
    let plain = json!({"type": "integer", "maximum": 3});
    for target in [OPENAI, ANTHROPIC, GEMINI, ADM] {
        check(target, plain.clone(), json!({"a": 4}), &[("/a", "`a` must be at most 3")]);
    }
}

#[test]
fn clamps_and_tools_have_the_names_that_were_shown() {
    let schema = json!({
        "type": "object", "properties": {"top k": {"type": "integer"}}, "additionalProperties": false,
    });
    let mut tool = tool("t", &schema);
    tool.id = "maps.find".to_owned();
    let rendering = Target::new(Dialect::Anthropic, Strictness::Plain).render([&tool]);
    let wire = rendering.wire_name("maps.find").unwrap();
    let error = ToolError::new(ErrorKind::Denied, "`maps.find` is off");
    let clamp = Clamped { path: "/top k".into(), before: Some(json!(9)), after: Some(json!(3)) };
    let meta = Meta { clamps: vec![clamp], ..Meta::default() };
    let envelope = Envelope { result: Err(error), intents: Vec::new(), meta };
    let sent = rendering.lower_arguments("maps.find", &json!({"top k": 9})).unwrap();
    let told = rendering.retold(wire, &sent.to_string(), envelope);
    assert_eq!(told.result.unwrap_err().message, format!("`{wire}` is off"));
    let name = sent.as_object().unwrap().keys().next().unwrap();
    assert_eq!(told.meta.clamps[0].path, format!("/{name}"));
}
