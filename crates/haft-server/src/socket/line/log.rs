//! What is kept of a line: frames, notes and the ids of a client's frames, each within bounds.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::super::frame::Content;

/// So many frames are kept of one session, and so many bytes.
pub(super) const FRAMES: usize = 1_024;
pub(super) const BYTES: usize = 4 << 20;

/// So many notes on how far calls are wait for a connection that takes them, and so many bytes. They
/// are told once and not kept: there will be newer ones.
pub(super) const NOTES: usize = 1_024;
pub(super) const NOTE_BYTES: usize = 1 << 20;

/// So many ids of a client's frames are remembered.
const IDS: usize = 4_096;

/// What a line, and an id on it, takes beside its texts; roughly.
pub(super) const LINE: usize = 1_024;
const ID: usize = 160;

/// A client's frame.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// What it said.
    pub(super) content: Content,
    /// Which frame answers it; none while it is being worked on.
    pub(super) answer: Option<u64>,
}

/// What is kept of one line.
pub(super) struct Log {
    pub(super) frames: VecDeque<(u64, String)>,
    pub(super) bytes: usize,
    pub(super) last: u64,
    /// Which connection is the newest.
    pub(super) holder: u64,
    /// What became of the client's frames.
    pub(super) seen: HashMap<String, Seen>,
    pub(super) order: VecDeque<String>,
    /// The bytes of both.
    pub(super) ids: usize,
    /// Notes, each behind the frame that was the last when it came.
    pub(super) notes: VecDeque<(u64, String)>,
    pub(super) note_bytes: usize,
    pub(super) used: Instant,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            frames: VecDeque::new(),
            bytes: 0,
            last: 0,
            holder: 0,
            seen: HashMap::new(),
            order: VecDeque::new(),
            ids: 0,
            notes: VecDeque::new(),
            note_bytes: 0,
            used: Instant::now(),
        }
    }
}

impl Log {
    /// Adds a frame; the oldest make room for it.
    pub(super) fn push(&mut self, text: String) -> u64 {
        self.last += 1;
        self.bytes += text.len();
        self.frames.push_back((self.last, text));
        self.cut(FRAMES, BYTES);
        self.last
    }

    /// Forgets the oldest frames, except for the last one.
    pub(super) fn cut(&mut self, frames: usize, bytes: usize) {
        while self.frames.len() > frames.max(1) || (self.bytes > bytes && self.frames.len() > 1) {
            let Some((_, gone)) = self.frames.pop_front() else { break };
            self.bytes -= gone.len();
        }
    }

    /// Remembers a client's frame, and forgets the oldest where there are too many.
    pub(super) fn remember_id(&mut self, id: &str, content: Content) {
        if self.order.len() >= IDS {
            self.forget_id();
        }
        self.order.push_back(id.to_owned());
        self.seen.insert(id.to_owned(), Seen { content, answer: None });
        self.ids += 2 * id.len();
    }

    /// Forgets the client's oldest frame.
    pub(super) fn forget_id(&mut self) {
        if let Some(oldest) = self.order.pop_front() {
            self.seen.remove(&oldest);
            self.ids -= 2 * oldest.len();
        }
    }

    /// What it takes to keep it.
    pub(super) fn held(&self) -> usize {
        // Each id is there twice.
        LINE + self.bytes + self.ids + self.order.len() * ID + self.note_bytes
    }

    /// Adds a note; the oldest make room for it.
    pub(super) fn push_note(&mut self, text: String) {
        self.note_bytes += text.len();
        self.notes.push_back((self.last, text));
        while self.notes.len() > NOTES || self.note_bytes > NOTE_BYTES {
            if self.pop_note().is_none() {
                break;
            }
        }
    }

    fn pop_note(&mut self) -> Option<String> {
        let (_, text) = self.notes.pop_front()?;
        self.note_bytes -= text.len();
        Some(text)
    }

    /// The next note for a connection that has been sent the frames before it.
    pub(super) fn note_after(&mut self, sent: u64) -> Option<String> {
        let due = self.notes.front().is_some_and(|(after, _)| *after <= sent);
        due.then(|| self.pop_note()).flatten()
    }
}
