//! Secrets that become known while calls are made: from then on they are taken out of everything.

use std::sync::{Arc, Weak};

use haft_core::port::Hide;
use haft_core::secret::SecretText;

use super::{Inner, Runtime};
use crate::redact::Secret;

/// Of one label the newest are kept: a token that was renewed this often is of no use to anyone.
const KEPT: usize = 8;

impl Inner {
    fn hide(&self, label: &str, secret: &SecretText) -> Result<(), String> {
        if self.secrets().knows(secret.expose()) {
            return Ok(());
        }
        let new = Secret::new(label, secret.expose()).map_err(|why| why.to_string())?;
        let new = Arc::new(new);
        loop {
            let before = self.known_secrets();
            let after = before.and(new.clone(), KEPT).map_err(|why| why.to_string())?;
            let swapped = self.scrubber.compare_and_swap(&before, Arc::new(after));
            if Arc::ptr_eq(&swapped, &before) {
                return Ok(());
            }
        }
    }
}

impl Runtime {
    /// Adds a secret to those that must never be shown.
    ///
    /// # Errors
    ///
    /// It cannot be told from ordinary text, or its label is none.
    pub fn hide(&self, label: &str, secret: &SecretText) -> Result<(), String> {
        self.inner.hide(label, secret)
    }
}

/// Takes note for a runtime, as long as there is one.
pub(crate) struct Known(pub(crate) Weak<Inner>);

impl Hide for Known {
    fn hide(&self, label: &str, secret: &SecretText) -> Result<(), String> {
        match self.0.upgrade() {
            Some(inner) => inner.hide(label, secret),
            None => Err("haft is shutting down".to_owned()),
        }
    }
}
