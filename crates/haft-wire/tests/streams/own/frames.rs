//! OpenAI Realtime and Gemini Live.

use haft_wire::Dialect;

use super::check;

const ADDED: &str = r#"{"type":"response.output_item.added","response_id":"r1","output_index":0,"item":{"id":"i","type":"function_call","call_id":"c1","name":"f","arguments":""}}"#;
const DONE: &str = r#"{"type":"response.function_call_arguments.done","response_id":"r1","item_id":"i","output_index":0,"arguments":"{}"}"#;
const CREATED: &str =
    r#"{"type":"response.created","response":{"id":"r1","status":"in_progress"}}"#;

fn realtime(status: &str) -> String {
    format!(
        "{{\"type\":\"response.done\",\"response\":{{\"id\":\"r1\",\"status\":\"{status}\",\"output\":[]}}}}"
    )
}

#[test]
fn realtime_reads_one_response() {
    let other =
        r#"{"type":"response.done","response":{"id":"r0","status":"completed","output":[]}}"#;
    let spoken = r#"{"type":"response.output_audio_transcript.delta","response_id":"r1","output_index":1,"delta":"one mo"}"#;
    let turn = check(
        Dialect::OpenAiRealtime,
        &[CREATED, other, ADDED, spoken, DONE, &realtime("completed")].join("\n"),
        &["text one mo", "call 0 c1 f {}", "end calls `completed`"],
    );
    assert!(turn.replay.is_empty());
    for (status, end) in [
        ("cancelled", "end cut `cancelled` [cut]"),
        ("incomplete", "end length `incomplete`"),
        ("failed", "end failed `failed`"),
    ] {
        let frames = [CREATED, ADDED, DONE, &realtime(status)].concat();
        check(Dialect::OpenAiRealtime, &frames, &["no call f cut (dropped)", end]);
    }
}

#[test]
fn a_realtime_error_ends_nothing_by_itself() {
    let error =
        r#"{"type":"error","error":{"type":"invalid_request_error","code":"bad","message":"m"}}"#;
    check(
        Dialect::OpenAiRealtime,
        &[CREATED, error, ADDED, DONE, &realtime("completed")].concat(),
        &["call 0 c1 f {}", "end calls `completed`"],
    );
    check(
        Dialect::OpenAiRealtime,
        &[CREATED, ADDED, error].concat(),
        &["no call f cut (dropped)", "end failed [bad]"],
    );
}

#[test]
fn live_says_calls_at_once() {
    let call = r#"{"toolCall":{"functionCalls":[{"name":"f","args":{"a":1},"id":"c1"},{"name":"g","id":"c2"}]}}"#;
    let said = ["call 0 c1 f {\"a\":1}", "call 1 c2 g "];
    // The service waits for the answer; should it go away, the calls were made all the same.
    check(Dialect::GeminiLive, call, &[said[0], said[1], "end cut [cut]"]);
    check(
        Dialect::GeminiLive,
        &format!(
            "{{\"setupComplete\":{{}}}}\n{{\"server_content\":{{\"model_turn\":{{\"parts\":[{{\"text\":\"Hi\"}}]}}}}}}{call}{{\"toolCallCancellation\":{{\"ids\":[\"c1\"]}}}}{{\"goAway\":{{}}}}{{\"serverContent\":{{\"turnComplete\":true}},\"usageMetadata\":{{\"promptTokenCount\":1,\"responseTokenCount\":2}}}}"
        ),
        &["text Hi", said[0], said[1], "cancelled c1", "end calls 1/2"],
    );
    check(
        Dialect::GeminiLive,
        r#"{"serverContent":{"outputTranscription":{"text":"Hi"},"interrupted":true}}{"serverContent":{"turnComplete":true}}"#,
        &["text Hi", "end {\"other\":\"interrupted\"} `interrupted`"],
    );
    check(
        Dialect::GeminiLive,
        r#"{"tool_call":{"function_calls":[{"name":"f","args":[1]}]}}{"error":{"code":8,"message":"m"}}"#,
        &["no call f not_object (answered)", "end failed [8]"],
    );
}

#[test]
fn a_byte_order_mark_before_the_first_frame_says_nothing() {
    let frames = [CREATED, ADDED, DONE, &realtime("completed")].concat();
    let call = ["call 0 c1 f {}", "end calls `completed`"];
    check(Dialect::OpenAiRealtime, &format!("\u{feff}{frames}"), &call);
    let between = format!("{CREATED}\u{feff}{ADDED}");
    check(Dialect::OpenAiRealtime, &between, &["end failed [bad_json]"]);
}
