//! Secrets that become known while calls are made: from then on they are taken out of everything.

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};

use haft_core::ToolError;
use haft_core::port::{Hidden, Hide, Owner};
use haft_core::secret::SecretText;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use super::{Inner, Runtime};
use crate::redact::{Leased, Scrubber, Secret, Secrets, Unscrubbed};

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
        if let Some(hidden) = self.hidden(owner, secret) {
            return Ok(hidden);
        }
        let made = Secret::of(owner.clone(), label, secret.expose());
        let (new, hidden) = made.map_err(|why| why.to_string())?;
        new.use_at(self.adding.now_ms());
        let _turn = self.adding.turn.lock();
        // Somebody else may have been first.
        if let Some(hidden) = self.hidden(owner, secret) {
            return Ok(hidden);
        }
        self.add(vec![Arc::new(new)])?;
        Ok(hidden)
    }

    /// A secret that is known already, so that it stays known.
    fn hidden(&self, owner: &Owner, secret: &SecretText) -> Option<Hidden> {
        loop {
            let known = self.secrets();
            let hidden = known.find(owner, secret.expose())?.use_at(self.adding.now_ms());
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
    fn add(&self, more: Vec<Arc<Secret>>) -> Result<(), String> {
        let mut missing = self.put(more)?;
        while !missing.is_empty() {
            missing = self.put(missing)?;
        }
        Ok(())
    }

    /// Gives those that were dropped although they are in use.
    fn put(&self, more: Vec<Arc<Secret>>) -> Result<Vec<Arc<Secret>>, String> {
        let added = self.secrets().and(more, self.adding.now_ms());
        let (after, mut gone) = added.map_err(|why| why.to_string())?;
        self.secrets.store(Arc::new(after));
        fence(Ordering::SeqCst);
        gone.retain(|one| one.is_leased());
        Ok(gone)
    }

    /// Forgets the secrets of a tenant that was removed: in the texts of another of its name nobody looks
    /// for them. What a call still uses stays with what it says.
    pub(crate) fn forget_secrets(&self, tenant: &str) {
        let _turn = self.adding.turn.lock();
        let known = self.secrets.load_full();
        // Fewer can always be prepared; else they stay as they were.
        let Ok(after) = known.without(tenant) else { return };
        self.secrets.store(Arc::new(after));
        fence(Ordering::SeqCst);
        // Somebody may have begun to use one meanwhile.
        let _ = self.add(known.leased_of(tenant));
    }

    /// What is looked for in what one call of a tenant says.
    pub(crate) fn sieve<'a>(&self, tenant: &'a str, leased: Option<&'a Leased>) -> Sieve<'a> {
        Sieve { known: self.secrets(), tenant, leased }
    }

    /// What is looked for in a tenant's texts now, to be kept.
    pub(crate) fn secrets_of(&self, tenant: &str) -> Arc<Scrubber> {
        self.secrets().of_tenant(tenant).clone()
    }
}

/// Takes secrets out of what one call says: those of its tenant, those of the server, and what it has
/// leased itself.
pub(crate) struct Sieve<'a> {
    known: arc_swap::Guard<Arc<Secrets>>,
    tenant: &'a str,
    leased: Option<&'a Leased>,
}

impl Sieve<'_> {
    fn own(&self) -> &Scrubber {
        self.known.of_tenant(self.tenant)
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.own().is_empty() && self.leased.is_none()
    }

    /// Takes the secrets out of a value; says whether there were any.
    pub(crate) fn value(&self, value: &mut Value) -> Result<bool, Unscrubbed> {
        let changed = self.own().value(value)?;
        match self.of_call()? {
            None => Ok(changed),
            Some(more) => Ok(more.value(value)? || changed),
        }
    }

    /// The same for an error. What is for the log alone is looked through for everything.
    pub(crate) fn error(&self, error: &mut ToolError) -> Result<(), Unscrubbed> {
        let source = error.source.take();
        self.own().error(error)?;
        if let Some(more) = self.of_call()? {
            more.error(error)?;
        }
        if let Some(source) = source {
            error.source = Some(self.known.all()?.text(&source)?.into_owned());
        }
        Ok(())
    }

    /// The same for a text; nothing where it cannot be looked through.
    pub(crate) fn text(&self, text: &str) -> Option<String> {
        let clean = self.own().text(text).ok()?.into_owned();
        match self.of_call().ok()? {
            None => Some(clean),
            Some(more) => Some(more.text(&clean).ok()?.into_owned()),
        }
    }

    fn of_call(&self) -> Result<Option<Scrubber>, Unscrubbed> {
        self.leased.map_or(Ok(None), Leased::scrubber)
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
        let after = self.inner.secrets().declared_anew(scrubber).map_err(|why| why.to_string())?;
        self.inner.secrets.store(Arc::new(after));
        self.inner.add(Vec::new())
    }
}

/// Takes note for a runtime, as long as there is one, and for the call that leases.
pub(crate) struct Known {
    pub(crate) inner: Weak<Inner>,
    pub(crate) leased: Arc<Leased>,
}

impl Hide for Known {
    fn hide(&self, owner: &Owner, label: &str, secret: &SecretText) -> Result<Hidden, String> {
        let Some(inner) = self.inner.upgrade() else {
            return Err("haft is shutting down".to_owned());
        };
        let hidden = inner.hide(owner, label, secret)?;
        self.leased.note(owner, label, secret.expose());
        Ok(hidden)
    }
}
