//! Calls against the tool they are made to.

use haft_adm::{FunctionCall, FunctionDeclaration, Schema, Tool};
use serde_json::{Value, json};

use crate::said;

fn tool(parameters: Value) -> Tool {
    let function = json!({"name": "f", "description": "Does it.", "parameters": parameters});
    let other = json!({"name": "g", "description": "x", "parameters": {"type": "OBJECT"}});
    Tool::from_value(json!({"function_declarations": [function, other]})).unwrap()
}

#[track_caller]
fn check_args(parameters: Value, args: Value, expected: &[&str]) {
    let call = FunctionCall::from_value(json!({"name": "f", "args": args})).unwrap();
    assert_eq!(said(tool(parameters).check_call(&call)), expected, "{args}");
}

/// Checks one argument, given as text since it is the text that decides.
#[track_caller]
fn check(schema: Value, argument: &str, expected: &str) {
    let text = format!(r#"{{"name": "f", "args": {{"a": {argument}}}}}"#);
    let call = FunctionCall::parse(&text).unwrap();
    let parameters = json!({"type": "OBJECT", "properties": {"a": schema}});
    let said = said(tool(parameters).check_call(&call)).join("\n");
    assert_eq!(said.trim_start_matches("function `f`, at `/args/a"), expected, "{argument}");
}

#[test]
fn a_call_names_a_function_of_the_tool_exactly() {
    for name in ["h", "F", "f_"] {
        let call = FunctionCall::from_value(json!({"name": name, "args": {}})).unwrap();
        assert_eq!(
            said(tool(json!({"type": "OBJECT"})).check_call(&call)),
            [format!(
                "function `{name}`, at `/name`: there is no function `{name}`; call `f`, `g`"
            )]
        );
    }
}

#[test]
fn what_is_required_is_there() {
    let word = json!({"type": "STRING"});
    let parameters = json!({"type": "OBJECT", "properties": {"a": word, "b": word, "c": word}, "required": ["a", "b"]});
    check_args(parameters.clone(), json!({"a": "", "b": ""}), &[]);
    check_args(
        parameters,
        json!({"c": ""}),
        &[
            "function `f`, at `/args`: `a` is required; add it",
            "function `f`, at `/args`: `b` is required; add it",
        ],
    );
}

#[test]
fn a_call_carries_only_what_is_declared() {
    check_args(
        json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}),
        json!({"a": "x", "b/c": 1}),
        &["function `f`, at `/args/b~1c`: `b/c` is not declared; remove it or use `a`"],
    );
    for nothing in [json!({"type": "OBJECT"}), json!({"type": "OBJECT", "properties": {}})] {
        check_args(nothing.clone(), json!({}), &[]);
        check_args(
            nothing,
            json!({"a": null}),
            &["function `f`, at `/args/a`: `a` is not declared, nor is anything else; remove it"],
        );
    }
}

#[test]
fn a_nested_object_is_open_only_if_it_declares_nothing() {
    for open in [json!({"type": "OBJECT"}), json!({"type": "OBJECT", "properties": {}})] {
        check(open, r#"{"any": [1, null], "more": {}}"#, "");
    }
    let closed =
        json!({"type": "OBJECT", "properties": {"x": {"type": "INTEGER"}}, "required": ["x"]});
    check(closed.clone(), r#"{"x": 1}"#, "");
    check(closed.clone(), r#"{"x": 1, "y": 2}"#, "/y`: `y` is not declared; remove it or use `x`");
    check(closed, "{}", "`: `x` is required; add it");
}

#[test]
fn strings_are_strings_and_match_the_enum_exactly() {
    for text in [r#""""#, r#""é""#, r#""\u0000""#] {
        check(json!({"type": "STRING"}), text, "");
    }
    check(json!({"type": "STRING"}), "1", "`: expected STRING, found a number");
    check(
        json!({"type": "STRING"}),
        "null",
        "`: expected STRING, found null; leave out what has no value",
    );
    let choice = json!({"type": "STRING", "enum": ["low", "high"]});
    check(choice.clone(), r#""low""#, "");
    check(choice.clone(), r#""\u006cow""#, "");
    for wrong in ["Low", "low ", ""] {
        let said = format!("`: `{wrong}` is not allowed; use `low`, `high`");
        check(choice.clone(), &format!("\"{wrong}\""), &said);
    }
}

/// A number as it is written back, which need not be how it was written.
fn shown(number: &str) -> String {
    serde_json::from_str::<Value>(number).unwrap().to_string()
}

#[test]
fn integers_are_whole_and_fit_64_bits() {
    let integer = || json!({"type": "INTEGER"});
    for number in [
        "0",
        "-0",
        "1.0",
        "-3.00",
        "1e3",
        "12.5e1",
        "9223372036854775807",
        "-9223372036854775808",
        "9007199254740991.0",
        "-9007199254740991.0",
    ] {
        check(integer(), number, "");
    }
    for number in ["1.5", "-0.1", "1e-7"] {
        let said = "is not a whole number, but INTEGER takes only those";
        check(integer(), number, &format!("`: `{}` {said}", shown(number)));
    }
    for number in
        ["9223372036854775808", "18446744073709551615", "9223372036854775808.0", "-1e19", "1e300"]
    {
        let said = "does not fit INTEGER, which ends at -2^63 and 2^63-1";
        check(integer(), number, &format!("`: `{}` {said}", shown(number)));
    }
    for number in ["9007199254740992.0", "9007199254740994.0", "1e18", "-9223372036854775808.0"] {
        let said = "is too large for floating-point notation to be exact; \
                    write it without point and exponent";
        check(integer(), number, &format!("`: `{}` {said}", shown(number)));
    }
    check(integer(), "\"1\"", "`: expected INTEGER, found a string");
    check(integer(), "true", "`: expected INTEGER, found a boolean");
}

#[test]
fn numbers_are_any_finite_number() {
    let number = || json!({"type": "NUMBER"});
    for text in ["0", "-1.5", "1e308", "5e-324", "9007199254740993", "18446744073709551615"] {
        check(number(), text, "");
    }
    check(number(), "\"1\"", "`: expected NUMBER, found a string");
    check(number(), "null", "`: expected NUMBER, found null; leave out what has no value");
}

#[test]
fn booleans_are_true_or_false() {
    check(json!({"type": "BOOLEAN"}), "true", "");
    check(json!({"type": "BOOLEAN"}), "false", "");
    for (text, found) in [("\"true\"", "a string"), ("0", "a number"), ("[]", "an array")] {
        check(json!({"type": "BOOLEAN"}), text, &format!("`: expected BOOLEAN, found {found}"));
    }
}

#[test]
fn every_element_of_an_array_fits() {
    let matrix = json!({"type": "ARRAY", "items": {"type": "ARRAY", "items": {"type": "NUMBER"}}});
    check(matrix.clone(), "[]", "");
    check(matrix.clone(), "[[], [1, 2.5]]", "");
    check(
        matrix.clone(),
        "[[1, \"2\"], 3]",
        "/0/1`: expected NUMBER, found a string\n\
         function `f`, at `/args/a/1`: expected ARRAY, found a number",
    );
    check(matrix, "{}", "`: expected ARRAY, found an object");
}

#[test]
fn mistakes_at_every_depth_are_all_named() {
    let guest = json!({
        "type": "OBJECT",
        "properties": {"mail": {"type": "STRING"}, "role": {"type": "STRING", "enum": ["host", "guest"]}},
        "required": ["mail"]
    });
    check_args(
        json!({
            "type": "OBJECT",
            "properties": {"guests": {"type": "ARRAY", "items": guest}, "minutes": {"type": "INTEGER"}},
            "required": ["guests"]
        }),
        json!({"guests": [{"mail": "a@b"}, {"role": "boss"}, []], "minutes": 7.5, "room": 1}),
        &[
            "function `f`, at `/args/guests/1`: `mail` is required; add it",
            "function `f`, at `/args/guests/1/role`: `boss` is not allowed; use `host`, `guest`",
            "function `f`, at `/args/guests/2`: expected OBJECT, found an array",
            "function `f`, at `/args/minutes`: \
             `7.5` is not a whole number, but INTEGER takes only those",
            "function `f`, at `/args/room`: \
             `room` is not declared; remove it or use `guests`, `minutes`",
        ],
    );
}

#[test]
fn arguments_and_values_can_be_checked_alone() {
    let parameters = Schema::object().required("n", Schema::integer()).build().unwrap();
    assert_eq!(said(parameters.check(&json!([]))), ["expected OBJECT, found an array"]);
    let function = FunctionDeclaration::new("f", "x", parameters).unwrap();
    assert_eq!(
        said(function.check_args(json!({"n": true}).as_object().unwrap())),
        ["function `f`, at `/n`: expected INTEGER, found a boolean"]
    );
    let open = Schema::object().build().unwrap();
    assert!(open.check(&json!({"any": 1})).is_ok());
}
