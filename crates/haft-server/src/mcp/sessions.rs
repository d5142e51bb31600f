//! Whose session is whose. The SDK keeps sessions of the older era; who may use one, and how many
//! there are, is decided here.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::Seat;

/// Sessions and their seats.
#[derive(Default)]
pub(crate) struct Owners {
    seats: Mutex<HashMap<String, Seat>>,
}

impl Owners {
    fn seats(&self) -> MutexGuard<'_, HashMap<String, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session is this seat's. One that is somebody else's is as good as none.
    pub(super) fn is_of(&self, session: &str, seat: &Seat) -> bool {
        self.seats().get(session).is_some_and(|owner| owner.is_same(seat))
    }

    pub(super) fn begin(&self, session: &str, seat: &Seat) {
        self.seats().insert(session.to_owned(), seat.clone());
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
        let own = seats.values().filter(|one| one.caller.tenant == seat.caller.tenant).count();
        live.len() < most && own < (most / 2).max(1)
    }
}
