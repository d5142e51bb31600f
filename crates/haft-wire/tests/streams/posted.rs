//! What is posted is what a model said, and nothing else.

use haft_wire::decode::posted;
use haft_wire::{Dialect, Limits};
use serde_json::{Value, json};

/// The calls that would be run and those that are answered without, by name and id; or why there are
/// none.
#[track_caller]
fn check(dialect: Dialect, body: &str, expected: Result<&[&str], &str>) {
    let shown = posted(dialect, Limits::default(), body.as_bytes()).map(|turn| {
        let id = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_owned());
        let run = turn.calls.iter().map(|call| format!("{} {}", call.name, id(&call.id)));
        let broken = turn.broken.iter().map(|one| {
            format!("{} {} {}", one.call.name, id(&one.call.id), json!(one.why).as_str().unwrap())
        });
        run.chain(broken).collect::<Vec<String>>()
    });
    match (shown, expected) {
        (Ok(shown), Ok(expected)) => assert_eq!(shown, expected, "{dialect}: {body}"),
        (Err(foreign), Err(expected)) => {
            let said = foreign.to_string();
            assert!(said.contains(expected), "{dialect}: {body}\n{said}");
        }
        (shown, expected) => panic!("{dialect}: {body}\n{shown:?} is not {expected:?}"),
    }
}

#[track_caller]
fn check_all(dialect: Dialect, rows: &[(Value, Result<&[&str], &str>)]) {
    for (body, expected) in rows {
        check(dialect, &body.to_string(), *expected);
    }
}

const RESULT: Result<&[&str], &str> = Err("what has been answered is not run again");
const SEVERAL: Result<&[&str], &str> = Err("several messages stand in it");
const REQUEST: Result<&[&str], &str> = Err("it is what a model is sent");

fn role(role: &str) -> String {
    format!("a message of the role `{role}` stands in it")
}

mod chat {
    use super::*;

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
    }

    fn said(id: &str) -> Value {
        json!({"role": "assistant", "content": null, "tool_calls": [call(id)]})
    }

    #[test]
    fn one_message_or_one_completion_is_taken() {
        let completion = |message: Value| json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let taken: Result<&[&str], &str> = Ok(&["f c1"]);
        check_all(
            Dialect::OpenAiChat,
            &[
                (said("c1"), taken),
                (json!([said("c1")]), taken),
                (json!({"tool_calls": [call("c1")]}), taken),
                (json!({"role": null, "tool_calls": [call("c1")]}), taken),
                (completion(said("c1")), taken),
                (completion(json!({"tool_calls": [call("c1")]})), taken),
            ],
        );
        let chunk = |delta: Value, end: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": end}]});
        let chunks = [
            chunk(json!({"role": "assistant", "tool_calls": [call("c1")]}), Value::Null),
            chunk(json!({}), json!("tool_calls")),
            json!({"choices": [], "usage": {"prompt_tokens": 1}}),
        ];
        let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        check(Dialect::OpenAiChat, &format!("{events}data: [DONE]\n\n"), taken);
        check(Dialect::OpenAiChat, &format!("{events}data: [DONE]\n\n{events}"), SEVERAL);
        check(Dialect::OpenAiChat, &json!(chunks).to_string(), taken);
    }

    #[test]
    fn what_others_said_is_not() {
        for name in ["user", "tool", "system", "developer", "function"] {
            let mut message = said("c1");
            message["role"] = json!(name);
            let completion = json!({"choices": [{"message": message, "finish_reason": "stop"}]});
            for body in [&message, &json!([said("c0"), message]), &completion] {
                check(Dialect::OpenAiChat, &body.to_string(), Err(&role(name)));
            }
        }
        let odd = json!({"role": {"a": 1}, "tool_calls": [call("c1")]});
        check(Dialect::OpenAiChat, &odd.to_string(), Err("a message of the role"));
    }

    #[test]
    fn a_conversation_is_not() {
        let (user, told) = (
            json!({"role": "user", "content": "x"}),
            json!({"role": "tool", "tool_call_id": "c1", "content": "done"}),
        );
        let whole =
            json!([user, said("c1"), told, {"role": "assistant", "content": "x"}, said("c2")]);
        let completion = json!({"choices": [{"message": said("c1"), "finish_reason": "stop"}]});
        let user_first = role("user");
        check_all(
            Dialect::OpenAiChat,
            &[
                (whole.clone(), Err(&user_first)),
                (json!([said("c1"), told]), Err("a message of the role `tool`")),
                (json!([said("c1"), said("c2")]), SEVERAL),
                (json!([completion, completion]), SEVERAL),
                (json!([completion, said("c2")]), SEVERAL),
                (json!({"model": "m", "messages": whole}), REQUEST),
            ],
        );
        // However they come one after the other.
        let (lines, events) = (
            format!("{}\n{}", said("c1"), told),
            format!("data: {}\n\ndata: {}\n\n", said("c1"), told),
        );
        for body in [lines, events] {
            check(Dialect::OpenAiChat, &body, Err("a message of the role `tool`"));
        }
        // Also where it holds what no text can: half of a character.
        check(
            Dialect::OpenAiChat,
            r#"[{"role":"user","content":"\ud83d"},{"role":"assistant","tool_calls":[]}]"#,
            Err(&user_first),
        );
    }

    #[test]
    fn one_id_is_one_call() {
        let of = |calls: Value| json!({"role": "assistant", "tool_calls": calls});
        let other = json!({"id": "c1", "function": {"name": "f", "arguments": "{\"a\":1}"}});
        let spaced = json!({"id": "c1", "function": {"name": "f", "arguments": "{ }"}});
        let named = json!({"id": "c1", "function": {"name": "g", "arguments": "{}"}});
        let half = json!({"id": "c1", "function": {"name": "f", "arguments": "{\"a"}});
        let none = json!({"id": "", "function": {"name": "f", "arguments": "{}"}});
        let unsaid = json!({"function": {"name": "f", "arguments": "{}"}});
        check_all(
            Dialect::OpenAiChat,
            &[
                (of(json!([call("c1"), call("c1")])), Ok(&["f c1"])),
                (of(json!([call("c1"), call("c2"), spaced])), Ok(&["f c1", "f c2"])),
                (of(json!([call("c1"), other, call("c1")])), Ok(&["f c1", "f c1 same_id"])),
                (of(json!([call("c1"), named])), Ok(&["f c1", "g c1 same_id"])),
                (of(json!([call("c1"), half])), Ok(&["f c1", "f c1 cut"])),
                (of(json!([half, call("c1")])), Ok(&["f c1 cut", "f c1 same_id"])),
                (of(json!([half, half])), Ok(&["f c1 cut"])),
                (of(json!([none, none, unsaid, unsaid])), Ok(&["f -", "f -", "f -", "f -"])),
            ],
        );
        // Alternatives count their ids by themselves.
        let choice =
            |index: u32| json!({"index": index, "message": said("c1"), "finish_reason": "stop"});
        let two = json!({"choices": [choice(0), choice(1)]});
        check(Dialect::OpenAiChat, &two.to_string(), Ok(&["f c1", "f c1"]));
    }
}

#[test]
fn of_anthropic() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let said = |id: &str| json!({"role": "assistant", "content": [call(id)]});
    let told = json!({"type": "tool_result", "tool_use_id": "t1", "content": "done"});
    let whole = json!({"type": "message", "role": "assistant", "content": [call("t1")],
                       "stop_reason": "tool_use"});
    let searched = json!([
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}, call("t1")]);
    let events = |role: &str| {
        json!([
            {"type": "message_start", "message": {"type": "message", "role": role, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": call("t1")},
            {"type": "content_block_stop", "index": 0},
            {"type": "ping"},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
            {"type": "message_stop"}])
    };
    let (user, taken): (_, Result<&[&str], &str>) = (role("user"), Ok(&["f t1"]));
    check_all(
        Dialect::Anthropic,
        &[
            (said("t1"), taken),
            (json!([said("t1")]), taken),
            (whole.clone(), taken),
            (json!({"role": "assistant", "content": searched}), taken),
            (events("assistant"), taken),
            (events("user"), Err(&user)),
            (json!({"role": "user", "content": [call("t1")]}), Err(&user)),
            (json!([said("t1"), {"role": "user", "content": [told]}, said("t2")]), Err(&user)),
            (json!({"role": "assistant", "content": [call("t1"), told]}), RESULT),
            (json!([said("t1"), said("t2")]), SEVERAL),
            (json!([events("assistant")[0], said("t2")]), SEVERAL),
            (json!({"model": "m", "messages": [said("t1")]}), REQUEST),
            (json!({"role": "assistant", "content": [call("t1"), call("t1")]}), taken),
        ],
    );
    // After its end nothing of a stream is read, and yet it stands there.
    let mut answered = events("assistant").as_array().unwrap().clone();
    answered.push(json!({"role": "user", "content": [told]}));
    check(Dialect::Anthropic, &json!(answered).to_string(), Err(&user));
    let one = events("assistant").as_array().unwrap().clone();
    check(Dialect::Anthropic, &json!([one.clone(), one].concat()).to_string(), SEVERAL);
}

#[test]
fn of_gemini() {
    let call = json!({"functionCall": {"name": "f", "args": {}}});
    let known = json!({"functionCall": {"id": "g1", "name": "f", "args": {}}});
    let told = json!({"functionResponse": {"name": "f", "response": {}}});
    let said = |part: &Value| json!({"role": "model", "parts": [part]});
    let response =
        |content: Value| json!({"candidates": [{"content": content, "finishReason": "STOP"}]});
    let (user, taken): (_, Result<&[&str], &str>) = (role("user"), Ok(&["f -"]));
    check_all(
        Dialect::Gemini,
        &[
            (said(&call), taken),
            (json!({"parts": [call]}), taken),
            (response(said(&call)), taken),
            (response(json!({"parts": [call]})), taken),
            (json!([response(json!({"parts": [{"text": "a"}]})), response(said(&call))]), taken),
            (json!({"role": "user", "parts": [call]}), Err(&user)),
            (json!({"role": "function", "parts": [call]}), Err("`function`")),
            (response(json!({"role": "user", "parts": [call]})), Err(&user)),
            (json!([said(&call), {"role": "user", "parts": [told]}, said(&call)]), Err(&user)),
            (json!({"role": "model", "parts": [call, told]}), RESULT),
            (json!([said(&call), {"parts": [told]}]), RESULT),
            (json!([said(&call), said(&call)]), SEVERAL),
            (json!({"contents": [said(&call)]}), REQUEST),
            (json!({"parts": [call, call]}), Ok(&["f -", "f -"])),
            (json!({"parts": [known, known]}), Ok(&["f g1"])),
        ],
    );
}

#[test]
fn of_gemini_live() {
    let call = json!({"toolCall": {"functionCalls": [{"id": "g1", "name": "f", "args": {}}]}});
    let done = json!({"serverContent": {"turnComplete": true}});
    let told = json!({"toolResponse": {"functionResponses": [{"id": "g1", "name": "f"}]}});
    let asked = json!({"client_content": {"turns": []}});
    let user = json!({"serverContent": {"modelTurn": {"role": "user", "parts": []}}});
    let not_models = role("user");
    check_all(
        Dialect::GeminiLive,
        &[
            (call.clone(), Ok(&["f g1"])),
            (json!([call, done]), Ok(&["f g1"])),
            (json!([call, told, done]), RESULT),
            (json!([asked, call]), REQUEST),
            (json!([call, user]), Err(&not_models)),
        ],
    );
}

#[test]
fn of_responses() {
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let told = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "done"});
    let words = |role: &str| json!({"type": "message", "role": role, "content": [{"type": "output_text", "text": "x"}]});
    let response =
        |output: Value| json!({"object": "response", "status": "completed", "output": output});
    let thought = json!({"type": "reasoning", "id": "r1", "summary": []});
    let searched = json!({"type": "web_search_call", "id": "w1", "status": "completed"});
    let shell = json!({"type": "shell_call_output", "call_id": "s1", "output": []});
    let other =
        json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{\"a\":1}"});
    let (user, taken): (_, Result<&[&str], &str>) = (role("user"), Ok(&["f c1"]));
    check_all(
        Dialect::OpenAiResponses,
        &[
            (call("c1"), taken),
            (json!([thought, searched, shell, words("assistant"), call("c1")]), taken),
            (json!([{"role": "assistant", "content": "x"}, call("c1")]), taken),
            (json!([call("c1"), call("c2")]), Ok(&["f c1", "f c2"])),
            (response(json!([thought, call("c1")])), taken),
            (response(json!([shell, told("c0"), call("c1")])), taken),
            (response(json!([call("c1"), told("c1"), call("c2")])), RESULT),
            (json!([call("c1"), told("c1"), call("c2")]), RESULT),
            (json!([told("c0"), call("c1")]), RESULT),
            (json!([{"role": "user", "content": "x"}, call("c1")]), Err(&user)),
            (json!([words("user"), call("c1")]), Err(&user)),
            (json!([words("developer"), call("c1")]), Err("`developer`")),
            (response(json!([words("system"), call("c1")])), Err("`system`")),
            (json!([{"type": "item_reference", "id": "i1"}, call("c1")]), REQUEST),
            (json!({"model": "m", "input": [call("c1")]}), REQUEST),
            (json!([response(json!([call("c1")])), told("c1")]), RESULT),
            (json!([response(json!([call("c1")])), call("c2")]), SEVERAL),
            (json!([call("c1"), call("c1")]), taken),
            (response(json!([call("c1"), call("c1")])), taken),
            (json!([call("c1"), other]), Ok(&["f c1", "f c1 same_id"])),
        ],
    );
    let events = |more: Value| {
        let done = json!({"type": "response.completed", "response": response(json!([call("c1")]))});
        let added =
            json!({"type": "response.output_item.added", "output_index": 0, "item": call("c1")});
        json!([added, {"type": "keepalive"}, done, more]).to_string()
    };
    check(Dialect::OpenAiResponses, &events(json!({"type": "ping"})), taken);
    check(Dialect::OpenAiResponses, &events(told("c1")), RESULT);
    let next = json!({"type": "response.created", "response": {"id": "r2"}});
    check(Dialect::OpenAiResponses, &events(next), SEVERAL);
    // Realtime tells of what the conversation holds: only a result of what would be run is too much.
    let item = |item: Value| json!({"type": "conversation.item.done", "item": item});
    for (more, expected) in [
        (item(words("user")), taken),
        (item(told("c0")), taken),
        (item(told("c1")), RESULT),
        (json!({"type": "conversation.item.create", "item": told("c1")}), RESULT),
    ] {
        check(Dialect::OpenAiRealtime, &events(more), expected);
    }
}

#[test]
fn of_requests() {
    let call = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "f", "arguments": {}}});
    let told = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}});
    check_all(
        Dialect::Mcp,
        &[
            (call(1), Ok(&["f 1"])),
            (json!([call(1), call(2), call(1)]), Ok(&["f 1", "f 2"])),
            (json!([call(1), told, call(2)]), RESULT),
        ],
    );
    let call = json!({"name": "f", "args": {}});
    let told = json!({"name": "f", "status": "SUCCESS", "content": null});
    check_all(
        Dialect::Adm,
        &[(json!([call, call]), Ok(&["f -", "f -"])), (json!([call, told]), RESULT)],
    );
}
