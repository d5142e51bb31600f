//! Catalogs that were put together before.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use haft_core::contract::Mode;
use haft_core::port::Decide;
use haft_core::{Caller, Digest};
use parking_lot::RwLock;

use super::catalog::{Catalog, Seen};
use super::directory::Directory;
use super::stock::Stock;

/// How many catalogs are kept.
const MOST: usize = 1024;

/// Keeps catalogs until somebody says that what they are made from has changed.
///
/// What changes with the time alone (a delegation that ends, a rule about office hours) is noticed
/// after `max_age_ms`; the gate decides each call anew in any case.
#[derive(Debug)]
pub struct Catalogs {
    max_age_ms: i64,
    /// Raised by every change. A catalog that was begun before one does not count after it.
    round: AtomicU64,
    random: RandomState,
    /// By a hash of whom they are for, so that looking for one copies nothing.
    kept: RwLock<HashMap<u64, Kept, RandomState>>,
}

#[derive(Debug)]
struct Kept {
    key: Key,
    catalog: Catalog,
    built_ms: i64,
    round: u64,
}

#[derive(Debug)]
struct Key {
    stock: Digest,
    caller: Caller,
    mode: Mode,
    session: Option<String>,
    connections: Option<Vec<String>>,
    hide_approval: bool,
}

impl Key {
    fn of(stock: &Stock, seen: &Seen<'_>) -> Self {
        Self {
            stock: stock.version().clone(),
            caller: seen.caller.clone(),
            mode: seen.mode,
            session: seen.session.map(str::to_owned),
            connections: seen.connections.map(<[String]>::to_vec),
            hide_approval: seen.hide_approval,
        }
    }

    fn is(&self, stock: &Stock, seen: &Seen<'_>) -> bool {
        self.stock == *stock.version()
            && same(&self.caller, seen.caller)
            && self.mode == seen.mode
            && self.session.as_deref() == seen.session
            && self.connections.as_deref() == seen.connections
            && self.hide_approval == seen.hide_approval
    }
}

fn same(one: &Caller, other: &Caller) -> bool {
    one.tenant == other.tenant
        && one.agent == other.agent
        && one.actor == other.actor
        && one.subject == other.subject
        && (Arc::ptr_eq(&one.user, &other.user) || one.user == other.user)
}

impl Catalogs {
    /// Keeps catalogs for at most so long.
    #[must_use]
    pub fn new(max_age_ms: i64) -> Self {
        let (random, kept) = (RandomState::default(), RwLock::default());
        Self { max_age_ms, round: AtomicU64::new(0), random, kept }
    }

    /// Stock, directory or policy have changed: what was put together before no longer counts.
    pub fn forget(&self) {
        self.round.fetch_add(1, Ordering::AcqRel);
        self.kept.write().clear();
    }

    /// The catalog, put together where it is not there or no longer holds.
    pub fn get(
        &self,
        stock: &Stock,
        directory: &Directory,
        policy: &dyn Decide,
        seen: &Seen<'_>,
    ) -> Catalog {
        let round = self.round.load(Ordering::Acquire);
        // Few rules speak of sessions, so one catalog is for all of a caller's.
        let anywhere = Seen { session: None, ..*seen };
        if let Some(catalog) = self.found(stock, &anywhere, round)
            && (seen.session.is_none() || !catalog.differs_by_session())
        {
            return catalog;
        }
        if seen.session.is_some()
            && let Some(catalog) = self.found(stock, seen, round)
        {
            return catalog;
        }
        // Built outside of the lock: two callers may both build, and neither waits for the other.
        let catalog = Catalog::build(stock, directory, policy, seen);
        let seen = if catalog.differs_by_session() { seen } else { &anywhere };
        let (key, hash) = (Key::of(stock, seen), self.hash(stock, seen));
        self.keep(hash, Kept { key, catalog: catalog.clone(), built_ms: seen.now_ms, round });
        catalog
    }

    fn found(&self, stock: &Stock, seen: &Seen<'_>, round: u64) -> Option<Catalog> {
        let holds = |kept: &&Kept| {
            kept.round == round
                && seen.now_ms.saturating_sub(kept.built_ms) < self.max_age_ms
                && kept.key.is(stock, seen)
        };
        let kept = self.kept.read();
        kept.get(&self.hash(stock, seen)).filter(holds).map(|kept| kept.catalog.clone())
    }

    fn keep(&self, hash: u64, new: Kept) {
        let mut kept = self.kept.write();
        if kept.len() >= MOST {
            kept.retain(|_, one| one.round == new.round);
        }
        if kept.len() >= MOST {
            let now_ms = new.built_ms;
            kept.retain(|_, one| now_ms.saturating_sub(one.built_ms) < self.max_age_ms);
        }
        if kept.len() >= MOST {
            // Some of them: were all to go, everybody's would be put together anew at once.
            let mut number = 0;
            kept.retain(|_, _| {
                number += 1;
                number % 8 != 0
            });
        }
        // Two who share a hash take turns: that is rare, and costs time alone.
        kept.insert(hash, new);
    }

    fn hash(&self, stock: &Stock, seen: &Seen<'_>) -> u64 {
        let mut state = self.random.build_hasher();
        let caller = seen.caller;
        // A part of a digest is as good as all of it, to tell buckets apart.
        stock.version().short().hash(&mut state);
        caller.tenant.hash(&mut state);
        caller.agent.hash(&mut state);
        caller.actor.hash(&mut state);
        caller.subject.hash(&mut state);
        caller.user.hash(&mut state);
        seen.mode.hash(&mut state);
        seen.session.hash(&mut state);
        seen.connections.hash(&mut state);
        seen.hide_approval.hash(&mut state);
        state.finish()
    }
}
