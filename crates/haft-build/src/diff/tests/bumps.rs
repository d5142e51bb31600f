//! Which bump is owed, which was made, and whether that is enough.

use serde_json::{Value, json};

use super::{compare, registry, tool};
use crate::diff::{Bump, Made};

/// A contract that changed so, from version to version.
#[track_caller]
fn check(change: Value, (old, new): (&str, &str), owes: Bump, made: Made, paid: bool) {
    let mut after = change;
    after["version"] = json!(new);
    let diff =
        compare(&registry(vec![tool(&json!({"version": old}))]), &registry(vec![tool(&after)]));
    let found = diff.changed.first().map(|tool| (tool.owes, tool.made, tool.paid));
    assert_eq!(found, Some((owes, made, paid)), "{old} → {new}");
    assert_eq!(diff.has_unpaid_bumps(), !paid);
}

fn breaking() -> Value {
    json!({"idempotent": false})
}

fn compatible() -> Value {
    json!({"category": "utility"})
}

fn wording() -> Value {
    json!({"description": "Other."})
}

#[test]
fn stable_versions() {
    check(breaking(), ("1.2.3", "2.0.0"), Bump::Major, Made::Major, true);
    check(breaking(), ("1.2.3", "1.3.0"), Bump::Major, Made::Minor, false);
    check(breaking(), ("1.2.3", "1.2.3"), Bump::Major, Made::None, false);
    check(compatible(), ("1.2.3", "1.3.0"), Bump::Minor, Made::Minor, true);
    check(compatible(), ("1.2.3", "1.2.4"), Bump::Minor, Made::Patch, false);
    check(compatible(), ("1.2.3", "2.0.0"), Bump::Minor, Made::Major, true);
    check(wording(), ("1.2.3", "1.2.4"), Bump::Patch, Made::Patch, true);
    check(wording(), ("1.2.3", "1.2.3"), Bump::Patch, Made::None, false);
    check(json!({"tags": ["a"]}), ("1.2.3", "1.2.4"), Bump::Patch, Made::Patch, true);
    check(json!({}), ("1.2.3", "1.3.0"), Bump::None, Made::Minor, true);
}

#[test]
fn before_the_first_stable_one() {
    check(breaking(), ("0.2.3", "0.3.0"), Bump::Minor, Made::Minor, true);
    check(breaking(), ("0.2.3", "0.2.4"), Bump::Minor, Made::Patch, false);
    check(breaking(), ("0.2.3", "1.0.0"), Bump::Minor, Made::Major, true);
    check(compatible(), ("0.2.3", "0.2.4"), Bump::Patch, Made::Patch, true);
    check(wording(), ("0.2.3", "0.2.3"), Bump::Patch, Made::None, false);
}

#[test]
fn backwards() {
    check(breaking(), ("1.2.3", "1.2.2"), Bump::Major, Made::Backwards, false);
    check(json!({}), ("1.2.3", "1.2.3-beta"), Bump::None, Made::Backwards, false);
    check(json!({}), ("2.0.0", "1.9.9"), Bump::None, Made::Backwards, false);
}

#[test]
fn pre_releases_and_build_names() {
    check(breaking(), ("2.0.0-alpha", "2.0.0-beta"), Bump::Major, Made::Major, true);
    check(breaking(), ("2.0.0-rc.1", "2.0.0"), Bump::Major, Made::Major, true);
    check(breaking(), ("2.1.0-alpha", "2.1.0-beta"), Bump::Major, Made::Minor, false);
    check(compatible(), ("2.1.1-alpha", "2.1.1"), Bump::Minor, Made::Patch, false);
    check(wording(), ("2.0.0+a", "2.0.0+b"), Bump::Patch, Made::None, false);
}
