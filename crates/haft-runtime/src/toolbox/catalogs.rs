//! Catalogs that were put together before.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::contract::Mode;
use haft_core::port::Decide;
use parking_lot::Mutex;
use serde_json::{Map, Value};

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
    kept: Mutex<HashMap<Key, Kept>>,
}

#[derive(Debug)]
struct Kept {
    catalog: Catalog,
    built_ms: i64,
    round: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    stock: Digest,
    tenant: Arc<str>,
    agent: Arc<str>,
    actor: Principal,
    subject: Option<Principal>,
    user: Arc<Map<String, Value>>,
    mode: Mode,
    session: Option<String>,
    connections: Option<Vec<String>>,
    hide_approval: bool,
}

impl Key {
    fn of(stock: &Stock, seen: &Seen<'_>) -> Self {
        Self {
            stock: stock.version().clone(),
            tenant: Arc::clone(&seen.caller.tenant),
            agent: Arc::clone(&seen.caller.agent),
            actor: seen.caller.actor.clone(),
            subject: seen.caller.subject.clone(),
            user: Arc::clone(&seen.caller.user),
            mode: seen.mode,
            session: seen.session.map(str::to_owned),
            connections: seen.connections.map(<[String]>::to_vec),
            hide_approval: seen.hide_approval,
        }
    }
}

impl Catalogs {
    /// Keeps catalogs for at most so long.
    #[must_use]
    pub fn new(max_age_ms: i64) -> Self {
        Self { max_age_ms, round: AtomicU64::new(0), kept: Mutex::default() }
    }

    /// Stock, directory or policy have changed: what was put together before no longer counts.
    pub fn forget(&self) {
        self.round.fetch_add(1, Ordering::AcqRel);
        self.kept.lock().clear();
    }

    /// The catalog, put together where it is not there or no longer holds.
    pub fn get(
        &self,
        stock: &Stock,
        directory: &Directory,
        policy: &dyn Decide,
        seen: &Seen<'_>,
    ) -> Catalog {
        let key = Key::of(stock, seen);
        let round = self.round.load(Ordering::Acquire);
        if let Some(kept) = self.kept.lock().get(&key)
            && kept.round == round
            && seen.now_ms.saturating_sub(kept.built_ms) < self.max_age_ms
        {
            return kept.catalog.clone();
        }
        // Built outside of the lock: two callers may both build, and neither waits for the other.
        let catalog = Catalog::build(stock, directory, policy, seen);
        let mut kept = self.kept.lock();
        if kept.len() >= MOST {
            kept.retain(|_, one| one.round == round);
        }
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, Kept { catalog: catalog.clone(), built_ms: seen.now_ms, round });
        catalog
    }
}
