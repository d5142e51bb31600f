//! `confirm`: where a person must approve, an approval or a question.

use std::ops::Deref;
use std::sync::Arc;

use haft_core::contract::{Confirmation as Rule, SideEffectPolicy};
use haft_core::ledger::{EffectRecord, Spend, State};
use haft_core::port::{Asking, ConfirmationFilter, Put, StoreError, Verdict};
use haft_core::record::{Confirmation, ConfirmationStatus, EventKind, Stage};
use haft_core::{Call, Digest, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::authorize::Authorized;
use super::key::Key;
use super::{Refusal, Trip, gate, join};
use crate::runtime::Inner;
use crate::settings::millis;
use crate::toolbox::EffectiveTool;
use crate::{identity, preview};

/// A call that may run.
pub(crate) struct Approved {
    authorized: Authorized,
    /// The approval that is spent with the claim. Boxed, as the key is: calls without effects have
    /// neither.
    pub(crate) spend: Option<Box<Spend>>,
    /// What makes it the same act as another.
    pub(crate) key: Option<Box<Key>>,
}

impl Deref for Approved {
    type Target = Authorized;

    fn deref(&self) -> &Authorized {
        &self.authorized
    }
}

impl Approved {
    pub(crate) fn call(&self) -> &Call {
        &self.authorized.call
    }

    /// Whether running it twice does no harm and nothing is remembered of it.
    pub(crate) fn is_pure(&self) -> bool {
        self.class() == SideEffectPolicy::Pure
    }
}

/// (An approval is spent with the claim, once nothing else stands in the way: a refusal uses none up.)
pub(crate) async fn require(
    inner: &Arc<Inner>,
    trip: &Trip,
    authorized: Authorized,
) -> Result<Approved, Refusal> {
    let key = match Key::of(inner, &authorized)? {
        Some(key) => Some(Box::new(key.of_account(inner, &authorized).await)),
        None => None,
    };
    if gate::is_over(&authorized) {
        Box::pin(gate::outlasts_its_session(inner, &authorized, key.as_deref())).await?;
    }
    if authorized.call.declined {
        return declined(inner, trip, authorized, key).await;
    }
    if !is_needed(inner, &authorized) {
        return Ok(Approved { authorized, spend: None, key });
    }
    // What was approved and answered is answered again; nothing is begun for it.
    if key.is_none() && Box::pin(join::is_answered(inner, &authorized)).await {
        let spend =
            Spend { id: String::new(), binding: binding(inner, &authorized), turn: trip.turn };
        return Ok(Approved { authorized, spend: Some(Box::new(spend)), key });
    }
    let spend = Box::pin(approval(inner, trip, &authorized, key.as_deref())).await?;
    Ok(Approved { authorized, spend: Some(Box::new(spend)), key })
}

/// A call to which its person has said no. What was done under its key before that is answered; nothing
/// is begun, also where the rules ask nobody any more.
async fn declined(
    inner: &Inner,
    trip: &Trip,
    call: Authorized,
    key: Option<Box<Key>>,
) -> Result<Approved, Refusal> {
    let at = |error| Refusal::at(Stage::Confirm, error);
    let repeats = match &key {
        Some(key) => {
            is_answered(inner, &call, key).await.map_err(|error| at(unreadable(&error)))?
        }
        None => false,
    };
    if !repeats {
        let earlier = in_doubt(inner, key.as_deref()).await.map_err(at)?;
        return Err(at(after(earlier.as_deref(), said_no())));
    }
    let spend = Spend { id: String::new(), binding: binding(inner, &call), turn: trip.turn };
    Ok(Approved { authorized: call, spend: Some(Box::new(spend)), key })
}

fn said_no() -> ToolError {
    ToolError::new(ErrorKind::ConfirmationRefused, "the person who was asked declined")
        .suggest("do not ask again; offer something else")
}

/// The approval to spend. One without an id can begin nothing: it stands for a repetition that the
/// ledger or the session will answer, or for a dry run.
async fn approval(
    inner: &Inner,
    trip: &Trip,
    call: &Authorized,
    key: Option<&Key>,
) -> Result<Spend, Refusal> {
    let (binding, turn) = (binding(inner, call), trip.turn);
    let repeats = match key {
        Some(key) => is_answered(inner, call, key)
            .await
            .map_err(|error| Refusal::at(Stage::Confirm, unreadable(&error)))?,
        None => false,
    };
    match &call.call.confirmation {
        _ if repeats => Ok(Spend { id: String::new(), binding, turn }),
        Some(token) => {
            let id = opened(inner, call, token, &binding).await?;
            Ok(Spend { id, binding, turn })
        }
        None if call.call.dry_run => {
            let at = |error| Refusal::at(Stage::Confirm, error);
            if answer(inner, call, &binding, ConfirmationStatus::Denied).await.is_some() {
                let earlier = in_doubt(inner, key).await.map_err(at)?;
                return Err(at(after(earlier.as_deref(), said_no())));
            }
            let id = answer(inner, call, &binding, ConfirmationStatus::Approved).await;
            Ok(Spend { id: id.unwrap_or_default(), binding, turn })
        }
        None => {
            // Somebody who came at the same time may have used the approval up, for this very act.
            let id = standing(inner, trip, call, key, binding.clone()).await?.unwrap_or_default();
            Ok(Spend { id, binding, turn })
        }
    }
}

/// Whether somebody has approved, and it was not used since.
pub(super) async fn is_approved(inner: &Inner, call: &Approved) -> bool {
    let Some(spend) = call.spend.as_ref().filter(|spend| !spend.id.is_empty()) else {
        return false;
    };
    let found = inner.store.confirmation(&call.call().caller.tenant, &spend.id).await;
    found.is_ok_and(|one| {
        one.status == ConfirmationStatus::Approved && one.expires_at_ms > call.now_ms
    })
}

/// Whether the ledger will answer for the key, so that nobody need approve again.
async fn is_answered(inner: &Inner, call: &Authorized, key: &Key) -> Result<bool, StoreError> {
    let Some(record) = key.entry(inner).await? else { return Ok(false) };
    Ok(match record.state {
        State::Failed | State::NotHappened => false,
        // What does no harm twice is begun again while its session goes on, and that needs an approval of its own.
        State::Started | State::Unknown
            if call.class() == SideEffectPolicy::Idempotent && !gate::is_over(call) =>
        {
            inner.running.has(&record.key)
        }
        State::Started
        | State::Unknown
        | State::Succeeded
        | State::Happened
        | State::Compensating
        | State::Compensated
        | State::Stuck => true,
    })
}

/// Whether a person must approve: policy says so, or the contract as this agent has it.
pub(crate) fn is_needed(inner: &Inner, call: &Authorized) -> bool {
    call.decision.verdict == Verdict::RequireApproval || asks(inner, &call.tool, call)
}

/// Whether a tool, as an agent has it, asks a person first. A condition that cannot be evaluated counts as met.
pub(super) fn asks(inner: &Inner, tool: &EffectiveTool, call: &Authorized) -> bool {
    match &tool.requires_confirmation {
        Rule::Always(always) => *always,
        Rule::When { when } => inner.policy().holds(when, &call.ask_fully()).unwrap_or(true),
    }
}

/// What an approval is for: any change to these voids it.
fn binding(inner: &Inner, call: &Authorized) -> Digest {
    let caller = &call.call.caller;
    let mut bound = json!({
        "agent": &*caller.agent,
        "actor": caller.actor,
        "arguments": **call.effective(),
        "connection": call.account(),
        "policy": inner.policy().version_for(&caller.tenant),
        "subject": caller.subject,
        "tenant": &*caller.tenant,
        "tool": call.tool.tool.digest,
    });
    // What its handler calls is approved with it, as it is now.
    if let (Some(registry), Some(bound)) = (&call.calls_of, bound.as_object_mut()) {
        bound.insert("calls".to_owned(), json!(**registry));
    }
    // Who approves that something is undone approves nothing that an agent asks for by itself.
    if call.call.purpose.is_after_the_fact()
        && let Some(bound) = bound.as_object_mut()
    {
        bound.insert("afterTheFact".to_owned(), json!(call.call.compensates));
    }
    Digest::of_json(&bound)
}

/// An approval that was presented, by its id.
async fn opened(
    inner: &Inner,
    call: &Authorized,
    token: &str,
    binding: &Digest,
) -> Result<String, Refusal> {
    let refuse = |message: &str| {
        Refusal::at(Stage::Confirm, ToolError::new(ErrorKind::ConfirmationRefused, message))
    };
    let approval =
        inner.tokens.open(token).ok_or_else(|| refuse("this is not a valid approval"))?;
    if approval.binding != *binding {
        let note = json!({ "confirmation": approval.id, "tool": call.tool.tool.id, "why": "mismatch",
                    "agent": call.call.caller.agent, "session": call.call.session });
        // The refusal stands whether or not the note could be written.
        let _ = inner.store.note(&call.call.caller.tenant, "confirmation_mismatch", note).await;
        return Err(refuse("the approval was given for another call"));
    }
    if approval.expires_at_ms <= call.now_ms {
        return Err(refuse("the approval has expired"));
    }
    Ok(approval.id)
}

/// An approval that is on record for exactly this call, by its id; else the question is put. None where the
/// ledger has come to answer for it.
async fn standing(
    inner: &Inner,
    trip: &Trip,
    call: &Authorized,
    key: Option<&Key>,
    binding: Digest,
) -> Result<Option<String>, Refusal> {
    let at = |error| Refusal::at(Stage::Confirm, error);
    let earlier = in_doubt(inner, key).await.map_err(at)?;
    let asked = put(inner, trip, call, key, (binding, earlier.as_deref())).await.map_err(at)?;
    let Some(asked) = asked else { return Ok(None) };
    match asked.status {
        ConfirmationStatus::Approved => Ok(Some(asked.id)),
        ConfirmationStatus::Denied => Err(at(after(earlier.as_deref(), said_no()))),
        ConfirmationStatus::Pending | ConfirmationStatus::Spent => {
            Err(at(after(earlier.as_deref(), waits(&asked))))
        }
    }
}

/// The call that was begun before under the key and may have been carried out, where nobody knows. What does no harm
/// twice may be begun again all the same, and whoever is asked about that has to know.
async fn in_doubt(inner: &Inner, key: Option<&Key>) -> Result<Option<String>, ToolError> {
    let Some(key) = key else { return Ok(None) };
    let record = key.entry(inner).await.map_err(|error| unreadable(&error))?;
    let doubtful = |record: &EffectRecord| {
        key.fits(record) && matches!(record.state, State::Started | State::Unknown)
    };
    Ok(record.filter(doubtful).map(|record| record.effect.call))
}

/// Why a call is not begun now, where an earlier one under its key may have been carried out.
fn after(earlier: Option<&str>, mut why: ToolError) -> ToolError {
    let Some(earlier) = earlier else { return why };
    why.message.push_str("; an earlier attempt of it may have been carried out, and nobody knows");
    why.partial_side_effects = true;
    let details = why.details.get_or_insert_with(|| json!({}));
    if let Some(details) = details.as_object_mut() {
        details.insert("earlier".to_owned(), json!({ "call": earlier, "state": State::Unknown }));
    }
    why
}

/// Puts the question for a call that turned out to need one, and says that it waits; or that somebody has
/// said no, who may have taken an approval back while the call was on its way.
pub(crate) async fn ask(inner: &Inner, trip: &Trip, call: &Approved) -> ToolError {
    let key = call.key.as_deref();
    let earlier = match in_doubt(inner, key).await {
        Ok(earlier) => earlier,
        Err(error) => return error,
    };
    let binding = (binding(inner, call), earlier.as_deref());
    let why = match Box::pin(put(inner, trip, call, key, binding)).await {
        Ok(Some(asked)) if asked.status == ConfirmationStatus::Denied => said_no(),
        Ok(Some(asked)) => waits(&asked),
        Ok(None) => return begun(),
        Err(error) => error,
    };
    after(earlier.as_deref(), why)
}

/// Asks; gives the question that stands, or none where the ledger answers for the key by now.
async fn put(
    inner: &Inner,
    trip: &Trip,
    call: &Authorized,
    key: Option<&Key>,
    (binding, earlier): (Digest, Option<&str>),
) -> Result<Option<Confirmation>, ToolError> {
    let sought = key.map(|key| key.sought(call));
    // Nobody reads five hundred questions of one agent; and whoever undoes something answers the question at
    // once.
    let bounded = !call.call.purpose.is_after_the_fact();
    let most = bounded.then_some(inner.settings.max_pending_confirmations);
    let confirmation = question(inner, trip, call, binding, earlier);
    let id = confirmation.id.clone();
    let put = inner.store.ask(Asking { confirmation, sought, most }).await;
    match put.map_err(|error| unwritable(&error))? {
        Put::Begun => Ok(None),
        Put::Full => Err(full(inner)),
        Put::Stands(asked) => {
            if asked.id == id {
                inner.announce(&asked, EventKind::ConfirmationRequested);
            }
            Ok(Some(*asked))
        }
    }
}

fn full(inner: &Inner) -> ToolError {
    ToolError::new(
        ErrorKind::BudgetExceeded,
        format!(
            "{} questions of this agent wait for an answer already",
            inner.settings.max_pending_confirmations
        ),
    )
    .suggest("wait until the user has answered")
}

/// Somebody else has begun it since this call was decided about.
fn begun() -> ToolError {
    ToolError::new(ErrorKind::InFlight, "the same call has been begun under this key already")
        .suggest("send it again under the same key to get its answer")
}

/// The question about exactly this call that was answered so, by its id.
async fn answer(
    inner: &Inner,
    call: &Authorized,
    binding: &Digest,
    status: ConfirmationStatus,
) -> Option<String> {
    let answered = answered(inner, &call.call.caller.tenant, status).await.ok()?;
    answered.into_iter().find_map(|one| (one.binding == *binding).then_some(one.id))
}

/// A tenant's questions that were answered so and have not expired. They come newest first and all last
/// equally long, so what is behind the first expired ones need not be read.
async fn answered(
    inner: &Inner,
    tenant: &str,
    status: ConfirmationStatus,
) -> Result<Vec<Confirmation>, StoreError> {
    const PAGE: usize = 100;
    let (now, mut good) = (inner.store.now_ms(), Vec::new());
    let mut last: Option<String> = None;
    loop {
        let filter = ConfirmationFilter {
            tenant: tenant.to_owned(),
            status: Some(status),
            after: last,
            limit: PAGE,
            ..ConfirmationFilter::default()
        };
        let found = inner.store.confirmations(filter).await?;
        let goes_on = found.len() == PAGE && found.last().is_some_and(|c| c.expires_at_ms > now);
        last = found.last().map(|c| c.id.clone());
        good.extend(found.into_iter().filter(|c| c.expires_at_ms > now));
        if !goes_on {
            return Ok(good);
        }
    }
}

fn question(
    inner: &Inner,
    trip: &Trip,
    call: &Authorized,
    binding: Digest,
    earlier: Option<&str>,
) -> Confirmation {
    let caller = &call.call.caller;
    let mut preview = preview::render(&call.tool.tool.contract, call.effective());
    if let Some(earlier) = earlier {
        preview.text.push_str(&format!(
            " (An earlier attempt of this, {earlier}, may have been carried out already; nobody knows.)"
        ));
    }
    let asked_at_ms = inner.store.now_ms();
    let ttl = i64::try_from(millis(inner.settings.confirmation_ttl)).unwrap_or(i64::MAX);
    Confirmation {
        id: identity::fresh("cnf"),
        tenant: caller.tenant.to_string(),
        agent: caller.agent.to_string(),
        actor: caller.actor.clone(),
        subject: caller.subject.clone(),
        session: call.call.session.clone(),
        turn: trip.turn,
        call: Some(trip.id.to_string()),
        tool: call.tool.tool.id.clone(),
        arguments: Value::clone(call.effective()),
        connection: call.call.connection.clone(),
        preview: preview.text,
        suspicious: preview.suspicious,
        binding,
        tool_digest: Some(call.tool.tool.digest.clone()),
        policy_version: Some(inner.policy().version_for(&caller.tenant)),
        status: ConfirmationStatus::Pending,
        decided_by: None,
        asked_at_ms,
        expires_at_ms: asked_at_ms.saturating_add(ttl),
    }
}

/// What the model is told: everything but a way to approve it.
pub(crate) fn waits(asked: &Confirmation) -> ToolError {
    ToolError::new(ErrorKind::ConfirmationRequired, "a person has to approve this call first")
        .suggest("tell the user what you are about to do and ask them to approve; then call again with the same arguments")
        .with_details(json!({ "confirmation": request(asked) }))
}

/// A confirmation request as doors show it.
fn request(asked: &Confirmation) -> Value {
    json!({
        "id": asked.id,
        "tool": asked.tool,
        "arguments": asked.arguments,
        "preview": asked.preview,
        "suspicious": asked.suspicious,
        "expiresAtMs": asked.expires_at_ms,
    })
}

fn unreadable(error: &StoreError) -> ToolError {
    ToolError::new(ErrorKind::StoreUnavailable, "the ledger cannot be read, so nothing is begun")
        .caused_by(error)
}

pub(super) fn unwritable(error: &StoreError) -> ToolError {
    ToolError::new(ErrorKind::StoreUnavailable, "approvals cannot be read or written now")
        .caused_by(error)
}
