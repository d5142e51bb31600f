//! What a session waits for, and for how long at most.

use std::sync::Arc;
use std::time::Duration;

use haft_core::outcome::{Applied, Intent, IntentStatus};
use haft_core::port::StoreError;
use haft_core::session::{Phase, Session};
use serde_json::json;

use super::{Inner, Runtime};
use crate::session;

/// A store that cannot be read or written is asked again after so long.
const AGAIN: Duration = Duration::from_secs(1);

impl Runtime {
    /// A session as it is now: what has waited long enough is carried out.
    #[must_use]
    pub fn as_it_is(&self, mut session: Session) -> Session {
        session::release(&mut session, None, self.inner.store.now_ms());
        session
    }
}

impl Inner {
    /// Carries out what is deferred in a session when it has waited long enough, whether or not
    /// anybody asks for the session until then. Ends with the runtime: whoever reads the session
    /// afterwards finds it as it is then.
    pub(crate) fn release_in_time(self: &Arc<Self>, tenant: &str, id: &str) {
        let (inner, tenant, id) = (Arc::downgrade(self), tenant.to_owned(), id.to_owned());
        tokio::spawn(async move {
            loop {
                let Some(inner) = inner.upgrade() else { return };
                let wait = match inner.release_due(&tenant, &id).await {
                    Ok(Some(wait)) => wait,
                    Ok(None) | Err(StoreError::Missing) => return,
                    Err(_) => AGAIN,
                };
                drop(inner);
                tokio::time::sleep(wait).await;
            }
        });
    }

    /// Carries out what is due, and says how long the rest waits; nothing where there is none.
    async fn release_due(&self, tenant: &str, id: &str) -> Result<Option<Duration>, StoreError> {
        let mut session = self.store.session(tenant, id).await?;
        let now = self.store.now_ms();
        let released = session::release(&mut session, None, now);
        if !released.is_empty() {
            session = match self.store.save(session).await {
                Ok(saved) => saved,
                // Somebody else has written in between: it is looked at anew, at once.
                Err(StoreError::Stale) => return Ok(Some(Duration::ZERO)),
                Err(error) => return Err(error),
            };
            self.tell_released(&session, released);
        }
        let until = session.deferred.iter().map(|waiting| waiting.until_ms).min();
        let wait = |until: i64| u64::try_from(until.saturating_sub(now)).unwrap_or(0).max(1);
        Ok(until.map(|until| Duration::from_millis(wait(until))))
    }

    fn tell_released(&self, session: &Session, released: Vec<Intent>) {
        if session.phase != Phase::Ended {
            return;
        }
        let done = |intent| Applied { intent, status: IntentStatus::Applied, reason: None };
        let done: Vec<Applied> = released.into_iter().map(done).collect();
        self.session_changed_by(session, "ended", Some(json!(done)));
    }
}
