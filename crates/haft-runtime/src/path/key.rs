//! The key of a call: what makes two of them one.

use std::borrow::Cow;
use std::time::Duration;

use haft_core::call::{Keyed, LONGEST_KEY, is_key};
use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{Attempted, EffectRecord, OtherKey, Sought};
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
    /// The act by all that the tool gets, whatever its contract says of it.
    pub(super) deed: Digest,
    /// The same through no connection, where it goes through one: what was begun while the contract used none.
    pub(super) deed_unconnected: Option<Digest>,
    /// Where the act may have been begun under another key.
    pub(super) other: Option<OtherKey>,
    /// When the connection that the call uses was made.
    pub(super) account_made_ms: Option<i64>,
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
        let (digest, fingerprint, other) = match (&call.call.key, &call.session) {
            (Some(key), _) => {
                well_formed(key).map_err(refuse)?;
                given(call, key, nth)
            }
            (None, Some(session)) => {
                let business = business(call);
                // A call that is sent again is of the turn in which it came first.
                let known =
                    session.recent.iter().find(|one| Some(&one.id) == call.call.id.as_ref());
                let came = known.and_then(|one| one.group.as_ref());
                let group = came.unwrap_or(&session.turn.group);
                let key = scoped(call, &("act", group, &business, call.account(), nth));
                // What the author left out of the key may differ between two calls of one act.
                (key, Digest::of_json(&business), None)
            }
            (None, None) => {
                let within = call.call.same_within.ok_or_else(key_required).map_err(refuse)?;
                recent(call, within, nth)
            }
        };
        Ok(Some(Self {
            digest,
            fingerprint,
            act: act::of(call),
            deed: act::deed(call, call.account()),
            deed_unconnected: call.account().map(|_| act::deed(call, None)),
            other,
            account_made_ms: None,
        }))
    }

    /// With what is known of the account that the call goes to.
    pub(super) async fn of_account(self, inner: &Inner, call: &Authorized) -> Self {
        let connection = call.call.connection.as_deref();
        let used = connection.filter(|_| call.tool.tool.contract.connection.is_some());
        let account_made_ms = match used {
            Some(connection) => inner.account_made_ms(&call.call.caller.tenant, connection).await,
            None => None,
        };
        Self { account_made_ms, ..self }
    }

    /// What the call would ask for, and by which means.
    pub(super) fn attempted(&self, call: &Authorized) -> Attempted {
        Attempted {
            tool_digest: call.tool.tool.digest.clone(),
            arguments: Value::clone(call.effective()),
            connection: call.call.connection.clone(),
            account_made_ms: self.account_made_ms,
            again_within_ms: call.tool.limits.again_within_ms(),
        }
    }

    /// Whether an entry under this key is about the same arguments.
    pub(crate) fn fits(&self, record: &EffectRecord) -> bool {
        record.fingerprint == self.fingerprint
    }

    /// What a claim of the call will look for.
    pub(super) fn sought(&self, call: &Authorized) -> Sought {
        Sought {
            key: self.digest.clone(),
            other: self.other.clone(),
            fingerprint: self.fingerprint.clone(),
            policy: call.class(),
            attempt: self.attempted(call),
        }
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

    /// Whether the ledger will answer for it: an act was begun under it that may have been done.
    ///
    /// # Errors
    ///
    /// The ledger cannot be read: nobody is to hear that nothing was done of what may have been.
    pub(super) async fn is_taken(&self, inner: &Inner) -> Result<bool, ToolError> {
        match self.entry(inner).await {
            Ok(entry) => Ok(entry.is_some_and(|record| !record.state.frees_its_key())),
            Err(error) => Err(ToolError::new(
                ErrorKind::StoreUnavailable,
                "the ledger cannot be read: nothing was begun now, and whether it was before under this key is \
                 not known",
            )
            .suggest("try again later, under the same key")
            .caused_by(error)),
        }
    }
}

/// A key, the fingerprint, and where else an entry is looked for.
type Found = (Digest, Digest, Option<OtherKey>);

/// The key that a caller gave, to this call or to the request that it is part of. Whoever sends
/// a call alone and then among others, or the other way round, means the same call; so does
/// whoever says the key in another place.
fn given(call: &Authorized, key: &str, nth: u32) -> Found {
    let fingerprint = asked(call);
    let alone = scoped(call, &("key", key, nth));
    let among = scoped(call, &("among", key, nth, &fingerprint));
    let (digest, other) = match call.call.keyed {
        Keyed::Call | Keyed::Request => (alone, Some(among)),
        Keyed::Batch => (among, Some(alone)),
        Keyed::Own => (scoped(call, &("haft", key, nth)), None),
    };
    (digest, fingerprint, other.map(|key| OtherKey { key, within_ms: None }))
}

/// The key of a caller that sends again what it thinks lost, and has no key to say so: the act
/// and the span of time that it falls into.
fn recent(call: &Authorized, within: Duration, nth: u32) -> Found {
    let (business, account) = (business(call), call.account());
    let length = i64::try_from(millis(within)).unwrap_or(i64::MAX).max(1);
    let span = call.now_ms.div_euclid(length);
    let key = |span: i64| scoped(call, &("recent", span, length, &business, account, nth));
    let other = Some(OtherKey { key: key(span - 1), within_ms: Some(millis(within)) });
    (key(span), Digest::of_json(&business), other)
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
    Digest::of_json(&(call.accepted(), call.account()))
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

/// The arguments that make two calls the same act: the declared ones, else all.
fn business(call: &Authorized) -> Cow<'_, Value> {
    match act::declared(&call.tool.tool.contract, call.effective()) {
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
            format!("the request is older than {} s, and nothing is begun for it", oldest / 1000),
        )),
        Some(issued) if issued.saturating_sub(call.now_ms) > AHEAD_MS => Err(ToolError::new(
            ErrorKind::InvalidArguments,
            format!(
                "the request says that it was made more than {} s from now, and nothing is begun for it",
                AHEAD_MS / 1000
            ),
        )
        .suggest("say when the request was made, by a clock that is right, or leave it out")),
        _ => Ok(()),
    }
}
