//! `recall`: a tool without effects that was asked the same a moment ago need not be asked again,
//! where policy says so. Losing what is kept changes nothing but the time that a call takes.

use std::time::Duration;

use haft_core::Digest;
use haft_core::contract::Capability;
use haft_core::record::{Stage, Written};
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Answer;
use super::join::Joined;
use crate::runtime::Inner;

/// How much is kept in all, and of one call.
const ALL_BYTES: usize = 64 << 20;
const ONE_BYTES: usize = 1 << 20;
/// What an entry costs beside its answer, about.
const ENTRY_BYTES: usize = 256;

/// The answers that are kept, longest unused first to go.
pub(crate) struct Recall {
    kept: Mutex<Shelves>,
}

struct Shelves {
    answers: LruCache<Digest, Kept>,
    bytes: usize,
}

struct Kept {
    data: Value,
    view: Option<Written>,
    bytes: usize,
    until: Instant,
}

impl Default for Recall {
    fn default() -> Self {
        let answers = LruCache::unbounded();
        Self { kept: Mutex::new(Shelves { answers, bytes: 0 }) }
    }
}

/// Where the answer of a call would be found, and how long it is good for.
pub(crate) struct Place {
    key: Digest,
    lasts: Duration,
}

/// The place of a call; none where its answer is not to be given twice.
pub(crate) async fn place(inner: &Inner, call: &Joined) -> Option<Box<Place>> {
    match inner.policy().recalls() && call.is_pure() {
        true => Box::pin(found(inner, call)).await,
        false => None,
    }
}

async fn found(inner: &Inner, call: &Joined) -> Option<Box<Place>> {
    // What an effect is settled, undone or carried out by is found out anew: an answer of before it
    // would say that it has not happened.
    if !call.call().purpose.takes_an_old_answer() {
        return None;
    }
    let tool = &call.tool.tool;
    // What the client is asked meanwhile is not among the arguments.
    if tool.contract.capabilities.contains(&Capability::Client) {
        return None;
    }
    let lasts = inner.policy().recall_for(tool)?;
    let asked = call.call();
    let caller = &asked.caller;
    let turn = call.session.as_ref().map(|session| session.turn.number);
    // Of a tenant that was removed nothing is for the next one of its name, and what it has begun asks for
    // itself alone.
    let era = caller.era.unwrap_or_else(|| inner.eras.of(&caller.tenant));
    // As it is now: with another secret it may be another account.
    let account = match call.account() {
        Some(account) => inner.account(&caller.tenant, account).await,
        None => None,
    };
    // Everything that the handler can see, and whoever it can see it for.
    let key = Digest::of_json(&json!([
        [&*caller.tenant, era, &*caller.agent, caller.actor, caller.subject, *caller.user],
        [call.mode, asked.session, turn, asked.connection, asked.only],
        [tool.id, tool.digest],
        account.map(|account| (account.made_ms, account.revision)),
        &**call.effective(),
    ]));
    Some(Box::new(Place { key, lasts }))
}

impl Place {
    /// The answer that is there, while it is good.
    pub(crate) fn answer(&self, inner: &Inner) -> Option<Answer> {
        let mut kept = inner.recall.kept.lock();
        let found = kept.answers.get(&self.key)?;
        if found.until <= Instant::now() {
            kept.drop_one(&self.key);
            return None;
        }
        let (data, view) = (found.data.clone(), found.view.clone());
        Some(Answer {
            result: Ok(data),
            view,
            intents: Vec::new(),
            stage: Stage::Execute,
            cached: true,
            state: None,
        })
    }

    /// Keeps an answer. One that failed, or that wants something of its session, is not kept.
    pub(crate) fn keep(self, inner: &Inner, answer: &Answer) {
        let Ok(data) = &answer.result else { return };
        let bytes = size(data) + ENTRY_BYTES;
        if !answer.intents.is_empty() || bytes > ONE_BYTES {
            return;
        }
        let until = Instant::now() + self.lasts;
        let kept = Kept { data: data.clone(), view: answer.view.clone(), bytes, until };
        inner.recall.kept.lock().put(self.key, kept);
    }
}

impl Shelves {
    fn put(&mut self, key: Digest, one: Kept) {
        self.bytes += one.bytes;
        if let Some(before) = self.answers.put(key, one) {
            self.bytes = self.bytes.saturating_sub(before.bytes);
        }
        while self.bytes > ALL_BYTES
            && let Some((_, oldest)) = self.answers.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
        }
    }

    fn drop_one(&mut self, key: &Digest) {
        if let Some(gone) = self.answers.pop(key) {
            self.bytes = self.bytes.saturating_sub(gone.bytes);
        }
    }
}

/// How much memory a value takes, about: a node beside its text.
fn size(value: &Value) -> usize {
    const NODE: usize = size_of::<Value>();
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => NODE,
        Value::String(text) => NODE + text.len(),
        Value::Array(items) => NODE + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            NODE + members
                .iter()
                .map(|(name, value)| NODE + name.len() + size(value))
                .sum::<usize>()
        }
    }
}
