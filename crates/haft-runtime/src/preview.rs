//! What the person who approves is shown: made by us from the effective arguments, with nothing
//! hidden and nothing cut off.
//!
//! Values come from a model and may try to look like something else. So every character that
//! cannot be seen is written as an escape, a text cannot end the quotes that it stands in, and what
//! looks like another word is pointed out.

mod direction;
mod suspicion;

pub use direction::Direction;
pub use suspicion::marks_in_addresses;

use haft_core::Contract;
use haft_core::digest::canonical;
use serde_json::Value;

use crate::arguments::dotted::{self, Step};
use crate::redact::is_hidden;

/// A question is at most so many times as long as the arguments, beside what a template says itself: who
/// wrote the template is not who pays for the memory.
const MOST_REPEATED: usize = 4;
const LONGEST: usize = 64 << 10;

/// What a person is shown before they approve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The question.
    pub text: String,
    /// All effective arguments as canonical JSON, with what cannot be seen written as escapes.
    pub arguments: String,
    /// Arguments that do not look like what they are, and why.
    pub suspicious: Vec<String>,
}

/// Writes the question of a contract with these arguments.
#[must_use]
pub fn render(contract: &Contract, effective: &Value) -> Preview {
    let template = contract.confirmation.as_ref().map(|confirmation| confirmation.prompt.as_str());
    let arguments = visible_json(&canonical(effective));
    // What a template repeats again and again is said once, and whole.
    let most = MOST_REPEATED.saturating_mul(arguments.len()).saturating_add(LONGEST);
    let text = template.and_then(|template| filled(template, effective, most));
    let text = text.unwrap_or_else(|| format!("Run `{}` with {arguments}?", contract.tool_id));
    Preview { text, arguments, suspicious: suspicion::of(effective) }
}

/// Puts the arguments into the template's slots; nothing where that becomes too long.
fn filled(template: &str, effective: &Value, most: usize) -> Option<String> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let Some((slot, tail)) = after.split_once('}') else {
            text.push('{');
            rest = after;
            break;
        };
        let quoted = before.ends_with('"') && tail.starts_with('"');
        let mut found = Vec::new();
        follow(effective, &dotted::parse(slot), &mut found);
        let written: Vec<String> = found.into_iter().map(|value| write(value, quoted)).collect();
        match written.is_empty() {
            true => text.push_str("(nothing)"),
            false => text.push_str(&written.join(", ")),
        }
        rest = tail;
        if text.len() > most {
            return None;
        }
    }
    text.push_str(rest);
    Some(text)
}

fn follow<'v>(value: &'v Value, steps: &[Step], found: &mut Vec<&'v Value>) {
    match (steps.split_first(), value) {
        (None, value) => found.push(value),
        (Some((Step::Name(name), rest)), Value::Object(map)) => {
            if let Some(value) = map.get(name) {
                follow(value, rest, found);
            }
        }
        (Some((Step::Each, rest)), Value::Array(list)) => {
            for value in list {
                follow(value, rest, found);
            }
        }
        (Some(_), _) => {}
    }
}

fn write(value: &Value, quoted: bool) -> String {
    match value {
        Value::String(text) => word(text, quoted),
        Value::Array(list) if list.is_empty() => "(nothing)".to_owned(),
        Value::Array(list) => {
            let written: Vec<String> = list.iter().map(|value| write(value, quoted)).collect();
            written.join(", ")
        }
        Value::Object(_) => visible_json(&canonical(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text in a sentence. One with spaces or signs is put in quotes unless the template has done so:
/// without them it could go on with the sentence.
fn word(text: &str, quoted: bool) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "@._-+:/%#".contains(letter);
    let written = visible(text);
    if quoted || (!text.is_empty() && text.chars().all(plain)) {
        written
    } else {
        format!("\"{written}\"")
    }
}

/// A text with everything in it to be seen: odd characters, quotes and backslashes as escapes.
fn visible(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\\' => seen.extend(['\\', letter]),
            odd if is_odd(odd) => seen.push_str(&escape(odd)),
            letter => seen.push(letter),
        }
    }
    seen
}

/// What cannot be seen, and blanks that are no plain space and look like one.
fn is_odd(letter: char) -> bool {
    is_hidden(letter) || (letter.is_whitespace() && letter != ' ')
}

/// Canonical JSON in which such characters are escapes: the same value, all of it to be seen.
fn visible_json(json: &str) -> String {
    let mut seen = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            odd if is_odd(odd) => seen.push_str(&escape(odd)),
            letter => seen.push(letter),
        }
    }
    seen
}

/// `\u202e`, as JSON writes it.
fn escape(letter: char) -> String {
    let mut units = [0; 2];
    letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}
