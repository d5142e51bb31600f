//! What was told over a session's sockets, kept for a while: the next connection takes it up where
//! the last one broke off.

mod cursor;
mod log;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use haft_core::{ErrorKind, ToolError};
use tokio::sync::Notify;

pub(crate) use self::cursor::Cursor;
use self::log::{LINE, Log, Seen};
use super::frame::{self, Content, Told};
use super::lines::All;
use super::questions::Questions;
use crate::places::{self, Places};
use crate::problem::Problem;
use crate::who::Who;

/// So many connections of one session share a place at most: the newest, and those that it and the ones
/// before it took the session over from, which end at once.
const SHARED: usize = 4;

/// One session's frames.
pub(crate) struct Line {
    /// Differs after a restart, when frames are counted anew.
    id: u64,
    log: Mutex<Log>,
    changed: Notify,
    /// Tells whoever holds the session that another connection does now.
    attached: Notify,
    /// The place of whoever holds the session.
    seat: Mutex<Weak<places::Place>>,
    /// What its calls wait for.
    pub(super) questions: Questions,
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
        let line = Self {
            id,
            log: Mutex::default(),
            changed: Notify::new(),
            attached: Notify::new(),
            seat: Mutex::default(),
            questions: Questions::default(),
            all,
        };
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

/// A connection's place on the line.
pub(super) struct Place {
    /// Which connection it is.
    pub(super) holder: u64,
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

/// Whether a client's frame is to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entered {
    New,
    /// It came before, and is not carried out again.
    Again,
    /// Its id is that of another frame.
    Other,
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

    /// A place for a new connection: that of the one which it takes the session over from, where that is
    /// the same holder's. It may be dead and not know it yet.
    pub(super) fn seat(&self, places: &Places, who: &Who) -> Result<Arc<places::Place>, Problem> {
        let mut seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        let own =
            |place: &Arc<places::Place>| place.is_of(who) && Arc::strong_count(place) <= SHARED;
        let place = match seat.upgrade().filter(own) {
            Some(place) => place,
            None => Arc::new(places.take(who)?),
        };
        *seat = Arc::downgrade(&place);
        Ok(place)
    }

    /// The place of a connection that has its own already.
    pub(super) fn sits(&self, place: places::Place) -> Arc<places::Place> {
        let place = Arc::new(place);
        let mut seat = self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        *seat = Arc::downgrade(&place);
        place
    }

    /// Resolves when another connection has taken the session over.
    pub(super) async fn taken_over(&self, holder: u64) {
        loop {
            // Before it is looked: what comes in between is not missed.
            let changed = self.attached.notified();
            if self.log().holder != holder {
                return;
            }
            changed.await;
        }
    }

    /// Takes the session over. Says whether the connection goes on where another left off.
    pub(super) fn attach(&self, after: Option<&Cursor>) -> (Place, bool) {
        let mut log = self.log();
        log.holder += 1;
        let known = after.filter(|cursor| cursor.line == self.id && cursor.frame <= log.last);
        let sent = known.map_or(log.last, |cursor| cursor.frame);
        self.changed.notify_waiters();
        self.attached.notify_waiters();
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
            if let Some(seen) = log.seen.get_mut(id) {
                seen.answer = Some(number);
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

    /// Takes a client's frame in. One that was answered is answered again; of one that is being worked
    /// on the answer will come.
    pub(super) fn enter(&self, id: &str, content: Content) -> Entered {
        let mut log = self.log();
        let before = log.held();
        if let Some(seen) = log.seen.get(id).copied() {
            if seen.content != content {
                return Entered::Other;
            }
            let Some(number) = seen.answer else { return Entered::Again };
            let kept = log.frames.iter().find(|(one, _)| *one == number);
            let text = kept.map_or_else(|| forgotten(id), |(_, text)| text.clone());
            let number = log.push(text);
            log.seen.insert(id.to_owned(), Seen { answer: Some(number), ..seen });
            self.count(before, log.held());
            drop(log);
            self.settle();
            self.changed.notify_one();
            return Entered::Again;
        }
        log.remember_id(id, content);
        self.count(before, log.held());
        drop(log);
        self.settle();
        Entered::New
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
mod tests;
