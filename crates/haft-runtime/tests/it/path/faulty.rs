//! A store that fails as a disk does: before it writes, or after it has written and before it says so.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::config::{Change, Entry, Kind, Snapshot};
use haft_core::ledger::{
    Claim, Claimed, EffectRecord, Ending, Settled, Spend, Ticket, Unspendable,
};
use haft_core::port::{
    Asking, Blocks, Boxed, CallFilter, CallStats, Checked, Condition, Configs, ConfirmationFilter,
    Confirmations, EffectFilter, Forgotten, Journal, Ledger, Put, Resolve, Sessions, Slice, Store,
    StoreError, TrailFilter, Undo,
};
use haft_core::record::{AuditEntry, Confirmation, InvocationRecord};
use haft_core::session::{Block, Session};
use haft_store::Memory;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

type Answer<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// What goes wrong once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// Nothing is written.
    Refuses,
    /// Nothing is written, and whoever asked does not know.
    LosesIt,
    /// It is written, and whoever asked does not know.
    LosesTheAnswer,
}

pub(crate) struct Faulty {
    pub(crate) inner: Arc<Memory>,
    pub(crate) claims: Mutex<VecDeque<Fault>>,
    pub(crate) settles: Mutex<VecDeque<Fault>>,
    pub(crate) takes_no_outcome: AtomicBool,
    pub(crate) claimed: AtomicUsize,
    pub(crate) settled: AtomicUsize,
    /// So often somebody else has written a session first.
    pub(crate) outrun: AtomicUsize,
    /// So often the ledger is asked for a key just before somebody claims it.
    pub(crate) early: AtomicUsize,
    /// So often it cannot be asked for a key.
    pub(crate) silent: AtomicUsize,
    /// The next claim says that it has begun, and waits to be let go.
    pub(crate) held: Mutex<Option<(Arc<Notify>, Arc<Notify>)>>,
    /// The next outcome, too.
    pub(crate) held_outcome: Mutex<Option<(Arc<Notify>, Arc<Notify>)>>,
}

impl Faulty {
    pub(crate) fn on(inner: Arc<Memory>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            claims: Mutex::default(),
            settles: Mutex::default(),
            takes_no_outcome: AtomicBool::new(false),
            claimed: AtomicUsize::new(0),
            settled: AtomicUsize::new(0),
            outrun: AtomicUsize::new(0),
            early: AtomicUsize::new(0),
            silent: AtomicUsize::new(0),
            held: Mutex::default(),
            held_outcome: Mutex::default(),
        })
    }
}

impl Faulty {
    fn is_outrun(&self) -> bool {
        once_less(&self.outrun)
    }
}

/// Whether one was left.
fn once_less(times: &AtomicUsize) -> bool {
    let left = |times: usize| times.checked_sub(1);
    times.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_ok()
}

async fn with<'a, T>(
    fault: Option<Fault>,
    step: impl FnOnce() -> Answer<'a, T>,
) -> Result<T, StoreError> {
    let lost = || StoreError::InDoubt("the answer was lost".to_owned());
    match fault {
        None => step().await,
        Some(Fault::Refuses) => Err(StoreError::Unavailable("the disk is full".to_owned())),
        Some(Fault::LosesIt) => Err(lost()),
        Some(Fault::LosesTheAnswer) => step().await.and_then(|_| Err(lost())),
    }
}

/// Says that somebody is here, and waits to be let go, where a test wants that.
async fn hold(place: &Mutex<Option<(Arc<Notify>, Arc<Notify>)>>) {
    let held = place.lock().take();
    if let Some((begun, go)) = held {
        begun.notify_one();
        go.notified().await;
    }
}

impl Ledger for Faulty {
    fn claim<'a>(&'a self, claim: Claim) -> Answer<'a, Claimed> {
        Box::pin(async move {
            hold(&self.held).await;
            let fault = self.claims.lock().pop_front();
            self.claimed.fetch_add(1, Ordering::SeqCst);
            with(fault, || self.inner.claim(claim)).await
        })
    }

    fn settle<'a>(
        &'a self,
        ticket: &'a Ticket,
        ending: Ending,
        record: Option<InvocationRecord>,
    ) -> Answer<'a, Settled> {
        Box::pin(async move {
            hold(&self.held_outcome).await;
            let fault = match self.takes_no_outcome.load(Ordering::SeqCst) {
                true => Some(Fault::Refuses),
                false => self.settles.lock().pop_front(),
            };
            self.settled.fetch_add(1, Ordering::SeqCst);
            with(fault, || self.inner.settle(ticket, ending, record)).await
        })
    }

    fn effect<'a>(&'a self, tenant: &'a str, call: &'a str) -> Answer<'a, EffectRecord> {
        self.inner.effect(tenant, call)
    }

    fn by_key<'a>(&'a self, key: &'a Digest) -> Answer<'a, EffectRecord> {
        Box::pin(async move {
            if once_less(&self.silent) {
                return Err(StoreError::Unavailable("the disk does not answer".to_owned()));
            }
            match once_less(&self.early) {
                true => Err(StoreError::Missing),
                false => self.inner.by_key(key).await,
            }
        })
    }

    fn parts<'a>(&'a self, whole: &'a EffectRecord) -> Answer<'a, Vec<EffectRecord>> {
        self.inner.parts(whole)
    }

    fn effects<'a>(&'a self, filter: EffectFilter) -> Answer<'a, Vec<EffectRecord>> {
        self.inner.effects(filter)
    }

    fn caused_with<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>> {
        self.inner.caused_with(tenant)
    }

    fn resolve<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        resolve: Resolve,
    ) -> Answer<'a, EffectRecord> {
        self.inner.resolve(tenant, call, resolve)
    }

    fn undo<'a>(&'a self, tenant: &'a str, call: &'a str, step: Undo) -> Answer<'a, EffectRecord> {
        self.inner.undo(tenant, call, step)
    }

    fn recover<'a>(&'a self) -> Answer<'a, Vec<EffectRecord>> {
        self.inner.recover()
    }

    fn purge<'a>(&'a self) -> Answer<'a, u64> {
        self.inner.purge()
    }
}

impl Journal for Faulty {
    fn record(&self, record: Box<InvocationRecord>) {
        self.inner.record(record)
    }

    fn room<'a>(&'a self) -> Boxed<'a, ()> {
        self.inner.room()
    }

    fn note<'a>(&'a self, tenant: &'a str, kind: &'a str, body: Value) -> Answer<'a, ()> {
        self.inner.note(tenant, kind, body)
    }

    fn calls<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<InvocationRecord>> {
        self.inner.calls(filter)
    }

    fn stats<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<CallStats>> {
        self.inner.stats(filter)
    }

    fn tools<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>> {
        self.inner.tools(tenant)
    }

    fn series<'a>(&'a self, filter: CallFilter, step_ms: u64) -> Answer<'a, Vec<Slice>> {
        self.inner.series(filter, step_ms)
    }

    fn audit<'a>(&'a self, from: u64, limit: usize) -> Answer<'a, Vec<AuditEntry>> {
        self.inner.audit(from, limit)
    }

    fn trail<'a>(&'a self, filter: TrailFilter) -> Answer<'a, Vec<AuditEntry>> {
        self.inner.trail(filter)
    }

    fn verify<'a>(&'a self) -> Answer<'a, Checked> {
        self.inner.verify()
    }

    fn flush<'a>(&'a self) -> Answer<'a, ()> {
        self.inner.flush()
    }
}

impl Confirmations for Faulty {
    fn ask<'a>(&'a self, asking: Asking) -> Answer<'a, Put> {
        self.inner.ask(asking)
    }

    fn confirmation<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Confirmation> {
        self.inner.confirmation(tenant, id)
    }

    fn confirmations<'a>(&'a self, filter: ConfirmationFilter) -> Answer<'a, Vec<Confirmation>> {
        self.inner.confirmations(filter)
    }

    fn decide<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        approve: bool,
        by: &'a Principal,
    ) -> Answer<'a, Confirmation> {
        self.inner.decide(tenant, id, approve, by)
    }

    fn withdraw<'a>(&'a self, tenant: &'a str, by: &'a Principal) -> Answer<'a, usize> {
        self.inner.withdraw(tenant, by)
    }

    fn spend<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        spend: &'a Spend,
    ) -> Answer<'a, Option<Unspendable>> {
        self.inner.spend(tenant, call, spend)
    }
}

impl Sessions for Faulty {
    fn session<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Session> {
        self.inner.session(tenant, id)
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Session>> {
        self.inner.sessions(tenant, after, limit)
    }

    fn save<'a>(&'a self, session: Session) -> Answer<'a, Session> {
        match self.is_outrun() {
            true => Box::pin(std::future::ready(Err(StoreError::Stale))),
            false => self.inner.save(session),
        }
    }

    fn save_answer<'a>(
        &'a self,
        session: Session,
        id: &'a str,
        answer: &'a Value,
    ) -> Answer<'a, Session> {
        match self.is_outrun() {
            true => Box::pin(std::future::ready(Err(StoreError::Stale))),
            false => self.inner.save_answer(session, id, answer),
        }
    }

    fn answer<'a>(&'a self, tenant: &'a str, session: &'a str, id: &'a str) -> Answer<'a, Value> {
        self.inner.answer(tenant, session, id)
    }
}

impl Blocks for Faulty {
    fn block<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
        for_ms: u64,
        reason: &'a str,
    ) -> Answer<'a, (Block, bool)> {
        self.inner.block(tenant, principal, for_ms, reason)
    }

    fn blocked<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
    ) -> Answer<'a, Option<Block>> {
        self.inner.blocked(tenant, principal)
    }

    fn any_blocks(&self) -> bool {
        self.inner.any_blocks()
    }

    fn unblock<'a>(&'a self, tenant: &'a str, principal: &'a Principal) -> Answer<'a, ()> {
        self.inner.unblock(tenant, principal)
    }
}

impl Configs for Faulty {
    fn entry<'a>(&'a self, kind: Kind, tenant: &'a str, id: &'a str) -> Answer<'a, Entry> {
        self.inner.entry(kind, tenant, id)
    }

    fn entries<'a>(&'a self, kind: Kind, tenant: Option<&'a str>) -> Answer<'a, Vec<Entry>> {
        self.inner.entries(kind, tenant)
    }

    fn versions<'a>(
        &'a self,
        kind: Kind,
        tenant: &'a str,
        id: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> Answer<'a, Vec<Entry>> {
        self.inner.versions(kind, tenant, id, before, limit)
    }

    fn change<'a>(&'a self, change: Change) -> Answer<'a, Entry> {
        self.inner.change(change)
    }

    fn changes<'a>(&'a self) -> Answer<'a, u64> {
        self.inner.changes()
    }

    fn snapshot<'a>(&'a self) -> Answer<'a, Snapshot> {
        self.inner.snapshot()
    }
}

impl Store for Faulty {
    fn now_ms(&self) -> i64 {
        self.inner.now_ms()
    }

    fn condition(&self) -> Condition {
        self.inner.condition()
    }

    fn is_writable(&self) -> bool {
        self.inner.is_writable()
    }

    fn trusts<'a>(&'a self, tenant: &'a str) -> Answer<'a, ()> {
        self.inner.trusts(tenant)
    }

    fn forget<'a>(&'a self, before_ms: i64) -> Answer<'a, Forgotten> {
        self.inner.forget(before_ms)
    }
}
