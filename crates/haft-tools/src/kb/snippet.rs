//! The passage of a text that shows best why it was found.

use std::collections::HashSet;
use std::ops::Range;

use super::words::Reader;

/// About three lines.
const LONGEST: usize = 240;
/// How far a passage may begin before its first word, to begin with a sentence.
const LEAD: usize = 80;
/// Longer texts are searched for a passage up to here.
const READ: usize = 200_000;

/// The passage with the most different words of the query; the beginning where there are none.
pub(super) fn best(reader: &mut Reader, text: &str, wanted: &HashSet<String>) -> String {
    let text = head(text, READ);
    let mut hits: Vec<(Range<usize>, &str)> = Vec::new();
    reader.each(text, |word| {
        if let Some(found) = wanted.get(word.stem) {
            hits.push((word.place, found.as_str()));
        }
    });
    let (start, end) = densest(&hits).unwrap_or((0, 0));
    let start = begin(text, start, end);
    shown(text, start)
}

/// The opening words.
pub(super) fn opening(text: &str) -> String {
    shown(text, 0)
}

fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The first window that holds as many different words as any.
fn densest(hits: &[(Range<usize>, &str)]) -> Option<(usize, usize)> {
    let mut best: Option<(usize, usize, usize)> = None;
    for (at, (first, _)) in hits.iter().enumerate() {
        let inside =
            hits.iter().skip(at).take_while(|(place, _)| place.end <= first.start + LONGEST - LEAD);
        let mut different: HashSet<&str> = HashSet::new();
        let mut end = first.end;
        for (place, word) in inside {
            if different.insert(word) {
                end = place.end;
            }
        }
        if best.is_none_or(|(_, _, count)| different.len() > count) {
            best = Some((first.start, end, different.len()));
        }
    }
    best.map(|(start, end, _)| (start, end))
}

/// Where to begin: with the sentence if that is near, else a few words before.
fn begin(text: &str, start: usize, end: usize) -> usize {
    if end <= LONGEST / 2 {
        return 0;
    }
    let mut from = start.saturating_sub(LEAD);
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let before = text.get(from..start).unwrap_or_default();
    let sentence = before.rfind(['\n', '.', '!', '?', '。']).map(|at| {
        let mark = before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        from + at + mark
    });
    // A dot inside of a word ends no sentence.
    let ends =
        |at: &usize| text.get(*at..).is_some_and(|rest| rest.starts_with(char::is_whitespace));
    match sentence.filter(ends) {
        Some(at) => at,
        None if from == 0 => 0,
        None => {
            let late = before.len().saturating_sub(LEAD / 2);
            let word = before.char_indices().find(|(at, c)| *at >= late && c.is_whitespace());
            word.map_or(start, |(at, _)| from + at)
        }
    }
}

/// One line from there on, cut at a word's end.
fn shown(text: &str, start: usize) -> String {
    let rest = text.get(start..).unwrap_or_default();
    let mut line = String::with_capacity(LONGEST + 8);
    if !text.get(..start).unwrap_or_default().trim().is_empty() {
        line.push('…');
    }
    let mut count = 0;
    let mut whole = true;
    for word in rest.split_whitespace() {
        let length = word.chars().count() + 1;
        if count + length > LONGEST {
            if count == 0 {
                line.extend(word.chars().take(LONGEST));
            }
            whole = false;
            break;
        }
        if count > 0 {
            line.push(' ');
        }
        line.push_str(word);
        count += length;
    }
    if !whole {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::words::{Language, words};

    #[track_caller]
    fn check(query: &str, text: &str, expected: &str) {
        let wanted = words(Language::English, query).into_iter().collect();
        assert_eq!(best(&mut Reader::new(Language::English), text, &wanted), expected);
    }

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        check("lamp", "Check\n  the lamps.", "Check the lamps.");
        check("nothing", "Check the lamps.", "Check the lamps.");
        check("x", "", "");
    }

    #[test]
    fn the_passage_holds_the_words_that_matched() {
        let long = "Something else entirely. ".repeat(40);
        check(
            "lantern budget",
            &format!(
                "A lantern hangs here. {long}The budget for lanterns was approved in May. {long}"
            ),
            &format!(
                "…The budget for lanterns was approved in May. {}…",
                "Something else entirely. ".repeat(7) + "Something else"
            ),
        );
        let dotted = format!("{} lantern {}", "v1.2 ".repeat(60), "x ".repeat(200));
        let wanted = words(Language::English, "lantern").into_iter().collect();
        let passage = best(&mut Reader::new(Language::English), &dotted, &wanted);
        assert!(passage.starts_with('…') && passage.contains("lantern"), "{passage}");
    }

    #[test]
    fn no_character_is_cut() {
        let text = "ü".repeat(1_000);
        let passage = opening(&text);
        assert_eq!(passage.chars().count(), LONGEST + 1);
        check(
            "灯",
            &format!("{}灯{}", "港".repeat(300), "祭".repeat(300)),
            &format!("{}…", "港".repeat(LONGEST)),
        );
    }
}
