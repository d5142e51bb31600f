//! Gemini `generateContent`.

use haft_wire::{Close, Dialect, RawJson, Turn};

use super::{check, check_bytes, events};

#[track_caller]
fn stream(lines: &str, expected: &[&str]) -> Turn {
    check(Dialect::Gemini, &events(lines), expected)
}

#[track_caller]
fn repeats(turn: &Turn, expected: &[&str]) {
    assert_eq!(turn.replay.iter().map(RawJson::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn parts_keep_their_signatures_and_text_is_joined() {
    let turn = stream(
        r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"A"}]}}]}
           {"candidates":[{"content":{"parts":[{"text":"B"},{"text":"","thoughtSignature":"s1"}]}}],"usageMetadata":{"promptTokenCount":3}}
           {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":1.50}},"thoughtSignature":"s2"},{"function_call":{"name":"g","id":"i"}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"thoughtsTokenCount":5}}"#,
        &[
            "reasoning hm",
            "text AB",
            "call 0 - f {\"n\":1.50}",
            "call 1 i g ",
            "end calls `STOP` 3/9",
        ],
    );
    repeats(
        &turn,
        &[
            r#"{"role":"model","parts":[{"text":"hm","thought":true},{"text":"AB"},{"text":"","thoughtSignature":"s1"},{"functionCall":{"name":"f","args":{"n":1.50}},"thoughtSignature":"s2"},{"function_call":{"name":"g","id":"i","args":{}}}]}"#,
        ],
    );
}

/// It may be the word of a filter that is new.
#[test]
fn calls_before_a_word_that_we_do_not_know_are_withheld() {
    stream(
        r#"{"candidates":[{"content":{"parts":[{"text":"A"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"NEW_FILTER"}]}"#,
        &["text A", "no call f withheld (dropped)", "end {\"other\":\"NEW_FILTER\"} `NEW_FILTER`"],
    );
}

#[test]
fn a_reason_ends_it_and_nothing_else_does() {
    let call =
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#;
    stream(call, &["no call f cut (dropped)", "end cut [cut]"]);
    let with = |reason: &str| {
        format!(
            "{call}\n{{\"candidates\":[{{\"finishReason\":\"{reason}\",\"finishMessage\":\"m\"}}]}}"
        )
    };
    for (reason, expected) in [
        ("MAX_TOKENS", ["no call f cut (dropped)", "end length `MAX_TOKENS`"]),
        ("SAFETY", ["no call f withheld (dropped)", "end filtered `SAFETY`"]),
        (
            "MALFORMED_FUNCTION_CALL",
            [
                "no call f cut (dropped)",
                "end failed `MALFORMED_FUNCTION_CALL` [MALFORMED_FUNCTION_CALL]",
            ],
        ),
        ("FINISH_REASON_UNSPECIFIED", ["no call f cut (dropped)", "end cut [cut]"]),
    ] {
        stream(&with(reason), &expected);
    }
    let body = events(&with("STOP"));
    check_bytes(
        Dialect::Gemini,
        body.as_bytes(),
        Close::Reset,
        &["no call f cut (dropped)", "end cut [reset]"],
    );
}

#[test]
fn arguments_in_pieces() {
    let part = |call: &str| {
        format!(
            "{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{call}}}]}}}}]}}\n"
        )
    };
    let begin = part(r#"{"name":"f","id":"p","willContinue":true}"#);
    let piece = part(
        r#"{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}"#,
    );
    let last = part(
        r#"{"partialArgs":[{"jsonPath":"$.a","stringValue":"y"},{"jsonPath":"$.b[0]","numberValue":2}]}"#,
    );
    let empty = part("{}");
    let stop = r#"{"candidates":[{"finishReason":"STOP"}]}"#;
    let turn = stream(
        &[&begin, &piece, &last, &empty, stop].map(|line: &str| line.to_owned()).concat(),
        &["call 0 p f {\"a\":\"xy\",\"b\":[2]}", "end calls `STOP`"],
    );
    repeats(
        &turn,
        &[
            r#"{"role":"model","parts":[{"functionCall":{"name":"f","id":"p","args":{"a":"xy","b":[2]}}}]}"#,
        ],
    );
    stream(&format!("{begin}{piece}{stop}"), &["no call f cut (answered)", "end calls `STOP`"]);
    let whole = part(r#"{"name":"g","args":{}}"#);
    stream(
        &format!("{begin}{piece}{whole}{stop}"),
        &["no call f cut (answered)", "call 1 - g {}", "end calls `STOP`"],
    );
    stream(&format!("{last}{stop}"), &["no call  unnamed (dropped)", "end stop `STOP`"]);
}

#[test]
fn arrays_whole_responses_and_content_alone() {
    let response = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":[1,{"b":"]}"}]}}}]},"finish_reason":"STOP"}]}"#;
    let said = ["call 0 - f {\"a\":[1,{\"b\":\"]}\"}]}", "end calls `STOP`"];
    check(Dialect::Gemini, response, &said);
    check(
        Dialect::Gemini,
        &format!(
            "[{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"x\"}}]}}}}]}}\r\n,\n{response}]\n"
        ),
        &["text x", said[0], said[1]],
    );
    // The array was not closed.
    check(Dialect::Gemini, &format!("[{response}"), &["no call f cut (dropped)", "end cut [cut]"]);
    check(
        Dialect::Gemini,
        r#"{"role":"model","parts":[{"functionCall":{"name":"f"}}]}"#,
        &["call 0 - f ", "end calls"],
    );
    check(
        Dialect::Gemini,
        r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#,
        &["end failed [RESOURCE_EXHAUSTED]"],
    );
    check(
        Dialect::Gemini,
        r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
        &["end filtered `SAFETY` [SAFETY]"],
    );
    check(
        Dialect::Gemini,
        &format!("{response} oops"),
        &["no call f cut (dropped)", "end failed [bad_json]"],
    );
}

#[test]
fn candidates_are_judged_each_for_itself() {
    stream(
        r#"{"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"functionCall":{"name":"g"}}]},"finishReason":"SAFETY"}]}"#,
        &["call 0 - f ", "no call g withheld (dropped)", "end calls `STOP`"],
    );
}

#[test]
fn a_word_that_forbids_the_calls_is_not_taken_back() {
    stream(
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]},"finishReason":"MAX_TOKENS"}]}
           {"candidates":[{"finishReason":"STOP"}]}"#,
        &["no call f cut (dropped)", "end length `MAX_TOKENS`"],
    );
}

/// A piece may name its call again.
#[test]
fn pieces_that_repeat_the_id_of_their_call_belong_to_it() {
    let part = |call: &str| {
        format!(
            "{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"functionCall\":{call}}}]}}}}]}}\n"
        )
    };
    let begin = part(r#"{"name":"f","id":"p","willContinue":true}"#);
    let more = part(
        r#"{"name":"f","id":"p","partialArgs":[{"jsonPath":"$.a","stringValue":"x"}],"willContinue":true}"#,
    );
    let last = part(r#"{"name":"f","id":"p"}"#);
    let end = r#"{"candidates":[{"finishReason":"STOP"}]}"#;
    stream(&format!("{begin}{more}{last}{end}"), &["call 0 p f {\"a\":\"x\"}", "end calls `STOP`"]);
}

/// Only the first of several alternatives is run.
#[test]
fn alternatives_without_an_index_are_told_apart_by_their_place() {
    stream(
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]},"finishReason":"STOP"},{"content":{"parts":[{"functionCall":{"name":"g"}}]},"finishReason":"STOP"}]}"#,
        &["call 0 - f ", "call 0 of 1 - g ", "end calls `STOP`"],
    );
}
