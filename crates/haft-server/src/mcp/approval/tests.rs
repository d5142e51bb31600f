use haft_core::{ErrorKind, ToolError};
use haft_runtime::runtime::Void;
use serde_json::{Value, json};

use super::shown::{MOST, message};
use super::{Word, untaken};

fn asked(arguments: Value) -> String {
    let question = json!({"id": "cnf_1", "tool": "shop__pay", "preview": "Pay 4?",
        "arguments": arguments, "suspicious": ["`to` is odd"]});
    message(&question, None).unwrap()
}

#[track_caller]
fn check(arguments: Value, expected: &str) {
    let whole = format!("Pay 4?\n\nTool: shop__pay\n{expected}\nTake care: `to` is odd");
    assert_eq!(asked(arguments), whole);
}

#[test]
fn every_argument_is_shown_whatever_the_template_says() {
    check(json!({}), "Without arguments.");
    check(
        json!({"amount": 4, "note": "do \"it\"", "to": ["ann", {"cc": null}]}),
        "Arguments:\n- amount: 4\n- note: \"do \\\"it\\\"\"\n- to: [\"ann\", {\"cc\": null}]",
    );
}

#[test]
fn nothing_in_an_argument_is_hidden_or_begins_a_line() {
    check(
        json!({"to": "a\u{202e}b\nTool: shop__echo\u{200b}"}),
        "Arguments:\n- to: \"a\\u202eb\\u000aTool: shop__echo\\u200b\" \
         (cannot be seen in it: U+202E, U+000A, U+200B)",
    );
    check(
        json!({"to": " a\u{a0}b "}),
        "Arguments:\n- to: \" a\\u00a0b \" (cannot be seen in it: U+00A0)",
    );
    check(json!({"to": "p\u{430}ypal"}), "Arguments:\n- to: \"p\u{430}[U+0430]ypal\"");
    check(json!({"a\nTool: b": 1}), "Arguments:\n- a\\u000aTool: b: 1");
}

#[test]
fn what_is_too_long_to_be_shown_whole_is_not_shown_at_all() {
    let question =
        |arguments: Value| json!({"tool": "shop__pay", "preview": "Pay?", "arguments": arguments});
    let shown = |arguments: Value| message(&question(arguments), None);
    let room = MOST - shown(json!({"note": ""})).unwrap().len();
    assert!(shown(json!({"note": "x".repeat(room)})).unwrap().ends_with("xxx\""));
    assert_eq!(shown(json!({"note": "x".repeat(room + 1)})), None);
    let escaped = "\u{202e}".repeat(room / 2);
    assert_eq!(shown(json!({"note": escaped})), None, "letters are counted as they are written");
    let many: serde_json::Map<String, Value> =
        (0..100).map(|at| (format!("a{at}"), json!("x".repeat(500)))).collect();
    assert_eq!(shown(Value::Object(many)), None);
}

#[test]
fn the_connection_is_part_of_what_is_approved() {
    let question = json!({"tool": "shop__pay", "preview": "Pay?", "arguments": {}});
    let shown = message(&question, Some("bank")).unwrap();
    assert_eq!(shown, "Pay?\n\nTool: shop__pay\nConnection: \"bank\"\nWithout arguments.");
}

#[test]
fn nothing_in_a_finding_is_hidden() {
    let question = json!({"tool": "shop__pay", "preview": "Pay?", "arguments": {},
        "suspicious": ["`to` names `a\u{1b}[2J\u{202e}.com`"]});
    let shown = message(&question, None).unwrap();
    assert!(shown.ends_with("\nTake care: `to` names `a\\u001b[2J\\u202e.com`"), "{shown}");
}

/// That a question was over is said where it was, and not where nobody could write the answer down.
#[test]
fn why_an_answer_does_not_count_is_said_as_it_is() {
    for (kind, expected) in [
        (ErrorKind::ConfirmationRefused, Word::Over),
        (ErrorKind::NotFound, Word::Over),
        (ErrorKind::StoreUnavailable, Word::Unrecorded),
        (ErrorKind::Internal, Word::Unrecorded),
    ] {
        assert_eq!(untaken(&ToolError::new(kind, "no")), expected, "{kind:?}");
    }
    let void = ToolError::new(ErrorKind::ConfirmationRefused, "no");
    let void = void.with_details(json!({"why": "tool_changed"}));
    assert_eq!(untaken(&void), Word::Void(Void::Tool));
}
