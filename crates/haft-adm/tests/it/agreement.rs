//! The exported JSON Schemas and the code say the same, both ways.

use haft_adm::{
    ErrorKind, ErrorObject, Errors, FunctionCall, FunctionDeclaration, Schema, Tool, ToolResult,
    json_schema, rule,
};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::generate;

type Read = fn(Value) -> Result<(), Errors>;

/// What JSON Schema has no words for, and nothing else; the reasons stand in the documentation
/// of `json_schema`.
fn beyond_json_schema(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Declaration(rule::Declaration::NameTaken { .. })
            | ErrorKind::Schema(rule::Schema::RequiredUndeclared { .. } | rule::Schema::TooDeep)
            | ErrorKind::Shape(rule::Shape::TooDeep { .. })
    )
}

#[track_caller]
fn agree(validator: &Validator, read: Read, document: &Value) -> bool {
    let read = read(document.clone());
    match (validator.is_valid(document), &read) {
        (true, Ok(())) | (false, Err(_)) => {}
        (false, Ok(())) => panic!("only the code takes {document}"),
        (true, Err(errors)) => assert!(
            errors.iter().all(|error| beyond_json_schema(&error.kind)),
            "only the JSON Schema takes {document}: {errors}"
        ),
    }
    read.is_ok()
}

fn structures() -> [(Value, Read, BoxedStrategy<Value>); 6] {
    [
        (json_schema::tool(), |value| Tool::from_value(value).map(drop), generate::tool().boxed()),
        (
            json_schema::function_declaration(),
            |value| FunctionDeclaration::from_value(value).map(drop),
            generate::declaration().boxed(),
        ),
        (
            json_schema::schema(),
            |value| Schema::from_value(value).map(drop),
            generate::schema().boxed(),
        ),
        (
            json_schema::function_call(),
            |value| FunctionCall::from_value(value).map(drop),
            generate::call().boxed(),
        ),
        (
            json_schema::tool_result(),
            |value| ToolResult::from_value(value).map(drop),
            generate::result().boxed(),
        ),
        (
            json_schema::error_object(),
            |value| ErrorObject::from_value(value).map(drop),
            generate::error().boxed(),
        ),
    ]
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() })
}

#[test]
fn right_documents_are_taken_by_both() {
    for (schema, read, documents) in structures() {
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        runner(200)
            .run(&documents, |document| {
                prop_assert!(agree(&validator, read, &document), "refused {document}");
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn broken_documents_are_judged_alike() {
    for (schema, read, documents) in structures() {
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let (mut taken, mut refused) = (0, 0);
        let broken = prop_oneof![9 => generate::broken(documents), 1 => generate::json()];
        let judged = std::cell::RefCell::new((&mut taken, &mut refused));
        runner(600)
            .run(&broken, |document| {
                let mut judged = judged.borrow_mut();
                match agree(&validator, read, &document) {
                    true => *judged.0 += 1,
                    false => *judged.1 += 1,
                }
                Ok(())
            })
            .unwrap();
        // If one side were empty, this test would prove nothing.
        assert!(taken > 3 && refused > 100, "taken {taken}, refused {refused}");
    }
}

#[test]
fn the_edges_are_judged_alike() {
    let [tool, declaration, schema, call, result, error] = structures();
    let declared = |name: &str, description: &str| json!({"name": name, "description": description, "parameters": {"type": "OBJECT"}});
    let long = "é".repeat(1001);
    let name = "a".repeat(65);
    let cases = [
        (&declaration, declared("a", &long[2..]), true),
        (&declaration, declared("a", &long), false),
        (&declaration, declared("a", ""), false),
        (&declaration, declared(&name[1..], "x"), true),
        (&declaration, declared(&name, "x"), false),
        (&declaration, declared("a\n", "x"), false),
        (
            &declaration,
            json!({"name": "a", "description": "x", "parameters": {"type": "STRING"}}),
            false,
        ),
        (&tool, json!({"function_declarations": []}), false),
        (&tool, json!({"function_declarations": [declared("a", "x"), declared("a", "x")]}), false),
        (&schema, json!({"type": "OBJECT", "required": ["a"]}), false),
        (&schema, json!({"type": "OBJECT", "required": []}), true),
        (&schema, json!({"type": "ARRAY", "items": null}), false),
        (&schema, json!({"type": "ARRAY"}), false),
        (&schema, json!({"type": "STRING", "items": {"type": "STRING"}}), false),
        (&schema, json!({"type": "STRING", "properties": {}}), false),
        (&schema, json!({"type": "STRING", "required": []}), false),
        (&schema, json!({"type": "NUMBER", "enum": ["a"]}), false),
        (&schema, json!({"type": "STRING", "enum": ["a", "a"]}), false),
        (&schema, json!({"type": "STRING", "enum": []}), false),
        (&call, json!({"name": "a", "args": {"any": null}}), true),
        (&result, json!({"name": "a", "status": "SUCCESS", "content": null}), true),
        (&result, json!({"name": "a", "status": "SUCCESS", "content": 1, "error": null}), false),
        (&result, json!({"name": "a", "status": "ERROR", "content": null}), false),
        (
            &result,
            json!({"name": "a", "status": "SUCCESS", "content": 1, "error": {"message": "x"}}),
            false,
        ),
        (
            &result,
            json!({"name": "a", "status": "ERROR", "content": 1, "error": {"message": "x"}}),
            false,
        ),
        (&error, json!({"message": "\u{feff}\u{85}\u{3000} \n"}), false),
        (&error, json!({"message": "\u{200b}"}), true),
        (&error, json!({"message": "]"}), true),
        (&error, json!({"message": "x", "type": null}), false),
    ];
    for ((schema, read, _), document, taken) in cases {
        let validator = jsonschema::draft202012::new(schema).unwrap();
        assert_eq!(agree(&validator, *read, &document), taken, "{document}");
    }
}

#[test]
fn the_exported_documents_are_json_schema() {
    for (name, schema) in json_schema::all() {
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
        assert_eq!(schema["title"], name);
    }
}
