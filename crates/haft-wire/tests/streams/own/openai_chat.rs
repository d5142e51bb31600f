//! OpenAI Chat Completions.

use haft_wire::{Close, Dialect, Turn};

use super::{check, check_bytes, events};

#[track_caller]
fn stream(lines: &str, expected: &[&str]) -> Turn {
    check(Dialect::OpenAiChat, &events(lines), expected)
}

/// Deltas of one alternative's calls, a reason, and the end.
#[track_caller]
fn calls(deltas: &[&str], reason: &str, expected: &[&str]) -> Turn {
    let mut lines = String::new();
    for delta in deltas {
        lines += &format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{delta}]}}}}]}}\n");
    }
    lines +=
        &format!("{{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n[DONE]");
    stream(&lines, expected)
}

const F: &str = r#"{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\":1}"}}"#;
const G: &str = r#"{"index":1,"id":"c2","function":{"name":"g","arguments":"{}"}}"#;

#[test]
fn text_flows_and_calls_come_before_the_end() {
    stream(
        r#"{"choices":[{"delta":{"role":"assistant","content":"Grüß "}}]}
           {"choices":[{"delta":{"content":"dich"}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}]}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"g"}}]}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}
           {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}
           {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":7}}
           [DONE]
           {"never":"read"}"#,
        &["text Grüß dich", "call 0 c1 f {\"a\":1}", "call 1 c2 g ", "end calls `tool_calls` 12/7"],
    );
}

#[test]
fn a_message_that_is_not_complete_has_no_calls() {
    calls(&[F], "length", &["no call f cut (dropped)", "end length `length`"]);
    calls(
        &[F],
        "content_filter",
        &["no call f withheld (dropped)", "end filtered `content_filter`"],
    );
    calls(&[F], "error", &["no call f cut (dropped)", "end failed `error`"]);
    // Unknown words end a message all the same.
    calls(&[F], "weird", &["call 0 c1 f {\"a\":1}", "end {\"other\":\"weird\"} `weird`"]);
    calls(&[F], "stop", &["call 0 c1 f {\"a\":1}", "end calls `stop`"]);
}

#[test]
fn a_stream_that_does_not_end_properly_has_no_calls() {
    let delta = format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{F}]}}}}]}}");
    let done = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;
    stream(&delta, &["no call f cut (dropped)", "end cut [cut]"]);
    stream(&format!("{delta}\n[DONE]"), &["no call f cut (dropped)", "end cut [cut]"]);
    stream(
        &format!("{delta}\n{{oops\n[DONE]"),
        &["no call f cut (dropped)", "end failed [bad_json]"],
    );
    let whole = events(&format!("{delta}\n{done}"));
    check(Dialect::OpenAiChat, &whole, &["call 0 c1 f {\"a\":1}", "end calls `tool_calls`"]);
    check_bytes(
        Dialect::OpenAiChat,
        whole.as_bytes(),
        Close::Reset,
        &["no call f cut (dropped)", "end cut [reset]"],
    );
}

#[test]
fn which_call_a_delta_belongs_to() {
    let both = ["call 0 c1 f {\"a\":1}", "call 1 c2 g {}", "end calls `tool_calls`"];
    calls(&[G, F], "tool_calls", &both);
    // Every call is numbered 0.
    calls(&[F, &G.replace("\"index\":1", "\"index\":0")], "tool_calls", &both);
    // No index at all, in two chunks and in one.
    let (f, g) = (F.replace("\"index\":0,", ""), G.replace("\"index\":1,", ""));
    calls(&[&f, &g], "tool_calls", &both);
    calls(&[&format!("{f},{g}")], "tool_calls", &both);
    // A new id for each delta, and no id at all.
    calls(
        &[
            r#"{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"a\""}}"#,
            r#"{"index":0,"id":"x9","function":{"arguments":":1}"}}"#,
        ],
        "tool_calls",
        &["call 0 c1 f {\"a\":1}", "end calls `tool_calls`"],
    );
    let turn = calls(
        &[r#"{"function":{"name":"f","arguments":"{"}}"#, r#"{"function":{"arguments":"}"}}"#],
        "tool_calls",
        &["call 0 - f {}", "end calls `tool_calls`"],
    );
    // Without an id it can be answered all the same.
    assert_eq!(turn.calls[0].answer_id(), "call_0");
    assert!(turn.replay[0].as_str().contains(r#""id":"call_0""#));
    // A name in two pieces, and a name said twice.
    calls(
        &[
            r#"{"index":0,"function":{"name":"get_","arguments":""}}"#,
            r#"{"index":0,"function":{"name":"it","arguments":"{}"}}"#,
        ],
        "tool_calls",
        &["call 0 - get_it {}", "end calls `tool_calls`"],
    );
    calls(
        &[
            r#"{"index":0,"function":{"name":"f","arguments":"{"}}"#,
            r#"{"index":0,"function":{"name":"f","arguments":"}"}}"#,
        ],
        "tool_calls",
        &["call 0 - f {}", "end calls `tool_calls`"],
    );
}

/// Nothing but their names and that the arguments before are whole tells these calls apart.
#[test]
fn calls_that_are_all_numbered_alike_and_have_no_ids() {
    let three =
        ["call 0 - f {\"a\":1}", "call 1 - f {\"a\":2}", "call 2 - g {}", "end calls `tool_calls`"];
    let whole = |index: &str, id: &str| {
        [("f", "{\\\"a\\\":1}"), ("f", "{\\\"a\\\":2}"), ("g", "{}")].map(|(name, text)| {
            format!("{{{index}{id}\"function\":{{\"name\":\"{name}\",\"arguments\":\"{text}\"}}}}")
        })
    };
    for index in ["", "\"index\":0,"] {
        for id in ["", "\"id\":\"\",", "\"id\":null,"] {
            let each = whole(index, id);
            calls(&each.each_ref().map(String::as_str), "tool_calls", &three);
            calls(&[&each.join(",")], "tool_calls", &three);
        }
        // Each in pieces: the name, then the arguments.
        let pieces: Vec<String> = [
            r#""name":"f","arguments":"""#,
            r#""arguments":"{\"a\"""#,
            r#""arguments":":1}""#,
            r#""name":"f","arguments":"""#,
            r#""arguments":"{\"a\":""#,
            r#""arguments":"2}""#,
            r#""name":"g""#,
            r#""arguments":"{}""#,
        ]
        .map(|function| format!("{{{index}\"function\":{{{function}}}}}"))
        .into();
        calls(&pieces.iter().map(String::as_str).collect::<Vec<_>>(), "tool_calls", &three);
    }
    // Without arguments, in one chunk.
    calls(
        &[r#"{"function":{"name":"f"}},{"function":{"name":"g"}}"#],
        "tool_calls",
        &["call 0 - f ", "call 1 - g ", "end calls `tool_calls`"],
    );
    // A name after arguments that are not whole, and the same id for all of them.
    calls(
        &[
            r#"{"index":0,"function":{"name":"f","arguments":"{\"a\":"}}"#,
            r#"{"index":0,"function":{"name":"g","arguments":"{}"}}"#,
        ],
        "tool_calls",
        &["no call f cut (answered)", "call 1 - g {}", "end calls `tool_calls`"],
    );
    calls(
        &[
            r#"{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}"#,
            r#"{"index":0,"id":"c","function":{"name":"g","arguments":"{}"}}"#,
        ],
        "tool_calls",
        &["call 0 c f {}", "call 1 c g {}", "end calls `tool_calls`"],
    );
}

/// Some say name and id with each piece, also with one that is empty and comes after all others.
#[test]
fn a_name_that_comes_with_each_piece_makes_one_call() {
    let one = |id: &str| [format!("call 0 {id} f {{\"a\":{{}}}}"), "end calls `tool_calls`".into()];
    for index in ["", "\"index\":0,"] {
        for (field, id) in [("", "-"), ("\"id\":\"c1\",", "c1")] {
            let deltas = ["", "{\\\"a\\\":{", "}", "}", ""].map(|piece| {
                format!(
                    "{{{index}{field}\"function\":{{\"name\":\"f\",\"arguments\":\"{piece}\"}}}}"
                )
            });
            for deltas in [&deltas[..], &deltas[..4]] {
                let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
                calls(&deltas, "tool_calls", &one(id).each_ref().map(String::as_str));
            }
        }
    }
    // An id that comes late, with the name again.
    calls(
        &[
            r#"{"function":{"name":"f"}}"#,
            r#"{"id":"c1","function":{"name":"f","arguments":"{}"}}"#,
        ],
        "tool_calls",
        &["call 0 c1 f {}", "end calls `tool_calls`"],
    );
}

/// The words of Gemini's OpenAI door.
#[test]
fn words_that_say_more_than_openai_s_do() {
    let word = "function_call_filter: MALFORMED_FUNCTION_CALL";
    let failed = format!("end failed `{word}` [MALFORMED_FUNCTION_CALL]");
    calls(&[F], word, &["no call f cut (dropped)", &failed]);
    let word = "content_filter: RECITATION";
    let withheld = format!("end filtered `{word}`");
    calls(&[F], word, &["no call f withheld (dropped)", &withheld]);
}

#[test]
fn arguments_that_are_no_object_are_no_call() {
    let with = |arguments: &str| {
        let arguments = serde_json::to_string(arguments).unwrap();
        format!(r#"{{"index":0,"id":"c","function":{{"name":"f","arguments":{arguments}}}}}"#)
    };
    let end = "end calls `tool_calls`";
    for (arguments, expected) in [
        ("{\"a\":", "no call f cut (answered)"),
        ("{a: 1}", "no call f not_json (answered)"),
        ("{} {}", "no call f not_json (answered)"),
        ("[1]", "no call f not_object (answered)"),
        ("null", "no call f not_object (answered)"),
        ("\"x\"", "no call f not_object (answered)"),
        ("", "call 0 c f "),
        (" {\"a\":1,\"a\":2} ", "call 0 c f  {\"a\":1,\"a\":2} "),
        ("\"{\\\"a\\\":1}\"", "call 0 c f \"{\\\"a\\\":1}\""),
    ] {
        calls(&[&with(arguments)], "tool_calls", &[expected, end]);
    }
    // An imitator's object instead of text.
    calls(
        &[
            r#"{"index":0,"id":"c","function":{"name":"f","arguments":{"big":12345678901234567890123}}}"#,
        ],
        "tool_calls",
        &["call 0 c f {\"big\":12345678901234567890123}", end],
    );
    calls(
        &[r#"{"index":0,"id":"c","function":{"arguments":"{}"}}"#],
        "tool_calls",
        &["no call  unnamed (dropped)", "end stop `tool_calls`"],
    );
}

#[test]
fn halves_of_a_character_find_each_other() {
    stream(
        r#"{"choices":[{"delta":{"content":"\ud83d"}}]}
           {"choices":[{"delta":{"content":"\ude00 a\udc00b"}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"e\":\"\ud83d"}}]}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\ude00\ud800\"}"}}]}}]}
           {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        &["text 😀 a\u{fffd}b", "call 0 c f {\"e\":\"😀\\ud800\"}", "end calls `tool_calls`"],
    );
}

#[test]
fn errors_are_told() {
    stream(
        r#"{"choices":[{"delta":{"content":"x"}}]}
           {"error":{"message":"overloaded","type":"server_error","code":"busy"}}
           {"choices":[{"delta":{"content":"y"}}]}"#,
        &["text x", "end failed [busy]"],
    );
    for (body, expected) in [
        (r#"{"error":{"message":"m","type":"t","code":null}}"#, "end failed [t]"),
        (r#"{"error":"no such model"}"#, "end failed [no such model]"),
        (r#"{"object":"error","message":"m","code":404}"#, "end failed [404]"),
        (r#"{"detail":"Not Found"}"#, "end failed [Not Found]"),
        ("<html>502 Bad Gateway</html>", "end failed [not_a_stream]"),
        ("", "end cut [empty]"),
        ("\u{feff} \r\n ", "end cut [empty]"),
        ("{\"choices\":", "end cut [cut]"),
        ("event: error\ndata: {\"message\":\"m\",\"code\":\"slow\"}\n\n", "end failed [slow]"),
        (": hello\n\n{\"error\":{\"message\":\"m\",\"code\":\"late\"}}", "end failed [late]"),
    ] {
        check(Dialect::OpenAiChat, body, &[expected]);
    }
    check_bytes(
        Dialect::OpenAiChat,
        b"data: {\"\xff\":1}\n\n",
        Close::Eof,
        &["end failed [bad_utf8]"],
    );
}

#[test]
fn the_rules_of_events() {
    let said = ["text a\u{2028}b", "end stop `stop`"];
    for body in [
        "\u{feff}data: {\"choices\":[{\"delta\":{\"content\":\"a\u{2028}b\"}}]}\r\n\r\ndata:{\"choices\":[{\"finish_reason\":\"stop\"}]}\r\n\r\n",
        ": ping\rdata: {\"choices\":[\rdata: {\"delta\":{\"content\":\"a\u{2028}b\"}}]}\r\rid: 7\rretry: 10\rdata: {\"choices\":[{\"finish_reason\":\"stop\"}]}",
        "\n\n\ndata\n\nunknown: field\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\u{2028}b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]",
    ] {
        check(Dialect::OpenAiChat, body, &said);
    }
}

#[test]
fn alternatives_are_judged_each_for_itself() {
    stream(
        r#"{"choices":[{"index":1,"delta":{"content":"B","tool_calls":[{"index":0,"id":"z","function":{"name":"g","arguments":"{}"}}]}}]}
           {"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}
           [DONE]"#,
        &["text 1: B", "text A", "no call g cut (dropped)", "end stop `stop`"],
    );
    stream(
        r#"{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"z","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}
           {"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":"length"}]}
           [DONE]"#,
        &["text A", "no call g cut (dropped)", "end length `length`"],
    );
}

#[test]
fn whole_completions_and_messages_alone() {
    let message = r#"{"role":"assistant","content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"f","arguments":"{\"n\":1.0}"}},
        {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let calls = ["call 0 c1 f {\"n\":1.0}", "call 1 c1 f {}"];
    check(Dialect::OpenAiChat, message, &[calls[0], calls[1], "end calls"]);
    check(
        Dialect::OpenAiChat,
        &format!(
            r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":1,"completion_tokens":2}}}}"#
        ),
        &[calls[0], calls[1], "end calls `tool_calls` 1/2"],
    );
    check(
        Dialect::OpenAiChat,
        r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}"#,
        &["call 0 - f {}", "end calls"],
    );
}

#[test]
fn what_the_next_request_repeats() {
    let turn = stream(
        r#"{"choices":[{"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}
           {"choices":[{"delta":{"content":"ok","reasoning_details":[{"type":"t","data":"x"}]}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{ \"n\": 1.0 }"},"extra_content":{"google":{"thought_signature":"s"}}}]}}]}
           {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"g","arguments":"{oops"}}]}}]}
           {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        &[
            "reasoning hm",
            "text ok",
            "call 0 c1 f { \"n\": 1.0 }",
            "no call g not_json (answered)",
            "end calls `tool_calls`",
        ],
    );
    assert_eq!(
        turn.replay.iter().map(haft_wire::RawJson::as_str).collect::<Vec<_>>(),
        [
            r#"{"role":"assistant","content":"ok","reasoning_content":"hm","reasoning_details":[{"type":"t","data":"x"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{ \"n\": 1.0 }"},"extra_content":{"google":{"thought_signature":"s"}}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{\"INVALID_JSON\":\"{oops\"}"}}]}"#
        ]
    );
    // Nothing was said: nothing is repeated.
    assert!(stream("{\"error\":{\"message\":\"m\"}}", &["end failed [m]"]).replay.is_empty());
}

#[test]
fn refusals_and_thinking_parts() {
    stream(
        r#"{"choices":[{"delta":{"refusal":"I won"}}]}
           {"choices":[{"delta":{"refusal":"'t."},"finish_reason":"stop"}]}"#,
        &["refusal I won", "refusal 't.", "end refused `stop`"],
    );
    stream(
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}
           {"choices":[{"delta":{"content":[{"type":"text","text":"ok"}]},"finish_reason":"stop"}]}"#,
        &["reasoning hm", "text ok", "end stop `stop`"],
    );
}

#[test]
fn a_word_that_forbids_the_calls_is_not_taken_back() {
    let delta = format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{F}]}}}}]}}");
    for (bad, end) in [("length", "length"), ("content_filter", "filtered")] {
        let word =
            |word| format!("{{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"{word}\"}}]}}");
        let lines = format!("{delta}\n{}\n{}\n[DONE]", word(bad), word("tool_calls"));
        let broken = if bad == "length" { "cut" } else { "withheld" };
        let expected = [format!("no call f {broken} (dropped)"), format!("end {end} `{bad}`")];
        stream(&lines, &expected.each_ref().map(String::as_str));
    }
}

#[test]
fn a_call_in_free_text_is_none_of_ours_and_is_answered() {
    let turn = calls(
        &[
            r#"{"index":0,"id":"c1","type":"custom","custom":{"name":"patch","input":"*** Beg"}}"#,
            r#"{"index":1,"id":"c2","function":{"name":"g","arguments":"{}"}}"#,
            r#"{"index":0,"custom":{"input":"in {\"a\":1}"}}"#,
        ],
        "tool_calls",
        &["no call patch free_text (answered)", "call 1 c2 g {}", "end calls `tool_calls`"],
    );
    assert_eq!(turn.broken[0].call.arguments, "*** Begin {\"a\":1}");
    let replay = turn.replay[0].value().unwrap();
    assert_eq!(
        replay["tool_calls"][0],
        serde_json::json!({
            "id": "c1", "type": "custom",
            "custom": {"name": "patch", "input": "*** Begin {\"a\":1}"},
        })
    );
    // Also where the text could be arguments, where there is none, and in a whole message.
    let empty = r#"{"index":0,"id":"c1","type":"custom"}"#;
    let named = r#"{"index":0,"custom":{"name":"f","input":"{}"}}"#;
    let no = ["no call f free_text (answered)", "end calls `stop`"];
    calls(&[empty, named], "stop", &no);
    check(
        Dialect::OpenAiChat,
        r#"{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":""}}]},"finish_reason":"stop"}]}"#,
        &no,
    );
    calls(&[named], "length", &["no call f cut (dropped)", "end length `length`"]);
    calls(&[empty], "stop", &["no call  free_text (dropped)", "end stop `stop`"]);
}

/// Alternatives that number their calls alike and give them the same ids.
#[test]
fn ids_may_come_again_in_other_alternatives() {
    stream(
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\""}}]}},{"index":1,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"g","arguments":"{\"b\""}}]}}]}
           {"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":2}"}}]}}]}
           {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}
           {"choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}
           {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
           [DONE]"#,
        &["call 0 c f {\"a\":1}", "call 0 of 1 c g {\"b\":2}", "end calls `tool_calls`"],
    );
}

/// Only the first of several alternatives is run.
#[test]
fn alternatives_without_an_index_are_told_apart_by_their_place() {
    let choice = |name: &str| {
        format!(
            "{{\"message\":{{\"role\":\"assistant\",\"tool_calls\":[{{\"id\":\"{name}\",\"type\":\"function\",\"function\":{{\"name\":\"{name}\",\"arguments\":\"{{}}\"}}}}]}},\"finish_reason\":\"tool_calls\"}}"
        )
    };
    let body = format!("{{\"choices\":[{},{}]}}", choice("f"), choice("g"));
    check(
        Dialect::OpenAiChat,
        &body,
        &["call 0 f f {}", "call 0 of 1 g g {}", "end calls `tool_calls`"],
    );
}
