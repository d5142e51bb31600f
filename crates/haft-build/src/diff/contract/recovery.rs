//! How calls are told apart, undone and looked into.

use haft_core::contract::{Compensation, Probe};
use serde::Serialize;
use serde_json::json;

use super::gained;
use crate::diff::change::{Change, Impact, list};

pub(super) fn key_fields(old: Option<&[String]>, new: Option<&[String]>, out: &mut Vec<Change>) {
    let same = match (old, new) {
        (None, None) => true,
        (Some(old), Some(new)) => gained(old, new).is_empty() && gained(new, old).is_empty(),
        (None, Some(_)) | (Some(_), None) => false,
    };
    if same {
        return;
    }
    let said = |fields: Option<&[String]>| fields.map_or("all arguments".to_owned(), list);
    let what = format!(
        "two calls are now the same act by {} instead of {}: keys of earlier calls no longer match",
        said(new),
        said(old)
    );
    let change = Change::new(Impact::Breaking, "/idempotencyKeyFields", what);
    out.push(change.optional_values(old.map(|it| json!(it)), new.map(|it| json!(it))));
}

pub(super) fn compensation(
    old: Option<&Compensation>,
    new: Option<&Compensation>,
    out: &mut Vec<Change>,
) {
    out.extend(way("/compensation", "the way to undo it", old, new));
}

pub(super) fn probe(old: Option<&Probe>, new: Option<&Probe>, out: &mut Vec<Change>) {
    out.extend(way("/probe", "the way to find out whether it happened", old, new));
}

/// A call keeps the contract that it was made under, so another way serves new calls only; none
/// at all leaves them to a person.
fn way<T: PartialEq + Serialize>(
    pointer: &str,
    name: &str,
    old: Option<&T>,
    new: Option<&T>,
) -> Option<Change> {
    let (impact, how) = match (old, new) {
        (None, Some(_)) => (Impact::Compatible, "added"),
        (Some(_), None) => (Impact::Breaking, "removed"),
        (Some(old), Some(new)) if old != new => (Impact::Compatible, "changed"),
        (None, None) | (Some(_), Some(_)) => return None,
    };
    let change = Change::new(impact, pointer, format!("{name} {how}"));
    Some(change.optional_values(old.map(|it| json!(it)), new.map(|it| json!(it))))
}
