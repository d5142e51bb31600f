//! Results: a reader must be able to read what it read.

use serde_json::{Value, json};

use super::{check, object};

#[track_caller]
fn output(before: Value, after: Value, expected: &[&str]) {
    check(json!({"output": before}), json!({"output": after}), expected);
}

/// The schema of one field `x`: wider is breaking, and the way back is compatible.
#[track_caller]
fn both_ways(narrow: Value, wide: Value, widened: &str, narrowed: &str) {
    let field = |schema: &Value| object(json!({"x": schema}));
    let (widened, narrowed) = (
        format!("breaking: result field `x`: {widened}"),
        format!("compatible: result field `x`: {narrowed}"),
    );
    output(field(&narrow), field(&wide), &[&widened]);
    output(field(&wide), field(&narrow), &[&narrowed]);
}

#[test]
fn schemas_come_and_go() {
    check(json!({}), json!({"output": {}}), &["compatible: result is now described"]);
    check(json!({"output": {}}), json!({}), &["breaking: result is no longer described"]);
}

#[test]
fn fields_come_and_go() {
    let none = || object(json!({}));
    let optional = || object(json!({"x": {"type": "string"}}));
    let required = || {
        let mut schema = optional();
        schema["required"] = json!(["x"]);
        schema
    };
    output(none(), optional(), &["compatible: result field `x` added"]);
    output(none(), required(), &["compatible: result field `x` added"]);
    output(optional(), none(), &["breaking: result field `x` removed: readers miss it"]);
    output(required(), optional(), &["breaking: result field `x` became optional"]);
    output(optional(), required(), &["compatible: result field `x` became required"]);
}

#[test]
fn types_values_and_bounds_are_mirrored() {
    both_ways(
        json!({"type": "integer"}),
        json!({"type": "number"}),
        "type widened from integer to number: readers may not expect it",
        "type narrowed from number to integer",
    );
    both_ways(
        json!({"enum": ["a"]}),
        json!({"enum": ["a", "b"]}),
        "now also gives \"b\", which readers may not know",
        "no longer gives \"b\"",
    );
    both_ways(
        json!({"enum": ["a"]}),
        json!({}),
        "no longer gives only \"a\"",
        "now gives only \"a\"",
    );
    both_ways(
        json!({"maximum": 5}),
        json!({"maximum": 9}),
        "maximum raised from 5 to 9",
        "maximum lowered from 9 to 5",
    );
    both_ways(json!({"minItems": 1}), json!({}), "minItems 1 removed", "minItems 1 added");
    both_ways(
        json!({"format": "uri"}),
        json!({}),
        "format \"uri\" removed",
        "format \"uri\" added",
    );
    both_ways(
        json!({"oneOf": [{"type": "string"}]}),
        json!({}),
        "`oneOf` removed",
        "`oneOf` added",
    );
    both_ways(
        json!({"anyOf": [{"type": "string"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        "a branch added to `anyOf`",
        "a branch removed from `anyOf`",
    );
}

#[test]
fn readers_pass_over_members_that_they_do_not_know() {
    let closed = || json!({"type": "object", "additionalProperties": false});
    let open = || json!({"type": "object"});
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    output(closed(), open(), &["compatible: result: now gives members that are not listed"]);
    output(open(), closed(), &["compatible: result: no longer gives members that are not listed"]);
    output(
        map(json!({"type": "string"})),
        closed(),
        &["breaking: result: no longer gives members of any name"],
    );
    output(
        map(json!({"type": "string"})),
        open(),
        &["breaking: result field `*`: type widened from string to any: readers may not expect it"],
    );
}

#[test]
fn defaults_and_texts_are_wording() {
    output(
        object(json!({"x": {"default": 1, "description": "a"}})),
        object(json!({"x": {"default": 2, "description": "b"}})),
        &[
            "wording: result field `x`: description changed",
            "wording: result field `x`: default changed from 1 to 2",
        ],
    );
}
