//! Schemas inside of schemas, references and keywords that resist comparison.

use serde_json::{Value, json};

use super::{changes, check, object};

/// Whole parameter schemas.
#[track_caller]
fn schemas(before: Value, after: Value, expected: &[&str]) {
    check(json!({"parameters": before}), json!({"parameters": after}), expected);
}

/// The schema of one parameter `x`.
#[track_caller]
fn parameter(before: Value, after: Value, expected: &[&str]) {
    schemas(object(json!({"x": before})), object(json!({"x": after})), expected);
}

/// The keyword itself comes, goes and changes.
#[track_caller]
fn opaque(keyword: &str, before: Value, after: Value) {
    let (with, changed) = (json!({keyword: before}), json!({keyword: after}));
    let what = format!(
        "breaking: parameter `x`: `{keyword}` changed and cannot be compared keyword by keyword"
    );
    parameter(with.clone(), changed, &[&what]);
    let added = format!("breaking: parameter `x`: `{keyword}` added");
    parameter(json!({}), with.clone(), &[&added]);
    let removed = format!("compatible: parameter `x`: `{keyword}` removed");
    parameter(with, json!({}), &[&removed]);
}

#[test]
fn objects_in_objects() {
    let inner = |schema: Value| json!({"filter": object(json!({"owner": schema}))});
    schemas(
        object(inner(json!({"maxLength": 9}))),
        object(inner(json!({"maxLength": 5}))),
        &["breaking: parameter `filter.owner`: maxLength lowered from 9 to 5"],
    );
    let open = |properties: Value| json!({"type": "object", "properties": properties});
    parameter(
        open(json!({})),
        open(json!({"a": {"type": "string"}})),
        &["breaking: optional parameter `x.a` added: until now any value was accepted there"],
    );
    parameter(
        open(json!({})),
        open(json!({"a": {}})),
        &["compatible: optional parameter `x.a` added"],
    );
    parameter(
        open(json!({"a": {}})),
        open(json!({})),
        &["breaking: parameter `x.a` removed: calls that send it no longer get what it stood for"],
    );
}

#[test]
fn a_pattern_may_have_accepted_a_new_name() {
    let closed = |properties: Value| {
        json!({
            "additionalProperties": false,
            "patternProperties": {"^a": {"type": "integer"}},
            "properties": properties
        })
    };
    parameter(
        closed(json!({})),
        closed(json!({"a": {"type": "string"}})),
        &["breaking: optional parameter `x.a` added: `patternProperties` may have accepted it"],
    );
}

#[test]
fn maps() {
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    parameter(
        map(json!({"maximum": 5})),
        map(json!({"maximum": 9})),
        &["compatible: parameter `x.*`: maximum raised from 5 to 9"],
    );
    parameter(
        map(json!(true)),
        map(json!({"type": "string"})),
        &["breaking: parameter `x.*`: type narrowed from any to string"],
    );
    parameter(
        map(json!({"type": "string"})),
        map(json!(false)),
        &["breaking: parameter `x`: no longer takes members of any name"],
    );
    let mut listed = map(json!({"type": "integer"}));
    listed["properties"] = json!({"a": {"type": "number"}});
    parameter(
        map(json!({"type": "integer"})),
        listed,
        &[
            "compatible: optional parameter `x.a` added",
            "compatible: parameter `x.a`: type widened from integer to number",
        ],
    );
}

#[test]
fn arrays() {
    let list = |items: Value| json!({"type": "array", "items": items});
    parameter(
        list(json!({"type": "integer"})),
        list(json!({"type": "number"})),
        &["compatible: parameter `x[]`: type widened from integer to number"],
    );
    let tuple = |first: Value| json!({"prefixItems": first, "items": {"type": "string"}});
    parameter(
        tuple(json!([{"type": "integer"}])),
        tuple(json!([{"type": "integer"}, {"type": "null"}])),
        &["breaking: parameter `x[1]`: type changed from string to null"],
    );
    parameter(
        json!({"prefixItems": [{}], "items": false}),
        json!({"prefixItems": [{}], "items": true}),
        &["compatible: parameter `x[]`: now takes values; before, none"],
    );
    parameter(
        list(json!(true)),
        list(json!(false)),
        &["breaking: parameter `x[]`: no longer takes any value"],
    );
}

#[test]
fn references_are_followed() {
    let with = |maximum: u64, x: Value| {
        let mut schema = object(json!({"x": x}));
        schema["$defs"] = json!({"k": {"type": "integer", "maximum": maximum, "description": "d"}});
        schema
    };
    let reference = || json!({"$ref": "#/$defs/k"});
    let lowered = &["breaking: parameter `x`: maximum lowered from 10 to 5"];
    schemas(with(10, reference()), with(5, reference()), lowered);
    schemas(
        with(10, reference()),
        object(json!({"x": {"type": "integer", "maximum": 5, "description": "d"}})),
        lowered,
    );
    schemas(
        with(10, reference()),
        object(json!({"x": {"type": "integer", "maximum": 10, "description": "d"}})),
        &["wording: the contract is written differently and means the same"],
    );
    schemas(
        with(10, json!({"$ref": "#/$defs/k", "minimum": 1})),
        with(5, json!({"$ref": "#/$defs/k", "minimum": 0})),
        &[
            "breaking: parameter `x`: maximum lowered from 10 to 5",
            "compatible: parameter `x`: minimum lowered from 1 to 0",
        ],
    );
    schemas(
        with(10, reference()),
        with(10, json!({"$ref": "#/$defs/k", "description": "e"})),
        &["wording: parameter `x`: description changed"],
    );
    schemas(
        with(10, reference()),
        with(10, json!({"$ref": "#/$defs/nowhere"})),
        &[
            "breaking: parameter `x`: `$ref` changed and cannot be compared keyword by keyword",
            "wording: parameter `x`: description removed",
        ],
    );
}

#[test]
fn a_schema_that_contains_itself_is_told_once() {
    let tree = |maximum: u64| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "$defs": {"node": object(json!({
                "value": {"maximum": maximum},
                "next": {"$ref": "#/$defs/node"}
            }))}
        })
    };
    schemas(tree(10), tree(5), &["breaking: parameter `root.value`: maximum lowered from 10 to 5"]);
}

#[test]
fn what_refers_to_nothing_but_itself_ends() {
    let circle = |description: &str| {
        json!({
            "description": description,
            "properties": {"x": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
        })
    };
    assert!(
        !changes(&json!({"parameters": circle("a")}), &json!({"parameters": circle("b")}))
            .is_empty()
    );
}

#[test]
fn what_unfolds_without_end_is_called_too_large() {
    let unfolding = |leaf: Value| {
        let mut shelves = json!({"d0": leaf});
        for level in 1..40 {
            let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
            shelves[format!("d{level}")] = object(json!({"a": below, "b": below}));
        }
        let mut schema = object(json!({"x": {"$ref": "#/$defs/d39"}}));
        schema["$defs"] = shelves;
        json!({"parameters": schema})
    };
    let told = changes(
        &unfolding(json!({"type": "null"})),
        &unfolding(json!({"type": ["null", "string"]})),
    );
    let cut = told.iter().filter(|it| it.ends_with("too large to be compared in full"));
    assert_eq!(cut.count(), 1);
}

#[test]
fn branches() {
    let text = || json!({"type": "string"});
    let count = |maximum: u64| json!({"type": "integer", "maximum": maximum});
    let any = |branches: Value| json!({"anyOf": branches});
    let all = |branches: Value| json!({"allOf": branches});
    parameter(
        any(json!([text()])),
        any(json!([count(5), text()])),
        &["compatible: parameter `x`: a branch added to `anyOf`"],
    );
    parameter(
        any(json!([text(), count(5)])),
        any(json!([text()])),
        &["breaking: parameter `x`: a branch removed from `anyOf`"],
    );
    parameter(
        any(json!([text(), count(5)])),
        any(json!([count(9), text()])),
        &["compatible: parameter `x(anyOf 1)`: maximum raised from 5 to 9"],
    );
    parameter(
        any(json!([text(), count(5)])),
        any(json!([{"type": "null"}])),
        &["breaking: parameter `x`: `anyOf` changed and cannot be compared keyword by keyword"],
    );
    parameter(
        all(json!([text()])),
        all(json!([text(), {"maxLength": 5}, {"minLength": 1}])),
        &["breaking: parameter `x`: 2 branches added to `allOf`"],
    );
    parameter(
        all(json!([text(), {"maxLength": 5}])),
        all(json!([text()])),
        &["compatible: parameter `x`: a branch removed from `allOf`"],
    );
    for keyword in ["anyOf", "allOf"] {
        let with = json!({keyword: [text()]});
        let (added, removed) = (
            format!("breaking: parameter `x`: `{keyword}` added"),
            format!("compatible: parameter `x`: `{keyword}` removed"),
        );
        parameter(json!({}), with.clone(), &[&added]);
        parameter(with, json!({}), &[&removed]);
    }
}

#[test]
fn keywords_that_can_only_be_the_same() {
    let (a, b) = (json!({"type": "string"}), json!({"type": "null"}));
    opaque("oneOf", json!([a]), json!([a, b]));
    opaque("not", a.clone(), b.clone());
    opaque("contains", a.clone(), b.clone());
    opaque("propertyNames", a.clone(), b.clone());
    opaque("dependentSchemas", json!({"k": a}), json!({"k": b}));
    opaque("dependentRequired", json!({"k": ["l"]}), json!({"k": []}));
    for (before, after, keyword) in [
        (json!({"if": a, "then": a}), json!({"if": a, "then": b}), "`if` "),
        (json!({"patternProperties": {"^a": a}}), json!({}), "`patternProperties` "),
        (json!({"unevaluatedProperties": false}), json!({}), ""),
        (
            json!({"$dynamicRef": "#a"}),
            json!({"$dynamicRef": "#a", "title": "t"}),
            "`$dynamicRef` ",
        ),
        (json!({"unheardOf": 1}), json!({"unheardOf": 2}), "`unheardOf` "),
    ] {
        let what = format!(
            "breaking: parameter `x`: {keyword}changed and cannot be compared keyword by keyword"
        );
        let told = changes(
            &json!({"parameters": object(json!({"x": before}))}),
            &json!({"parameters": object(json!({"x": after}))}),
        );
        assert_eq!(told.first(), Some(&what));
    }
}

#[test]
fn wording_inside_of_them_stays_wording() {
    let branch = |text: &str| json!({"oneOf": [{"type": "string", "description": text}]});
    parameter(branch("a"), branch("b"), &["wording: parameter `x(oneOf 0)`: description changed"]);
}

#[test]
fn equal_text_that_refers_to_something_else_is_not_the_same() {
    let with = |target: Value| {
        let mut schema = object(json!({"x": {"not": {"$ref": "#/$defs/k"}}}));
        schema["$defs"] = json!({"k": target});
        schema
    };
    schemas(
        with(json!({"type": "string"})),
        with(json!({"type": "null"})),
        &["breaking: parameter `x`: `not` changed and cannot be compared keyword by keyword"],
    );
}

#[test]
fn what_is_left_over_depends_on_how_the_rest_is_written() {
    let referred = |kept: Value| {
        let mut schema = object(json!({"x": {"$ref": "#/$defs/k"}}));
        schema["$defs"] = json!({"k": {"unevaluatedItems": false, "prefixItems": kept}});
        schema
    };
    let what = "breaking: parameter `x`: changed and cannot be compared keyword by keyword";
    schemas(referred(json!([{}, {}])), referred(json!([{}])), &[what]);
    let titled = |title: &str| json!({"unevaluatedItems": false, "title": title});
    parameter(titled("a"), titled("b"), &["wording: parameter `x`: title changed"]);
}

#[test]
fn what_only_accepts_more_outside_of_one_of_breaks_inside_of_it() {
    let node = |maximum: u64| {
        json!({
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {
                "properties": {"k": {"maximum": maximum}},
                "oneOf": [{"type": "object"}, {"items": {"$ref": "#/$defs/node"}}]
            }}
        })
    };
    schemas(
        node(5),
        node(9),
        &[
            "breaking: parameter `x`: `oneOf` changed and cannot be compared keyword by keyword",
            "compatible: parameter `x.k`: maximum raised from 5 to 9",
        ],
    );
}
