//! What the tools do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_core::content::{Content, Contents, Document};
use haft_core::contract::Capability;
use haft_core::{ErrorKind, ToolError};
use haft_exec::Native;
use haft_exec::native::Context;
use haft_runtime::Runtime;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::tools;

/// One red pixel.
pub(super) const PNG: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T', 8,
    0xd7, 0x63, 0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0x18, 0xdd, 0x8d, 0xb0, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// Two samples of silence.
const WAV: &[u8] = b"RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x04\0\0\0\0\0\0\0";

const STEP: Duration = Duration::from_millis(50);

type Answer = Result<Value, ToolError>;

fn show(blocks: Vec<Content>) -> Answer {
    serde_json::to_value(Contents::new(blocks))
        .map_err(|why| ToolError::new(ErrorKind::Internal, "not JSON").caused_by(why))
}

fn say(text: impl Into<String>) -> Answer {
    show(vec![Content::text(text)])
}

async fn client(context: &Context, method: &str, arguments: Value) -> Answer {
    context.call(Capability::Client, method, arguments).await
}

pub(super) fn all(own: Arc<OnceLock<Runtime>>) -> Native {
    let native = changing(asking(telling(showing(Native::new()))), own);
    native
        .raw("fixture__test_custom_header", |arguments, _| async move {
            say(format!(
                "value: {}",
                arguments.get("value").and_then(Value::as_str).unwrap_or_default()
            ))
        })
        .raw("fixture__json_schema_2020_12_tool", |arguments, _| async move {
            say(format!("arguments: {arguments}"))
        })
}

fn showing(native: Native) -> Native {
    let document = |uri, kind, text: &str| Content::document(Document::text(uri, kind, text));
    native
        .raw("fixture__test_simple_text", |_, _| async {
            say("This is a simple text response for testing.")
        })
        .raw("fixture__test_image_content", |_, _| async {
            show(vec![Content::image("image/png", PNG)])
        })
        .raw("fixture__test_audio_content", |_, _| async {
            show(vec![Content::audio("audio/wav", WAV)])
        })
        .raw("fixture__test_embedded_resource", move |_, _| async move {
            let text = "This is an embedded resource content.";
            show(vec![document("test://embedded-resource", "text/plain", text)])
        })
        .raw("fixture__test_multiple_content_types", move |_, _| async move {
            let data = json!({"test": "data", "value": 123}).to_string();
            show(vec![
                Content::text("Multiple content types test:"),
                Content::image("image/png", PNG),
                document("test://mixed-content-resource", "application/json", &data),
            ])
        })
        .raw("fixture__test_error_handling", |_, _| async {
            let message = "This tool intentionally returns an error for testing";
            Err(ToolError::new(ErrorKind::Permanent, message))
        })
}

fn telling(native: Native) -> Native {
    native
        .raw("fixture__test_tool_with_progress", |_, context| async move {
            for progress in [0, 50, 100] {
                client(&context, "progress", json!({"progress": progress, "total": 100})).await?;
                sleep(STEP).await;
            }
            say("done")
        })
        .raw("fixture__test_tool_with_logging", |_, context| async move {
            for line in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                client(&context, "log", json!({"level": "info", "data": line})).await?;
                sleep(STEP).await;
            }
            say("done")
        })
        .raw("fixture__test_logging_tool", |_, context| async move {
            client(&context, "log", json!({"level": "info", "data": "a line"})).await?;
            say("done")
        })
        .raw("fixture__test_reconnection", |_, _| async {
            sleep(4 * STEP).await;
            say("done")
        })
}

fn name() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

fn elicit(message: &str, schema: Value) -> Value {
    json!({"elicit": {"message": message, "schema": schema}})
}

fn sample(text: &str, tokens: u32) -> Value {
    let content = json!({"type": "text", "text": text});
    json!({"sample": {"messages": [{"role": "user", "content": content}], "maxTokens": tokens}})
}

fn field(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}

/// The words in a model's answer.
fn words(answer: &Value) -> String {
    let content = answer.get("content").cloned().unwrap_or_default();
    let first = content.as_array().and_then(|list| list.first()).unwrap_or(&content);
    first.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn asking(native: Native) -> Native {
    let ask = |id: &'static str, questions: fn() -> Value, told: fn(&Value) -> String| {
        move |native: Native| {
            native.raw(format!("fixture__{id}"), move |_, context| async move {
                say(told(&client(&context, "ask", questions()).await?))
            })
        }
    };
    let native = ask(
        "test_input_required_result_elicitation",
        || json!({"user_name": elicit("What is your name?", name())}),
        |said| {
            format!(
                "Hello, {}!",
                said.pointer("/user_name/content/name").and_then(Value::as_str).unwrap_or("you")
            )
        },
    )(native);
    let native = ask(
        "test_streaming_elicitation",
        || json!({"user_name": elicit("What is your name?", name())}),
        |said| format!("said: {said}"),
    )(native);
    let native = ask(
        "test_input_required_result_sampling",
        || json!({"capital_question": sample("What is the capital of France?", 100)}),
        |said| words(said.get("capital_question").unwrap_or(&Value::Null)),
    )(native);
    let native = ask(
        "test_input_required_result_list_roots",
        || json!({"client_roots": {"roots": {}}}),
        |said| {
            format!("roots: {}", said.pointer("/client_roots/roots").cloned().unwrap_or_default())
        },
    )(native);
    let native = ask(
        "test_input_required_result_request_state",
        || json!({"confirm": elicit("Please confirm", field("ok", "boolean"))}),
        |said| format!("state-ok: {said}"),
    )(native);
    let native = ask(
        "test_input_required_result_tampered_state",
        || json!({"confirm": elicit("Please confirm", field("ok", "boolean"))}),
        |said| format!("state-ok: {said}"),
    )(native);
    let native = ask(
        "test_input_required_result_multiple_inputs",
        || {
            json!({
                "user_name": elicit("What is your name?", name()),
                "greeting": sample("Generate a greeting", 50),
                "client_roots": {"roots": {}},
            })
        },
        |said| format!("all: {said}"),
    )(native);
    let native = ask(
        "test_missing_capability",
        || json!({"model": sample("Say something", 10)}),
        |said| format!("said: {said}"),
    )(native);
    let native = ask("test_elicitation_sep1034_defaults", defaults, completed)(native);
    let native = ask("test_elicitation_sep1330_enums", choices, completed)(native);
    native
        .raw("fixture__test_input_required_result_multi_round", |_, context| async move {
            let question = elicit("Step 1: What is your name?", name());
            let first = client(&context, "ask", json!({"step1": question})).await?;
            let question = elicit("Step 2: What is your favorite color?", field("color", "string"));
            let second = client(&context, "ask", json!({"step2": question})).await?;
            say(format!("{first} {second}"))
        })
        .raw("fixture__test_input_required_result_capabilities", |_, context| async move {
            let can = client(&context, "can", json!({})).await?;
            let has = |what: &str| can.get(what).and_then(Value::as_bool).unwrap_or(false);
            let all = [
                ("elicit", "user_name", elicit("What is your name?", name())),
                ("sample", "greeting", sample("Generate a greeting", 50)),
                ("roots", "client_roots", json!({"roots": {}})),
            ];
            let questions: Map<String, Value> = all
                .into_iter()
                .filter(|(what, _, _)| has(what))
                .map(|(_, name, question)| (name.to_owned(), question))
                .collect();
            if questions.is_empty() {
                return say("nobody can be asked");
            }
            let questions = Value::Object(questions);
            say(client(&context, "ask", questions).await?.to_string())
        })
        .raw("fixture__test_sampling", |arguments, context| async move {
            let prompt = arguments.get("prompt").and_then(Value::as_str).unwrap_or_default();
            let said = client(&context, "ask", json!({"model": sample(prompt, 100)})).await?;
            say(format!("LLM response: {}", words(said.get("model").unwrap_or(&Value::Null))))
        })
        .raw("fixture__test_elicitation", |arguments, context| async move {
            let message = arguments.get("message").and_then(Value::as_str).unwrap_or_default();
            let text = |what: &str| json!({"type": "string", "description": what});
            let schema = json!({
                "type": "object",
                "properties": {"username": text("User's response"), "email": text("User's email address")},
                "required": ["username", "email"],
            });
            let said = client(&context, "ask", json!({"user": elicit(message, schema)})).await?;
            say(format!("User response: {}", said.get("user").cloned().unwrap_or_default()))
        })
}

fn completed(said: &Value) -> String {
    let said = said.get("user").cloned().unwrap_or_default();
    let part = |name: &str| said.get(name).cloned().unwrap_or_default();
    let action = part("action");
    format!(
        "Elicitation completed: action={}, content={}",
        action.as_str().unwrap_or_default(),
        part("content")
    )
}

fn defaults() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "description": "Whether verified", "default": true},
        },
    });
    json!({"user": elicit("Please review", schema)})
}

fn choices() -> Value {
    let titled = |word: &str, name: &str| -> Value {
        ["First", "Second", "Third"]
            .iter()
            .enumerate()
            .map(|(at, title)| json!({"const": format!("{word}{}", at + 1), "title": format!("{title} {name}")}))
            .collect()
    };
    let options = json!(["option1", "option2", "option3"]);
    let names = json!(["Option One", "Option Two", "Option Three"]);
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled("value", "Option")},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("value", "Choice")}},
        },
    });
    json!({"user": elicit("Please choose", schema)})
}

/// Tools that put another registry in force, as a deployment would.
fn changing(native: Native, own: Arc<OnceLock<Runtime>>) -> Native {
    static TOOLS: AtomicUsize = AtomicUsize::new(0);
    static PROMPTS: AtomicUsize = AtomicUsize::new(0);
    let load = move |own: &OnceLock<Runtime>| {
        let registry =
            tools::registry(TOOLS.load(Ordering::SeqCst) % 4, PROMPTS.load(Ordering::SeqCst) % 4);
        match own.get().map(|runtime| runtime.load(registry)) {
            Some(Ok(())) => say("done"),
            Some(Err(problems)) => {
                Err(ToolError::new(ErrorKind::Internal, format!("{problems:?}")))
            }
            None => Err(ToolError::new(ErrorKind::Internal, "not ready yet")),
        }
    };
    let (first, second) = (own.clone(), own);
    native
        .raw("fixture__test_trigger_tool_change", move |_, _| {
            TOOLS.fetch_add(1, Ordering::SeqCst);
            let answer = load(&first);
            async move { answer }
        })
        .raw("fixture__test_trigger_prompt_change", move |_, _| {
            PROMPTS.fetch_add(1, Ordering::SeqCst);
            let answer = load(&second);
            async move { answer }
        })
}
