//! Every case in every dialect: a golden file each, and the official types on top of it.

use std::path::Path;

use haft_core::outcome::{After, Applied, Clamped, Intent, IntentStatus, Meta, Warning};
use haft_core::{Envelope, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::*;
use crate::said::{Broken, BrokenCall, WireCall};

fn done(data: Value) -> Envelope {
    Envelope { result: Ok(data), intents: Vec::new(), meta: meta() }
}

fn failed(error: ToolError) -> Envelope {
    Envelope { result: Err(error), intents: Vec::new(), meta: meta() }
}

fn meta() -> Meta {
    Meta { call_id: "call_made".into(), ..Meta::default() }
}

fn noted() -> Envelope {
    let mut envelope = done(json!({ "hits": [] }));
    envelope.meta.cached = true;
    envelope.meta.clamps = vec![
        Clamped { path: "/top_k".into(), before: Some(json!(20)), after: Some(json!(3)) },
        Clamped { path: "/full_text".into(), before: Some(json!(true)), after: None },
    ];
    envelope.meta.warnings = vec![Warning {
        path: "/filter/year".into(),
        code: "string_to_integer".into(),
        message: "the text \"2024\" was read as a number".into(),
        before: Some(json!("2024")),
        after: Some(json!(2024)),
    }];
    envelope.intents = vec![Applied {
        intent: Intent::EndVoiceSession { after: After::TurnComplete },
        status: IntentStatus::Refused,
        reason: Some("this is not a voice session".into()),
    }];
    envelope
}

/// Words, a picture, sound, a document, a link, and data beside them.
fn shown() -> Envelope {
    use haft_core::content::{Content, Contents, Document};
    let mut shown = Contents::new(vec![
        Content::text("a red dot"),
        Content::image("image/png", b"dot"),
        Content::audio("audio/wav", b"hum"),
        Content::document(Document::text("notes://1", "text/plain", "it is red")),
        Content::ResourceLink {
            uri: "notes://2".into(),
            name: "more".into(),
            mime_type: None,
            description: None,
        },
    ]);
    shown.data.insert("width".into(), json!(1));
    let mut envelope = done(json!(shown));
    envelope.meta.cached = true;
    envelope
}

fn waits() -> Envelope {
    failed(
        ToolError::new(ErrorKind::ConfirmationRequired, "a person has to approve this call first")
            .with_details(json!({ "confirmation": {
                "id": "cnf_1", "tool": "core__send", "preview": "Send to Mara?", "expiresAtMs": 1,
            }})),
    )
}

fn unknown() -> Envelope {
    let mut error = ToolError::new(ErrorKind::UnknownOutcome, "the connection was lost");
    error.partial_side_effects = true;
    failed(error)
}

fn cut() -> Envelope {
    let call = WireCall {
        id: Some("c2".into()),
        name: "core__send".into(),
        namespace: None,
        arguments: "{\"secret\": \"s3cr".into(),
        choice: 0,
        position: 1,
    };
    malformed(&BrokenCall { call, why: Broken::Cut, replayed: true }, "c2")
}

/// A case: its name, the answers (id, name, envelope), what the user says with them.
type Case = (&'static str, Vec<(Option<&'static str>, &'static str, Envelope)>, Vec<&'static str>);

fn cases() -> Vec<Case> {
    let add = "core__add";
    vec![
        ("one", vec![(Some("c1"), add, done(json!({ "sum": 3 })))], vec![]),
        ("text", vec![(Some("c1"), add, done(json!("three")))], vec![]),
        ("empty_text", vec![(Some("c1"), add, done(json!("")))], vec![]),
        ("null", vec![(Some("c1"), add, done(Value::Null))], vec![]),
        ("no_id", vec![(None, add, done(json!({ "sum": 3 })))], vec![]),
        ("notes", vec![(Some("c1"), "core__kb_search", noted())], vec![]),
        (
            "parallel",
            vec![
                (Some("c1"), add, done(json!([1, 2]))),
                (Some("c2"), "core__send", cut()),
                (Some("c3"), add, done(json!({ "sum": 4 }))),
            ],
            vec![],
        ),
        ("waits", vec![(Some("c1"), "core__send", waits())], vec![]),
        ("unknown", vec![(Some("c1"), "core__send", unknown())], vec![]),
        (
            "newer_message",
            vec![(Some("c1"), add, done(json!({ "sum": 3 })))],
            vec!["no, stop", "add 5 instead"],
        ),
        ("message", vec![], vec!["hello"]),
        ("shown", vec![(Some("c1"), "core__draw", shown())], vec![]),
        ("nothing", vec![], vec![]),
    ]
}

fn rendered(dialect: Dialect, case: &Case) -> Vec<Value> {
    let answers: Vec<Answer<'_>> =
        case.1.iter().map(|(id, name, envelope)| Answer { id: *id, name, envelope }).collect();
    reply(dialect, &answers, &case.2)
}

#[test]
fn every_dialect_says_it_in_its_own_shape() {
    for dialect in Dialect::ALL {
        let all: serde_json::Map<String, Value> = cases()
            .iter()
            .map(|case| (case.0.to_owned(), json!(rendered(dialect, case))))
            .collect();
        insta::assert_json_snapshot!(dialect.as_str(), all);
    }
}

/// The official types, as JSON Schema.
fn schema(kind: &str) -> Option<jsonschema::Validator> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/wire/schemas")
        .join(format!("{kind}.schema.json"));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let schema: Value = serde_json::from_str(&text).unwrap();
            Some(jsonschema::validator_for(&schema).unwrap())
        }
        Err(error) if std::env::var_os("CI").is_some() => panic!("{}: {error}", path.display()),
        Err(error) => {
            eprintln!("skipped: the types are not at {} ({error})", path.display());
            None
        }
    }
}

#[track_caller]
fn valid(schema: &jsonschema::Validator, value: &Value, what: &str) {
    let problems: Vec<String> = schema.iter_errors(value).map(|e| e.to_string()).collect();
    assert!(problems.is_empty(), "{what}: {value:#}\n{}", problems.join("\n"));
}

/// What stands before the answers, so that the whole conversation can be checked.
fn conversation(dialect: Dialect, case: &Case) -> Vec<Value> {
    let id = |id: &Option<&'static str>| id.unwrap_or("call_made").to_owned();
    let mut all = message(dialect, "please");
    match dialect {
        Dialect::OpenAiChat if !case.1.is_empty() => {
            let calls: Vec<Value> = case
                .1
                .iter()
                .map(|(i, name, _)| {
                    json!({ "id": id(i), "type": "function",
                            "function": { "name": name, "arguments": "{}" } })
                })
                .collect();
            all.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        }
        Dialect::Anthropic if !case.1.is_empty() => {
            let calls: Vec<Value> = case
                .1
                .iter()
                .map(|(i, name, _)| json!({ "type": "tool_use", "id": id(i), "name": name, "input": {} }))
                .collect();
            all.push(json!({ "role": "assistant", "content": calls }));
        }
        Dialect::Gemini if !case.1.is_empty() => {
            let calls: Vec<Value> = case
                .1
                .iter()
                .map(|(_, name, _)| json!({ "functionCall": { "name": name, "args": {} } }))
                .collect();
            all.push(json!({ "role": "model", "parts": calls }));
        }
        Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::OpenAiRealtime
        | Dialect::Anthropic
        | Dialect::Gemini
        | Dialect::GeminiLive
        | Dialect::Mcp
        | Dialect::Adm => {}
    }
    all.extend(rendered(dialect, case));
    all
}

/// The type of the whole conversation.
#[track_caller]
fn check_whole(dialect: Dialect, kind: &str) {
    let Some(schema) = schema(kind) else { return };
    for case in cases() {
        let all = json!(conversation(dialect, &case));
        valid(&schema, &all, &format!("{dialect} {}", case.0));
    }
}

/// The type of each message.
#[track_caller]
fn check_each(dialect: Dialect, kind: &str) {
    let Some(schema) = schema(kind) else { return };
    for case in cases() {
        for message in rendered(dialect, &case) {
            valid(&schema, &message, &format!("{dialect} {}", case.0));
        }
    }
}

#[test]
fn the_official_types_accept_them() {
    check_whole(Dialect::OpenAiChat, "openai.chat.messages");
    check_whole(Dialect::OpenAiResponses, "openai.responses.input");
    check_each(Dialect::OpenAiRealtime, "openai.realtime.client_event");
    check_whole(Dialect::Anthropic, "anthropic.messages");
    check_whole(Dialect::Gemini, "gemini.contents");
    check_each(Dialect::GeminiLive, "gemini.live.client_message");
    check_each(Dialect::Mcp, "mcp.2025-11-25.CallToolResult");
    check_each(Dialect::Mcp, "mcp.2026-07-28.CallToolResult");
}

#[test]
fn adm_is_read_back_by_its_own_reader() {
    for case in cases() {
        for result in rendered(Dialect::Adm, &case) {
            haft_adm::ToolResult::parse(&result.to_string()).unwrap();
        }
    }
}

#[test]
fn what_came_of_a_broken_call_is_never_repeated() {
    for why in [
        Broken::Cut,
        Broken::NotJson,
        Broken::NotObject,
        Broken::Withheld,
        Broken::Unnamed,
        Broken::TooLarge,
        Broken::Contradiction,
        Broken::TooMany,
        Broken::SameId,
    ] {
        let call = WireCall {
            id: None,
            name: "x".into(),
            namespace: None,
            arguments: "hunter2".into(),
            choice: 0,
            position: 0,
        };
        let envelope = malformed(&BrokenCall { call, why, replayed: true }, "made");
        for dialect in Dialect::ALL {
            let answer = Answer { id: None, name: "x", envelope: &envelope };
            let text = json!(results(dialect, &[answer])).to_string();
            assert!(!text.contains("hunter2"), "{dialect}: {text}");
            assert!(text.contains("nothing was done"), "{dialect}: {text}");
        }
    }
}

#[test]
fn a_model_is_told_to_wait_and_not_to_repeat() {
    let text = told(&waits()).text();
    assert!(text.contains("wait for them") && text.contains("cannot approve it yourself"));
    assert!(text.contains("cnf_1") && text.contains("Send to Mara?"));
    let text = told(&unknown()).text();
    assert!(text.contains("may have happened") && text.contains("Do not repeat this call"));
}

#[test]
fn every_kind_says_what_to_do() {
    for kind in ErrorKind::ALL {
        let told = told(&failed(ToolError::new(*kind, "it went wrong")));
        let Told::Failed { error } = told else { panic!("{kind}") };
        assert_eq!(error["kind"], kind.as_str());
        assert!(error["advice"].as_str().is_some_and(|advice| advice.len() > 10), "{kind}");
    }
}

#[test]
fn remarks_are_few() {
    let mut envelope = noted();
    let one = envelope.meta.warnings[0].clone();
    envelope.meta.warnings = vec![one; 50];
    let Told::Done { notes, .. } = told(&envelope) else { panic!() };
    assert_eq!(notes.len(), 6, "{notes:?}");
    assert_eq!(notes[5], "and 49 more remarks of this kind");
}
