//! From the names of the world to tool ids: `math.sum` is `math_sum`, in the folder `math-sum`.
//!
//! A name that an id can spell keeps its spelling; every character that an id cannot have becomes
//! `_`. Where letters beyond ASCII were lost, or the end was cut off, eight digits of the *name's*
//! digest follow: they stay when the definition behind the name changes.
//!
//! Definitions that come to the same id (ids differing only in case are the same to some file
//! systems) are told apart by eight digits of the *definition's* digest. **The first of them keeps
//! the plain id**: a definition added to the end of a source renames nothing that was there.
//! Suffixing all of a group would rename the first one, and break its callers, as soon as a second
//! one appears.

use std::collections::HashSet;

use haft_core::Digest;

/// With `imported__` before it, an id of this length is within what providers take.
const LONGEST: usize = 50;

/// What the naming looks at: a definition's name and the digest of the whole.
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) digest: &'a Digest,
}

/// A tool's id, and whether it had to be told apart from another's.
#[derive(Debug, PartialEq)]
pub(super) struct Id {
    pub(super) id: String,
    pub(super) clashes: bool,
}

impl Id {
    /// The folder that stands for the id.
    pub(super) fn folder(&self) -> String {
        self.id.replace('_', "-")
    }
}

/// One id per definition, in the same order, all different.
pub(super) fn ids(definitions: &[Named<'_>]) -> Vec<Id> {
    let mut taken = HashSet::new();
    let plain: Vec<Option<String>> = definitions
        .iter()
        .map(|definition| {
            let id = plain_id(definition.name);
            taken.insert(id.to_ascii_lowercase()).then_some(id)
        })
        .collect();
    // Suffixed ids come second, so that no suffix takes an id that someone has by name.
    plain
        .into_iter()
        .zip(definitions)
        .map(|(plain, definition)| match plain {
            Some(id) => Id { id, clashes: false },
            None => Id { id: told_apart(definition, &mut taken), clashes: true },
        })
        .collect()
}

fn plain_id(name: &str) -> String {
    let stem = stem(name);
    // Which punctuation stood for an underscore hardly matters; which letters were lost does.
    let lost = !name.is_ascii();
    if lost || stem.len() > LONGEST {
        suffixed(&stem, Digest::of_bytes(name.as_bytes()).short())
    } else {
        stem
    }
}

fn told_apart(definition: &Named<'_>, taken: &mut HashSet<String>) -> String {
    let stem = stem(definition.name);
    let hex = definition.digest.hex();
    // Eight digits tell apart all but one in four thousand million; more are there if needed.
    let ids = (8..=32).map(|digits| suffixed(&stem, hex.get(..digits).unwrap_or(hex)));
    let mut last = String::new();
    for id in ids {
        last.clone_from(&id);
        if taken.insert(id.to_ascii_lowercase()) {
            break;
        }
    }
    last
}

fn suffixed(stem: &str, digits: &str) -> String {
    let room = LONGEST.saturating_sub(1 + digits.len());
    let cut = stem.get(..room.min(stem.len())).unwrap_or(stem).trim_end_matches('_');
    format!("{cut}_{digits}")
}

/// The name as far as an id can spell it: letters, digits, single `_`, a letter first.
fn stem(name: &str) -> String {
    let mut stem = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            stem.push(c);
        } else if !stem.is_empty() && !stem.ends_with('_') {
            stem.push('_');
        }
    }
    stem.truncate(stem.trim_end_matches('_').len());
    match stem.chars().next() {
        None => "tool".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("tool_{stem}"),
        Some(_) => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::names::is_tool_id;

    #[track_caller]
    fn check(names: &[&str], expected: &[&str]) {
        let digests: Vec<Digest> =
            (0..names.len()).map(|n| Digest::of_bytes(&n.to_be_bytes())).collect();
        let named: Vec<Named<'_>> =
            names.iter().zip(&digests).map(|(name, digest)| Named { name, digest }).collect();
        let ids = ids(&named);
        let found: Vec<&str> = ids.iter().map(|id| id.id.as_str()).collect();
        assert_eq!(found, expected);
        for id in found {
            assert!(is_tool_id(id) && id.len() <= LONGEST, "{id}");
        }
    }

    #[test]
    fn a_name_keeps_what_an_id_can_spell() {
        check(&["math.sum"], &["math_sum"]);
        check(&["__get__all--users__"], &["get_all_users"]);
        check(&["Events_3_FindEvents"], &["Events_3_FindEvents"]);
        check(&["2nd"], &["tool_2nd"]);
        check(&["...", ""], &["tool", "tool_cd266215"]);
    }

    #[test]
    fn lost_letters_are_made_up_for() {
        check(&["caf\u{e9}"], &["caf_850f7dc4"]);
        check(&["查询"], &["tool_bcd6771e"]);
    }

    #[test]
    fn the_first_of_a_group_keeps_the_plain_id() {
        let one = Digest::of_bytes(&1_usize.to_be_bytes());
        let two = Digest::of_bytes(&2_usize.to_be_bytes());
        let (second, third) =
            (format!("Math_Sum_{}", one.short()), format!("math_sum_{}", two.short()));
        check(&["math.sum", "Math-Sum", "math_sum"], &["math_sum", &second, &third]);
        check(&["math.sum", "Math-Sum"], &["math_sum", &second]);
    }

    #[test]
    fn long_names_are_cut() {
        let long = "a".repeat(60);
        let digest = Digest::of_bytes(long.as_bytes());
        check(&[&long], &[&format!("{}_{}", "a".repeat(41), digest.short())]);
    }
}
