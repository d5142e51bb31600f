//! The table of what is repaired and what is refused, row by row.

use std::time::{Duration, Instant};

use haft_core::call::RawArguments;
use haft_core::contract::{Arguments, Fraction, Leniency, Mode, ModeRules};
use haft_core::error::{ErrorKind, ToolError};
use haft_runtime::arguments::{Invalid, Prepared, Reader, Reason};
use serde_json::{Value, json};

const LENIENT: Arguments = Arguments { mode: Leniency::Lenient, fraction: Fraction::Refuse };
const STRICT: Arguments = Arguments { mode: Leniency::Strict, fraction: Fraction::Refuse };
const TRUNCATE: Arguments = Arguments { mode: Leniency::Lenient, fraction: Fraction::Truncate };

fn object(properties: Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

#[track_caller]
fn read(
    schema: &Value,
    rules: Arguments,
    raw: impl Into<RawArguments>,
) -> Result<Prepared, Invalid> {
    let reader = Reader::new(schema, rules, &Default::default()).unwrap();
    reader.read(&raw.into(), Mode::Text)
}

/// What a door has read already, with the text that it came from.
fn read_before(text: &str) -> RawArguments {
    let value = haft_adm::strict::parse(text, haft_adm::strict::Limits::default()).unwrap();
    RawArguments::Value(value).from_text(Some(text))
}

fn codes(prepared: &Prepared) -> Vec<(&str, &str)> {
    prepared.warnings.iter().map(|w| (w.path.as_str(), w.code.as_str())).collect()
}

/// One parameter `a`, as JSON text: what it becomes, and the code of each repair.
#[track_caller]
fn becomes(schema: Value, text: &str, expected: Value, repairs: &[&str]) {
    let whole = object(json!({"a": schema}));
    let raw = format!("{{\"a\": {text}}}");
    let prepared = read(&whole, LENIENT, raw.as_str()).unwrap_or_else(|e| panic!("{raw}: {e:?}"));
    assert_eq!(prepared.effective["a"], expected, "{raw}");
    assert_eq!(prepared.effective.to_string(), json!({"a": expected}).to_string(), "{raw}");
    let told: Vec<&str> = prepared.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(told, repairs, "{raw}");
    assert_eq!(*prepared.received(), serde_json::from_str::<Value>(&raw).unwrap());
    // What a door has read with its text at hand becomes the same: a number is respelled as it was written.
    assert_eq!(read(&whole, LENIENT, read_before(&raw)).unwrap(), prepared, "read before: {raw}");
    if !repairs.is_empty() && repairs != ["integer_spelling"] {
        assert!(
            read(&whole, STRICT, raw.as_str()).is_err(),
            "a strict tool repairs nothing: {raw}"
        );
    }
}

#[track_caller]
fn refused(schema: Value, text: &str, code: &str) {
    let raw = format!("{{\"a\": {text}}}");
    let invalid = read(&object(json!({"a": schema})), LENIENT, raw.as_str()).unwrap_err();
    let told: Vec<(&str, &str)> =
        invalid.problems.iter().map(|p| (p.path.as_str(), p.code.as_str())).collect();
    assert_eq!(told, [("/a", code)], "{raw}");
}

#[test]
fn what_a_door_has_read_keeps_our_limits_too() {
    let any = object(json!({"a": {}}));
    let nested = |levels: usize| format!("{{\"a\": {}{}}}", "[".repeat(levels), "]".repeat(levels));
    let told = |text: &str| {
        let read = read(&any, STRICT, read_before(text));
        read.map(|_| ()).map_err(|invalid| invalid.problems[0].code.clone())
    };
    assert_eq!(told(&nested(63)), Ok(()));
    assert_eq!(told(&nested(64)), Err("too_deep".to_owned()));
    assert_eq!(told("{\"a\": \"[[[[\"}"), Ok(()));
    assert_eq!(told("{\"a\": \"\\u0000\"}"), Err("forbidden_character".to_owned()));
    assert_eq!(told("{\"a\": \"\u{ffff}\"}"), Err("forbidden_character".to_owned()));
    assert_eq!(told("{\"a\": 9007199254740993}"), Err("integer_rounded".to_owned()));
    let long = format!("{{\"a\": \"{}\"}}", "x".repeat(RawArguments::KEPT_BYTES));
    assert_eq!(told(&long), Ok(()));
    // However long a text is, a number in it is spelt as it was.
    let text = object(json!({"a": {"type": "string"}}));
    let spaced = format!("{{{}\"a\": 1.10}}", " ".repeat(2 * RawArguments::KEPT_BYTES));
    for came in ["{\"a\": 1.10}", &spaced] {
        let read = read(&text, LENIENT, read_before(came)).unwrap();
        assert_eq!(read.effective, json!({"a": "1.10"}));
    }
}

#[test]
fn booleans() {
    let boolean = || json!({"type": "boolean"});
    becomes(boolean(), "true", json!(true), &[]);
    for text in ["\"true\"", "\"TRUE\"", "\"True\""] {
        becomes(boolean(), text, json!(true), &["string_to_boolean"]);
    }
    becomes(boolean(), "\"False\"", json!(false), &["string_to_boolean"]);
    becomes(boolean(), "1", json!(true), &["number_to_boolean"]);
    becomes(boolean(), "0", json!(false), &["number_to_boolean"]);
    for text in ["\"yes\"", "\"1\"", "2", "-1", "1.5", "\"\"", "null", "[true]", "{}"] {
        refused(boolean(), text, "type");
    }
}

#[test]
fn integers() {
    let integer = || json!({"type": "integer"});
    becomes(integer(), "42", json!(42), &[]);
    becomes(integer(), "\"42\"", json!(42), &["string_to_integer"]);
    becomes(integer(), "\"-7\"", json!(-7), &["string_to_integer"]);
    becomes(integer(), "\"42.0\"", json!(42), &["string_to_integer"]);
    becomes(integer(), "42.0", json!(42), &["integer_spelling"]);
    becomes(integer(), "4.2e1", json!(42), &["integer_spelling"]);
    becomes(integer(), "-0", json!(0), &["integer_spelling"]);
    for text in [
        "42.7",
        "\"42.7\"",
        "\"many\"",
        "\"\"",
        "\"1,000\"",
        "\"007\"",
        "\"+5\"",
        "\" 5\"",
        "true",
        "\"0x10\"",
        "\"NaN\"",
        "null",
    ] {
        refused(integer(), text, "type");
    }
    for text in ["9007199254740992", "-9007199254740993", "18446744073709551615", "1e300"] {
        refused(integer(), text, "integer_rounded");
    }
    refused(integer(), "18446744073709551616", "integer_rounded");
    refused(integer(), "\"9007199254740993\"", "integer_rounded");
    refused(json!({"type": "integer", "maximum": 10}), "\"42\"", "maximum");
}

#[test]
fn fractions_are_cut_off_where_the_contract_says_so() {
    let schema = object(json!({"a": {"type": "integer"}}));
    for (text, expected) in [("42.7", 42), ("\"-42.7\"", -42), ("0.9", 0)] {
        let raw = format!("{{\"a\": {text}}}");
        let prepared = read(&schema, TRUNCATE, raw.as_str()).unwrap();
        assert_eq!(prepared.effective, json!({"a": expected}));
        assert_eq!(codes(&prepared), [("/a", "fraction_truncated")]);
    }
}

#[test]
fn numbers() {
    let number = || json!({"type": "number"});
    becomes(number(), "3.0", json!(3.0), &[]);
    becomes(number(), "\"3.5\"", json!(3.5), &["string_to_number"]);
    becomes(number(), "\"-2\"", json!(-2), &["string_to_number"]);
    becomes(number(), "\"1e3\"", json!(1e3), &["string_to_number"]);
    for text in ["\"Infinity\"", "\"3,5\"", "\"3.5 kg\"", "true"] {
        refused(number(), text, "type");
    }
    refused(number(), "9007199254740993", "integer_rounded");
}

#[test]
fn texts() {
    let string = || json!({"type": "string"});
    becomes(string(), "\"true\"", json!("true"), &[]);
    becomes(string(), "true", json!("true"), &["boolean_to_string"]);
    becomes(string(), "42", json!("42"), &["number_to_string"]);
    // As it was written: the text of a version is not its value as a number.
    becomes(string(), "1.10", json!("1.10"), &["number_to_string"]);
    becomes(string(), "1e5", json!("1e5"), &["number_to_string"]);
    becomes(string(), "9007199254740993", json!("9007199254740993"), &["number_to_string"]);
    for text in ["{}", "[]", "null", "[\"a\"]"] {
        refused(string(), text, "type");
    }
}

#[test]
fn listed_words() {
    let colour = || json!({"type": "string", "enum": ["red", "Dark Green"]});
    becomes(colour(), "\"red\"", json!("red"), &[]);
    becomes(colour(), "\"RED\"", json!("red"), &["enum_spelling"]);
    becomes(colour(), "\" dark green \"", json!("Dark Green"), &["enum_spelling"]);
    becomes(json!({"enum": ["1", "2"]}), "2", json!("2"), &["number_to_string"]);
    becomes(json!({"enum": [1, 2]}), "\"2\"", json!(2), &["string_to_integer"]);
    refused(colour(), "\"rad\"", "enum");
    refused(colour(), "\"\"", "enum");
    refused(json!({"enum": ["m", "M"]}), "\" m\"", "enum");
    let invalid = read(&object(json!({"a": colour()})), LENIENT, r#"{"a": "rde"}"#).unwrap_err();
    assert_eq!(
        invalid.problems[0].message,
        "`a` must be one of `red`, `Dark Green`; the nearest is `red`"
    );
    assert_eq!(invalid.problems[0].expected, Some(json!(["red", "Dark Green"])));
}

#[test]
fn instants() {
    let time = || json!({"type": "string", "format": "date-time"});
    becomes(time(), "\"2026-01-31T09:30:00Z\"", json!("2026-01-31T09:30:00Z"), &[]);
    for (text, expected) in [
        ("2026-01-31 09:30:00Z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30Z", "2026-01-31T09:30:00Z"),
        ("2026-01-31T09:30:00+0200", "2026-01-31T09:30:00+02:00"),
        ("2026-01-31 09:30:00.25 +02", "2026-01-31T09:30:00.25+02:00"),
        (" 2026-01-31T09:30:00Z ", "2026-01-31T09:30:00Z"),
    ] {
        becomes(time(), &format!("\"{text}\""), json!(expected), &["timestamp_spelling"]);
    }
    for text in [
        "2026-01-31",
        "2026-01-31T09:30:00",
        "2026-02-30T09:30Z",
        "tomorrow",
        "",
        "09:30Z",
        "2026-01-31T25:00Z",
        "31.01.2026 09:30Z",
    ] {
        refused(time(), &format!("\"{text}\""), "format");
    }
    refused(time(), "1769851800", "type");
    becomes(
        json!({"type": "string", "format": "date"}),
        "\"2026-01-31\"",
        json!("2026-01-31"),
        &[],
    );
}

#[test]
fn addresses() {
    let uri = || json!({"type": "string", "format": "uri"});
    becomes(uri(), "\"https://a.example/b\"", json!("https://a.example/b"), &[]);
    becomes(uri(), "\" https://a.example/b\\n\"", json!("https://a.example/b"), &["uri_trimmed"]);
    refused(uri(), "\"/relative\"", "format");
    refused(uri(), "\"a b\"", "format");
}

#[test]
fn objects_and_lists_inside_of_strings() {
    let inner = || json!({"type": "object", "properties": {"n": {"type": "integer"}, "v": {"type": "string"}}});
    becomes(inner(), r#""{\"n\": 1}""#, json!({"n": 1}), &["string_to_object"]);
    becomes(
        inner(),
        r#""{\"n\": \"1\", \"v\": 1.10}""#,
        json!({"n": 1, "v": "1.10"}),
        &["string_to_object", "string_to_integer", "number_to_string"],
    );
    becomes(json!({"type": "array"}), r#""[1, \"b\"]""#, json!([1, "b"]), &["string_to_array"]);
    for text in
        [r#""n=1""#, r#""[1]""#, r#""{'n': 1}""#, r#""{\"n\": 1, \"n\": 2}""#, "\"\"", "[]", "1"]
    {
        refused(inner(), text, "type");
    }
    refused(json!({"type": "array"}), "\"one\"", "type");
    refused(json!({"type": "array"}), "1", "type");
}

#[test]
fn one_value_for_a_list() {
    let words = || json!({"type": "array", "items": {"type": "string"}});
    becomes(words(), "\"one\"", json!(["one"]), &["value_to_list"]);
    becomes(words(), r#""[\"a\", \"b\"]""#, json!(["a", "b"]), &["string_to_array"]);
    becomes(words(), "[1, \"b\"]", json!(["1", "b"]), &["number_to_string"]);
    becomes(words(), "1.50", json!(["1.50"]), &["number_to_string", "value_to_list"]);
    let numbers = || json!({"type": "array", "items": {"type": "integer"}});
    becomes(numbers(), "5", json!([5]), &["value_to_list"]);
    becomes(numbers(), "\"5\"", json!([5]), &["string_to_integer", "value_to_list"]);
    let rows = json!({"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}});
    becomes(rows, r#"{"n": "1"}"#, json!([{"n": 1}]), &["string_to_integer", "value_to_list"]);
    // What may be several, or something that only looks like JSON, is not one.
    for text in
        ["\"a, b\"", "\"a;b\"", "\"a\\nb\"", "\"['a']\"", "\"\"", "\"\\\"a\\\"\"", "null", "{}"]
    {
        refused(words(), text, "type");
    }
    refused(numbers(), "\"five\"", "type");
    // Whether [[1, 2]] or [[1], [2]] was meant, nobody knows.
    let nested = object(json!({"a": {"type": "array", "items": numbers()}}));
    assert!(read(&nested, LENIENT, r#"{"a": [1, 2]}"#).is_err());
}

#[test]
fn values_inside_are_read_the_same_way() {
    let schema = object(json!({
        "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}},
        "by_name": {"type": "object", "additionalProperties": {"type": "integer"}},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}]}
    }));
    let schema = {
        let mut schema = schema;
        schema["$defs"] = json!({"row": {
            "type": "object",
            "properties": {"n": {"type": "integer"}, "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}}
        }});
        schema
    };
    let came = json!({
        "rows": [{"n": 1}, {"n": "2", "rows": [{"n": "3"}]}],
        "by_name": {"a/b": "4"},
        "pair": ["5", "true"]
    });
    let prepared = read(&schema, LENIENT, came.clone()).unwrap();
    assert_eq!(
        prepared.effective,
        json!({
            "rows": [{"n": 1}, {"n": 2, "rows": [{"n": 3}]}],
            "by_name": {"a/b": 4},
            "pair": [5, true]
        })
    );
    assert_eq!(
        codes(&prepared),
        [
            ("/rows/1/n", "string_to_integer"),
            ("/rows/1/rows/0/n", "string_to_integer"),
            ("/by_name/a~1b", "string_to_integer"),
            ("/pair/0", "string_to_integer"),
            ("/pair/1", "string_to_boolean"),
        ]
    );
    assert_eq!(*prepared.received(), came);
    let first = &prepared.warnings[0];
    assert_eq!((&first.before, &first.after), (&Some(json!("2")), &Some(json!(2))));
}

#[test]
fn nothing_is_where_the_schema_says_so() {
    becomes(json!({"type": ["integer", "null"]}), "null", json!(null), &[]);
    becomes(json!({"type": ["integer", "null"]}), "\"3\"", json!(3), &["string_to_integer"]);
    refused(json!({"type": ["integer", "string"]}), "true", "type");
    let invalid = read(&object(json!({"a": {"type": "string"}})), LENIENT, r#"{"a": null}"#);
    assert_eq!(
        invalid.unwrap_err().problems[0].message,
        "`a` must be a string, not null; leave it out if there is no value"
    );
}

#[test]
fn alternatives_are_left_alone() {
    let either = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]});
    becomes(either.clone(), "true", json!(true), &[]);
    refused(either, "\"1\"", "any_of");
}

#[test]
fn the_whole() {
    let schema = object(json!({"n": {"type": "integer"}}));
    for (text, expected, code) in [
        ("", json!({}), "empty_to_object"),
        (" \n", json!({}), "empty_to_object"),
        ("null", json!({}), "null_to_object"),
        ("\"\"", json!({}), "empty_to_object"),
        (r#""{\"n\": 1}""#, json!({"n": 1}), "string_to_arguments"),
    ] {
        let prepared = read(&schema, LENIENT, text).unwrap();
        assert_eq!(prepared.effective, expected, "{text}");
        assert_eq!(codes(&prepared), [("", code)], "{text}");
        assert!(read(&schema, STRICT, text).is_err(), "{text}");
    }
    for (text, path, code) in [
        (r#"{"n": 1, "n": 2}"#, "/n", "duplicate_key"),
        (r#"{"n": 1, "\u006e": 2}"#, "/n", "duplicate_key"),
        (r#""{\"n\": 1, \"n\": 2}""#, "/n", "duplicate_key"),
        (r#"{"n": 18446744073709551616}"#, "/n", "integer_rounded"),
        (r#"{"n": 1e309}"#, "/n", "number_too_large"),
        (r#"{"n": 1.00000000000000000001}"#, "/n", "number_inexact"),
        (r#"{"n": 100000000000000000000.5}"#, "/n", "number_inexact"),
        (r#"{"n": 1} x"#, "", "trailing_text"),
        (r#"{"n": 1}{"n": 2}"#, "", "trailing_text"),
        (r#"{"n": NaN}"#, "/n", "unexpected_text"),
        (r#"{'n': 1}"#, "", "unexpected_text"),
        (r#"{"n": 1 /* one */}"#, "", "unexpected_text"),
        (r#"{"n": "\ud800"}"#, "/n", "lone_surrogate"),
        ("\u{feff}{}", "", "byte_order_mark"),
        (r#"{"n""#, "/n", "unexpected_end"),
        (r#"{"n": "\u0000"}"#, "/n", "forbidden_character"),
        (r#"{"n": "\ufffe"}"#, "/n", "forbidden_character"),
        ("{\"n\": \"behind some text: \u{ffff} and more\"}", "/n", "forbidden_character"),
        (r#"{"\u0000": 1}"#, "/\0", "forbidden_character"),
    ] {
        for rules in [LENIENT, STRICT] {
            let invalid = read(&schema, rules, text).unwrap_err();
            if rules == STRICT && text.starts_with('"') {
                continue;
            }
            assert_eq!(invalid.reason, Reason::InvalidJson, "{text}");
            let first = &invalid.problems[0];
            assert_eq!((first.path.as_str(), first.code.as_str()), (path, code), "{text}");
        }
    }
    for text in ["[]", "1", "\"query\"", "true"] {
        let invalid = read(&schema, LENIENT, text).unwrap_err();
        assert_eq!(invalid.problems[0].code, "type", "{text}");
    }
}

#[test]
fn hostile_sizes_are_refused_at_once() {
    let schema = object(json!({"a": {}}));
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let started = Instant::now();
    for (text, code) in [
        (deep, "too_deep"),
        (format!("{{\"a\": {}}}", "[".repeat(1_000_000)), "too_deep"),
        (format!("{{\"a\": {}}}", "1".repeat(1_000_000)), "integer_rounded"),
        (format!("{{\"a\": 1e{}}}", "9".repeat(1_000_000)), "number_too_large"),
        (format!("{{\"a\": \"{}\"}}", "x".repeat(1 << 20)), "too_large"),
        (format!("{{\"a\": [{}1]}}", "1,".repeat(100_000)), "too_many_values"),
    ] {
        let invalid = read(&schema, LENIENT, text.as_str()).unwrap_err();
        assert_eq!(invalid.problems[0].code, code);
        assert!(ToolError::from(invalid).message.len() < 1_000);
    }
    assert!(started.elapsed() < Duration::from_secs(2));
    let mut nested = json!(1);
    for _ in 0..70 {
        nested = json!([nested]);
    }
    let invalid = read(&schema, LENIENT, json!({"a": nested})).unwrap_err();
    assert_eq!(invalid.problems[0].code, "too_deep");
}

#[test]
fn what_would_take_too_long_to_check_is_refused_unchecked() {
    let branches: Vec<Value> = (0..1_900).map(|n| json!({"type": "integer", "const": n})).collect();
    let schema = object(json!({"a": {"type": "array", "items": {"anyOf": branches}}}));
    for rules in [LENIENT, STRICT] {
        let list = |count: usize| json!({"a": vec![1_899; count]});
        assert!(read(&schema, rules, list(1_000)).is_ok());
        let invalid = read(&schema, rules, list(90_000)).unwrap_err();
        assert_eq!(invalid.reason, Reason::Validation);
        let [problem] = invalid.problems.as_slice() else { panic!("{invalid:?}") };
        assert_eq!((problem.path.as_str(), problem.code.as_str()), ("", "too_many_values"));
        assert!(problem.message.ends_with("are checked; send fewer"), "{problem:?}");
    }
    // Each is looked up, however many there are.
    let unique =
        object(json!({"a": {"type": "array", "uniqueItems": true, "items": {"type": "integer"}}}));
    let all: Vec<i64> = (0..99_990).collect();
    assert!(read(&unique, STRICT, json!({ "a": all })).is_ok());
    let twice: Vec<i64> = (0..99_990).chain([7]).collect();
    assert_eq!(
        read(&unique, STRICT, json!({ "a": twice })).unwrap_err().problems[0].code,
        "unique_items"
    );
}

#[test]
fn a_list_that_is_wrong_throughout_is_told_in_part() {
    let schema = object(json!({"a": {"type": "array", "items": {"type": "string"}}}));
    let floats = vec!["1.5"; 20_000].join(",");
    let started = Instant::now();
    let result = read(&schema, LENIENT, format!("{{\"a\": [{floats}]}}").as_str());
    assert!(started.elapsed() < Duration::from_secs(5), "searching for spellings is bounded");
    assert!(result.unwrap_err().problems.len() <= 64);
    let prepared = read(&schema, LENIENT, json!({"a": vec![1; 1_000]})).unwrap();
    assert_eq!(prepared.warnings.len(), 65);
    assert_eq!(prepared.warnings[64].message, "936 further values were repaired");
}

#[test]
fn defaults_reach_into_members_and_elements() {
    let schema = json!({
        "type": "object",
        "required": ["limit"],
        "properties": {
            "limit": {"type": "integer", "default": 5},
            "options": {"$ref": "#/$defs/options", "default": {}},
            "rows": {"type": "array", "items": {"$ref": "#/$defs/options"}}
        },
        "$defs": {"options": {
            "type": "object",
            "properties": {"deep": {"type": "boolean", "default": true}, "n": {"type": "integer"}}
        }}
    });
    let came = json!({"rows": [{"n": 1}, {"deep": false}]});
    let prepared = read(&schema, STRICT, came.clone()).unwrap();
    assert_eq!(
        prepared.effective,
        json!({
            "rows": [{"n": 1, "deep": true}, {"deep": false}],
            "limit": 5,
            "options": {"deep": true}
        })
    );
    assert_eq!(*prepared.received(), came);
    let prepared = read(&schema, STRICT, json!({"limit": 1})).unwrap();
    assert_eq!(*prepared.received(), json!({"limit": 1}));
    assert_eq!(prepared.effective, json!({"limit": 1, "options": {"deep": true}}));
}

#[test]
fn a_default_that_contains_itself_is_refused_when_the_tool_is_loaded() {
    let schema = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node", "default": {}}},
        "$defs": {"node": {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/node", "default": {}}, "b": {"$ref": "#/$defs/node", "default": {}}}
        }}
    });
    let why = Reader::new(&schema, STRICT, &Default::default()).unwrap_err();
    assert_eq!(why, "the default of `tree` calls for itself; give it a default that ends");
}

#[track_caller]
fn clamped(clamp: Value, came: Value, expected: Value, told: Value) {
    let schema = object(json!({
        "n": {"type": "integer", "maximum": 100, "default": 50},
        "list": {"type": "array", "items": {"type": "string"}},
        "text": {"type": "string"},
        "maybe": {"type": ["string", "null"]},
        "inner": {"type": "object", "properties": {"scope": {"type": "string"}, "n": {"type": "integer"}}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    }));
    let rules: ModeRules = serde_json::from_value(json!({"clamp": clamp})).unwrap();
    let reader = Reader::new(&schema, LENIENT, &[(Mode::Voice, rules)].into()).unwrap();
    let prepared = reader.read(&came.clone().into(), Mode::Voice).unwrap();
    assert_eq!(prepared.effective, expected);
    assert_eq!(serde_json::to_value(&prepared.clamps).unwrap(), told);
    assert_eq!(*prepared.received(), came);
    let unclamped = reader.read(&came.into(), Mode::Text).unwrap();
    assert_eq!(unclamped.clamps, []);
}

#[test]
fn clamps() {
    clamped(
        json!({"n": {"max": 3}}),
        json!({"n": 7}),
        json!({"n": 3}),
        json!([{"path": "/n", "before": 7, "after": 3}]),
    );
    clamped(json!({"n": {"max": 60}}), json!({"n": 7}), json!({"n": 7}), json!([]));
    // `null` is a value that an argument can always have.
    clamped(
        json!({"maybe": {"value": null}}),
        json!({"n": 7, "maybe": "x"}),
        json!({"n": 7, "maybe": null}),
        json!([{"path": "/maybe", "before": "x", "after": null}]),
    );
    clamped(
        json!({"n": {"max": 3}}),
        json!({}),
        json!({"n": 3}),
        json!([{"path": "/n", "before": 50, "after": 3}]),
    );
    clamped(
        json!({"n": {"min": 10}}),
        json!({"n": 7}),
        json!({"n": 10}),
        json!([{"path": "/n", "before": 7, "after": 10}]),
    );
    clamped(
        json!({"list": {"without": ["b"], "maxItems": 2}, "n": {"max": 50}}),
        json!({"list": ["a", "b", "c", "d"], "n": 1}),
        json!({"list": ["a", "c"], "n": 1}),
        json!([{"path": "/list", "before": ["a", "b", "c", "d"], "after": ["a", "c"]}]),
    );
    clamped(
        json!({"text": {"maxLength": 2}, "list[]": {"maxLength": 1}}),
        json!({"text": "äöü", "list": ["ab", "c"], "n": 1}),
        json!({"text": "äö", "list": ["a", "c"], "n": 1}),
        json!([
            {"path": "/list/0", "before": "ab", "after": "a"},
            {"path": "/text", "before": "äöü", "after": "äö"}
        ]),
    );
    clamped(
        json!({"inner.scope": {"value": "public"}, "inner.n": {"max": 3}}),
        json!({"n": 1}),
        json!({"n": 1, "inner": {"scope": "public"}}),
        json!([{"path": "/inner/scope", "after": "public"}]),
    );
    clamped(
        json!({"inner.scope": {"value": "public"}, "text": {"remove": true}, "rows[].n": {"max": 2}}),
        json!({"n": 1, "inner": {"scope": "all"}, "text": "x", "rows": [{"n": 1}, {"n": 9}]}),
        json!({"n": 1, "inner": {"scope": "public"}, "rows": [{"n": 1}, {"n": 2}]}),
        json!([
            {"path": "/inner/scope", "before": "all", "after": "public"},
            {"path": "/rows/1/n", "before": 9, "after": 2},
            {"path": "/text", "before": "x"}
        ]),
    );
    clamped(
        json!({"list[]": {"remove": true}}),
        json!({"n": 1, "list": ["a", "b"]}),
        json!({"n": 1, "list": []}),
        json!([{"path": "/list/0", "before": "a"}, {"path": "/list/1", "before": "b"}]),
    );
}

/// An object that nobody asked for is made only where that is all it needs.
#[test]
fn a_fixed_value_makes_no_object_that_does_not_fit() {
    let schema = object(json!({
        "full": {"$ref": "#/$defs/full"}, "plain": {"type": "object", "required": ["fixed"],
            "properties": {"fixed": {"type": "integer"}}},
        "maybe": {"type": ["string", "null"]},
    }));
    let mut schema = schema;
    schema["$defs"] = json!({"full": {"type": "object", "required": ["x", "fixed"],
        "properties": {"x": {"type": "integer"}, "fixed": {"type": "integer"}}}});
    let clamp = json!({"clamp": {
        "full.fixed": {"value": 1}, "plain.fixed": {"value": 1}, "maybe": {"value": null},
    }});
    let rules: ModeRules = serde_json::from_value(clamp).unwrap();
    let reader = Reader::new(&schema, LENIENT, &[(Mode::Voice, rules)].into()).unwrap();
    let read = |came: Value| reader.read(&came.into(), Mode::Voice).unwrap().effective;
    assert_eq!(read(json!({})), json!({"plain": {"fixed": 1}, "maybe": null}));
    assert_eq!(
        read(json!({"full": {"x": 1, "fixed": 7}, "maybe": "x"})),
        json!({"full": {"x": 1, "fixed": 1}, "plain": {"fixed": 1}, "maybe": null})
    );
}

#[test]
fn what_was_repaired_is_clamped_too() {
    let rules: ModeRules = serde_json::from_value(json!({"clamp": {"n": {"max": 3}}})).unwrap();
    let schema = object(json!({"n": {"type": "integer", "maximum": 10}}));
    let reader = Reader::new(&schema, LENIENT, &[(Mode::Voice, rules)].into()).unwrap();
    let prepared = reader.read(&r#"{"n": "7"}"#.into(), Mode::Voice).unwrap();
    assert_eq!(prepared.effective, json!({"n": 3}));
    assert_eq!(codes(&prepared), [("/n", "string_to_integer")]);
    assert_eq!(prepared.clamps[0].before, Some(json!(7)));
    assert_eq!(*prepared.received(), json!({"n": "7"}));
}

#[test]
fn a_model_is_told_everything_at_once() {
    let schema = json!({
        "type": "object",
        "required": ["query"],
        "additionalProperties": false,
        "properties": {
            "query": {"type": "string"},
            "top_k": {"type": "integer", "maximum": 10},
            "namespace": {"enum": ["studio", "personal"]}
        }
    });
    let came = json!({"qurey": "x", "top_k": "12", "namespace": "studoi"});
    let error = ToolError::from(read(&schema, LENIENT, came).unwrap_err());
    assert_eq!(error.kind, ErrorKind::InvalidArguments);
    for part in [
        "`top_k` must be at most 10",
        "`namespace` must be one of `studio`, `personal`; the nearest is `studio`",
        "`qurey` is not a known property; did you mean `query`?",
        "`query` is missing",
    ] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let details = error.details.clone().unwrap();
    assert_eq!(details["reason"], "validation");
    assert_eq!(details["problems"].as_array().unwrap().len(), 4);
    assert_eq!(details["warnings"][0]["code"], "string_to_integer");
    let unreadable = ToolError::from(read(&schema, LENIENT, "{").unwrap_err());
    assert_eq!(unreadable.details.clone().unwrap()["reason"], "invalid_json");
    let hostile = json!({"a\u{1b}[31m\n\u{202e}b": 1, "query": "x"});
    let error = ToolError::from(read(&schema, LENIENT, hostile).unwrap_err());
    assert!(!error.message.contains(['\u{1b}', '\n', '\u{202e}']), "{}", error.message);
}

#[test]
fn names_that_only_look_the_same_are_different_names() {
    let schema = object(json!({"é": {"type": "string"}}));
    let invalid = read(&schema, LENIENT, "{\"é\": \"a\", \"e\u{301}\": \"b\"}").unwrap_err();
    assert_eq!(invalid.problems[0].code, "unknown_parameter");
    // A space is part of a name.
    let schema = object(json!({"i": {"type": "string"}}));
    let error = ToolError::from(read(&schema, LENIENT, json!({"i ": "a"})).unwrap_err());
    assert_eq!(error.details.clone().unwrap()["problems"][0]["path"], "/i ");
}

/// The bundled toolset.
pub(crate) fn studio() -> haft_core::Registry {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../toolsets/studio");
    let checked =
        haft_build::build::check(root.as_ref(), haft_build::build::Reuse::Nothing, &|_, _| {});
    checked.unwrap().registry().unwrap()
}

#[test]
fn every_tool_of_the_bundled_toolset_can_be_read() {
    let registry = studio();
    for tool in &registry.tools {
        Reader::compile(tool).unwrap();
    }
    let search = Reader::compile(registry.find("kb_search").unwrap()).unwrap();
    let came = r#"{"query": "lighting", "top_k": "8", "return_fields": ["snippet", "full_text"]}"#;
    let prepared = search.read(&came.into(), Mode::Voice).unwrap();
    assert_eq!(
        prepared.effective,
        json!({
            "query": "lighting", "top_k": 3, "return_fields": ["snippet"],
            "namespace": "studio", "include_snippets": true
        })
    );
    assert_eq!(prepared.clamps.len(), 2);
}
