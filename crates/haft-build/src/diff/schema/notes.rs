//! Keywords that describe and do not constrain, and defaults.

use serde_json::Value;

use super::pair::Pair;
use super::{Side, Walk};
use crate::diff::change::{Impact, shown};

/// Texts for models and people.
const TEXTS: [&str; 4] = ["title", "description", "examples", "$comment"];

/// Hints that a form or a model may follow.
const HINTS: [&str; 3] = ["deprecated", "readOnly", "writeOnly"];

/// Where references point; looked at when one does.
const SHELVES: [&str; 2] = ["$defs", "definitions"];

/// Whether a keyword leaves the accepted values as they are.
pub(super) fn is_note(keyword: &str) -> bool {
    TEXTS.contains(&keyword)
        || HINTS.contains(&keyword)
        || SHELVES.contains(&keyword)
        || keyword == "default"
        || keyword.starts_with("x-")
}

impl<'a> Walk<'a> {
    /// What stands beside a reference goes before what it leads to.
    pub(super) fn notes(&mut self, written: &Pair<'a>, followed: &Pair<'a>) {
        for keyword in TEXTS {
            let (place, before, after) = effective(written, followed, keyword);
            if before != after {
                let what = format!("{keyword} {}", how(before, after));
                self.push(place, keyword, Impact::Wording, &what);
            }
        }
        for keyword in HINTS {
            let (place, before, after) = effective(written, followed, keyword);
            if is_set(before) != is_set(after) {
                let now = if is_set(after) { "now" } else { "no longer" };
                self.push(place, keyword, Impact::Compatible, &format!("{now} marked `{keyword}`"));
            }
        }
        self.default(written, followed);
        self.extensions(written);
    }

    /// A stored call that leaves the argument out means something else from now on. Where nothing
    /// is written, that is another answer; where something is, it is another deed.
    fn default(&mut self, written: &Pair<'a>, followed: &Pair<'a>) {
        let (place, before, after) = effective(written, followed, "default");
        let what = match (before, after) {
            (None, None) => return,
            (None, Some(after)) => format!("default {} added", shown(after)),
            (Some(before), None) => format!("default {} removed", shown(before)),
            (Some(before), Some(after)) if before == after => return,
            (Some(before), Some(after)) => {
                format!("default changed from {} to {}", shown(before), shown(after))
            }
        };
        let (impact, why) = match self.side {
            Side::Arguments { writes: true } => {
                (Impact::Breaking, ": calls that leave it out may now do something else")
            }
            Side::Arguments { writes: false } => {
                (Impact::Compatible, ": calls that leave it out may get another answer")
            }
            Side::Results => (Impact::Wording, ""),
        };
        self.push(place, "default", impact, &format!("{what}{why}"));
        if self.side == (Side::Arguments { writes: true })
            && let Some(change) = self.changes.last_mut()
        {
            change.review = true;
        }
    }

    fn extensions(&mut self, pair: &Pair<'a>) {
        for keyword in pair.keywords().filter(|keyword| keyword.starts_with("x-")) {
            let (before, after) = pair.keyword(keyword);
            if before != after {
                let what = format!("`{keyword}` {}", how(before, after));
                self.push(pair, keyword, Impact::Wording, &what);
            }
        }
    }
}

/// A note's value on both sides, and the pair that it is told of.
fn effective<'p, 'a>(
    written: &'p Pair<'a>,
    followed: &'p Pair<'a>,
    keyword: &str,
) -> (&'p Pair<'a>, Option<&'a Value>, Option<&'a Value>) {
    let (old_written, new_written) = written.keyword(keyword);
    let (old_followed, new_followed) = followed.keyword(keyword);
    let beside = old_written.is_some() || new_written.is_some();
    let place = if beside { written } else { followed };
    (place, old_written.or(old_followed), new_written.or(new_followed))
}

fn how(before: Option<&Value>, after: Option<&Value>) -> &'static str {
    match (before, after) {
        (None, _) => "added",
        (Some(_), None) => "removed",
        (Some(_), Some(_)) => "changed",
    }
}

fn is_set(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}
