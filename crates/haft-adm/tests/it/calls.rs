//! Calls as structures.

use haft_adm::FunctionCall;
use serde_json::{Value, json};

use crate::said;

#[track_caller]
fn check(document: Value, expected: &[&str]) {
    let text = document.to_string();
    assert_eq!(said(FunctionCall::parse(&text)), expected, "{text}");
    assert_eq!(said(FunctionCall::from_value(document)), expected, "{text}");
}

#[test]
fn arguments_are_any_json_under_names() {
    check(json!({"name": "status", "args": {}}), &[]);
    let args =
        json!({"s": "x", "n": 1.5, "b": true, "z": null, "l": [[1], {}], "o": {"a": {"b": 2}}});
    check(json!({"name": "all", "args": args}), &[]);
}

#[test]
fn a_call_has_two_fields_and_needs_both() {
    check(
        json!({}),
        &[
            "a function call needs the field `name`; add it",
            "a function call needs the field `args`; add it",
        ],
    );
    check(json!({"name": "f"}), &["function `f`: a function call needs the field `args`; add it"]);
    check(
        json!({"name": "f", "args": {}, "id": 7}),
        &["function `f`, at `/id`: a function call has no field `id`; remove it"],
    );
    for (args, found) in [
        (json!(null), "null"),
        (json!("{}"), "a string"),
        (json!([]), "an array"),
        (json!(0), "a number"),
        (json!(false), "a boolean"),
    ] {
        check(
            json!({"name": "f", "args": args}),
            &[&format!("function `f`, at `/args`: expected an object, found {found}")],
        );
    }
    check(json!(null), &["expected an object, found null"]);
}

#[test]
fn a_call_names_a_function() {
    check(
        json!({"name": "a b", "args": {}}),
        &["function `a b`, at `/name`: `a b` is not a function name; start with a letter or `_`, \
           go on with letters, digits, `_` and `-`, and stop at 64 characters"],
    );
    check(json!({"name": null, "args": {}}), &["at `/name`: expected a string, found null"]);
}

#[test]
fn arguments_in_text_are_read_strictly() {
    assert_eq!(
        said(FunctionCall::parse(r#"{"name": "f", "args": {"n": 18446744073709551616, "n": 1}}"#)),
        [
            "function `f`, at `/args/n`, line 1, column 29: `18446744073709551616` does not fit \
             64 bits; write a smaller number or a string",
            "function `f`, at `/args/n`, line 1, column 51: the key `n` appears twice in this \
             object; keep one",
        ]
    );
}

#[test]
fn a_call_comes_apart_again() {
    let args = json!({"n": 1}).as_object().unwrap().clone();
    let call = FunctionCall::new("f".parse().unwrap(), args.clone()).unwrap();
    assert_eq!(serde_json::to_value(&call).unwrap(), json!({"name": "f", "args": {"n": 1}}));
    assert_eq!(call.into_parts(), ("f".parse().unwrap(), args));
}
