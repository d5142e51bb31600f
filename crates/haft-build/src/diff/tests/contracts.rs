//! The fields of a contract that are no schemas: promises, modes, limits, recovery, texts.

use serde_json::{Value, json};

use super::check;

/// A field from one value to another and back; `null` is absent.
#[track_caller]
fn both_ways(field: &str, a: Value, b: Value, forth: &str, back: &str) {
    check(json!({field: a}), json!({field: b}), &[forth]);
    check(json!({field: b}), json!({field: a}), &[back]);
}

#[test]
fn effects() {
    both_ways(
        "sideEffects",
        json!("none"),
        json!("read_only"),
        "breaking: side effects raised from `none` to `read_only` [look]",
        "compatible: side effects lowered from `read_only` to `none`",
    );
    both_ways(
        "sideEffects",
        json!("read_only"),
        json!("writes"),
        "breaking: side effects raised from `read_only` to `writes` [look]",
        "compatible: side effects lowered from `writes` to `read_only`",
    );
    both_ways(
        "effect",
        json!("state_change"),
        json!("external_side_effect"),
        "breaking: effect raised from `state_change` to `external_side_effect` [look]",
        "compatible: effect lowered from `external_side_effect` to `state_change`",
    );
    both_ways(
        "sideEffectPolicy",
        json!("idempotent"),
        json!("irreversible"),
        "breaking: side-effect policy forgives less: `idempotent` became `irreversible`",
        "compatible: side-effect policy forgives more: `irreversible` became `idempotent` [look]",
    );
    both_ways(
        "idempotent",
        json!(true),
        json!(false),
        "breaking: no longer safe to repeat",
        "compatible: now called safe to repeat: a failed call may be repeated by itself [look]",
    );
}

#[test]
fn confirmation() {
    let when = |condition: &str| json!({"when": condition});
    both_ways(
        "requiresConfirmation",
        json!(false),
        json!(true),
        "breaking: confirmation is now always asked",
        "compatible: confirmation is no longer asked: a safeguard is gone [look]",
    );
    both_ways(
        "requiresConfirmation",
        json!(false),
        when("a"),
        "breaking: confirmation is now asked under a condition",
        "compatible: confirmation is no longer asked: a safeguard is gone [look]",
    );
    both_ways(
        "requiresConfirmation",
        when("a"),
        json!(true),
        "breaking: confirmation is now always asked, whatever the condition was",
        "compatible: confirmation is now asked only under a condition: a safeguard is looser [look]",
    );
    let changed = "breaking: the condition for confirmation changed [look]";
    both_ways("requiresConfirmation", when("a"), when("b"), changed, changed);
}

#[test]
fn what_the_approver_is_asked() {
    let prompt = |text: &str| json!({"prompt": text});
    both_ways(
        "confirmation",
        Value::Null,
        prompt("Send?"),
        "wording: what the person who approves is asked: added",
        "wording: what the person who approves is asked: removed [look]",
    );
    let changed = "wording: what the person who approves is asked: changed [look]";
    both_ways("confirmation", prompt("Send?"), prompt("Go?"), changed, changed);
}

#[test]
fn availability() {
    let condition = |text: &str| json!({"condition": text});
    both_ways(
        "availability",
        Value::Null,
        condition("a"),
        "breaking: now offered only under a condition",
        "compatible: now offered without a condition [look]",
    );
    let changed = "breaking: the condition for offering it changed [look]";
    both_ways("availability", condition("a"), condition("b"), changed, changed);
}

#[test]
fn how_arguments_are_read() {
    let arguments = |mode: &str, fraction: &str| json!({"mode": mode, "fraction": fraction});
    both_ways(
        "arguments",
        arguments("lenient", "refuse"),
        arguments("strict", "refuse"),
        "breaking: arguments are now read strictly: what was repaired is refused",
        "compatible: arguments are now repaired where possible",
    );
    both_ways(
        "arguments",
        arguments("lenient", "truncate"),
        arguments("lenient", "refuse"),
        "breaking: fractions are refused where whole numbers are due; before, they were cut off",
        "compatible: fractions are cut off where whole numbers are due; before, they were refused",
    );
}

#[test]
fn modes() {
    both_ways(
        "allowedModes",
        json!(["text", "voice"]),
        json!(["text"]),
        "breaking: no longer usable in voice mode",
        "compatible: now usable in voice mode",
    );
    both_ways(
        "latencyBudgetMs",
        json!(800),
        json!(300),
        "compatible: latency budget lowered from 800 to 300 ms",
        "compatible: latency budget raised from 300 to 800 ms",
    );
    let spoken = |budget: u64| json!({"allowedModes": ["voice"], "latencyBudgetMs": budget});
    check(
        spoken(800),
        spoken(300),
        &[
            "breaking: latency budget lowered from 800 to 300 ms: slower calls now time out in voice \
           mode",
        ],
    );
    check(spoken(300), spoken(800), &["compatible: latency budget raised from 300 to 800 ms"]);
}

#[test]
fn clamps() {
    let clamp = |clamp: Value| json!({"voice": {"clamp": {"top_k": clamp}}});
    let name = "clamp of `top_k` in voice mode";
    for (loose, tight, tightened, loosened) in [
        (Value::Null, json!({"max": 3}), " added", " removed"),
        (
            json!({"max": 5}),
            json!({"max": 3}),
            ": `max` lowered from 5 to 3",
            ": `max` raised from 3 to 5",
        ),
        (json!({}), json!({"max": 3}), ": `max` of 3 added", ": `max` of 3 removed"),
        (json!({"min": 1}), json!({"min": 2}), " raises its `min`", " loosens its `min`"),
        (json!({}), json!({"min": 2}), " raises its `min`", " loosens its `min`"),
        (
            json!({"maxItems": 5}),
            json!({"maxItems": 3}),
            ": `maxItems` lowered from 5 to 3",
            ": `maxItems` raised from 3 to 5",
        ),
        (
            json!({"maxLength": 5}),
            json!({"maxLength": 3}),
            ": `maxLength` lowered from 5 to 3",
            ": `maxLength` raised from 3 to 5",
        ),
        (
            json!({"without": ["a"]}),
            json!({"without": ["a", "b"]}),
            " now also takes out \"b\"",
            " no longer takes out \"b\"",
        ),
        (json!({}), json!({"value": 1}), " now sets 1", " no longer sets a fixed value"),
        (
            json!({}),
            json!({"remove": true}),
            " now takes the argument away",
            " no longer takes the argument away",
        ),
    ] {
        let loose = if loose.is_null() { Value::Null } else { clamp(loose) };
        let (tightened, loosened) =
            (format!("breaking: {name}{tightened}"), format!("compatible: {name}{loosened}"));
        both_ways("modes", loose, clamp(tight), &tightened, &loosened);
    }
    let sets = |value: u64| clamp(json!({"value": value}));
    let (to_2, to_1) =
        (format!("breaking: {name} now sets 2"), format!("breaking: {name} now sets 1"));
    both_ways("modes", sets(1), sets(2), &to_2, &to_1);
}

#[test]
fn limits() {
    for field in ["maxRuntimeMs", "maxResultBytes"] {
        both_ways(
            "limits",
            json!({}),
            json!({field: 9}),
            &format!("breaking: limit `{field}` of 9 added"),
            &format!("compatible: limit `{field}` of 9 removed"),
        );
        both_ways(
            "limits",
            json!({field: 9}),
            json!({field: 5}),
            &format!("breaking: limit `{field}` lowered from 9 to 5"),
            &format!("compatible: limit `{field}` raised from 5 to 9"),
        );
    }
    both_ways(
        "limits",
        json!({}),
        json!({"providerKeyWindowMs": 9}),
        "internal: limit `providerKeyWindowMs` changed from 86400000 to 9",
        "internal: limit `providerKeyWindowMs` changed from 9 to 86400000",
    );
    let rate = |calls: u64, window: u64| json!({"rate": {"calls": calls, "windowMs": window}});
    both_ways(
        "limits",
        json!({}),
        rate(5, 1000),
        "breaking: limit `rate` of 5 calls in 1000 ms added",
        "compatible: limit `rate` of 5 calls in 1000 ms removed",
    );
    both_ways(
        "limits",
        rate(5, 1000),
        rate(3, 1000),
        "breaking: limit `rate` tightened from 5 calls in 1000 ms to 3 calls in 1000 ms",
        "compatible: limit `rate` loosened from 3 calls in 1000 ms to 5 calls in 1000 ms",
    );
    both_ways(
        "limits",
        rate(5, 1000),
        rate(9, 2000),
        "breaking: limit `rate` changed from 5 calls in 1000 ms to 9 calls in 2000 ms, which may \
         refuse what was allowed",
        "breaking: limit `rate` changed from 9 calls in 2000 ms to 5 calls in 1000 ms, which may \
         refuse what was allowed",
    );
}

#[test]
fn recovery() {
    check(
        json!({"idempotencyKeyFields": ["a"]}),
        json!({"idempotencyKeyFields": ["a", "b"]}),
        &["breaking: two calls are now the same act by `a`, `b` instead of `a`: keys of earlier \
           calls no longer match"],
    );
    both_ways(
        "idempotencyKeyFields",
        Value::Null,
        json!(["a"]),
        "breaking: two calls are now the same act by `a` instead of all arguments: keys of \
         earlier calls no longer match",
        "breaking: two calls are now the same act by all arguments instead of `a`: keys of \
         earlier calls no longer match",
    );
    check(
        json!({"idempotencyKeyFields": ["a", "b"]}),
        json!({"idempotencyKeyFields": ["b", "a"]}),
        &["wording: the contract is written differently and means the same"],
    );
    for (field, name, a, b) in [
        ("compensation", "the way to undo it", json!({"tool": "a"}), json!({"tool": "b"})),
        (
            "probe",
            "the way to find out whether it happened",
            json!({"tool": "a", "happened": "/result/a"}),
            json!({"tool": "a", "happened": "/result/b"}),
        ),
        (
            "probe",
            "the way to find out whether it happened",
            json!({"tool": "a", "happened": "/result/a"}),
            json!({"tool": "a", "happened": "/result/a", "settledAfterMs": 0}),
        ),
    ] {
        let (added, removed) =
            (format!("compatible: {name} added"), format!("breaking: {name} removed"));
        both_ways(field, Value::Null, a.clone(), &added, &removed);
        let changed = format!("compatible: {name} changed");
        both_ways(field, a, b, &changed, &changed);
    }
}

#[test]
fn the_rest() {
    both_ways(
        "category",
        json!("retrieval"),
        json!("utility"),
        "compatible: category changed from `retrieval` to `utility`: calls count against other \
         budgets",
        "compatible: category changed from `utility` to `retrieval`: calls count against other \
         budgets",
    );
    let deprecated = |reason: &str| json!({"reason": reason});
    both_ways(
        "deprecated",
        Value::Null,
        deprecated("old"),
        "compatible: now deprecated",
        "compatible: no longer deprecated",
    );
    let advice = "wording: the advice on its deprecation changed";
    both_ways("deprecated", deprecated("old"), deprecated("older"), advice, advice);
    let text = "wording: description changed";
    both_ways("description", json!("a"), json!("b"), text, text);
    for (field, a, b) in [
        ("tags", json!(["a"]), json!(["b"])),
        ("portability", Value::Null, json!({"allow": ["oneOf"]})),
        ("lint", Value::Null, json!({"allow": {"H110": "harmless"}})),
    ] {
        let what = format!("internal: `{field}` changed");
        both_ways(field, a, b, &what, &what);
    }
}

#[test]
fn a_text_that_somebody_else_writes_is_looked_at() {
    let from = |description: &str| {
        json!({
            "description": description,
            "gateway": {"kind": "mcp", "server": "github", "tool": "create_issue"}
        })
    };
    check(from("a"), from("b"), &["wording: description changed [look]"]);
}
