//! How much of a stream is kept at most.

/// What a [`Decoder`](super::Decoder) may hold. Whatever exceeds it ends the stream as failed; no
/// call of it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one event, frame or whole response.
    pub event: usize,
    /// Bytes that are kept of one stream: text, reasoning, arguments, and what is to be repeated.
    /// What only passes through (keep-alives, audio, events that repeat others) does not count.
    pub stream: usize,
    /// Calls of one stream.
    pub calls: usize,
    /// Content blocks, output items or parts of one stream, and alternatives.
    pub parts: usize,
}

impl Default for Limits {
    /// 16 MiB an event, 32 MiB a stream, 512 calls, 65,536 parts: above what providers allow a
    /// model to write, and far below what hurts.
    fn default() -> Self {
        Self { event: 16 << 20, stream: 32 << 20, calls: 512, parts: 65_536 }
    }
}
