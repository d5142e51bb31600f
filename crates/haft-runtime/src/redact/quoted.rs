//! What an error says in words, without the arguments that it quotes and that may not be seen.

use serde_json::Value;

use super::clean_text;

/// What stands in the place of an argument.
const HIDDEN: &str = "[redacted]";

/// A shorter argument is taken out only where it stands alone: every text has an `a` in it.
const SHORT: usize = 4;

/// Of more arguments nobody looks which ones are quoted.
const MOST: usize = 4_096;

/// The text without whatever of these values it quotes, in whichever letter case; nothing where it quotes
/// none.
pub(super) fn without(text: &str, values: &[&Value]) -> Option<String> {
    if values.len() > MOST {
        return Some(HIDDEN.to_owned());
    }
    let mut words: Vec<String> = values.iter().filter_map(|value| word(value)).collect();
    words.retain(|word| word.len() <= text.len());
    // A value that is part of another must not leave the rest of it behind.
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    let mut said = text.to_owned();
    for word in &words {
        said = replaced(&said, word);
    }
    (said != text).then_some(said)
}

/// A value as a message would quote it. Messages have no line ends and nothing that cannot be seen.
fn word(value: &Value) -> Option<String> {
    let word = match value {
        Value::String(text) => clean_text(text, text.len()).to_ascii_lowercase(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!word.is_empty()).then_some(word)
}

fn replaced(text: &str, word: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut said, mut from) = (String::with_capacity(text.len()), 0);
    for (at, found) in lower.match_indices(word) {
        let end = at + found.len();
        let (before, after) = (text.get(..at), text.get(end..));
        if at < from || (word.len() < SHORT && !stands_alone(before, after)) {
            continue;
        }
        said.push_str(text.get(from..at).unwrap_or_default());
        said.push_str(HIDDEN);
        from = end;
    }
    said.push_str(text.get(from..).unwrap_or_default());
    said
}

fn stands_alone(before: Option<&str>, after: Option<&str>) -> bool {
    let ends =
        before.and_then(|text| text.chars().next_back()).is_none_or(|it| !it.is_alphanumeric());
    let begins = after.and_then(|text| text.chars().next()).is_none_or(|it| !it.is_alphanumeric());
    ends && begins
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, values: &[Value], expected: Option<&str>) {
        let values: Vec<&Value> = values.iter().collect();
        assert_eq!(without(text, &values).as_deref(), expected, "{text}");
    }

    #[test]
    fn what_is_quoted_goes_and_the_words_around_it_stay() {
        let card = json!("4111-1111");
        check("no account for card 4111-1111", &[card], Some("no account for card [redacted]"));
        check("`4222222222222222227` is beyond 2^53", &[json!(4_222_222_222_222_222_227_u64)], {
            Some("`[redacted]` is beyond 2^53")
        });
        check("no user MARA JONES, or mara jones", &[json!("Mara\n Jones")], {
            Some("no user [redacted], or [redacted]")
        });
        check("a small matter (5 of 15)", &[json!("a"), json!(5)], {
            Some("[redacted] small matter ([redacted] of 15)")
        });
        check("maria is no mari", &[json!("mari"), json!("maria")], {
            Some("[redacted] is no [redacted]")
        });
        check("größe äää", &[json!("äää"), json!("Ä")], Some("größe [redacted]"));
    }

    #[test]
    fn what_quotes_nothing_is_left_alone() {
        check("the calendar is busy", &[json!("Mara"), json!(true), json!(null), json!("")], None);
        check("short", &[json!("a text that is longer than the message")], None);
        check("[redacted]", &[json!("card")], None);
    }

    #[test]
    fn of_too_many_nobody_looks_which_are_quoted() {
        check("anything", &vec![json!(1); MOST + 1], Some("[redacted]"));
    }
}
