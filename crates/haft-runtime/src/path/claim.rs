//! `claim`: the ledger's record before the first byte leaves, or the answer that is there already.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::call::RawArguments;
use haft_core::contract::{Capability, Compensation, SideEffectPolicy};
use haft_core::ledger::{
    After, Claim, Claimed, Effect, EffectRecord, Keep, Spend, State, Ticket, Unspendable,
};
use haft_core::port::{Decision, StoreError, Verdict};
use haft_core::record::Stage;
use haft_core::{Digest, ErrorKind, ToolError};
use serde_json::Value;

use super::join::Joined;
use super::key::Key;
use super::trip::Replayed;
use super::{Answer, Trip, act, authorize, confirm, execute, gate, replay};
use crate::attach::Leading;
use crate::runtime::Inner;
use crate::settings::millis;

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
    /// Whether it is an effect of which nothing can have been done yet, by no earlier attempt either.
    pub(crate) fn is_untouched(&self) -> bool {
        self.ticket().is_some_and(|ticket| !ticket.in_doubt)
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

    /// For how long others still leave it to this process.
    pub(crate) fn lease_left(&self) -> Duration {
        let left = |entry: &Entry| entry.lease.saturating_sub(entry.at.elapsed());
        self.0.as_deref().map_or(Duration::ZERO, left)
    }

    /// Whether duplicates wait for the answer.
    pub(crate) fn is_followed(&self) -> bool {
        self.0.as_ref().is_some_and(|entry| entry.leading.is_followed())
    }

    pub(crate) fn ticket(&self) -> Option<&Ticket> {
        self.0.as_ref().map(|entry| &entry.ticket)
    }

    /// The same for every attempt under one key while its entry is kept, for providers that deduplicate by themselves.
    pub(crate) fn provider_key(&self) -> Option<String> {
        let ticket = self.ticket()?;
        ticket.provider_key.clone().or_else(|| Some(by_key(&ticket.key)))
    }

    /// The same for every attempt: what the keys of a handler's own calls are made of.
    pub(crate) fn own_key(&self) -> Option<Digest> {
        self.ticket().map(|ticket| ticket.key.clone())
    }

    /// Gives the answer to the duplicates that wait for it.
    pub(crate) fn answer(self, answer: &Answer) {
        if let Some(entry) = self.0 {
            entry.leading.answer(Arc::new(answer.clone()));
        }
    }
}

/// A key as others are told it.
pub(crate) fn by_key(key: &Digest) -> String {
    format!("haft-{}", key.hex())
}

/// What the attempts of a new entry are sent with. With the call in it: the next one that has this key, when this entry
/// is gone or as another tenant of the same name, asks for something else, and a provider that still knows the key
/// would give it this one's answer.
fn provider_key(key: &Digest, call: &str) -> String {
    let life = Digest::of_bytes(call.as_bytes());
    format!("{}-{}", by_key(key), life.hex().get(..16).unwrap_or_default())
}

/// Records that the call is about to run; or says why it does not.
pub(crate) async fn begin(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    joined: &Joined,
) -> Result<Granted, Answer> {
    may_begin(inner, trip, joined).await?;
    match (&joined.key, &joined.spend) {
        (None, None) => Ok(Granted(None)),
        (None, Some(approval)) => Box::pin(spent(inner, trip, joined, approval)).await,
        (Some(key), _) => Box::pin(on_record(inner, trip, joined, key)).await,
    }
}

/// Whether whoever asked is still let in, and what let the call run still does.
async fn may_begin(inner: &Inner, trip: &mut Trip, joined: &Joined) -> Result<(), Answer> {
    if let Err(refusal) = gate::let_in(inner, &joined.call().caller) {
        trip.rule = refusal.rule;
        return Err(refused(refusal.error));
    }
    match authorize::anew(inner, joined) {
        Some(decision) => Box::pin(still_allowed(inner, trip, joined, decision)).await,
        None => Ok(()),
    }
}

/// Claims, and again where whoever carried out the same call is gone and to begin it again does no harm.
async fn on_record(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    joined: &Joined,
    key: &Key,
) -> Result<Granted, Answer> {
    let until = tokio::time::Instant::now() + inner.settings.attach_for;
    loop {
        match claimed(inner, trip, joined, key, until).await {
            // It may have been given up for what is true of this call as well.
            Err(Ended::Left(_)) if tokio::time::Instant::now() < until => {
                may_begin(inner, trip, joined).await?;
            }
            Err(Ended::Left(record)) => return Err(replay::running(&record.effect.call)),
            Err(Ended::Answer(answer)) => return Err(answer),
            Ok(granted) => return Ok(granted),
        }
    }
}

/// Why a claim does not let a call run.
enum Ended {
    Answer(Answer),
    /// The same call was on its way, and nobody carries it out any more.
    Left(Box<EffectRecord>),
}

impl From<Answer> for Ended {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

/// Spends the approval of a call without effects, which has no entry to be spent with.
async fn spent(
    inner: &Inner,
    trip: &Trip,
    joined: &Joined,
    approval: &Spend,
) -> Result<Granted, Answer> {
    // The session was to answer, and has forgotten the call meanwhile.
    if approval.id.is_empty() {
        return Err(refused(Box::pin(confirm::ask(inner, trip, joined)).await));
    }
    match inner.store.spend(&joined.call().caller.tenant, &trip.id, approval).await {
        Ok(None) => Ok(Granted(None)),
        Ok(Some(why)) => Err(refused(unspendable(why))),
        Err(error) => Err(refused(confirm::unwritable(&error))),
    }
}

async fn claimed(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    joined: &Joined,
    key: &Key,
    until: tokio::time::Instant,
) -> Result<Granted, Ended> {
    super::fail_point("before_claim").await;
    // Before the ledger's own clock starts, so that the lease is never thought longer than it is.
    let at = Instant::now();
    let claim = record(inner, trip, joined, key);
    let lease = Duration::from_millis(claim.lease_ms);
    let grant = |ticket: Ticket| {
        let leading = inner.running.lead(&ticket.key, &ticket.call);
        Granted(Some(Box::new(Entry { ticket, leading, at, lease })))
    };
    let claimed = match inner.store.claim(claim).await {
        // Written or not? The claim carries this call's own id, so asking again tells.
        Err(StoreError::InDoubt(_)) => inner.store.claim(record(inner, trip, joined, key)).await,
        answer => answer,
    };
    match claimed {
        Ok(Claimed::Fresh(ticket)) => Ok(grant(ticket)),
        // The first answer was lost, and it was this very call that was recorded.
        Ok(Claimed::InFlight(record)) if *record.effect.call == *trip.id => {
            let (key, epoch, effect) = (record.key, record.epoch, record.effect);
            let (call, provider_key) = (effect.call, effect.provider_key);
            Ok(grant(Ticket { key, epoch, call, in_doubt: epoch > 1, provider_key }))
        }
        Ok(Claimed::InFlight(record)) => {
            let Some(attached) = replay::attach(inner, &record, until).await else {
                return Err(Ended::Left(record));
            };
            // That takes as long as the call does, and whoever waited may have no right to the answer any more.
            if let Err(refusal) = gate::let_in(inner, &joined.call().caller) {
                trip.rule = refusal.rule;
                return Err(refused(refusal.error).into());
            }
            trip.warnings.extend(replay::otherwise(&record, joined.effective()));
            if attached.answer.cached {
                trip.replay_of = Some(attached.call.into());
            }
            Err(attached.answer.into())
        }
        Ok(Claimed::Answered(record)) => Err(answered(trip, joined, *record).into()),
        // A repetition that turned out to be a new attempt: now a person is asked.
        Ok(Claimed::Unspendable(Unspendable::NotApproved)) => {
            Err(refused(confirm::ask(inner, trip, joined).await).into())
        }
        Ok(Claimed::Conflict) => Err(refused(
            ToolError::new(
                ErrorKind::Conflict,
                "this idempotency key was used for another call; nothing was done",
            )
            .suggest("send a new key for a new call"),
        )
        .into()),
        Ok(Claimed::Unknown(record)) => {
            trip.warnings.extend(replay::otherwise(&record, joined.effective()));
            Err(refused(replay::earlier(&record)).into())
        }
        Ok(Claimed::Similar(record)) => Err(refused(act::open(joined, &record)).into()),
        Ok(Claimed::Unspendable(why)) => Err(refused(unspendable(why)).into()),
        Ok(Claimed::Displaced) => Err(refused(gate::superseded()).into()),
        Err(error) => Err(Box::pin(not_begun(inner, trip, joined, key, &error)).await.into()),
    }
}

/// The end of a call that cannot be recorded. What was done under its key before is told all the same:
/// nobody is to hear that nothing was done of what was.
async fn not_begun(
    inner: &Inner,
    trip: &mut Trip,
    joined: &Joined,
    key: &Key,
    error: &StoreError,
) -> Answer {
    // Not what this very call has written without hearing of it: that is begun by nobody.
    let is_earlier = |one: &EffectRecord| key.fits(one) && *one.effect.call != *trip.id;
    let earlier = key.entry(inner).await.map(|record| record.filter(is_earlier));
    match earlier {
        Ok(Some(record)) if record.state.frees_its_key() => refused(unrecorded(error)),
        Ok(Some(_)) if matches!(error, StoreError::Tampered(_)) => refused(untold(error)),
        Ok(Some(record)) if matches!(record.state, State::Started | State::Unknown) => {
            refused(replay::earlier(&record))
        }
        Ok(Some(record)) => answered(trip, joined, record),
        Ok(None) => refused(unrecorded(error)),
        Err(_) => {
            let mut unsure = unrecorded(error);
            unsure.message =
                "the ledger can neither be read nor written: nothing was begun now, and \
                              whether an earlier attempt under this key was is not known"
                    .to_owned();
            refused(unsure.suggest("try again later, under the same key"))
        }
    }
}

/// The answer of a call that has been carried out under this key.
fn answered(trip: &mut Trip, joined: &Joined, record: EffectRecord) -> Answer {
    trip.warnings.extend(replay::undone(&record));
    trip.warnings.extend(replay::otherwise(&record, joined.effective()));
    trip.replay_of = Some(record.effect.call.as_str().into());
    let mut answer = replay::replayed(&record);
    // A process that died in between has not told the session what the handler asked of it.
    if record.effect.session.is_some() && record.effect.session == joined.call().session {
        let (call, turn_group) = (record.effect.call, record.effect.turn_group);
        trip.replays = Some(Box::new(Replayed { call, turn_group }));
        answer.intents = record.intents;
    }
    answer
}

/// The same where something is on record under its key. What a trail says that was touched is for
/// people to judge.
pub(super) fn untold(error: &StoreError) -> ToolError {
    let mut unsure = unrecorded(error);
    unsure.message =
        "the audit trail was changed from outside, so no effects are carried out: nothing was \
                      begun now, and of what was done under this key before nothing is said"
            .to_owned();
    unsure.partial_side_effects = true;
    unsure
}

/// Why an effect that cannot be recorded is not begun. A trail that was touched stays so until
/// somebody has looked: to try again does not help.
pub(super) fn unrecorded(error: &StoreError) -> ToolError {
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
    decision: Arc<Decision>,
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
        Verdict::RequireApproval => Err(refused(confirm::ask(inner, trip, joined).await)),
        Verdict::Allow if approved => Err(refused(confirm::ask(inner, trip, joined).await)),
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
        deed: key.deed.clone(),
        deed_unconnected: key.deed_unconnected.clone(),
        lease_ms: millis(lease),
        again_within_ms: joined.tool.limits.again_within_ms(),
        keep: keep(inner, joined),
        confirmation: joined.spend.as_deref().cloned(),
        despite_similar: call.overrule.similar_unknown,
        place: joined.place.clone(),
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
            account_made_ms: key.account_made_ms,
            within: call.within.as_ref().map(|within| within.call.to_string()),
            part_of: call.within.as_ref().and_then(|within| within.key.clone()),
            compensates: call.compensates.clone(),
            relies_on_its_key: tool.contract.relies_on_its_key(),
            first_at_ms: None,
            provider_key: Some(provider_key(&key.digest, &trip.id)),
            after: Some(After::of(tool)),
        },
    }
}

/// How long it is kept. An answer that its compensation is made from is kept as long as the key, or it could
/// not be undone any more; and a key as long as those of what its handler does through other tools, which are made of
/// it: its next life would meet them.
fn keep(inner: &Inner, joined: &Joined) -> Keep {
    let contract = &joined.tool.tool.contract;
    let class = match contract.capabilities.contains(&Capability::CallTool) {
        true => joined.class().max(SideEffectPolicy::Compensatable),
        false => joined.class(),
    };
    let keep = inner.settings.keep(class);
    match contract.compensation.as_ref().is_some_and(Compensation::reads_result) {
        true => Keep { result_ms: keep.key_ms, ..keep },
        false => keep,
    }
}

/// What came, where it is not what is used.
fn raw(joined: &Joined) -> Option<Value> {
    let came = match joined.raw()? {
        RawArguments::Text(text) => Value::String(text.clone()),
        RawArguments::Value(value) | RawArguments::Read(value, _) => value.clone(),
    };
    (came != **joined.effective()).then_some(came)
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
