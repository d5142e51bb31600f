//! The store's own time: the machine's clock, as far as it can be believed.
//!
//! Leases, approvals and keys run out by it, and what is old is forgotten by it. A clock that jumps
//! for a moment must not do any of that, and one that was wrong for long must not stay wrong here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// Where a store takes its time from.
pub trait Clock: Send + Sync {
    /// The machine's clock, in milliseconds of the Unix epoch. May jump.
    fn wall_ms(&self) -> i64;

    /// Milliseconds since some moment. Never jumps, and goes on while the machine sleeps, where it can
    /// tell.
    fn ticks_ms(&self) -> i64;
}

/// The machine's clocks.
pub struct System(ticks::Start);

impl Default for System {
    fn default() -> Self {
        Self(ticks::Start::now())
    }
}

impl Clock for System {
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn ticks_ms(&self) -> i64 {
        i64::try_from(self.0.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

/// `Instant` stands still on Linux while the machine sleeps; after that the clock would seem to have
/// jumped.
#[cfg(target_os = "linux")]
mod ticks {
    use std::time::{Duration, Instant};

    use nix::time::ClockId;

    pub(super) struct Start {
        at: Option<Duration>,
        otherwise: Instant,
    }

    fn since_boot() -> Option<Duration> {
        ClockId::CLOCK_BOOTTIME.now().ok().map(Duration::from)
    }

    impl Start {
        pub(super) fn now() -> Self {
            Self { at: since_boot(), otherwise: Instant::now() }
        }

        pub(super) fn elapsed(&self) -> Duration {
            match (self.at, since_boot()) {
                (Some(at), Some(now)) => now.saturating_sub(at),
                _ => self.otherwise.elapsed(),
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod ticks {
    pub(super) use std::time::Instant as Start;
}

/// A clock that a test moves.
#[derive(Debug)]
pub struct Manual {
    wall: AtomicI64,
    ticks: AtomicI64,
}

impl Manual {
    /// A clock that stands at this time.
    #[must_use]
    pub fn at(wall_ms: i64) -> Arc<Self> {
        Arc::new(Self { wall: AtomicI64::new(wall_ms), ticks: AtomicI64::new(0) })
    }

    /// Lets time pass.
    pub fn advance(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.ticks.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the machine's clock, forwards or back, while no time passes.
    pub fn set_wall(&self, wall_ms: i64) {
        self.wall.store(wall_ms, Ordering::SeqCst);
    }
}

impl Clock for Manual {
    fn wall_ms(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn ticks_ms(&self) -> i64 {
        self.ticks.load(Ordering::SeqCst)
    }
}

/// A clock set back by less than this is being corrected: time stands still until it has caught up.
/// Set back by more it was moved, and time goes on by the ticks.
const CORRECTION_MS: i64 = 2_000;

/// A clock that is further off than this has jumped. Time goes on by the ticks until it is believed.
pub(crate) const JUMP_MS: i64 = 2 * 60 * 1000;

/// A clock that has jumped is believed once it has shown its new time for so long.
const BELIEVED_MS: i64 = 10 * 60 * 1000;

/// Between two processes there are no ticks. For so long, nothing may have run here.
const RESTART_MS: i64 = 5 * 60 * 1000;

/// After a jump nothing is forgotten by the new time until it has gone well for so long.
const TRUSTED_MS: i64 = 60 * 60 * 1000;

/// After a jump the clock may take the time back behind it for so long. Later, nothing does.
const FINAL_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What is known of the time, and stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// What everybody is told.
    pub(crate) now: i64,
    /// Since when the clock has not jumped.
    pub(crate) since: i64,
    /// Certainly not later than it really is, as far as anything that is stored goes: what is to be
    /// forgotten by then may be.
    pub(crate) sure: i64,
    /// Behind this, time never goes back: what had expired then stays so.
    pub(crate) floor: i64,
}

impl Times {
    /// A time that nobody doubts.
    #[cfg(test)]
    pub(crate) fn certain(now: i64) -> Self {
        Self { now, since: now, sure: now, floor: now }
    }

    /// The time that things are forgotten by.
    pub(crate) fn trusted(&self) -> i64 {
        if self.now.saturating_sub(self.since) >= TRUSTED_MS { self.now } else { self.sure }
    }

    /// A store that is opened: what was stored, and what the clock says now. A machine that was off
    /// has the right time at once, and nothing is forgotten by it before it is trusted.
    fn resumed(self, wall: i64) -> Self {
        if self.now == 0 {
            // Nothing is stored, so nothing is older than it seems; and whether the clock is right,
            // nobody knows.
            return Self { now: wall, since: wall, sure: wall, floor: 0 };
        }
        if wall < self.now {
            return self;
        }
        // The clock has not gone back since: what it said then has held until now.
        let confirmed = self.confirmed_at(wall);
        let off = wall.saturating_sub(self.now);
        match off <= RESTART_MS {
            true => confirmed.ticked(off, wall),
            false => Self { now: wall, since: wall, ..confirmed },
        }
    }

    /// The same where somebody was told a later time than was written down.
    pub(crate) fn told_until(self, now: i64) -> Self {
        self.ticked(now.saturating_sub(self.now), now)
    }

    /// So much time has passed, and it is this late now.
    fn ticked(self, elapsed: i64, now: i64) -> Self {
        let later = |ms: i64| ms.saturating_add(elapsed).min(now);
        Self { now, sure: later(self.sure), floor: later(self.floor), ..self }.confirmed_at(now)
    }

    /// Until this moment the clock did not jump.
    fn confirmed_at(self, moment: i64) -> Self {
        let held = moment.saturating_sub(self.since);
        Self {
            sure: if held >= TRUSTED_MS { self.now } else { self.sure },
            floor: if held >= FINAL_MS { self.now } else { self.floor },
            ..self
        }
    }

    /// The clock has jumped, and is believed.
    fn moved_to(self, wall: i64) -> Self {
        Self { now: wall, since: wall, sure: self.sure.min(wall), floor: self.floor.min(wall) }
    }
}

/// The store's own time.
pub(crate) struct Steady {
    clock: Arc<dyn Clock>,
    last: Mutex<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    times: Times,
    ticks: i64,
    /// The clock shows another time than it should.
    jump: Option<Jump>,
}

#[derive(Clone, Copy)]
struct Jump {
    /// The clock, less the ticks.
    offset: i64,
    /// Since when it shows this, in ticks.
    since: i64,
    /// By how much it is off.
    off: i64,
}

impl Steady {
    /// Time that goes on from what was stored.
    pub(crate) fn new(clock: Arc<dyn Clock>, stored: Times) -> Self {
        let (wall, ticks) = (clock.wall_ms(), clock.ticks_ms());
        let last = Reading { times: stored.resumed(wall), ticks, jump: None };
        Self { clock, last: Mutex::new(last) }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.times().now
    }

    /// The machine's clock, believed or not.
    pub(crate) fn wall_ms(&self) -> i64 {
        self.clock.wall_ms()
    }

    /// How far it is ahead of the machine's clock.
    pub(crate) fn lead_ms(&self) -> i64 {
        self.now_ms().saturating_sub(self.wall_ms())
    }

    pub(crate) fn times(&self) -> Times {
        let mut last = self.last.lock();
        *last = last.next(self.clock.wall_ms(), self.clock.ticks_ms());
        last.times
    }

    /// What may be forgotten of what is older than this: as much less as the time is in doubt.
    pub(crate) fn before(&self, ms: i64) -> i64 {
        let times = self.times();
        ms.saturating_sub(times.now.saturating_sub(times.trusted()))
    }

    /// By how much the machine's clock is off, where it has jumped and is not believed.
    pub(crate) fn off_ms(&self) -> Option<i64> {
        self.times();
        self.last.lock().jump.map(|jump| jump.off)
    }

    /// Takes note of a time that another process has told. One that believes another clock than we do
    /// is not followed: it sees the same clock, and we come to our own conclusion.
    pub(crate) fn not_before(&self, ms: i64) -> Times {
        let times = self.times();
        if ms <= times.now || ms - times.now > JUMP_MS {
            return times;
        }
        let mut last = self.last.lock();
        last.times.now = last.times.now.max(ms);
        last.times
    }
}

impl Reading {
    fn next(self, wall: i64, ticks: i64) -> Self {
        let Times { now, floor, .. } = self.times;
        let elapsed = (ticks - self.ticks).max(0);
        let expected = now.saturating_add(elapsed);
        let off = wall.saturating_sub(expected);
        if (-CORRECTION_MS..=JUMP_MS).contains(&off) {
            return Self { times: self.times.ticked(elapsed, now.max(wall)), ticks, jump: None };
        }
        let times = self.times.ticked(elapsed, expected);
        // Moved back a little: so much ahead we stay.
        if (-JUMP_MS..0).contains(&off) {
            return Self { times, ticks, jump: None };
        }
        let offset = wall.saturating_sub(ticks);
        let same = self.jump.filter(|jump| jump.offset.abs_diff(offset) <= JUMP_MS.unsigned_abs());
        let jump = Jump { off, ..same.unwrap_or(Jump { offset, since: ticks, off }) };
        let believed = ticks - jump.since >= BELIEVED_MS && wall >= floor;
        match believed {
            true => Self { times: times.moved_to(wall), ticks, jump: None },
            false => Self { times, ticks, jump: Some(jump) },
        }
    }
}

impl fmt::Debug for Steady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steady").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
