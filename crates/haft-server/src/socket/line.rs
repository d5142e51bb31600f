//! What was told over a session's sockets, kept for a while: the next connection takes it up where
//! the last one broke off.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use haft_core::{ErrorKind, ToolError};
use serde::Deserialize;
use tokio::sync::Notify;

use super::frame::{self, Told};
use super::lines::All;

/// So many frames are kept of one session, and so many bytes.
const FRAMES: usize = 1_024;
const BYTES: usize = 4 << 20;

/// So many notes on how far calls are wait for a connection that takes them, and so many bytes. They
/// are told once and not kept: there will be newer ones.
const NOTES: usize = 1_024;
const NOTE_BYTES: usize = 1 << 20;

/// So many ids of a client's frames are remembered.
const IDS: usize = 4_096;

/// What a line, and an id on it, takes beside its texts; roughly.
const LINE: usize = 1_024;
const ID: usize = 128;

/// Where a frame stands: on which line, and which frame of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Cursor {
    line: u64,
    frame: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{}", self.line, self.frame)
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (line, frame) = text.split_once('.')?;
            Some(Self { line: u64::from_str_radix(line, 16).ok()?, frame: frame.parse().ok()? })
        };
        read().ok_or("`after` is the `cursor` of a frame")
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// One session's frames.
pub(crate) struct Line {
    /// Differs after a restart, when frames are counted anew.
    id: u64,
    log: Mutex<Log>,
    changed: Notify,
    /// The lines of all sessions, this one among them.
    all: Weak<All>,
}

impl Line {
    pub(super) fn new(all: Weak<All>) -> Self {
        let mut random = [0; 8];
        // Without random numbers, the clock tells two starts apart.
        let id = match getrandom::fill(&mut random) {
            Ok(()) => u64::from_ne_bytes(random),
            Err(_) => std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
        };
        let line = Self { id, log: Mutex::default(), changed: Notify::new(), all };
        line.count(0, LINE);
        line
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let held = self.held();
        self.count(held, 0);
    }
}

struct Log {
    frames: VecDeque<(u64, String)>,
    bytes: usize,
    last: u64,
    /// Which connection is the newest.
    holder: u64,
    /// What became of the client's frames.
    seen: HashMap<String, Option<u64>>,
    order: VecDeque<String>,
    /// The bytes of both.
    ids: usize,
    /// Notes, each behind the frame that was the last when it came.
    notes: VecDeque<(u64, String)>,
    note_bytes: usize,
    used: Instant,
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
    fn push(&mut self, text: String) -> u64 {
        self.last += 1;
        self.bytes += text.len();
        self.frames.push_back((self.last, text));
        self.cut(FRAMES, BYTES);
        self.last
    }

    /// Forgets the oldest frames, except for the last one.
    fn cut(&mut self, frames: usize, bytes: usize) {
        while self.frames.len() > frames.max(1) || (self.bytes > bytes && self.frames.len() > 1) {
            let Some((_, gone)) = self.frames.pop_front() else { break };
            self.bytes -= gone.len();
        }
    }

    /// Forgets the client's oldest frame.
    fn forget_id(&mut self) {
        if let Some(oldest) = self.order.pop_front() {
            self.seen.remove(&oldest);
            self.ids -= 2 * oldest.len();
        }
    }

    /// What it takes to keep it.
    fn held(&self) -> usize {
        // Each id is there twice.
        LINE + self.bytes + self.ids + self.order.len() * ID + self.note_bytes
    }

    /// Adds a note; the oldest make room for it.
    fn push_note(&mut self, text: String) {
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
    fn note_after(&mut self, sent: u64) -> Option<String> {
        let due = self.notes.front().is_some_and(|(after, _)| *after <= sent);
        due.then(|| self.pop_note()).flatten()
    }
}

/// A connection's place on the line.
pub(super) struct Place {
    holder: u64,
    /// The last frame that was sent.
    sent: u64,
}

/// What comes next for a connection.
pub(super) enum Next {
    Frame(String),
    Nothing,
    /// Another connection holds the session now.
    TakenOver,
}

impl Line {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn age(&self) -> Duration {
        self.log().used.elapsed()
    }

    /// What it takes to keep it.
    pub(super) fn held(&self) -> usize {
        self.log().held()
    }

    /// Forgets half of what was told, or of the ids where those take more.
    pub(super) fn halve(&self) {
        let mut log = self.log();
        let before = log.held();
        if log.bytes > log.ids {
            let (frames, bytes) = (log.frames.len() / 2, log.bytes / 2);
            log.cut(frames, bytes);
        } else {
            for _ in 0..log.order.len().div_ceil(2) {
                log.forget_id();
            }
        }
        self.count(before, log.held());
    }

    /// Tells the others how much there is of it now.
    fn count(&self, before: usize, now: usize) {
        let Some(all) = self.all.upgrade() else { return };
        match now.checked_sub(before) {
            Some(more) => all.bytes.fetch_add(more, Ordering::Relaxed),
            None => all.bytes.fetch_sub(before - now, Ordering::Relaxed),
        };
    }

    /// Makes room where all lines together hold too much. Not while this one is locked.
    fn settle(&self) {
        if let Some(all) = self.all.upgrade() {
            all.settle();
        }
    }

    /// Takes the session over. Says whether the connection goes on where another left off.
    pub(super) fn attach(&self, after: Option<&Cursor>) -> (Place, bool) {
        let mut log = self.log();
        log.holder += 1;
        let known = after.filter(|cursor| cursor.line == self.id && cursor.frame <= log.last);
        let sent = known.map_or(log.last, |cursor| cursor.frame);
        self.changed.notify_waiters();
        (Place { holder: log.holder, sent }, known.is_some())
    }

    /// The next frame for a connection.
    pub(super) fn next(&self, place: &mut Place) -> Next {
        let mut log = self.log();
        if log.holder != place.holder {
            return Next::TakenOver;
        }
        log.used = Instant::now();
        let before = log.held();
        if let Some(note) = log.note_after(place.sent) {
            self.count(before, log.held());
            return Next::Frame(note);
        }
        let first = log.frames.front().map_or(log.last + 1, |(number, _)| *number);
        if place.sent + 1 < first {
            let missed = first - place.sent - 1;
            place.sent = first - 1;
            return Next::Frame(frame::text(&Told::Missed { frames: missed }));
        }
        let at = usize::try_from(place.sent + 1 - first).unwrap_or(usize::MAX);
        match log.frames.get(at) {
            Some((number, text)) => {
                place.sent = *number;
                let cursor = Cursor { line: self.id, frame: *number };
                Next::Frame(frame::placed(text, &cursor))
            }
            None => Next::Nothing,
        }
    }

    /// Until there is something new. What came between the last look and this is not missed: there is
    /// one permit kept.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Has whoever holds the session look again.
    pub(super) fn poke(&self) {
        self.changed.notify_one();
    }

    /// Tells whoever holds the session now, or takes it up later.
    pub(super) fn tell(&self, answers: Option<&str>, told: &Told<'_>) {
        let mut log = self.log();
        let before = log.held();
        let number = log.push(frame::text(told));
        if let Some(id) = answers {
            // One that was forgotten meanwhile stays so.
            if let Some(answer) = log.seen.get_mut(id) {
                *answer = Some(number);
            }
        }
        self.count(before, log.held());
        drop(log);
        self.settle();
        self.changed.notify_one();
    }

    /// Tells whoever holds the session how far a call is.
    pub(super) fn note(&self, told: &Told<'_>) {
        let mut log = self.log();
        let before = log.held();
        log.push_note(frame::text(told));
        self.count(before, log.held());
        drop(log);
        self.settle();
        self.changed.notify_one();
    }

    /// Whether a client's frame is new. One that was answered is answered again; of one that is being
    /// worked on the answer will come.
    pub(super) fn enter(&self, id: &str) -> bool {
        let mut log = self.log();
        let before = log.held();
        if let Some(answered) = log.seen.get(id).copied() {
            let Some(number) = answered else { return false };
            let kept = log.frames.iter().find(|(one, _)| *one == number);
            let text = kept.map_or_else(|| forgotten(id), |(_, text)| text.clone());
            let number = log.push(text);
            log.seen.insert(id.to_owned(), Some(number));
            self.count(before, log.held());
            drop(log);
            self.settle();
            self.changed.notify_one();
            return false;
        }
        if log.order.len() >= IDS {
            log.forget_id();
        }
        log.order.push_back(id.to_owned());
        log.seen.insert(id.to_owned(), None);
        log.ids += 2 * id.len();
        self.count(before, log.held());
        drop(log);
        self.settle();
        true
    }
}

/// The answer to a frame whose answer is there no longer. It is not carried out again: nobody here
/// knows whether what it did would be done twice.
fn forgotten(id: &str) -> String {
    let message = "the frame was answered before, and its answer is no longer kept here";
    let error = ToolError::new(ErrorKind::ResultExpired, message).suggest(
        "do not send it under another id: what it did is on record in \
         `GET /v1/calls?session=<session>` (role `operator`), with the frame's id as `modelCall`",
    );
    frame::text(&Told::Error { to: Some(id), problem: &error.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(line: &Line, place: &mut Place) -> Vec<String> {
        let mut all = Vec::new();
        while let Next::Frame(text) = line.next(place) {
            all.push(text);
        }
        all
    }

    fn cursor(text: &str) -> Cursor {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        value["cursor"].as_str().unwrap().parse().unwrap()
    }

    #[test]
    fn the_next_connection_takes_up_what_the_last_one_missed() {
        let line = Line::new(Weak::new());
        let (mut first, resumed) = line.attach(None);
        assert!(!resumed);
        line.tell(None, &Told::Lost { events: 1 });
        let seen = sent(&line, &mut first);
        line.tell(None, &Told::Lost { events: 2 });
        let (mut second, resumed) = line.attach(Some(&cursor(&seen[0])));
        assert!(resumed);
        assert!(matches!(line.next(&mut first), Next::TakenOver));
        assert_eq!(sent(&line, &mut second).len(), 1);
        // A cursor of another start is none of ours.
        let (_, resumed) = line.attach(Some(&Cursor { line: line.id ^ 1, frame: 1 }));
        assert!(!resumed);
    }

    #[test]
    fn what_is_gone_is_counted() {
        let line = Line::new(Weak::new());
        let (mut place, _) = line.attach(None);
        for events in 0..FRAMES as u64 + 5 {
            line.tell(None, &Told::Lost { events });
        }
        let all = sent(&line, &mut place);
        assert_eq!(all[0], r#"{"type":"missed","frames":5}"#);
        assert_eq!(all.len(), FRAMES + 1);
    }

    #[test]
    fn a_frame_that_comes_again_is_answered_again_and_not_done_again() {
        let line = Line::new(Weak::new());
        let (mut place, _) = line.attach(None);
        assert!(line.enter("a"));
        assert!(!line.enter("a"));
        assert!(sent(&line, &mut place).is_empty());
        line.tell(Some("a"), &Told::Lost { events: 1 });
        assert!(!line.enter("a"));
        let all = sent(&line, &mut place);
        let bare = |text: &String| {
            let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
            value.as_object_mut().unwrap().shift_remove("cursor");
            value
        };
        assert_eq!((all.len(), bare(&all[0])), (2, bare(&all[1])));
    }

    #[test]
    fn whoever_goes_on_from_a_frame_that_was_told_again_hears_nothing_twice() {
        let line = Line::new(Weak::new());
        let (mut place, _) = line.attach(None);
        line.enter("a");
        line.tell(Some("a"), &Told::Lost { events: 1 });
        line.tell(None, &Told::Lost { events: 2 });
        line.enter("a");
        let all = sent(&line, &mut place);
        let places: Vec<u64> = all.iter().map(|text| cursor(text).frame).collect();
        assert_eq!(places, [1, 2, 3]);
        let (mut next, resumed) = line.attach(Some(&cursor(&all[2])));
        assert!(resumed);
        assert_eq!(sent(&line, &mut next), Vec::<String>::new());
    }

    #[test]
    fn a_frame_whose_answer_is_gone_is_told_so() {
        let many: fn(&Line) =
            |line| (0..FRAMES as u64).for_each(|events| line.tell(None, &Told::Lost { events }));
        let large: fn(&Line) = |line| {
            let result = serde_json::json!("x".repeat(BYTES));
            line.tell(None, &Told::Answer { to: "b", result });
        };
        let halved: fn(&Line) = |line| {
            (0..8).for_each(|events| line.tell(None, &Told::Lost { events }));
            (0..3).for_each(|_| line.halve());
        };
        for lose in [many, large, halved] {
            let line = Line::new(Weak::new());
            let (mut place, _) = line.attach(None);
            assert!(line.enter("a"));
            line.tell(Some("a"), &Told::Lost { events: 1 });
            lose(&line);
            sent(&line, &mut place);
            // However often it asks.
            for _ in 0..2 {
                assert!(!line.enter("a"), "it is not done again");
                let all = sent(&line, &mut place);
                assert_eq!(all.len(), 1, "{all:?}");
                let told: serde_json::Value = serde_json::from_str(&all[0]).unwrap();
                assert_eq!((&told["type"], &told["to"]), (&"error".into(), &"a".into()));
                assert_eq!(told["problem"]["code"], "result_expired");
                let fix = told["problem"]["suggestion"].as_str().unwrap();
                assert!(fix.contains("/v1/calls?session="), "{fix}");
            }
        }
    }

    #[test]
    fn answers_that_are_told_again_take_no_more_room() {
        let line = Line::new(Weak::new());
        line.enter("a");
        let large = serde_json::json!("x".repeat(BYTES / 4));
        line.tell(Some("a"), &Told::Answer { to: "a", result: large });
        for _ in 0..20 {
            line.enter("a");
        }
        let log = line.log();
        assert!(log.bytes <= BYTES, "{}", log.bytes);
        assert_eq!(log.bytes, log.frames.iter().map(|(_, text)| text.len()).sum::<usize>());
    }

    #[test]
    fn notes_come_between_the_frames_that_they_came_between_and_are_not_kept() {
        let line = Line::new(Weak::new());
        let (mut place, _) = line.attach(None);
        let note = |at: u64| {
            let note = serde_json::json!({ "progress": at });
            line.note(&Told::Progress { of: "a", note: &note });
        };
        note(1);
        line.tell(None, &Told::Lost { events: 1 });
        note(2);
        note(3);
        line.tell(Some("a"), &Told::Lost { events: 2 });
        let all = sent(&line, &mut place);
        let kinds: Vec<_> = all.iter().map(|text| text.contains("progress")).collect();
        assert_eq!(kinds, [true, false, true, true, false], "{all:?}");
        let from = Cursor { line: line.id, frame: 0 };
        let (mut again, resumed) = line.attach(Some(&from));
        assert!(resumed);
        assert_eq!(sent(&line, &mut again).len(), 2, "only frames are sent again");
    }

    #[test]
    fn notes_that_nobody_takes_are_bounded_and_push_no_frame_out() {
        let line = Line::new(Weak::new());
        let (mut place, _) = line.attach(None);
        line.tell(Some("a"), &Told::Lost { events: 1 });
        let (small, large) = (serde_json::json!({"progress": 1}), "x".repeat(NOTE_BYTES / 4));
        let large = serde_json::json!({ "message": large });
        for _ in 0..1_000_000 / 64 {
            line.note(&Told::Progress { of: "a", note: &small });
        }
        assert_eq!(line.log().notes.len(), NOTES);
        (0..64).for_each(|_| line.note(&Told::Progress { of: "a", note: &large }));
        assert!(line.log().note_bytes <= NOTE_BYTES, "{}", line.log().note_bytes);
        let all = sent(&line, &mut place);
        assert!(all[0].contains("lost"), "the frame is still there: {}", all[0]);
        assert_eq!(line.log().note_bytes, 0);
    }

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        let one = Cursor { line: 0xabc, frame: 7 };
        assert_eq!(one.to_string().parse(), Ok(one));
        for odd in ["", "a", "a.", ".7", "z.1", "1.-1", "1.1.1"] {
            assert!(odd.parse::<Cursor>().is_err(), "{odd}");
        }
    }
}
