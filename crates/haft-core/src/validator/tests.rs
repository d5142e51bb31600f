use std::io::ErrorKind;
use std::net::TcpListener;

use jsonschema::Draft;
use serde_json::json;

use super::*;

/// What a value is told by a schema.
#[track_caller]
fn check(schema: Value, value: Value, expected: &[(&str, &str)]) {
    let validator = compile(&schema).unwrap();
    let found = errors(&validator, &value);
    let found: Vec<_> = found.iter().map(|(at, why)| (at.as_str(), why.as_str())).collect();
    assert_eq!(found, expected, "{schema} {value}");
    assert_eq!(found.is_empty(), validator.is_valid(&value));
}

/// What the one parameter `a` is told by its schema.
#[track_caller]
fn about_a(schema: Value, value: Value, expected: &str) {
    check(json!({"properties": {"a": schema}}), json!({"a": value}), &[("/a", expected)]);
}

#[test]
fn numbers() {
    about_a(json!({"maximum": 10}), json!(12), "`a` must be at most 10");
    about_a(json!({"minimum": 1.5}), json!(1), "`a` must be at least 1.5");
    about_a(json!({"exclusiveMaximum": 3}), json!(3), "`a` must be less than 3");
    about_a(json!({"exclusiveMinimum": 3}), json!(3), "`a` must be more than 3");
    about_a(json!({"multipleOf": 5}), json!(7), "`a` must be a multiple of 5");
}

#[test]
fn types() {
    about_a(json!({"type": "integer"}), json!("4"), "`a` must be an integer, not a string");
    about_a(json!({"type": "integer"}), json!(4.5), "`a` must be an integer, not a number");
    about_a(json!({"type": "string"}), json!(null), "`a` must be a string, not null");
    let either = json!({"type": ["boolean", "array"]});
    about_a(either, json!({}), "`a` must be a boolean or an array, not an object");
    check(
        json!({"type": "object"}),
        json!([]),
        &[("", "the value must be an object, not an array")],
    );
}

#[test]
fn texts() {
    about_a(json!({"maxLength": 1}), json!("xy"), "`a` must have at most 1 character");
    about_a(json!({"minLength": 3}), json!("xy"), "`a` must have at least 3 characters");
    about_a(json!({"pattern": "^x$"}), json!("y"), "`a` must match the pattern `^x$`");
    about_a(
        json!({"format": "date-time"}),
        json!("tomorrow"),
        "`a` must be written as `date-time`: `2026-01-31T09:30:00Z`, say",
    );
    about_a(json!({"format": "attachment"}), json!(""), "`a` must be the id of an attachment");
    about_a(json!({"format": "json-pointer"}), json!("a"), "`a` must be written as `json-pointer`");
    // In draft 2020-12 these say what a text holds, they don't ask for it.
    check(json!({"contentEncoding": "base64"}), json!("?"), &[]);
    check(json!({"contentMediaType": "application/json"}), json!("?"), &[]);
}

#[test]
fn choices() {
    let colours = json!({"enum": ["red", "green", 3]});
    about_a(
        colours.clone(),
        json!("gren"),
        "`a` must be one of `red`, `green`, `3`; the nearest is `green`",
    );
    about_a(colours, json!(7), "`a` must be one of `red`, `green`, `3`");
    let many: Vec<_> = (0..22).collect();
    let validator = compile(&json!({ "enum": many })).unwrap();
    let found = errors(&validator, &json!("x"));
    assert!(found[0].1.ends_with("`18`, `19` and 2 more"), "{found:?}");
    about_a(json!({"const": "x"}), json!("y"), "`a` must be `x`");
    about_a(json!({"not": {"type": "string"}}), json!(""), "`a` is what the schema excludes");
    about_a(json!(false), json!(1), "`a` is not allowed");
    let kinds = json!({"anyOf": [{"type": "null"}, {"type": "integer"}]});
    about_a(
        kinds,
        json!("x"),
        "`a` fits none of 2 alternatives; in the nearest, `a` must be null, not a string",
    );
    let ranges = json!({"oneOf": [{"minimum": 1}, {"minimum": 2}]});
    about_a(
        ranges.clone(),
        json!(3),
        "`a` fits more than one of the 2 alternatives; it must fit one",
    );
    about_a(
        ranges,
        json!(0),
        "`a` fits none of 2 alternatives; in the nearest, `a` must be at least 1",
    );
}

#[test]
fn lists() {
    about_a(json!({"maxItems": 1}), json!([1, 2]), "`a` must have at most 1 element");
    about_a(json!({"minItems": 2}), json!([]), "`a` must have at least 2 elements");
    about_a(
        json!({"uniqueItems": true}),
        json!([1, 1]),
        "`a` must not have the same element twice",
    );
    let contains = "`a` does not have the elements that it must contain";
    about_a(json!({"contains": {"type": "null"}}), json!([1]), contains);
    about_a(
        json!({"unevaluatedItems": false}),
        json!([1]),
        "`a` has elements that are not allowed",
    );
    check(
        json!({"properties": {"a": {"prefixItems": [{}], "items": false}}}),
        json!({"a": [1, 2]}),
        &[("/a/1", "`a[1]` is not allowed")],
    );
    check(
        json!({"properties": {"a": {"items": {"properties": {"b": {"type": "null"}}}}}}),
        json!({"a": [{}, {"b": 1}]}),
        &[("/a/1/b", "`a[1].b` must be null, not a number")],
    );
}

#[test]
fn objects() {
    let closed = json!({
        "properties": {"top_k": {}, "query": {}},
        "required": ["query"],
        "additionalProperties": false,
    });
    check(
        closed,
        json!({"topk": 1, "zebra": 2}),
        &[
            ("/topk", "`topk` is not a known property; did you mean `top_k`?"),
            ("/zebra", "`zebra` is not a known property"),
            ("", "`query` is missing"),
        ],
    );
    // Behind a reference, too.
    check(
        json!({
            "properties": {"in": {"$ref": "#/$defs/in"}},
            "$defs": {"in": {"properties": {"name": {}}, "additionalProperties": false}},
        }),
        json!({"in": {"nam": 1}}),
        &[("/in/nam", "`in.nam` is not a known property; did you mean `name`?")],
    );
    check(
        json!({"properties": {"a/b": {}}, "unevaluatedProperties": false}),
        json!({"a/b~": 1}),
        &[("/a~1b~0", "`a/b~` is not a known property; did you mean `a/b`?")],
    );
    check(
        json!({"properties": {"a": {"required": ["b"]}}}),
        json!({"a": {}}),
        &[("/a", "`a.b` is missing")],
    );
    check(json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), &[("", "`b` is missing")]);
    check(
        json!({"propertyNames": {"maxLength": 2}}),
        json!({"abc": 1}),
        &[("", "the property name `abc` must have at most 2 characters")],
    );
    check(
        json!({"maxProperties": 1}),
        json!({"a": 1, "b": 1}),
        &[("", "the value must have at most 1 property")],
    );
    check(
        json!({"minProperties": 2}),
        json!({}),
        &[("", "the value must have at least 2 properties")],
    );
}

#[test]
fn schemas_that_do_not_compile_say_why() {
    let pattern = "at `/pattern`: `(` cannot be compiled: check its brackets";
    let linear = |pattern: &str| {
        let text = format!("at `/pattern`: `{pattern}` cannot be compiled: check its brackets; ");
        (json!({ "pattern": pattern }), text + "lookaround, back-references and huge repetition")
    };
    for (schema, expected) in [
        (json!({"type": "strng"}), "at `/type`: `strng` fits none of 2 alternatives".to_owned()),
        (json!({"minimum": "1"}), "at `/minimum`: `1` must be a number, not a string".to_owned()),
        (
            json!({"$ref": "#/$defs/a"}),
            "a reference leads to `/$defs/a`, which does not".to_owned(),
        ),
        (
            json!({"$ref": "#a"}),
            "a reference names the anchor `a`, which does not exist".to_owned(),
        ),
        (json!({"format": "emial"}), "at `/format`: `emial` is not a known format; did".to_owned()),
        (json!({"pattern": "("}), pattern.to_owned()),
        linear("(?=a)"),
        linear("(a)\\1"),
        linear("((a{100}){100}){100}"),
        (json!(1), "`1` must be ".to_owned()),
    ] {
        let why = compile(&schema).map(|_| ()).expect_err("it does not compile");
        assert!(why.starts_with(&expected), "{schema}: {why}");
    }
}

#[test]
fn nothing_is_fetched() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), "{\"type\": \"string\"}").unwrap();
    let file = format!("file://{}", file.path().display());
    let http = format!("http://{address}/schema.json");
    for uri in [file, http, "https://example.com/a.json".to_owned(), "other.json".to_owned()] {
        for keyword in ["$ref", "$dynamicRef"] {
            let refused = compile(&json!({ keyword: uri.clone() })).map(|_| ());
            let why = refused.expect_err("what is elsewhere is not part of the schema");
            assert!(why.ends_with("is not part of the schema, and nothing is fetched"), "{why}");
        }
        // Whatever draft a schema names, it is read as 2020-12.
        assert!(compile(&json!({"$schema": uri, "type": "string"})).is_ok());
    }
    let asked = listener.accept().expect_err("nobody may have called");
    assert_eq!(asked.kind(), ErrorKind::WouldBlock);
}

#[test]
fn every_format_is_known_and_counts() {
    assert!(FORMATS.is_sorted());
    let options = jsonschema::options();
    for format in FORMATS {
        let ours = *format == "attachment";
        assert!(ours || options.is_known_format(Draft::Draft202012, format), "{format}");
        let validator = compile(&json!({ "format": format })).unwrap();
        let wrong = if ours { "" } else { "\\ (" };
        assert!(ours || !validator.is_valid(&json!(wrong)), "{format}");
        assert!(validator.is_valid(&json!(7)), "{format}");
    }
}

#[test]
fn hostile_patterns_take_linear_time() {
    let validator = compile(&json!({"pattern": "^(a|a)*(a+)+$"})).unwrap();
    let text = "a".repeat(50_000) + "b";
    assert!(!validator.is_valid(&json!(text)));
}

#[test]
fn a_problem_says_what_was_expected() {
    let schema = json!({
        "$defs": {"size": {"type": "integer", "maximum": 3}},
        "properties": {"size": {"$ref": "#/$defs/size"}, "colour": {"enum": ["red"]}},
        "additionalProperties": false
    });
    let validator = compile(&schema).unwrap();
    let found = problems(&validator, &json!({"size": 4, "colour": "blue", "colr": 1}), 10);
    let found: Vec<_> = found
        .iter()
        .map(|p| (p.path.as_str(), p.keyword.as_str(), p.expected.clone().unwrap()))
        .collect();
    assert!(found.contains(&("/size", "maximum", json!(3))), "{found:?}");
    assert!(found.contains(&("/colour", "enum", json!(["red"]))), "{found:?}");
    let names = ("/colr", "additionalProperties", json!(["size", "colour"]));
    assert!(found.contains(&names), "{found:?}");
    assert_eq!(problems(&validator, &json!({"size": 4, "colour": "blue"}), 1).len(), 1);
}

/// A list whose elements are one of this many things.
fn one_of_many(branches: usize) -> Validator {
    let any: Vec<Value> = (0..branches).map(|n| json!({"const": n})).collect();
    compile(&json!({"type": "array", "items": {"anyOf": any}})).unwrap()
}

#[test]
fn what_checking_could_cost_is_counted_before_it_is_done() {
    let list = |count: usize| json!(vec![-1; count]);
    let many = one_of_many(1_000);
    assert_eq!(many.too_much(&list(19_000)), None);
    let why = many.too_much(&list(20_000)).unwrap();
    assert!(
        why.starts_with("there are 20001 values, and the schema has so many branches"),
        "{why}"
    );
    // Few branches, or texts that are looked up, and nothing is counted.
    assert_eq!(one_of_many(100).too_much(&list(99_999)), None);
    let words: Vec<String> = (0..10_000).map(|n| format!("word {n}")).collect();
    let looked_up = compile(&json!({"items": {"enum": words}})).unwrap();
    assert_eq!(looked_up.too_much(&list(99_999)), None);
    let compared = compile(&json!({"items": {"enum": (0..10_000).collect::<Vec<_>>()}})).unwrap();
    assert!(compared.too_much(&list(2_000)).is_some());
    // Wherever the branches stand.
    let behind = json!({
        "$defs": {"any": {"oneOf": (0..1_000).map(|n| json!({"const": n})).collect::<Vec<_>>()}},
        "properties": {"a": {"items": {"$ref": "#/$defs/any"}}},
    });
    assert!(compile(&behind).unwrap().too_much(&json!({"a": list(20_000)})).is_some());
}

#[test]
fn of_very_much_that_is_wrong_the_first_is_told() {
    let names: Vec<String> = (0..100).map(|n| format!("n{n}")).collect();
    let schema = compile(&json!({"items": {"required": names}})).unwrap();
    assert_eq!(errors(&schema, &json!([{}, {}])).len(), 200);
    let told = errors(&schema, &json!(vec![json!({}); 90_000]));
    assert_eq!(told, [("/0".to_owned(), "`0.n0` is missing".to_owned())]);
    assert_eq!(problems(&schema, &json!(vec![json!({}); 90_000]), 64).len(), 1);
}

#[test]
fn a_schema_that_contains_itself_is_followed_as_deep_as_a_value_goes() {
    let node = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
    });
    let schema = compile(&json!({"$defs": {"node": node}, "$ref": "#/$defs/node"})).unwrap();
    let deep = |end: Value| (0..64).fold(end, |inner, _| json!({ "next": inner }));
    assert!(schema.is_valid(&deep(Value::Null)));
    assert_eq!(schema.too_much(&deep(Value::Null)), None);
    let told = errors(&schema, &deep(json!("no end")));
    assert_eq!(told.len(), 1, "{told:?}");
}
