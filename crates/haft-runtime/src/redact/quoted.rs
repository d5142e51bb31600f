//! What an error says in words, without the arguments that it quotes and that may not be seen.

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::clean_text;

/// What stands in the place of an argument.
const HIDDEN: &str = "[redacted]";

/// A shorter argument is taken out only where it stands alone: every text has an `a` in it.
const SHORT: usize = 4;

/// Of an argument that is cut off at the end of a text, so much must be there to be known.
const CUT: usize = 8;

/// Of more arguments, or of a longer text, nobody looks which ones are quoted.
const MOST: usize = 4_096;
const LONGEST: usize = 16 << 10;

/// The text without whatever of these values it quotes, in whichever letter case; nothing where it quotes
/// none. It has no line ends, and nothing that cannot be seen.
pub(super) fn without(text: &str, values: &[&Value]) -> Option<String> {
    if values.len() > MOST {
        return Some(HIDDEN.to_owned());
    }
    let text = clean_text(text, LONGEST);
    let mut words: Vec<String> = values.iter().filter_map(|value| word(value)).collect();
    words.sort_unstable();
    words.dedup();
    // Where the words that begin at each place end, at the latest.
    let mut ends = vec![0; text.len() + 1];
    let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&words);
    let Ok(finder) = finder else { return Some(HIDDEN.to_owned()) };
    for hit in finder.find_overlapping_iter(&text) {
        let around = (text.get(..hit.start()), text.get(hit.end()..));
        if hit.len() >= SHORT || stands_alone(around.0, around.1) {
            raise(&mut ends, hit.start(), hit.end());
        }
    }
    if let Some(start) = cut_off(&text, &words) {
        raise(&mut ends, start, text.len());
    }
    replaced(&text, &ends)
}

fn raise(ends: &mut [usize], start: usize, end: usize) {
    if let Some(known) = ends.get_mut(start) {
        *known = end.max(*known);
    }
}

/// Where a word begins that the end of the text has cut off.
fn cut_off(text: &str, words: &[String]) -> Option<usize> {
    let lower = text.strip_suffix('…')?.to_ascii_lowercase();
    let longest = |word: &String| {
        let most = word.len().min(lower.len());
        let begins = |length: &usize| word.get(..*length).is_some_and(|part| lower.ends_with(part));
        (CUT..=most).rev().find(begins)
    };
    words.iter().filter_map(longest).max().map(|length| lower.len() - length)
}

/// A value as a message would quote it.
fn word(value: &Value) -> Option<String> {
    let word = match value {
        Value::String(text) => clean_text(text, LONGEST).to_ascii_lowercase(),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let word = word.trim_end_matches('…').to_owned();
    (!word.is_empty()).then_some(word)
}

/// What overlaps is taken out together.
fn replaced(text: &str, ends: &[usize]) -> Option<String> {
    let mut said = String::with_capacity(text.len());
    let (mut from, mut hidden) = (0, 0);
    for (start, end) in ends.iter().enumerate().filter(|(_, end)| **end > 0) {
        if start >= hidden {
            said.push_str(text.get(from..start).unwrap_or_default());
            said.push_str(HIDDEN);
        }
        hidden = hidden.max(*end);
        from = hidden;
    }
    said.push_str(text.get(from..).unwrap_or_default());
    (hidden > 0).then_some(said)
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
        check("abcdefghi is both", &[json!("abcdef"), json!("defghi")], Some("[redacted] is both"));
        check("a  card\nof 4111  1111", &[json!("4111\n1111")], Some("a card of [redacted]"));
        check("größe äää", &[json!("äää"), json!("Ä")], Some("größe [redacted]"));
    }

    #[test]
    fn what_quotes_nothing_is_left_alone() {
        check("the calendar is busy", &[json!("Mara"), json!(true), json!(null), json!("")], None);
        check("short", &[json!("a text that is longer than the message")], None);
        check("[redacted]", &[json!("card")], None);
        check("what was cut…", &[json!("cut was what")], None);
    }

    #[test]
    fn what_the_end_has_cut_off_is_known_by_how_it_begins() {
        let long = "Mara Jones lives here ".repeat(400);
        let text = clean_text(&format!("no user {long}"), 4_000);
        check(&text, &[json!(long)], Some("no user [redacted]"));
        let (letters, said) = ("x".repeat(40_000), format!("no {}", "x".repeat(40_000)));
        check(&said, &[json!(letters)], Some("no [redacted]"));
    }

    #[test]
    fn words_that_look_like_what_stands_instead_of_them_cost_nothing() {
        let values: Vec<Value> = (0..MOST).map(|at| json!(["acte", "edac"][at % 2])).collect();
        let said = without(&"acte edac ".repeat(400), &values.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(said.len(), 800 * "[redacted] ".len() - 1);
    }

    #[test]
    fn of_too_many_nobody_looks_which_are_quoted() {
        check("anything", &vec![json!(1); MOST + 1], Some("[redacted]"));
    }
}
