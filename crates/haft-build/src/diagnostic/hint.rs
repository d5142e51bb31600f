//! What people bring along from JavaScript and from configuration files, and JSON does not have.

/// What to do about a text that stopped being JSON at `offset`.
pub(crate) fn json_hint(text: &str, offset: usize) -> Option<&'static str> {
    let rest = text.get(offset..)?;
    let before = text.get(..offset)?.trim_end();
    if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
        return Some(
            "JSON has no comments; take it out, or move it into a `$comment` or the document",
        );
    }
    if rest.starts_with(['\'', '`', '\u{2018}', '\u{201c}', '\u{201d}']) {
        return Some("use double quotes: `\"`");
    }
    if rest.starts_with(['}', ']']) && before.ends_with(',') {
        return Some("remove the comma before it");
    }
    if rest.starts_with(',') && before.ends_with([',', '[', '{']) {
        return Some("remove the comma");
    }
    let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    match word.as_str() {
        "" => None,
        "True" | "False" | "None" | "undefined" | "NaN" | "Infinity" => {
            Some("JSON writes `true`, `false` and `null`, and has no other such words")
        }
        _ if rest.get(word.len()..).is_some_and(|after| after.trim_start().starts_with(':')) => {
            Some("put the name into double quotes")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_adm::strict::{Limits, parse};

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let errors = parse(text, Limits::default()).unwrap_err();
        let offset = errors.iter().next().unwrap().position.unwrap().offset;
        let hint = super::json_hint(text, offset);
        match expected {
            Some(expected) => assert!(hint.unwrap().starts_with(expected), "{text}: {hint:?}"),
            None => assert_eq!(hint, None, "{text}"),
        }
    }

    #[test]
    fn what_javascript_allows_is_answered() {
        check("{\"a\": 1,}", Some("remove the comma"));
        check("[1, 2,\n]", Some("remove the comma"));
        check("[1,, 2]", Some("remove the comma"));
        check("{\"a\": 1 // one\n}", Some("JSON has no comments"));
        check("/* one */ {}", Some("JSON has no comments"));
        check("# one\n{}", Some("JSON has no comments"));
        check("{'a': 1}", Some("use double quotes"));
        check("{\"a\": 'b'}", Some("use double quotes"));
        check("{a: 1}", Some("put the name into double quotes"));
        check("{\"a\": None}", Some("JSON writes"));
        check("{\"a\" 1}", None);
        check("{\"a\": x}", None);
    }
}
