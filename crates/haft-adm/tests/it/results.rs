//! Results and their errors.

use haft_adm::{ErrorObject, ErrorType, FunctionCall, Outcome, ToolResult};
use serde_json::{Value, json};

use crate::said;

#[track_caller]
fn check(document: Value, expected: &[&str]) {
    let text = document.to_string();
    assert_eq!(said(ToolResult::parse(&text)), expected, "{text}");
    assert_eq!(said(ToolResult::from_value(document)), expected, "{text}");
}

fn failed(error: Value) -> Value {
    json!({"name": "f", "status": "ERROR", "error": error})
}

#[test]
fn content_is_json_of_any_kind() {
    for content in
        [json!(null), json!(true), json!(1247.5), json!("x"), json!([{}, []]), json!({"a": {}})]
    {
        let document = json!({"name": "f", "status": "SUCCESS", "content": content});
        let result = ToolResult::from_value(document.clone()).unwrap();
        assert_eq!(result.outcome(), &Outcome::Success(content));
        assert_eq!(serde_json::to_value(&result).unwrap(), document);
    }
}

#[test]
fn a_result_is_a_success_or_an_error() {
    let error = json!({"message": "no"});
    check(
        json!({"name": "f", "status": "SUCCESS"}),
        &["function `f`: SUCCESS needs `content`; add it, if only as null"],
    );
    check(
        json!({"name": "f", "status": "SUCCESS", "content": 1, "error": error}),
        &["function `f`, at `/error`: SUCCESS cannot carry `error`; remove it or use ERROR"],
    );
    check(
        json!({"name": "f", "status": "SUCCESS", "content": 1, "error": null}),
        &["function `f`, at `/error`: SUCCESS cannot carry `error`; remove it or use ERROR"],
    );
    check(
        json!({"name": "f", "status": "ERROR"}),
        &["function `f`: ERROR needs `error`; say what failed"],
    );
    check(
        json!({"name": "f", "status": "ERROR", "error": error, "content": null}),
        &["function `f`, at `/content`: ERROR cannot carry `content`; remove it or use SUCCESS"],
    );
    check(
        json!({"name": "f", "status": "ERROR", "content": {}}),
        &[
            "function `f`, at `/content`: ERROR cannot carry `content`; remove it or use SUCCESS",
            "function `f`: ERROR needs `error`; say what failed",
        ],
    );
}

#[test]
fn a_result_needs_a_name_and_a_status() {
    check(
        json!({"content": 1}),
        &[
            "a tool result needs the field `name`; add it",
            "a tool result needs the field `status`; add it",
        ],
    );
    for status in ["success", "OK", ""] {
        check(
            json!({"name": "f", "status": status, "content": 1}),
            &[&format!(
                "function `f`, at `/status`: `{status}` is not a status; use SUCCESS or ERROR"
            )],
        );
    }
    check(
        json!({"name": "9", "status": true, "took": 1}),
        &[
            "function `9`, at `/name`: `9` is not a function name; start with a letter or `_`, \
             go on with letters, digits, `_` and `-`, and stop at 64 characters",
            "function `9`, at `/status`: expected a string, found a boolean",
            "function `9`, at `/took`: a tool result has no field `took`; remove it",
        ],
    );
}

#[test]
fn an_error_has_a_message_and_may_have_a_type() {
    check(failed(json!({"message": "no"})), &[]);
    check(failed(json!({"message": "no", "type": ""})), &[]);
    check(failed(json!(null)), &["function `f`, at `/error`: expected an object, found null"]);
    check(
        failed(json!({})),
        &["function `f`, at `/error`: an error needs the field `message`; add it"],
    );
    check(
        failed(json!({"message": 1, "type": null, "stack": "x"})),
        &[
            "function `f`, at `/error/message`: expected a string, found a number",
            "function `f`, at `/error/type`: \
             `type` is null; an optional field without a value is left out",
            "function `f`, at `/error/stack`: an error has no field `stack`; remove it",
        ],
    );
    check(
        failed(json!({"message": "no", "type": 404})),
        &["function `f`, at `/error/type`: expected a string, found a number"],
    );
}

#[test]
fn a_message_says_something() {
    for blank in ["", " ", "\t\r\n", "\u{a0}\u{3000}\u{2028}", "\u{feff}", "\u{85}"] {
        let said = "function `f`, at `/error/message`: the message is blank; say what failed";
        check(failed(json!({"message": blank})), &[said]);
        assert!(ErrorObject::new(blank).is_err());
    }
    check(failed(json!({"message": " x "})), &[]);
    assert_eq!(ErrorObject::new(" x ").unwrap().message(), " x ");
}

#[test]
fn the_eight_types_are_known_and_others_kept() {
    let codes = [
        "PARAMETER_VALIDATION_FAILED",
        "RESOURCE_NOT_FOUND",
        "PERMISSION_DENIED",
        "BUSINESS_RULE_VIOLATION",
        "SERVICE_UNAVAILABLE",
        "RATE_LIMIT_EXCEEDED",
        "INVALID_STATE",
        "CONFIGURATION_ERROR",
    ];
    assert_eq!(ErrorType::STANDARD.map(|known| known.to_string()), codes);
    for code in codes {
        assert!(!matches!(ErrorType::from(code), ErrorType::Other(_)), "{code}");
    }
    for code in ["", "invalid_state", "QUOTA", " INVALID_STATE"] {
        let error = ErrorObject::from_value(json!({"message": "x", "type": code})).unwrap();
        assert!(matches!(error.error_type(), Some(ErrorType::Other(_))), "{code}");
        assert_eq!(serde_json::to_value(&error).unwrap(), json!({"message": "x", "type": code}));
    }
    let error = ErrorObject::new("x").unwrap();
    assert_eq!(serde_json::to_value(&error).unwrap(), json!({"message": "x"}));
}

#[test]
fn a_result_answers_its_call() {
    let call = FunctionCall::from_value(json!({"name": "f", "args": {}})).unwrap();
    let answer = |name: &str| ToolResult::success(name.parse().unwrap(), json!(1)).unwrap();
    assert!(answer("f").check_answers(&call).is_ok());
    assert_eq!(
        said(answer("F").check_answers(&call)),
        ["function `f`, at `/name`: the call was to `f`, but the result names `F`"]
    );
}

#[test]
fn an_outcome_can_be_taken_out() {
    let error = ErrorObject::new("no").unwrap().with_type("QUOTA");
    let result = ToolResult::error("f".parse().unwrap(), error.clone());
    assert_eq!(result.name().as_str(), "f");
    assert_eq!(result.into_outcome(), Outcome::Error(error));
}
