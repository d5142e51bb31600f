//! Server-sent events, as the WHATWG's HTML standard defines them, from bytes split anywhere.
//!
//! Two things differ, both because a model's stream is read once and never resumed: the last event
//! counts without a blank line after it, and lines that are no field at all are kept for the error
//! message (providers put bare JSON there when they fail, proxies HTML).

use memchr::memchr2;

/// How many bytes of lines that are no fields are kept.
const STRAY: usize = 4096;

/// A larger event than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The reader's state between two pieces.
#[derive(Debug, Default)]
pub(super) struct Sse {
    limit: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The data lines of the event that has not ended yet, joined.
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    /// A CR was the last byte: an LF that follows belongs to it.
    after_cr: bool,
    pub(super) seen_field: bool,
    pub(super) stray: Vec<u8>,
}

/// Takes an event's name (empty where it has none) and its data.
pub(super) trait Sink {
    fn event(&mut self, name: &[u8], data: &[u8]);
}

impl Sse {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Reads a piece and hands on every event that it completes.
    pub(super) fn feed(&mut self, mut bytes: &[u8], sink: &mut impl Sink) -> Result<(), TooLarge> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                return self.keep(bytes);
            };
            let (line, rest) = bytes.split_at(end);
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if let (Some(value), Some(after)) = (self.whole(line, rest), bytes.strip_prefix(b"\n"))
            {
                self.fits(line.len())?;
                self.seen_field = true;
                sink.event(&self.name, value);
                self.name.clear();
                bytes = after;
            } else if self.line.is_empty() {
                self.line(line, sink)?;
            } else {
                self.keep(line)?;
                let whole = std::mem::take(&mut self.line);
                let done = self.line(&whole, sink);
                self.line = whole;
                self.line.clear();
                done?;
            }
        }
        Ok(())
    }

    /// The data of a line that is all of its event if a blank one follows, which most events are: it
    /// need not be kept.
    fn whole<'l>(&self, line: &'l [u8], rest: &[u8]) -> Option<&'l [u8]> {
        let alone = self.line.is_empty() && !self.has_data && rest.first() == Some(&b'\n');
        let value = line.strip_prefix(b"data:").filter(|_| alone)?;
        Some(value.strip_prefix(b" ").unwrap_or(value))
    }

    /// The end of the stream ends the line and the event.
    pub(super) fn close(&mut self, sink: &mut impl Sink) -> Result<(), TooLarge> {
        let line = std::mem::take(&mut self.line);
        self.line(&line, sink)?;
        self.dispatch(sink);
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        self.fits(self.line.len() + bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn fits(&self, more: usize) -> Result<(), TooLarge> {
        // The data and the line that is being read are held at once, and count together.
        if self.data.len() + more > self.limit { Err(TooLarge) } else { Ok(()) }
    }

    fn line(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), TooLarge> {
        if line.is_empty() {
            self.dispatch(sink);
            return Ok(());
        }
        self.fits(line.len())?;
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                self.seen_field = true;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.seen_field = true;
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // A comment; a place to resume at, which model streams do not have; a delay.
            b"" | b"id" | b"retry" => self.seen_field = true,
            _ => self.stray(line),
        }
        Ok(())
    }

    fn stray(&mut self, line: &[u8]) {
        let room = STRAY.saturating_sub(self.stray.len());
        self.stray.extend_from_slice(line.get(..room).unwrap_or(line));
        if room > line.len() {
            self.stray.push(b'\n');
        }
    }

    fn dispatch(&mut self, sink: &mut impl Sink) {
        // Events without data are not dispatched: that is how keep-alives look.
        if std::mem::take(&mut self.has_data) {
            sink.event(&self.name, &self.data);
        }
        self.data.clear();
        self.name.clear();
    }
}
