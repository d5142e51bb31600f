//! What all chunks of a stream begin with.
//!
//! A chunk repeats the completion's id, model and time before it says anything, in the same bytes each
//! time, and they are half of it. They are read once: a chunk that begins with them is its rest.

use super::wire::Chunk;

/// Up to where a chunk begins to say something.
const KEY: &str = "\"choices\":";

/// How often it may turn out that chunks begin with something else.
const TRIES: u8 = 3;

#[derive(Default)]
pub(super) struct Head {
    text: String,
    tried: u8,
    rest: String,
}

impl Head {
    /// The chunk, without the head if it has one: the same to whoever reads a [`Chunk`].
    pub(super) fn cut<'a>(&'a mut self, data: &'a str) -> &'a str {
        match data.strip_prefix(&self.text) {
            Some(rest) if !self.text.is_empty() => {
                self.rest.clear();
                self.rest.push('{');
                self.rest.push_str(KEY);
                self.rest.push_str(rest);
                &self.rest
            }
            Some(_) | None => {
                if self.tried < TRIES {
                    self.learn(data);
                }
                data
            }
        }
    }

    fn learn(&mut self, data: &str) {
        self.tried += 1;
        self.text.clear();
        // Inside of a text its quotes would be escaped: this is a key, though maybe of an inner object.
        let end = memchr::memmem::find(data.as_bytes(), KEY.as_bytes()).map(|at| at + KEY.len());
        let Some(head) = end.and_then(|end| data.get(..end)) else { return };
        let alone = format!("{head}null}}");
        if serde_json::from_str::<Chunk<'_>>(&alone).is_ok_and(|chunk| chunk.says_nothing()) {
            self.text.push_str(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(first: &str, second: &str, expected: &str) {
        let mut head = Head::default();
        assert_eq!(head.cut(first), first);
        assert_eq!(head.cut(second), expected);
    }

    #[test]
    fn what_was_read_before_is_not_read_again() {
        let first = r#"{"id":"a","choices":[1],"usage":null}"#;
        check(first, first, r#"{"choices":[1],"usage":null}"#);
        check(first, r#"{"id":"a","choices":[],"usage":2}"#, r#"{"choices":[],"usage":2}"#);
        // Whatever is wrong with the rest stays so.
        check(first, r#"{"id":"a","choices":[}"#, r#"{"choices":[}"#);
    }

    #[test]
    fn what_differs_is_read_as_it_came() {
        for (first, second) in [
            (r#"{"id":"a","choices":[]}"#, r#"{"id":"b","choices":[]}"#),
            (r#"{"usage":{},"choices":[]}"#, r#"{"usage":{},"choices":[]}"#),
            (r#"{"error":{},"choices":[]}"#, r#"{"error":{},"choices":[]}"#),
            (r#"{"role":"a","choices":[]}"#, r#"{"role":"a","choices":[]}"#),
            (r#"{"choices":[],"choices":[]}"#, r#"{"choices": []}"#),
            (r#"{"a":{"choices":[]}}"#, r#"{"a":{"choices":[]}}"#),
            (r#"{"a":"\"choices\":"}"#, r#"{"a":"\"choices\":"}"#),
            (r#"[{"choices":[]}]"#, r#"[{"choices":[]}]"#),
            (r#"{,"choices":[]}"#, r#"{,"choices":[]}"#),
            ("", ""),
        ] {
            check(first, second, second);
        }
    }

    #[test]
    fn chunks_that_all_begin_differently_are_not_tried_for_ever() {
        let mut head = Head::default();
        let chunk = |id: u8| format!(r#"{{"created":{id},"choices":[]}}"#);
        for id in 0..=TRIES {
            head.cut(&chunk(id));
        }
        assert_eq!(head.cut(&chunk(TRIES)), chunk(TRIES));
    }
}
