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

/// Every part of the file that cannot be read. Where its parts cannot be told apart, the first mistake.
pub(crate) fn mistakes(text: &str) -> Vec<Mistake> {
    let Some(whole) = mistake(text) else { return Vec::new() };
    // Only a file that is TOML has parts.
    if text.parse::<toml::Table>().is_err() {
        return vec![whole];
    }
    let mut found: Vec<Mistake> = parts(text).iter().filter_map(|part| mistake(part)).collect();
    if !found.contains(&whole) {
        found.insert(0, whole);
    }
    found.sort_by_key(|one| (one.line, one.column));
    found
}

fn mistake(text: &str) -> Option<Mistake> {
    let error = toml::from_str::<RawConfig>(text).err()?;
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let why = explain::mistake(error.message(), before);
    Some(Mistake { line: before.matches('\n').count() + 1, column, why })
}

/// The file once for each of its tables and each element of its lists, everything else left blank: so
/// each part stands in its own lines.
fn parts(text: &str) -> Vec<String> {
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
    all.iter().map(|(_, lines)| keep(lines)).collect()
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
        let text = "toolset = 3\n\n[server]\nlisten = \"127.0.0.1:1\"\n  max_requests = \"many\"\n\n\
                    [[agents]]\nid = \"a\"\ntenant = \"t\"\ntolls = []\n\n[[agents]]\nid = \"b\"\n\
                    tenant = \"t\"\n\n[[agents.activations]]\ntool = 5\n";
        let found: Vec<(usize, usize)> =
            mistakes(text).iter().map(|one| (one.line, one.column)).collect();
        assert_eq!(found, [(1, 11), (5, 18), (10, 1), (17, 8)], "{:?}", mistakes(text));
        let first = mistakes(text).remove(0);
        assert!(first.why.contains("`toolset` must be a text"), "{first:?}");
    }

    #[test]
    fn what_is_no_toml_is_said_once() {
        assert_eq!(mistakes("[server\nlisten = 1\n").len(), 1);
        assert_eq!(mistakes("").len(), 0);
        assert_eq!(mistakes("[policy]\nallow = [\"core__*\"]\n").len(), 0);
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
