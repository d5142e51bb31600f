//! How far down a rule or a condition leads, seen before anything reads it.
//!
//! Readers of expressions call themselves for what is nested, and for what is chained: `a && b && c` is
//! `(a && b) && c`. Whoever writes enough of either ends the stack, and the whole program with it.

/// So far down may a rule lead: a hundred alternatives in a row, or twenty brackets in each other, and
/// what every rule has around them. Twice as much ends a stack of 2 MiB in a build without optimisation.
pub const MOST: usize = 110;

/// So many bytes may a condition of a contract have.
const LONGEST_CONDITION: usize = 4096;

/// Why a condition is not read, where it is too long or leads too far down: no honest one does.
#[must_use]
pub fn unfit_condition(text: &str) -> Option<&'static str> {
    if text.len() > LONGEST_CONDITION {
        return Some("the condition is too long: it may have 4096 bytes");
    }
    let deep = "the condition is nested too deep, or chains too much";
    (depth(text) > MOST).then_some(deep)
}

/// A bracket costs a reader more than a link of a chain.
const BRACKET: usize = 4;

/// What stands between two brackets, or at the top.
#[derive(Default)]
struct Level {
    /// What ends it.
    end: Option<char>,
    /// Links of the chain that it is: `&&`, `+`, `if`.
    links: usize,
    /// Links of the name that is read, and of the longest so far: `a.b.c`.
    name: usize,
    longest: usize,
    /// The deepest of what is inside.
    inside: usize,
    /// The deepest of its parts before the last comma.
    before: usize,
}

impl Level {
    /// The part that is read ends, and another begins.
    fn part(&mut self) {
        self.before = self.depth();
        (self.links, self.name, self.longest, self.inside) = (0, 0, 0, 0);
    }

    fn name(&mut self) {
        self.name += 1;
        self.longest = self.longest.max(self.name);
    }

    fn link(&mut self) {
        self.links += 1;
        self.name = 0;
    }

    fn depth(&self) -> usize {
        self.before.max(self.links + self.longest + self.inside)
    }
}

/// How far down the deepest rule of a text leads. Rules end with `;`; what stands in quotes and comments
/// leads nowhere, and neither does a list, however long.
///
/// ```
/// use haft_core::nesting::depth;
///
/// assert_eq!(depth("permit (principal, action, resource);"), 5);
/// assert_eq!(depth("a.b && c.d && e.f"), 3);
/// assert_eq!(depth(r#"x == "((((" // (((("#), 0);
/// ```
#[must_use]
pub fn depth(text: &str) -> usize {
    let mut open: Vec<Level> = Vec::new();
    let mut here = Level::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = said(rest).unwrap_or(first.len_utf8());
        match first {
            _ if length > first.len_utf8() => {}
            '(' | '[' | '{' => {
                // `a["b"]` is a link of a name as well.
                here.name();
                let end = match first {
                    '(' => ')',
                    '[' => ']',
                    _ => '}',
                };
                open.push(std::mem::replace(
                    &mut here,
                    Level { end: Some(end), ..Level::default() },
                ));
            }
            ')' | ']' | '}' if here.end == Some(first) => {
                let inside = BRACKET + here.depth();
                here = open.pop().unwrap_or_default();
                here.inside = here.inside.max(inside);
            }
            // It closes nothing. A reader that goes on after a mistake is as deep as before.
            ')' | ']' | '}' => {}
            '.' => here.name(),
            '&' | '|' | '+' | '-' | '*' | '!' => {
                here.link();
                length = if rest.starts_with("&&") || rest.starts_with("||") { 2 } else { 1 };
            }
            ',' | ';' => here.part(),
            first if first.is_alphanumeric() || first == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                length = end.unwrap_or(rest.len());
                if rest.get(..length) == Some("if") {
                    here.link();
                }
            }
            first if first.is_whitespace() => {}
            _ => here.name = 0,
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    // Brackets that are never closed were read, too.
    open.iter().rev().fold(here.depth(), |inside, level| level.depth().max(BRACKET + inside))
}

/// The rules of a text, each with the place where it begins. They end with `;`.
pub fn rules(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = text.get(from..).filter(|rest| !rest.is_empty())?;
        let mut length = 0;
        while let Some(first) = rest.get(length..).and_then(|rest| rest.chars().next()) {
            let left = rest.get(length..).unwrap_or_default();
            length += said(left).unwrap_or(first.len_utf8());
            if first == ';' {
                break;
            }
        }
        let rule = (from, rest.get(..length)?);
        from += length;
        Some(rule)
    })
}

/// How long what begins here is, where it leads nowhere: a text in quotes, a comment.
fn said(rest: &str) -> Option<usize> {
    if rest.starts_with('"') {
        return Some(quoted(rest));
    }
    rest.starts_with("//").then(|| rest.find(['\n', '\r']).unwrap_or(rest.len()))
}

/// How long a text in quotes is, with them.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            _ => escaped = letter == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: usize) {
        let begins: String = text.chars().take(40).collect();
        assert_eq!(depth(text), expected, "{begins}");
    }

    #[test]
    fn what_is_nested_and_what_is_chained_leads_down() {
        check("", 0);
        check(&"(".repeat(100_000), 400_000);
        check(&("(".repeat(10) + &")".repeat(10)), 50);
        check(&"true && ".repeat(1000), 1000);
        check("1 + 2 - 3 * 4", 3);
        check("a.b.c[\"d\"][\"e\"]", 8);
        check("if a then if b then c else d else e", 2);
        check("iffy elif if_ xif", 0);
        check("!!x - -1", 4);
        check("-- && (a || b)", 9);
        // What closes something else closes nothing.
        check(&("[),".repeat(100) + "1" + &",@(]".repeat(100)), 800);
    }

    #[test]
    fn a_condition_is_short_and_flat() {
        let check = |text: &str, expected: Option<&str>| {
            let why = unfit_condition(text);
            assert_eq!(why.is_some(), expected.is_some(), "{text}");
            assert!(why.unwrap_or_default().contains(expected.unwrap_or_default()), "{why:?}");
        };
        let of_length = |length: usize| format!("\"{}\" == \"\"", "x".repeat(length - 8));
        check("context.mode == \"voice\"", None);
        check(&of_length(LONGEST_CONDITION), None);
        check(&of_length(LONGEST_CONDITION + 1), Some("4096 bytes"));
        check(&("true && ".repeat(MOST) + "true"), None);
        check(&("true && ".repeat(MOST + 1) + "true"), Some("too deep"));
    }

    #[test]
    fn rules_end_with_a_semicolon_that_is_one() {
        let check = |text: &str, expected: &[(usize, &str)]| {
            assert_eq!(rules(text).collect::<Vec<_>>(), expected, "{text}");
        };
        check("", &[]);
        check("a; b;", &[(0, "a;"), (2, " b;")]);
        check("a", &[(0, "a")]);
        check(";;", &[(0, ";"), (1, ";")]);
        check("\";\" // ;\n;é;\"", &[(0, "\";\" // ;\n;"), (10, "é;"), (13, "\"")]);
    }

    #[test]
    fn what_stands_side_by_side_does_not() {
        check("a || b; a || b;", 1);
        check("a.b == 1, c.d.e == 2, f.g", 2);
        check("a.b == c.d && e.f == g.h", 2);
        check(&format!("[{}].contains(x)", "\"a\", ".repeat(1000)), 7);
        check("(a) || (b) || (c)", 7);
        check(r#""a \" (((( \\" == "((" && x"#, 1);
        check("\"never closed ((((", 0);
        check("// (((\n!x", 1);
        check("// (((\r!x", 1);
        check("äöü.ß && 'x'", 2);
        check("]})", 0);
    }
}
