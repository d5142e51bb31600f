//! The tables of the store in memory: plain maps, no locks, no waiting.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::config::{Entry, Kind};
use haft_core::ledger::{Claim, EffectRecord, Ending, Keep, State};
use haft_core::port::StoreError;
use haft_core::record::{AuditEntry, Confirmation, ConfirmationStatus, InvocationRecord};
use haft_core::session::{Block, Session};

use super::configs::Things;
use crate::clock::Times;
use crate::machine::{self, Head, Owner, later};
use crate::steps;
use crate::steps::ledger::drop_body;
use crate::steps::proof::Stored;
use crate::tables::{Due, Res, Tables};
use crate::trail::{Gap, Link};

/// At most so many records of calls wait for somebody to look. They are what a processor keeps at hand:
/// with more, each call is recorded where nothing was for long, and takes longer for it.
const WAITING: usize = 1_024;

#[derive(Default)]
pub(crate) struct Rows {
    asking: Owner,
    now_ms: i64,
    trusted_ms: i64,
    alive: HashSet<Owner>,
    joined: u64,
    last_id: i64,
    pub(super) effects: BTreeMap<i64, Row>,
    /// Those that are started or unknown: few, and looked through by every claim.
    open: BTreeSet<i64>,
    by_key: HashMap<[u8; 32], i64>,
    by_call: HashMap<(String, String), i64>,
    pub(super) confirmations: BTreeMap<(String, String), Confirmation>,
    pub(super) sessions: HashMap<(String, String), Session>,
    /// When each was written last.
    pub(super) touched: HashMap<(String, String), i64>,
    /// The answers of calls in each, by the order in which they came.
    pub(super) answers: HashMap<(String, String), BTreeMap<i64, (String, String)>>,
    pub(super) blocks: HashMap<(String, Principal), Block>,
    pub(super) things: Things,
    link: Link,
    pub(super) audit: Vec<AuditEntry>,
    pub(super) gaps: BTreeMap<u64, Gap>,
    /// By their entries in the trail.
    pub(super) calls: BTreeMap<u64, InvocationRecord>,
    waiting: VecDeque<(i64, Box<InvocationRecord>)>,
}

impl Rows {
    /// Drops what is a tenant's own, but for what the trail has of it.
    fn shred(&mut self, tenant: &str) {
        self.by_call.retain(|(of, _), _| of != tenant);
        self.effects.retain(|_, row| row.record.effect.tenant != tenant);
        let effects = &self.effects;
        self.open.retain(|id| effects.contains_key(id));
        self.by_key.retain(|_, id| effects.contains_key(id));
        self.confirmations.retain(|(of, _), _| of != tenant);
        self.sessions.retain(|(of, _), _| of != tenant);
        self.touched.retain(|(of, _), _| of != tenant);
        self.answers.retain(|(of, _), _| of != tenant);
        self.blocks.retain(|(of, _), _| of != tenant);
        self.calls.retain(|_, record| *record.tenant != *tenant);
    }
}

/// An effect, and what the rules need to know besides its record.
pub(super) struct Row {
    pub(super) record: EffectRecord,
    act: [u8; 32],
    deed: [u8; 32],
    owner: Owner,
    lease_until_ms: i64,
    keep: Keep,
    due_at_ms: Option<i64>,
}

impl Row {
    fn head(&self, id: i64) -> Head {
        Head {
            id,
            tenant: self.record.effect.tenant.clone(),
            call: self.record.effect.call.clone(),
            key: self.record.key.raw(),
            fingerprint: self.record.fingerprint.raw(),
            state: self.record.state,
            epoch: self.record.epoch,
            class: self.record.effect.policy,
            owner: self.owner,
            lease_until_ms: self.lease_until_ms,
            keep: self.keep,
        }
    }
}

impl Rows {
    /// A new owner.
    pub(crate) fn join(&mut self) -> Owner {
        self.joined += 1;
        let owner = u128::from(self.joined).to_be_bytes();
        self.alive.insert(owner);
        owner
    }

    pub(crate) fn leave(&mut self, owner: Owner) {
        self.alive.remove(&owner);
    }

    pub(crate) fn handles(&self) -> usize {
        self.alive.len()
    }

    /// Whoever asks next, and when.
    pub(crate) fn begin(&mut self, owner: Owner, times: Times) {
        self.asking = owner;
        (self.now_ms, self.trusted_ms) = (times.now, times.sure);
    }

    /// Takes a record for later; returns how many had to go. It says itself when its call ended, so the
    /// clock need not be asked again. What comes later is no earlier in the trail, whatever it says.
    pub(super) fn keep_for_later(&mut self, record: Box<InvocationRecord>) -> u64 {
        let full = self.waiting.len() >= WAITING;
        if full {
            self.waiting.pop_front();
        }
        let took_ms = i64::try_from(record.duration_us / 1_000).unwrap_or(i64::MAX);
        let ended_ms = record.started_at_ms.saturating_add(took_ms);
        let least_ms = self.waiting.back().map_or(self.now_ms, |(at_ms, _)| *at_ms);
        self.waiting.push_back((ended_ms.max(least_ms), record));
        u64::from(full)
    }

    /// Puts the records that wait into the trail.
    pub(super) fn catch_up(&mut self) -> Res<()> {
        let now_ms = self.now_ms;
        while let Some((at_ms, record)) = self.waiting.pop_front() {
            self.now_ms = at_ms.min(now_ms);
            steps::journal::record(self, &record)?;
        }
        self.now_ms = now_ms;
        Ok(())
    }

    /// Whether the end of every effect is known.
    pub(super) fn is_settled(&self) -> bool {
        self.open.is_empty()
    }

    fn open_heads(&self, meant: impl Fn(&Row) -> bool) -> Vec<Head> {
        let open = self.open.iter().filter_map(|id| Some((*id, self.effects.get(id)?)));
        open.filter(|(_, row)| meant(row)).map(|(id, row)| row.head(id)).collect()
    }

    fn track(&mut self, id: i64, state: State) {
        if matches!(state, State::Started | State::Unknown) {
            self.open.insert(id);
        } else {
            self.open.remove(&id);
        }
    }

    fn row(&mut self, id: i64) -> Res<&mut Row> {
        self.effects.get_mut(&id).ok_or(StoreError::Missing)
    }

    fn remove(&mut self, id: i64) {
        self.open.remove(&id);
        if let Some(row) = self.effects.remove(&id) {
            self.by_key.remove(&row.record.key.raw());
            let effect = row.record.effect;
            self.by_call.remove(&(effect.tenant, effect.call));
        }
    }
}

fn key_of(session: &Session) -> (String, String) {
    (session.tenant.clone(), session.id.clone())
}

impl Tables for Rows {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn is_alive(&mut self, owner: Owner) -> bool {
        self.alive.contains(&owner)
    }

    fn head(&mut self, key: &[u8; 32]) -> Res<Option<Head>> {
        let id = self.by_key.get(key);
        Ok(id.and_then(|id| self.effects.get(id).map(|row| row.head(*id))))
    }

    fn head_of_call(&mut self, tenant: &str, call: &str) -> Res<Option<Head>> {
        let id = self.by_call.get(&(tenant.to_owned(), call.to_owned()));
        Ok(id.and_then(|id| self.effects.get(id).map(|row| row.head(*id))))
    }

    fn effect(&mut self, id: i64) -> Res<EffectRecord> {
        Ok(self.row(id)?.record.clone())
    }

    fn stored(&mut self, _: i64) -> Res<Option<Stored>> {
        Ok(None)
    }

    fn open_acts(&mut self, tenant: &str, act: &[u8; 32]) -> Res<Vec<Head>> {
        let same = |row: &Row| row.act == *act && row.record.effect.tenant == tenant;
        Ok(self.open_heads(same))
    }

    fn open_deeds(&mut self, tenant: &str, deed: &[u8; 32]) -> Res<Vec<Head>> {
        let same = |row: &Row| row.deed == *deed && row.record.effect.tenant == tenant;
        Ok(self.open_heads(same))
    }

    fn has_open(&mut self, tenant: &str) -> Res<bool> {
        let mut own = self.effects.values().filter(|row| row.record.effect.tenant == tenant);
        Ok(own.any(|row| !machine::may_be_forgotten(row.record.state)))
    }

    fn started_and_left(&mut self) -> Res<Vec<Head>> {
        let (asking, now_ms) = (self.asking, self.now_ms);
        let left = |row: &Row| row.owner != asking || row.lease_until_ms <= now_ms;
        Ok(self.open_heads(|row| row.record.state == State::Started && left(row)))
    }

    fn due(&mut self, limit: usize) -> Res<Vec<(i64, Due)>> {
        let now_ms = self.trusted_ms;
        let due =
            self.effects.iter().filter(|(_, row)| row.due_at_ms.is_some_and(|at| at <= now_ms));
        let what = |row: &Row| {
            let ended = row.record.ended_at_ms.unwrap_or_default();
            let entry_at_ms = later(ended, row.keep.key_ms);
            if entry_at_ms <= now_ms { Due::Entry } else { Due::Body { entry_at_ms } }
        };
        Ok(due.take(limit).map(|(id, row)| (*id, what(row))).collect())
    }

    fn start(&mut self, claim: &Claim, epoch: u64) -> Res<i64> {
        let key = claim.key.raw();
        if let Some(earlier) = self.by_key.get(&key) {
            self.remove(*earlier);
        }
        self.last_id += 1;
        let id = self.last_id;
        self.by_key.insert(key, id);
        let effect = &claim.effect;
        self.by_call.insert((effect.tenant.clone(), effect.call.clone()), id);
        let record = EffectRecord {
            effect: effect.clone(),
            key: claim.key.clone(),
            fingerprint: claim.fingerprint.clone(),
            state: State::Started,
            epoch,
            started_at_ms: self.now_ms,
            ended_at_ms: None,
            result: None,
            error: None,
            intents: Vec::new(),
            confirmation: claim.confirmation.as_ref().map(|spend| spend.id.clone()),
            resolution: None,
            compensation_id: None,
            compensation_result: None,
        };
        let row = Row {
            record,
            act: claim.act.raw(),
            deed: claim.deed.raw(),
            owner: self.asking,
            lease_until_ms: later(self.now_ms, claim.lease_ms),
            keep: claim.keep,
            due_at_ms: None,
        };
        self.effects.insert(id, row);
        self.open.insert(id);
        Ok(id)
    }

    fn end(&mut self, head: &Head, ending: &Ending, due_at_ms: Option<i64>) -> Res<()> {
        let now_ms = self.now_ms;
        let row = self.row(head.id)?;
        row.record.state = ending.state;
        row.record.ended_at_ms = Some(now_ms);
        row.record.result.clone_from(&ending.result);
        row.record.error.clone_from(&ending.error);
        row.record.intents.clone_from(&ending.intents);
        row.due_at_ms = due_at_ms;
        self.track(head.id, ending.state);
        Ok(())
    }

    fn put_effect(&mut self, id: i64, record: &EffectRecord, due_at_ms: Option<i64>) -> Res<()> {
        let row = self.row(id)?;
        row.record = record.clone();
        row.due_at_ms = due_at_ms;
        self.track(id, record.state);
        Ok(())
    }

    fn forget(&mut self, id: i64, what: Due) -> Res<()> {
        match what {
            Due::Entry => self.remove(id),
            Due::Body { entry_at_ms } => {
                let row = self.row(id)?;
                drop_body(&mut row.record);
                row.due_at_ms = Some(entry_at_ms);
            }
        }
        Ok(())
    }

    fn confirmation(&mut self, tenant: &str, id: &str) -> Res<Option<Confirmation>> {
        Ok(self.confirmations.get(&(tenant.to_owned(), id.to_owned())).cloned())
    }

    fn bound(&mut self, tenant: &str, binding: &[u8; 32]) -> Res<Vec<Confirmation>> {
        let binding = Digest::from_raw(binding);
        let same = |one: &&Confirmation| one.tenant == tenant && one.binding == binding;
        Ok(self.confirmations.values().filter(same).cloned().collect())
    }

    fn approved(&mut self, tenant: &str) -> Res<Vec<Confirmation>> {
        let meant = |one: &&Confirmation| {
            one.tenant == tenant && one.status == ConfirmationStatus::Approved
        };
        Ok(self.confirmations.values().filter(meant).cloned().collect())
    }

    fn waiting(&mut self, tenant: &str, asker: &[u8; 32], after_ms: i64) -> Res<usize> {
        let meant = |one: &&Confirmation| {
            let is_open = one.status == ConfirmationStatus::Pending;
            one.tenant == tenant
                && is_open
                && one.asked_at_ms > after_ms
                && steps::confirmations::asker(one) == *asker
        };
        Ok(self.confirmations.values().filter(meant).count())
    }

    fn is_approved(&mut self, confirmation: &Confirmation) -> Res<bool> {
        // Nobody edits what is in memory.
        Ok(confirmation.status == ConfirmationStatus::Approved)
    }

    fn put_confirmation(&mut self, confirmation: &Confirmation) -> Res<()> {
        let key = (confirmation.tenant.clone(), confirmation.id.clone());
        self.confirmations.insert(key, confirmation.clone());
        Ok(())
    }

    fn revision(&mut self, tenant: &str, session: &str) -> Res<Option<u64>> {
        let key = (tenant.to_owned(), session.to_owned());
        Ok(self.sessions.get(&key).map(|session| session.revision))
    }

    fn session(&mut self, tenant: &str, id: &str) -> Res<Option<Session>> {
        Ok(self.sessions.get(&(tenant.to_owned(), id.to_owned())).cloned())
    }

    fn put_session(&mut self, session: &Session) -> Res<()> {
        let key = key_of(session);
        self.touched.insert(key.clone(), self.now_ms);
        self.sessions.insert(key, session.clone());
        Ok(())
    }

    fn put_answer(&mut self, session: &Session, call: &str, body: String) -> Res<()> {
        let kept = self.answers.entry(key_of(session)).or_default();
        kept.retain(|_, (one, _)| one != call);
        let place = kept.last_key_value().map_or(0, |(last, _)| last + 1);
        kept.insert(place, (call.to_owned(), body));
        Ok(())
    }

    fn answers(&mut self, session: &Session) -> Res<Vec<(i64, String, usize)>> {
        let kept = self.answers.get(&key_of(session)).into_iter().flatten().rev();
        Ok(kept.map(|(place, (call, body))| (*place, call.clone(), body.len())).collect())
    }

    fn drop_answer(&mut self, session: &Session, place: i64) -> Res<()> {
        if let Some(kept) = self.answers.get_mut(&key_of(session)) {
            kept.remove(&place);
        }
        Ok(())
    }

    fn block(&mut self, tenant: &str, principal: &Principal) -> Res<Option<Block>> {
        Ok(self.blocks.get(&(tenant.to_owned(), principal.clone())).cloned())
    }

    fn put_block(&mut self, block: &Block) -> Res<()> {
        self.blocks.insert((block.tenant.clone(), block.principal.clone()), block.clone());
        Ok(())
    }

    fn drop_block(&mut self, tenant: &str, principal: &Principal) -> Res<bool> {
        Ok(self.blocks.remove(&(tenant.to_owned(), principal.clone())).is_some())
    }

    fn config(&mut self, kind: Kind, tenant: &str, id: &str) -> Res<Option<(u64, Option<Entry>)>> {
        Ok(self.things.find(kind, tenant, id))
    }

    fn put_config(&mut self, entry: &Entry, removed: bool) -> Res<()> {
        self.things.put(entry, removed);
        if removed && entry.kind == Kind::Tenant {
            self.shred(&entry.id);
        }
        Ok(())
    }

    fn append(&mut self, tenant: &str, kind: &str, body: String) -> Res<u64> {
        let entry = self.link.next(self.now_ms, tenant, kind, body);
        self.audit.push(entry);
        Ok(self.link.number)
    }

    fn put_call(&mut self, number: u64, record: &InvocationRecord) -> Res<()> {
        self.calls.insert(number, record.clone());
        Ok(())
    }
}
