//! What `like` costs. Cedar tries what stands between two `*` at every place of the text, so its work is
//! the length of the one times that of the other: what a tenant's rules search for is bounded when they
//! are read, and what they search in before they are asked.

use haft_core::port::Ask;
use serde_json::Value;

use super::mentions::Mentions;

/// So many letters may stand between two `*`.
pub(crate) const MOST_LETTERS: usize = 256;

/// So many letters are compared for one question: a fraction of a second.
const MOST_WORK: usize = 1 << 27;

/// What rules search for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Searches {
    /// The letters of the longest part between two `*`.
    pub(crate) longest: usize,
    /// How often each letter of a text may be looked at, by all of them.
    looks: usize,
}

impl Searches {
    /// In the JSON form of a pattern.
    pub(crate) fn of_pattern(pattern: Option<&Value>) -> Self {
        let (mut longest, mut here) = (0, 0);
        for part in pattern.and_then(Value::as_array).into_iter().flatten() {
            match part.get("Literal").and_then(Value::as_str) {
                Some(text) => here += text.chars().count(),
                None => here = 0,
            }
            longest = longest.max(here);
        }
        // A pattern without letters walks through the text, too.
        Self { longest, looks: longest + 1 }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.longest = self.longest.max(other.longest);
        self.looks = self.looks.saturating_add(other.looks);
    }
}

/// Whether what the rules search for can be searched for in what this question is about.
///
/// # Errors
///
/// It would take too long.
pub(crate) fn affordable(mentions: &Mentions, ask: &Ask<'_>) -> Result<(), String> {
    let looks = mentions.searches.looks;
    if looks == 0 {
        return Ok(());
    }
    let arguments = ask.arguments.and_then(Value::as_object).into_iter().flatten();
    let arguments = arguments.filter(|(name, _)| mentions.speaks_of_argument(name));
    let user = ask.caller.user.iter().filter(|(name, _)| mentions.speaks_of_user(name));
    let longest = arguments.chain(user).map(|(_, value)| longest(value)).max().unwrap_or(0);
    match looks.saturating_mul(longest) > MOST_WORK {
        true => Err(format!(
            "a text of {longest} bytes is too long for what rules search in it with `like`"
        )),
        false => Ok(()),
    }
}

/// The bytes of the longest text in a value. Nothing can be searched in what is in a list.
fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Object(fields) => fields.values().map(longest).max().unwrap_or(0),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
