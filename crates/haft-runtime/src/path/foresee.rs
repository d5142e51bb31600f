//! What would keep a call from running once it is decided: asked for a dry run, and nothing changed.

use std::sync::Arc;

use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectFilter, StoreError};
use haft_core::record::Stage;
use haft_core::session::Session;
use haft_core::{ErrorKind, ToolError};

use super::confirm::Approved;
use super::key::Key;
use super::{Refusal, act, claim, confirm, gate, join, replay};
use crate::runtime::Inner;

/// So many effects of unknown outcome are looked through.
const MOST: usize = 1000;

/// The refusal that the call would meet now, in the order in which it would meet them.
pub(crate) async fn refusal(
    inner: &Arc<Inner>,
    call: &Approved,
    earlier: Option<&EffectRecord>,
) -> Option<Refusal> {
    if let Err(refusal) = gate::within_rate(inner, call) {
        return Some(refusal);
    }
    // What the ledger answers for, neither budget nor newer message stands in the way of.
    let known = earlier.is_some_and(|record| !record.state.frees_its_key());
    if !known && let Some(session) = &call.session {
        let mut session = Session::clone(session);
        if let Err(not_now) = join::run_now(inner, &mut session, call) {
            return Some(Refusal::at(Stage::Gate, not_now.into()));
        }
    }
    if !inner.store.is_writable()
        && let Some(refusal) = unwritable(inner, call, earlier).await
    {
        return Some(refusal);
    }
    on_record(inner, call, earlier).await.map(|error| Refusal::at(Stage::Claim, error))
}

/// What is said where nothing can be written now, neither a question nor what is begun.
async fn unwritable(
    inner: &Inner,
    call: &Approved,
    earlier: Option<&EffectRecord>,
) -> Option<Refusal> {
    let why = StoreError::Unavailable("it cannot be written to now".to_owned());
    let asks = call.call().confirmation.is_none() && confirm::is_needed(inner, call);
    let unasked = || Refusal::at(Stage::Confirm, confirm::unwritable(&why));
    let Some(key) = &call.key else {
        return (asks && !join::is_answered(inner, call).await).then(unasked);
    };
    match earlier.filter(|record| key.fits(record)) {
        Some(record) if matches!(record.state, State::Started | State::Unknown) => {
            Some(Refusal::at(Stage::Claim, replay::earlier(record)))
        }
        Some(record) if !record.state.frees_its_key() => None,
        Some(_) | None if asks => Some(unasked()),
        Some(_) | None => Some(Refusal::at(Stage::Claim, claim::unrecorded(&why))),
    }
}

/// What the ledger would say.
async fn on_record(
    inner: &Inner,
    call: &Approved,
    earlier: Option<&EffectRecord>,
) -> Option<ToolError> {
    let key = call.key.as_ref()?;
    if let Err(touched @ StoreError::Tampered(_)) =
        inner.store.trusts(&call.call().caller.tenant).await
    {
        return Some(match earlier {
            Some(record) if !record.state.frees_its_key() => claim::untold(&touched),
            Some(_) | None => claim::unrecorded(&touched),
        });
    }
    match earlier {
        Some(record) if !key.fits(record) => Some(ToolError::new(
            ErrorKind::Conflict,
            "this idempotency key was used for another call",
        )),
        Some(record)
            if record.state == State::Unknown && !may_begin_again(inner, call, key, record) =>
        {
            Some(replay::earlier(record))
        }
        Some(record) if !record.state.frees_its_key() => None,
        Some(_) | None if call.call().overrule.similar_unknown => None,
        Some(_) | None => similar(inner, call).await.map(|record| act::open(call, &record)),
    }
}

/// The same act under another key, of which nobody knows whether it happened.
async fn similar(inner: &Inner, call: &Approved) -> Option<EffectRecord> {
    let filter = EffectFilter {
        tenant: call.call().caller.tenant.to_string(),
        states: vec![State::Unknown],
        tool: Some(call.tool.tool.id.clone()),
        limit: MOST,
        ..EffectFilter::default()
    };
    let unknown = inner.store.effects(filter).await.ok()?;
    let by_key = call.tool.tool.contract.relies_on_its_key();
    let may_run_beside = |record: &EffectRecord| {
        !by_key && !record.effect.relies_on_its_key && is_harmless(call, record)
    };
    unknown.into_iter().find(|record| !may_run_beside(record) && act::is_that_of(call, record))
}

/// Whether another attempt is made: in a session that goes on, for as long as the provider knows its key.
fn may_begin_again(inner: &Inner, call: &Approved, key: &Key, record: &EffectRecord) -> bool {
    let age = inner.store.now_ms().saturating_sub(record.first_at_ms());
    let within = i64::try_from(call.tool.limits.again_within_ms()).unwrap_or(i64::MAX);
    let repeats = key.attempted(call).repeats(&record.effect);
    is_harmless(call, record) && repeats && age < within && !gate::is_over(call)
}

/// Whether both may be carried out twice.
fn is_harmless(call: &Approved, record: &EffectRecord) -> bool {
    let twice = |class| match class {
        SideEffectPolicy::Pure | SideEffectPolicy::Idempotent => true,
        SideEffectPolicy::Compensatable | SideEffectPolicy::Irreversible => false,
    };
    twice(call.class()) && twice(record.effect.policy)
}
