//! The rules of the ledger: what follows from a state, and nothing else.
//!
//! Pure functions. Every store asks them, so that every store obeys the same rules.

use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{Keep, State};
use haft_core::port::Undo;

/// Who carries an effect out: one open store.
pub type Owner = [u8; 16];

/// What the rules look at in an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Where it is kept.
    pub id: i64,
    /// Whose.
    pub tenant: String,
    /// The call that asked for it.
    pub call: String,
    /// The key.
    pub key: [u8; 32],
    /// What must be the same when the key is.
    pub fingerprint: [u8; 32],
    /// Where it stands.
    pub state: State,
    /// Which attempt.
    pub epoch: u64,
    /// Its class.
    pub class: SideEffectPolicy,
    /// Who carries it out.
    pub owner: Owner,
    /// Until when somebody waits for it.
    pub lease_until_ms: i64,
    /// How long it is kept.
    pub keep: Keep,
}

/// What a claim asks, as far as the rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What must be the same when the key is.
    pub fingerprint: &'a [u8; 32],
    /// The class that the contract gives it now.
    pub class: SideEffectPolicy,
    /// Now.
    pub now_ms: i64,
    /// Until when a further attempt does no harm, where the class lets it be made at all.
    pub again_until_ms: i64,
}

/// What follows from a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// A new attempt.
    Fresh {
        /// Counted from 1.
        epoch: u64,
    },
    /// Somebody is carrying it out.
    InFlight,
    /// It has been carried out.
    Answered,
    /// Nobody knows.
    Unknown,
    /// It was being carried out, and from now on nobody knows.
    BecomesUnknown,
    /// The key was used for something else.
    Conflict,
}

/// What follows from a claim.
///
/// A key belongs to its fingerprint for as long as the entry lives, even when the earlier attempt
/// did nothing: a caller that corrects its arguments has another act in mind and takes another key.
pub fn on_claim(
    head: Option<&Head>,
    asked: Asked<'_>,
    owner_is_alive: impl FnOnce() -> bool,
) -> Decision {
    let Some(head) = head else { return Decision::Fresh { epoch: 1 } };
    if head.fingerprint != *asked.fingerprint {
        return Decision::Conflict;
    }
    let in_time = asked.now_ms < asked.again_until_ms;
    match head.state {
        State::Failed | State::NotHappened => Decision::Fresh { epoch: head.epoch + 1 },
        // What does no harm twice is asked for again, for as long as the provider knows its key.
        State::Unknown if may_run_again(head.class.max(asked.class)) && in_time => {
            Decision::Fresh { epoch: head.epoch + 1 }
        }
        State::Unknown => Decision::Unknown,
        State::Succeeded
        | State::Happened
        | State::Compensating
        | State::Compensated
        | State::Stuck => Decision::Answered,
        State::Started => match on_started(head, asked.class, asked.now_ms, owner_is_alive) {
            Running::Yes => Decision::InFlight,
            Running::MayRunAgain if in_time => Decision::Fresh { epoch: head.epoch + 1 },
            Running::MayRunAgain | Running::NobodyKnows => Decision::BecomesUnknown,
        },
    }
}

/// Whether a started effect is being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// By somebody who is alive, and whose time is not over.
    Yes,
    /// No, or not any more in time; and another attempt does no harm.
    MayRunAgain,
    /// No, or not any more in time; and it may have happened.
    NobodyKnows,
}

/// Whether a started effect is being carried out. A tool whose class has changed since is treated
/// by the stricter one.
pub fn on_started(
    head: &Head,
    class: SideEffectPolicy,
    now_ms: i64,
    owner_is_alive: impl FnOnce() -> bool,
) -> Running {
    if now_ms < head.lease_until_ms && owner_is_alive() {
        return Running::Yes;
    }
    if may_run_again(head.class.max(class)) { Running::MayRunAgain } else { Running::NobodyKnows }
}

/// Whether an effect that may have happened may be asked for again.
pub fn may_run_again(class: SideEffectPolicy) -> bool {
    match class {
        SideEffectPolicy::Pure | SideEffectPolicy::Idempotent => true,
        SideEffectPolicy::Compensatable | SideEffectPolicy::Irreversible => false,
    }
}

/// Whether an outcome counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// It does.
    Write,
    /// Somebody has moved on.
    TooLate,
    /// An attempt does not end so.
    NoEnding,
}

/// Whether an outcome counts: that of the running attempt does, and a late success of the attempt
/// that was given up as unknown.
pub fn on_settle(head: &Head, epoch: u64, ending: State) -> Settling {
    // The handler itself says that it was done: that counts more than a probe or a person who said
    // that it was not.
    let late_success =
        matches!(head.state, State::Unknown | State::NotHappened) && ending == State::Succeeded;
    match ending {
        State::Succeeded | State::Failed | State::Unknown => {
            if head.epoch == epoch && (head.state == State::Started || late_success) {
                Settling::Write
            } else {
                Settling::TooLate
            }
        }
        State::Started
        | State::Happened
        | State::NotHappened
        | State::Compensating
        | State::Compensated
        | State::Stuck => Settling::NoEnding,
    }
}

/// Where an effect stands once somebody says what became of it. Only of an unknown one is there that to
/// say. `adds`: of one that happened, what it answered, which is not on record.
pub fn on_resolve(state: State, happened: bool, adds: bool) -> Option<State> {
    match (state, happened) {
        (State::Unknown, true) => Some(State::Happened),
        (State::Unknown, false) => Some(State::NotHappened),
        (State::Happened | State::Succeeded, true) if adds => Some(state),
        _ => None,
    }
}

/// Where an effect stands after a step of undoing it. `resolved`: it was unknown once.
pub fn on_undo(state: State, resolved: bool, step: &Undo) -> Option<State> {
    let undoing = state == State::Compensating;
    match step {
        Undo::Begin { .. } => {
            matches!(state, State::Succeeded | State::Happened).then_some(State::Compensating)
        }
        Undo::Done { .. } => undoing.then_some(State::Compensated),
        Undo::Stuck { .. } => undoing.then_some(State::Stuck),
        Undo::Back => (undoing || state == State::Stuck).then_some(if resolved {
            State::Happened
        } else {
            State::Succeeded
        }),
    }
}

/// Whether an entry may be forgotten once its time is over.
pub fn may_be_forgotten(state: State) -> bool {
    match state {
        State::Succeeded
        | State::Failed
        | State::Happened
        | State::NotHappened
        | State::Compensated => true,
        State::Started | State::Unknown | State::Compensating | State::Stuck => false,
    }
}

/// When something of an entry is to be forgotten next: its body, then the rest.
pub fn due_at_ms(state: State, ended_at_ms: i64, keep: Keep, has_body: bool) -> Option<i64> {
    may_be_forgotten(state).then(|| {
        let until = |ms: u64| later(ended_at_ms, ms);
        let forgotten = until(keep.key_ms);
        if has_body { until(keep.result_ms).min(forgotten) } else { forgotten }
    })
}

/// Whether something that began then did so within this time.
pub fn is_recent(began_at_ms: i64, within_ms: u64, now_ms: i64) -> bool {
    now_ms <= later(began_at_ms, within_ms)
}

/// A moment so many milliseconds later, however many there are.
pub fn later(at_ms: i64, ms: u64) -> i64 {
    at_ms.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
