//! Which trace a request belongs to, as W3C's Trace Context says it.

use std::fmt;

/// The trace of a request, and the span that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The trace.
    pub id: [u8; 16],
    /// The span that this request is part of.
    pub parent: [u8; 8],
    /// Whether whoever began the trace keeps it.
    pub sampled: bool,
}

impl Trace {
    /// Reads a `traceparent`. One that is not whole is none.
    ///
    /// ```
    /// use haft_core::trace::Trace;
    /// let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    /// let trace = Trace::parse(text).unwrap();
    /// assert!(trace.sampled && trace.to_string() == text);
    /// assert_eq!(Trace::parse("00-00000000000000000000000000000000-00f067aa0ba902b7-01"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let version: [u8; 1] = unhex(parts.next()?)?;
        let id: [u8; 16] = unhex(parts.next()?)?;
        let parent: [u8; 8] = unhex(parts.next()?)?;
        let flags: [u8; 1] = unhex(parts.next()?)?;
        // A later version may say more after these; this one may not.
        let whole = version != [0xff] && (version != [0] || parts.next().is_none());
        let [flags] = flags;
        (whole && id != [0; 16] && parent != [0; 8]).then_some(Self {
            id,
            parent,
            sampled: flags & 1 == 1,
        })
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, parent) = (crate::digest::hex(&self.id), crate::digest::hex(&self.parent));
        write!(f, "00-{id}-{parent}-{:02x}", u8::from(self.sampled))
    }
}

/// Lower-case digits alone, as the standard wants them.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() != 2 * N || !text.bytes().all(digits) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
