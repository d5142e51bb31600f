//! Time that never goes back, whatever the machine's clock does.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// Where a store takes its time from.
pub trait Clock: Send + Sync {
    /// The machine's clock, in milliseconds of the Unix epoch. May jump.
    fn wall_ms(&self) -> i64;

    /// Milliseconds since some moment. Never jumps.
    fn ticks_ms(&self) -> i64;
}

/// The machine's clocks.
pub struct System(Instant);

impl Default for System {
    fn default() -> Self {
        Self(Instant::now())
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

/// The store's own time.
pub(crate) struct Steady {
    clock: Arc<dyn Clock>,
    last: Mutex<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    now: i64,
    ticks: i64,
}

impl Steady {
    /// Time that starts no earlier than this.
    pub(crate) fn new(clock: Arc<dyn Clock>, not_before: i64) -> Self {
        let ticks = clock.ticks_ms();
        let now = clock.wall_ms().max(not_before);
        Self { clock, last: Mutex::new(Reading { now, ticks }) }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        let (wall, ticks) = (self.clock.wall_ms(), self.clock.ticks_ms());
        let mut last = self.last.lock();
        if wall >= last.now {
            last.now = wall;
        } else if last.now - wall > CORRECTION_MS {
            last.now += (ticks - last.ticks).max(0);
        }
        last.ticks = ticks;
        last.now
    }

    /// How far it is ahead of the machine's clock.
    pub(crate) fn lead_ms(&self) -> i64 {
        self.now_ms().saturating_sub(self.clock.wall_ms())
    }

    /// Takes note of a time that somebody else has seen already.
    pub(crate) fn not_before(&self, ms: i64) -> i64 {
        let now = self.now_ms();
        let mut last = self.last.lock();
        last.now = last.now.max(ms).max(now);
        last.now
    }
}

impl fmt::Debug for Steady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steady").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_a_day_does_not_take_the_time_back_and_time_goes_on() {
        let clock = Manual::at(1_000_000_000);
        let steady = Steady::new(clock.clone(), 0);
        assert_eq!(steady.now_ms(), 1_000_000_000);
        clock.set_wall(1_000_000_000 - 86_400_000);
        assert_eq!(steady.now_ms(), 1_000_000_000);
        clock.advance(500);
        assert_eq!(steady.now_ms(), 1_000_000_500, "leases and tokens still run out");
    }

    #[test]
    fn a_small_correction_makes_time_stand_still_until_it_is_caught_up() {
        let clock = Manual::at(10_000);
        let steady = Steady::new(clock.clone(), 0);
        clock.set_wall(9_000);
        clock.advance(400);
        assert_eq!(steady.now_ms(), 10_000);
        clock.advance(700);
        assert_eq!(steady.now_ms(), 10_100);
    }

    #[test]
    fn time_starts_where_it_was_left() {
        let clock = Manual::at(5);
        let steady = Steady::new(clock, 70_000);
        assert_eq!(steady.now_ms(), 70_000);
        assert_eq!(steady.not_before(80_000), 80_000);
        assert_eq!(steady.not_before(1), 80_000);
    }
}
