//! JSON text: the grammar, double keys, numbers, limits.

use haft_adm::strict::{Limits, parse, parse_bytes, parse_with};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::said;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(said(parse(text, Limits::default())), expected, "{text}");
}

#[test]
fn what_is_json_is_read() {
    for (text, value) in [
        ("null", Value::Null),
        (" \t\r\n true ", json!(true)),
        ("[]", json!([])),
        ("[ 1 , [ ] , { } ]", json!([1, [], {}])),
        (r#"{"a" : {"b" : false}, "" : 0}"#, json!({"a": {"b": false}, "": 0})),
        (r#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00é😀""#, json!("\"\\/\u{8}\u{c}\n\r\té😀é😀")),
        ("\"\u{7f}\u{2028}\"", json!("\u{7f}\u{2028}")),
    ] {
        assert_eq!(parse(text, Limits::default()).unwrap(), value, "{text}");
    }
}

#[test]
fn a_member_of_the_whole_is_found_with_its_text() {
    for (text, found) in [
        (r#"{"a": 1, "with": {"with" : [ ]} }"#, Some(r#"{"with" : [ ]}"#)),
        (r#"{"\u0077ith" : "\u00e9" }"#, Some(r#""\u00e9""#)),
        (r#"{"with":-1}"#, Some("-1")),
        (r#"{"a": {"with": 1}}"#, None),
        (r#"[{"with": 1}]"#, None),
        ("{}", None),
    ] {
        let (value, text_of) = parse_with(text, &["with"], Limits::default()).unwrap();
        assert_eq!(value, parse(text, Limits::default()).unwrap(), "{text}");
        assert_eq!(text_of, found, "{text}");
        let again = text_of.map(|text| parse(text, Limits::default()).unwrap());
        assert_eq!(again.as_ref(), value.get("with"), "{text}");
    }
    assert!(parse_with(r#"{"with": 1, "with": 2}"#, &["with"], Limits::default()).is_err());
}

#[test]
fn a_member_is_found_by_the_names_that_lead_to_it() {
    for (text, found) in [
        (r#"{"a": {"b": [1] , "c": 2}, "b": 3}"#, Some("[1]")),
        (
            r#"{"b": 3, "x": {"a": {"b": 4}}, "a": {"x": {"b": 5}, "b": {"a": {"b": 6}}}}"#,
            Some(r#"{"a": {"b": 6}}"#),
        ),
        (r#"{"a": [{"b": 1}], "b": 2}"#, None),
        (r#"[{"a": {"b": 1}}]"#, None),
        (r#"{"a": {"a": {"b": 1}}}"#, None),
        (r#"{"a": 1}"#, None),
    ] {
        let (value, text_of) = parse_with(text, &["a", "b"], Limits::default()).unwrap();
        assert_eq!(value, parse(text, Limits::default()).unwrap(), "{text}");
        assert_eq!(text_of, found, "{text}");
    }
}

#[test]
fn what_is_not_json_is_refused_where_it_stops_being_it() {
    check("", &["line 1, column 1: the text ends where a value should follow"]);
    check("[1, 2", &["line 1, column 6: the text ends where `,` or `]` should follow"]);
    check("[1,]", &["at `/1`, line 1, column 4: expected a value, found `]`"]);
    check("[1 2]", &["line 1, column 4: expected `,` or `]`, found `2`"]);
    check("{,}", &["line 1, column 2: expected a key in double quotes, found `,`"]);
    check("{\"a\" 1}", &["at `/a`, line 1, column 6: expected `:`, found `1`"]);
    check("{\"a\": 1,}", &["line 1, column 9: expected a key in double quotes, found `}`"]);
    check("{'a': 1}", &["line 1, column 2: expected a key in double quotes, found `\\'`"]);
    check("nul", &["line 1, column 1: expected a value, found `n`"]);
    check("NaN", &["line 1, column 1: expected a value, found `N`"]);
    check("[1] // no", &["line 1, column 5: there is more text after the value; remove it"]);
    check("nulll", &["line 1, column 5: there is more text after the value; remove it"]);
    check("\u{feff}1", &["line 1, column 1: the text starts with a byte order mark; remove it"]);
    check("\u{a0}1", &["line 1, column 1: expected a value, found `\\u{a0}`"]);
}

#[test]
fn strings_hold_characters_and_nothing_else() {
    check("\"a", &["line 1, column 3: the text ends where a closing quote should follow"]);
    check(
        "\"a\nb\"",
        &["line 1, column 3: control characters in a string are escaped; write `\\u000a` instead"],
    );
    let half = "half of a surrogate pair is no character; write both halves";
    for text in [r#""\ud83d""#, r#""\ude00""#, r#""\ud83dx""#, r#""\ud83d\ud83d""#, r#""\ud83d\n""#]
    {
        check(text, &[&format!("line 1, column 2: {half}")]);
    }
    check(
        r#""\x""#,
        &["line 1, column 3: expected one of `\"\\/bfnrtu` after a backslash, found `x`"],
    );
    check(r#""\u12g4""#, &["line 1, column 6: expected four hexadecimal digits, found `g`"]);
    check(r#""\u00é""#, &["line 1, column 6: expected four hexadecimal digits, found `é`"]);
}

#[test]
fn a_key_appears_once_however_it_is_spelt() {
    let twice = |key: &str| format!("the key `{key}` appears twice in this object; keep one");
    check(r#"{"to":1,"to":1}"#, &[&format!("at `/to`, line 1, column 9: {}", twice("to"))]);
    check(r#"{"to":1,"\u0074o":2}"#, &[&format!("at `/to`, line 1, column 9: {}", twice("to"))]);
    check(
        r#"[{"😀":1,"\ud83d\ude00":2}]"#,
        &[&format!("at `/0/😀`, line 1, column 9: {}", twice("😀"))],
    );
    check(r#"{"a":{"to":1},"b":{"to":2}}"#, &[]);
    check(r#"{"to":1,"To":2}"#, &[]);
    check(
        "{\"a\":[{\"b/c\":1,\n\"b/c\":2}],\n\"a\":1,\"a\":2}",
        &[
            &format!("at `/a/0/b~1c`, line 2, column 1: {}", twice("b/c")),
            &format!("at `/a`, line 3, column 1: {}", twice("a")),
            &format!("at `/a`, line 3, column 7: {}", twice("a")),
        ],
    );
}

#[test]
fn numbers_that_can_be_kept_are_kept() {
    for (text, value) in [
        ("0", json!(0)),
        ("-1", json!(-1)),
        ("9223372036854775807", json!(i64::MAX)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("9223372036854775808", json!(9_223_372_036_854_775_808_u64)),
        ("18446744073709551615", json!(u64::MAX)),
        ("9007199254740993", json!(9_007_199_254_740_993_u64)),
        ("-0", json!(-0.0)),
        ("1.0", json!(1.0)),
        ("1e3", json!(1000.0)),
        ("1E+3", json!(1000.0)),
        ("1500e-2", json!(15.0)),
        ("0.1", json!(0.1)),
        ("1e23", json!(1e23)),
        ("0e400", json!(0.0)),
        ("5e-324", json!(5e-324)),
        ("1.7976931348623157e308", json!(f64::MAX)),
        ("9007199254740994.0", json!(9_007_199_254_740_994.0)),
        ("18446744073709551616.0", json!(18_446_744_073_709_551_616.0)),
        ("123456789012345e-1", json!(12_345_678_901_234.5)),
        ("0.0000000000000000000000001", json!(1e-25)),
        ("-0.100000000000000000000", json!(-0.1)),
        // As programs write 0.1: with 17 digits, and all that the double has there.
        ("0.10000000000000001", json!(0.1)),
        ("0.1000000000000000055511151231257827", json!(0.1)),
        // The shortest spelling of a power of two is not what it is rounded to.
        ("7.120236347223045e-307", json!(2.0_f64.powi(-1017))),
        ("1700000000.123456", json!(1_700_000_000.123_456)),
        // Readers that take a short cut miss the nearest double here.
        ("122.416294033786585", json!(122.416_294_033_786_58)),
    ] {
        let read = parse(text, Limits::default()).unwrap();
        assert_eq!(read, value, "{text}");
        assert_eq!(read.is_f64(), value.is_f64(), "{text}");
    }
}

#[test]
fn what_programs_write_of_their_doubles_is_kept() {
    proptest!(|(float in proptest::num::f64::NORMAL, digits in 16_usize..40)| {
        for text in [format!("{float:e}"), format!("{float:?}"), format!("{float:.digits$e}")] {
            prop_assert_eq!(parse(&text, Limits::default()), Ok(json!(float)), "{}", text);
        }
    });
}

#[test]
fn numbers_that_would_change_are_refused() {
    for integer in ["18446744073709551616", "-9223372036854775809"] {
        let said = "does not fit 64 bits; write a smaller number or a string";
        check(integer, &[&format!("line 1, column 1: `{integer}` {said}")]);
    }
    for float in ["1e400", "-1e400", "1.8e308"] {
        let said = "is larger than any double; write a smaller number";
        check(float, &[&format!("line 1, column 1: `{float}` {said}")]);
    }
    for (float, nearest) in [
        ("1.00000000000000000001", "1.0"),
        ("-0.99999999999999999999", "-1.0"),
        ("1e-400", "0.0"),
        ("9007199254740990.99", "9007199254740991.0"),
        ("9007199254740993.0", "9007199254740992.0"),
        ("1234567890123456.7", "1234567890123456.8"),
        ("-100000000000000000000.5", "-1e+20"),
        ("0.33333333333333333333", "0.3333333333333333"),
        ("122.416294033786586", "122.41629403378658"),
        ("1.2345678901234567e-320", "1.2347e-320"),
    ] {
        let said = format!("would be read as `{nearest}`; write the number that is meant");
        check(float, &[&format!("line 1, column 1: `{float}` {said}")]);
    }
}

#[test]
fn numbers_follow_the_grammar() {
    for (text, column, said) in [
        ("01", 2, "expected no digit after a leading zero, found `1`"),
        ("-", 2, "the text ends where a digit should follow"),
        ("-x", 2, "expected a digit, found `x`"),
        ("1.", 3, "the text ends where a digit should follow"),
        ("1.e3", 3, "expected a digit, found `e`"),
        ("1e", 3, "the text ends where a digit should follow"),
        ("1e+", 4, "the text ends where a digit should follow"),
        (".5", 1, "expected a value, found `.`"),
        ("+1", 1, "expected a value, found `+`"),
        ("0x10", 2, "there is more text after the value; remove it"),
    ] {
        check(text, &[&format!("line 1, column {column}: {said}")]);
    }
}

#[test]
fn every_number_and_key_is_looked_at() {
    check(
        r#"{"a": 1e999, "a": 99999999999999999999, "b": [1e-999]}"#,
        &[
            "at `/a`, line 1, column 7: `1e999` is larger than any double; write a smaller number",
            "at `/a`, line 1, column 14: the key `a` appears twice in this object; keep one",
            "at `/a`, line 1, column 19: `99999999999999999999` does not fit 64 bits; \
             write a smaller number or a string",
            "at `/b/0`, line 1, column 47: `1e-999` would be read as `0.0`; \
             write the number that is meant",
        ],
    );
}

#[test]
fn limits_are_kept_to_the_byte() {
    let limits = Limits::default().with_bytes(4);
    assert_eq!(said(parse("1234", limits)), Vec::<String>::new());
    let large = "line 1, column 1: the text has 5 bytes; at most 4 are read";
    assert_eq!(said(parse("12345", limits)), [large]);

    let limits = Limits::default().with_values(3);
    assert_eq!(said(parse("[1,2]", limits)), Vec::<String>::new());
    let many = "at `/2`, line 1, column 6: the text has more than 3 values; split it";
    assert_eq!(said(parse("[1,2,3]", limits)), [many]);

    let limits = Limits::default().with_depth(1);
    assert_eq!(said(parse("[1]", limits)), Vec::<String>::new());
    let deep = "at `/0`, line 1, column 2: nested more than 1 levels deep; flatten the document";
    assert_eq!(said(parse("[[]]", limits)), [deep]);
    assert_eq!(said(parse("[{}]", limits)), [deep]);
}

#[test]
fn huge_and_hostile_texts_end_in_an_error() {
    let more_than_16_mib = format!("\"{}\"", "x".repeat(16 << 20));
    assert_eq!(said(parse(&more_than_16_mib, Limits::default())).len(), 1);

    let errors = parse(&"[".repeat(10 << 20), Limits::default()).unwrap_err();
    assert_eq!(errors.as_slice()[0].position.unwrap().offset, 127);

    let errors = parse(&format!("[{}1]", "1e400,".repeat(5_000)), Limits::default()).unwrap_err();
    assert_eq!((errors.len(), errors.omitted()), (1_000, 4_000));
    assert!(errors.to_string().ends_with("\nand 4000 more"));

    let long_key = "k".repeat(3 << 20);
    let text = format!("{{\"{long_key}\": [{}1]}}", "1e400,".repeat(50));
    let errors = parse(&text, Limits::default()).unwrap_err();
    assert_eq!((errors.len(), errors.omitted()), (1, 49));
}

#[test]
fn bytes_are_utf_8() {
    assert_eq!(parse_bytes("\"é\"".as_bytes(), Limits::default()).unwrap(), json!("é"));
    let errors = parse_bytes(b"[\n\"\xc3\xa9\xc3\"]", Limits::default()).unwrap_err();
    let position = errors.as_slice()[0].position.unwrap();
    assert_eq!((position.offset, position.line, position.column), (5, 2, 3));
}
