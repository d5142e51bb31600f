//! Texts from elsewhere, made fit to be read: nothing hidden in them, on one line, not too long.

/// Characters that a reader cannot see, though a model can: controls, zero-width and bidirectional
/// marks, tag characters. Line breaks and tabs are not among them.
pub(super) fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\r' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        c => c.is_control(),
    }
}

/// The text without hidden characters; nothing when there are none.
pub(super) fn unhide(text: &str) -> Option<String> {
    text.contains(is_hidden).then(|| text.chars().filter(|c| !is_hidden(*c)).collect())
}

/// The text on one line.
pub(super) fn one_line(text: &str) -> String {
    if !text.contains(['\n', '\r', '\t']) {
        return text.trim().to_owned();
    }
    text.split(['\n', '\r', '\t'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// At most `most` characters, cut between words and marked with `…`.
pub(super) fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    // One character is kept for the mark.
    let room: String = text.chars().take(most.saturating_sub(1)).collect();
    let next_is_space = text.get(room.len()..end).is_some_and(|c| c.starts_with(' '));
    let kept = match room.rfind(' ') {
        // A word longer than the limit has no place to be cut at but anywhere.
        Some(space) if !next_is_space && space > 0 => room.get(..space).unwrap_or(&room),
        _ => room.as_str(),
    };
    format!("{}…", kept.trim_end())
}

/// As many whole sentences as fit; a first sentence that is too long is cut.
pub(super) fn first_sentences(line: &str, most: usize) -> String {
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let fits = |end: &usize| line.get(..*end).is_some_and(|head| head.chars().count() <= most);
    match sentence_ends(line).take_while(fits).last() {
        Some(end) => line.get(..end).unwrap_or(line).to_owned(),
        None => cut(line, most),
    }
}

/// Where sentences end: after `.`, `!` or `?` before a space and something that could begin one.
/// `e.g. this` goes on in lower case, so it is no end.
fn sentence_ends(line: &str) -> impl Iterator<Item = usize> {
    let next_begins = |rest: &str| {
        let mut following = rest.chars();
        following.next() == Some(' ') && following.next().is_some_and(|c| !c.is_lowercase())
    };
    line.char_indices()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?' | '。'))
        .map(|(at, c)| at + c.len_utf8())
        .filter(move |end| line.get(*end..).is_some_and(next_begins))
}

/// The text as Markdown that shows exactly these characters and has no structure: a description
/// cannot open a section of its own, a code block that would be taken for an example, or a comment.
pub(super) fn as_markdown(text: &str) -> String {
    let lines = text.split('\n').map(|line| plain_line(line.trim()));
    let mut markdown = lines.collect::<Vec<_>>().join("\n");
    // More than one empty line says nothing more in Markdown.
    while markdown.contains("\n\n\n") {
        markdown = markdown.replace("\n\n\n", "\n\n");
    }
    markdown.trim().to_owned()
}

fn plain_line(line: &str) -> String {
    let mut plain = String::with_capacity(line.len() + 8);
    for (at, c) in line.char_indices() {
        let opens_block = at == 0 && matches!(c, '#' | '>' | '~' | '=' | '-' | '+' | '*' | '|');
        if opens_block || matches!(c, '`' | '<' | '\\') {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_can_see_is_taken_out() {
        for (text, expected) in [
            ("plain\ttext\n", None),
            ("zero\u{200b}width", Some("zerowidth")),
            ("\u{202e}reversed", Some("reversed")),
            ("tag\u{e0041}\u{e0042}", Some("tag")),
            ("bell\u{7}", Some("bell")),
        ] {
            assert_eq!(unhide(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_words() {
        for (text, most, expected) in [
            ("one two", 7, "one two"),
            ("one two three", 8, "one two…"),
            ("one two three", 9, "one two…"),
            ("onetwothree", 5, "onet…"),
            ("é é é", 4, "é é…"),
        ] {
            assert_eq!(cut(text, most), expected);
            assert!(cut(text, most).chars().count() <= most);
        }
    }

    #[test]
    fn a_summary_is_made_of_whole_sentences() {
        for (line, most, expected) in [
            ("Adds. Subtracts. Divides.", 100, "Adds. Subtracts. Divides."),
            ("Adds. Subtracts. Divides.", 17, "Adds. Subtracts."),
            ("Adds, e.g. numbers. More.", 20, "Adds, e.g. numbers."),
            ("Adds version 1.2 of it all", 14, "Adds version…"),
        ] {
            assert_eq!(first_sentences(line, most), expected);
        }
    }

    #[test]
    fn a_description_has_no_structure_of_its_own() {
        for (text, expected) in [
            ("## Examples\n```json\n{}\n```", "\\## Examples\n\\`\\`\\`json\n{}\n\\`\\`\\`"),
            ("    indented", "indented"),
            ("a <!-- haft:generated -->", "a \\<!-- haft:generated -->"),
            ("Title\n=====", "Title\n\\====="),
            ("a\n\n\n\nb", "a\n\nb"),
        ] {
            assert_eq!(as_markdown(text), expected);
        }
    }
}
