//! The ledger's steps: claim, settle, resolve, undo, recover, purge.

use haft_core::ledger::{
    Attempted, Claim, Claimed, Effect, EffectRecord, Ending, OtherKey, Resolution, Settled, Sought,
    Spend, State, Ticket, Unspendable,
};
use haft_core::port::{Resolve, StoreError, Undo};
use haft_core::record::{ConfirmationStatus, InvocationRecord, Stage};
use haft_core::{Digest, ErrorKind};
use serde_json::{Value, json};

use super::journal;
use super::proof::Proof;
use crate::clock;
use crate::machine::{self, Asked, Decision, Head, Running, Settling};
use crate::tables::{Due, Res, Tables};

/// At most so many entries are forgotten in one transaction, so that nobody waits long behind it: every
/// call that comes meanwhile shares its commit. Each is in half a dozen indexes.
const PURGED_AT_ONCE: usize = 64;

pub(crate) fn claim(on: &mut impl Tables, claim: &Claim) -> Res<Claimed> {
    match &claim.other {
        Some(other) if stands_under(on, &claim.fingerprint, other)? => {
            under_its_key(on, &Claim { key: other.key.clone(), other: None, ..claim.clone() })
        }
        Some(_) | None => under_its_key(on, claim),
    }
}

/// Whether the ledger answers for what is sought, so that claiming it would begin nothing.
pub(crate) fn answers(on: &mut impl Tables, sought: &Sought) -> Res<bool> {
    let key = match &sought.other {
        Some(other) if stands_under(on, &sought.fingerprint, other)? => &other.key,
        Some(_) | None => &sought.key,
    };
    let head = on.head(&key.raw())?;
    let doubt = in_doubt(on, head.as_ref())?;
    let fingerprint = sought.fingerprint.raw();
    let again_until_ms = doubt.map_or(i64::MAX, |record| again_until_ms(&record, &sought.attempt));
    let (class, now_ms) = (sought.policy, on.now_ms());
    let asked = Asked { fingerprint: &fingerprint, class, now_ms, again_until_ms };
    Ok(!matches!(decide(on, head.as_ref(), asked), Decision::Fresh { .. }))
}

/// Whether what has this fingerprint was begun under its other key.
fn stands_under(on: &mut impl Tables, fingerprint: &Digest, other: &OtherKey) -> Res<bool> {
    let Some(head) = on.head(&other.key.raw())? else { return Ok(false) };
    if head.fingerprint != fingerprint.raw() {
        return Ok(false);
    }
    let Some(within_ms) = other.within_ms else { return Ok(true) };
    Ok(machine::is_recent(on.effect(head.id)?.started_at_ms, within_ms, on.now_ms()))
}

fn under_its_key(on: &mut impl Tables, claim: &Claim) -> Res<Claimed> {
    let now_ms = on.now_ms();
    let fingerprint = claim.fingerprint.raw();
    let head = on.head(&claim.key.raw())?;
    let doubt = in_doubt(on, head.as_ref())?;
    let first_at_ms = doubt.as_ref().map(|record| record.first_at_ms());
    let again_until_ms =
        doubt.map_or(i64::MAX, |record| again_until_ms(&record, &Attempted::of(claim)));
    let class = claim.effect.policy;
    let asked = Asked { fingerprint: &fingerprint, class, now_ms, again_until_ms };
    match (decide(on, head.as_ref(), asked), head) {
        (Decision::Fresh { epoch }, head) => {
            // As the first attempt was sent, so are all under its entry.
            let provider_key = match &head {
                Some(head) => on.effect(head.id)?.effect.provider_key,
                None => claim.effect.provider_key.clone(),
            };
            begin(on, claim, Attempt { head: head.as_ref(), epoch, first_at_ms, provider_key })
        }
        (Decision::InFlight, Some(head)) => Ok(Claimed::InFlight(seen(on, &head)?)),
        (Decision::Answered, Some(head)) => Ok(Claimed::Answered(seen(on, &head)?)),
        (Decision::Unknown, Some(head)) => Ok(Claimed::Unknown(seen(on, &head)?)),
        (Decision::BecomesUnknown, Some(head)) => {
            Ok(Claimed::Unknown(Box::new(give_up(on, &head)?)))
        }
        (Decision::Conflict, _) | (_, None) => Ok(Claimed::Conflict),
    }
}

fn decide(on: &mut impl Tables, head: Option<&Head>, asked: Asked<'_>) -> Decision {
    machine::on_claim(head, asked, || head.is_some_and(|head| on.is_alive(head.owner)))
}

/// The entry of an act that may have happened.
fn in_doubt(on: &mut impl Tables, head: Option<&Head>) -> Res<Option<Box<EffectRecord>>> {
    match head {
        Some(head) if matches!(head.state, State::Started | State::Unknown) => {
            Ok(Some(Box::new(on.effect(head.id)?)))
        }
        Some(_) | None => Ok(None),
    }
}

/// Until when another attempt does no harm, where the class lets it be made at all. One that asks for something else,
/// or by other means, is no further attempt: what the first one did, its provider would not know by it.
fn again_until_ms(doubt: &EffectRecord, attempt: &Attempted) -> i64 {
    match attempt.repeats(&doubt.effect) {
        true => machine::later(doubt.first_at_ms(), attempt.again_within_ms),
        false => i64::MIN,
    }
}

/// What an attempt has from those before it.
struct Attempt<'h> {
    head: Option<&'h Head>,
    epoch: u64,
    first_at_ms: Option<i64>,
    provider_key: Option<String>,
}

fn begin(on: &mut impl Tables, claim: &Claim, attempt: Attempt<'_>) -> Res<Claimed> {
    let Attempt { head, epoch, first_at_ms, provider_key } = attempt;
    // Nothing was done says only whoever knows that.
    let doubtful = head.filter(|_| first_at_ms.is_some());
    if is_displaced(on, claim, doubtful.is_some())? {
        return match doubtful {
            Some(head) => Ok(Claimed::Unknown(unknown(on, head)?)),
            None => Ok(Claimed::Displaced),
        };
    }
    if !claim.despite_similar
        && let Some(similar) = similar(on, claim)?
    {
        return Ok(Claimed::Similar(similar));
    }
    if let Some(wanted) = &claim.confirmation
        && let Some(why) = spend(on, &claim.effect.tenant, &claim.effect.call, wanted)?
    {
        return Ok(Claimed::Unspendable(why));
    }
    let id = match epoch {
        1 => on.start(claim, epoch)?,
        _ => {
            let mut claim = claim.clone();
            claim.effect.first_at_ms = first_at_ms;
            claim.effect.provider_key.clone_from(&provider_key);
            on.start(&claim, epoch)?
        }
    };
    let begun = journal::begun(on, claim, epoch, id)?;
    on.append(&claim.effect.tenant, journal::BEGIN, begun)?;
    let (call, in_doubt) = (claim.effect.call.clone(), first_at_ms.is_some());
    Ok(Claimed::Fresh(Ticket { key: claim.key.clone(), epoch, call, in_doubt, provider_key }))
}

/// Whether the session has decided otherwise since it gave the call its place. `again`: an attempt that may have done
/// it was made before.
fn is_displaced(on: &mut impl Tables, claim: &Claim, again: bool) -> Res<bool> {
    let (Some(place), Some(session)) = (&claim.place, &claim.effect.session) else {
        return Ok(false);
    };
    if again && !place.binds_attempts {
        return Ok(false);
    }
    if place.revision.is_some() && on.revision(&claim.effect.tenant, session)? == place.revision {
        return Ok(false);
    }
    let session = on.session(&claim.effect.tenant, session)?;
    Ok(!session.is_some_and(|session| place.is_in(&session)))
}

/// An attempt that may have done it and is over, as nobody knows it.
fn unknown(on: &mut impl Tables, head: &Head) -> Res<Box<EffectRecord>> {
    match head.state == State::Started {
        true => Ok(Box::new(give_up(on, head)?)),
        false => seen(on, head),
    }
}

/// An effect under another key that is the same act, and of which nobody knows whether it happened.
/// One whose process is gone counts, whether or not anybody has noticed before.
fn similar(on: &mut impl Tables, claim: &Claim) -> Res<Option<Box<EffectRecord>>> {
    let key = claim.key.raw();
    let mut open = on.open_acts(&claim.effect.tenant, &claim.act.raw())?;
    for deed in [Some(&claim.deed), claim.deed_unconnected.as_ref()].into_iter().flatten() {
        open.extend(on.open_deeds(&claim.effect.tenant, &deed.raw())?);
    }
    for head in open {
        if head.key == key || is_harmless(on, &head, &claim.effect)? {
            continue;
        }
        if head.state == State::Unknown {
            return Ok(Some(seen(on, &head)?));
        }
        let now_ms = on.now_ms();
        let running =
            machine::on_started(&head, claim.effect.policy, now_ms, || on.is_alive(head.owner));
        if running != Running::Yes {
            return Ok(Some(Box::new(give_up(on, &head)?)));
        }
    }
    Ok(None)
}

/// Whether what is open does no harm when the same is begun under another key: neither needs its own for that.
fn is_harmless(on: &mut impl Tables, open: &Head, effect: &Effect) -> Res<bool> {
    Ok(machine::may_run_again(open.class.max(effect.policy))
        && !effect.relies_on_its_key
        && !on.effect(open.id)?.effect.relies_on_its_key)
}

/// Uses an approval up, or says why it cannot be.
pub(crate) fn spend(
    on: &mut impl Tables,
    tenant: &str,
    call: &str,
    spend: &Spend,
) -> Res<Option<Unspendable>> {
    let Some(mut confirmation) = on.confirmation(tenant, &spend.id)? else {
        return Ok(Some(Unspendable::NotApproved));
    };
    if confirmation.binding != spend.binding {
        return Ok(Some(Unspendable::OtherCall));
    }
    match confirmation.status {
        ConfirmationStatus::Pending | ConfirmationStatus::Denied => {
            return Ok(Some(Unspendable::NotApproved));
        }
        ConfirmationStatus::Spent => return Ok(Some(Unspendable::Spent)),
        ConfirmationStatus::Approved => {}
    }
    // One from the future was asked for by a clock that was wrong, and would hold for as long as that
    // was ahead.
    let now_ms = on.now_ms();
    if confirmation.expires_at_ms <= now_ms || confirmation.asked_at_ms - now_ms > clock::JUMP_MS {
        return Ok(Some(Unspendable::Expired));
    }
    if !on.is_approved(&confirmation)? {
        tracing::error!(event = "approval_not_in_trail", tenant, id = spend.id);
        return Ok(Some(Unspendable::NotApproved));
    }
    confirmation.status = ConfirmationStatus::Spent;
    on.put_confirmation(&confirmation)?;
    let body = json!({
        "id": confirmation.id, "status": "spent", "call": call, "turn": spend.turn,
        "agent": confirmation.agent,
        "tool": confirmation.tool, "session": confirmation.session,
    });
    on.append(tenant, "confirmation", body.to_string())?;
    Ok(None)
}

/// The entry as it may be answered with: without a body whose time is over, purged or not.
fn seen(on: &mut impl Tables, head: &Head) -> Res<Box<EffectRecord>> {
    let mut record = on.effect(head.id)?;
    if let Some(ended) = record.ended_at_ms
        && machine::may_be_forgotten(head.state)
        && machine::later(ended, head.keep.result_ms) <= on.now_ms()
    {
        drop_body(&mut record);
    }
    Ok(Box::new(record))
}

/// What goes when an entry's body does.
pub(crate) fn drop_body(record: &mut EffectRecord) {
    record.result = None;
    record.intents.clear();
    record.compensation_result = None;
}

/// What an entry says, what it is about, by which it is found, and what the ledger says from then on.
fn about(on: &mut impl Tables, head: &Head, record: &EffectRecord, mut body: Value) -> Res<String> {
    let effect = &record.effect;
    let ended = (record.state, record.ended_at_ms);
    let proof = serde_json::to_value(Proof::of(on, head, ended)?);
    if let Some(body) = body.as_object_mut() {
        body.extend(proof.ok().and_then(|proof| proof.as_object().cloned()).unwrap_or_default());
        body.insert("agent".to_owned(), json!(effect.agent));
        body.insert("tool".to_owned(), json!(effect.tool));
        body.insert("session".to_owned(), json!(effect.session));
    }
    Ok(body.to_string())
}

/// From started to unknown.
fn give_up(on: &mut impl Tables, head: &Head) -> Res<EffectRecord> {
    let mut record = on.effect(head.id)?;
    record.state = State::Unknown;
    record.ended_at_ms = Some(on.now_ms());
    on.put_effect(head.id, &record, None)?;
    let is_gone = !on.is_alive(head.owner);
    let why = if is_gone { "owner" } else { "lease" };
    let body = json!({
        "call": head.call, "epoch": head.epoch, "state": "unknown", "lost": why,
    });
    let body = about(on, head, &record, body)?;
    on.append(&head.tenant, "unknown", body)?;
    // A process that lives records its call itself, late.
    if is_gone {
        journal::record(on, &left(&record))?;
    }
    Ok(record)
}

/// The record of a call whose process is gone. What others may see of its arguments is not known here.
fn left(record: &EffectRecord) -> InvocationRecord {
    let effect = &record.effect;
    InvocationRecord {
        call: effect.call.as_str().into(),
        model_call: None,
        tenant: effect.tenant.as_str().into(),
        agent: effect.agent.as_str().into(),
        actor: effect.actor.clone(),
        subject: effect.subject.clone(),
        session: effect.session.clone(),
        turn: effect.turn,
        mode: effect.mode,
        tool: effect.tool.as_str().into(),
        tool_version: Some(effect.tool_version.as_str().into()),
        registry_version: Some(effect.registry_version.as_str().into()),
        arguments: None,
        result: None,
        error: Some(ErrorKind::UnknownOutcome),
        message: Some("its process is gone, and nobody knows whether this was done".to_owned()),
        stage: Stage::Execute,
        rule: None,
        cached: false,
        attempts: 1,
        warnings: Vec::new(),
        started_at_ms: record.started_at_ms,
        // How long it went on, nobody knows either.
        duration_us: 0,
    }
}

pub(crate) fn settle(
    on: &mut impl Tables,
    ticket: &Ticket,
    ending: &Ending,
    record: Option<&InvocationRecord>,
) -> Res<Settled> {
    let head = on.head(&ticket.key.raw())?.ok_or(StoreError::Missing)?;
    let settling = machine::on_settle(&head, ticket.epoch, ending.state);
    let kind = match settling {
        Settling::Write => "settle",
        Settling::TooLate => "late",
        Settling::NoEnding => {
            let word = ending.state.as_str();
            return Err(StoreError::WrongState(format!(
                "an attempt ends in `succeeded`, `failed` or `unknown`, not in `{word}`"
            )));
        }
    };
    let is_late = settling == Settling::TooLate;
    if !is_late {
        let has_body = ending.result.is_some() || !ending.intents.is_empty();
        let due = machine::due_at_ms(ending.state, on.now_ms(), head.keep, has_body);
        on.end(&head, ending, due)?;
    }
    // The trail says what was written.
    let body = journal::settled(on, ticket, ending, record, &head)?;
    match record {
        Some(record) => on.append_record(&head.tenant, kind, body, record)?,
        None => drop(on.append(&head.tenant, kind, body)?),
    }
    let same = head.epoch == ticket.epoch && head.state == ending.state;
    Ok(match is_late {
        true if same => Settled::Again,
        true => Settled::TooLate(head.state),
        false => Settled::Written,
    })
}

/// An effect that somebody asks about. One that nobody carries out any more is unknown, whether or
/// not anybody has noticed before.
fn looked_at(on: &mut impl Tables, mut head: Head) -> Res<(Head, EffectRecord)> {
    let now_ms = on.now_ms();
    let left = head.state == State::Started
        && machine::on_started(&head, head.class, now_ms, || on.is_alive(head.owner))
            != Running::Yes;
    if !left {
        let record = on.effect(head.id)?;
        return Ok((head, record));
    }
    let record = give_up(on, &head)?;
    head.state = record.state;
    Ok((head, record))
}

pub(crate) fn resolve(
    on: &mut impl Tables,
    tenant: &str,
    call: &str,
    resolve: &Resolve,
) -> Res<EffectRecord> {
    let head = on.head_of_call(tenant, call)?.ok_or(StoreError::Missing)?;
    let (head, mut record) = looked_at(on, head)?;
    let adds = resolve.result.is_some() && record.result.is_none();
    let Some(state) = machine::on_resolve(head.state, resolve.happened, adds) else {
        let is = head.state.as_str();
        return Err(StoreError::WrongState(if head.state == State::Started {
            "the effect is being carried out; once its time is over without an outcome it is \
             `unknown` and can be settled by hand"
                .to_owned()
        } else {
            format!("the effect is `{is}`; only an `unknown` one can be settled by hand")
        }));
    };
    record.state = state;
    record.resolution = Some(Resolution {
        happened: resolve.happened,
        by: resolve.by.clone(),
        note: resolve.note.clone(),
        at_ms: on.now_ms(),
    });
    if resolve.happened && resolve.result.is_some() {
        record.result.clone_from(&resolve.result);
    }
    // To say later what it answered makes nothing end anew.
    if head.state != state {
        record.ended_at_ms = Some(on.now_ms());
    }
    on.put_effect(head.id, &record, due(&head, &record))?;
    let body = json!({
        "call": call, "epoch": head.epoch, "state": state.as_str(),
        "by": resolve.by, "note": resolve.note, "result": resolve.result,
    });
    let body = about(on, &head, &record, body)?;
    on.append(tenant, "resolve", body)?;
    Ok(record)
}

pub(crate) fn undo(
    on: &mut impl Tables,
    tenant: &str,
    call: &str,
    step: &Undo,
) -> Res<EffectRecord> {
    let head = on.head_of_call(tenant, call)?.ok_or(StoreError::Missing)?;
    let mut record = on.effect(head.id)?;
    if record.effect.compensates.is_some() {
        return Err(StoreError::WrongState(
            "the effect is itself the undoing of another; that is not undone".to_owned(),
        ));
    }
    let resolved = record.resolution.as_ref().is_some_and(|said| said.happened);
    let Some(state) = machine::on_undo(head.state, resolved, step) else {
        let is = head.state.as_str();
        return Err(StoreError::WrongState(format!(
            "the effect is `{is}`, which does not allow this step; look at `haft effects`"
        )));
    };
    record.state = state;
    let body = match step {
        Undo::Begin { by } => {
            record.compensation_id = None;
            record.compensation_result = None;
            json!({ "call": call, "state": state.as_str(), "by": by })
        }
        Undo::Done { by, result } => {
            record.compensation_id = Some(by.clone());
            record.compensation_result = Some(result.clone());
            json!({ "call": call, "state": state.as_str(), "by": by, "result": result })
        }
        Undo::Stuck { why } => {
            record.compensation_result = Some(json!({ "stuck": why }));
            json!({ "call": call, "state": state.as_str(), "why": why })
        }
        Undo::Back => {
            record.compensation_id = None;
            record.compensation_result = None;
            json!({ "call": call, "state": state.as_str() })
        }
    };
    on.put_effect(head.id, &record, due(&head, &record))?;
    let body = about(on, &head, &record, body)?;
    on.append(tenant, "undo", body)?;
    Ok(record)
}

fn due(head: &Head, record: &EffectRecord) -> Option<i64> {
    let has_body = record.result.is_some()
        || !record.intents.is_empty()
        || record.compensation_result.is_some();
    machine::due_at_ms(record.state, record.ended_at_ms?, head.keep, has_body)
}

/// Effects that nobody carries out any more and which may have happened become unknown: their process
/// is gone, or could not record in time what became of them. What does no harm twice as well: it may be that
/// nobody asks for it again.
pub(crate) fn recover(on: &mut impl Tables) -> Res<Vec<EffectRecord>> {
    let mut lost = Vec::new();
    for head in on.started_and_left()? {
        let now_ms = on.now_ms();
        if machine::on_started(&head, head.class, now_ms, || on.is_alive(head.owner))
            != Running::Yes
        {
            lost.push(give_up(on, &head)?);
        }
    }
    Ok(lost)
}

/// Forgets some of what is due. Returns how many entries went, and whether there may be more.
pub(crate) fn purge(on: &mut impl Tables) -> Res<(u64, bool)> {
    let due = on.due(PURGED_AT_ONCE)?;
    let mut gone = 0;
    for (id, what) in &due {
        on.forget(*id, *what)?;
        gone += u64::from(*what == Due::Entry);
    }
    Ok((gone, due.len() == PURGED_AT_ONCE))
}
