//! The steps of forgetting what is old.
//!
//! What is forgotten leaves a gap in the audit trail: a signed statement of which entries were there
//! and what they stood between, so that the chain can be checked across it and nobody else can make
//! one.

use haft_core::port::Forgotten;
use haft_core::record::ConfirmationStatus;
use haft_core::registry::SigningKey;

use crate::tables::{Forgets, Old, Res};
use crate::trail::{Gap, Link};

/// At most so many entries are forgotten in one transaction, so that nobody waits long behind it.
pub(crate) const AT_ONCE: usize = 256;

/// After so long it begins at the start again: what had to be kept then may go now.
const ROUND_MS: i64 = 24 * 60 * 60 * 1000;

/// How far the steps before have come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hand {
    entry: u64,
    session: i64,
    begun_ms: i64,
}

impl Hand {
    fn at(self, now_ms: i64) -> Self {
        match now_ms - self.begun_ms < ROUND_MS {
            true => self,
            false => Self { begun_ms: now_ms, ..Self::default() },
        }
    }
}

/// Forgets some of what is older than this. Returns how far it came.
pub(crate) fn some(
    on: &mut impl Forgets,
    hand: Hand,
    before_ms: i64,
    most: usize,
    key: &SigningKey,
) -> Res<(Forgotten, Hand)> {
    let mut hand = hand.at(on.now_ms());
    let (old, more_entries) = on.old(hand.entry, before_ms, most)?;
    let mut went = Forgotten::default();
    let mut run: Option<(u64, u64)> = None;
    for entry in &old {
        hand.entry = entry.number + 1;
        let goes = may_go(on, entry)?;
        run = match run {
            Some((first, last)) if goes && entry.number == last + 1 => Some((first, entry.number)),
            before => {
                cut(on, before, key, &mut went)?;
                goes.then_some((entry.number, entry.number))
            }
        };
    }
    cut(on, run, key, &mut went)?;
    went.confirmations = on.drop_confirmations(before_ms, most)?;
    let (sessions, next, more_sessions) = on.drop_sessions(hand.session, before_ms, most)?;
    (went.sessions, hand.session) = (sessions, next);
    went.more = more_entries || more_sessions || went.confirmations >= most as u64;
    Ok((went, hand))
}

/// Changes of what is configured are what it is checked against; what says anything of an effect in
/// the ledger is what that is checked against.
fn may_go(on: &mut impl Forgets, entry: &Old) -> Res<bool> {
    if matches!(entry.kind.as_str(), "config" | "acknowledge") {
        return Ok(false);
    }
    if let Some(call) = &entry.call
        && on.head_of_call(&entry.tenant, call)?.is_some()
    {
        return Ok(false);
    }
    let Some(id) = &entry.confirmation else { return Ok(true) };
    let now_ms = on.now_ms();
    let asked = on.confirmation(&entry.tenant, id)?;
    Ok(asked
        .is_none_or(|one| one.status == ConfirmationStatus::Spent || one.expires_at_ms <= now_ms))
}

/// Cuts entries that follow one another out, and joins the gap with those beside it.
fn cut(
    on: &mut impl Forgets,
    run: Option<(u64, u64)>,
    key: &SigningKey,
    went: &mut Forgotten,
) -> Res<()> {
    let Some((mut first, last)) = run else { return Ok(()) };
    went.entries += last - first + 1;
    let (mut previous, _) = on.links(first)?;
    let mut end = Link { number: last, hash: on.links(last)?.1 };
    // A chain that was broken before stays so.
    if let Some(left) = on.gap_to(first - 1)?.filter(|left| left.hash == previous) {
        (first, previous) = (left.first, left.previous);
    }
    if let Some(right) = on.gap_from(last + 1)?.filter(|right| right.previous == end.hash) {
        end = Link { number: right.last, hash: right.hash };
    }
    let gap = Gap::sign(first, previous, end, on.now_ms(), key);
    went.calls += on.cut(&gap)?;
    Ok(())
}
