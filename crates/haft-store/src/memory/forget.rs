//! Forgetting in memory.

use std::collections::HashSet;

use haft_core::record::AuditEntry;
use haft_core::registry::PublicKey;

use super::rows::Rows;
use crate::tables::{Cut, Forgets, Looked, Res, Tables as _};
use crate::trail::{Gap, Link};

impl Forgets for Rows {
    fn old(&mut self, from: u64, before_ms: i64, most: usize) -> Res<(Vec<AuditEntry>, bool)> {
        let newest = self.audit.last().map_or(0, |entry| entry.number);
        let mut meant = self.audit.iter().filter(|entry| {
            entry.number >= from && entry.number < newest && entry.at_ms < before_ms
        });
        let old = meant.by_ref().take(most).cloned().collect();
        Ok((old, meant.next().is_some()))
    }

    fn link(&mut self, number: u64) -> Res<Option<Link>> {
        let entry = self.audit.iter().find(|entry| entry.number == number);
        Ok(entry.map(|entry| Link { number, hash: entry.hash.clone() }))
    }

    fn gaps(&mut self, from: u64, to: u64) -> Res<Vec<Gap>> {
        let before = self.gaps.range(..from).next_back();
        let between = self.gaps.range(from..=to.max(from));
        Ok(before.into_iter().chain(between).map(|(_, gap)| gap.clone()).collect())
    }

    fn looked(&mut self, _: &PublicKey) -> Res<Looked> {
        Ok(Looked::default())
    }

    fn cut(&mut self, cut: &Cut) -> Res<u64> {
        let goes = |number: u64| (cut.first..=cut.last).contains(&number);
        self.gaps.retain(|first, _| !cut.joined.contains(first));
        self.gaps.insert(cut.gap.first, cut.gap.clone());
        self.audit.retain(|entry| !goes(entry.number));
        let before = self.calls.len();
        self.calls.retain(|number, _| !goes(*number));
        Ok((before - self.calls.len()) as u64)
    }

    fn is_in_ledger(&mut self, tenant: &str, confirmation: &str) -> Res<bool> {
        Ok(self.effects.values().any(|row| {
            let spent = row.record.confirmation.as_deref();
            row.record.effect.tenant == tenant && spent == Some(confirmation)
        }))
    }

    fn is_last_on_grants(&mut self, _: &AuditEntry) -> Res<bool> {
        // Connections in memory are on record nowhere.
        Ok(false)
    }

    fn drop_confirmations(&mut self, before_ms: i64, _most: usize) -> Res<u64> {
        let (before, now_ms) = (self.confirmations.len(), self.now_ms());
        let effects = self.effects.values().map(|row| &row.record);
        let in_ledger: HashSet<_> = effects
            .filter_map(|one| Some((one.effect.tenant.clone(), one.confirmation.clone()?)))
            .collect();
        self.confirmations.retain(|key, one| {
            let open = one.asked_at_ms >= before_ms || one.expires_at_ms > now_ms;
            open || in_ledger.contains(key)
        });
        Ok((before - self.confirmations.len()) as u64)
    }

    fn drop_sessions(&mut self, from: i64, before_ms: i64, _most: usize) -> Res<(u64, i64, bool)> {
        let before = self.sessions.len();
        let (touched, effects) = (&self.touched, &self.effects);
        self.sessions.retain(|key, session| {
            let used = touched.get(key).is_some_and(|at_ms| *at_ms >= before_ms);
            let in_ledger = effects.values().any(|row| {
                let effect = &row.record.effect;
                effect.tenant == key.0 && effect.session.as_ref() == Some(&key.1)
            });
            used || in_ledger || session.created_at_ms >= before_ms
        });
        self.touched.retain(|key, _| self.sessions.contains_key(key));
        self.answers.retain(|key, _| self.sessions.contains_key(key));
        Ok(((before - self.sessions.len()) as u64, from, false))
    }
}
