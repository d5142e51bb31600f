//! The ports on the store in SQLite.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::ledger::{
    Claim, Claimed, EffectRecord, Ending, Settled, Spend, Ticket, Unspendable,
};
use haft_core::port::{
    Asking, Blocks, Boxed, CallFilter, CallStats, Checked, Condition, ConfirmationFilter,
    Confirmations, EffectFilter, Forgotten, Journal, Ledger, Put, Resolve, Sessions, Slice, Store,
    TrailFilter, Undo,
};
use haft_core::record::{AuditEntry, Confirmation, InvocationRecord};
use haft_core::session::{Block, Session};
use serde_json::Value;

use super::writer::Recording;
use super::{Sqlite, entries, read, room};
use crate::steps;
use crate::tables::Res;

type Answer<'a, T> = Boxed<'a, Res<T>>;

impl Ledger for Sqlite {
    fn claim<'a>(&'a self, claim: Claim) -> Answer<'a, Claimed> {
        Box::pin(async move {
            self.trusting(&claim.effect.tenant).await?;
            self.write(move |tx| steps::ledger::claim(tx, &claim)).await
        })
    }

    fn settle<'a>(
        &'a self,
        ticket: &'a Ticket,
        ending: Ending,
        record: Option<InvocationRecord>,
    ) -> Answer<'a, Settled> {
        let ticket = ticket.clone();
        Box::pin(self.write(move |tx| steps::ledger::settle(tx, &ticket, &ending, record.as_ref())))
    }

    fn effect<'a>(&'a self, tenant: &'a str, call: &'a str) -> Answer<'a, EffectRecord> {
        let (tenant, call) = (tenant.to_owned(), call.to_owned());
        Box::pin(self.readers.ask(move |conn| read::effect(conn, &tenant, &call)))
    }

    fn by_key<'a>(&'a self, key: &'a Digest) -> Answer<'a, EffectRecord> {
        let key = key.raw();
        Box::pin(self.readers.ask(move |conn| read::by_key(conn, &key)))
    }

    fn parts<'a>(&'a self, whole: &'a EffectRecord) -> Answer<'a, Vec<EffectRecord>> {
        let whole = whole.clone();
        Box::pin(self.readers.ask(move |conn| read::parts(conn, &whole)))
    }

    fn effects<'a>(&'a self, filter: EffectFilter) -> Answer<'a, Vec<EffectRecord>> {
        Box::pin(self.readers.look(move |conn| read::effects(conn, &filter)))
    }

    fn caused_with<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>> {
        let tenant = tenant.to_owned();
        Box::pin(self.readers.look(move |conn| read::caused_with(conn, &tenant)))
    }

    fn resolve<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        resolve: Resolve,
    ) -> Answer<'a, EffectRecord> {
        let (tenant, call) = (tenant.to_owned(), call.to_owned());
        Box::pin(self.write(move |tx| steps::ledger::resolve(tx, &tenant, &call, &resolve)))
    }

    fn undo<'a>(&'a self, tenant: &'a str, call: &'a str, step: Undo) -> Answer<'a, EffectRecord> {
        let (tenant, call) = (tenant.to_owned(), call.to_owned());
        Box::pin(self.write(move |tx| steps::ledger::undo(tx, &tenant, &call, &step)))
    }

    fn recover<'a>(&'a self) -> Answer<'a, Vec<EffectRecord>> {
        Box::pin(async move {
            // Asked every second, and mostly there is nothing: reading that makes nobody wait.
            let (owner, now_ms) = (self.owner, self.shared.clock.now_ms());
            match self.readers.ask(move |conn| read::any_left(conn, owner, now_ms)).await? {
                true => self.write(|tx| steps::ledger::recover(tx)).await,
                false => Ok(Vec::new()),
            }
        })
    }

    fn purge<'a>(&'a self) -> Answer<'a, u64> {
        Box::pin(async move {
            let mut gone = 0;
            loop {
                let (went, more) = self.write(|tx| steps::ledger::purge(tx)).await?;
                gone += went;
                if !more {
                    return Ok(gone);
                }
            }
        })
    }
}

impl Journal for Sqlite {
    fn record(&self, record: Box<InvocationRecord>) {
        let task = Box::new(Recording::new(record, Arc::clone(&self.shared)));
        let taken = self.queue.as_ref().map(|it| it.try_send(task));
        if !matches!(taken, Some(Ok(()))) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn room<'a>(&'a self) -> Boxed<'a, ()> {
        Box::pin(async move {
            if let Some(queue) = &self.queue {
                // Given back at once: whoever comes first takes it.
                let _ = queue.reserve().await;
            }
        })
    }

    fn note<'a>(&'a self, tenant: &'a str, kind: &'a str, body: Value) -> Answer<'a, ()> {
        let (tenant, kind) = (tenant.to_owned(), kind.to_owned());
        Box::pin(self.write(move |tx| steps::journal::note(tx, &tenant, &kind, &body)))
    }

    fn calls<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<InvocationRecord>> {
        Box::pin(self.readers.look(move |conn| read::calls(conn, &filter)))
    }

    fn tools<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>> {
        let tenant = tenant.to_owned();
        Box::pin(self.readers.look(move |conn| read::tools(conn, &tenant)))
    }

    fn stats<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<CallStats>> {
        Box::pin(self.readers.look(move |conn| read::stats(conn, &filter)))
    }

    fn series<'a>(&'a self, filter: CallFilter, step_ms: u64) -> Answer<'a, Vec<Slice>> {
        Box::pin(self.readers.look(move |conn| read::series(conn, &filter, step_ms)))
    }

    fn trail<'a>(&'a self, filter: TrailFilter) -> Answer<'a, Vec<AuditEntry>> {
        Box::pin(self.readers.look(move |conn| entries::trail(conn, &filter)))
    }

    fn verify<'a>(&'a self) -> Answer<'a, Checked> {
        Box::pin(self.verify_aside())
    }

    fn audit<'a>(&'a self, from: u64, limit: usize) -> Answer<'a, Vec<AuditEntry>> {
        Box::pin(self.readers.look(move |conn| read::audit(conn, from, limit)))
    }

    fn flush<'a>(&'a self) -> Answer<'a, ()> {
        // Whatever was queued before is written in the same transaction or in an earlier one.
        Box::pin(self.write(|_| Ok(())))
    }
}

impl Confirmations for Sqlite {
    fn ask<'a>(&'a self, asking: Asking) -> Answer<'a, Put> {
        Box::pin(self.write(move |tx| steps::confirmations::ask(tx, &asking)))
    }

    fn confirmation<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Confirmation> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        Box::pin(self.readers.ask(move |conn| read::confirmation(conn, &tenant, &id)))
    }

    fn confirmations<'a>(&'a self, filter: ConfirmationFilter) -> Answer<'a, Vec<Confirmation>> {
        Box::pin(self.readers.ask(move |conn| read::confirmations(conn, &filter)))
    }

    fn decide<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        approve: bool,
        by: &'a Principal,
    ) -> Answer<'a, Confirmation> {
        let (tenant, id, by) = (tenant.to_owned(), id.to_owned(), by.clone());
        Box::pin(self.write(move |tx| steps::confirmations::decide(tx, &tenant, &id, approve, &by)))
    }

    fn withdraw<'a>(&'a self, tenant: &'a str, by: &'a Principal) -> Answer<'a, usize> {
        let (tenant, by) = (tenant.to_owned(), by.clone());
        Box::pin(self.write(move |tx| steps::confirmations::withdraw(tx, &tenant, &by)))
    }

    fn spend<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        spend: &'a Spend,
    ) -> Answer<'a, Option<Unspendable>> {
        let (tenant, call, spend) = (tenant.to_owned(), call.to_owned(), spend.clone());
        Box::pin(self.write(move |tx| steps::ledger::spend(tx, &tenant, &call, &spend)))
    }
}

impl Sessions for Sqlite {
    fn session<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Session> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        Box::pin(self.readers.ask(move |conn| read::session(conn, &tenant, &id)))
    }

    fn sessions<'a>(
        &'a self,
        tenant: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Session>> {
        let (tenant, after) = (tenant.to_owned(), after.map(str::to_owned));
        Box::pin(
            self.readers.look(move |conn| read::sessions(conn, &tenant, after.as_deref(), limit)),
        )
    }

    fn save<'a>(&'a self, session: Session) -> Answer<'a, Session> {
        Box::pin(self.write(move |tx| steps::sessions::save(tx, session.clone())))
    }

    fn save_answer<'a>(
        &'a self,
        session: Session,
        id: &'a str,
        answer: &'a Value,
    ) -> Answer<'a, Session> {
        let (id, answer) = (id.to_owned(), answer.clone());
        Box::pin(
            self.write(move |tx| steps::sessions::save_answer(tx, session.clone(), &id, &answer)),
        )
    }

    fn answer<'a>(&'a self, tenant: &'a str, session: &'a str, id: &'a str) -> Answer<'a, Value> {
        let (tenant, session, id) = (tenant.to_owned(), session.to_owned(), id.to_owned());
        Box::pin(self.readers.ask(move |conn| read::answer(conn, &tenant, &session, &id)))
    }
}

impl Blocks for Sqlite {
    fn block<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
        for_ms: u64,
        reason: &'a str,
    ) -> Answer<'a, (Block, bool)> {
        let (tenant, principal, reason) = (tenant.to_owned(), principal.clone(), reason.to_owned());
        Box::pin(async move {
            self.shared.expect_blocks()?;
            self.write(move |tx| steps::sessions::block(tx, &tenant, &principal, for_ms, &reason))
                .await
        })
    }

    fn blocked<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
    ) -> Answer<'a, Option<Block>> {
        let (tenant, principal) = (tenant.to_owned(), principal.clone());
        let now_ms = self.shared.clock.now_ms();
        Box::pin(self.readers.ask(move |conn| read::blocked(conn, &tenant, &principal, now_ms)))
    }

    fn any_blocks(&self) -> bool {
        self.shared.any_blocks()
    }

    fn unblock<'a>(&'a self, tenant: &'a str, principal: &'a Principal) -> Answer<'a, ()> {
        let (tenant, principal) = (tenant.to_owned(), principal.clone());
        Box::pin(self.write(move |tx| steps::sessions::unblock(tx, &tenant, &principal)))
    }
}

impl Store for Sqlite {
    fn now_ms(&self) -> i64 {
        self.shared.clock.now_ms()
    }

    fn is_writable(&self) -> bool {
        self.shared.is_writable()
    }

    fn has_room<'a>(&'a self) -> Answer<'a, bool> {
        let (path, most_pages) = (self.path.clone(), self.shared.most_pages());
        Box::pin(self.readers.ask(move |conn| Ok(room::any(conn, &path, most_pages))))
    }

    fn trusts<'a>(&'a self, tenant: &'a str) -> Answer<'a, ()> {
        Box::pin(self.trusting(tenant))
    }

    fn condition(&self) -> Condition {
        Condition {
            dropped: self.dropped(),
            clock_off_ms: self.shared.clock.off_ms(),
            check_due: self.shared.is_check_due(),
        }
    }

    fn forget<'a>(&'a self, before_ms: i64) -> Answer<'a, Forgotten> {
        Box::pin(self.forget_some(self.shared.clock.before(before_ms)))
    }
}
