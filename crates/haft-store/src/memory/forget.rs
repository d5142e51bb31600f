//! Forgetting in memory.

use haft_core::Digest;
use haft_core::port::StoreError;
use serde::Deserialize;

use super::rows::Rows;
use crate::tables::{Forgets, Old, Res};
use crate::trail::Gap;

/// What an entry is about.
#[derive(Default, Deserialize)]
struct About {
    call: Option<String>,
    id: Option<String>,
}

impl Forgets for Rows {
    fn old(&mut self, from: u64, before_ms: i64, most: usize) -> Res<(Vec<Old>, bool)> {
        let newest = self.audit.last().map_or(0, |entry| entry.number);
        let mut meant = self.audit.iter().filter(|entry| {
            entry.number >= from && entry.number < newest && entry.at_ms < before_ms
        });
        let old = meant.by_ref().take(most).map(|entry| {
            let about: About = serde_json::from_str(&entry.body).unwrap_or_default();
            Old {
                number: entry.number,
                tenant: entry.tenant.clone(),
                kind: entry.kind.clone(),
                call: about.call,
                confirmation: about.id.filter(|_| entry.kind == "confirmation"),
            }
        });
        let old = old.collect();
        Ok((old, meant.next().is_some()))
    }

    fn links(&mut self, number: u64) -> Res<(Digest, Digest)> {
        let entry = self.audit.iter().find(|entry| entry.number == number);
        let entry = entry.ok_or(StoreError::Missing)?;
        Ok((entry.previous.clone(), entry.hash.clone()))
    }

    fn gap_to(&mut self, last: u64) -> Res<Option<Gap>> {
        Ok(self.gaps.values().find(|gap| gap.last == last).cloned())
    }

    fn gap_from(&mut self, first: u64) -> Res<Option<Gap>> {
        Ok(self.gaps.get(&first).cloned())
    }

    fn cut(&mut self, gap: &Gap) -> Res<u64> {
        let inside = |number: u64| (gap.first..=gap.last).contains(&number);
        self.gaps.retain(|first, _| !inside(*first));
        self.gaps.insert(gap.first, gap.clone());
        self.audit.retain(|entry| !inside(entry.number));
        let before = self.calls.len();
        self.calls.retain(|number, _| !inside(*number));
        Ok((before - self.calls.len()) as u64)
    }

    fn drop_confirmations(&mut self, before_ms: i64, _most: usize) -> Res<u64> {
        let (before, now_ms) = (self.confirmations.len(), crate::tables::Tables::now_ms(self));
        self.confirmations
            .retain(|_, one| one.asked_at_ms >= before_ms || one.expires_at_ms > now_ms);
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
