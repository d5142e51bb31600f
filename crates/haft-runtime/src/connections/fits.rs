//! Whether a grant gives anything: a misspelt tool is granted as silently as a right one.

use haft_core::Tool;

/// What of a grant fits no tool that could use it.
#[must_use]
pub fn doubts(tools: &[&Tool], provider: &str, patterns: &[String]) -> Vec<String> {
    patterns.iter().filter_map(|pattern| doubt(tools, provider, pattern)).collect()
}

fn doubt(tools: &[&Tool], provider: &str, pattern: &str) -> Option<String> {
    let exact = !pattern.contains('*');
    let named =
        |tool: &&&Tool| fits(pattern, &tool.id) || (exact && tool.contract.tool_id == pattern);
    let meant: Vec<&&Tool> = tools.iter().filter(named).collect();
    let uses = |tool: &&Tool| {
        tool.contract.connection.as_ref().is_some_and(|needed| needed.provider == provider)
    };
    match (meant.is_empty(), meant.iter().any(|tool| uses(tool))) {
        (true, _) => Some(format!("`{pattern}` fits no tool that is here")),
        (false, false) => Some(format!(
            "no tool that `{pattern}` fits uses a connection to `{provider}`; the provider of a \
             connection must be the one of the tool's contract"
        )),
        (false, true) => None,
    }
}

/// Whether a text is what a pattern with `*` says.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*').filter(|part| !part.is_empty()) {
        match left.split_once(part) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, expected) in [
            ("core__x", "core__x", true),
            ("core__x", "core__xy", false),
            ("*", "", true),
            ("core__*", "core__x", true),
            ("*image*", "core__image_generate", true),
            ("*image", "core__image_generate", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, text), expected, "{pattern} {text}");
        }
    }
}
