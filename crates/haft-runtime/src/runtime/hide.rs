//! Secrets that become known while calls are made: from then on they are taken out of everything.

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};

use haft_core::port::{Hidden, Hide, Owner};
use haft_core::secret::SecretText;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{Inner, Runtime};
use crate::redact::{Scrubber, Secret};

/// Those who add to the secrets, one at a time: each time all of them are prepared anew.
pub(crate) struct Adding {
    turn: Mutex<()>,
    since: Instant,
}

impl Default for Adding {
    fn default() -> Self {
        Self { turn: Mutex::default(), since: Instant::now() }
    }
}

impl Adding {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Inner {
    fn hide(&self, owner: &Owner, label: &str, secret: &SecretText) -> Result<Hidden, String> {
        if let Some(hidden) = self.hidden(secret) {
            return Ok(hidden);
        }
        let made = Secret::of(owner.clone(), label, secret.expose());
        let (new, hidden) = made.map_err(|why| why.to_string())?;
        new.use_at(self.adding.now_ms());
        let _turn = self.adding.turn.lock();
        // Somebody else may have been first.
        if let Some(hidden) = self.hidden(secret) {
            return Ok(hidden);
        }
        self.add(&self.known_secrets(), vec![Arc::new(new)])?;
        Ok(hidden)
    }

    /// A secret that is known already, so that it stays known.
    fn hidden(&self, secret: &SecretText) -> Option<Hidden> {
        loop {
            let known = self.secrets();
            let hidden = known.find(secret.expose())?.use_at(self.adding.now_ms());
            // Either it is seen here that the set was exchanged, or whoever does that sees that the
            // secret is in use.
            fence(Ordering::SeqCst);
            if Arc::ptr_eq(&known, &self.secrets()) {
                return Some(hidden);
            }
        }
    }

    /// For whoever has the turn. Somebody may begin to use a secret while it is being dropped: then
    /// it comes back.
    fn add(&self, to: &Scrubber, more: Vec<Arc<Secret>>) -> Result<(), String> {
        let mut missing = self.put(to, more)?;
        while !missing.is_empty() {
            missing = self.put(&self.known_secrets(), missing)?;
        }
        Ok(())
    }

    /// Gives those that were dropped although they are in use.
    fn put(&self, to: &Scrubber, more: Vec<Arc<Secret>>) -> Result<Vec<Arc<Secret>>, String> {
        let added = to.and(more, self.adding.now_ms());
        let (after, mut gone) = added.map_err(|why| why.to_string())?;
        self.scrubber.store(Arc::new(after));
        fence(Ordering::SeqCst);
        gone.retain(|one| one.is_leased());
        Ok(gone)
    }
}

impl Runtime {
    /// Adds a secret to those that must never be shown. It is remembered while what is returned is
    /// kept, and as long as there is room.
    ///
    /// # Errors
    ///
    /// It cannot be told from ordinary text, or its label is none.
    pub fn hide(&self, owner: &Owner, label: &str, secret: &SecretText) -> Result<Hidden, String> {
        self.inner.hide(owner, label, secret)
    }

    /// Replaces the secrets that are declared. Those that were added since with [`Runtime::hide`]
    /// stay.
    ///
    /// # Errors
    ///
    /// There are more than the search can hold.
    pub fn guard(&self, scrubber: &Scrubber) -> Result<(), String> {
        let _turn = self.inner.adding.turn.lock();
        let owned = self.inner.known_secrets().owned();
        self.inner.add(scrubber, owned)
    }
}

/// Takes note for a runtime, as long as there is one.
pub(crate) struct Known(pub(crate) Weak<Inner>);

impl Hide for Known {
    fn hide(&self, owner: &Owner, label: &str, secret: &SecretText) -> Result<Hidden, String> {
        match self.0.upgrade() {
            Some(inner) => inner.hide(owner, label, secret),
            None => Err("haft is shutting down".to_owned()),
        }
    }
}
