//! Catalogs that were put together before.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::contract::Mode;
use haft_core::port::Decide;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use super::catalog::{Catalog, Seen, version};
use super::directory::Directory;
use super::stock::Stock;

/// How many catalogs are kept.
const MOST: usize = 1024;

/// Keeps catalogs for as long as nothing that they are made from has changed.
///
/// What changes with the time alone (a delegation that ends, a rule about office hours) is noticed
/// after `max_age_ms`; the gate decides each call anew in any case.
#[derive(Debug)]
pub struct Catalogs {
    max_age_ms: i64,
    kept: Mutex<HashMap<Key, Kept>>,
}

#[derive(Debug)]
struct Kept {
    catalog: Catalog,
    built_ms: i64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
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
    fn of(seen: &Seen<'_>) -> Self {
        Self {
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
        Self { max_age_ms, kept: Mutex::default() }
    }

    /// The catalog, put together where it is not there or no longer holds.
    pub fn get(
        &self,
        stock: &Stock,
        directory: &Directory,
        policy: &dyn Decide,
        seen: &Seen<'_>,
    ) -> Catalog {
        let key = Key::of(seen);
        let now: Digest = version(stock, directory, policy);
        if let Some(kept) = self.kept.lock().get(&key)
            && *kept.catalog.version() == now
            && seen.now_ms.saturating_sub(kept.built_ms) < self.max_age_ms
        {
            return kept.catalog.clone();
        }
        // Built outside of the lock: two callers may both build, and neither waits for the other.
        let catalog = Catalog::build(stock, directory, policy, seen);
        let mut kept = self.kept.lock();
        if kept.len() >= MOST {
            kept.retain(|_, one| *one.catalog.version() == now);
        }
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, Kept { catalog: catalog.clone(), built_ms: seen.now_ms });
        catalog
    }
}
