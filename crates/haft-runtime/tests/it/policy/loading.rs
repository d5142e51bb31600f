//! What is wrong with a policy is said, all of it, and where.

use haft_runtime::policy::{Policy, Rules, Source, Text};
use serde_json::{Value, json};

use super::world::load;

#[track_caller]
fn check(source: Value, cedar: &str, expected: &[&str]) {
    let problems = load(source, cedar).expect_err("it should be refused");
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "`{problem}` does not say `{expected}`");
    }
}

#[track_caller]
fn refused(cedar: &str, expected: &[&str]) {
    check(json!({"rules": {"allow": ["*"], "user": {"level": "integer"}}}), cedar, expected);
}

#[test]
fn unknown_keys_and_words_are_refused_with_the_nearest() {
    for (text, expected) in [
        (r#"{"alow": []}"#, "haft.json:1: unknown key `alow`; did you mean `allow`?"),
        (r#"{"hide_aproval": true}"#, "did you mean `hide_approval`?"),
        (
            "{\n\"modes\": {\"voice\": {\"retreival_calls\": 2}}}",
            "haft.json:2: unknown key `retreival_calls`; did you mean `retrieval_calls`?",
        ),
        (r#"{"modes": {"vioce": {}}}"#, "unknown word `vioce`; did you mean `voice`?"),
        (r#"{"modes": {"text": {"deadline": "enforced"}}}"#, "did you mean `enforce`?"),
        (r#"{"supersede": {"irreversible": "abort!"}}"#, "did you mean `abort`?"),
        (r#"{"user": {"level": "int"}}"#, "unknown word `int`"),
        (r#"{"allow": "core__*"}"#, "invalid type"),
    ] {
        let problem = Rules::read("haft.json", text).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn names_in_lists_are_read_against_the_registries() {
    let rules = |rules: Value| json!({ "rules": rules });
    for (source, expected) in [
        (
            rules(json!({"allow": ["shop__fnd"]})),
            "allow: there is no tool `shop__fnd`; did you mean `shop__find`?",
        ),
        (
            rules(json!({"allow": ["find"]})),
            "allow: `find` could be `mcp__mail__find`, `shop__find`; write the whole id",
        ),
        (rules(json!({"allow": ["shop__find "]})), "is not a tool or a pattern"),
        (rules(json!({"allow": ["sh\u{043e}p__find"]})), "is not a tool or a pattern"),
        (
            rules(json!({"deny": ["sh\u{200d}op__*"], "allow": ["*"]})),
            "deny: `sh\\u{200d}op__*` is not a tool",
        ),
        (
            rules(json!({"allow": ["*"], "approve": ["state_chang"]})),
            "approve: there is no tool `state_chang`; did you mean `state_change`?",
        ),
        (rules(json!({"allow": ["*"], "cedar": ["gone.cedar"]})), "`gone.cedar` was not read"),
        (
            rules(
                json!({"allow": ["*"], "modes": {"text": {"rate": {"calls": 1, "window_ms": 0}}}}),
            ),
            "a window of 0 ms",
        ),
        (
            rules(json!({"allow": ["*"], "user": {"isAuthenticated": "string"}})),
            "user.isAuthenticated: it is a boolean at every door",
        ),
        (
            rules(json!({"allow": ["*"], "supersede": {"pure": "abort"}})),
            "supersede.pure: what changes nothing gives way to no message",
        ),
        (
            rules(json!({"allow": ["*"], "supersede": {"irreversible": "abort"},
                "modes": {"text": {"supersede": "queue"}}})),
            "modes.text.supersede: `supersede.irreversible` holds in every mode",
        ),
        (
            json!({"rules": {"allow": ["*"]}, "grants": [{"connection": "c", "provider": "p",
                "tenant": "t", "principals": ["mara"], "tools": ["*"]}]}),
            "`mara` is nobody",
        ),
        (
            json!({"rules": {"allow": ["*"]}, "grants": [
                {"connection": "c", "provider": "p", "tenant": "t", "principals": ["*"], "tools": ["*"]},
                {"connection": "c", "provider": "q", "tenant": "t", "principals": ["*"], "tools": ["*"]}]}),
            "it has two providers",
        ),
    ] {
        check(source, "", &[expected]);
    }
}

#[test]
fn a_pattern_that_fits_nothing_is_a_warning() {
    let policy = load(json!({"rules": {"allow": ["shop__*", "mcp__github__*"]}}), "").unwrap();
    let warnings: Vec<_> = policy.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["haft.toml: allow: `mcp__github__*` fits no tool that is known now"]);
    let empty = load(json!({}), "").unwrap();
    assert!(empty.warnings()[0].message.contains("every call is refused"));
}

#[test]
fn cedar_that_does_not_parse_is_refused_with_its_line() {
    refused(
        "permit(principal, action, resource);\n\nforbid(principal action);",
        &["office.cedar:3: "],
    );
    refused("permit(principal == ?principal, action, resource);", &["templates"]);
}

#[test]
fn cedar_that_names_what_is_not_there_is_refused() {
    refused(
        "\n@id(\"a\")\nforbid(principal, action == Haft::Action::\"shop__ordr\", resource);",
        &[
            "office.cedar:2: rule `cedar:office.cedar#a`: there is no tool `shop__ordr`; did you mean `shop__order`?",
        ],
    );
    refused(
        "forbid(principal, action, resource == Haft::Tool::\"shop__nothing\");",
        &["there is no tool `shop__nothing`"],
    );
    refused(
        "forbid(principal, action, resource) when {\n context.usr.level > 1 };",
        &["office.cedar:2: rule `cedar:office.cedar#1`: attribute `usr`"],
    );
    refused(
        "forbid(principal, action == Haft::Action::\"shop__order\", resource)\nwhen { context.arguments.size == 1 };",
        &["office.cedar:2: rule `cedar:office.cedar#1`: attribute `arguments.size`"],
    );
    // What has no single type is not there for rules.
    refused(
        "forbid(principal, action == Haft::Action::\"shop__order\", resource) when { context.arguments has any };",
        &["impossible"],
    );
    refused("forbid(principal is Haft::Robot, action, resource);", &["Haft::Robot"]);
}

#[test]
fn cedar_that_may_miss_an_attribute_is_refused() {
    refused(
        "forbid(principal, action == Haft::Action::\"shop__order\", resource) when { context.arguments.gift };",
        &["unable to guarantee safety of access to optional attribute"],
    );
    refused(
        "forbid(principal, action, resource) when { context.user.level > 1 };",
        &["unable to guarantee safety of access to optional attribute"],
    );
    // Required and defaulted arguments are always there.
    let fine = "forbid(principal, action == Haft::Action::\"shop__order\", resource)
        when { context.arguments.count > 1 && context.arguments.item == \"x\" };";
    load(json!({"rules": {"allow": ["*"]}}), fine).unwrap();
}

#[test]
fn arguments_without_a_tool_need_has() {
    refused(
        "forbid(principal, action, resource) when { context.arguments.amount > 1 };",
        &["say whose arguments"],
    );
    let fine = "forbid(principal, action, resource)
        when { context.arguments has count && context.arguments.count > 1 };";
    load(json!({"rules": {"allow": ["*"]}}), fine).unwrap();
}

#[test]
fn a_rule_that_can_never_match_is_refused() {
    refused(
        "@id(\"never\")\nforbid(principal, action, resource) when { context.mode == \"a\" && false };",
        &["office.cedar:1: rule `cedar:office.cedar#never`: policy is impossible"],
    );
    refused(
        "forbid(principal, action == Haft::Action::\"shop__order\", resource == Haft::Tool::\"shop__find\");",
        &["can never match: its action and resource differ"],
    );
    refused(
        "forbid(principal, action == Haft::Action::\"call\", resource);",
        &["policy is impossible"],
    );
}

#[test]
fn annotations_are_known_and_ids_are_unique() {
    refused(
        "@aprove(\"x\")\nforbid(principal, action, resource);",
        &["`@aprove` means nothing here; did you mean `approve`?"],
    );
    refused(
        "@id(\"a\") permit(principal, action, resource);\n@id(\"a\") forbid(principal, action, resource);",
        &["office.cedar:2: two rules have the id `cedar:office.cedar#a`"],
    );
}

#[test]
fn the_same_file_twice_is_refused() {
    let text = Text { file: "a.cedar".into(), text: "permit(principal, action, resource);".into() };
    let source = Source { cedar: vec![text.clone(), text], ..Source::default() };
    assert!(Policy::load(&source, &[]).is_err());
}
