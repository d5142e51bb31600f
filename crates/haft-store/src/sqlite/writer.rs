//! The one thread that writes. It takes whatever waits, does it in one transaction, commits once,
//! and only then answers everybody.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use haft_core::port::StoreError;
use haft_core::record::InvocationRecord;
use haft_core::registry::PublicKey;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::Shared;
use super::fault::{During, judge};
use super::known::{self, Evidence};
use super::log::Log;
use super::owner::{Alive, Owners};
use super::place::Held;
use super::row;
use super::sealing::Seals;
use super::shared::Beside;
use super::time;
use super::tx::Tx;
use crate::clock::Reading;
use crate::fail::{self, fail_point};
use crate::steps::journal;
use crate::tables::Res;
use crate::trail::{Link, Signing};
use crate::vault::Ring;

/// At most so many tasks share a commit.
const GROUP: usize = 256;

/// For this part of the time that a commit takes, the writer waits for more to share it.
const PATIENCE: u32 = 8;
const LONGEST_PATIENCE: Duration = Duration::from_millis(1);

/// So long it does not look whether they came. (A system takes as long again to wake it.)
const NAP: Duration = Duration::from_micros(50);

/// The time is written down when so much has passed. In between, the last entry of the trail tells it; what
/// is written without one writes the time, too.
pub(super) const CLOCK_MS: i64 = 1_000;

/// Something to write.
pub(super) trait Task: Send {
    /// Does it, inside a transaction. Returns whether to keep what it wrote. When the transaction
    /// is undone, it may be asked again.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;

    /// Tells whoever waits: what came of it, or what became of the whole transaction.
    fn answer(self: Box<Self>, instead: Option<StoreError>);

    /// Takes back what it came to: the database undid it.
    fn fail(&mut self, error: StoreError);
}

/// A step with somebody who waits for what comes of it.
pub(super) struct Job<T, F> {
    step: F,
    came: Option<Res<T>>,
    answer: oneshot::Sender<Res<T>>,
}

impl<T, F> Job<T, F> {
    pub(super) fn new(step: F, answer: oneshot::Sender<Res<T>>) -> Self {
        Self { step, came: None, answer }
    }
}

impl<T: Send, F: FnMut(&mut Tx<'_>) -> Res<T> + Send> Task for Job<T, F> {
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        let came = (self.step)(tx);
        let keep = came.is_ok();
        self.came = Some(came);
        keep
    }

    fn answer(self: Box<Self>, instead: Option<StoreError>) {
        let Self { came, answer, .. } = *self;
        let lost = || Err(StoreError::Unavailable("the step was not taken".to_owned()));
        let came = instead.map_or_else(|| came.unwrap_or_else(lost), Err);
        // Whoever asked may have gone; what was written stays written.
        let _ = answer.send(came);
    }

    fn fail(&mut self, error: StoreError) {
        self.came = Some(Err(error));
    }
}

/// The record of a call that nobody waits for. If it cannot be written, that is counted.
pub(super) struct Recording {
    record: Box<InvocationRecord>,
    shared: Arc<Shared>,
    kept: bool,
}

impl Recording {
    pub(super) fn new(record: Box<InvocationRecord>, shared: Arc<Shared>) -> Self {
        Self { record, shared, kept: false }
    }
}

impl Task for Recording {
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.kept = journal::record(tx, &self.record).is_ok();
        self.kept
    }

    fn answer(self: Box<Self>, instead: Option<StoreError>) {
        if instead.is_some() || !self.kept {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn fail(&mut self, _error: StoreError) {
        self.kept = false;
    }
}

/// Says in the trail which key it is signed with, where it does not yet.
struct Introducing(PublicKey);

impl Task for Introducing {
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        known::introduce_first(tx, &self.0).is_ok()
    }

    fn answer(self: Box<Self>, _: Option<StoreError>) {}

    fn fail(&mut self, _: StoreError) {}
}

/// The group before this one.
#[derive(Default)]
struct Last {
    tasks: usize,
    took: Duration,
}

impl Last {
    /// Those who were just answered often ask again at once. Without a moment's patience they would
    /// miss this commit, and two halves of the callers would wait for each other's commits in turn.
    fn gather(&self, queue: &mut mpsc::Receiver<Box<dyn Task>>, group: &mut Vec<Box<dyn Task>>) {
        if self.tasks < 2 {
            return;
        }
        let expected = (group.len() + self.tasks).min(GROUP);
        let until = Instant::now() + (self.took / PATIENCE).min(LONGEST_PATIENCE);
        while group.len() < expected {
            if let Ok(task) = queue.try_recv() {
                group.push(task);
                continue;
            }
            match until.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return,
                // They need the processor to ask, which whoever keeps looking takes from them.
                left if left > 2 * NAP => std::thread::sleep(NAP),
                _ => std::thread::yield_now(),
            }
        }
    }
}

/// What the thread works with.
pub(super) struct Writer {
    pub(super) conn: Connection,
    /// The keys that tenants' keys are sealed with.
    pub(super) ring: Arc<Ring>,
    pub(super) owners: Owners,
    pub(super) alive: Alive,
    pub(super) shared: Arc<Shared>,
    pub(super) signing: Option<Signing>,
    pub(super) log: Log,
    /// What it has open: nothing is written into files that nobody finds any more.
    pub(super) held: Held,
}

impl Writer {
    /// Works until nobody can ask any more.
    pub(super) fn work(mut self, mut queue: mpsc::Receiver<Box<dyn Task>>) {
        let mut group = Vec::with_capacity(GROUP);
        let mut last = Last::default();
        // Whoever was killed has left its log behind; if every life ended before its first
        // checkpoint, the log would grow for ever, and opening it would take longer each time.
        self.checkpoint();
        fail::watch(&mut self.conn);
        while queue.blocking_recv_many(&mut group, GROUP) > 0 {
            last.gather(&mut queue, &mut group);
            let tasks = group.len();
            let began = Instant::now();
            self.write(&mut group);
            last = Last { tasks, took: began.elapsed() };
            if self.log.is_long() {
                self.checkpoint();
            }
        }
        self.close();
    }

    fn write(&mut self, group: &mut Vec<Box<dyn Task>>) {
        match self.attempt(group) {
            Ok(Some((link, now_ms))) => {
                self.shared.has_room();
                // First, so that nothing is begun of which this does not tell.
                self.tell(&link, now_ms);
                self.kept();
                group.drain(..).for_each(|task| task.answer(None));
                self.sign(&link, now_ms, false);
            }
            // Whoever spoilt it keeps its own error.
            Ok(None) if group.len() == 1 => group.drain(..).for_each(|task| task.answer(None)),
            // Each with a commit of its own, then: one task in a million may cost that, whereas
            // savepoints would cost every task a copy of every page that it touches, and do not
            // help when the disk is full, because SQLite then gives up the whole transaction.
            Ok(None) => group.drain(..).for_each(|task| self.write(&mut vec![task])),
            Err(error) => group.drain(..).for_each(|task| task.answer(Some(error.clone()))),
        }
    }

    /// Everything in one transaction. An error is everybody's. Nothing comes of it, and nothing is
    /// written, when one task spoilt it for the others.
    fn attempt(&self, group: &mut [Box<dyn Task>]) -> Res<Option<(Link, i64)>> {
        let lost = self.held.lost().map_err(|error| {
            StoreError::Unavailable(format!("the store's files cannot be looked at: {error}"))
        })?;
        if let Some(lost) = lost {
            self.shared.end_writing(&format!(
                "`{}` was removed or replaced while it was in use, and nothing is written any more: stop every \
                 haft that uses it, put it back, then start again",
                lost.display()
            ));
        }
        if let Some(why) = self.shared.poisoned() {
            return Err(why);
        }
        let blame =
            |error: &rusqlite::Error, during| self.shared.blame(&judge(error, during), error);
        self.execute("BEGIN IMMEDIATE").map_err(|error| blame(&error, During::Work))?;
        match self.tasks(group) {
            Ok(Some(done)) => match self.execute("COMMIT") {
                Ok(()) => {
                    fail_point("after_commit");
                    Ok(Some(done))
                }
                Err(error) => {
                    let said = blame(&error, During::Commit);
                    self.roll_back();
                    Err(said)
                }
            },
            Ok(None) => {
                self.roll_back();
                Ok(None)
            }
            Err(error) => {
                let said = blame(&error, During::Work);
                self.roll_back();
                Err(said)
            }
        }
    }

    fn tasks(&self, group: &mut [Box<dyn Task>]) -> rusqlite::Result<Option<(Link, i64)>> {
        let (mut tx, now, stored_ms) = self.begun()?;
        let (before, last) = (self.conn.total_changes(), tx.link.number);
        for task in group {
            if !self.run(&mut tx, task.as_mut())? {
                return Ok(None);
            }
        }
        self.introduce(&mut tx, last)?;
        if let Some(known) = self.signing.as_ref().and_then(|it| it.pending.as_ref()) {
            known.put(&self.conn)?;
        }
        // Where nothing changed, nobody was told anything new: a commit without a change costs nothing.
        // Where an entry was added, it has the time: a page less that the commit has to write.
        let untold = self.conn.total_changes() != before && tx.link.number == last;
        if untold || (tx.now_ms - stored_ms).abs() >= CLOCK_MS {
            time::put(&self.conn, &now, self.shared.clock.boot())?;
        }
        Ok(Some((tx.link, tx.now_ms)))
    }

    /// Says in the trail which key it is signed with, once, together with something else.
    fn introduce(&self, tx: &mut Tx<'_>, last: u64) -> rusqlite::Result<()> {
        let signing = self.signing.as_ref().filter(|signing| signing.unintroduced);
        let Some(signing) = signing.filter(|_| tx.link.number != last) else { return Ok(()) };
        // Another process may have been faster.
        if !Evidence::of(&self.conn).is_ok_and(|evidence| evidence.wants_introduction()) {
            return Ok(());
        }
        let said = known::introduce(tx, &signing.key.public());
        match (said, tx.failure.take()) {
            (_, Some(error)) => Err(error),
            (Err(why), None) => Err(row::unreadable(0, why)),
            (Ok(()), None) => Ok(()),
        }
    }

    /// What goes with a commit has gone with it.
    fn kept(&mut self) {
        let Some(signing) = &mut self.signing else { return };
        signing.pending = None;
        if signing.unintroduced {
            let evidence = Evidence::of(&self.conn);
            signing.unintroduced = evidence.is_ok_and(|evidence| evidence.wants_introduction());
        }
    }

    /// Returns whether the transaction is as it should be after this task.
    fn run(&self, tx: &mut Tx<'_>, task: &mut dyn Task) -> rusqlite::Result<bool> {
        let before = self.conn.total_changes();
        let keep = task.run(tx);
        let Some(error) = tx.failure.take() else {
            return Ok(keep || self.conn.total_changes() == before);
        };
        let judgement = judge(&error, During::Work);
        if judgement.poisons {
            return Err(error);
        }
        task.fail(self.shared.blame(&judgement, &error));
        Ok(false)
    }

    /// A transaction that knows the time and the end of the trail, whoever has written since; what
    /// there is to know of the time; and the time that was written down.
    fn begun(&self) -> rusqlite::Result<(Tx<'_>, Reading, i64)> {
        let mut clock = self.conn.prepare_cached("SELECT now_ms FROM clock")?;
        let stored_ms = clock.query_row((), |found| found.get(0))?;
        let (link, at_ms) = last_entry(&self.conn)?;
        let now = self.shared.clock.not_before(latest(stored_ms, at_ms));
        let tx = Tx {
            conn: &self.conn,
            seals: Seals::new(&self.conn, &self.ring),
            owners: &self.owners,
            owner: self.alive.owner,
            now_ms: now.times.now,
            trusted_ms: now.times.sure,
            link,
            failure: None,
        };
        Ok((tx, now, stored_ms))
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.conn.prepare_cached(sql)?.execute(()).map(drop)
    }

    fn roll_back(&self) {
        if !self.conn.is_autocommit()
            && let Err(error) = self.conn.execute_batch("ROLLBACK")
        {
            // A transaction that cannot be ended cannot be followed by another.
            self.shared.poison(&format!("a transaction could not be undone ({error}); restart"));
        }
    }

    /// Copies the log into the database. A failure here is one of the disk, as in a commit.
    fn checkpoint(&mut self) {
        self.log.was_copied();
        let done = self.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(()));
        if let Err(error) = done {
            self.shared.blame(&judge(&error, During::Work), &error);
        }
    }

    /// Says beside the database where its trail ends.
    fn tell(&mut self, link: &Link, now_ms: i64) {
        if let Some(signing) = self.signing.as_mut().filter(|_| !link.is_lost()) {
            self.shared.wrote(Beside::Head, signing.tell(link, now_ms));
        }
    }

    fn sign(&mut self, link: &Link, now_ms: i64, now_or_never: bool) {
        let Some(signing) = self.signing.as_ref().filter(|_| !link.is_lost()) else { return };
        if !signing.is_due(link, now_ms, now_or_never) {
            return;
        }
        let evidence = Evidence::of(&self.conn).ok();
        if evidence.as_ref().is_some_and(|it| it.is_of_another(&signing.key.public())) {
            return;
        }
        let (is_first, key) =
            (evidence.as_ref().is_some_and(|it| !it.is_introduced()), signing.key.public());
        let known = evidence.and_then(|evidence| evidence.known);
        let introduced = is_first.then(|| self.introduce_first(key)).flatten();
        let (link, now_ms) = introduced.as_ref().map_or((link, now_ms), |(link, at)| (link, *at));
        if let Some(signing) = &mut self.signing {
            let signed = signing.sign(link, now_ms, known.as_ref());
            self.shared.wrote(Beside::Checkpoint, signed);
        }
    }

    /// Says in the trail which key it is signed with before it is for the first time, so that nobody takes back that it
    /// was. Where that cannot be written, it goes with the next commit.
    fn introduce_first(&mut self, key: PublicKey) -> Option<(Link, i64)> {
        let mut first: [Box<dyn Task>; 1] = [Box::new(Introducing(key))];
        match self.attempt(&mut first) {
            Ok(Some((link, now_ms))) => {
                self.tell(&link, now_ms);
                Some((link, now_ms))
            }
            Ok(None) | Err(_) => {
                if let Some(signing) = &mut self.signing {
                    signing.unintroduced = true;
                }
                None
            }
        }
    }

    fn close(mut self) {
        if self.shared.poisoned().is_some() {
            return;
        }
        if let Ok(link) = last_link(&self.conn) {
            let now_ms = self.shared.clock.now_ms();
            self.sign(&link, now_ms, true);
        }
        self.leave();
    }
}

impl Writer {
    /// Lets the database know what was signed last. The disk is not waited for: the head is in its file.
    fn leave(&self) {
        let Some(known) = self.signing.as_ref().and_then(|it| it.pending.as_ref()) else { return };
        let left = self.execute("PRAGMA synchronous = NORMAL").and_then(|()| known.put(&self.conn));
        if let Err(error) = left {
            self.shared.wrote(Beside::Checkpoint, Err(std::io::Error::other(error)));
        }
    }
}

/// The latest time that anybody was told: what was written down, or what the last entry says since then. An
/// entry from before a clock was set back says nothing.
pub(super) fn latest(stored_ms: i64, at_ms: i64) -> i64 {
    let since = at_ms.saturating_sub(stored_ms);
    if (0..CLOCK_MS).contains(&since) { at_ms } else { stored_ms }
}

pub(super) fn last_link(conn: &Connection) -> rusqlite::Result<Link> {
    last_entry(conn).map(|(link, _)| link)
}

/// The end of the trail, and its time.
pub(super) fn last_entry(conn: &Connection) -> rusqlite::Result<(Link, i64)> {
    let sql = "SELECT number, hash, at_ms FROM audit ORDER BY number DESC LIMIT 1";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(())?;
    match rows.next()? {
        Some(found) => {
            let number = row::unsigned(found, 0)?;
            // That somebody has looked must be written after it, and follows from what the check takes it for.
            let link =
                row::digest(found, 1).map_or(Link::lost(number), |hash| Link { number, hash });
            Ok((link, found.get(2).unwrap_or_default()))
        }
        None => Ok((Link::default(), 0)),
    }
}
