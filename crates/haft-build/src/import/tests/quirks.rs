//! A small set of everything that definitions get wrong.

use haft_core::Digest;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::*;
use super::{check_restores, contract};

const QUIRKS: &str = include_str!("quirks.json");

/// Imports one definition with these parameters.
fn import(parameters: &Value) -> Import {
    functions(&json!({"name": "t", "description": "d", "parameters": parameters}).to_string())
        .unwrap()
}

/// Parameters come out as expected, but for what is added to every root.
#[track_caller]
fn check(parameters: Value, expected: Value) {
    let import = import(&json!({"type": "object", "properties": parameters}));
    let found = contract(&import.tools[0])["parameters"]["properties"].clone();
    assert_eq!(found, expected);
    check_restores(&import, |_| (Some(json!({"type": "object", "properties": parameters})), None));
}

/// A definition is refused, at this pointer, for a reason that says this.
#[track_caller]
fn check_refused(parameters: Value, pointer: &str, says: &str) {
    let import = import(&parameters);
    assert_eq!(import.tools, []);
    let entry = &import.report.entries[0];
    assert_eq!((entry.severity, entry.pointer.as_str()), (Severity::Error, pointer), "{entry:?}");
    assert!(entry.what.contains(says), "{}", entry.what);
}

#[test]
fn the_quirks_can_be_restored() {
    let definitions: Vec<Value> = serde_json::from_str(QUIRKS).unwrap();
    let import = functions(QUIRKS).unwrap();
    check_restores(&import, |digest| {
        let whole = definitions.iter().find(|d| Digest::of_json(d).to_string() == digest).unwrap();
        let inner = whole.get("function").unwrap_or(whole);
        let first = |names: &[&str]| names.iter().find_map(|name| inner.get(name)).cloned();
        (
            first(&["parameters", "input_schema", "inputSchema"]),
            first(&["raw_response", "outputSchema"]),
        )
    });
    let folders: Vec<&str> = import.tools.iter().map(|tool| tool.folder.as_str()).collect();
    let second = format!("garden-water-{}", Digest::of_json(&definitions[1]).short());
    assert_eq!(folders, ["garden-water", &second, "tree-walk", "ask", "now"]);
    assert_eq!(import.report.duplicates, 1);
}

#[test]
fn a_contract_and_its_documents() {
    let import = functions(QUIRKS).unwrap();
    let all = import.tools.iter().flat_map(|tool| &tool.files);
    let text: Vec<String> = all.map(|(name, content)| format!("=== {name}\n{content}")).collect();
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn a_report_names_everything_that_differs() {
    let import = functions(QUIRKS).unwrap();
    let lines: Vec<String> = import
        .report
        .entries
        .iter()
        .map(|e| {
            let show = |value: &Option<Value>| value.as_ref().map_or("-".into(), Value::to_string);
            let (before, after) = (show(&e.before), show(&e.after));
            format!(
                "{} {:?} {:?} {}: {} | {before} | {after}",
                e.tool, e.severity, e.part, e.pointer, e.what
            )
        })
        .collect();
    assert!(
        !lines.iter().any(|line| line.contains("not for the report") || line.contains("rm -rf"))
    );
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn samples_that_do_not_fit_are_taken_out() {
    for (written, expected) in [
        (json!({"type": "string", "default": 1}), json!({"type": "string"})),
        (json!({"type": "integer", "default": 1.0}), json!({"type": "integer", "default": 1.0})),
        (
            json!({"type": "string", "enum": ["a"], "default": "b"}),
            json!({"type": "string", "enum": ["a"]}),
        ),
        (json!({"type": "integer", "enum": ["1", "2"]}), json!({"type": "integer"})),
        (
            json!({"type": "array", "items": {"type": "integer"}, "enum": ["a"]}),
            json!({"type": "array", "items": {"type": "integer"}}),
        ),
        (json!({"type": "array", "enum": [["a"]]}), json!({"type": "array", "enum": [["a"]]})),
        (
            json!({"type": "string", "format": "date", "default": "soon"}),
            json!({"type": "string", "format": "date"}),
        ),
        (
            json!({"type": "string", "minLength": 3, "examples": ["ab", "abc"]}),
            json!({"type": "string", "minLength": 3, "examples": ["abc"]}),
        ),
        (json!({"default": 9_007_199_254_740_993_u64}), json!({})),
        (
            json!({"type": "string", "enum": ["a", "b\u{200b}"]}),
            json!({"type": "string", "enum": ["a"]}),
        ),
        (json!({"type": "number", "minimum": 2, "maximum": 1}), json!({"type": "number"})),
        (json!("string"), json!({})),
    ] {
        check(json!({"p": written}), json!({"p": expected}));
    }
}

#[test]
fn what_other_dialects_say_is_said_in_ours() {
    for (written, expected) in [
        (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
        (json!({"type": "string", "nullable": false}), json!({"type": "string"})),
        (json!({"minimum": 1, "exclusiveMinimum": true}), json!({"exclusiveMinimum": 1})),
        (json!({"minimum": 1, "exclusiveMinimum": false}), json!({"minimum": 1})),
        (json!({"type": "string", "example": "x"}), json!({"type": "string", "examples": ["x"]})),
        (json!({"type": "integer", "format": "int64"}), json!({"type": "integer"})),
        (
            json!({"type": "array", "items": [{"type": "int"}], "additionalItems": false}),
            json!({"type": "array", "prefixItems": [{"type": "integer"}], "items": false}),
        ),
        (json!({"type": "string", "pattern": "^(a)\\1$"}), json!({"type": "string"})),
        (
            json!({"type": "object", "patternProperties": {"(?!a)": {}, "^x": {}}}),
            json!({"type": "object", "patternProperties": {"^x": {}}}),
        ),
    ] {
        check(json!({"p": written}), json!({"p": expected}));
    }
}

#[test]
fn what_cannot_become_a_contract_is_refused() {
    for (parameters, pointer, says) in [
        (json!({"type": "string"}), "/type", "always an object"),
        (json!([]), "", "not a schema"),
        (
            json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            "/properties/a/$ref",
            "nothing is fetched",
        ),
        (
            json!({"properties": {"a": {"$ref": "//host/x"}}}),
            "/properties/a/$ref",
            "nothing is fetched",
        ),
        (
            json!({"properties": {"a": {"$ref": "#/$defs/b"}}}),
            "/properties/a/$ref",
            "leads nowhere",
        ),
        (json!({"properties": {"a": {"$ref": "#/nowhere"}}}), "/nowhere", "leads nowhere"),
        (
            json!({"properties": {"a": {"$dynamicRef": "#a"}}}),
            "/properties/a/$dynamicRef",
            "use `$ref`",
        ),
        (
            json!({"properties": {"Connection_ID": {}}, "required": ["Connection_ID"]}),
            "/properties/Connection_ID",
            "never lets a model",
        ),
        (json!({"properties": {"a\u{202e}b": {}}}), "/properties", "nobody can see"),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}), "/$ref", "circle"),
        (
            json!({
                "properties": {"a": {"$ref": "#/definitions/a"}},
                "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}},
            }),
            "/$defs/b/$ref",
            "`a` leads back to itself through `b`",
        ),
    ] {
        check_refused(parameters, pointer, says);
    }
}

#[test]
fn references_to_references_are_counted_as_they_would_be_followed() {
    let mut defs: serde_json::Map<String, Value> = (0..24)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"properties": {"a": next, "b": next}}))
        })
        .collect();
    defs.insert("d24".into(), json!({}));
    let bomb = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    check_refused(bomb, "", "split the tool");
}

#[test]
fn one_broken_line_does_not_hide_the_others() {
    let import =
        functions("{\"name\": \"a\"}\nnot json\n\n{\"name\": \"b\"}\n{\"nam\": \"c\"}").unwrap();
    let folders: Vec<&str> = import.tools.iter().map(|tool| tool.folder.as_str()).collect();
    assert_eq!(folders, ["a", "b"]);
    assert_eq!(import.report.summary().errors, 2);
    assert!(functions("not json").is_err());
    assert!(functions("7").is_err());
}

/// JSON with a leaning to the words that schemas are made of.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "required",
        "enum",
        "default",
        "name",
        "description",
        "parameters",
        "anyOf",
        "$ref",
        "$defs",
        "#/$defs/a",
        "#",
        "a",
        "object",
        "dict",
        "array",
        "string",
        "nullable",
        "minimum",
        "exclusiveMinimum",
        "pattern",
        "(",
        "format",
        "examples",
        "additionalProperties",
        "const",
        "function",
        "definitions",
        "#/definitions/a",
        "paths",
        "get",
        "openapi",
        "3.1.0",
        "servers",
        "url",
        "https://h/",
        "in",
        "query",
        "schema",
        "content",
        "application/json",
        "requestBody",
        "responses",
        "200",
        "/x/{a}",
        "function_declarations",
    ]);
    let text = prop_oneof![4 => word.prop_map(str::to_owned), 1 => ".{0,4}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_parameters_can_be_restored(parameters in any_json()) {
        let import = import(&parameters);
        if !import.tools.is_empty() {
            check_restores(&import, |_| (Some(parameters.clone()), None));
            prop_assert!(jsonschema::draft202012::options()
                .with_pattern_options(jsonschema::PatternOptions::regex())
                .build(&contract(&import.tools[0])["parameters"]).is_ok());
        } else {
            prop_assert_eq!(import.report.summary().errors, 1);
        }
    }

    #[test]
    fn nothing_that_can_be_written_makes_it_panic(value in any_json(), text in ".{0,80}") {
        let _ = functions(&value.to_string());
        let _ = functions(&text);
        let _ = adm(&value.to_string());
        let _ = openapi(&value.to_string(), Given { base_url: Some("https://h.example"), provider: None });
        let _ = openapi(&text, Given::default());
    }
}
