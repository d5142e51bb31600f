//! The ports on the store in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::atomic::Ordering;

use haft_core::call::Principal;
use haft_core::ledger::{
    Claim, Claimed, EffectRecord, Ending, Settled, Spend, Ticket, Unspendable,
};
use haft_core::port::{
    Asking, Blocks, Boxed, CallFilter, CallStats, Checked, Condition, ConfirmationFilter,
    Confirmations, EffectFilter, Forgotten, Journal, Ledger, Put, Resolve, Sessions, Slice, Store,
    StoreError, TrailFilter, Undo,
};
use haft_core::record::{AuditEntry, Confirmation, InvocationRecord};
use haft_core::registry::SigningKey;
use haft_core::session::{Block, Session};
use haft_core::{Digest, ErrorKind};
use serde_json::Value;

use super::{Memory, about};
use crate::figures::{self, Figures, Series};
use crate::steps;
use crate::steps::configs::SHRED;
use crate::steps::forget::{Hand, Order};
use crate::tables::{Res, Tables as _};
use crate::trail;

type Answer<'a, T> = Boxed<'a, Res<T>>;

pub(super) fn answer<'a, T: Send + 'a>(result: Res<T>) -> Answer<'a, T> {
    Box::pin(ready(result))
}

impl Memory {
    /// A step that writes into the trail, after what waits to be put there.
    pub(super) fn write<'a, T: Send + 'a>(
        &self,
        step: impl FnOnce(&mut super::rows::Rows) -> Res<T>,
    ) -> Answer<'a, T> {
        answer(self.on(|rows| {
            rows.catch_up()?;
            step(rows)
        }))
    }
}

impl Ledger for Memory {
    fn claim<'a>(&'a self, claim: Claim) -> Answer<'a, Claimed> {
        self.write(|rows| steps::ledger::claim(rows, &claim))
    }

    fn settle<'a>(
        &'a self,
        ticket: &'a Ticket,
        ending: Ending,
        record: Option<InvocationRecord>,
    ) -> Answer<'a, Settled> {
        self.write(|rows| steps::ledger::settle(rows, ticket, &ending, record.as_ref()))
    }

    fn effect<'a>(&'a self, tenant: &'a str, call: &'a str) -> Answer<'a, EffectRecord> {
        answer(self.on(|rows| {
            let head = rows.head_of_call(tenant, call)?.ok_or(StoreError::Missing)?;
            rows.effect(head.id)
        }))
    }

    fn by_key<'a>(&'a self, key: &'a Digest) -> Answer<'a, EffectRecord> {
        answer(self.on(|rows| {
            let head = rows.head(&key.raw())?.ok_or(StoreError::Missing)?;
            rows.effect(head.id)
        }))
    }

    fn parts<'a>(&'a self, whole: &'a EffectRecord) -> Answer<'a, Vec<EffectRecord>> {
        answer(self.on(|rows| {
            let newest = rows.effects.values().rev().map(|row| &row.record);
            Ok(newest.filter(|one| whole.has_part(&one.effect)).cloned().collect())
        }))
    }

    fn effects<'a>(&'a self, filter: EffectFilter) -> Answer<'a, Vec<EffectRecord>> {
        answer(self.on(|rows| {
            let newest = rows.effects.values().rev().map(|row| &row.record);
            let newest = newest.filter(|record| record.effect.tenant == filter.tenant);
            let rest = after(newest, filter.after.as_deref(), |record| &record.effect.call);
            let meant = rest.filter(|record| figures::effect_is_meant(&filter, record));
            Ok(meant.take(figures::limit(filter.limit)).cloned().collect())
        }))
    }

    fn caused_with<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>> {
        answer(self.on(|rows| {
            let all = rows.effects.values().map(|row| &row.record.effect);
            let own = all.filter(|effect| effect.tenant == tenant);
            let names: BTreeSet<_> = own.map(|effect| effect.tool.clone()).collect();
            Ok(names.into_iter().collect())
        }))
    }

    fn resolve<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        resolve: Resolve,
    ) -> Answer<'a, EffectRecord> {
        self.write(|rows| steps::ledger::resolve(rows, tenant, call, &resolve))
    }

    fn undo<'a>(&'a self, tenant: &'a str, call: &'a str, step: Undo) -> Answer<'a, EffectRecord> {
        self.write(|rows| steps::ledger::undo(rows, tenant, call, &step))
    }

    fn recover<'a>(&'a self) -> Answer<'a, Vec<EffectRecord>> {
        // Asked every second: where nothing is open, what waits to be written goes on waiting.
        match self.on(|rows| rows.is_settled()) {
            true => answer(Ok(Vec::new())),
            false => self.write(steps::ledger::recover),
        }
    }

    fn purge<'a>(&'a self) -> Answer<'a, u64> {
        self.write(|rows| {
            let mut gone = 0;
            loop {
                let (went, more) = steps::ledger::purge(rows)?;
                gone += went;
                if !more {
                    return Ok(gone);
                }
            }
        })
    }
}

impl Journal for Memory {
    fn record(&self, record: Box<InvocationRecord>) {
        let dropped = self.shared.rows.lock().keep_for_later(record);
        self.shared.dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    fn note<'a>(&'a self, tenant: &'a str, kind: &'a str, body: Value) -> Answer<'a, ()> {
        self.write(|rows| steps::journal::note(rows, tenant, kind, &body))
    }

    fn calls<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<InvocationRecord>> {
        self.write(|rows| {
            let own = rows.calls.values().rev().filter(|one| *one.tenant == *filter.tenant);
            let mut own: Vec<_> = own.collect();
            // Stable, so that of two that began together the one recorded later comes first.
            own.sort_by_key(|record| std::cmp::Reverse(record.started_at_ms));
            let rest = after(own.into_iter(), filter.after.as_deref(), |record| &record.call);
            let meant = rest.filter(|one| figures::is_meant(&filter, one));
            Ok(meant.take(figures::limit(filter.limit)).cloned().collect())
        })
    }

    fn tools<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>> {
        self.write(|rows| {
            let own = rows.calls.values().filter(|one| *one.tenant == *tenant);
            let names: BTreeSet<_> = own.map(|one| one.tool.to_string()).collect();
            Ok(names.into_iter().collect())
        })
    }

    fn stats<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<CallStats>> {
        self.write(|rows| {
            let meant = rows.calls.values().filter(|one| figures::is_meant(&filter, one));
            let mut figures = Figures::default();
            meant.for_each(|one| figures.take(&one.tool, one.error.is_some(), one.duration_us));
            Ok(figures.end())
        })
    }

    fn series<'a>(&'a self, filter: CallFilter, step_ms: u64) -> Answer<'a, Vec<Slice>> {
        self.write(|rows| {
            let meant = rows.calls.values().rev().filter(|one| figures::is_meant(&filter, one));
            let mut series = Series::new(step_ms);
            for one in meant.take(figures::series_limit(filter.limit)) {
                series.take(one.started_at_ms, one.error.map(ErrorKind::as_str), one.duration_us);
            }
            Ok(series.end())
        })
    }

    fn trail<'a>(&'a self, filter: TrailFilter) -> Answer<'a, Vec<AuditEntry>> {
        self.write(|rows| {
            let ends = |entry: &&AuditEntry| entry.tenant == filter.tenant && entry.kind == SHRED;
            let removed = rows.audit.iter().rev().find(ends).map_or(0, |entry| entry.number);
            let meant = |entry: &&AuditEntry| {
                entry.number > removed
                    && about::is_meant(&filter, entry, || rows.calls.get(&entry.number))
            };
            let entries = rows.audit.iter().rev().filter(meant);
            Ok(entries.take(figures::limit(filter.limit)).cloned().collect())
        })
    }

    fn verify<'a>(&'a self) -> Answer<'a, Checked> {
        let clock = &self.shared.clock;
        let (wall_ms, now_ms) = (clock.wall_ms(), clock.now_ms());
        self.write(move |rows| {
            let latest_ms = rows.audit.iter().map(|entry| entry.at_ms).max().unwrap_or_default();
            let found = trail::check(&rows.audit, rows.gaps.values().cloned().collect());
            Ok(Checked { warning: trail::warning(wall_ms, now_ms, latest_ms), ..found })
        })
    }

    fn audit<'a>(&'a self, from: u64, limit: usize) -> Answer<'a, Vec<AuditEntry>> {
        self.write(|rows| {
            let entries = rows.audit.iter().filter(|entry| entry.number >= from);
            Ok(entries.take(figures::limit(limit)).cloned().collect())
        })
    }

    fn flush<'a>(&'a self) -> Answer<'a, ()> {
        self.write(|_| Ok(()))
    }
}

impl Confirmations for Memory {
    fn ask<'a>(&'a self, asking: Asking) -> Answer<'a, Put> {
        self.write(|rows| steps::confirmations::ask(rows, &asking))
    }

    fn confirmation<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Confirmation> {
        answer(self.on(|rows| rows.confirmation(tenant, id)?.ok_or(StoreError::Missing)))
    }

    fn confirmations<'a>(&'a self, filter: ConfirmationFilter) -> Answer<'a, Vec<Confirmation>> {
        answer(self.on(|rows| {
            let own = rows.confirmations.values().filter(|one| one.tenant == filter.tenant);
            let mut own: Vec<_> = own.collect();
            own.sort_by(|a, b| (b.asked_at_ms, &b.id).cmp(&(a.asked_at_ms, &a.id)));
            let rest = after(own.into_iter(), filter.after.as_deref(), |one| &one.id);
            let meant = rest.filter(|one| {
                filter.status.is_none_or(|status| status == one.status)
                    && filter.open_after_ms.is_none_or(|now| one.expires_at_ms > now)
                    && (filter.session.is_none() || filter.session == one.session)
            });
            Ok(meant.take(figures::limit(filter.limit)).cloned().collect())
        }))
    }

    fn decide<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        approve: bool,
        by: &'a Principal,
    ) -> Answer<'a, Confirmation> {
        self.write(|rows| steps::confirmations::decide(rows, tenant, id, approve, by))
    }

    fn withdraw<'a>(&'a self, tenant: &'a str, by: &'a Principal) -> Answer<'a, usize> {
        self.write(|rows| steps::confirmations::withdraw(rows, tenant, by))
    }

    fn spend<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        spend: &'a Spend,
    ) -> Answer<'a, Option<Unspendable>> {
        self.write(|rows| steps::ledger::spend(rows, tenant, call, spend))
    }
}

impl Sessions for Memory {
    fn session<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Session> {
        let key = (tenant.to_owned(), id.to_owned());
        answer(self.on(|rows| rows.sessions.get(&key).cloned().ok_or(StoreError::Missing)))
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a str,
        last: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Session>> {
        answer(self.on(|rows| {
            let own = rows.sessions.values().filter(|session| session.tenant == tenant);
            let mut own: Vec<_> = own.collect();
            own.sort_by(|a, b| (b.created_at_ms, &b.id).cmp(&(a.created_at_ms, &a.id)));
            let rest = after(own.into_iter(), last, |session| &session.id);
            Ok(rest.take(figures::limit(limit)).cloned().collect())
        }))
    }

    fn save<'a>(&'a self, session: Session) -> Answer<'a, Session> {
        answer(self.on(|rows| steps::sessions::save(rows, session)))
    }

    fn save_answer<'a>(
        &'a self,
        session: Session,
        id: &'a str,
        said: &'a Value,
    ) -> Answer<'a, Session> {
        answer(self.on(|rows| steps::sessions::save_answer(rows, session, id, said)))
    }

    fn answer<'a>(&'a self, tenant: &'a str, session: &'a str, id: &'a str) -> Answer<'a, Value> {
        let key = (tenant.to_owned(), session.to_owned());
        answer(self.on(|rows| {
            let kept = rows.answers.get(&key).into_iter().flat_map(|all| all.values());
            let body = kept.into_iter().find(|(call, _)| call == id).map(|(_, body)| body);
            let body = body.ok_or(StoreError::Missing)?;
            serde_json::from_str(body).map_err(|error| StoreError::Unavailable(error.to_string()))
        }))
    }
}

impl Blocks for Memory {
    fn block<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
        for_ms: u64,
        reason: &'a str,
    ) -> Answer<'a, (Block, bool)> {
        self.shared.any_blocks.store(true, Ordering::Release);
        answer(self.on(|rows| steps::sessions::block(rows, tenant, principal, for_ms, reason)))
    }

    fn blocked<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
    ) -> Answer<'a, Option<Block>> {
        answer(self.on(|rows| {
            let now_ms = rows.now_ms();
            Ok(rows.block(tenant, principal)?.filter(|block| block.until_ms > now_ms))
        }))
    }

    fn any_blocks(&self) -> bool {
        self.shared.any_blocks.load(Ordering::Acquire)
    }

    fn unblock<'a>(&'a self, tenant: &'a str, principal: &'a Principal) -> Answer<'a, ()> {
        answer(self.on(|rows| steps::sessions::unblock(rows, tenant, principal)))
    }
}

impl Store for Memory {
    fn now_ms(&self) -> i64 {
        self.shared.clock.now_ms()
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn trusts<'a>(&'a self, _: &'a str) -> Answer<'a, ()> {
        // Nobody but this process can reach what is in here.
        answer(Ok(()))
    }

    fn condition(&self) -> Condition {
        Condition {
            dropped: self.dropped(),
            clock_off_ms: self.shared.clock.off_ms(),
            // Nobody can touch what is in memory.
            check_due: false,
        }
    }

    fn forget<'a>(&'a self, before_ms: i64) -> Answer<'a, Forgotten> {
        if let Err(why) = steps::forget::in_time(self.shared.clock.lead_ms()) {
            return answer(Err(why));
        }
        // Nobody but this process can reach what is in here, so anybody's key will do.
        let key = SigningKey::from_seed(&[0; 32]);
        let before_ms = self.shared.clock.before(before_ms);
        self.write(|rows| {
            let (most, checkpoints) = (usize::MAX, BTreeMap::new());
            let order = Order { before_ms, most, key: &key, checkpoints: &checkpoints };
            match steps::forget::some(rows, Hand::default(), &order)? {
                Ok((went, _)) => Ok(went),
                Err(broken) => Err(StoreError::Tampered(broken.to_string())),
            }
        })
    }
}

/// What comes after the one of this name in a list; all of it where none is named.
fn after<'r, T: 'r>(
    list: impl Iterator<Item = &'r T>,
    last: Option<&str>,
    name: impl Fn(&T) -> &str,
) -> impl Iterator<Item = &'r T> {
    let mut passed = last.is_none();
    list.filter(move |one| {
        let shown = passed;
        passed = passed || last == Some(name(one));
        shown
    })
}
