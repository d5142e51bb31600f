//! The registries as a whole, and the report for people.

use haft_core::names::Namespace;
use haft_core::registry::Registry;
use serde_json::json;

use super::{compare, object, registry, said, tool, writing};

#[test]
fn a_report() {
    let mut mailer = writing();
    mailer["toolId"] = json!("mail_send");
    let mut reaching = mailer.clone();
    reaching["capabilities"] = json!(["messaging"]);
    reaching["version"] = json!("1.1.0");
    let mut acting = writing();
    acting["toolId"] = json!("post");
    let old = Registry {
        version: "1.0.aaaaaaaa".into(),
        prompts: [("core".into(), "a".into())].into(),
        ..registry(vec![
            tool(&json!({"parameters": object(json!({"top_k": {"maximum": 10}}))})),
            tool(&mailer),
            tool(&json!({"toolId": "old"})),
            tool(&json!({"toolId": "steady"})),
        ])
    };
    let new = Registry {
        version: "1.0.bbbbbbbb".into(),
        prompts: [("core".into(), "b".into())].into(),
        ..registry(vec![
            tool(&json!({
                "version": "1.0.1",
                "description": "Finds.",
                "parameters": object(json!({"top_k": {"maximum": 5}, "lang": {}}))
            })),
            tool(&reaching),
            tool(&acting),
            tool(&json!({"toolId": "steady", "version": "1.0.1"})),
        ])
    };
    insta::assert_snapshot!(compare(&old, &new).render_text(), @r"
    registry 1.0.aaaaaaaa → 1.0.bbbbbbbb
      wording     prompt `core` changed

    look at these:
      core__mail_send: capability `messaging` added: the handler can reach more
      core__post: new, with `state_change`

    core__kb_search 1.0.0 → 1.0.1
      breaking    parameter `top_k`: maximum lowered from 10 to 5
      compatible  optional parameter `lang` added
      wording     description changed
      it owes a major bump (1.0.0 → 1.0.1 is too small)

    core__mail_send 1.0.0 → 1.1.0
      compatible  capability `messaging` added: the handler can reach more

    core__steady 1.0.0 → 1.0.1
      only the version changed

    added:
      core__post 1.0.0 (state_change)

    removed:
      core__old 1.0.0 (read_only)

    1 added, 1 removed, 3 changed: 2 breaking changes; core__kb_search owes a major bump (1.0.0 → 1.0.1 is too small)
    ");
}

#[test]
fn nothing_to_report() {
    let same = registry(vec![tool(&json!({}))]);
    let text = compare(&same, &same).render_text();
    assert_eq!(text, "registry 1.0.00000000 → 1.0.00000000: nothing changed\n");
}

#[test]
fn a_version_that_fell_or_stayed() {
    let from = |version: &str, description: &str| {
        registry(vec![tool(&json!({"version": version, "description": description}))])
    };
    let summary = |old: &Registry, new: &Registry| {
        compare(old, new).render_text().lines().last().unwrap().to_owned()
    };
    assert_eq!(
        summary(&from("1.1.0", "a"), &from("1.0.0", "b")),
        "1 changed: nothing breaks; core__kb_search goes backwards (1.1.0 → 1.0.0)"
    );
    assert_eq!(
        summary(&from("1.1.0", "a"), &from("1.1.0", "b")),
        "1 changed: nothing breaks; core__kb_search owes a patch bump (still 1.1.0)"
    );
}

#[test]
fn a_new_namespace_breaks_and_tools_still_find_each_other() {
    let old = registry(vec![tool(&json!({})), tool(&json!({"toolId": "gone"}))]);
    let mut new = registry(vec![tool(&json!({"description": "b"}))]);
    new.namespace = Namespace::parse("desk").unwrap();
    new.tools[0].id = "desk__kb_search".into();
    let diff = compare(&old, &new);
    assert!(diff.is_breaking() && diff.added.is_empty());
    assert_eq!(diff.removed.len(), 1);
    assert_eq!(
        diff.changes.iter().map(said).collect::<Vec<_>>(),
        ["breaking: namespace changed from `core` to `desk`: stored calls and policies name the \
          old ids"]
    );
    assert_eq!(diff.changed[0].id, "desk__kb_search");
}

#[test]
fn a_removed_tool_breaks_and_an_added_one_does_not() {
    let (none, one) = (registry(Vec::new()), registry(vec![tool(&json!({}))]));
    assert!(compare(&one, &none).is_breaking());
    assert!(!compare(&none, &one).is_breaking());
}

#[test]
fn prompts_come_go_and_change() {
    let with = |prompts: &[(&str, &str)]| Registry {
        prompts: prompts.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        ..registry(Vec::new())
    };
    let diff =
        compare(&with(&[("core", "a"), ("text", "t")]), &with(&[("core", "b"), ("voice", "v")]));
    assert_eq!(
        diff.changes.iter().map(said).collect::<Vec<_>>(),
        [
            "wording: prompt `core` changed",
            "wording: prompt `text` removed",
            "wording: prompt `voice` added"
        ]
    );
}

#[test]
fn a_name_cannot_draw_on_the_terminal() {
    let named = |name: &str| json!({"parameters": object(json!({name: {}}))});
    let old = registry(vec![tool(&json!({}))]);
    let new = registry(vec![tool(&named("a\u{1b}[2Kb\u{202e}c"))]);
    let text = compare(&old, &new).render_text();
    assert!(text.contains("`a\\u{1b}[2Kb\\u{202e}c`"), "{text}");
}
