//! Every secret that is known, and in whose texts it is looked for.
//!
//! A text from which something was taken tells whoever wrote it that this was a secret. So a
//! tenant's texts are looked through for its own and for the server's, never for those of others:
//! nobody can find out by trying. For the same reason secrets that are found in a few million tries
//! are looked for in the call that used them, and in what only those read who run the server.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use haft_core::port::Owner;

use super::known::{self, ByValue};
use super::pattern::Secret;
use super::scrub::{Scrubber, Unscrubbed};

/// Whose the server's own are. No tenant is called that.
const SERVER: &str = "";

/// What is known at one moment.
pub(crate) struct Secrets {
    list: Vec<Arc<Secret>>,
    known: HashMap<String, HashSet<ByValue>>,
    /// For tenants that have none of their own.
    server: Arc<Scrubber>,
    /// For the others: the server's, and their own.
    tenants: HashMap<String, Arc<Scrubber>>,
    /// Few read what is made with it, so it is made when somebody does.
    all: OnceLock<Result<Scrubber, Unscrubbed>>,
}

/// In whose texts a secret is looked for.
fn scope(owner: Option<&Owner>) -> &str {
    match owner {
        Some(Owner::Connection { tenant, .. }) => tenant,
        Some(Owner::Model(_)) | None => SERVER,
    }
}

impl Secrets {
    /// Those that are declared, and no others yet.
    pub(crate) fn declared(scrubber: &Scrubber) -> Result<Self, Unscrubbed> {
        Self::of(scrubber.secrets().to_vec(), None)
    }

    /// Others that are declared, with those that became known since.
    pub(crate) fn declared_anew(&self, scrubber: &Scrubber) -> Result<Self, Unscrubbed> {
        let owned = self.list.iter().filter(|one| one.owner.is_some());
        Self::of(scrubber.secrets().iter().chain(owned).cloned().collect(), Some(self))
    }

    /// The same and some more, without those that need not be remembered any more, which it gives
    /// as well.
    pub(crate) fn and(
        &self,
        more: Vec<Arc<Secret>>,
        now_ms: u64,
    ) -> Result<(Self, Vec<Arc<Secret>>), Unscrubbed> {
        let mut list = self.list.clone();
        let is_new = |one: &Arc<Secret>| self.held(scope(one.owner.as_ref()), &one.value).is_none();
        list.extend(more.into_iter().filter(is_new));
        let gone = known::drop_spare(&mut list, now_ms);
        Ok((Self::of(list, Some(self))?, gone))
    }

    /// The same without those of a tenant's connections that nobody uses any more.
    pub(crate) fn without(&self, tenant: &str) -> Result<Self, Unscrubbed> {
        let stays = |one: &&Arc<Secret>| scope(one.owner.as_ref()) != tenant || one.is_leased();
        Self::of(self.list.iter().filter(stays).cloned().collect(), Some(self))
    }

    /// Those of a tenant's connections that are in use.
    pub(crate) fn leased_of(&self, tenant: &str) -> Vec<Arc<Secret>> {
        let own = |one: &&Arc<Secret>| scope(one.owner.as_ref()) == tenant && one.is_leased();
        self.list.iter().filter(own).cloned().collect()
    }

    fn of(list: Vec<Arc<Secret>>, before: Option<&Self>) -> Result<Self, Unscrubbed> {
        let mut known: HashMap<String, HashSet<ByValue>> = HashMap::new();
        let mut seekable: HashMap<&str, Vec<Arc<Secret>>> = HashMap::new();
        for one in &list {
            let whose = scope(one.owner.as_ref());
            known.entry(whose.to_owned()).or_default().insert(ByValue(one.clone()));
            // What is declared is asked for in so many words.
            if one.owner.is_none() || !Secret::is_guessable(&one.value) {
                seekable.entry(whose).or_default().push(one.clone());
            }
        }
        let common = seekable.remove(SERVER).unwrap_or_default();
        let mut tenants = HashMap::with_capacity(seekable.len());
        for (tenant, own) in seekable {
            let all = common.iter().cloned().chain(own).collect();
            let earlier = before.and_then(|before| before.tenants.get(tenant));
            tenants.insert(tenant.to_owned(), prepared(all, earlier)?);
        }
        let server = prepared(common, before.map(|before| &before.server))?;
        Ok(Self { list, known, server, tenants, all: OnceLock::new() })
    }

    /// The secret that is known under this owner, if it is one.
    pub(crate) fn find(&self, owner: &Owner, value: &str) -> Option<&Secret> {
        self.held(scope(Some(owner)), value)
    }

    fn held(&self, whose: &str, value: &str) -> Option<&Secret> {
        self.known.get(whose)?.get(value).map(|known| &*known.0)
    }

    /// What is looked for in a tenant's texts.
    pub(crate) fn of_tenant(&self, tenant: &str) -> &Arc<Scrubber> {
        match self.tenants.is_empty() {
            true => &self.server,
            false => self.tenants.get(tenant).unwrap_or(&self.server),
        }
    }

    /// What is looked for in texts for those who run the server: everything.
    pub(crate) fn all(&self) -> Result<&Scrubber, Unscrubbed> {
        let made = || Scrubber::of(self.list.clone(), Secret::labelled);
        self.all.get_or_init(made).as_ref().map_err(|why| *why)
    }
}

/// A search for these, or the earlier one where that is for the same.
fn prepared(
    secrets: Vec<Arc<Secret>>,
    earlier: Option<&Arc<Scrubber>>,
) -> Result<Arc<Scrubber>, Unscrubbed> {
    match earlier.filter(|earlier| earlier.is_of(&secrets)) {
        Some(earlier) => Ok(earlier.clone()),
        None => Scrubber::of(secrets, Secret::neutral).map(Arc::new),
    }
}

/// Secrets that one call has leased and that are looked for in no other.
#[derive(Default)]
pub(crate) struct Leased(parking_lot::Mutex<Vec<Arc<Secret>>>);

impl std::fmt::Debug for Leased {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leased")
    }
}

impl Leased {
    /// Takes note of one, where it is none that is looked for in all of the tenant's texts.
    pub(crate) fn note(&self, owner: &Owner, label: &str, value: &str) {
        let mut list = self.0.lock();
        if !Secret::is_guessable(value) || list.iter().any(|one| *one.value == value) {
            return;
        }
        if let Ok((secret, _)) = Secret::of(owner.clone(), label, value) {
            list.push(Arc::new(secret));
        }
    }

    /// What looks for them; nothing where there are none.
    pub(crate) fn scrubber(&self) -> Result<Option<Scrubber>, Unscrubbed> {
        let list = self.0.lock();
        match list.is_empty() {
            true => Ok(None),
            false => Scrubber::of(list.clone(), Secret::neutral).map(Some),
        }
    }
}
