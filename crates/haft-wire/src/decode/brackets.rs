//! Whether a JSON object that grows has come to its end, each byte looked at once.

/// How far a text was read, and inside of what that is.
#[derive(Debug, Default)]
pub(super) struct Brackets {
    read: usize,
    nesting: Nesting,
    state: State,
}

/// Where in an object the bytes have come to. Whether brackets match is for the JSON reader to say.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    depth: usize,
    inside: Inside,
}

#[derive(Clone, Copy, Debug, Default)]
enum Inside {
    #[default]
    Structure,
    Text,
    /// Right after a backslash.
    Escape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Before,
    Within,
    Closed,
    /// It is no object, or something follows it.
    Never,
}

impl Brackets {
    /// Whether the text is an object whose brackets are closed, and white space. The text is the one
    /// of the last time, with more behind it.
    pub(super) fn are_closed(&mut self, text: &[u8]) -> bool {
        for byte in text.get(self.read..).unwrap_or_default() {
            self.next(*byte);
        }
        self.read = text.len();
        self.state == State::Closed
    }

    fn next(&mut self, byte: u8) {
        match self.state {
            State::Within if self.nesting.ends_with(byte) => self.state = State::Closed,
            State::Within => {}
            State::Never => {}
            State::Before | State::Closed if byte.is_ascii_whitespace() => {}
            State::Before if byte == b'{' => {
                self.state = State::Within;
                self.nesting.open();
            }
            State::Before | State::Closed => self.state = State::Never,
        }
    }
}

impl Nesting {
    /// An object begins.
    pub(super) fn open(&mut self) {
        self.depth = 1;
    }

    /// Whether an object has begun and not ended.
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0
    }

    /// Whether this byte ends the object that is open.
    pub(super) fn ends_with(&mut self, byte: u8) -> bool {
        match (self.inside, byte) {
            (Inside::Escape, _) => self.inside = Inside::Text,
            (Inside::Text, b'\\') => self.inside = Inside::Escape,
            (Inside::Text, b'"') => self.inside = Inside::Structure,
            (Inside::Structure, b'"') => self.inside = Inside::Text,
            (Inside::Structure, b'{' | b'[') => self.depth += 1,
            (Inside::Structure, b'}' | b']') => {
                self.depth -= 1;
                return self.depth == 0;
            }
            (Inside::Structure | Inside::Text, _) => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(Brackets::default().are_closed(text.as_bytes()), expected, "{text}");
        let mut grown = Brackets::default();
        for end in 0..text.len() {
            grown.are_closed(&text.as_bytes()[..end]);
        }
        assert_eq!(grown.are_closed(text.as_bytes()), expected, "{text}, byte by byte");
    }

    #[test]
    fn an_object_ends_with_its_last_bracket() {
        check("{}", true);
        check(" {\"a\": [1, {\"b\": \"}\\\"\"}]} \n", true);
        check("", false);
        check("{\"a\": {}", false);
        check("{\"a\": \"}", false);
        check("{\"a\": \"\\", false);
        check("{} {}", false);
        check("[1]", false);
        check("null", false);
    }
}
