//! How deep brackets are nested, told without recursion.
//!
//! What the parser would take as nested must never be missed, so the scan knows strings,
//! templates, comments and regular expressions. JavaScript's one real ambiguity is the slash.
//! Where the token before it does not settle what it is, everything that opens from there on
//! counts and nothing closes: too much for a hostile file, enough for a real one.

/// The deepest nesting that is read; what people write has a tenth of it.
pub(super) const MAX: usize = 128;

/// Where the nesting passes [`MAX`].
pub(super) fn too_deep(source: &str) -> Option<usize> {
    let mut scan = Scan { source, at: 0, open: Vec::new(), before: Before::Operator, dot: false };
    if source.starts_with("#!") {
        scan.line();
    }
    scan.run().err()
}

/// What the last token was, as far as a slash after it is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    /// A value ended: the slash divides.
    Operand,
    /// A value is due: the slash begins a regular expression.
    Operator,
    /// Either.
    Unclear,
    /// `if`, `for`, `while`, `with`: after the parentheses that follow, a statement is due.
    Head,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Open {
    Paren { head: bool },
    Bracket,
    Brace,
    Template,
}

struct Scan<'s> {
    source: &'s str,
    at: usize,
    open: Vec<Open>,
    before: Before,
    /// The last token was the dot of a member access: a keyword after it is a plain name.
    dot: bool,
}

/// Err: the nesting passes the limit here.
type Step = Result<(), usize>;

impl Scan<'_> {
    fn run(&mut self) -> Step {
        while let Some(letter) = self.peek() {
            let dot = std::mem::take(&mut self.dot);
            match letter {
                _ if is_space(letter) => {
                    self.dot = dot;
                    self.bump(letter);
                }
                '/' => {
                    self.dot = dot;
                    self.slash()?;
                }
                '"' | '\'' => self.string(letter),
                '`' => {
                    self.bump(letter);
                    self.template()?;
                }
                '(' => self.push(Open::Paren { head: self.before == Before::Head })?,
                '[' => self.push(Open::Bracket)?,
                '{' => self.push(Open::Brace)?,
                ')' | ']' | '}' => self.close(letter)?,
                '0'..='9' => {
                    self.skip(|letter| {
                        letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_')
                    });
                    self.before = Before::Operand;
                }
                '.' => self.dots(),
                '+' | '-' => self.sign(letter),
                _ if is_name(letter) => self.word(dot),
                _ => {
                    self.bump(letter);
                    self.before = Before::Operator;
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, open: Open) -> Step {
        self.open.push(open);
        if self.open.len() > MAX {
            return Err(self.at);
        }
        self.at += 1;
        self.before = Before::Operator;
        Ok(())
    }

    fn close(&mut self, letter: char) -> Step {
        self.at += 1;
        match (self.open.pop(), letter) {
            (Some(Open::Paren { head: true }), ')') => self.before = Before::Operator,
            (Some(Open::Paren { head: false }), ')') | (Some(Open::Bracket), ']') => {
                self.before = Before::Operand;
            }
            (Some(Open::Brace), '}') => self.before = Before::Unclear,
            (Some(Open::Template), '}') => return self.template(),
            // Not JavaScript any more; the parser may go on all the same.
            (other, _) => {
                self.open.extend(other);
                return self.count_the_rest();
            }
        }
        Ok(())
    }

    fn slash(&mut self) -> Step {
        match (self.ahead(1), self.before) {
            (Some('/'), _) => self.line(),
            (Some('*'), _) => {
                let end = self.rest().get(2..).and_then(|rest| rest.find("*/"));
                self.at = end.map_or(self.source.len(), |end| self.at + end + 4);
            }
            (_, Before::Operand) => {
                self.at += 1;
                self.before = Before::Operator;
            }
            (_, Before::Operator | Before::Head) => self.expression(),
            (_, Before::Unclear) => return self.count_the_rest(),
        }
        Ok(())
    }

    fn line(&mut self) {
        self.skip(|letter| !is_line_end(letter));
    }

    /// A regular expression, up to its closing slash or the end of the line.
    fn expression(&mut self) {
        self.at += 1;
        let mut class = false;
        while let Some(letter) = self.peek().filter(|letter| !is_line_end(*letter)) {
            self.bump(letter);
            match letter {
                '\\' => {
                    if let Some(escaped) = self.peek().filter(|letter| !is_line_end(*letter)) {
                        self.bump(escaped);
                    }
                }
                '[' => class = true,
                ']' => class = false,
                '/' if !class => break,
                _ => {}
            }
        }
        self.before = Before::Operand;
    }

    fn string(&mut self, quote: char) {
        self.bump(quote);
        while let Some(letter) = self.peek() {
            self.bump(letter);
            match letter {
                '\\' => {
                    if let Some(escaped) = self.peek() {
                        self.bump(escaped);
                    }
                }
                '\n' | '\r' => break,
                _ if letter == quote => break,
                _ => {}
            }
        }
        self.before = Before::Operand;
    }

    /// The text of a template, up to its end or its next `${`.
    fn template(&mut self) -> Step {
        while let Some(letter) = self.peek() {
            match letter {
                '\\' => {
                    self.bump(letter);
                    if let Some(escaped) = self.peek() {
                        self.bump(escaped);
                    }
                }
                '`' => {
                    self.bump(letter);
                    break;
                }
                '$' if self.ahead(1) == Some('{') => {
                    self.at += 1;
                    return self.push(Open::Template);
                }
                _ => self.bump(letter),
            }
        }
        self.before = Before::Operand;
        Ok(())
    }

    fn dots(&mut self) {
        if self.rest().starts_with("...") {
            self.at += 3;
        } else {
            self.at += 1;
            self.dot = true;
        }
        self.before = Before::Operator;
    }

    /// `a++ / b` divides; `++/a/.lastIndex` is possible.
    fn sign(&mut self, letter: char) {
        self.before = Before::Operator;
        if self.ahead(1) == Some(letter) {
            self.at += 1;
            self.before = Before::Unclear;
        }
        self.at += 1;
    }

    fn word(&mut self, dot: bool) {
        let start = self.at;
        let after_for = self.before == Before::Head;
        while let Some(letter) =
            self.peek().filter(|letter| is_name(*letter) || letter.is_ascii_digit())
        {
            self.bump(letter);
            // `\u{61}` is a letter of a name, not a block.
            if letter == '\\' && self.rest().starts_with("u{") {
                self.skip(|letter| letter != '}' && !is_line_end(letter));
                self.at += usize::from(self.peek() == Some('}'));
            }
        }
        self.before = match self.source.get(start..self.at) {
            _ if dot => Before::Operand,
            Some("if" | "for" | "while" | "with") => Before::Head,
            Some("await") if after_for => Before::Head,
            Some(
                "await" | "case" | "default" | "delete" | "do" | "else" | "extends" | "in"
                | "instanceof" | "new" | "return" | "throw" | "typeof" | "void" | "yield",
            ) => Before::Operator,
            Some("of") => Before::Unclear,
            _ => Before::Operand,
        };
    }

    fn count_the_rest(&mut self) -> Step {
        let open = self.open.len();
        let openers = self.rest().bytes().enumerate();
        let mut openers = openers.filter(|(_, byte)| matches!(byte, b'(' | b'[' | b'{'));
        let passes = openers.nth(MAX.saturating_sub(open));
        let at = passes.map(|(offset, _)| self.at + offset);
        self.at = self.source.len();
        at.map_or(Ok(()), Err)
    }

    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn ahead(&self, by: usize) -> Option<char> {
        self.rest().chars().nth(by)
    }

    fn bump(&mut self, letter: char) {
        self.at += letter.len_utf8();
    }

    fn skip(&mut self, goes_on: impl Fn(char) -> bool) {
        let length = self.rest().find(|letter| !goes_on(letter));
        self.at = length.map_or(self.source.len(), |length| self.at + length);
    }
}

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_space(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{feff}'
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || matches!(letter, '_' | '$' | '#' | '\\') || !letter.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest(open: &str, close: &str, times: usize) -> String {
        format!("x = {}1{}", open.repeat(times), close.repeat(times))
    }

    #[test]
    fn the_limit_is_exact() {
        for (open, close) in [("(", ")"), ("[", "]"), ("{a:", "}"), ("`${", "}`")] {
            assert_eq!(too_deep(&nest(open, close, MAX)), None, "{open}");
            assert!(too_deep(&nest(open, close, MAX + 1)).is_some(), "{open}");
        }
    }

    /// The text hides one closing bracket from a scan that takes it for code, once a round.
    #[test]
    fn nesting_cannot_be_hidden() {
        for round in [
            "(')'+",
            "(\")\"+",
            "(`)`+",
            "(/)/+",
            "(/[/)]/+",
            "(/*)*/1+",
            "(1+//)\n",
            "(1+//)\u{2028}",
            "(a\u{a0}=\u{a0}/)/+",
            "(typeof/)/+",
            "(a.typeof/b+(/)/,1)+",
            "(a.if(b)/c+(/)/,1)+",
            "(a\\u{62}/1+",
            "(a++/1+",
            "(()=>{}\n/)/+",
            "{if(a)/}/;",
            "{for await(a of b)/}/;",
            "('\\\n)'+",
            "(`\\`)`+",
            "(`${')'})`+",
            "(.../)/,",
        ] {
            let source = round.repeat(MAX + 1);
            assert!(too_deep(&source).is_some(), "{round}");
        }
    }

    #[test]
    fn flat_code_is_never_deep() {
        for line in [
            "a = (b + c) / d * (e / f);\n",
            "if (a) { b() } else { c() }\n",
            "s = `a ${b} c ${d}`;\n",
            "t = a ? [b] : { c };\n",
            "u = '(((' + \"[[[\" + /[({]/.test(a) // ((((\n;",
            "if (a) /\"/.test(b);\n",
            "x.if(a) / 2;\n",
        ] {
            assert_eq!(too_deep(&line.repeat(1_000)), None, "{line}");
        }
    }
}
