//! How a number was written. `1.10` is one tenth more than one as a number and something else as
//! the text of a version, so text that is made from a number is the number's own.

use super::path::Step;

/// What stands at a place of a JSON text that is known to be well-formed.
pub(super) fn find<'t>(text: &'t str, steps: &[Step<'_>]) -> Option<&'t str> {
    let mut scan = Scan { text, at: 0 };
    for step in steps {
        scan.enter(*step)?;
    }
    scan.space();
    let start = scan.at;
    scan.skip()?;
    text.get(start..scan.at)
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        self.space();
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here.then_some(())
    }

    /// Goes to the value of a member or to an element.
    fn enter(&mut self, step: Step<'_>) -> Option<()> {
        match step {
            Step::Name(name) => {
                self.eat(b'{')?;
                loop {
                    self.space();
                    let start = self.at;
                    self.skip()?;
                    let key: String = serde_json::from_str(self.text.get(start..self.at)?).ok()?;
                    self.eat(b':')?;
                    if key == name {
                        return Some(());
                    }
                    self.skip()?;
                    self.eat(b',')?;
                }
            }
            Step::Index(index) => {
                self.eat(b'[')?;
                for _ in 0..index {
                    self.skip()?;
                    self.eat(b',')?;
                }
                Some(())
            }
        }
    }

    /// Steps over one value.
    fn skip(&mut self) -> Option<()> {
        self.space();
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                _ => self.word(),
            }
            if open == 0 {
                return Some(());
            }
        }
    }

    fn word(&mut self) {
        let end =
            |byte: u8| matches!(byte, b',' | b'}' | b']' | b':' | b' ' | b'\t' | b'\n' | b'\r');
        while self.peek().is_some_and(|byte| !end(byte)) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_as_it_was_written() {
        let text = r#" {"a": [ "}\"", {"x": 1.10}, 2e0 ], "\u0062": -0 } "#;
        let (a, b, x) = (Step::Name("a"), Step::Name("b"), Step::Name("x"));
        for (steps, expected) in [
            (&[a, Step::Index(1), x][..], Some("1.10")),
            (&[a, Step::Index(2)], Some("2e0")),
            (&[b], Some("-0")),
            (&[a, Step::Index(3)], None),
            (&[x], None),
        ] {
            assert_eq!(find(text, steps), expected, "{steps:?}");
        }
    }
}
