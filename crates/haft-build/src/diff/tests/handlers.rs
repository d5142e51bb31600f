//! What runs a tool, and its documents.

use haft_core::Digest;
use haft_core::registry::{Implementation, Tool};
use serde_json::json;

use super::{compare, registry, said, script, tool};

#[track_caller]
fn check(before: Tool, after: Tool, expected: &[&str]) {
    let diff = compare(&registry(vec![before]), &registry(vec![after]));
    let found: Vec<String> = diff.changed.iter().flat_map(|tool| &tool.changes).map(said).collect();
    assert_eq!(found, expected);
}

fn run_by(handler: Implementation) -> Tool {
    Tool { handler, ..tool(&json!({})) }
}

fn process() -> Implementation {
    Implementation::Process { file: "a".into(), digest: Digest::of_bytes(b"a") }
}

#[test]
fn code() {
    check(run_by(script("a")), run_by(script("b")), &["internal: handler changed"]);
    let mailer = |source: &str| Tool {
        handler: script(source),
        ..tool(&json!({"capabilities": ["messaging"]}))
    };
    check(mailer("a"), mailer("b"), &["internal: handler changed [look]"]);
    let native = |revision: u64| Tool {
        handler: Implementation::Native,
        ..tool(&json!({"handler": {
            "kind": "native", "crate": "haft-tools", "crateVersion": "0.1.0", "revision": revision
        }}))
    };
    check(native(1), native(2), &["internal: handler changed [look]"]);
}

#[test]
fn kinds() {
    check(
        run_by(script("a")),
        run_by(process()),
        &["internal: handler changed from `js` to `process` [look]"],
    );
    check(
        run_by(process()),
        run_by(script("a")),
        &["internal: handler changed from `process` to `js`"],
    );
    check(
        run_by(script("a")),
        run_by(Implementation::Unbound),
        &["breaking: handler changed from `js` to `unbound`"],
    );
    check(
        run_by(Implementation::Unbound),
        run_by(script("a")),
        &["compatible: handler changed from `unbound` to `js`"],
    );
}

#[test]
fn documents() {
    let plain = || tool(&json!({}));
    check(plain(), Tool { summary: "b".into(), ..plain() }, &["wording: summary changed"]);
    check(plain(), Tool { doc: "b".into(), ..plain() }, &["wording: doc changed"]);
}
