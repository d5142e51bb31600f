//! The steps of forgetting what is old.
//!
//! What is forgotten leaves a gap in the audit trail: a signed statement of which entries were there
//! and what they stood between, so that the chain can be checked across it and nobody else can make
//! one. Only what is as it was written is signed for: a trail that was touched does not become one
//! in order by being forgotten.

use std::collections::{BTreeMap, HashSet};

use haft_core::Digest;
use haft_core::port::{Forgotten, StoreError};
use haft_core::record::{AuditEntry, ConfirmationStatus};
use haft_core::registry::SigningKey;
use serde::Deserialize;

use super::configs::SHRED;
use super::journal::{ACKNOWLEDGE, SIGNING};
use super::proof::Proof;
use crate::tables::{Cut, Forgets, Looked, Res};
use crate::trail::{Broken, Chain, Fault, Gap, Link, Signed};

/// At most so many entries are forgotten in one transaction, so that nobody waits long behind it.
pub(crate) const AT_ONCE: usize = 64;

pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How far the steps before have come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hand {
    entry: u64,
    session: i64,
    begun_ms: i64,
    /// The keys of effects of which the last word that was left behind says that they have to be there.
    open: HashSet<Digest>,
}

impl Hand {
    /// After a day it begins at the start again: what had to be kept then may go now.
    fn at(self, now_ms: i64) -> Self {
        match now_ms - self.begun_ms < DAY_MS {
            true => self,
            false => Self { begun_ms: now_ms, ..Self::default() },
        }
    }
}

/// What is to be forgotten, and what was signed of it.
pub(crate) struct Order<'a> {
    pub(crate) before_ms: i64,
    pub(crate) most: usize,
    pub(crate) key: &'a SigningKey,
    pub(crate) checkpoints: &'a Signed,
}

/// Refuses to forget by a time that is far ahead of the machine's: it stands in the database, where
/// somebody without the key could have put it.
pub(crate) fn in_time(lead_ms: i64) -> Res<()> {
    if lead_ms <= DAY_MS {
        return Ok(());
    }
    Err(StoreError::WrongState(format!(
        "the store's time is {} days ahead of the machine's clock, and nothing is forgotten \
         meanwhile; look whether that clock is right, or whether somebody has set the store's",
        lead_ms / DAY_MS
    )))
}

/// Forgets some of what is older than this. Returns how far it came; or what is wrong with the
/// trail and nobody has looked at, and then nothing was forgotten.
pub(crate) fn some(
    on: &mut impl Forgets,
    hand: Hand,
    order: &Order<'_>,
) -> Res<Result<(Forgotten, Hand), Broken>> {
    let (before_ms, most) = (order.before_ms, order.most);
    let mut hand = hand.at(on.now_ms());
    let (old, more_entries) = on.old(hand.entry, before_ms, most)?;
    // All of it is checked before anything goes.
    let cuts = match cuts(on, &old, &mut hand.open, order)? {
        Ok(cuts) => cuts,
        Err(broken) => return Ok(Err(broken)),
    };
    let mut went = Forgotten::default();
    for cut in &cuts {
        went.entries += cut.last - cut.first + 1;
        went.calls += on.cut(cut)?;
    }
    hand.entry = old.last().map_or(hand.entry, |entry| entry.number.saturating_add(1));
    went.confirmations = on.drop_confirmations(before_ms, most)?;
    let (sessions, next, more_sessions) = on.drop_sessions(hand.session, before_ms, most)?;
    (went.sessions, hand.session) = (sessions, next);
    went.more = more_entries || more_sessions || went.confirmations >= most as u64;
    Ok(Ok((went, hand)))
}

/// What an entry is about. It could be anything once somebody has touched it.
#[derive(Default, Deserialize)]
struct About {
    call: Option<String>,
    id: Option<String>,
}

/// Changes of what is configured are what it is checked against; that a tenant was removed is what hides
/// the changes before from whoever is called so later; the last word on who may use a connection is what its grants are
/// checked against; what says anything of an effect in
/// the ledger, who approved it among it, is what that is checked against.
fn may_go(on: &mut impl Forgets, entry: &AuditEntry) -> Res<bool> {
    if matches!(entry.kind.as_str(), "config" | ACKNOWLEDGE | SIGNING | SHRED) {
        return Ok(false);
    }
    if entry.kind == "connection" {
        return on.is_last_on_grants(entry).map(|last| !last);
    }
    let about: About = serde_json::from_str(&entry.body).unwrap_or_default();
    if let Some(call) = &about.call
        && on.head_of_call(&entry.tenant, call)?.is_some()
    {
        return Ok(false);
    }
    let Some(id) = about.id.filter(|_| entry.kind == "confirmation") else { return Ok(true) };
    if on.is_in_ledger(&entry.tenant, &id)? {
        return Ok(false);
    }
    let now_ms = on.now_ms();
    let asked = on.confirmation(&entry.tenant, &id)?;
    Ok(asked
        .is_none_or(|one| one.status == ConfirmationStatus::Spent || one.expires_at_ms <= now_ms))
}

/// Whether an entry goes. How an effect ended stays while an older word says that the effect has to be
/// there, although it has gone from the ledger since: alone, that word would tell of a removal.
fn goes(on: &mut impl Forgets, entry: &AuditEntry, open: &mut HashSet<Digest>) -> Res<bool> {
    let Some(proof) = Proof::told_by(entry) else { return may_go(on, entry) };
    if !open.contains(&proof.key) && may_go(on, entry)? {
        return Ok(true);
    }
    match proof.forget_at_ms {
        None => open.insert(proof.key),
        Some(_) => open.remove(&proof.key),
    };
    Ok(false)
}

/// What to cut out of old entries. Of what is wrong, what a person has looked at stays for ever, so
/// that it is still told; the first of the rest ends it.
fn cuts(
    on: &mut impl Forgets,
    old: &[AuditEntry],
    open: &mut HashSet<Digest>,
    order: &Order<'_>,
) -> Res<Result<Vec<Cut>, Broken>> {
    let (Some(first), Some(last)) = (old.first(), old.last()) else { return Ok(Ok(Vec::new())) };
    let beside = on.gaps(first.number, last.number.saturating_add(1))?;
    let signed = order.checkpoints.range(first.number..=last.number.max(first.number));
    let signed: Signed = signed.map(|(number, one)| (*number, one.clone())).collect();
    let start = start(on, first.number, &beside)?;
    let mut chain = Chain::from(start, signed, beside.clone());
    let mut joint = Joint {
        looked: on.looked(&order.key.public())?,
        now_ms: on.now_ms(),
        order,
        gaps: beside.into_iter().map(|gap| (gap.first, gap)).collect(),
    };
    let (mut cuts, mut run) = (Vec::new(), None);
    for entry in old {
        let goes = match chain.take(entry) {
            Ok(()) => goes(on, entry, open)?,
            Err(broken) if joint.is_known(&broken, entry) => false,
            Err(broken) => return Ok(Err(broken)),
        };
        run = match run {
            Some((first, last)) if goes && follows(last, entry) => Some((first, entry)),
            before => {
                match joint.cut(before) {
                    Ok(cut) => cuts.extend(cut),
                    Err(broken) => return Ok(Err(broken)),
                }
                goes.then_some((entry, entry))
            }
        };
    }
    Ok(joint.cut(run).map(|cut| {
        cuts.extend(cut);
        cuts
    }))
}

fn follows(last: &AuditEntry, entry: &AuditEntry) -> bool {
    last.number.checked_add(1) == Some(entry.number)
}

/// From where the chain is checked up to an entry: from the entry before it, or from before the gap
/// that ends there. Where there is neither, the one before it is missing.
fn start(on: &mut impl Forgets, number: u64, gaps: &[Gap]) -> Res<Link> {
    if number <= 1 {
        return Ok(Link::default());
    }
    if let Some(link) = on.link(number - 1)? {
        return Ok(link);
    }
    Ok(match gaps.iter().find(|gap| gap.last == number - 1) {
        Some(gap) => Link { number: gap.first.saturating_sub(1), hash: gap.previous.clone() },
        None => Link { number: number - 2, ..Link::default() },
    })
}

/// Where cuts meet the gaps beside them.
struct Joint<'a> {
    looked: Looked,
    now_ms: i64,
    order: &'a Order<'a>,
    /// By their first entries, those of the cuts before included.
    gaps: BTreeMap<u64, Gap>,
}

impl Joint<'_> {
    /// Whether a person has looked at a fault that this entry, or a gap before it, came with.
    fn is_known(&self, broken: &Broken, entry: &AuditEntry) -> bool {
        let number = broken.number;
        let forgotten = || self.gaps.values().find(|gap| gap.last == number).map(|gap| &gap.hash);
        let stands = (entry.number == number).then_some(&entry.hash).or_else(forgotten);
        let old_heads = || {
            let signed = self.order.checkpoints.get(&number).into_iter().flatten();
            let mut differing = signed.filter(|one| Some(&one.hash) != stands);
            differing.all(|one| one.at_ms <= self.looked.at_ms)
        };
        number <= self.looked.number || broken.fault == Fault::Rewritten && old_heads()
    }

    /// Cuts entries out that follow one another, and joins the gap with those beside it.
    fn cut(&mut self, run: Option<(&AuditEntry, &AuditEntry)>) -> Result<Option<Cut>, Broken> {
        let Some((first, last)) = run else { return Ok(None) };
        let (mut from, mut previous) = (first.number, first.previous.clone());
        let mut end = Link { number: last.number, hash: last.hash.clone() };
        let mut joined = Vec::new();
        let left = self.gaps.range(..from).next_back().map(|(_, gap)| gap.clone());
        if let Some(left) = left.filter(|gap| gap.last.checked_add(1) == Some(from))
            && self.is_ours(&left, left.hash == previous)?
        {
            joined.push(left.first);
            (from, previous) = (left.first, left.previous);
        }
        let right = end.number.checked_add(1).and_then(|next| self.gaps.get(&next)).cloned();
        if let Some(right) = right
            && self.is_ours(&right, right.previous == end.hash)?
        {
            joined.push(right.first);
            end = right.end();
        }
        let gap = Gap::sign(from, previous, end, self.now_ms, self.order.key);
        joined.iter().for_each(|first| drop(self.gaps.remove(first)));
        self.gaps.insert(gap.first, gap.clone());
        Ok(Some(Cut { first: first.number, last: last.number, joined, gap }))
    }

    /// Whether a gap may be made part of one that we sign.
    fn is_ours(&self, gap: &Gap, linked: bool) -> Result<bool, Broken> {
        let fault = match gap.is_signed_by(&self.order.key.public()) {
            true if linked => return Ok(true),
            true => Fault::Chain,
            false => Fault::Forgotten,
        };
        match self.looked.covers(gap) {
            true => Ok(false),
            false => Err(Broken { number: gap.first, tenant: None, fault }),
        }
    }
}
