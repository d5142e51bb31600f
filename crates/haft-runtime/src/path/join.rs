//! The session's part: a call that was sent again is answered again, budgets are counted, and a
//! newer message that waits is heard before anything that its rule says, or that is irreversible.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use haft_core::call::Together;
use haft_core::contract::SideEffectPolicy;
use haft_core::ledger;
use haft_core::record::Stage;
use haft_core::session::{Phase, Session};
use haft_core::{Call, Digest, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::authorize::Authorized;
use super::confirm::Approved;
use super::{Answer, Trip, gate, replay};
use crate::runtime::Inner;
use crate::session::{self, Before, By, Came, Held, Seen};

/// A call that has its place in the session.
pub(crate) struct Joined {
    approved: Approved,
    pub(super) place: Option<ledger::Place>,
    /// Says that it is on its way, to whoever sends it again.
    _held: Option<Held>,
}

impl Deref for Joined {
    type Target = Approved;

    fn deref(&self) -> &Approved {
        &self.approved
    }
}

/// Why a call under an id that another one has is not made.
const OTHER: &str = "this call id was used for another call, or under another key";

enum Place {
    Granted,
    Answered,
    /// Answered with newer messages: under this id it does not run.
    Superseded,
    /// To be answered so, now and whenever it is sent again.
    Absorbed(ToolError),
    Refused(ToolError),
    /// It would not run, unless it has run since the ledger was asked.
    Unsure,
}

impl Place {
    /// What whoever sends the call again is to be told.
    fn kept(&self) -> Option<Cow<'static, Value>> {
        match self {
            Self::Absorbed(error) => Some(Cow::Owned(json!({ "error": error }))),
            Self::Granted | Self::Answered | Self::Superseded | Self::Refused(_) | Self::Unsure => {
                None
            }
        }
    }
}

pub(crate) async fn session(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    approved: Approved,
) -> Result<Joined, Answer> {
    let (place, held) = match approved.call().session.is_some() {
        true => Box::pin(take_place(inner, trip, &approved)).await?,
        false => (None, None),
    };
    Ok(Joined { approved, place, _held: held })
}

async fn take_place(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    approved: &Approved,
) -> Result<(Option<ledger::Place>, Option<Held>), Answer> {
    let Some(id) = &approved.call().session else { return Ok((None, None)) };
    let (caller, call) = (&approved.call().caller, approved.call().id.as_deref());
    let name = name(approved);
    let fingerprint = fingerprint(approved);
    let refused = |error| Answer::refused(Stage::Gate, error);
    let (mut held, mut first) = (None, None);
    let mut ledger = is_on_record(inner, approved).await.unwrap_or(Ledger::LacksYet);
    loop {
        let place = |session: &mut Session| {
            // Not this one itself, which may have to look a second time.
            held = None;
            first.take().into_iter().for_each(Together::go_on);
            let place = match ledger {
                Ledger::LacksYet => take_if_sure(inner, session, approved, &fingerprint),
                Ledger::Has | Ledger::HasNot => {
                    take(inner, session, approved, &fingerprint, ledger)
                }
            };
            // Before the session says so to others.
            match &place {
                Place::Granted if !approved.is_pure() => {
                    held = call.map(|call| inner.placed.hold(id, call, under(approved)));
                }
                Place::Absorbed(_) | Place::Superseded => first = give_way(approved),
                Place::Granted | Place::Answered | Place::Refused(_) | Place::Unsure => {}
            }
            let kept = name.as_deref().zip(place.kept());
            (place, kept)
        };
        let changed = inner.book.change_and_keep(caller, id, place).await;
        let (session, place) = changed.map_err(refused)?;
        trip.turn = session.turn.number;
        match place {
            Place::Granted => return Ok((Some(given(approved, &session, ledger)), held)),
            Place::Answered | Place::Superseded => {
                answered(inner, trip, approved, &place).await?;
                return Ok((None, None));
            }
            Place::Absorbed(error) | Place::Refused(error) => return Err(refused(error)),
            Place::Unsure => {
                ledger = is_on_record(inner, approved).await.map_err(refused)?.at_last();
            }
        }
    }
}

/// A call's place, by which the ledger knows whether it has it still when it begins. Whether an attempt that may have
/// done something is followed by another is the ledger's to decide alone, while the session goes on.
fn given(call: &Approved, session: &Session, ledger: Ledger) -> ledger::Place {
    let goes_on = session.phase == Phase::Active;
    ledger::Place {
        name: name(call).map(Cow::into_owned),
        turn: session.turn.number,
        revision: goes_on.then_some(session.revision),
        binds_attempts: ledger != Ledger::Has || !goes_on,
    }
}

/// The answer that the session has kept for a call, if it has.
async fn answered(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    approved: &Approved,
    place: &Place,
) -> Result<(), Answer> {
    let Call { caller, session, .. } = approved.call();
    let refused = |error| Answer::refused(Stage::Gate, error);
    let (session, name) =
        (session.as_deref().unwrap_or_default(), name(approved).unwrap_or_default());
    match inner.book.answer(caller, session, &name).await.map_err(refused)? {
        Some(answer) => {
            // What was answered then may have been undone since, which only the ledger knows.
            if let Some(key) = &approved.key
                && let Ok(Some(record)) = key.entry(inner).await
            {
                trip.warnings.extend(replay::undone(&record));
            }
            Err(Answer::replayed(&answer))
        }
        // There were larger ones since. What was decided without newer messages stays so.
        None if matches!(place, Place::Superseded) => Err(refused(gate::superseded())),
        // The ledger knows what was done; what has no effect runs once more.
        None => Ok(()),
    }
}

/// What the session knows a call by that gave way: the model's id, or else the key that its caller has given it.
/// Whoever has neither cannot say whether it is the same call again or another one.
fn name(call: &Approved) -> Option<Cow<'_, str>> {
    let Call { id, key: given, .. } = call.call();
    let by_key = || given.as_ref().and(call.key.as_ref()).map(|key| key.digest.hex());
    match id {
        Some(id) => Some(Cow::Borrowed(id)),
        None => by_key().map(|hex| Cow::Owned(format!("key {hex}"))),
    }
}

/// Whether the act has been begun under this key: the ledger will answer for it, so no budget and no
/// newer message stands in the way.
async fn is_on_record(inner: &Inner, call: &Approved) -> Result<Ledger, ToolError> {
    let Some(key) = &call.key else { return Ok(Ledger::HasNot) };
    Ok(match key.is_taken(inner).await? {
        true => Ledger::Has,
        false => Ledger::LacksYet,
    })
}

/// What the ledger has of an act.
#[derive(Clone, Copy, PartialEq)]
enum Ledger {
    /// It will answer for it.
    Has,
    /// Not when it was asked, before the session was.
    LacksYet,
    /// Nor when it was asked again after the session, or it never has such acts.
    HasNot,
}

impl Ledger {
    /// As it was asked again.
    fn at_last(self) -> Self {
        match self {
            Self::Has => Self::Has,
            Self::LacksYet | Self::HasNot => Self::HasNot,
        }
    }
}

/// The place of a call that the ledger did not have. One that was sent again may have waited for the
/// session while the first ran and ended in doubt: that it does not run is said when the ledger has been
/// asked once more.
fn take_if_sure(
    inner: &Inner,
    session: &mut Session,
    call: &Approved,
    fingerprint: &Digest,
) -> Place {
    let untouched = session.clone();
    let place = take(inner, session, call, fingerprint, Ledger::LacksYet);
    if matches!(place, Place::Superseded | Place::Absorbed(_) | Place::Refused(_)) {
        *session = untouched;
        return Place::Unsure;
    }
    place
}

fn take(
    inner: &Inner,
    session: &mut Session,
    call: &Approved,
    fingerprint: &Digest,
    ledger: Ledger,
) -> Place {
    let tool = &call.tool.tool;
    let seen = match (&call.call().id, name(call)) {
        (Some(id), _) => session::enter(session, id, fingerprint),
        (None, Some(name)) if session::gave_way(session, &name) => Seen::Superseded,
        (None, _) => Seen::New,
    };
    match &seen {
        Seen::Answered => return Place::Answered,
        // It gave way under this name, and was decided on anew under the same key.
        Seen::Superseded if ledger == Ledger::Has => return Place::Granted,
        Seen::Superseded => return Place::Superseded,
        Seen::Other => {
            return Place::Refused(
                ToolError::new(ErrorKind::Conflict, OTHER)
                    .suggest("give every call an id of its own"),
            );
        }
        Seen::Before | Seen::New => {}
    }
    match under_way(inner, call).filter(|_| seen == Seen::Before) {
        // The same effect is on its way: this call waits for its end.
        Some(key) if key == under(call) => return Place::Granted,
        // Under another key nobody would know that it is the same.
        Some(_) => return Place::Refused(elsewhere()),
        None => {}
    }
    if ledger == Ledger::Has {
        return Place::Granted;
    }
    // An effect that was cut off before it was recorded is decided about anew; it was counted then. What
    // has no effect runs once more, so it counts once more.
    let counted = seen == Seen::Before && !call.is_pure();
    let now = match counted {
        true => goes_on(inner, session, call),
        false => run_now(inner, session, call),
    };
    match now {
        Ok(()) => {
            if !counted {
                session::count(&mut session.turn, tool);
            }
            Place::Granted
        }
        Err(NotNow::Refused(error)) => {
            if seen == Seen::New || counted {
                forget(session, call);
            }
            Place::Refused(error)
        }
        // The messages went out with this answer, so whoever missed it has to get it again; and the
        // call that it is about was decided without them, however often it is sent.
        Err(NotNow::Absorbed(error)) => {
            if let Some(name) = name(call) {
                session::enter(session, &name, fingerprint);
                session::answered(session, &name, Came::Superseded);
            }
            Place::Absorbed(error)
        }
    }
}

/// Why a call does not run now.
pub(super) enum NotNow {
    Refused(ToolError),
    /// Newer messages were handed over instead.
    Absorbed(ToolError),
}

impl From<ToolError> for NotNow {
    fn from(error: ToolError) -> Self {
        Self::Refused(error)
    }
}

impl From<NotNow> for ToolError {
    fn from(not_now: NotNow) -> Self {
        match not_now {
            NotNow::Refused(error) | NotNow::Absorbed(error) => error,
        }
    }
}

/// Whether the session lets a call run now.
pub(super) fn run_now(inner: &Inner, session: &mut Session, call: &Approved) -> Result<(), NotNow> {
    in_turn(session, call)?;
    gate::within_budget(&session.turn, &call.tool.tool, inner.policy().budget(call.mode))?;
    gives_way(inner, session, call)
}

/// The same for one that was counted before.
fn goes_on(inner: &Inner, session: &mut Session, call: &Approved) -> Result<(), NotNow> {
    in_turn(session, call)?;
    gives_way(inner, session, call)
}

fn in_turn(session: &Session, call: &Approved) -> Result<(), NotNow> {
    if session.phase != Phase::Active {
        return Err(ToolError::new(ErrorKind::SessionInactive, "the session has ended").into());
    }
    // A call of a turn that is over does not run in the next one. What a handler does is of the turn in which
    // it was called.
    let came = call.session.as_ref().map(|session| session.turn.number);
    let its_turn = call.call().within.as_ref().map(|within| within.turn).or(came);
    if session.turn.aborted || its_turn != Some(session.turn.number) {
        return Err(gate::superseded().into());
    }
    Ok(())
}

/// Whether newer messages are heard first.
fn gives_way(inner: &Inner, session: &mut Session, call: &Approved) -> Result<(), NotNow> {
    let Some(rule) = inner.policy().supersede(call.class(), call.mode) else { return Ok(()) };
    if call.call().together.as_ref().is_some_and(|others| others.gave_way()) {
        return Err(absorbed(Vec::new()));
    }
    let by = if call.call().through.is_empty() { By::Model } else { By::Handler };
    match session::before_effect(session, rule, by) {
        Before::Run => Ok(()),
        Before::Aborted | Before::Unread => Err(gate::superseded().into()),
        Before::Absorbed(messages) => Err(absorbed(messages)),
    }
}

/// What was decided on together with a call that gives way gives way, too: all of it, where this is the first.
fn give_way(call: &Approved) -> Option<&Together> {
    call.call().together.as_deref().filter(|others| others.give_way())
}

/// The key of a call of the same id that is on its way.
fn under_way(inner: &Inner, call: &Approved) -> Option<Option<Digest>> {
    let Call { session, id, .. } = call.call();
    inner.placed.under(session.as_deref()?, id.as_deref()?)
}

fn under(call: &Approved) -> Option<Digest> {
    call.key.as_ref().map(|key| key.digest.clone())
}

fn elsewhere() -> ToolError {
    ToolError::new(ErrorKind::InFlight, "the same call is being carried out, under another key")
        .suggest("wait for its answer, or send it again under the key that it had first")
}

/// (There are none where another call was handed them.)
fn absorbed(messages: Vec<Value>) -> NotNow {
    NotNow::Absorbed(
        gate::superseded()
            .suggest("read the newer messages and decide again what to do")
            .with_details(json!({ "action": "absorb", "messages": messages })),
    )
}

/// A call that did not run leaves no trace under its id.
fn forget(session: &mut Session, call: &Approved) {
    if let Some(id) = &call.call().id {
        session::answered(session, id, Came::Nothing);
    }
}

/// Whether the session will answer for a call: the same one was answered under its id, and the
/// answer is kept still.
pub(crate) async fn is_answered(inner: &Inner, call: &Authorized) -> bool {
    let (Some(session), Some(id)) = (&call.session, &call.call.id) else { return false };
    session::is_answered(session, id, &fingerprint(call))
        && matches!(inner.book.answer(&call.call.caller, &session.id, id).await, Ok(Some(_)))
}

/// Over tool and arguments as they were accepted. A deliberate repetition is another call, and so is an effect under
/// another key of its caller's: under that nothing was done.
fn fingerprint(call: &Authorized) -> Digest {
    let (tool, asked, connection) = (&call.tool.tool.id, call.accepted(), call.account());
    let key = call.call.key.as_ref().filter(|_| call.class() != SideEffectPolicy::Pure);
    match (call.call.occurrence, key) {
        (1, None) => Digest::of_json(&json!([tool, asked, connection])),
        (nth, None) => Digest::of_json(&json!([tool, asked, connection, nth])),
        (nth, Some(key)) => Digest::of_json(&json!([tool, asked, connection, nth, key])),
    }
}
