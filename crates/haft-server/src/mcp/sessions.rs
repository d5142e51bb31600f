//! Whose session is whose, and when one has ended. The SDK keeps sessions of the older era; who may
//! use one, how many there are, and for how long, is decided here.
//!
//! A session takes some 110 kB, most of it room in the SDK's channels. So those that were begun and
//! never used are few: whoever only ever says hello loses the oldest.
//!
//! The SDK's own idle time knows only messages, and would end a session in the midst of its call.
//! Here a session with something under way is in use, and its idle time runs from the end of the last.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::Instant;

use super::Seat;
use super::Settings;
use super::ids::Ids;
use crate::problem::Problem;

/// So many sessions of one seat may be begun and not used yet.
const UNUSED: usize = 32;

/// So long the SDK may take to end a session; what it holds is let go either way.
const CLOSING: Duration = Duration::from_secs(1);

/// Sessions and their seats.
#[derive(Clone, Default)]
pub(crate) struct Owners {
    seats: Arc<Mutex<HashMap<String, Owned>>>,
}

struct Owned {
    seat: Seat,
    begun: Instant,
    /// Whether anything came after the first message.
    used: bool,
    /// How many requests and calls are under way.
    under_way: usize,
    /// When the last of them ended.
    quiet: Instant,
    /// The ids that requests under way have.
    ids: Ids,
}

/// A session in use, until this is dropped.
pub(super) struct InUse {
    of: Owners,
    session: String,
    /// The ids that the session's requests have.
    pub(super) ids: Ids,
}

impl Drop for InUse {
    fn drop(&mut self) {
        if let Some(owned) = self.of.seats().get_mut(&self.session) {
            owned.under_way = owned.under_way.saturating_sub(1);
            owned.quiet = Instant::now();
        }
    }
}

impl Owners {
    fn seats(&self) -> MutexGuard<'_, HashMap<String, Owned>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session for the seat that it belongs to, which uses it from now on. One that is somebody
    /// else's is as good as none.
    pub(super) fn enter(&self, session: &str, seat: &Seat) -> Option<InUse> {
        let mut seats = self.seats();
        let owned = seats.get_mut(session).filter(|owned| owned.seat.is_same(seat))?;
        owned.used = true;
        owned.under_way += 1;
        let (session, ids) = (session.to_owned(), owned.ids.clone());
        Some(InUse { of: self.clone(), session, ids })
    }

    /// Takes a session down, and gives one that has to go for it, where there is one.
    pub(super) fn begin(&self, session: &str, seat: &Seat) -> Option<String> {
        let mut seats = self.seats();
        let now = Instant::now();
        let (seat_of, ids) = (seat.clone(), Ids::default());
        let owned = Owned { seat: seat_of, begun: now, used: false, under_way: 0, quiet: now, ids };
        seats.insert(session.to_owned(), owned);
        let unused = seats.iter().filter(|(_, one)| !one.used && one.seat.is_same(seat));
        let mut unused: Vec<_> = unused.map(|(id, one)| (one.begun, id.clone())).collect();
        if unused.len() <= UNUSED {
            return None;
        }
        unused.sort();
        let (_, oldest) = unused.into_iter().next()?;
        seats.remove(&oldest);
        Some(oldest)
    }

    pub(super) fn end(&self, session: &str) {
        self.seats().remove(session);
    }

    /// Whether there is room for another session of this seat's tenant; where there is none, how long until
    /// one may end by itself. Those that have ended are forgotten first.
    pub(super) async fn room(
        &self,
        manager: &LocalSessionManager,
        seat: &Seat,
        settings: &Settings,
    ) -> Result<(), Problem> {
        let live = manager.sessions.read().await;
        let mut seats = self.seats();
        seats.retain(|session, _| live.contains_key(session.as_str()));
        let is_own = |one: &&Owned| one.seat.caller.tenant == seat.caller.tenant;
        let (most, idle) = (settings.sessions, settings.idle);
        let share = (most / 2).max(1);
        if seats.values().filter(is_own).count() >= share {
            let wait = wait(seats.values().filter(is_own), idle);
            return Err(Problem::too_many_sessions(Some(share), wait));
        }
        match live.len() < most {
            true => Ok(()),
            false => Err(Problem::too_many_sessions(None, wait(seats.values(), idle))),
        }
    }

    /// Forgets those that have been quiet for so long, and says which, and when the next may be due.
    fn expire(&self, idle: Duration) -> (Vec<String>, Instant) {
        let now = Instant::now();
        let mut due = Vec::new();
        // Whatever begins or ends later than now is due later than this.
        let mut next = after(now, idle);
        self.seats().retain(|session, one| {
            let end = after(one.quiet, idle);
            let stays = one.under_way > 0 || end > now;
            if !stays {
                due.push(session.clone());
            } else if one.under_way == 0 {
                next = next.min(end);
            }
            stays
        });
        (due, next)
    }
}

/// Seconds until the first of some sessions ends by itself, if nothing comes in it. One in use may end
/// whenever.
fn wait<'a>(all: impl Iterator<Item = &'a Owned>, idle: Duration) -> u64 {
    let now = Instant::now();
    let left = |one: &Owned| after(one.quiet, idle).saturating_duration_since(now);
    let first = all.filter(|one| one.under_way == 0).map(left).min().unwrap_or(idle);
    first.as_secs().saturating_add(1)
}

/// A time that is never reached stands for one that cannot be said.
fn after(start: Instant, idle: Duration) -> Instant {
    const NEVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    start.checked_add(idle).unwrap_or_else(|| start + NEVER)
}

/// Ends sessions that have been quiet for too long, for as long as it is polled.
pub(super) async fn expire(owners: Owners, manager: Arc<LocalSessionManager>, idle: Duration) {
    loop {
        let (due, next) = owners.expire(idle);
        for session in due {
            // It may have ended by itself.
            let id = session.into();
            let _ = tokio::time::timeout(CLOSING, manager.close_session(&id)).await;
        }
        tokio::time::sleep_until(next).await;
    }
}

#[cfg(test)]
mod tests {
    use haft_core::call::Caller;

    use super::*;

    const IDLE: Duration = Duration::from_secs(60);

    fn seat() -> Seat {
        Seat::local(Caller::agent("acme", "helper"))
    }

    /// Seconds until each step, what happens then, and whether the session is there afterwards.
    async fn check(steps: &[(u64, &str, bool)]) {
        let (owners, seat) = (Owners::default(), seat());
        owners.begin("one", &seat);
        let mut held = Vec::new();
        for (wait, step, expected) in steps {
            tokio::time::advance(Duration::from_secs(*wait)).await;
            match *step {
                "enter" => held.extend(owners.enter("one", &seat)),
                "leave" => drop(held.pop()),
                _ => {}
            }
            owners.expire(IDLE);
            let there = owners.seats().contains_key("one");
            assert_eq!(there, *expected, "{step} after {wait} s, of {steps:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_ends_when_nothing_was_under_way_for_its_idle_time() {
        check(&[(59, "", true), (1, "", false)]).await;
        check(&[(59, "enter", true), (600, "", true), (0, "leave", true), (60, "", false)]).await;
        check(&[(30, "enter", true), (0, "leave", true), (59, "", true), (1, "", false)]).await;
        // Of two, the one that ends later counts.
        let two = [(0, "enter", true), (0, "enter", true), (90, "leave", true), (90, "", true)];
        check(&two).await;
        let two = [(0, "enter", true), (9, "enter", true), (90, "leave", true), (9, "leave", true)];
        check(&[&two[..], &[(59, "", true), (1, "", false)]].concat()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_look_is_when_the_next_may_be_due() {
        let (owners, seat, start) = (Owners::default(), seat(), Instant::now());
        let next = |owners: &Owners| (owners.expire(IDLE).1 - start).as_secs();
        assert_eq!(next(&owners), 60, "one that begins now");
        owners.begin("one", &seat);
        tokio::time::advance(Duration::from_secs(20)).await;
        owners.begin("two", &seat);
        assert_eq!(next(&owners), 60, "the first of both");
        let used = owners.enter("one", &seat);
        assert_eq!(next(&owners), 80, "the second: the first is in use");
        drop(used);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(next(&owners), 80);
    }
}
