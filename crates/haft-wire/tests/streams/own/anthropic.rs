//! Anthropic Messages.

use haft_wire::{Dialect, RawJson, Turn};

use super::{check, events};

#[track_caller]
fn stream(lines: &str, expected: &[&str]) -> Turn {
    check(Dialect::Anthropic, &events(lines), expected)
}

#[track_caller]
fn repeats(turn: &Turn, expected: &[&str]) {
    assert_eq!(turn.replay.iter().map(RawJson::as_str).collect::<Vec<_>>(), expected);
}

const START: &str = r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":20,"output_tokens":1}}}"#;
const CALL: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{},"caller":{"type":"direct"}}}
    {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}}
    {"type":"ping"}
    {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"10000000000000000000000001}"}}"#;
const STOP: &str = r#"{"type":"content_block_stop","index":0}"#;

fn ends(reason: &str) -> String {
    format!(
        "{{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}},\"usage\":{{\"output_tokens\":9}}}}\n{{\"type\":\"message_stop\"}}"
    )
}

/// It may be the word of a filter that is new.
#[test]
fn calls_before_a_word_that_we_do_not_know_are_withheld() {
    let filtered = ends("new_filter");
    stream(
        &format!("{START}\n{CALL}\n{STOP}\n{filtered}"),
        &["no call f withheld (dropped)", "end {\"other\":\"new_filter\"} `new_filter` 25/9"],
    );
}

#[test]
fn calls_wait_for_the_message() {
    let used = ends("tool_use");
    let turn = stream(
        &format!("{START}\n{CALL}\n{STOP}\n{used}"),
        &["call 0 t1 f {\"n\":10000000000000000000000001}", "end calls `tool_use` 25/9"],
    );
    repeats(
        &turn,
        &[
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{"n":10000000000000000000000001},"caller":{"type":"direct"}}]}"#,
        ],
    );
    let no = "no call f cut (dropped)";
    stream(&format!("{START}\n{CALL}\n{STOP}"), &[no, "end cut 25/1 [cut]"]);
    stream(
        &format!("{CALL}\n{STOP}\n{}", ends("max_tokens")),
        &[no, "end length `max_tokens` 0/9"],
    );
    stream(
        &format!("{CALL}\n{STOP}\n{}", ends("refusal")),
        &["no call f withheld (dropped)", "end refused `refusal` 0/9"],
    );
    stream(
        &format!(
            "{CALL}\n{STOP}\n{{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"m\"}}}}"
        ),
        &[no, "end failed [overloaded_error]"],
    );
    // The block was not closed, the message was.
    stream(&format!("{CALL}\n{used}"), &["no call f cut (answered)", "end calls `tool_use` 0/9"]);
    // The reason was said and every block closed; only the last event is missing.
    let (reason, _) = used.split_once('\n').unwrap();
    stream(
        &format!("{CALL}\n{STOP}\n{reason}"),
        &["call 0 t1 f {\"n\":10000000000000000000000001}", "end calls `tool_use` 0/9"],
    );
    stream(&format!("{CALL}\n{reason}"), &[no, "end cut 0/9 [cut]"]);
}

#[test]
fn what_contradicts_itself_is_not_run() {
    stream(
        &format!(
            "{START}\n{{\"type\":\"content_block_delta\",\"index\":3,\"delta\":{{\"partial_json\":\"{{}}\"}}}}\n{}",
            ends("tool_use")
        ),
        &["end failed 25/1 [contradiction]"],
    );
    stream(
        &format!("{CALL}\n{CALL}\n{STOP}\n{}", ends("tool_use")),
        &["no call f cut (dropped)", "end failed [contradiction]"],
    );
    let late = r#"{"type":"content_block_delta","index":0,"delta":{"partial_json":" "}}"#;
    stream(
        &format!("{CALL}\n{STOP}\n{late}\n{}", ends("tool_use")),
        &["no call f contradiction (answered)", "end calls `tool_use` 0/9"],
    );
}

/// A piece of another kind than its block went astray, and so may others have.
#[test]
fn pieces_that_are_none_of_their_block() {
    let used = ends("tool_use");
    let end = "end calls `tool_use` 0/9";
    for (delta, shown) in [
        (r#"{"type":"text_delta","text":"Hi"}"#, "text Hi"),
        (r#"{"type":"thinking_delta","thinking":"hm"}"#, "reasoning hm"),
    ] {
        let astray = format!("{{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{delta}}}");
        let turn = stream(
            &format!("{CALL}\n{astray}\n{STOP}\n{used}"),
            &[shown, "no call f contradiction (answered)", end],
        );
        assert_eq!(turn.broken[0].call.arguments, "{\"n\":10000000000000000000000001}");
    }
    // Empty ones say nothing.
    let empty = r#"{"type":"content_block_delta","index":0,"delta":{"text":"","thinking":""}}"#;
    stream(
        &format!("{CALL}\n{empty}\n{STOP}\n{used}"),
        &["call 0 t1 f {\"n\":10000000000000000000000001}", end],
    );
    let text = r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"A"}}
        {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}
        {"type":"content_block_stop","index":1}"#;
    stream(
        &format!("{CALL}\n{STOP}\n{text}\n{used}"),
        &["text A", "no call f cut (dropped)", "end failed [contradiction]"],
    );
}

/// Who asks a provider again in mid-answer must not have the calls of both answers run.
#[test]
fn a_message_inside_of_another_is_none() {
    let used = ends("tool_use");
    stream(
        &format!("{START}\n{CALL}\n{STOP}\n{START}\n{CALL}\n{STOP}\n{used}"),
        &["no call f cut (dropped)", "end failed 25/1 [contradiction]"],
    );
    // Said twice before anything else, it says the same.
    stream(
        &format!("{START}\n{START}\n{CALL}\n{STOP}\n{used}"),
        &["call 0 t1 f {\"n\":10000000000000000000000001}", "end calls `tool_use` 25/9"],
    );
}

/// An index is a name that may be given again, once what had it is over.
#[test]
fn a_block_may_have_the_index_of_one_that_is_over() {
    let other = CALL.replace("t1", "t2").replace("10000000000000000000000001", "2");
    stream(
        &format!("{CALL}\n{STOP}\n{other}\n{STOP}\n{}", ends("tool_use")),
        &[
            "call 0 t1 f {\"n\":10000000000000000000000001}",
            "call 1 t2 f {\"n\":2}",
            "end calls `tool_use` 0/9",
        ],
    );
}

#[test]
fn thinking_is_repeated_with_its_signature() {
    let turn = stream(
        &format!(
            r#"{{"type":"content_block_start","index":0,"content_block":{{"type":"thinking","thinking":"","signature":""}}}}
            {{"type":"content_block_delta","index":0,"delta":{{"type":"thinking_delta","thinking":"hm"}}}}
            {{"type":"content_block_delta","index":0,"delta":{{"type":"signature_delta","signature":"Eq=="}}}}
            {STOP}
            {{"type":"content_block_start","index":1,"content_block":{{"type":"redacted_thinking","data":"x"}}}}
            {{"type":"content_block_stop","index":1}}
            {{"type":"content_block_start","index":3,"content_block":{{"type":"text","text":""}}}}
            {{"type":"content_block_delta","index":3,"delta":{{"type":"text_delta","text":"ok"}}}}
            {{"type":"content_block_delta","index":3,"delta":{{"type":"citations_delta","citation":{{"p":1}}}}}}
            {{"type":"content_block_stop","index":3}}
            {}"#,
            ends("pause_turn")
        ),
        &["reasoning hm", "text ok", "end paused `pause_turn` 0/9"],
    );
    repeats(
        &turn,
        &[
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq=="},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"ok","citations":[{"p":1}]}]}"#,
        ],
    );
}

#[test]
fn named_events_go_by_their_name() {
    let body = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
        event: ping\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"lost\"}}\n\n\
        event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"kept\"}}\n\n\
        event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"e\",\"message\":\"m\"}}\n\n";
    check(Dialect::Anthropic, body, &["text kept", "end failed [e]"]);
}

#[test]
fn whole_messages_and_messages_alone() {
    let content = r#"[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"f","input":{"a":1,"a":2}},{"type":"tool_use","id":"u","name":"g","input":[1]}]"#;
    let said = ["text Hi", "call 0 t f {\"a\":1,\"a\":2}", "no call g not_object (answered)"];
    let turn = check(
        Dialect::Anthropic,
        &format!(
            r#"{{"type":"message","role":"assistant","content":{content},"stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":2}}}}"#
        ),
        &[said[0], said[1], said[2], "end calls `tool_use` 1/2"],
    );
    repeats(
        &turn,
        &[
            r#"{"role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"f","input":{"a":1,"a":2}},{"type":"tool_use","id":"u","name":"g","input":{"INVALID_JSON":"[1]"}}]}"#,
        ],
    );
    check(
        Dialect::Anthropic,
        &format!(r#"{{"role":"assistant","content":{content}}}"#),
        &[said[0], said[1], said[2], "end calls"],
    );
    check(Dialect::Anthropic, r#"{"role":"assistant","content":"Hi"}"#, &["text Hi", "end stop"]);
    check(
        Dialect::Anthropic,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"},"request_id":"r"}"#,
        &["end failed [invalid_request_error]"],
    );
}

#[test]
fn a_word_that_forbids_the_calls_is_not_taken_back() {
    let first = r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#;
    stream(
        &format!("{CALL}\n{STOP}\n{first}\n{}", ends("tool_use")),
        &["no call f cut (dropped)", "end length `max_tokens` 0/9"],
    );
}

/// The event's name says that it is one, whatever its body looks like.
#[test]
fn an_error_is_one_by_its_name() {
    let before = events(&format!("{START}\n{CALL}\n{STOP}"));
    let after = events(&ends("tool_use"));
    for (body, code) in [
        (r#"{"message":"overloaded"}"#, "end failed 25/1 [overloaded]"),
        (r#"{"type":"overloaded_error","message":"wait"}"#, "end failed 25/1 [overloaded_error]"),
        ("overloaded", "end failed 25/1 [error]"),
    ] {
        let text = format!("{before}event: error\ndata: {body}\n\n{after}");
        check(Dialect::Anthropic, &text, &["no call f cut (dropped)", code]);
    }
}
