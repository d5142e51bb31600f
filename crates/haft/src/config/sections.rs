//! Where in `haft.toml` something stands. The file is read part by part, so that a mistake in one hides
//! none in the others.

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
        for at in lines.into_iter().filter(|at| unread.as_ref().is_none_or(|of| of.contains(at))) {
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

/// The file without the numbers that TOML has no room for, which would hide everything else. None where
/// it is no TOML for another reason.
fn countable(text: &str, found: &mut Vec<Mistake>) -> Option<String> {
    let mut text = text.to_owned();
    while let Err(error) = text.parse::<toml::Table>() {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let at = before.matches('\n').count();
        let (key, value) = text.lines().nth(at)?.split_once('=')?;
        let digits = value.split('#').next().unwrap_or_default().trim();
        let digits = digits.trim_start_matches(['-', '+']);
        if digits.len() < 19 || !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
            return None;
        }
        let column = key.chars().count() + 2 + value.len() - value.trim_start().len();
        let key = key.trim();
        let why = format!("`{key}` is more than can be counted here: write `{key} = 1`");
        found.push(Mistake { line: at + 1, column, why });
        text = without(&text, at);
    }
    Some(text)
}

/// The file without a line, the others where they were.
fn without(text: &str, at: usize) -> String {
    let line = |(number, line)| if number == at { "\n".to_owned() } else { format!("{line}\n") };
    text.lines().enumerate().map(line).collect()
}

/// Finds the mistakes of a part by leaving out the line of each. Gives the lines that were left out;
/// none where that does not help, and all of it has to be.
fn mend(mut part: String, found: &mut Vec<Mistake>) -> Option<Vec<usize>> {
    let mut left_out = Vec::new();
    while let Some(one) = mistake(&part) {
        // What is missing may be what was left out.
        if !left_out.is_empty() && one.why.starts_with("missing field") {
            return None;
        }
        let at = one.line - 1;
        let is_key =
            part.lines().nth(at).is_some_and(|line| header(line).is_none() && !line.is_empty());
        found.push(one);
        let shorter = without(&part, at);
        // What goes on over several lines, or is not there at all, cannot be left out by a line.
        if !is_key || shorter.parse::<toml::Table>().is_err() {
            return None;
        }
        part = shorter;
        left_out.push(at);
    }
    Some(left_out)
}

fn mistake(text: &str) -> Option<Mistake> {
    let error = toml::from_str::<RawConfig>(text).err()?;
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let why = explain::mistake(error.message(), before);
    Some(Mistake { line: before.matches('\n').count() + 1, column, why })
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
/// one of them after it.
pub(crate) fn place(text: &str, said: &str) -> Option<(usize, usize)> {
    let named: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let path = named.iter().find(|name| is_path(name, text))?;
    let rest = named.iter().skip_while(|name| *name != path).nth(1).copied();
    let mut section = String::new();
    let mut found: Option<(usize, usize)> = None;
    for (at, line) in text.lines().enumerate() {
        let column = line.len() - line.trim_start().len() + 1;
        if let Some(name) = header(line) {
            section = name;
            if section == *path && found.is_none_or(|_| rest.is_some()) {
                found = Some((at + 1, column));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        let full = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        if full == *path {
            return Some((at + 1, column));
        }
        let is_it = |id: &str| value.trim().trim_matches(['"', '\'']) == id;
        if section == *path && key == "id" && rest.is_some_and(is_it) {
            return found;
        }
    }
    found
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
        check(&format!("[server]\nhosts = [{huge}]\n"), 1, false);
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
            ("`server.max_requests` must be at least 1", None),
            ("`connections.accounts`, `b`: no", Some((7, 1))),
            ("`connections.accounts`, `a`: no", Some((4, 1))),
            ("nothing is named", None),
        ] {
            assert_eq!(place(text, said), expected, "{said}");
        }
    }
}
