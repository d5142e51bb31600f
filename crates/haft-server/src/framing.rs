//! How long the requests of a connection say that they are: read along with the bytes on their way to
//! the HTTP library, which takes a `Content-Length` beside `Transfer-Encoding` for none and does not say
//! that there was one. Whoever stands before this server may have believed it.
//!
//! Heads are looked at line by line, and most of them come whole; bodies are passed over. Where it is not
//! certain that the library reads on from the same place, nothing that it finds there is believed.

/// As much of a line as is kept while its end is awaited. The library takes no longer heads.
const LINE: usize = 64 << 10;
/// As much room as is kept for the next one.
const SPARE: usize = 1 << 10;

/// Where in the bytes of a connection its reader is.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    at: At,
    /// The beginning of a line whose end has not come yet.
    begun: Vec<u8>,
    head: Head,
    /// How many heads were there.
    heads: u64,
}

/// What comes next.
#[derive(Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Head,
    /// So many bytes of a body.
    Body(u64),
    /// The line with the size of a chunk.
    Size,
    /// So many bytes of a chunk, with the end of its line.
    Chunk(u64),
    /// The lines after the last chunk.
    Trailers,
    /// What is not believed.
    Lost,
}

/// What a head has said so far.
#[derive(Debug, Default)]
struct Head {
    /// Whether there was a line that is not empty; those before the first count for nothing.
    is_begun: bool,
    length: Option<u64>,
    has_length: bool,
    has_encoding: bool,
}

impl Framing {
    /// Reads what has come, and gives the number of the first head that is not to be believed, counted
    /// from 0: it says two lengths, or stands behind something that could be read in two ways. Nothing
    /// that comes after that is read.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Option<u64> {
        while !bytes.is_empty() {
            match &mut self.at {
                At::Lost => return None,
                At::Body(left) | At::Chunk(left) => {
                    let here = u64::try_from(bytes.len()).unwrap_or(u64::MAX).min(*left);
                    *left -= here;
                    bytes = bytes.get(usize::try_from(here).ok()?..).unwrap_or_default();
                    if *left == 0 {
                        self.at = if matches!(self.at, At::Body(_)) { At::Head } else { At::Size };
                    }
                }
                At::Head | At::Size | At::Trailers => {
                    let Some(end) = memchr::memchr(b'\n', bytes) else {
                        self.keep(bytes);
                        return None;
                    };
                    let (line, rest) = bytes.split_at(end + 1);
                    bytes = rest;
                    if let Some(doubtful) = self.take(line) {
                        self.at = At::Lost;
                        return Some(doubtful);
                    }
                }
            }
        }
        None
    }

    /// Keeps the beginning of a line.
    fn keep(&mut self, part: &[u8]) {
        let room = LINE.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    /// Takes a line with its end, and gives the head that is not to be believed for what it says.
    fn take(&mut self, line: &[u8]) -> Option<u64> {
        if self.begun.is_empty() {
            return self.line(line);
        }
        self.keep(line);
        let whole = std::mem::take(&mut self.begun);
        let ended = self.line(&whole);
        if whole.capacity() <= SPARE {
            self.begun = whole;
            self.begun.clear();
        }
        ended
    }

    fn line(&mut self, line: &[u8]) -> Option<u64> {
        let (text, next) = (trimmed(line), self.heads);
        match self.at {
            At::Head if !text.is_empty() => self.head.line(text),
            At::Head if self.head.is_begun => return self.ended(),
            // Between chunks the library takes no other end of a line, and a bare one for text.
            At::Size | At::Trailers if !line.ends_with(b"\r\n") => return Some(next),
            At::Size => match size(text) {
                Some(size) => self.at = after_size(size),
                None => return Some(next),
            },
            At::Trailers if text.is_empty() => self.at = At::Head,
            At::Head | At::Trailers | At::Body(_) | At::Chunk(_) | At::Lost => {}
        }
        None
    }

    /// The end of a head.
    fn ended(&mut self) -> Option<u64> {
        let head = std::mem::take(&mut self.head);
        let this = self.heads;
        self.heads += 1;
        self.at = match (head.has_encoding, head.has_length, head.length) {
            (true, true, _) => return Some(this),
            (true, false, _) => At::Size,
            (false, true, None) => return Some(self.heads),
            (false, true, Some(0)) | (false, false, _) => At::Head,
            (false, true, Some(length)) => At::Body(length),
        };
        None
    }
}

impl Head {
    fn line(&mut self, line: &[u8]) {
        self.is_begun = true;
        // Most lines are none of these.
        if !matches!(line.first(), Some(b'c' | b'C' | b't' | b'T')) {
            return;
        }
        let Some(colon) = memchr::memchr(b':', line) else { return };
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"content-length") {
            self.has_length = true;
            let text = value.get(1..).and_then(|text| std::str::from_utf8(text).ok());
            self.length = text.and_then(|text| text.trim().parse().ok());
        }
        self.has_encoding |= name.eq_ignore_ascii_case(b"transfer-encoding");
    }
}

/// A line without its end.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The size of a chunk; what may stand behind it says nothing about it.
fn size(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let digits = line.get(..end).and_then(|digits| std::str::from_utf8(digits).ok())?;
    u64::from_str_radix(digits, 16).ok()
}

fn after_size(size: u64) -> At {
    match size {
        0 => At::Trailers,
        // And the end of its line, which is two bytes.
        size => At::Chunk(size.saturating_add(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found when the bytes come whole, one by one, and in two parts anywhere.
    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        let read = |parts: &[&[u8]]| {
            let mut framing = Framing::default();
            parts.iter().find_map(|part| framing.read(part))
        };
        let bytes = text.as_bytes();
        assert_eq!(read(&[bytes]), expected, "{text:?}");
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single), expected, "{text:?}, byte by byte");
        for at in 0..bytes.len() {
            let (one, other) = bytes.split_at(at);
            assert_eq!(read(&[one, other]), expected, "{text:?}, cut at {at}");
        }
    }

    const LENGTH: &str = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{\r\n}";
    const CHUNKS: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
                          10;a=b\r\nContent-Length:\n\r\n2 \r\n{}\r\n0\r\nContent-Length: 3\r\n\r\n";
    const BARE: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const BOTH: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n";

    #[test]
    fn two_lengths_are_seen_in_every_head_and_nowhere_else() {
        for one in [LENGTH, CHUNKS, BARE, ""] {
            for other in [LENGTH, CHUNKS, BARE, "\r\n\r\n"] {
                check(&format!("{one}{other}"), None);
                let heads = [one, other].iter().filter(|text| text.contains("HTTP")).count();
                check(&format!("{one}{other}{BOTH}"), Some(heads as u64));
            }
        }
    }

    #[test]
    fn however_they_are_written() {
        let head = |lines: &str| format!("POST / HTTP/1.1\r\n{lines}\r\n");
        for (lines, expected) in [
            ("content-length: 4\r\ntransfer-encoding: chunked\r\n", Some(0)),
            ("CONTENT-LENGTH:4\r\nX: y\r\nTRANSFER-ENCODING:chunked\r\n", Some(0)),
            ("Transfer-Encoding: chunked\nContent-Length: 4\n", Some(0)),
            ("Transfer-Encoding: gzip, chunked\r\nContent-Length: no\r\n", Some(0)),
            // A line that goes on is refused by the library; what it says is no header of ours.
            ("X: y\r\n Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", None),
            ("X-Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", None),
            ("Content-Length-X: 4\r\nTransfer-Encoding: chunked\r\n", None),
        ] {
            check(&head(lines), expected);
        }
        let long = format!("X: {}\r\nContent-Length: 4\r\n", "y".repeat(9_000));
        let text = head(&format!("{long}Transfer-Encoding: chunked\r\n"));
        assert_eq!(Framing::default().read(text.as_bytes()), Some(0));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_believed_no_further() {
        let length = |length: &str| format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n");
        let chunk =
            |size: &str| format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n");
        for before in [length("x"), length("99999999999999999999999"), chunk("x"), chunk("")] {
            check(&format!("{before}{BOTH}"), Some(1));
            check(&format!("{BARE}{before}{BARE}"), Some(2));
        }
        // Only `\r\n` ends a line there; a bare end is part of a trailer, and no head comes after it.
        let trailer = "\nx: y\r\n\r\n";
        check(&format!("{}{trailer}{BOTH}", chunk("0")), Some(1));
        let bare = chunk("2").replace("2\r\n", "2\n");
        check(&format!("{bare}{{}}\r\n0\r\n\r\n{BOTH}"), Some(1));
        check(&format!("{}{BOTH}", length("18446744073709551615")), None);
        check(&format!("{}{BOTH}", chunk("ffffffffffffffff")), None);
    }
}
