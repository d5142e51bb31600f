//! Deep documents and values end in an error, however they were made.

use haft_adm::{FunctionCall, FunctionDeclaration, SCHEMA_LEVELS, Schema, Tool, ToolResult};
use serde_json::{Map, Value, json};

use crate::said;

const MANY: usize = 100_000;

fn nested_value(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
}

/// A schema document of so many levels, all OBJECT.
fn nested_schema(levels: usize) -> Value {
    (1..levels).fold(json!({"type": "OBJECT"}), |inner, _| {
        let mut properties = Map::new();
        properties.insert("in".to_owned(), inner);
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "OBJECT".into());
        schema.insert("properties".to_owned(), properties.into());
        schema.into()
    })
}

fn tool_around(schema: Value) -> Value {
    let mut function = Map::new();
    function.insert("name".to_owned(), "f".into());
    function.insert("description".to_owned(), "x".into());
    function.insert("parameters".to_owned(), schema);
    let mut tool = Map::new();
    tool.insert("function_declarations".to_owned(), Value::Array(vec![function.into()]));
    tool.into()
}

#[test]
fn the_deepest_tool_can_be_written_and_read_by_every_door() {
    let mut innermost = nested_schema(SCHEMA_LEVELS);
    let pointer = "/properties/in".repeat(SCHEMA_LEVELS - 1);
    *innermost.pointer_mut(&pointer).unwrap() = json!({"type": "STRING", "enum": ["a"]});
    let tool = Tool::from_value(tool_around(innermost)).unwrap();
    let text = serde_json::to_string(&tool).unwrap();
    assert_eq!(Tool::parse(&text).unwrap(), tool);
    assert_eq!(serde_json::from_str::<Tool>(&text).unwrap(), tool);
}

#[test]
fn one_schema_more_is_refused() {
    let errors = Tool::from_value(tool_around(nested_schema(SCHEMA_LEVELS + 1))).unwrap_err();
    let error = &errors.as_slice()[0];
    let place = "/properties/in".repeat(SCHEMA_LEVELS);
    assert_eq!(error.pointer, format!("/function_declarations/0/parameters{place}"));
    assert_eq!(error.function.as_deref(), Some("f"));
    assert_eq!(error.kind.to_string(), "schemas are nested more than 60 levels deep; flatten them");
}

#[test]
fn schemas_cannot_be_built_deeper() {
    let mut schema = Schema::string();
    for _ in 1..SCHEMA_LEVELS {
        schema = Schema::array(schema).unwrap();
    }
    let said_too_deep = ["schemas are nested more than 60 levels deep; flatten them"];
    assert_eq!(said(Schema::array(schema.clone())), said_too_deep);
    assert_eq!(said(Schema::object().optional("in", schema).build()), said_too_deep);
}

#[test]
fn very_many_levels_are_refused_and_dropped() {
    let flatten = "nested more than 127 levels deep; flatten the document";
    let said_of = |said: Vec<String>| {
        assert_eq!(said.len(), 1);
        assert!(said[0].ends_with(flatten), "{}", said[0]);
    };
    said_of(said(Schema::from_value(nested_schema(MANY))));
    said_of(said(Tool::from_value(tool_around(nested_schema(MANY)))));
    said_of(said(Tool::from_value(nested_value(MANY))));
    said_of(said(FunctionDeclaration::from_value(nested_value(MANY))));
    said_of(said(FunctionCall::from_value(nested_value(MANY))));
    said_of(said(ToolResult::success("f".parse().unwrap(), nested_value(MANY))));
    let args = Map::from_iter([("deep".to_owned(), nested_value(MANY))]);
    let said = said(FunctionCall::new("f".parse().unwrap(), args));
    assert!(said[0].starts_with("function `f`, at `/args/deep/0/0"), "{}", said[0]);
    said_of(said);
}

#[test]
fn a_deep_value_can_be_checked_without_following_it() {
    let deep = nested_value(MANY);
    let mut object = Map::new();
    object.insert("deep".to_owned(), deep);
    let mut value = Value::Object(object);
    assert!(Schema::object().build().unwrap().check(&value).is_ok());
    let list_of_words = Schema::array(Schema::string()).unwrap();
    let schema = Schema::object().required("deep", list_of_words).build().unwrap();
    assert_eq!(said(schema.check(&value)), ["at `/deep/0`: expected STRING, found an array"]);
    // Taken apart by hand: dropped in one go it would exhaust the stack of this test.
    let mut inner = value["deep"].take();
    while let Value::Array(mut list) = inner {
        inner = list.pop().unwrap_or(Value::Null);
    }
}

#[test]
fn the_deepest_call_and_result_can_be_written_and_read_by_every_door() {
    let args = Map::from_iter([("deep".to_owned(), nested_value(125))]);
    let call = FunctionCall::new("f".parse().unwrap(), args).unwrap();
    let text = serde_json::to_string(&call).unwrap();
    assert_eq!(FunctionCall::parse(&text).unwrap(), call);
    assert_eq!(serde_json::from_str::<FunctionCall>(&text).unwrap(), call);

    let result = ToolResult::success("f".parse().unwrap(), nested_value(126)).unwrap();
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(ToolResult::parse(&text).unwrap(), result);
    assert_eq!(serde_json::from_str::<ToolResult>(&text).unwrap(), result);
    assert!(ToolResult::success("f".parse().unwrap(), nested_value(127)).is_err());
}

#[test]
fn serde_counts_too() {
    let text = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let deserializer = serde::de::value::StrDeserializer::<serde_json::Error>::new("x");
    assert!(<Schema as serde::Deserialize>::deserialize(deserializer).is_err());
    // A value in memory is a format without a limit of its own.
    let error = serde_json::from_value::<Schema>(nested_value(500)).unwrap_err();
    assert!(error.to_string().contains("nested more than 127 levels deep"), "{error}");
    assert!(serde_json::from_str::<Schema>(&text).is_err());
}
