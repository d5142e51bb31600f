//! How far down a rule or a condition leads, seen before anything reads it.
//!
//! Readers of expressions call themselves for what is nested, and for what is chained: `a && b && c` is
//! `(a && b) && c`. Whoever writes enough of either ends the stack, and the whole program with it.

/// So far down may a rule lead: a hundred alternatives in a row, or twenty brackets in each other.
/// Twice as much ends a stack of 2 MiB in a build without optimisation.
pub const MOST: usize = 100;

/// A bracket costs a reader more than a link of a chain.
const BRACKET: usize = 4;

/// What stands between two brackets, or at the top.
#[derive(Default)]
struct Level {
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
        let mut length = first.len_utf8();
        match first {
            '"' => length = quoted(rest),
            '/' if rest.starts_with("//") => length = rest.find(['\n', '\r']).unwrap_or(rest.len()),
            '(' | '[' | '{' => {
                // `a["b"]` is a link of a name as well.
                here.name();
                open.push(std::mem::take(&mut here));
            }
            ')' | ']' | '}' => {
                let inside = BRACKET + here.depth();
                here = open.pop().unwrap_or_default();
                here.inside = here.inside.max(inside);
            }
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
        check("]})", 12);
    }
}
