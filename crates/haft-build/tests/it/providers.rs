//! What providers cannot be told, as diagnostics.

use haft_build::providers;
use haft_wire::Target;
use serde_json::{Value, json};

use crate::workshop::Workshop;

/// A tool with one parameter more is reported like this to these providers.
#[track_caller]
fn check(parameter: &Value, more: &Value, words: &str, expected: &[&str]) {
    let workshop = Workshop::new();
    workshop.patch("echo", json!({"parameters": {"properties": {"p": parameter}}}));
    workshop.patch("echo", more.clone());
    let checked = workshop.check();
    let errors: Vec<String> = checked.diagnostics.iter().map(|found| found.one_line()).collect();
    assert_eq!(checked.entries.len(), 1, "{errors:?}");
    let found: Vec<String> = providers::check(&checked, &Target::named(words))
        .iter()
        // The tool's own parameter has a bound, too.
        .filter(|found| found.line > 0 && !found.message.contains("`maxLength`"))
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect();
    assert_eq!(found, expected);
}

fn unique() -> Value {
    json!({"type": "array", "description": "d", "items": {"type": "string"}, "uniqueItems": true})
}

#[test]
fn what_a_provider_cannot_say_is_a_warning() {
    check(&unique(), &json!({}), "mcp", &[]);
    check(
        &unique(),
        &json!({}),
        "openai",
        &["H603 `uniqueItems` is not said as it stands to `openai-strict` (described)"],
    );
    check(
        &unique(),
        &json!({}),
        "all",
        &["H603 `uniqueItems` is not said as it stands to `openai-strict` (described), \
           `anthropic-strict` (described), `gemini` (described), \
           `gemini-json-schema` (described), `adm` (described)"],
    );
}

#[test]
fn a_loss_that_the_contract_accepts_is_not_reported() {
    let number = json!({"type": "string", "description": "d", "not": {"const": "x"}});
    let allowed = json!({"portability": {"allow": ["not"]}});
    check(&number, &allowed, "all", &[]);
}

#[test]
fn a_tool_that_a_provider_cannot_be_shown_is_named() {
    let choice = |of: usize, each: usize| {
        let words: Vec<String> = (0..of).map(|n| format!("{n:0>each$}")).collect();
        json!({"type": "string", "description": "d", "enum": words})
    };
    check(
        &choice(240, 600),
        &json!({}),
        "openai-strict",
        &["H604 `openai-strict` cannot be shown this tool: its names and values have 144731 \
           characters, and 120000 may be said"],
    );
    // A long list alone is left out: what the model writes is checked all the same.
    check(
        &choice(900, 150),
        &json!({}),
        "openai-strict",
        &["H603 `enum` is not said as it stands to `openai-strict` (dropped)"],
    );
}
