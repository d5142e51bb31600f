//! What an error says in words, without the arguments that it quotes and that may not be seen.

use aho_corasick::AhoCorasick;
use serde_json::Value;

use super::clean_text;
use super::decode::{Escape, Layer};

/// What stands in the place of an argument.
pub(super) const HIDDEN: &str = "[redacted]";

/// A shorter argument is taken out only where it stands alone: every text has an `a` in it.
pub(super) const SHORT: usize = 4;

/// Of an argument that is cut off at the end of a text, so much must be there to be known.
const CUT: usize = 8;

/// Of more arguments, or of a longer text, nobody looks which ones are quoted.
const MOST: usize = 4_096;
pub(super) const LONGEST: usize = 16 << 10;

/// What may not be seen of some arguments.
#[derive(Default)]
pub(super) struct Hidden<'v> {
    /// Single values.
    pub(super) values: Vec<&'v Value>,
    /// Names of members that are not the contract's own.
    pub(super) names: Vec<&'v str>,
}

/// The text without whatever of these values and names it quotes, in whichever letter case and as JSON, HTML
/// and addresses escape it; nothing where it quotes none. It has no line ends, and nothing that cannot be seen.
pub(super) fn without(text: &str, hidden: &Hidden<'_>) -> Option<String> {
    if hidden.values.len() + hidden.names.len() > MOST {
        return Some(HIDDEN.to_owned());
    }
    let text = clean_text(text, LONGEST);
    let values = hidden.values.iter().flat_map(|value| words_of(value));
    let names = hidden.names.iter().flat_map(|name| spelt(name));
    let mut words: Vec<String> = values.chain(names).collect();
    words.sort_unstable();
    words.dedup();
    // Where the words that begin at each place end, at the latest.
    let mut ends = vec![0; text.len() + 1];
    let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&words);
    let Ok(finder) = finder else { return Some(HIDDEN.to_owned()) };
    for layer in layers(&text) {
        for hit in finder.find_overlapping_iter(&*layer.bytes) {
            let (start, end) = layer.origin(hit.start(), hit.end());
            if hit.len() >= SHORT || stands_alone(text.get(..start), text.get(end..)) {
                raise(&mut ends, start, end);
            }
        }
        if let Some(start) = cut_off(&layer, &words) {
            raise(&mut ends, start, text.len());
        }
    }
    replaced(&text, &ends)
}

/// The text, and what it is without its escapes. JSON is quoted in JSON more often than anything else.
fn layers(text: &str) -> Vec<Layer<'_>> {
    let plain = Layer::of(text);
    let escapes = [Escape::Backslash, Escape::Entity, Escape::Percent];
    let mut layers: Vec<Layer<'_>> =
        escapes.into_iter().filter_map(|escape| plain.undo(escape, |_| false)).collect();
    let twice = plain.undo(Escape::Backslash, |_| false);
    layers.extend(twice.and_then(|once| once.undo(Escape::Backslash, |_| false)));
    layers.push(plain);
    layers
}

fn raise(ends: &mut [usize], start: usize, end: usize) {
    if let Some(known) = ends.get_mut(start) {
        *known = end.max(*known);
    }
}

/// Where a word begins that the end of the text has cut off.
fn cut_off(layer: &Layer<'_>, words: &[String]) -> Option<usize> {
    let lower = layer.bytes.strip_suffix("…".as_bytes())?.to_ascii_lowercase();
    let longest = |word: &String| {
        let most = word.len().min(lower.len());
        let begins = |length: &usize| {
            word.get(..*length).is_some_and(|part| lower.ends_with(part.as_bytes()))
        };
        (CUT..=most).rev().find(begins)
    };
    let length = words.iter().filter_map(longest).max()?;
    Some(layer.origin(lower.len() - length, lower.len()).0)
}

/// A value as a message would quote it.
fn words_of(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => spelt(text),
        Value::Number(number) => vec![number.to_string()],
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// A text as it is when a message has been cleaned, and as it is behind escapes, which cleaning leaves.
fn spelt(text: &str) -> Vec<String> {
    let clean = clean_text(text, LONGEST).to_ascii_lowercase();
    let clean = clean.trim_end_matches('…').to_owned();
    let whole = text.trim().to_ascii_lowercase();
    let different = whole != clean && whole.len() <= LONGEST;
    let all = [Some(clean), different.then_some(whole)];
    all.into_iter().flatten().filter(|word| !word.is_empty()).collect()
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
        let hidden = Hidden { values: values.iter().collect(), names: Vec::new() };
        assert_eq!(without(text, &hidden).as_deref(), expected, "{text}");
    }

    #[test]
    fn what_is_quoted_escaped_goes_too() {
        let quoted =
            |text: &str, value: &str| check(text, &[json!(value)], Some("no `[redacted]`"));
        quoted(r"no `geheim n\u00e9 \u00fc`", "geheim né ü");
        quoted(r"no `geheim n\u00E9 ü`", "geheim né ü");
        quoted(r#"no `line1\nline2 \"q\" \\ end`"#, "line1\nline2 \"q\" \\ end");
        quoted(r#"no `line1\\nline2 \\\"q\\\"`"#, "line1\nline2 \"q\"");
        quoted(r"no `\ud83d\ude00 smile`", "😀 smile");
        quoted("no `O&#39;Neil &amp; S&#xf6;hne`", "O'Neil & Söhne");
        quoted("no `a%20b%40example`", "a b@example");
        check(
            r"no `caf\u00e9 and more…",
            &[json!("café and more than that")],
            Some("no `[redacted]"),
        );
        check(
            r"\u00e9 alone, caf\u00e9 not",
            &[json!("é")],
            Some(r"[redacted] alone, caf\u00e9 not"),
        );
    }

    #[test]
    fn names_go_as_values_do() {
        let hidden = Hidden { values: Vec::new(), names: vec!["mara@example.org"] };
        let said = without("no entry `Mara@example.org` in `people`", &hidden);
        assert_eq!(said.as_deref(), Some("no entry `[redacted]` in `people`"));
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
        let hidden = Hidden { values: values.iter().collect(), names: Vec::new() };
        let said = without(&"acte edac ".repeat(400), &hidden).unwrap();
        assert_eq!(said.len(), 800 * "[redacted] ".len() - 1);
    }

    #[test]
    fn of_too_many_nobody_looks_which_are_quoted() {
        check("anything", &vec![json!(1); MOST + 1], Some("[redacted]"));
    }
}
