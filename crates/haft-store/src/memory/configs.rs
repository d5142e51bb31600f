//! What is configured, in memory.

use std::collections::BTreeMap;

use haft_core::config::{Change, Entry, Kind, Snapshot};
use haft_core::port::{Boxed, Configs, StoreError};

use super::Memory;
use super::port::answer;
use super::rows::Rows;
use crate::figures;
use crate::steps;
use crate::tables::{Clears, Res};

type Answer<'a, T> = Boxed<'a, Res<T>>;

/// Things that are configured.
#[derive(Default)]
pub(super) struct Things {
    by_name: BTreeMap<(Kind, String, String), Thing>,
    changes: u64,
}

#[derive(Default)]
struct Thing {
    version: u64,
    /// When it was written or removed.
    changed_at_ms: i64,
    now: Option<Entry>,
    before: Vec<Entry>,
}

impl Things {
    fn all(&self) -> impl Iterator<Item = &Entry> {
        self.by_name.values().filter_map(|thing| thing.now.as_ref())
    }

    pub(super) fn find(&self, kind: Kind, tenant: &str, id: &str) -> Option<(u64, Option<Entry>)> {
        let thing = self.by_name.get(&(kind, tenant.to_owned(), id.to_owned()))?;
        Some((thing.version, thing.now.clone()))
    }

    pub(super) fn put(&mut self, entry: &Entry, removed: bool) {
        let key = (entry.kind, entry.tenant.clone(), entry.id.clone());
        let thing = self.by_name.entry(key).or_default();
        let before = thing.now.take().filter(|_| entry.kind.keeps_versions());
        thing.before.extend(before);
        thing.version = entry.version;
        thing.changed_at_ms = entry.changed_at_ms;
        thing.now = (!removed).then(|| entry.clone());
        self.changes += 1;
    }

    /// Up to when something was the tenant's that was removed last: whatever it is, where none was.
    fn by_then(&self, tenant: &str) -> i64 {
        let key = (Kind::Tenant, tenant.to_owned(), tenant.to_owned());
        let gone = self.by_name.get(&key).filter(|thing| thing.now.is_none());
        gone.map_or(i64::MAX, |thing| thing.changed_at_ms)
    }
}

impl Clears for Rows {
    fn left_of(&mut self, tenant: &str) -> Res<Vec<Entry>> {
        let by_then = self.things.by_then(tenant);
        let left = |one: &&Entry| {
            one.tenant == tenant && one.kind != Kind::Tenant && one.changed_at_ms <= by_then
        };
        Ok(self.things.all().filter(left).cloned().collect())
    }

    fn drop_versions(&mut self, tenant: &str) -> Res<()> {
        let by_then = self.things.by_then(tenant);
        for ((_, whose, _), thing) in &mut self.things.by_name {
            thing.before.retain(|one| whose != tenant || one.changed_at_ms > by_then);
        }
        Ok(())
    }
}

impl Configs for Memory {
    fn entry<'a>(&'a self, kind: Kind, tenant: &'a str, id: &'a str) -> Answer<'a, Entry> {
        answer(self.on(|rows| {
            let found = rows.things.find(kind, tenant, id);
            found.and_then(|(_, entry)| entry).ok_or(StoreError::Missing)
        }))
    }

    fn entries<'a>(&'a self, kind: Kind, tenant: Option<&'a str>) -> Answer<'a, Vec<Entry>> {
        answer(self.on(|rows| {
            let meant =
                |one: &&Entry| one.kind == kind && tenant.is_none_or(|tenant| one.tenant == tenant);
            Ok(rows.things.all().filter(meant).cloned().collect())
        }))
    }

    fn versions<'a>(
        &'a self,
        kind: Kind,
        tenant: &'a str,
        id: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> Answer<'a, Vec<Entry>> {
        let key = (kind, tenant.to_owned(), id.to_owned());
        answer(self.on(|rows| {
            let thing = rows.things.by_name.get(&key);
            let all = thing.into_iter().flat_map(|it| it.now.iter().chain(it.before.iter().rev()));
            let meant = all.filter(|one| before.is_none_or(|before| one.version < before));
            Ok(meant.take(figures::limit(limit)).cloned().collect())
        }))
    }

    fn change<'a>(&'a self, change: Change) -> Answer<'a, Entry> {
        self.write(|rows| steps::configs::change(rows, &change))
    }

    fn changes<'a>(&'a self) -> Answer<'a, u64> {
        answer(self.on(|rows| Ok(rows.things.changes)))
    }

    fn snapshot<'a>(&'a self) -> Answer<'a, Snapshot> {
        answer(self.on(|rows| {
            let (changes, all) = (rows.things.changes, rows.things.all());
            Ok(Snapshot { changes, entries: all.cloned().collect() })
        }))
    }
}
