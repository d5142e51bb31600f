//! Lines as they come, in pieces: whoever waits for one may be dropped at any moment, and nothing of it
//! is lost.

use std::io;
use std::mem;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::mcp::message::is_id;

/// A line, without its end.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// It is longer than a message may be, and not kept; with the id under which it is answered.
    TooLong(Value),
}

/// Where lines come from.
pub(super) struct Coming<R> {
    from: BufReader<R>,
    most: usize,
    /// What has come of the next line.
    line: Vec<u8>,
    /// Of one that is too long already.
    skimmed: Option<Skimmed>,
}

impl<R: AsyncRead + Unpin> Coming<R> {
    pub(super) fn new(from: R, most: usize) -> Self {
        Self { from: BufReader::new(from), most, line: Vec::new(), skimmed: None }
    }

    /// The next line; none at the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            // All that is waited for; what it gives is taken before anything else is.
            let seen = self.from.fill_buf().await?;
            let size = seen.len();
            let end = seen.iter().position(|byte| *byte == b'\n');
            let piece = seen.get(..end.unwrap_or(size)).unwrap_or_default();
            match &mut self.skimmed {
                Some(skimmed) => skimmed.read(piece),
                None if self.line.len() + piece.len() <= self.most => {
                    self.line.extend_from_slice(piece);
                }
                None => {
                    let mut skimmed = Skimmed::default();
                    skimmed.read(&mem::take(&mut self.line));
                    skimmed.read(piece);
                    self.skimmed = Some(skimmed);
                }
            }
            self.from.consume(end.map_or(size, |at| at + 1));
            if end.is_some() {
                return Ok(Some(self.take()));
            }
            if size == 0 {
                let is_there = self.skimmed.is_some() || !self.line.is_empty();
                return Ok(is_there.then(|| self.take()));
            }
        }
    }

    fn take(&mut self) -> Line {
        match self.skimmed.take() {
            Some(skimmed) => Line::TooLong(skimmed.id()),
            None => Line::Whole(mem::take(&mut self.line)),
        }
    }
}

/// So much of one member is kept: an id or a method is shorter, or it is not known.
const MEMBER: usize = 256;

/// The id of a request that is too long to be read, so that whoever waits for its answer gets one. It stands
/// behind everything else in what some clients write. (An answer has the id of a question of ours, which may be
/// that of a request of theirs, too.)
#[derive(Default)]
struct Skimmed {
    depth: usize,
    in_text: bool,
    is_escaped: bool,
    /// What stands at the top since the last comma there.
    member: Vec<u8>,
    id: Option<Value>,
    has_method: bool,
}

/// What is looked for at the top of a message. What other members hold is not there, and is no JSON without it.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Member {
    Id(Value),
    Method(String),
}

impl Skimmed {
    fn read(&mut self, piece: &[u8]) {
        for byte in piece {
            self.take(*byte);
        }
    }

    fn take(&mut self, byte: u8) {
        let at_top = self.depth == 1;
        if self.in_text {
            self.in_text = self.is_escaped || byte != b'"';
            self.is_escaped = byte == b'\\' && !self.is_escaped;
        } else {
            match byte {
                b'"' => self.in_text = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if at_top && (byte == b',' || self.depth == 0) {
                return self.end_member();
            }
        }
        // One letter more than is read.
        if at_top && self.member.len() <= MEMBER {
            self.member.push(byte);
        }
    }

    /// Looks whether a member is one of those.
    fn end_member(&mut self) {
        let member = mem::take(&mut self.member);
        let text = String::from_utf8_lossy(&member);
        if member.len() > MEMBER {
            return;
        }
        match serde_json::from_str(&format!("{{{text}}}")) {
            // Of two, nobody can say which is meant.
            Ok(Member::Id(id)) => self.id = Some(if self.id.is_none() { id } else { Value::Null }),
            Ok(Member::Method(name)) => self.has_method |= !name.is_empty(),
            Err(_) => {}
        }
    }

    fn id(self) -> Value {
        self.id.filter(|id| self.has_method && is_id(id)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MOST: usize = 64;

    /// What comes of lines, however they are cut into pieces.
    #[track_caller]
    fn check(text: &str, expected: &[Line]) {
        for size in [1, 3, 7, 1024] {
            let (mut to, from) = tokio::io::duplex(size);
            let text = text.to_owned();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let found = runtime.block_on(async {
                let write = async move {
                    tokio::io::AsyncWriteExt::write_all(&mut to, text.as_bytes()).await.unwrap();
                };
                let read = async {
                    let mut coming = Coming::new(from, MOST);
                    let mut found = Vec::new();
                    loop {
                        // Dropped again and again before it has ended, as the SDK does.
                        let next = tokio::select! {
                            biased;
                            next = coming.next() => next,
                            () = tokio::task::yield_now() => continue,
                        };
                        match next.unwrap() {
                            Some(line) => found.push(line),
                            None => return found,
                        }
                    }
                };
                tokio::join!(write, read).1
            });
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_read_whole_in_whichever_pieces_they_come() {
        check("", &[]);
        check("a\n\nb", &[whole("a"), whole(""), whole("b")]);
        let longest = "x".repeat(MOST);
        check(&format!("{longest}\nb\n"), &[whole(&longest), whole("b")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_known_by_its_id() {
        let long = "x,{\\\"\\\\".repeat(20);
        for (text, id) in [
            (format!(r#"{{"id":7,"method":"m","params":{{"a":"{long}"}}}}"#), json!(7)),
            (
                format!(r#"{{"params":{{"id":1,"a":["{long}"]}},"method":"m", "id" : "q\"" }}"#),
                json!("q\""),
            ),
            // Answers to questions of ours.
            (format!(r#"{{"id":7,"result":{{"a":"{long}"}}}}"#), json!(null)),
            (format!(r#"{{"id":7,"error":{{"method":"m","message":"{long}"}}}}"#), json!(null)),
            (format!(r#"{{"id":7,"method":{{}},"result":"{long}"}}"#), json!(null)),
            (format!(r#"{{"method":"m","a":"{long}","id":8"#), json!(null)),
            (format!(r#"{{"method":"m","id":1,"id":2,"a":"{long}"}}"#), json!(null)),
            (format!(r#"{{"method":"m","id":{{}},"a":"{long}"}}"#), json!(null)),
            (format!(r#"[{{"id":3,"method":"m","a":"{long}"}}]"#), json!(null)),
            (format!(r#"{{"method":"m","id":"{}"}}"#, "x".repeat(MEMBER)), json!(null)),
            ("x".repeat(1_000), json!(null)),
        ] {
            check(&format!("{text}\nb\n"), &[Line::TooLong(id), whole("b")]);
        }
    }
}
