//! Whose session is whose. The SDK keeps sessions of the older era; who may use one, and how many
//! there are, is decided here.
//!
//! A session takes some 110 kB, most of it room in the SDK's channels. So those that were begun and
//! never used are few: whoever only ever says hello loses the oldest.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::Seat;

/// So many sessions of one seat may be begun and not used yet.
const UNUSED: usize = 32;

/// Sessions and their seats.
#[derive(Default)]
pub(crate) struct Owners {
    seats: Mutex<HashMap<String, Owned>>,
}

struct Owned {
    seat: Seat,
    begun: Instant,
    /// Whether anything came after the first message.
    used: bool,
}

impl Owners {
    fn seats(&self) -> MutexGuard<'_, HashMap<String, Owned>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session is this seat's, which uses it now. One that is somebody else's is as good
    /// as none.
    pub(super) fn is_of(&self, session: &str, seat: &Seat) -> bool {
        let mut seats = self.seats();
        let own = seats.get_mut(session).filter(|owned| owned.seat.is_same(seat));
        own.map(|owned| owned.used = true).is_some()
    }

    /// Takes a session down, and gives one that has to go for it, where there is one.
    pub(super) fn begin(&self, session: &str, seat: &Seat) -> Option<String> {
        let mut seats = self.seats();
        let owned = Owned { seat: seat.clone(), begun: Instant::now(), used: false };
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

    /// Whether there is room for another session of this seat's tenant. Those that have ended by
    /// themselves are forgotten first.
    pub(super) async fn has_room(
        &self,
        manager: &LocalSessionManager,
        seat: &Seat,
        most: usize,
    ) -> bool {
        let live = manager.sessions.read().await;
        let mut seats = self.seats();
        seats.retain(|session, _| live.contains_key(session.as_str()));
        let own = seats.values().filter(|one| one.seat.caller.tenant == seat.caller.tenant).count();
        live.len() < most && own < (most / 2).max(1)
    }
}
