//! Where in `haft.toml` something stands. The file is read part by part, so that a mistake in one hides
//! none in the others.

use std::collections::BTreeSet;
use std::ops::Range;

use super::RawConfig;
use super::explain;

/// Where a mistake stands, and what it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The column, counted from 1.
    pub(crate) column: usize,
    /// What is wrong, and what to do.
    pub(crate) why: String,
}

/// Everything in the file that cannot be read, and the file without it, its lines where they were. Where
/// its parts cannot be told apart, the first mistake and nothing.
pub(crate) fn mistakes(text: &str) -> (Vec<Mistake>, Option<String>) {
    let Some(whole) = mistake(text) else { return (Vec::new(), Some(text.to_owned())) };
    let mut found = Vec::new();
    // Only a file that is TOML has parts.
    let Some(text) = countable(text, &mut found) else { return (vec![whole], None) };
    let text = text.as_str();
    let Some(whole) = mistake(text) else { return (found, Some(text.to_owned())) };
    let mut rest: Vec<&str> = text.lines().collect();
    for (part, lines) in parts(text) {
        let unread = mend(part, &mut found);
        for at in lines.into_iter().filter(|at| unread.contains(at)) {
            if let Some(line) = rest.get_mut(at) {
                *line = "";
            }
        }
    }
    if !found.contains(&whole) {
        found.insert(0, whole);
    }
    found.sort_by_key(|one| (one.line, one.column));
    (found, Some(rest.iter().map(|line| format!("{line}\n")).collect()))
}

/// What stands in the file, whether it makes sense or not.
pub(crate) fn table(text: &str) -> Option<toml::Table> {
    countable(text, &mut Vec::new())?.parse().ok()
}

/// The file with 1 for each number that TOML has no room for, which would hide everything else. None
/// where it is no TOML for another reason.
fn countable(text: &str, found: &mut Vec<Mistake>) -> Option<String> {
    let mut text = text.to_owned();
    while let Err(error) = text.parse::<toml::Table>() {
        let span = error.span()?;
        let (before, number) = (text.get(..span.start)?, text.get(span.clone())?);
        let unfit = error.message().contains("integer") || error.message().contains("overflowed");
        let digits =
            number.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
        if !unfit || !digits || number.len() < 3 {
            return None;
        }
        let (line, column) = place_after(before);
        let why = match before.rsplit_once('=').map(|(key, _)| last_word(key)) {
            Some(key) => {
                format!("`{key}` is more than can be counted here: write a smaller number")
            }
            None => format!("`{number}` is more than can be counted here: write a smaller number"),
        };
        found.push(Mistake { line, column, why });
        // As long as it was, so that what stands behind it stays where it is.
        let one = format!("1{}", " ".repeat(number.len().saturating_sub(1)));
        text.replace_range(span, &one);
    }
    Some(text)
}

/// The key that a text ends with.
fn last_word(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.rfind([' ', '\t', '\n', '{', ',']).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}

/// The line and the column after a text, counted from 1.
fn place_after(before: &str) -> (usize, usize) {
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

/// The file without some lines, the others where they were.
fn without(text: &str, gone: &Range<usize>) -> String {
    let line = |(at, line)| if gone.contains(&at) { "\n".to_owned() } else { format!("{line}\n") };
    text.lines().enumerate().map(line).collect()
}

/// Finds the mistakes of a part by leaving out what each stands in. Gives the lines that were left out.
fn mend(mut part: String, found: &mut Vec<Mistake>) -> BTreeSet<usize> {
    let mut left_out = BTreeSet::new();
    while let Some(one) = mistake(&part) {
        let at = one.line - 1;
        let table = table_around(&part, at);
        // What is missing may be what was left out.
        let is_missing = one.why.starts_with("missing field");
        let gone = value_around(&part, at, &table).unwrap_or(table.clone());
        if !(is_missing && left_out.range(table).next().is_some()) {
            found.push(one);
        }
        let shorter = without(&part, &gone);
        // Where that changes nothing it would go on for ever.
        if shorter == part {
            return (0..part.lines().count()).collect();
        }
        left_out.extend(gone);
        part = shorter;
    }
    left_out
}

/// The lines of the table that a line stands in: from its header to the next one that is not of a table in
/// it.
fn table_around(text: &str, at: usize) -> Range<usize> {
    let headers: Vec<(usize, String)> =
        text.lines().enumerate().filter_map(|(at, line)| Some((at, header(line)?))).collect();
    let end = text.lines().count();
    let Some((from, name)) = headers.iter().rfind(|(from, _)| *from <= at) else {
        return 0..headers.first().map_or(end, |(first, _)| *first);
    };
    let within = format!("{name}.");
    let next = headers.iter().find(|(at, other)| at > from && !other.starts_with(&within));
    *from..next.map_or(end, |(next, _)| *next)
}

/// The lines of the value that a line stands in, where leaving them out leaves TOML. The fewest: a value
/// that goes on over several lines loses the one that is wrong, or goes as a whole.
fn value_around(text: &str, at: usize, table: &Range<usize>) -> Option<Range<usize>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_free = |at: &usize| lines.get(*at).is_some_and(|line| header(line).is_none());
    let from = (table.start..=at).rev().take(LONGEST_VALUE).take_while(is_free);
    let parses = |gone: &Range<usize>| without(text, gone).parse::<toml::Table>().is_ok();
    from.flat_map(|from| {
        let to = (at..table.end).take(LONGEST_VALUE).take_while(is_free);
        to.map(move |to| from..to + 1)
    })
    .find(parses)
}

/// So many lines of a value are looked at; a longer one takes its table with it.
const LONGEST_VALUE: usize = 32;

/// What had to be left out of a file, so that the rest of it could be read.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// Sections of which whole tables are gone, and keys above all sections.
    tables: BTreeSet<String>,
    /// Single keys of sections.
    keys: BTreeSet<String>,
}

impl LeftOut {
    /// From the file and what was read of it, line by line.
    pub(super) fn of(text: &str, rest: &str) -> Self {
        let mut left_out = Self::default();
        let mut section = String::new();
        let mut read = rest.lines();
        for line in text.lines() {
            let is_gone = read.next().unwrap_or_default().trim().is_empty() && !line.is_empty();
            let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
            if let Some(name) = header(line) {
                section = name;
                if is_gone {
                    left_out.tables.insert(first(&section));
                }
            } else if let Some((key, _)) = line.split_once('=').filter(|_| is_gone) {
                match section.as_str() {
                    "" => left_out.tables.insert(first(key.trim())),
                    section => left_out.keys.insert(format!("{section}.{}", key.trim())),
                };
            }
        }
        left_out
    }

    /// Whether one of these was, or a whole table of it.
    pub(crate) fn has_any(&self, sections: &[&str]) -> bool {
        sections.iter().any(|section| self.tables.contains(*section))
    }

    /// Whether anything was that stands there.
    pub(crate) fn is_of(&self, path: &str) -> bool {
        let below = format!("{path}.");
        self.tables.contains(path)
            || self.keys.iter().any(|key| key == path || key.starts_with(&below))
    }
}

fn mistake(text: &str) -> Option<Mistake> {
    let error = toml::from_str::<RawConfig>(text).err()?;
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let (line, column) = place_after(before);
    Some(Mistake { line, column, why: explain::mistake(error.message(), before) })
}

/// The file once for each of its tables and each element of its lists, everything else left blank: so
/// each part stands in its own lines. With the numbers of those lines.
fn parts(text: &str) -> Vec<(String, Vec<usize>)> {
    let mut all: Vec<(String, Vec<usize>)> = vec![(String::new(), Vec::new())];
    for (at, line) in text.lines().enumerate() {
        if let Some(name) = header(line) {
            let top = name.split('.').next().unwrap_or_default().to_owned();
            let anew = line.trim_start().starts_with("[[") && !name.contains('.');
            let same = all.last().is_some_and(|(last, _)| *last == top);
            if anew || !same {
                all.push((top, Vec::new()));
            }
        }
        if let Some((_, lines)) = all.last_mut() {
            lines.push(at);
        }
    }
    let keep = |lines: &[usize]| {
        let line = |(at, line): (usize, &str)| match lines.contains(&at) {
            true => format!("{line}\n"),
            false => "\n".to_owned(),
        };
        text.lines().enumerate().map(line).collect::<String>()
    };
    all.into_iter().map(|(_, lines)| (keep(&lines), lines)).collect()
}

/// The name in `[name]` and `[[name]]`.
fn header(line: &str) -> Option<String> {
    let line = line.trim_start();
    let inside = line.strip_prefix("[[").or_else(|| line.strip_prefix('['))?;
    let name = inside.split(']').next()?.trim();
    Some(name.replace(' ', ""))
}

/// Where a thing stands that an error names in backticks: `server.hosts`, or `policies` with an id of
/// one of them after it. What is not there stands where it belongs: in its section.
pub(crate) fn place(text: &str, said: &str) -> Option<(usize, usize)> {
    let named: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let paths = || named.iter().enumerate().filter(|(_, name)| is_path(name, text));
    let exact = paths().find_map(|(at, path)| find(text, path, named.get(at + 1).copied()));
    exact.or_else(|| {
        let (_, first) = paths().next()?;
        let above =
            std::iter::successors(first.rsplit_once('.'), |(path, _)| path.rsplit_once('.'));
        above.map(|(path, _)| path).find_map(|path| find(text, path, None))
    })
}

/// What one of several things is known by.
const NAMES: [&str; 4] = ["id", "email", "issuer", "tool"];

/// Where a path stands, of several the one with this id.
fn find(text: &str, path: &str, id: Option<&str>) -> Option<(usize, usize)> {
    let mut section = String::new();
    let mut found: Option<(usize, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let column = line.len() - line.trim_start().len() + 1;
        if let Some(name) = header(line) {
            section = name;
            if section == path && found.is_none_or(|_| id.is_some()) {
                found = Some((at + 1, column));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        let full = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        if full == path {
            return Some((at + 1, column));
        }
        let is_it = |id: &str| value.trim().trim_matches(['"', '\'']) == id;
        if section == path && NAMES.contains(&key) && id.is_some_and(is_it) {
            return found;
        }
    }
    found
}

/// Whether tenants may bring tools along that the file says something of: not the word in a comment.
pub(crate) fn has_definitions(text: &str) -> bool {
    // Where it is no TOML there is no telling.
    let Some(whole) = table(text) else { return true };
    let tenants = whole.get("tenants").and_then(toml::Value::as_array).into_iter().flatten();
    tenants.filter_map(toml::Value::as_table).any(|one| one.contains_key("definitions"))
        || whole.get("tenants").is_some_and(|one| one.get("definitions").is_some())
}

fn is_path(name: &str, text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.\"/".contains(c);
    let first = name.split('.').next().unwrap_or_default();
    let known = || {
        text.lines().any(|line| {
            header(line).is_some_and(|one| one.split('.').next() == Some(first))
                || line.split('=').next().is_some_and(|key| key.trim() == first)
        })
    };
    !name.is_empty() && name.chars().all(plain) && known()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_that_is_wrong_is_named_where_it_stands() {
        let text = "toolset = 3\n\n[server]\nlisten = \"127.0.0.1:1\"\n  max_requests = \"many\"\nlog = 1\n\
                    [[agents]]\nid = \"a\"\ntenant = \"t\"\ntolls = []\n\n[[agents]]\nid = \"b\"\n\
                    tenant = \"t\"\n\n[[agents.activations]]\ntool = 5\n";
        let (mistakes, rest) = mistakes(text);
        let found: Vec<(usize, usize)> =
            mistakes.iter().map(|one| (one.line, one.column)).collect();
        assert_eq!(found, [(1, 11), (5, 18), (6, 7), (10, 1), (17, 8)], "{mistakes:?}");
        assert!(mistakes[0].why.contains("`toolset` must be a text"), "{mistakes:?}");
        // What is right is read all the same, where it stands.
        let rest = rest.unwrap();
        assert!(mistake(&rest).is_none(), "{rest}");
        assert_eq!(rest.lines().nth(3), Some("listen = \"127.0.0.1:1\""));
    }

    #[test]
    fn what_is_no_toml_is_said_once() {
        let check = |text: &str, count: usize, is_read: bool| {
            let (found, rest) = mistakes(text);
            assert_eq!((found.len(), rest.is_some()), (count, is_read), "{text}: {found:?}");
        };
        let huge = "99999999999999999999";
        check(&format!("[server]\nmax_requests = {huge} # many\nlog = 1\n"), 2, true);
        check(&format!("[server]\ntend_s = {huge}\nleave_s = -{huge}\n[store]\n"), 2, true);
        check(&format!("[server]\nhosts = [{huge}]\nlog = 1\n"), 3, true);
        check(&format!("server = {{ tend_s = {huge} }}\n[store]\nlog = 1\n"), 2, true);
        check("[server]\ntend_s = 0xffffffffffffffffff\nlog = 1\n", 2, true);
        check("[server]\ntend_s = [\n  0o7777777777777777777777777,\n]\n", 2, true);
        check("[otlp]\nsample = 1e999\n", 1, true);
        check("[server]\ntend_s = 012\nlog = 1\n", 1, false);
        check("[server\nlisten = 1\n", 1, false);
        check("", 0, true);
        check("[policy]\nallow = [\"core__*\"]\n", 0, true);
        check("[[agents]]\ntools = []\n[server]\nhosts = [\n1,\n2]\n", 3, true);
    }

    #[test]
    fn what_an_error_names_is_found() {
        let text = "[server]\nlisten = \"x\"\n\n[[connections.accounts]]\nid = \"a\"\n\n\
                    [[connections.accounts]]\nid = \"b\"\n";
        for (said, expected) in [
            ("`server.listen` is odd", Some((2, 1))),
            ("`x.toml`: `server.listen` is odd", Some((2, 1))),
            // Neither is there: where they belong.
            ("`server.max_requests` must be at least 1", Some((1, 1))),
            ("`connections.accounts.x` is odd", Some((4, 1))),
            // The one that is there, though it is named second.
            ("`server.tend_s` must be above `server.listen`", Some((2, 1))),
            ("`runtime.tend_s` must be above 1", None),
            ("`connections.accounts`, `b`: no", Some((7, 1))),
            ("`connections.accounts`, `a`: no", Some((4, 1))),
            ("nothing is named", None),
        ] {
            assert_eq!(place(text, said), expected, "{said}");
        }
    }

    #[test]
    fn a_number_without_room_is_named_where_it_stands() {
        let huge = "99999999999999999999";
        for (text, line, column, said) in [
            (format!("a = 1\nlimit = {huge}"), 2, 9, "`limit` is more"),
            (format!("a = [\n  {huge},\n]"), 2, 3, "`a` is more"),
            (format!("a = {{ b = 1, c = -{huge} }} # many"), 1, 18, "`c` is more"),
        ] {
            let mut found = Vec::new();
            assert!(countable(&text, &mut found).is_some(), "{text}");
            let [Mistake { line: at, column: from, why }] = &found[..] else { panic!("{found:?}") };
            assert_eq!((*at, *from), (line, column), "{text}");
            assert!(why.starts_with(said), "{why}");
        }
    }

    #[test]
    fn tenants_bring_tools_along_in_tables_and_not_in_comments() {
        for (text, expected) in [
            ("[[tenants]]\nid = \"a\"\n# definitions\n", false),
            ("[definitions]\nmax_tools = 1\n", false),
            ("[[tenants]]\nid = \"a\"\n[[tenants.definitions]]\ntool = \"x\"\n", true),
            ("[[tenants.definitions]]\nid = 3\n", true),
            ("tenants = [{ id = \"a\", definitions = [] }]\n", true),
            ("[tenants\n", true),
        ] {
            assert_eq!(has_definitions(text), expected, "{text}");
        }
    }
}
