//! The key of a call: what makes two of them one.

use std::borrow::Cow;
use std::time::Duration;

use haft_core::call::{Keyed, LONGEST_KEY, is_key};
use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{EffectRecord, OtherKey};
use haft_core::port::StoreError;
use haft_core::record::Stage;
use haft_core::{Digest, ErrorKind, ToolError};
use serde::Serialize;
use serde_json::{Value, json};

use super::authorize::Authorized;
use super::{Refusal, act};
use crate::arguments::dotted;
use crate::runtime::Inner;
use crate::settings::millis;

/// What makes two calls the same act.
pub(crate) struct Key {
    /// Scoped by tenant, principal and tool.
    pub(crate) digest: Digest,
    /// What must be the same when the key is.
    pub(super) fingerprint: Digest,
    /// The act itself, whatever the key.
    pub(super) act: Digest,
    /// The same as earlier versions wrote it: to the letter.
    pub(super) act_before: Digest,
    /// Where the act may have been begun under another key.
    pub(super) other: Option<OtherKey>,
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
        let (digest, fingerprint) = match &call.call.key {
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
                let key = scoped(call, &("act", group, &business, connection, nth));
                // What the author left out of the key may differ between two calls of one act.
                (key, Digest::of_json(&business))
            }
        };
        Ok(Some(Self {
            digest,
            fingerprint,
            act: act::of(call),
            act_before: to_the_letter(call),
            other: None,
        }))
    }

    /// The key that a caller gave, to this call or to the request that it is part of. Whoever sends
    /// a call alone and then among others, or the other way round, means the same call.
    fn given(call: &Authorized, key: &str, nth: u32) -> Self {
        let fingerprint = asked(call);
        let alone = scoped(call, &("key", key, nth));
        let among = || scoped(call, &("among", key, nth, &fingerprint));
        let (digest, other) = match call.call.keyed {
            Keyed::Call => (alone, None),
            Keyed::Request => (alone, Some(among())),
            Keyed::Batch => (among(), Some(alone)),
        };
        let other = other.map(|key| OtherKey { key, within_ms: None });
        Self { digest, fingerprint, act: act::of(call), act_before: to_the_letter(call), other }
    }

    /// The key of a caller that sends again what it thinks lost, and has no key to say so: the act
    /// and the span of time that it falls into.
    fn recent(call: &Authorized, within: Duration, nth: u32) -> Self {
        let business = business(call);
        let length = i64::try_from(millis(within)).unwrap_or(i64::MAX).max(1);
        let span = call.now_ms.div_euclid(length);
        let key = |span: i64| {
            let connection = &call.call.connection;
            scoped(call, &("recent", span, length, &business, connection, nth))
        };
        let other = Some(OtherKey { key: key(span - 1), within_ms: Some(millis(within)) });
        let (digest, fingerprint) = (key(span), Digest::of_json(&business));
        Self { digest, fingerprint, act: act::of(call), act_before: to_the_letter(call), other }
    }

    /// Whether an entry under this key is about the same arguments.
    pub(crate) fn fits(&self, record: &EffectRecord) -> bool {
        record.fingerprint == self.fingerprint
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
    Digest::of_json(&(call.accepted(), &call.call.connection))
}

/// Which repetition of what it asks for a call is. Among the calls of one request that is counted by
/// the tool, whichever name it goes by, and by what makes up a fingerprint.
fn nth(call: &Authorized) -> u32 {
    let said = call.call.occurrence;
    match &call.call.asked {
        Some(all) => all.nth(&Digest::of_json(&(&call.tool.tool.id, asked(call))), said),
        None => said,
    }
}

/// A key is scoped by tenant, principal and tool. Lists of JSON keep the fields apart, whatever
/// they contain.
fn scoped(call: &Authorized, source: &impl Serialize) -> Digest {
    let caller = &call.call.caller;
    let tool = &call.tool.tool.id;
    Digest::of_json(&(&*caller.tenant, caller.principal(), tool, source))
}

fn to_the_letter(call: &Authorized) -> Digest {
    let (tenant, tool) = (&*call.call.caller.tenant, &call.tool.tool.id);
    Digest::of_json(&(tenant, tool, &call.call.connection, business(call)))
}

/// The arguments that make two calls the same act: the declared ones, else all.
fn business(call: &Authorized) -> Cow<'_, Value> {
    match &call.tool.tool.contract.idempotency_key_fields {
        Some(fields) => {
            let value = |field: &String| dotted::find(field, call.effective()).unwrap_or_default();
            Cow::Owned(fields.iter().map(|field| json!([field, value(field)])).collect())
        }
        None => call.accepted(),
    }
}

fn well_formed(key: &str) -> Result<(), ToolError> {
    if is_key(key) {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::InvalidArguments,
        format!("an idempotency key has 1 to {LONGEST_KEY} visible ASCII characters"),
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
