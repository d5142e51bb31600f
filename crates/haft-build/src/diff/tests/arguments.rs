//! Parameters: a caller must be able to send what it sent.

use serde_json::{Value, json};

use super::{check, object, writing};

/// The schema of one optional parameter `x`, before and after.
#[track_caller]
fn parameter(before: Value, after: Value, expected: &[&str]) {
    check(
        json!({"parameters": object(json!({"x": before}))}),
        json!({"parameters": object(json!({"x": after}))}),
        expected,
    );
}

/// Tightened is breaking, and the way back is compatible.
#[track_caller]
fn both_ways(loose: Value, tight: Value, tightened: &str, loosened: &str) {
    parameter(loose.clone(), tight.clone(), &[&format!("breaking: parameter `x`: {tightened}")]);
    parameter(tight, loose, &[&format!("compatible: parameter `x`: {loosened}")]);
}

#[test]
fn parameters_come_and_go() {
    let none = || json!({"parameters": object(json!({}))});
    let optional = || json!({"parameters": object(json!({"x": {"type": "string"}}))});
    let required = || {
        let mut schema = object(json!({"x": {"type": "string"}}));
        schema["required"] = json!(["x"]);
        json!({"parameters": schema})
    };
    check(none(), optional(), &["compatible: optional parameter `x` added"]);
    check(none(), required(), &["breaking: required parameter `x` added"]);
    let removed = "breaking: parameter `x` removed: calls that send it are refused";
    check(optional(), none(), &[removed]);
    check(required(), none(), &[removed]);
    check(optional(), required(), &["breaking: parameter `x` became required"]);
    check(required(), optional(), &["compatible: parameter `x` became optional"]);
}

#[test]
fn a_new_parameter_of_a_writing_tool_that_fills_itself_in_is_looked_at() {
    let added = object(json!({"bcc": {"type": "string", "default": "a@example.com"}}));
    let (mut before, mut after) = (writing(), writing());
    before["parameters"] = object(json!({}));
    after["parameters"] = added.clone();
    check(
        before,
        after,
        &["compatible: optional parameter `bcc` added; calls that leave it out now send \
           \"a@example.com\" [look]"],
    );
    check(
        json!({"parameters": object(json!({}))}),
        json!({"parameters": added}),
        &["compatible: optional parameter `bcc` added"],
    );
}

#[test]
fn types() {
    for (narrow, wide, from, to) in [
        (json!("integer"), json!("number"), "integer", "number"),
        (json!("string"), json!(["string", "null"]), "string", "string or null"),
        (
            json!(["integer", "null"]),
            json!(["null", "number"]),
            "integer or null",
            "null or number",
        ),
    ] {
        both_ways(
            json!({"type": wide}),
            json!({"type": narrow}),
            &format!("type narrowed from {to} to {from}"),
            &format!("type widened from {from} to {to}"),
        );
    }
    both_ways(
        json!({}),
        json!({"type": "string"}),
        "type narrowed from any to string",
        "type widened from string to any",
    );
    let swapped = &["breaking: parameter `x`: type changed from string to integer"];
    parameter(json!({"type": "string"}), json!({"type": "integer"}), swapped);
}

#[test]
fn a_type_that_only_says_what_the_listed_values_are_changes_nothing() {
    parameter(
        json!({"enum": ["a", "b"]}),
        json!({"type": "string", "enum": ["b", "a"]}),
        &["wording: the contract is written differently and means the same"],
    );
}

#[test]
fn listed_values() {
    both_ways(
        json!({"enum": ["a", "b", "c"]}),
        json!({"enum": ["a"]}),
        "no longer takes \"b\", \"c\"",
        "now also takes \"b\", \"c\"",
    );
    both_ways(
        json!({"type": "string"}),
        json!({"type": "string", "enum": ["a"]}),
        "now takes only \"a\"",
        "no longer takes only \"a\"",
    );
    both_ways(
        json!({}),
        json!({"const": null}),
        "now takes only null",
        "no longer takes only null",
    );
    both_ways(
        json!({"enum": [1, 2]}),
        json!({"const": 1.0}),
        "no longer takes 2",
        "now also takes 2",
    );
    parameter(
        json!({"const": "a"}),
        json!({"const": "b"}),
        &[
            "breaking: parameter `x`: no longer takes \"a\"",
            "compatible: parameter `x`: now also takes \"b\"",
        ],
    );
}

#[test]
fn bounds() {
    for keyword in ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"] {
        let exclusive = if keyword == "exclusiveMaximum" { " (exclusive)" } else { "" };
        both_ways(
            json!({keyword: 10}),
            json!({keyword: 5}),
            &format!("{keyword} lowered from 10{exclusive} to 5{exclusive}"),
            &format!("{keyword} raised from 5{exclusive} to 10{exclusive}"),
        );
        both_ways(
            json!({}),
            json!({keyword: 5}),
            &format!("{keyword} 5 added"),
            &format!("{keyword} 5 removed"),
        );
    }
    for keyword in ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"] {
        let exclusive = if keyword == "exclusiveMinimum" { " (exclusive)" } else { "" };
        both_ways(
            json!({keyword: 1}),
            json!({keyword: 2}),
            &format!("{keyword} raised from 1{exclusive} to 2{exclusive}"),
            &format!("{keyword} lowered from 2{exclusive} to 1{exclusive}"),
        );
        both_ways(
            json!({}),
            json!({keyword: 2}),
            &format!("{keyword} 2 added"),
            &format!("{keyword} 2 removed"),
        );
    }
}

#[test]
fn the_stricter_of_two_bounds_counts() {
    both_ways(
        json!({"minimum": 4}),
        json!({"exclusiveMinimum": 4}),
        "exclusiveMinimum moved from 4 to 4 (exclusive)",
        "minimum moved from 4 (exclusive) to 4",
    );
    let same = &["wording: the contract is written differently and means the same"];
    parameter(json!({"maximum": 4}), json!({"maximum": 4, "exclusiveMaximum": 5}), same);
    parameter(
        json!({"type": "integer", "exclusiveMinimum": 4}),
        json!({"type": "integer", "minimum": 5}),
        same,
    );
    parameter(json!({"type": "string"}), json!({"type": "string", "minLength": 0}), same);
}

#[test]
fn multiples_and_uniqueness() {
    both_ways(
        json!({"multipleOf": 2}),
        json!({"multipleOf": 6}),
        "multipleOf changed from 2 to 6",
        "multipleOf changed from 6 to 2",
    );
    both_ways(
        json!({}),
        json!({"multipleOf": 0.5}),
        "multipleOf 0.5 added",
        "multipleOf 0.5 removed",
    );
    for (before, after) in [(4, 6), (6, 4)] {
        let what = format!("breaking: parameter `x`: multipleOf changed from {before} to {after}");
        parameter(json!({"multipleOf": before}), json!({"multipleOf": after}), &[&what]);
    }
    both_ways(
        json!({"type": "array"}),
        json!({"type": "array", "uniqueItems": true}),
        "items must now be unique",
        "items need no longer be unique",
    );
}

#[test]
fn patterns_and_formats() {
    for keyword in ["pattern", "format"] {
        both_ways(
            json!({}),
            json!({keyword: "uri"}),
            &format!("{keyword} \"uri\" added"),
            &format!("{keyword} \"uri\" removed"),
        );
        let what = format!("breaking: parameter `x`: {keyword} changed from \"uri\" to \"email\"");
        parameter(json!({keyword: "uri"}), json!({keyword: "email"}), &[&what]);
    }
}

#[test]
fn a_default_is_part_of_what_a_stored_call_means() {
    for (before, after, what) in [
        (json!({"default": 5}), json!({"default": 3}), "default changed from 5 to 3"),
        (json!({}), json!({"default": 3}), "default 3 added"),
        (json!({"default": 5}), json!({}), "default 5 removed"),
    ] {
        let reads = format!(
            "compatible: parameter `x`: {what}: calls that leave it out may get another answer"
        );
        parameter(before.clone(), after.clone(), &[&reads]);
        let (mut old, mut new) = (writing(), writing());
        old["parameters"] = object(json!({"x": before}));
        new["parameters"] = object(json!({"x": after}));
        let writes = format!(
            "breaking: parameter `x`: {what}: calls that leave it out may now do something else \
             [look]"
        );
        check(old, new, &[&writes]);
    }
}

#[test]
fn texts_and_hints() {
    for keyword in ["title", "description", "examples", "$comment", "x-order"] {
        let said = if keyword.starts_with("x-") { format!("`{keyword}`") } else { keyword.into() };
        for (before, after, how) in [
            (json!({keyword: "a"}), json!({keyword: "b"}), "changed"),
            (json!({}), json!({keyword: "b"}), "added"),
            (json!({keyword: "a"}), json!({}), "removed"),
        ] {
            parameter(before, after, &[&format!("wording: parameter `x`: {said} {how}")]);
        }
    }
    let marked = json!({"deprecated": true});
    let (now, no_longer) = (
        "compatible: parameter `x`: now marked `deprecated`",
        "compatible: parameter `x`: no longer marked `deprecated`",
    );
    parameter(json!({}), marked.clone(), &[now]);
    parameter(marked, json!({"deprecated": false}), &[no_longer]);
}

#[test]
fn the_root_itself() {
    let closed = json!({"parameters": {"type": "object", "additionalProperties": false}});
    let open = json!({"parameters": {"type": "object"}});
    check(
        closed.clone(),
        open.clone(),
        &["compatible: arguments: now takes members that are not listed"],
    );
    check(open, closed, &["breaking: arguments: no longer takes members that are not listed"]);
}
