//! What is known of connections and does not stand in the store: tokens that could not be written
//! yet, and tokens that a service has refused.

use std::collections::HashMap;

use haft_core::connection::{Credentials, OAuth};
use haft_core::secret::SecretText;
use parking_lot::Mutex;

/// A tenant and the id of a connection.
pub(super) type Key = (String, String);

/// One note at most for each connection that there is.
#[derive(Default)]
pub(super) struct Notes(Mutex<HashMap<Key, Note>>);

#[derive(Default)]
struct Note {
    unstored: Option<Unstored>,
    /// Whether somebody keeps trying to store it.
    is_tended: bool,
    refused: Option<SecretText>,
}

/// Tokens that a provider gave and that the store does not have. They are all there is: a provider
/// takes the old ones back when it gives new ones.
#[derive(Clone)]
pub(super) struct Unstored {
    /// What stood in the store when they were asked for.
    pub(super) before: OAuth,
    pub(super) fresh: OAuth,
}

impl Unstored {
    /// The tokens in what stands in the store now. They have no place there when somebody has
    /// connected the account anew, or when they are there already.
    pub(super) fn placed(&self, there: &Credentials) -> Option<OAuth> {
        let Credentials::OAuth(there) = there else { return None };
        let (before, fresh) = (&self.before, &self.fresh);
        let is_theirs = there.grant == before.grant
            && there.token_url == before.token_url
            && there.client_id == before.client_id
            && exposed(&there.refresh) == exposed(&before.refresh);
        if !is_theirs {
            return None;
        }
        let is_good = there.scopes == before.scopes && there.audience == before.audience;
        let mut placed = OAuth::clone(there);
        placed.refresh.clone_from(&fresh.refresh);
        placed.access = if is_good { fresh.access.clone() } else { None };
        Some(placed)
    }
}

fn exposed(secret: &Option<SecretText>) -> Option<&str> {
    secret.as_ref().map(SecretText::expose)
}

impl Notes {
    /// Credentials as they are now: what the store has, with the tokens that it has not.
    pub(super) fn over(&self, key: &Key, stored: Credentials) -> Credentials {
        let notes = self.0.lock();
        let unstored = notes.get(key).and_then(|note| note.unstored.as_ref());
        match unstored.and_then(|unstored| unstored.placed(&stored)) {
            Some(placed) => Credentials::OAuth(Box::new(placed)),
            None => stored,
        }
    }

    pub(super) fn keep(&self, key: &Key, unstored: Unstored) {
        self.0.lock().entry(key.clone()).or_default().unstored = Some(unstored);
    }

    pub(super) fn unstored(&self, key: &Key) -> Option<Unstored> {
        self.0.lock().get(key)?.unstored.clone()
    }

    /// They are stored, or of no use any more.
    pub(super) fn drop_unstored(&self, key: &Key) {
        let mut notes = self.0.lock();
        let Some(note) = notes.get_mut(key) else { return };
        (note.unstored, note.is_tended) = (None, false);
        if note.refused.is_none() {
            notes.remove(key);
        }
    }

    /// Whether the caller is the one who keeps trying from now on.
    pub(super) fn tend(&self, key: &Key) -> bool {
        match self.0.lock().get_mut(key) {
            Some(note) if note.unstored.is_some() => !std::mem::replace(&mut note.is_tended, true),
            Some(_) | None => false,
        }
    }

    pub(super) fn all_are_stored(&self) -> bool {
        self.0.lock().values().all(|note| note.unstored.is_none())
    }

    /// A service does not take it, whatever its time is.
    pub(super) fn refuse(&self, key: &Key, token: SecretText) {
        self.0.lock().entry(key.clone()).or_default().refused = Some(token);
    }

    /// The provider gives it, asked anew: whatever a service had against it, there is no better one.
    pub(super) fn given(&self, key: &Key, token: &str) {
        let mut notes = self.0.lock();
        let Some(note) = notes.get_mut(key) else { return };
        if exposed(&note.refused) != Some(token) {
            return;
        }
        note.refused = None;
        if note.unstored.is_none() {
            notes.remove(key);
        }
    }

    pub(super) fn is_refused(&self, key: &Key, token: &str) -> bool {
        let notes = self.0.lock();
        notes.get(key).is_some_and(|note| exposed(&note.refused) == Some(token))
    }

    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}
