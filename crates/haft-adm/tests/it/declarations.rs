//! Tools and function declarations.

use haft_adm::{ErrorKind, FunctionDeclaration, FunctionName, Schema, Tool, rule};
use serde_json::{Value, json};

use crate::said;

fn function(name: &str) -> Value {
    json!({"name": name, "description": "Does it.", "parameters": {"type": "OBJECT"}})
}

fn tool(functions: &[Value]) -> Value {
    json!({"function_declarations": functions})
}

#[track_caller]
fn check(document: Value, expected: &[&str]) {
    let text = document.to_string();
    assert_eq!(said(Tool::parse(&text)), expected, "{text}");
    assert_eq!(said(Tool::from_value(document)), expected, "{text}");
}

#[test]
fn a_tool_has_one_field_and_needs_it() {
    check(json!({}), &["a tool needs the field `function_declarations`; add it"]);
    check(json!([]), &["expected an object, found an array"]);
    check(
        json!({"function_declarations": null}),
        &["at `/function_declarations`: expected an array, found null"],
    );
    check(
        json!({"function_declarations": {}, "version": 1}),
        &[
            "at `/version`: a tool has no field `version`; remove it",
            "at `/function_declarations`: expected an array, found an object",
        ],
    );
    check(
        tool(&[]),
        &["at `/function_declarations`: a tool declares at least one function; add one"],
    );
    check(
        tool(&[json!("send")]),
        &["at `/function_declarations/0`: expected an object, found a string"],
    );
}

#[test]
fn names_are_unique_and_case_counts() {
    check(tool(&[function("send"), function("Send"), function("send_")]), &[]);
    check(
        tool(&[function("a"), function("b"), function("a"), function("a")]),
        &[
            "function `a`, at `/function_declarations/2/name`: \
             the name `a` is taken by `/function_declarations/0`; rename one of them",
            "function `a`, at `/function_declarations/3/name`: \
             the name `a` is taken by `/function_declarations/0`; rename one of them",
        ],
    );
}

#[test]
fn all_fields_of_a_declaration_are_required_and_no_others_exist() {
    let place = "at `/function_declarations/0`: a function declaration";
    check(
        tool(&[json!({})]),
        &[
            &format!("{place} needs the field `name`; add it"),
            &format!("{place} needs the field `description`; add it"),
            &format!("{place} needs the field `parameters`; add it"),
        ],
    );
    check(
        tool(&[json!({"name": 1, "description": null, "parameters": [], "returns": {}})]),
        &[
            "at `/function_declarations/0/name`: expected a string, found a number",
            "at `/function_declarations/0/description`: expected a string, found null",
            "at `/function_declarations/0/parameters`: expected an object, found an array",
            "at `/function_declarations/0/returns`: \
             a function declaration has no field `returns`; remove it",
        ],
    );
}

#[test]
fn names_follow_the_pattern() {
    let longest = "a".repeat(64);
    for name in ["a", "_", "Z9", "get_weather", "send-mail", "_-9", &longest] {
        assert!(FunctionName::new(name).is_ok(), "{name}");
    }
    let too_long = "a".repeat(65);
    for name in [
        "", "9a", "-a", "a b", "a.b", "a@b", "é", "aé", "a\n", "\na", "ａ", "a/b", "a\0", &too_long,
    ] {
        let errors = FunctionName::new(name).unwrap_err();
        assert!(
            matches!(
                errors.as_slice()[0].kind,
                ErrorKind::Declaration(rule::Declaration::NameMalformed { .. })
            ),
            "{name}"
        );
    }
    check(
        tool(&[function("2fast")]),
        &["function `2fast`, at `/function_declarations/0/name`: `2fast` is not a function name; \
           start with a letter or `_`, go on with letters, digits, `_` and `-`, \
           and stop at 64 characters"],
    );
}

#[test]
fn descriptions_have_between_one_and_a_thousand_characters() {
    let described = |text: &str| {
        tool(&[json!({"name": "f", "description": text, "parameters": {"type": "OBJECT"}})])
    };
    check(described("x"), &[]);
    check(described(" "), &[]);
    // 1,000 characters, 4,000 bytes.
    check(described(&"😀".repeat(1000)), &[]);
    let place = "function `f`, at `/function_declarations/0/description`: the description";
    check(described(""), &[&format!("{place} is empty; say what the function does")]);
    check(
        described(&"é".repeat(1001)),
        &[&format!("{place} has 1001 characters; shorten it to 1000")],
    );
}

#[test]
fn parameters_are_an_object() {
    for (parameters, found) in [
        (json!({"type": "STRING"}), "STRING"),
        (json!({"type": "NUMBER"}), "NUMBER"),
        (json!({"type": "INTEGER"}), "INTEGER"),
        (json!({"type": "BOOLEAN"}), "BOOLEAN"),
        (json!({"type": "ARRAY", "items": {"type": "OBJECT"}}), "ARRAY"),
    ] {
        check(
            tool(&[json!({"name": "f", "description": "x", "parameters": parameters})]),
            &[&format!(
                "function `f`, at `/function_declarations/0/parameters/type`: parameters are of \
                 type {found}, but arguments always come as an object; use OBJECT"
            )],
        );
    }
    for nothing in [
        json!({"type": "OBJECT"}),
        json!({"type": "OBJECT", "properties": {}}),
        json!({"type": "OBJECT", "properties": {}, "required": []}),
    ] {
        check(tool(&[json!({"name": "f", "description": "x", "parameters": nothing})]), &[]);
    }
}

#[test]
fn every_mistake_in_every_function_is_named() {
    let schema =
        json!({"type": "OBJECT", "properties": {"x": {"type": "ARRAY"}}, "required": ["y"]});
    check(
        tool(&[
            function("first"),
            json!({"name": "second", "description": "", "parameters": schema}),
            json!({"name": "first", "description": "x"}),
        ]),
        &[
            "function `first`, at `/function_declarations/2/name`: \
             the name `first` is taken by `/function_declarations/0`; rename one of them",
            "function `second`, at `/function_declarations/1/description`: \
             the description is empty; say what the function does",
            "function `second`, at `/function_declarations/1/parameters/properties/x`: \
             an ARRAY needs `items`; add the schema of its elements",
            "function `second`, at `/function_declarations/1/parameters/required/0`: \
             `y` is required but not declared; add it to `properties`",
            "function `first`, at `/function_declarations/2`: \
             a function declaration needs the field `parameters`; add it",
        ],
    );
}

#[test]
fn mistakes_in_the_text_are_named_with_the_others() {
    let text = r#"{"function_declarations": [{"name": "f", "name": "g", "description": "",
        "parameters": {"type": "OBJECT"}}]}"#;
    assert_eq!(
        said(Tool::parse(text)),
        [
            "function `f`, at `/function_declarations/0/name`, line 1, column 42: \
             the key `name` appears twice in this object; keep one",
            "function `f`, at `/function_declarations/0/description`: \
             the description is empty; say what the function does",
        ]
    );
}

#[test]
fn what_is_built_in_rust_follows_the_same_rules() {
    let nothing = || Schema::object().build().unwrap();
    let send = FunctionDeclaration::new("send", "Sends.", nothing()).unwrap();
    assert_eq!(Tool::new([send.clone()]).unwrap().functions(), std::slice::from_ref(&send));
    assert_eq!(
        said(Tool::new([])),
        ["at `/function_declarations`: a tool declares at least one function; add one"]
    );
    assert_eq!(
        said(Tool::new([send.clone(), send])),
        ["function `send`, at `/function_declarations/1/name`: \
          the name `send` is taken by `/function_declarations/0`; rename one of them"]
    );
    assert_eq!(said(FunctionDeclaration::new("a b", "", Schema::string())).len(), 3);
}
