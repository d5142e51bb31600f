//! What an error says in words, without the arguments that it quotes and that may not be seen.

use std::collections::HashSet;

use serde_json::Value;

use super::clean_text;
use super::decode::{Escape, Layer};
use super::parts::Parts;

/// What stands in the place of an argument.
pub(super) const HIDDEN: &str = "[redacted]";

/// A shorter argument is taken out only where it stands alone: every text has an `a` in it.
pub(super) const SHORT: usize = 4;

/// Of an argument that is cut off at the end of a text, so much must be there to be known.
const CUT: usize = 8;

/// Of more arguments, or of a longer text, nobody looks which ones are quoted.
const MOST: usize = 4_096;
pub(super) const LONGEST: usize = 16 << 10;

/// So many steps are taken to find out. What callers send costs one for each byte and spelling, so this is enough for
/// megabytes; and whoever sends more than that holds nobody up.
const STEPS: usize = 32 << 20;

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
    Search { left: STEPS }.without(text, hidden).unwrap_or_else(|_| Some(HIDDEN.to_owned()))
}

/// It cannot be found out what is quoted, so nothing may be said.
struct TooMuch;

struct Search {
    /// How many more steps may be taken.
    left: usize,
}

impl Search {
    fn without(&mut self, text: &str, hidden: &Hidden<'_>) -> Result<Option<String>, TooMuch> {
        if hidden.values.len() + hidden.names.len() > MOST {
            return Err(TooMuch);
        }
        let text = clean_text(text, LONGEST);
        let words = self.words(hidden)?;
        // Where the words that begin at each place end, at the latest.
        let mut ends = vec![0; text.len() + 1];
        for layer in layers(&text) {
            let lower = layer.bytes.to_ascii_lowercase();
            for (start, end) in self.long(&lower, &words)? {
                let (start, end) = layer.origin(start, end);
                raise(&mut ends, start, end);
            }
            for (start, end) in self.short(&lower, &words)? {
                let (start, end) = layer.origin(start, end);
                if stands_alone(text.get(..start), text.get(end..)) {
                    raise(&mut ends, start, end);
                }
            }
        }
        Ok(replaced(&text, &ends))
    }

    /// Values and names as a message would quote them.
    fn words(&mut self, hidden: &Hidden<'_>) -> Result<Vec<String>, TooMuch> {
        let mut words = Vec::new();
        for value in &hidden.values {
            match value {
                Value::String(text) => words.extend(self.spelt(text)?),
                Value::Number(number) => words.push(number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
            }
        }
        for name in &hidden.names {
            words.extend(self.spelt(name)?);
        }
        Ok(words)
    }

    /// A text as it is when a message has been cleaned, and as it is behind escapes, which cleaning leaves.
    fn spelt(&mut self, text: &str) -> Result<impl Iterator<Item = String> + use<>, TooMuch> {
        self.take(text.len())?;
        let clean = clean_text(text, LONGEST).to_ascii_lowercase();
        let clean = clean.trim_end_matches('…').to_owned();
        let whole = text.trim();
        let short = (whole.len() <= LONGEST).then(|| whole.to_ascii_lowercase());
        let different = short.filter(|whole| *whole != clean);
        Ok([Some(clean), different].into_iter().flatten().filter(|word| !word.is_empty()))
    }

    /// Where words are quoted, the longest that ends at each place; and where one begins that the end of
    /// the text has cut off.
    fn long(&mut self, text: &[u8], words: &[String]) -> Result<Vec<(usize, usize)>, TooMuch> {
        let parts = Parts::of(text);
        self.take(parts.steps())?;
        let mut whole = vec![0; parts.len()];
        let cut = text.strip_suffix("…".as_bytes()).map_or(0, <[u8]>::len);
        let at_the_cut = endings(&parts, cut);
        let mut cut_off = 0;
        for word in words.iter().filter(|word| word.len() >= SHORT) {
            let (mut length, mut last) = (0, 0);
            for node in parts.walk(word.as_bytes()) {
                (length, last) = (length + 1, node);
                if length > cut_off && at_the_cut.get(node).is_some_and(|it| *it) {
                    cut_off = length;
                }
            }
            self.take(length + 1)?;
            if let Some(known) = whole.get_mut(last).filter(|_| length == word.len()) {
                *known = length.max(*known);
            }
        }
        let whole = parts.most(whole);
        let longest = |(at, node): (usize, &usize)| {
            let length = whole.get(*node).copied().filter(|length| *length > 0)?;
            Some(((at + 1).checked_sub(length)?, at + 1))
        };
        let mut found: Vec<_> = parts.ends().iter().enumerate().filter_map(longest).collect();
        if cut_off >= CUT {
            found.push((cut - cut_off, text.len()));
        }
        Ok(found)
    }

    /// Where there is a word that is too short to be taken out of others.
    fn short(&mut self, text: &[u8], words: &[String]) -> Result<Vec<(usize, usize)>, TooMuch> {
        let short = words.iter().map(String::as_bytes).filter(|word| word.len() < SHORT);
        let short: HashSet<&[u8]> = short.collect();
        if short.is_empty() {
            return Ok(Vec::new());
        }
        self.take(SHORT * text.len())?;
        let at = |length: usize| (0..text.len()).map(move |start| (start, start + length));
        let quoted = |(start, end): &(usize, usize)| {
            text.get(*start..*end).is_some_and(|part| short.contains(part))
        };
        Ok((1..SHORT).flat_map(at).filter(quoted).collect())
    }

    fn take(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }
}

/// Which parts end where the first so many bytes of the text do.
fn endings(parts: &Parts, length: usize) -> Vec<bool> {
    let mut there = vec![false; parts.len()];
    let last = length.checked_sub(1).and_then(|last| parts.ends().get(last));
    for node in last.into_iter().flat_map(|node| parts.endings(*node)) {
        if let Some(there) = there.get_mut(node) {
            *there = true;
        }
    }
    there
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
    fn it_finds_what_looking_for_one_after_the_other_would() {
        let mut dice = 7_u64;
        let mut text = |most: u64| -> String {
            let mut roll = |sides: u64| {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (dice >> 33) % sides
            };
            (0..=roll(most)).map(|_| ['a', 'a', 'a', 'a', 'b', '-'][roll(6) as usize]).collect()
        };
        for _ in 0..2_000 {
            let (said, words) = (text(40) + "…", (0..4).map(|_| text(16)).collect::<Vec<_>>());
            let mut ends = vec![0; said.len() + 1];
            for word in &words {
                let alone = |at: usize| stands_alone(said.get(..at), said.get(at + word.len()..));
                let bytes = said.as_bytes();
                let found = (0..said.len()).filter(|at| bytes[*at..].starts_with(word.as_bytes()));
                let found = found.filter(|at| word.len() >= SHORT || alone(*at));
                found.for_each(|at| raise(&mut ends, at, at + word.len()));
                let begun = |length: &usize| said.ends_with(&(word[..*length].to_owned() + "…"));
                if let Some(length) = (CUT..=word.len()).rfind(begun) {
                    raise(&mut ends, said.len() - "…".len() - length, said.len());
                }
            }
            let values: Vec<Value> = words.iter().map(|word| json!(word)).collect();
            check(&said, &values, replaced(&said, &ends).as_deref());
        }
    }

    /// How many steps it takes to look for these in a text, for each byte of either.
    #[track_caller]
    fn steps(text: &str, values: &[Value]) -> usize {
        let hidden = Hidden { values: values.iter().collect(), names: Vec::new() };
        let mut search = Search { left: STEPS };
        assert!(search.without(text, &hidden).is_ok());
        let all: usize = values.iter().map(|value| value.to_string().len()).sum();
        (STEPS - search.left) / (text.len() + all)
    }

    #[test]
    fn what_repeats_itself_costs_no_more_than_what_does_not() {
        let letters: Vec<char> = ('a'..='z').chain('0'..='9').collect();
        let each = |length: usize| -> Vec<Value> {
            letters.iter().map(|it| json!(it.to_string().repeat(length))).collect()
        };
        let growing = |part: &str| -> Vec<Value> {
            (1..1_000).map(|length| json!(part.repeat(length))).collect()
        };
        let ended = |part: &str| -> Vec<Value> {
            (0..64).map(|at| json!(format!("{at}{}", part.repeat(LONGEST - 2)))).collect()
        };
        let same: Vec<Value> = (0..64).map(|_| json!("x".repeat(LONGEST))).collect();
        let table = [
            ("it did not work".to_owned(), each(16_000)),
            (letters.iter().collect::<String>().repeat(400), each(16_000)),
            ("x".repeat(LONGEST), each(16_000)),
            ("x".repeat(LONGEST), growing("x")),
            ("ab".repeat(LONGEST), growing("ab")),
            ("x".repeat(LONGEST), ended("x")),
            (format!("{}y", "x".repeat(2 * LONGEST)), ended("x")),
            (r"x".repeat(LONGEST), same.clone()),
            ("&#120;%78".repeat(LONGEST), same),
        ];
        for (text, values) in table {
            let begins = &text[..15];
            // Each layer is made in a few, and a word is walked through once in each.
            assert!(steps(&text, &values) <= 5 * 7, "{begins}: {}", steps(&text, &values));
        }
    }

    #[test]
    fn what_would_cost_too_much_is_withheld() {
        let value = json!("geheim and so on");
        let hidden = Hidden { values: vec![&value], names: Vec::new() };
        assert!(Search { left: 10 }.without("nothing is quoted here", &hidden).is_err());
        check("nothing is quoted here", &[json!("x".repeat(STEPS + 1))], Some(HIDDEN));
    }

    #[test]
    fn of_too_many_nobody_looks_which_are_quoted() {
        check("anything", &vec![json!(1); MOST + 1], Some("[redacted]"));
    }
}
