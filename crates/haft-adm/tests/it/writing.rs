//! What is written is what was read.

use haft_adm::{FunctionCall, Tool, ToolResult};

/// Reads and writes; the text must come back to the letter.
#[track_caller]
fn check<T: serde::Serialize>(read: fn(&str) -> Result<T, haft_adm::Errors>, text: &str) {
    let read = read(text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn tools_keep_the_order_of_properties_and_what_was_left_out() {
    check(
        Tool::parse,
        concat!(
            r#"{"function_declarations":[{"name":"plan_trip","description":"Plans a trip.","#,
            r#""parameters":{"type":"OBJECT","description":"All of it.","properties":{"#,
            r#""zone":{"type":"STRING","enum":["z","a"]},"#,
            r#""at":{"type":"OBJECT"},"#,
            r#""Mid":{"type":"ARRAY","description":"","items":{"type":"OBJECT","properties":{}}},"#,
            r#""all":{"type":"OBJECT","properties":{"b":{"type":"NUMBER"},"a":{"type":"BOOLEAN"}},"#,
            r#""required":["b","a"]}},"required":[]}},"#,
            r#"{"name":"a","description":"é \"x\"","parameters":{"type":"OBJECT"}}]}"#,
        ),
    );
}

#[test]
fn calls_and_results_keep_numbers_and_order() {
    check(
        FunctionCall::parse,
        r#"{"name":"f","args":{"z":1,"a":1.0,"m":{"y":-0.0,"b":18446744073709551615}}}"#,
    );
    check(ToolResult::parse, r#"{"name":"f","status":"SUCCESS","content":null}"#);
    check(
        ToolResult::parse,
        r#"{"name":"f","status":"SUCCESS","content":[0.1,5e-324,122.41629403378658]}"#,
    );
    check(ToolResult::parse, r#"{"name":"f","status":"ERROR","error":{"message":"no"}}"#);
    check(
        ToolResult::parse,
        r#"{"name":"f","status":"ERROR","error":{"message":"no","type":"INVALID_STATE"}}"#,
    );
}

#[test]
fn the_order_of_properties_is_kept_but_does_not_count() {
    let read = |text: &str| haft_adm::Schema::parse(text).unwrap();
    let one =
        read(r#"{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"NUMBER"}}}"#);
    let two =
        read(r#"{"properties":{"b":{"type":"NUMBER"},"a":{"type":"STRING"}},"type":"OBJECT"}"#);
    let three =
        read(r#"{"type":"OBJECT","properties":{"a":{"type":"STRING"},"b":{"type":"STRING"}}}"#);
    assert_eq!(one, two);
    assert_ne!(one, three);
}
