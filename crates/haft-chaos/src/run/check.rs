//! The checker: three histories that must tell one story. What the client was told, what the sink
//! did, what the ledger says.

use std::collections::{HashMap, HashSet};

use haft_core::ledger::State;

use super::client::{Told, Word};
use super::ledger::{Entry as Booked, provider_key};
use crate::sink::Entry as Acted;
use crate::words::Act;

/// How often a promise was broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// An act that was done more than once under one key.
    pub(super) duplicated: u64,
    /// A success that the sink, the ledger or a later answer does not know.
    pub(super) lost: u64,
    /// A failure that was none: the sink acted.
    pub(super) falsely_failed: u64,
    /// Keys of which nobody knows, which is honest.
    pub(super) unknown: u64,
    /// Keys that never got a word.
    pub(super) unanswered: u64,
    /// In words.
    pub(super) wrong: Vec<String>,
}

impl Verdict {
    pub(super) fn is_clean(&self) -> bool {
        self.duplicated + self.lost + self.falsely_failed + self.unanswered == 0
    }
}

/// What the sink did, by what it can be asked for.
struct Deeds<'a> {
    by_provider: HashMap<&'a str, Vec<&'a Acted>>,
    by_call: HashSet<&'a str>,
    undone: HashMap<&'a str, HashSet<&'a str>>,
    keys_of: HashMap<(&'a str, &'a str), HashSet<&'a str>>,
}

impl<'a> Deeds<'a> {
    fn of(acted: &'a [Acted]) -> Self {
        let mut deeds = Self {
            by_provider: HashMap::new(),
            by_call: HashSet::new(),
            undone: HashMap::new(),
            keys_of: HashMap::new(),
        };
        for one in acted.iter().filter(|one| one.kind == "act") {
            if one.tool == "unbook" {
                deeds.undone.entry(&one.item).or_default().insert(&one.provider);
                continue;
            }
            deeds.by_provider.entry(of_key(&one.provider)).or_default().push(one);
            deeds.by_call.insert(&one.call);
            deeds.keys_of.entry((&one.tool, &one.item)).or_default().insert(&one.provider);
        }
        deeds
    }
}

/// What of a provider's key is the ledger's.
fn of_key(provider: &str) -> &str {
    match provider.rsplit_once('-') {
        Some((key, _)) if key.contains('-') => key,
        Some(_) | None => provider,
    }
}

pub(super) fn check(told: &[Told], acted: &[Acted], booked: &[Option<Booked>]) -> Verdict {
    let mut verdict = Verdict::default();
    let deeds = Deeds::of(acted);
    for one in acted.iter().filter(|one| one.kind == "mismatch") {
        verdict.duplicated += 1;
        verdict.wrong.push(format!("a provider key came with something else: {one:?}"));
    }
    for (told, booked) in told.iter().zip(booked) {
        let wrong = judge(told, &deeds, booked.as_ref());
        verdict.unknown += u64::from(told.word == Word::Unknown);
        verdict.unanswered += u64::from(told.word == Word::None);
        verdict.duplicated += u64::from(wrong.duplicated.is_some());
        verdict.lost += u64::from(wrong.lost.is_some());
        verdict.falsely_failed += u64::from(wrong.falsely_failed.is_some());
        let unanswered = (told.word == Word::None).then_some("it never got a word");
        let whats = [wrong.duplicated, wrong.lost, wrong.falsely_failed, unanswered];
        for what in whats.into_iter().flatten() {
            verdict.wrong.push(format!("{what}: {told:?}; the ledger has {booked:?}"));
        }
    }
    verdict
}

/// What is wrong with one key.
#[derive(Default)]
struct Wrong {
    duplicated: Option<&'static str>,
    lost: Option<&'static str>,
    falsely_failed: Option<&'static str>,
}

fn judge(told: &Told, deeds: &Deeds<'_>, booked: Option<&Booked>) -> Wrong {
    if told.act == Act::Look {
        return Wrong { lost: told.denied.filter(|_| told.receipt != Some(0)), ..Wrong::default() };
    }
    let provider = provider_key(told);
    let acts = deeds.by_provider.get(provider.as_str()).map(Vec::as_slice).unwrap_or_default();
    Wrong {
        duplicated: duplicated(told, deeds, acts),
        lost: lost(told, deeds, acts, booked),
        falsely_failed: falsely_failed(told, deeds, acts, booked),
    }
}

fn duplicated(told: &Told, deeds: &Deeds<'_>, acts: &[&Acted]) -> Option<&'static str> {
    if acts.len() > 1 {
        return Some("done more than once under one key");
    }
    let item = told.item.to_string();
    let keys = deeds.keys_of.get(&(told.act.as_str(), item.as_str())).map_or(0, HashSet::len);
    if keys > if told.twin() { 2 } else { 1 } {
        return Some("done under several provider keys");
    }
    let undone = deeds.undone.get(item.as_str()).map_or(0, HashSet::len);
    (told.act == Act::Book && undone > 1).then_some("undone more than once")
}

fn lost(
    told: &Told,
    deeds: &Deeds<'_>,
    acts: &[&Acted],
    booked: Option<&Booked>,
) -> Option<&'static str> {
    if told.denied.is_some() {
        return told.denied;
    }
    let done = booked.is_some_and(|booked| is_done(booked.state));
    if told.word == Word::Done {
        if acts.is_empty() {
            return Some("told that it was done, and the sink did nothing");
        }
        if told.receipt.is_some_and(|receipt| acts.iter().all(|act| act.receipt != receipt)) {
            return Some("told a receipt that the sink did not give");
        }
        if !done {
            return Some("told that it was done, and the ledger denies it");
        }
        let receipts = (told.receipt, booked.and_then(|booked| booked.receipt));
        if let (Some(told), Some(booked)) = receipts
            && told != booked
        {
            return Some("the ledger has another answer");
        }
    }
    if done && acts.is_empty() {
        return Some("the ledger says that it was done, and the sink did nothing");
    }
    let item = told.item.to_string();
    let compensated = booked.is_some_and(|booked| booked.state == State::Compensated);
    if (told.undone || compensated) && !deeds.undone.contains_key(item.as_str()) {
        return Some("said to be undone, and the sink did not undo it");
    }
    (told.undone && !compensated).then_some("told that it was undone, and the ledger denies it")
}

fn falsely_failed(
    told: &Told,
    deeds: &Deeds<'_>,
    acts: &[&Acted],
    booked: Option<&Booked>,
) -> Option<&'static str> {
    if told.failed.iter().any(|call| deeds.by_call.contains(call.as_str())) {
        return Some("told that it failed, and the sink did it");
    }
    // Where the provider deduplicates, an earlier call may have done what a later one failed to do.
    if told.act.is_idempotent() {
        return None;
    }
    if acts.is_empty() {
        return None;
    }
    if told.word == Word::Failed {
        return Some("the last word is that it failed, and the sink did it");
    }
    booked
        .is_some_and(|booked| matches!(booked.state, State::Failed | State::NotHappened))
        .then_some("the ledger says that it failed, and the sink did it")
}

fn is_done(state: State) -> bool {
    match state {
        State::Succeeded
        | State::Happened
        | State::Compensating
        | State::Compensated
        | State::Stuck => true,
        State::Started | State::Failed | State::Unknown | State::NotHappened => false,
    }
}

#[cfg(test)]
mod tests;
