//! What the person at the client reads of a call, or that it is too much.

use haft_runtime::redact::is_hidden;
use serde_json::Value;

use crate::pieces::{Marks, Piece, code, hidden, pieces};

/// So many letters can be read in the dialog of a client.
pub(super) const MOST: usize = 16_000;

/// What the person reads: the question, everything that would be done with it, and what does not look
/// like what it is. A template need not name every argument, and all of them are approved. None where
/// that is too long: what is not shown cannot be approved.
pub(super) fn message(question: &Value, connection: Option<&str>) -> Option<String> {
    let text = |name: &str| question.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut message = format!("{}\n\nTool: {}", text("preview"), text("tool"));
    if let Some(connection) = connection {
        message.push_str(&format!("\nConnection: {}", quoted(connection)));
    }
    message.push_str(&arguments(question.get("arguments").unwrap_or(&Value::Null)));
    for odd in question.get("suspicious").and_then(Value::as_array).into_iter().flatten() {
        message.push_str("\nTake care: ");
        message.push_str(&unhidden(odd.as_str().unwrap_or_default()));
    }
    (message.chars().count() <= MOST).then_some(message)
}

/// Every effective argument, one a line.
fn arguments(arguments: &Value) -> String {
    let Value::Object(members) = arguments else {
        return format!("\nArguments: {}", written(arguments));
    };
    if members.is_empty() {
        return "\nWithout arguments.".to_owned();
    }
    let line = |(name, value): (&String, &Value)| {
        let seen = hidden(value).map(|hidden| format!(" (cannot be seen in it: {hidden})"));
        format!("\n- {}: {}{}", plain(name), written(value), seen.unwrap_or_default())
    };
    "\nArguments:".to_owned() + &members.iter().map(line).collect::<String>()
}

/// A value on one line, with everything in it to be seen.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().map(written).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(members) => {
            let one =
                |(name, value): (&String, &Value)| format!("{}: {}", quoted(name), written(value));
            format!("{{{}}}", members.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text in quotes that it cannot end.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text))
}

/// A text in which what cannot be seen is an escape, as JSON writes it, and what looks like another
/// letter has its code behind it.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in pieces(text, Marks::All) {
        match piece {
            Piece::Plain(text) => {
                shown.push_str(&text.replace('\\', "\\\\").replace('"', "\\\""));
            }
            // Quotes show where a text begins and ends.
            Piece::Hidden(' ', count) => shown.extend(std::iter::repeat_n(' ', count)),
            Piece::Hidden(letter, count) => shown.push_str(&escape(letter).repeat(count)),
            Piece::Alike(letter, _) => shown.push_str(&format!("{letter}[{}]", code(letter))),
        }
    }
    shown
}

/// `\u202e`, as JSON writes it.
fn escape(letter: char) -> String {
    let mut units = [0; 2];
    letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// A sentence of ours: of what it repeats, nothing is hidden either. It has been escaped once; one that
/// was written down before that was so has not.
fn unhidden(sentence: &str) -> String {
    let one = |letter: char| match is_hidden(letter) {
        true => escape(letter),
        false => letter.to_string(),
    };
    sentence.chars().map(one).collect()
}
