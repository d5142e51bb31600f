use haft_core::parameters::view;
use serde_json::json;

use super::filled::arguments;
use super::*;

fn parameters() -> Vec<Parameter> {
    view(&schema())
}

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["title", "where"],
        "properties": {
            "title": {"type": "string", "examples": ["Budget"]},
            "count": {"type": "integer", "default": 3},
            "kind": {"enum": ["big", "small"]},
            "urgent": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "sizes": {"type": "array", "items": {"type": "number"}},
            "where": {"type": "object", "properties": {"city": {"type": "string"}}},
            "more": {"type": "object", "additionalProperties": {"type": "string"}},
            "colours": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"enum": ["red", "blue"]}},
            "level": {"type": "integer", "minimum": 1, "maximum": 9},
            "size": {"enum": ["a b", "a\u{a0}b", "a\tb"], "default": "a\u{a0}b"},
            "code": {"type": "string", "pattern": "^[a-z]+$", "examples": ["p\u{430}y"]},
            "days": {"type": "array", "items": {"type": "string", "format": "date"}}
        }
    })
}

#[track_caller]
fn check(filled: &str, expected: Value) {
    let posted = Posted::read(filled.as_bytes());
    assert_eq!(arguments(&parameters(), &schema(), &posted), Ok(expected), "{filled}");
}

#[test]
fn what_is_filled_in_becomes_arguments() {
    check("", json!({"where": {}}));
    check(
        "a.0=A+%26+B&a.1=7&a.2=%22big%22&a.3=false&a.4=x%0D%0Ay+z%0D%0A&a.5=1%0A2.5&a.6.0=Rome&a.7=%7B%22k%22%3A%22v%22%7D",
        json!({"title": "A & B", "count": 7, "kind": "big", "urgent": false, "tags": ["x", "y z"],
               "sizes": [1, 2.5], "where": {"city": "Rome"}, "more": {"k": "v"}}),
    );
    check("a.4=+x+%0A%0Ay", json!({"tags": [" x ", "", "y"], "where": {}}));
    check("a.5=+1%0A%0A+2", json!({"sizes": [1, 2], "where": {}}));
    check("a.8=+red%0A%0A", json!({"colours": ["red"], "where": {}}));
    check("a.1=many", json!({"count": "many", "where": {}}));
    check("a.1=12345678901234567890123", json!({"count": "12345678901234567890123", "where": {}}));
}

#[test]
fn json_that_is_none_is_said_at_once() {
    let posted = Posted::read(b"a.7=%7Boops");
    let wrong = arguments(&parameters(), &schema(), &posted).unwrap_err();
    assert_eq!((wrong.path.as_str(), wrong.code.as_str()), ("/more", "not_json"));
    assert!(wrong.message.starts_with("`more` is not JSON"), "{wrong:?}");
}

#[test]
fn every_parameter_has_a_labelled_field_that_keeps_what_was_filled_in() {
    let posted = Posted::read(b"a.0=%3Cb%3E%22&a.2=%22small%22");
    let shown = fields(&parameters(), &schema(), Some(&posted), &[]).into_string();
    for place in ["a.0", "a.1", "a.2", "a.3", "a.4", "a.5", "a.6.0", "a.7"] {
        assert!(shown.contains(&format!("for=\"{place}\"")), "{place}");
        assert!(shown.contains(&format!("name=\"{place}\"")), "{place}");
    }
    assert!(shown.contains("&lt;b&gt;"), "{shown}");
    assert!(shown.contains("value=\"&quot;small&quot;\" selected"), "{shown}");
    assert!(shown.contains("Default <code>3</code>"), "{shown}");
    assert!(shown.contains("One of <code>red</code>, <code>blue</code>."), "{shown}");
    for said in [
        "Values: at most 2, no value twice.",
        "Fits the pattern <code>^[a-z]+$</code>.",
        "Each of the format <code>date</code>.",
        ">a b</option>",
        ">aU+00A0b</option>",
        ">aU+0009b</option>",
        "(default: &quot;aU+00A0b&quot;)",
        "placeholder=\"p\u{430}U+0430y\"",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    assert!(shown.contains("At least 1, at most 9."));
}

/// How the fields of these properties look.
fn drawn(properties: Value, filled: &[u8], wrong: &[Wrong]) -> String {
    let schema =
        json!({"required": ["a"], "properties": properties, "$defs": {"word": {"type": "string"}}});
    let posted = Posted::read(filled);
    fields(&view(&schema), &schema, Some(&posted), wrong).into_string()
}

#[test]
fn what_a_field_means_ends_before_its_limits_begin() {
    for (description, expected) in [
        ("Letters and digits", "Letters and digits. Fits the pattern"),
        ("Letters and digits. ", "Letters and digits. Fits the pattern"),
        ("Which letters?", "Which letters? Fits the pattern"),
        ("", "</span>  Fits the pattern"),
    ] {
        let text = json!({"type": "string", "pattern": "x", "description": description});
        let shown = drawn(json!({ "a": text }), b"", &[]);
        assert!(shown.contains(&format!("{expected} <code>x</code>.")), "{description}: {shown}");
    }
}

#[test]
fn what_need_not_be_text_is_filled_in_as_json() {
    for (schema, filled, expected) in [
        (json!({}), "7", Ok(json!(7))),
        (json!({"description": "anything"}), "null", Ok(json!(null))),
        (json!({"type": ["string", "integer"]}), "7", Ok(json!(7))),
        (json!({"type": "array", "items": {}}), "[1,\"b\"]", Ok(json!([1, "b"]))),
        (json!({"anyOf": [{"type": "string"}, {"type": "boolean"}]}), "true", Ok(json!(true))),
        (json!({}), "seven", Err("not_json")),
        (json!({"type": "string"}), "7", Ok(json!("7"))),
        (json!({"type": ["string", "null"]}), "7", Ok(json!("7"))),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "7", Ok(json!("7"))),
        (json!({"$ref": "#/$defs/word"}), "7", Ok(json!("7"))),
        (json!({"allOf": [{"$ref": "#/$defs/word"}, {"minLength": 1}]}), "7", Ok(json!("7"))),
        (json!({"type": "array", "items": {"$ref": "#/$defs/word"}}), "7", Ok(json!(["7"]))),
    ] {
        let whole = json!({"properties": {"a": schema}, "$defs": {"word": {"type": "string"}}});
        let posted = Posted::read(format!("a.0={filled}").as_bytes());
        let found = arguments(&view(&whole), &whole, &posted);
        let found = found.map(|all| all["a"].clone()).map_err(|wrong| wrong.code);
        assert_eq!(found, expected.map_err(str::to_owned), "{schema}");
    }
    assert!(drawn(json!({"a": {}}), b"", &[]).contains("Value, as JSON."));
}

#[test]
fn what_is_wrong_is_said_at_the_field_that_it_is_wrong_with() {
    let wrong = |path: &str, code: &str| Wrong {
        path: path.to_owned(),
        code: code.to_owned(),
        message: format!("{code} at {path}"),
    };
    let group =
        json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "string"}}});
    let properties = json!({"a": {"type": "string"}, "b/c": {"type": "array", "items": {"type": "string"}}, "g": group});
    // The field that is wrong, none for no field, and what is said there.
    for (filled, wrong, place, said) in [
        ("a.0=x", wrong("/a", "pattern"), Some("a.0"), "pattern at /a"),
        ("a.1=x", wrong("/b~1c/0", "type"), Some("a.1"), "type at /b~1c/0"),
        ("", wrong("", "required"), Some("a.0"), "it is missing"),
        ("", wrong("/g", "required"), Some("a.2.0"), "it is missing"),
        ("a.2.0=x", wrong("/g", "maxProperties"), None, "maxProperties at /g"),
        ("a.0=x", wrong("/ab", "type"), None, ""),
    ] {
        let shown = drawn(properties.clone(), filled.as_bytes(), std::slice::from_ref(&wrong));
        let marks = shown.matches("aria-invalid=\"true\"").count();
        assert_eq!(marks, usize::from(place.is_some()), "{wrong:?}: {shown}");
        if let Some(place) = place {
            let described = format!("aria-describedby=\"{place}-wrong {place}-note\" aria-invalid");
            let complaint = format!("<p class=\"wrong\" id=\"{place}-wrong\">{said}</p>");
            assert!(shown.contains(&described) && shown.contains(&complaint), "{shown}");
        }
        assert!(shown.contains(said), "{shown}");
    }
    let shown = drawn(properties, b"", &[]);
    assert_eq!(shown.matches("aria-required=\"true\"").count(), 2, "{shown}");
}

#[test]
fn fields_and_json_that_differ_are_refused() {
    for (filled, expected) in [
        ("raw=%7B%22title%22%3A1%7D", Ok(())),
        ("a.0=x&raw=%7B%22where%22%3A%7B%7D%2C%22title%22%3A%22x%22%7D", Ok(())),
        ("a.0=x&raw=%7B%22title%22%3A%22y%22%7D", Err("said_twice")),
        ("a.0=x&raw=oops", Err("said_twice")),
        ("a.0=x&raw=", Ok(())),
        ("a.7=oops&raw=oops", Err("said_twice")),
    ] {
        let found = said(&parameters(), &schema(), &Posted::read(filled.as_bytes()));
        let found = found.map(drop).map_err(|wrong| wrong.code);
        assert_eq!(found, expected.map_err(str::to_owned), "{filled}");
    }
}
