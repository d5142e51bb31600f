//! serde is no way around the rules.

use haft_adm::{
    ErrorObject, FunctionCall, FunctionDeclaration, FunctionName, Schema, Tool, ToolResult,
};
use serde::de::DeserializeOwned;

#[track_caller]
fn check<T: DeserializeOwned>(text: &str, expected: &[&str]) {
    let Err(error) = serde_json::from_str::<T>(text) else { panic!("{text} was read") };
    let said = error.to_string();
    for words in expected {
        assert!(said.contains(words), "`{said}` does not say `{words}`");
    }
}

#[test]
fn all_mistakes_are_in_the_message() {
    check::<Tool>(
        r#"{"function_declarations": [{"name": "f", "name": "9", "description": "", "more": 1}]}"#,
        &[
            "function `f`, at `/function_declarations/0/name`: the key `name` appears twice",
            "function `f`, at `/function_declarations/0/description`: the description is empty",
            "needs the field `parameters`",
            "has no field `more`",
        ],
    );
}

#[test]
fn every_structure_is_strict() {
    check::<FunctionDeclaration>(r#"{"name": "f"}"#, &["`description`", "`parameters`"]);
    check::<Schema>(r#"{"type": "STRING", "enum": []}"#, &["the enum is empty"]);
    check::<Schema>(r#"{"type": "STRING", "\u0074ype": "STRING"}"#, &["`type` appears twice"]);
    check::<FunctionCall>(r#"{"name": "f", "args": {"a": 1, "a": 1}}"#, &["`a` appears twice"]);
    check::<FunctionCall>(r#"["f", {}]"#, &["expected an object, found an array"]);
    check::<ToolResult>(r#"{"name": "f", "status": "ERROR"}"#, &["ERROR needs `error`"]);
    check::<ErrorObject>(r#"{"message": " "}"#, &["the message is blank"]);
    check::<FunctionName>(r#""a b""#, &["is not a function name"]);
}

#[test]
fn structures_can_be_fields_of_other_types() {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Message {
        Call(FunctionCall),
        Result(ToolResult),
    }
    let call = serde_json::from_str(r#"{"name": "f", "args": {"n": -1, "x": 0.5, "z": null}}"#);
    let Message::Call(call) = call.unwrap() else { panic!("not a call") };
    assert_eq!(call.args().len(), 3);
    let result = serde_json::from_str(r#"{"name": "f", "status": "SUCCESS", "content": [true]}"#);
    let Message::Result(result) = result.unwrap() else { panic!("not a result") };
    assert_eq!(result.name().as_str(), "f");
}
