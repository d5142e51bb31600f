//! OpenAI Responses.

use haft_wire::{Dialect, RawJson, Turn};

use super::{check, events};

#[track_caller]
fn stream(lines: &str, expected: &[&str]) -> Turn {
    check(Dialect::OpenAiResponses, &events(lines), expected)
}

const ADDED: &str = r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":"","status":"in_progress"}}"#;
const ITEM: &str = r#"{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":"{\"a\":1}","status":"completed"}"#;

fn delta(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "{{\"type\":\"response.function_call_arguments.delta\",\"item_id\":\"fc\",\"output_index\":1,\"delta\":{text}}}\n"
    )
}

fn done(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "{{\"type\":\"response.function_call_arguments.done\",\"item_id\":\"fc\",\"output_index\":1,\"arguments\":{text}}}\n"
    )
}

fn ended(status: &str, output: &str) -> String {
    format!(
        "{{\"type\":\"response.{status}\",\"response\":{{\"id\":\"r\",\"status\":\"{status}\",\"output\":[{output}],\"usage\":{{\"input_tokens\":2,\"output_tokens\":3}}}}}}\n"
    )
}

#[test]
fn the_four_statements_of_a_call_must_agree() {
    let call = ["call 0 c1 f {\"a\":1}", "end calls `completed` 2/3"];
    let (d, all) = (delta("{\"a\":1}"), done("{\"a\":1}"));
    stream(&format!("{ADDED}\n{d}{all}{}", ended("completed", ITEM)), &call);
    // Not listed at the end, or listed and never streamed, or said only in part.
    stream(&format!("{ADDED}\n{d}{all}{}", ended("completed", "")), &call);
    stream(&ended("completed", ITEM), &call);
    stream(&format!("{ADDED}\n{}{}", delta("{\"a\""), ended("completed", ITEM)), &call);
    let no = ["no call f contradiction (answered)", "end calls `completed` 2/3"];
    stream(&format!("{ADDED}\n{}{}", delta("{\"b\""), ended("completed", ITEM)), &no);
    stream(&format!("{ADDED}\n{}{}", done("{}"), ended("completed", ITEM)), &no);
    stream(
        &format!(
            "{ADDED}\n{all}{}",
            ended("completed", &ITEM.replace("\"name\":\"f\"", "\"name\":\"g\""))
        ),
        &["no call g contradiction (answered)", "end calls `completed` 2/3"],
    );
    let other = r#"{"type":"message","id":"m","content":[{"type":"output_text","text":"Hi"}]}"#;
    stream(
        &format!("{ADDED}\n{all}{}", ended("completed", other)),
        &["text Hi", "no call f contradiction (answered)", "end calls `completed` 2/3"],
    );
    // Nobody said that the arguments were all.
    stream(
        &format!("{ADDED}\n{d}{}", ended("completed", "")),
        &["no call f cut (answered)", "end calls `completed` 2/3"],
    );
}

#[test]
fn a_response_that_is_not_complete_has_no_calls() {
    let all = format!("{ADDED}\n{}", done("{\"a\":1}"));
    let no = "no call f cut (dropped)";
    stream(&all, &[no, "end cut [cut]"]);
    stream(&format!("{all}{}", ended("incomplete", ITEM)), &[no, "end length `incomplete` 2/3"]);
    stream(&format!("{all}{}", ended("cancelled", "")), &[no, "end cut `cancelled` 2/3 [cut]"]);
    stream(
        &format!(
            "{all}{}",
            ended("failed", "").replace(
                "\"output\"",
                "\"error\":{\"code\":\"server_error\",\"message\":\"m\"},\"output\""
            )
        ),
        &[no, "end failed `failed` 2/3 [server_error]"],
    );
    stream(
        &format!("{all}{{\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"m\"}}"),
        &[no, "end failed [rate_limit_exceeded]"],
    );
    stream(&delta("{}"), &["end failed [contradiction]"]);
}

#[test]
fn items_are_repeated_with_their_reasoning() {
    let reasoning = r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gA=="}"#;
    let turn = stream(
        &format!(
            "{{\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"item_id\":\"rs\",\"delta\":\"hm\"}}\n{}",
            ended("completed", &format!("{reasoning},{ITEM}"))
        ),
        &["reasoning hm", "call 0 c1 f {\"a\":1}", "end calls `completed` 2/3"],
    );
    assert_eq!(turn.replay.iter().map(RawJson::as_str).collect::<Vec<_>>(), [reasoning, ITEM]);
    // Without what came of it, reasoning is not taken back.
    let turn = stream(
        &ended("incomplete", &format!("{reasoning},{ITEM}")),
        &["reasoning hm", "no call f cut (dropped)", "end length `incomplete` 2/3"],
    );
    assert!(turn.replay.is_empty());
}

#[test]
fn whole_responses_and_items_alone() {
    let message = r#"{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Hi"},{"type":"refusal","refusal":"no"}]}"#;
    check(
        Dialect::OpenAiResponses,
        &format!(
            r#"{{"id":"r","object":"response","status":"completed","error":null,"output":[{message},{ITEM}]}}"#
        ),
        &["text Hi", "refusal no", "call 0 c1 f {\"a\":1}", "end calls `completed`"],
    );
    check(
        Dialect::OpenAiResponses,
        &format!("[{message},{ITEM}]"),
        &["text Hi", "refusal no", "call 0 c1 f {\"a\":1}", "end calls"],
    );
    check(Dialect::OpenAiResponses, ITEM, &["call 0 c1 f {\"a\":1}", "end calls"]);
    check(
        Dialect::OpenAiResponses,
        r#"{"error":{"message":"m","type":"t","code":"c"}}"#,
        &["end failed [c]"],
    );
}

#[test]
fn a_call_in_free_text_is_none_of_ours_and_is_answered() {
    let item = r#"{"type":"custom_tool_call","id":"ctc","call_id":"c1","name":"f","input":"{}","status":"completed"}"#;
    let streamed = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"ctc","call_id":"c1","name":"f","input":""}}
        {"type":"response.custom_tool_call_input.delta","item_id":"ctc","output_index":0,"delta":"{"}
        {"type":"response.custom_tool_call_input.delta","item_id":"ctc","output_index":0,"delta":"}"}
        {"type":"response.custom_tool_call_input.done","item_id":"ctc","output_index":0,"input":"{}"}"#;
    let no = ["no call f free_text (answered)", "end calls `completed` 2/3"];
    for lines in [
        format!("{streamed}\n{}", ended("completed", item)),
        format!("{streamed}\n{}", ended("completed", "")),
        ended("completed", item),
    ] {
        let turn = stream(&lines, &no);
        let replay = turn.replay[0].value().unwrap();
        assert_eq!(replay["type"], "custom_tool_call");
        assert_eq!(replay["call_id"], "c1");
    }
    check(Dialect::OpenAiResponses, item, &["no call f free_text (answered)", "end calls"]);
}

/// A sign of life is no item: a stream that breaks off after one is cut as any other.
#[test]
fn signs_of_life_say_nothing() {
    const ALIVE: &str = r#"{"type":"keepalive","sequence_number":7}"#;
    let all = format!("{}{}", delta("{\"a\":1}"), done("{\"a\":1}"));
    let item =
        format!("{{\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{ITEM}}}");
    let call = ["call 0 c1 f {\"a\":1}", "end calls `completed` 2/3"];
    let turn = stream(&format!("{ADDED}\n{all}{ALIVE}\n{}", ended("completed", "")), &call);
    assert_eq!(turn.replay.len(), 1, "{:?}", turn.replay);
    let cut = ["no call f cut (dropped)", "end cut [cut]"];
    stream(&format!("{ADDED}\n{all}{item}\n{ALIVE}"), &cut);
    stream(ALIVE, &["end cut [cut]"]);
}

#[test]
fn arguments_that_come_as_an_object_are_those_that_were_meant() {
    let item = ITEM.replace(r#""{\"a\":1}""#, r#"{"a":1}"#);
    let call = ["call 0 c1 f {\"a\":1}", "end calls `completed` 2/3"];
    stream(&ended("completed", &item), &call);
    let whole = done("").replace("\"arguments\":\"\"", "\"arguments\":{\"a\":1}");
    stream(&format!("{ADDED}\n{whole}{}", ended("completed", "")), &call);
}

fn added(index: u32, id: &str, call: &str, name: &str) -> String {
    format!(
        "{{\"type\":\"response.output_item.added\",\"output_index\":{index},\"item\":{{\"type\":\"function_call\",\"id\":\"{id}\",\"call_id\":\"{call}\",\"name\":\"{name}\",\"arguments\":\"\"}}}}\n"
    )
}

fn item_done(index: u32, item: &str) -> String {
    format!("{{\"type\":\"response.output_item.done\",\"output_index\":{index},\"item\":{item}}}\n")
}

/// What an imitator leaves out, another statement has said.
#[test]
fn what_a_later_statement_leaves_out_stands() {
    let call = ["call 0 c1 f {\"a\":1}", "end calls `completed` 2/3"];
    let pieces = delta("{\"a\"") + &delta(":1}");
    let bare = r#"{"type":"function_call","id":"fc","call_id":"c1","name":"f"}"#;
    let null = r#"{"type":"function_call","id":"fc","call_id":"c1","name":"f","arguments":null}"#;
    for item in [bare, null] {
        let over = item_done(1, item);
        let turn = stream(&format!("{ADDED}\n{pieces}{over}{}", ended("completed", "")), &call);
        assert_eq!(turn.replay[0].value().unwrap()["arguments"], "{\"a\":1}");
        stream(&format!("{ADDED}\n{pieces}{over}{}", ended("completed", item)), &call);
        stream(&format!("{ADDED}\n{pieces}{}", ended("completed", item)), &call);
    }
    // A name that comes late, or once.
    for name in ["\"\"", "null"] {
        let early = ADDED.replace("\"name\":\"f\"", &format!("\"name\":{name}"));
        let over = item_done(1, ITEM);
        stream(&format!("{early}\n{pieces}{over}{}", ended("completed", "")), &call);
        let late = ITEM.replace("\"name\":\"f\"", &format!("\"name\":{name}"));
        let late = late.replace("\"call_id\":\"c1\",", "");
        let over = item_done(1, &late);
        let turn = stream(&format!("{ADDED}\n{pieces}{over}{}", ended("completed", "")), &call);
        assert_eq!(turn.replay[0].value().unwrap()["name"], "f");
    }
    // An item that ended in the middle is cut, whatever came of it.
    let cut = bare.replace('}', ",\"status\":\"incomplete\"}");
    stream(
        &format!("{ADDED}\n{pieces}{}{}", item_done(1, &cut), ended("completed", "")),
        &["no call f cut (answered)", "end calls `completed` 2/3"],
    );
    // Pieces after all of the arguments were stated contradict them.
    stream(
        &format!("{ADDED}\n{}{}{}", done("{}"), delta("{}"), ended("completed", "")),
        &["no call f contradiction (answered)", "end calls `completed` 2/3"],
    );
}

#[test]
fn an_item_whose_id_changes_is_said_once() {
    let message = |id: &str, content: &str| {
        format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"role\":\"assistant\",\"content\":[{content}]}}"
        )
    };
    let text = r#"{"type":"output_text","text":"Hi"}"#;
    let begun = format!(
        "{{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{}}}\n",
        message("m1", "")
    );
    let word =
        r#"{"type":"response.output_text.delta","output_index":0,"item_id":"m2","delta":"Hi"}"#;
    let over = item_done(0, &message("m3", text));
    let said = ["text Hi", "end stop `completed` 2/3"];
    let turn = stream(
        &format!("{begun}{word}\n{over}{}", ended("completed", &message("m4", text))),
        &said,
    );
    assert_eq!(turn.replay[0].as_str(), message("m4", text));
    stream(&format!("{word}\n{}", ended("completed", &message("m4", text))), &said);
    stream(&format!("{word}\n{over}{}", ended("completed", "")), &said);
    // Reasoning and a call before it, under other ids too.
    let thought =
        r#"{"type":"response.reasoning_text.delta","output_index":0,"item_id":"r1","delta":"hm"}"#;
    let reasoning =
        r#"{"type":"reasoning","id":"r2","content":[{"type":"reasoning_text","text":"hm"}]}"#;
    let later = word.replace("\"output_index\":0", "\"output_index\":2");
    let call = ITEM.replace("\"fc\"", "\"fc9\"").replace("c1", "c9");
    let list = [reasoning, &call, &message("m4", text)].join(",");
    stream(
        &format!(
            "{thought}\n{ADDED}\n{}{}{later}\n{}",
            delta("{\"a\":1}"),
            done("{\"a\":1}"),
            ended("completed", &list)
        ),
        &["reasoning hm", "text Hi", "call 0 c9 f {\"a\":1}", "end calls `completed` 2/3"],
    );
}

/// Some number all of their items 0.
#[test]
fn items_in_one_place_are_told_apart_by_their_ids() {
    let piece = |id: &str, text: &str| {
        delta(text).replace("\"fc\"", &format!("\"{id}\"")).replace(":1,\"delta", ":0,\"delta")
    };
    let item = |id: &str, call: &str, name: &str, text: &str| {
        let text = serde_json::to_string(text).unwrap();
        format!(
            "{{\"type\":\"function_call\",\"id\":\"{id}\",\"call_id\":\"{call}\",\"name\":\"{name}\",\"arguments\":{text}}}"
        )
    };
    let said = ["call 0 c1 f {\"a\":1}", "call 1 c2 g {\"b\":2}", "end calls `completed` 2/3"];
    let (f, g) = (item("i1", "c1", "f", "{\"a\":1}"), item("i2", "c2", "g", "{\"b\":2}"));
    let one_by_one = [
        added(0, "i1", "c1", "f"),
        piece("i1", "{\"a\":1}"),
        item_done(0, &f),
        added(0, "i2", "c2", "g"),
        piece("i2", "{\"b\":2}"),
        item_done(0, &g),
    ]
    .concat();
    let interleaved = [
        added(0, "i1", "c1", "f"),
        added(0, "i2", "c2", "g"),
        piece("i2", "{\"b\""),
        piece("i1", "{\"a\":"),
        piece("i2", ":2}"),
        piece("i1", "1}"),
        item_done(0, &g),
        item_done(0, &f),
    ]
    .concat();
    let list = format!("{f},{g}");
    for lines in [&one_by_one, &interleaved] {
        stream(&format!("{lines}{}", ended("completed", "")), &said);
        stream(&format!("{lines}{}", ended("completed", &list)), &said);
    }
    // No ids, one after the other.
    let bare = one_by_one.replace("\"i1\"", "\"\"").replace("\"i2\"", "\"\"");
    stream(&format!("{bare}{}", ended("completed", "")), &said);
    // The same id for all, in places of their own.
    let alike = [
        added(0, "i", "c1", "f"),
        added(1, "i", "c2", "g"),
        piece("i", "{\"a\":1}"),
        piece("i", "{\"b\":2}").replace(":0,\"delta", ":1,\"delta"),
        item_done(0, &item("i", "c1", "f", "{\"a\":1}")),
        item_done(1, &item("i", "c2", "g", "{\"b\":2}")),
    ]
    .concat();
    stream(&format!("{alike}{}", ended("completed", "")), &said);
}
