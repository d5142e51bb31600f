//! The store's own time: the machine's clock, as far as it can be believed.
//!
//! Leases, approvals and keys run out by it, and what is old is forgotten by it. A clock that jumps
//! for a moment must not do any of that, and one that was wrong for long must not stay wrong here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// Where a store takes its time from.
pub trait Clock: Send + Sync {
    /// The machine's clock, in milliseconds of the Unix epoch. May jump.
    fn wall_ms(&self) -> i64;

    /// Milliseconds since some moment. Never jumps, and goes on while the machine sleeps, where it can
    /// tell.
    fn ticks_ms(&self) -> i64;

    /// Which moment that is, where processes that come later will count from the same one.
    fn boot(&self) -> Option<&str> {
        None
    }
}

/// The machine's clocks.
pub struct System {
    start: Instant,
    /// Where ticks are counted since the machine was started.
    boot: Option<String>,
}

impl Default for System {
    fn default() -> Self {
        let boot = boot::named().filter(|_| boot::elapsed().is_some());
        Self { start: Instant::now(), boot }
    }
}

impl Clock for System {
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn ticks_ms(&self) -> i64 {
        let since_boot = self.boot.as_ref().and_then(|_| boot::elapsed());
        let elapsed = since_boot.unwrap_or_else(|| self.start.elapsed());
        i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
    }

    fn boot(&self) -> Option<&str> {
        self.boot.as_deref()
    }
}

/// The time since the machine was started. (`Instant` stands still on Linux while the machine sleeps;
/// after that the clock would seem to have jumped.)
#[cfg(target_os = "linux")]
mod boot {
    use std::time::Duration;

    use nix::time::ClockId;

    /// A name that no other start has. A container may count from a moment of its own.
    pub(super) fn named() -> Option<String> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        // Numbers of such containers are used again; what they count from is not.
        let counted = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        let offsets: Vec<&str> = offsets.split_whitespace().collect();
        Some(format!("{} {} {}", boot.trim(), counted.display(), offsets.join(" ")))
    }

    pub(super) fn elapsed() -> Option<Duration> {
        ClockId::CLOCK_BOOTTIME.now().ok().map(Duration::from)
    }
}

#[cfg(not(target_os = "linux"))]
mod boot {
    use std::time::Duration;

    pub(super) fn named() -> Option<String> {
        None
    }

    pub(super) fn elapsed() -> Option<Duration> {
        None
    }
}

/// A clock that a test moves.
#[derive(Debug)]
pub struct Manual {
    wall: AtomicI64,
    ticks: AtomicI64,
    boot: Option<&'static str>,
}

impl Manual {
    /// A clock that stands at this time.
    #[must_use]
    pub fn at(wall_ms: i64) -> Arc<Self> {
        Self::of_boot(wall_ms, None)
    }

    /// The same, on a machine whose start has this name.
    #[must_use]
    pub fn of_boot(wall_ms: i64, boot: Option<&'static str>) -> Arc<Self> {
        Arc::new(Self { wall: AtomicI64::new(wall_ms), ticks: AtomicI64::new(0), boot })
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

    fn boot(&self) -> Option<&str> {
        self.boot
    }
}

/// A clock set back by less than this is being corrected: time stands still until it has caught up.
/// Set back by more it was moved, and time goes on by the ticks.
const CORRECTION_MS: i64 = 2_000;

/// A clock that is further off than this has jumped. Time goes on by the ticks until it is believed.
pub(crate) const JUMP_MS: i64 = 2 * 60 * 1000;

/// A clock that has jumped is believed once it has shown its new time for so long.
const BELIEVED_MS: i64 = 10 * 60 * 1000;

/// Between two starts of a machine there are no ticks. For so long, nothing may have run here.
const RESTART_MS: i64 = 5 * 60 * 1000;

/// After a jump nothing is forgotten by the new time until it has gone well for so many ticks.
const TRUSTED_MS: i64 = 60 * 60 * 1000;

/// After a jump the clock may take the time back behind it for so long. Later, nothing does.
const FINAL_MS: i64 = 7 * 24 * 60 * 60 * 1000;

/// What is known of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// What everybody is told.
    pub(crate) now: i64,
    /// For how many ticks the clock has not jumped. What lies between two starts of a machine does not
    /// count: a clock may have been wrong in another way each time.
    pub(crate) held: i64,
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
        Self { now, held: 0, sure: now, floor: now }
    }

    /// A machine that was off has the right time at once, and nothing is forgotten by it before it is
    /// trusted.
    fn resumed(self, wall: i64) -> Self {
        if self.now == 0 {
            // Nothing is stored, so nothing is older than it seems; and whether the clock is right,
            // nobody knows.
            return Self { now: wall, held: 0, sure: wall, floor: 0 };
        }
        let off = wall.saturating_sub(self.now);
        match off {
            ..0 => self,
            0..=RESTART_MS => self.ticked(off, wall),
            _ => Self { now: wall, held: 0, ..self },
        }
    }

    /// So much time has passed, and it is this late now.
    fn ticked(self, elapsed: i64, now: i64) -> Self {
        let held = self.held.saturating_add(elapsed);
        let later = |ms: i64| ms.saturating_add(elapsed).min(now);
        let after = |least, ms| if held >= least { now } else { later(ms) };
        Self { now, held, sure: after(TRUSTED_MS, self.sure), floor: after(FINAL_MS, self.floor) }
    }

    /// The clock has jumped, and is believed.
    fn moved_to(self, wall: i64) -> Self {
        Self { now: wall, held: 0, sure: self.sure.min(wall), floor: self.floor.min(wall) }
    }
}

/// The store's own time.
pub(crate) struct Steady {
    clock: Arc<dyn Clock>,
    last: Mutex<Reading>,
}

/// When somebody looked at the clock, and stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) times: Times,
    pub(crate) ticks: i64,
    /// The clock shows another time than it should.
    pub(crate) jump: Option<Jump>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The clock, less the ticks.
    pub(crate) offset: i64,
    /// Since when it shows this, in ticks.
    pub(crate) since: i64,
    /// By how much it is off.
    pub(crate) off: i64,
}

/// What another process has left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    pub(crate) reading: Reading,
    /// What its ticks were counted from.
    pub(crate) boot: Option<String>,
    /// Somebody was told so late a time afterwards.
    pub(crate) told: i64,
}

impl Stored {
    /// The time now. Ticks that were counted from the same moment tell how long it has been; else there is
    /// nothing but the clock.
    fn resumed(self, clock: &dyn Clock) -> Reading {
        let (wall, ticks) = (clock.wall_ms(), clock.ticks_ms());
        let one_boot = self.boot.as_deref().is_some_and(|boot| clock.boot() == Some(boot));
        if one_boot && ticks >= self.reading.ticks {
            return self.reading.told_until(self.told, ticks).next(wall, ticks);
        }
        let times = self.reading.told_until(self.told, i64::MAX).times.resumed(wall);
        Reading { times, ticks, jump: None }
    }
}

impl Steady {
    /// Time that goes on from what was stored.
    pub(crate) fn new(clock: Arc<dyn Clock>, stored: Stored) -> Self {
        let last = Mutex::new(stored.resumed(&*clock));
        Self { clock, last }
    }

    /// What its ticks are counted from.
    pub(crate) fn boot(&self) -> Option<&str> {
        self.clock.boot()
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
        self.reading().times
    }

    fn reading(&self) -> Reading {
        let mut last = self.last.lock();
        *last = last.next(self.clock.wall_ms(), self.clock.ticks_ms());
        *last
    }

    /// What may be forgotten of what is older than this: as much less as the time is in doubt.
    pub(crate) fn before(&self, ms: i64) -> i64 {
        let times = self.times();
        ms.saturating_sub(times.now.saturating_sub(times.sure))
    }

    /// By how much the machine's clock is off, where it has jumped and is not believed.
    pub(crate) fn off_ms(&self) -> Option<i64> {
        self.reading().jump.map(|jump| jump.off)
    }

    /// Takes note of a time that another process has told. One that believes another clock than we do
    /// is not followed: it sees the same clock, and we come to our own conclusion.
    pub(crate) fn not_before(&self, ms: i64) -> Reading {
        let reading = self.reading();
        if ms <= reading.times.now || ms - reading.times.now > JUMP_MS {
            return reading;
        }
        let mut last = self.last.lock();
        last.times.now = last.times.now.max(ms);
        *last
    }
}

impl Reading {
    /// The same where somebody was told a later time than was written down, at these ticks or before.
    fn told_until(self, now: i64, ticks: i64) -> Self {
        let later = now.saturating_sub(self.times.now).max(0);
        let ticks = self.ticks.saturating_add(later).min(ticks);
        Self {
            times: self.times.ticked(later, self.times.now.saturating_add(later)),
            ticks,
            ..self
        }
    }

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
