//! `claim`: the idempotency key, and the ledger's record before the first byte leaves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::call::{Keyed, RawArguments};
use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{
    Claim, Claimed, Effect, EffectRecord, OtherKey, State, Ticket, Unspendable,
};
use haft_core::outcome::Warning;
use haft_core::port::{Decision, StoreError, Verdict};
use haft_core::record::Stage;
use haft_core::{Digest, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::authorize::{self, Authorized};
use super::join::Joined;
use super::trip::Replayed;
use super::{Answer, Refusal, Trip, confirm, execute, gate};
use crate::attach::Leading;
use crate::runtime::Inner;
use crate::settings::millis;

/// The longest key that a caller may send.
const MAX_KEY: usize = 255;

/// What makes two calls the same act.
pub(crate) struct Key {
    /// Scoped by tenant, principal and tool.
    pub(crate) digest: Digest,
    /// What must be the same when the key is.
    fingerprint: Digest,
    /// The act itself, whatever the key.
    act: Digest,
    /// Where the act may have been begun under another key.
    other: Option<OtherKey>,
}

impl Key {
    /// The key of a call; none for one without effects.
    pub(crate) fn of(inner: &Inner, call: &Authorized) -> Result<Option<Self>, Refusal> {
        if call.class() == SideEffectPolicy::Pure {
            return Ok(None);
        }
        let refuse = |error: ToolError| Refusal::at(Stage::Claim, error);
        fresh_enough(inner, call).map_err(refuse)?;
        let nth = nth(call);
        let (source, fingerprint) = match &call.call.key {
            Some(key) => {
                well_formed(key).map_err(refuse)?;
                return Ok(Some(Self::given(call, key, nth)));
            }
            None if call.session.is_none() => {
                let within = call.call.same_within.ok_or_else(|| refuse(key_required()))?;
                return Ok(Some(Self::recent(call, within, nth)));
            }
            None => {
                let Some(session) = &call.session else { return Err(refuse(key_required())) };
                let business = business(call);
                let (group, connection) = (&session.turn.group, &call.call.connection);
                let source = json!(["act", group, business, connection, nth]);
                // What the author left out of the key may differ between two calls of one act.
                (source, Digest::of_json(&business))
            }
        };
        let digest = scoped(call, &source);
        Ok(Some(Self { digest, fingerprint, act: act(call), other: None }))
    }

    /// The key that a caller gave, to this call or to the request that it is part of. Whoever sends
    /// a call alone and then among others, or the other way round, means the same call.
    fn given(call: &Authorized, key: &str, nth: u32) -> Self {
        let fingerprint = asked(call);
        let alone = scoped(call, &json!(["key", key, nth]));
        let among = || scoped(call, &json!(["among", key, nth, fingerprint]));
        let (digest, other) = match call.call.keyed {
            Keyed::Call => (alone, None),
            Keyed::Request => (alone, Some(among())),
            Keyed::Batch => (among(), Some(alone)),
        };
        let other = other.map(|key| OtherKey { key, within_ms: None });
        Self { digest, fingerprint, act: act(call), other }
    }

    /// The key of a caller that sends again what it thinks lost, and has no key to say so: the act
    /// and the span of time that it falls into.
    fn recent(call: &Authorized, within: Duration, nth: u32) -> Self {
        let business = business(call);
        let length = i64::try_from(millis(within)).unwrap_or(i64::MAX).max(1);
        let span = call.now_ms.div_euclid(length);
        let key = |span: i64| {
            let connection = &call.call.connection;
            scoped(call, &json!(["recent", span, length, business, connection, nth]))
        };
        let other = Some(OtherKey { key: key(span - 1), within_ms: Some(millis(within)) });
        let (digest, fingerprint) = (key(span), Digest::of_json(&business));
        Self { digest, fingerprint, act: act(call), other }
    }

    /// The entry that the ledger has for it now, under the one key or the other. What stages before
    /// the claim go by; the claim itself looks again, and decides in one step.
    pub(crate) async fn entry(&self, inner: &Inner) -> Result<Option<EffectRecord>, StoreError> {
        if let Some(other) = &self.other
            && let Some(record) = under(inner, &other.key).await?
            && self.fits(&record)
            && is_within(inner, &record, other)
        {
            return Ok(Some(record));
        }
        under(inner, &self.digest).await
    }
}

async fn under(inner: &Inner, key: &Digest) -> Result<Option<EffectRecord>, StoreError> {
    match inner.store.by_key(key).await {
        Ok(record) => Ok(Some(record)),
        Err(StoreError::Missing) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_within(inner: &Inner, record: &EffectRecord, other: &OtherKey) -> bool {
    let age = inner.store.now_ms().saturating_sub(record.started_at_ms);
    other.within_ms.is_none_or(|most| age <= i64::try_from(most).unwrap_or(i64::MAX))
}

/// What a call asks for, as it was accepted.
fn asked(call: &Authorized) -> Digest {
    Digest::of_json(&json!([call.accepted(), call.call.connection]))
}

/// Which repetition of what it asks for a call is. Among the calls of one request that is counted by
/// the tool, whichever name it goes by, and by what makes up a fingerprint.
fn nth(call: &Authorized) -> u32 {
    let said = call.call.occurrence;
    match &call.call.asked {
        Some(all) => all.nth(&Digest::of_json(&json!([call.tool.tool.id, asked(call)])), said),
        None => said,
    }
}

/// A key is scoped by tenant, principal and tool. Lists of JSON keep the fields apart, whatever
/// they contain.
fn scoped(call: &Authorized, source: &Value) -> Digest {
    let caller = &call.call.caller;
    let tool = &call.tool.tool.id;
    Digest::of_json(&json!([&*caller.tenant, caller.principal(), tool, source]))
}

/// The act itself, whatever the key.
fn act(call: &Authorized) -> Digest {
    let (tenant, tool) = (&*call.call.caller.tenant, &call.tool.tool.id);
    Digest::of_json(&json!([tenant, tool, call.call.connection, business(call)]))
}

impl Key {
    /// Whether an entry under this key is about the same arguments.
    pub(crate) fn fits(&self, record: &EffectRecord) -> bool {
        record.fingerprint == self.fingerprint
    }
}

/// The arguments that make two calls the same act: the declared ones, else all.
fn business(call: &Authorized) -> Value {
    match &call.tool.tool.contract.idempotency_key_fields {
        Some(fields) => {
            let value = |field: &String| call.effective().get(field).cloned().unwrap_or_default();
            fields.iter().map(|field| json!([field, value(field)])).collect()
        }
        None => call.accepted().into_owned(),
    }
}

fn well_formed(key: &str) -> Result<(), ToolError> {
    if !key.is_empty() && key.len() <= MAX_KEY && key.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::InvalidArguments,
        format!("an idempotency key has 1 to {MAX_KEY} visible ASCII characters"),
    )
    .suggest("send a random id of 32 hexadecimal digits, and the same one when you retry"))
}

fn key_required() -> ToolError {
    ToolError::new(
        ErrorKind::IdempotencyKeyRequired,
        "this tool changes something, and the call has neither an idempotency key nor a session",
    )
}

/// Clocks differ by so much at most.
const AHEAD_MS: i64 = 5 * 60 * 1000;

/// Keys are forgotten one day; a request that is older than that cannot be told from a new one.
fn fresh_enough(inner: &Inner, call: &Authorized) -> Result<(), ToolError> {
    let oldest = i64::try_from(millis(inner.settings.request_max_age)).unwrap_or(i64::MAX);
    match call.call.issued_at_ms {
        Some(issued) if call.now_ms.saturating_sub(issued) > oldest => Err(ToolError::new(
            ErrorKind::RequestExpired,
            format!("the request is older than {} s; nothing was done", oldest / 1000),
        )),
        Some(issued) if issued.saturating_sub(call.now_ms) > AHEAD_MS => Err(ToolError::new(
            ErrorKind::InvalidArguments,
            format!(
                "the request says that it was made more than {} s from now; nothing was done",
                AHEAD_MS / 1000
            ),
        )
        .suggest("say when the request was made, by a clock that is right, or leave it out")),
        _ => Ok(()),
    }
}

/// The right to run. What has effects has its entry in the ledger.
pub(crate) struct Granted(Option<Box<Entry>>);

/// A call's entry in the ledger, and who waits for the answer.
struct Entry {
    ticket: Ticket,
    leading: Leading,
    /// When it was recorded, by a clock that nobody sets.
    at: Instant,
    /// For how long others leave it to this process.
    lease: Duration,
}

impl Granted {
    /// Whether the ledger has it.
    pub(crate) fn is_effect(&self) -> bool {
        self.0.is_some()
    }

    /// How long ago it was recorded.
    pub(crate) fn age(&self) -> Duration {
        self.0.as_ref().map_or(Duration::ZERO, |entry| entry.at.elapsed())
    }

    /// Whether something that takes so long from now on would end after others have given it up. A
    /// process that was stopped for a while may find itself there.
    pub(crate) fn outlasts_its_lease(&self, length: Duration) -> bool {
        let late = |entry: &Entry| entry.at.elapsed().saturating_add(length) > entry.lease;
        self.0.as_deref().is_some_and(late)
    }

    /// Whether duplicates wait for the answer.
    pub(crate) fn is_followed(&self) -> bool {
        self.0.as_ref().is_some_and(|entry| entry.leading.is_followed())
    }

    pub(crate) fn ticket(&self) -> Option<&Ticket> {
        self.0.as_ref().map(|entry| &entry.ticket)
    }

    /// The same for every attempt under one key, for providers that deduplicate by themselves.
    pub(crate) fn provider_key(&self) -> Option<String> {
        self.ticket().map(|ticket| format!("haft-{}", ticket.key.hex()))
    }

    /// Gives the answer to the duplicates that wait for it.
    pub(crate) fn answer(self, answer: &Answer) {
        if let Some(entry) = self.0 {
            entry.leading.answer(Arc::new(answer.clone()));
        }
    }
}

/// Records that the call is about to run; or says why it does not.
pub(crate) async fn begin(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    joined: &Joined,
) -> Result<Granted, Answer> {
    if let Some(decision) = authorize::anew(inner, joined) {
        Box::pin(still_allowed(inner, trip, joined, decision)).await?;
    }
    match &joined.key {
        // The session was to answer, and has forgotten the call meanwhile.
        None if joined.spend.is_some() => Err(refused(Box::pin(confirm::ask(inner, joined)).await)),
        None => Ok(Granted(None)),
        Some(key) => Box::pin(on_record(inner, trip, joined, key)).await,
    }
}

async fn on_record(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    joined: &Joined,
    key: &Key,
) -> Result<Granted, Answer> {
    super::fail_point("before_claim").await;
    // Before the ledger's own clock starts, so that the lease is never thought longer than it is.
    let at = Instant::now();
    let claim = record(inner, trip, joined, key);
    let lease = Duration::from_millis(claim.lease_ms);
    let grant = |ticket: Ticket| {
        let leading = inner.running.lead(&ticket.key, &ticket.call);
        Granted(Some(Box::new(Entry { ticket, leading, at, lease })))
    };
    let claimed = match inner.store.claim(claim.clone()).await {
        // Written or not? The claim carries this call's own id, so asking again tells.
        Err(StoreError::InDoubt(_)) => inner.store.claim(claim).await,
        answer => answer,
    };
    match claimed {
        Ok(Claimed::Fresh(ticket)) => Ok(grant(ticket)),
        // The first answer was lost, and it was this very call that was recorded.
        Ok(Claimed::InFlight(record)) if *record.effect.call == *trip.id => {
            let (key, epoch, call) = (record.key, record.epoch, record.effect.call);
            Ok(grant(Ticket { key, epoch, call, in_doubt: epoch > 1 }))
        }
        Ok(Claimed::Answered(record)) => {
            trip.warnings.extend(undone(&record));
            let mut answer = replayed(&record);
            // A process that died in between has not told the session what the handler asked of it.
            if record.effect.session.is_some() && record.effect.session == joined.call().session {
                let (call, turn_group) = (record.effect.call, record.effect.turn_group);
                trip.replays = Some(Box::new(Replayed { call, turn_group }));
                answer.intents = record.intents;
            }
            Err(answer)
        }
        Ok(Claimed::InFlight(record)) => Err(attach(inner, &record).await),
        Ok(Claimed::Conflict) => Err(refused(
            ToolError::new(
                ErrorKind::Conflict,
                "this idempotency key was used for another call; nothing was done",
            )
            .suggest("send a new key for a new call"),
        )),
        Ok(Claimed::Unknown(record)) => Err(refused(unknown(
            &record,
            "the earlier attempt of this call may have been carried out",
        ))),
        Ok(Claimed::Similar(record)) => Err(refused(unknown(
            &record,
            "the same act was asked for before and its outcome is not known; it was not begun again",
        ))),
        // A repetition that turned out to be a new attempt: now a person is asked.
        Ok(Claimed::Unspendable(Unspendable::NotApproved)) => {
            Err(refused(confirm::ask(inner, joined).await))
        }
        Ok(Claimed::Unspendable(why)) => Err(refused(unspendable(why))),
        Err(error) => Err(refused(unrecorded(&error))),
    }
}

/// Why an effect that cannot be recorded is not begun. A trail that was touched stays so until
/// somebody has looked: to try again does not help.
fn unrecorded(error: &StoreError) -> ToolError {
    let kind = ErrorKind::StoreUnavailable;
    let mut refused = match error {
        StoreError::Tampered(_) => ToolError::new(
            kind,
            "the audit trail was changed from outside, so no effects are carried out; nothing was done",
        )
        .suggest(
            "do not try again before whoever runs haft has looked into it with `haft audit verify` \
             and gone on with `haft audit acknowledge`",
        ),
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::Missing
        | StoreError::WrongState(_) => {
            ToolError::new(kind, "the ledger cannot be written, so nothing was done")
        }
    };
    refused.retryable = !matches!(error, StoreError::Tampered(_));
    refused.caused_by(error)
}

/// Nothing is begun under rules that are no longer in force.
async fn still_allowed(
    inner: &Inner,
    trip: &mut Trip,
    joined: &Joined,
    decision: Decision,
) -> Result<(), Answer> {
    // One without an id begins nothing: the ledger answers for it.
    let approved = joined.spend.as_ref().is_some_and(|spend| !spend.id.is_empty());
    match decision.verdict {
        Verdict::Deny => {
            let refusal = gate::denied(Stage::Claim, &decision);
            trip.rule = refusal.rule;
            Err(refused(refusal.error))
        }
        // An approval that was given under other rules is void.
        Verdict::RequireApproval => Err(refused(confirm::ask(inner, joined).await)),
        Verdict::Allow if approved => Err(refused(confirm::ask(inner, joined).await)),
        Verdict::Allow => Ok(()),
    }
}

fn record(inner: &Inner, trip: &Trip, joined: &Joined, key: &Key) -> Claim {
    let call = joined.call();
    let tool = &joined.tool.tool;
    let lease = execute::longest(inner, joined).saturating_add(inner.settings.lease_grace);
    Claim {
        key: key.digest.clone(),
        other: key.other.clone(),
        fingerprint: key.fingerprint.clone(),
        act: key.act.clone(),
        lease_ms: millis(lease),
        again_within_ms: joined.tool.limits.again_within_ms(),
        keep: inner.settings.keep(joined.class()),
        confirmation: joined.spend.as_deref().cloned(),
        despite_similar: call.overrule.similar_unknown,
        effect: Effect {
            call: trip.id.as_ref().to_owned(),
            tenant: call.caller.tenant.to_string(),
            agent: call.caller.agent.to_string(),
            actor: call.caller.actor.clone(),
            subject: call.caller.subject.clone(),
            session: call.session.clone(),
            turn: trip.turn,
            turn_group: joined.session.as_ref().map(|session| session.turn.group.clone()),
            mode: joined.mode,
            tool: tool.id.clone(),
            tool_version: tool.contract.version.to_string(),
            tool_digest: tool.digest.clone(),
            registry_version: trip.registry_version.as_deref().unwrap_or_default().to_owned(),
            policy: joined.class(),
            arguments: Value::clone(joined.effective()),
            raw_arguments: raw(joined),
            connection: call.connection.clone(),
            compensates: call.compensates.clone(),
            first_at_ms: None,
        },
    }
}

/// What came, where it is not what is used.
fn raw(joined: &Joined) -> Option<Value> {
    let came = match joined.raw()? {
        RawArguments::Text(text) => Value::String(text.clone()),
        RawArguments::Value(value) => value.clone(),
    };
    (came != **joined.effective()).then_some(came)
}

/// Waits for the answer of the call that this one repeats.
async fn attach(inner: &Inner, record: &EffectRecord) -> Answer {
    let until = tokio::time::Instant::now() + inner.settings.attach_for;
    let followed = tokio::time::timeout_at(until, inner.running.follow(&record.key)).await;
    if let Ok(Some(answer)) = followed {
        // What the handler asked of the session is applied once, by the call that ran.
        return Answer { intents: Vec::new(), cached: true, ..Answer::clone(&answer) };
    }
    elsewhere(inner, record, until).await
}

/// Another process runs it: look until it has ended, or for as long as is reasonable.
async fn elsewhere(inner: &Inner, record: &EffectRecord, until: tokio::time::Instant) -> Answer {
    const PAUSE: Duration = Duration::from_millis(50);
    let mut call = record.effect.call.clone();
    loop {
        let seen = match inner.store.effect(&record.effect.tenant, &call).await {
            // It failed, and somebody has begun again under the key: that is what is waited for now.
            Err(StoreError::Missing) => inner.store.by_key(&record.key).await,
            seen => seen,
        };
        match seen {
            Ok(now) if now.fingerprint != record.fingerprint => break,
            Ok(now) if now.state != State::Started => return replayed(&now),
            Ok(now) => call = now.effect.call,
            Err(StoreError::Missing) => break,
            Err(_) => {}
        }
        if tokio::time::Instant::now() >= until {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    refused(
        ToolError::new(
            ErrorKind::InFlight,
            "the same call is being carried out; its answer has not come yet",
        )
        .with_details(json!({ "call": record.effect.call })),
    )
}

/// What is on record, as an answer.
pub(crate) fn replayed(record: &EffectRecord) -> Answer {
    let result = match (&record.state, &record.result, &record.error) {
        (State::Unknown | State::Started, ..) => {
            Err(unknown(record, "the call may have been carried out"))
        }
        (State::Failed | State::NotHappened, _, Some(error)) => Err(error.clone()),
        (_, Some(result), _) => Ok(result.clone()),
        // The error said that nobody knew; by now it is known.
        (_, None, Some(error)) if error.kind == ErrorKind::UnknownOutcome => {
            Err(unanswered(record, "the call was carried out; what it answered is not known"))
        }
        // Done, but its answer could not be shown even then.
        (_, None, Some(error)) => Err(error.clone()),
        (_, None, None) => {
            Err(unanswered(record, "the call was carried out; its answer is no longer kept"))
        }
    };
    // What the handler asked of the session was applied then.
    Answer { result, view: None, intents: Vec::new(), stage: Stage::Claim, cached: true }
}

/// Done, and nothing to show for it.
fn unanswered(record: &EffectRecord, message: &str) -> ToolError {
    ToolError::new(ErrorKind::ResultExpired, message)
        .with_details(json!({ "call": record.effect.call, "state": record.state }))
}

/// What has become of an act since it was answered, for whoever is told the answer again.
fn undone(record: &EffectRecord) -> Option<Warning> {
    let message = match record.state {
        State::Compensated => "this was done, and has been undone since",
        State::Compensating => "this was done, and is being undone",
        State::Stuck => "this was done; undoing it has failed, and a person has to look",
        State::Started
        | State::Unknown
        | State::Succeeded
        | State::Failed
        | State::Happened
        | State::NotHappened => return None,
    };
    let (path, code, message) = (String::new(), "undone".to_owned(), message.to_owned());
    Some(Warning { path, code, message, before: None, after: None })
}

/// An outcome that nobody knows.
pub(crate) fn unknown(record: &EffectRecord, message: &str) -> ToolError {
    let mut error = ToolError::new(ErrorKind::UnknownOutcome, message)
        .with_details(json!({ "call": record.effect.call, "tool": record.effect.tool }));
    error.partial_side_effects = true;
    error
}

pub(crate) fn unspendable(why: Unspendable) -> ToolError {
    let (kind, message) = match why {
        Unspendable::NotApproved => {
            (ErrorKind::ConfirmationRequired, "a person has to approve this call first")
        }
        Unspendable::Spent => (ErrorKind::ConfirmationRefused, "the approval has been used"),
        Unspendable::Expired => (ErrorKind::ConfirmationRefused, "the approval has expired"),
        Unspendable::OtherCall => {
            (ErrorKind::ConfirmationRefused, "the approval was given for another call")
        }
    };
    ToolError::new(kind, message)
}

fn refused(error: ToolError) -> Answer {
    Answer::refused(Stage::Claim, error)
}
