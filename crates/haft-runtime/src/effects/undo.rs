//! Undoing: declared compensations, newest effect first, each once.

mod parts;
mod steps;

use haft_core::call::{Keyed, PrincipalKind, Purpose};
use haft_core::ledger::{After, Effect, EffectRecord, State};
use haft_core::port::{EffectFilter, Invoke as _, StoreError, Undo};
use haft_core::record::ConfirmationStatus;
use haft_core::{Call, Caller, Envelope, ErrorKind, ToolError};
use serde::Serialize;

use self::steps::TakenUp;
use super::contract::CHANGED;
use super::{arguments, for_people, refused};
use crate::fail::fail_point;
use crate::path::let_in;
use crate::runtime::{Runtime, asked};

/// So many questions of one compensation are answered: its own, and those of what its handler calls.
const MOST_QUESTIONS: usize = 8;

/// What to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoTarget {
    /// One effect, by its call, with what its handler did through other tools.
    Call(String),
    /// Every effect of a chain of turns.
    TurnGroup(String),
}

/// What became of one effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// The effect's call.
    pub call: String,
    /// Its tool.
    pub tool: String,
    /// What became of it.
    pub status: UndoneStatus,
    /// In words.
    pub message: String,
}

/// What became of one effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UndoneStatus {
    /// Undone now.
    Undone,
    /// Undone before.
    AlreadyUndone,
    /// There is nothing to undo: it did not happen.
    NothingToUndo,
    /// It has no compensation.
    CannotBeUndone,
    /// Nobody knows whether it happened.
    Unknown,
    /// Undoing it failed; a person must look.
    Stuck,
    /// Nothing was tried: whoever asked for it may not any more.
    Denied,
}

impl Runtime {
    /// Undoes effects, newest first. Whoever asks for it approves the compensations with it.
    ///
    /// # Errors
    ///
    /// There is no such effect, or the ledger cannot be read.
    pub async fn undo(&self, by: &Caller, target: &UndoTarget) -> Result<Vec<Undone>, ToolError> {
        for_people(by)?;
        let effects = match target {
            UndoTarget::Call(call) => {
                let effect = self.inner.store.effect(&by.tenant, call).await;
                self.with_its_parts(effect.map_err(|e| refused(&e))?)
                    .await
                    .map_err(|e| refused(&e))?
            }
            UndoTarget::TurnGroup(group) => {
                self.of_group(&by.tenant, group).await.map_err(|e| refused(&e))?
            }
        };
        if effects.is_empty() {
            return Err(refused(&StoreError::Missing));
        }
        // A compensation is not undone: that would do what was undone again.
        let meant = |one: &EffectRecord| match target {
            UndoTarget::Call(call) => one.effect.call == *call || one.effect.compensates.is_none(),
            UndoTarget::TurnGroup(_) => one.effect.compensates.is_none(),
        };
        let (mut done, mut parts) = (Vec::with_capacity(effects.len()), Vec::new());
        for effect in effects.into_iter().filter(meant) {
            // What is undone with something else is looked at when that has been.
            match self.part_of(&effect).await {
                Some(_) => parts.push(effect),
                None => done.push(self.undo_one(by, effect).await),
            }
        }
        for effect in parts {
            done.push(self.undo_one(by, effect).await);
        }
        Ok(done)
    }

    /// All effects of a chain of turns, newest first.
    async fn of_group(&self, tenant: &str, group: &str) -> Result<Vec<EffectRecord>, StoreError> {
        const PAGE: usize = 500;
        let (mut all, mut after): (Vec<EffectRecord>, _) = (Vec::new(), None);
        loop {
            let filter = EffectFilter {
                tenant: tenant.to_owned(),
                turn_group: Some(group.to_owned()),
                after,
                limit: PAGE,
                ..EffectFilter::default()
            };
            let page = self.inner.store.effects(filter).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|one| one.effect.call.clone());
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    async fn undo_one(&self, by: &Caller, effect: EffectRecord) -> Undone {
        let (call, tool) = (effect.effect.call.clone(), effect.effect.tool.clone());
        // Each time anew: a chain takes as long as its services do, and whoever asked may have no right to more.
        let (status, message) = match (self.part_of(&effect).await, let_in(&self.inner, by)) {
            (Some(part), _) => part,
            (None, Err(refusal)) => (UndoneStatus::Denied, refusal.error.message.clone()),
            (None, Ok(())) => match self.known(by, effect).await {
                Ok(effect) => self.compensate(by, effect).await,
                Err(message) => (UndoneStatus::Unknown, message),
            },
        };
        Undone { call, tool, status, message }
    }

    /// Whether it happened must be known before it is undone.
    async fn known(&self, by: &Caller, effect: EffectRecord) -> Result<EffectRecord, String> {
        if effect.state != State::Unknown {
            return Ok(effect);
        }
        let error = match self.probe(by, &effect.effect.call).await {
            Ok(probed) => return Ok(probed.effect),
            Err(error) => error,
        };
        // Somebody else may have found out at the same time.
        match self.inner.store.effect(&effect.effect.tenant, &effect.effect.call).await {
            Ok(now) if now.state != State::Unknown => Ok(now),
            Ok(_) | Err(_) => Err(format!("nobody knows whether it happened: {}", error.message)),
        }
    }

    async fn compensate(&self, by: &Caller, effect: EffectRecord) -> (UndoneStatus, String) {
        match effect.state {
            State::Compensated => return already(),
            State::Failed | State::NotHappened => {
                return (UndoneStatus::NothingToUndo, "it did not happen".into());
            }
            State::Started => return (UndoneStatus::Unknown, "it is being carried out".into()),
            State::Unknown => {
                return (UndoneStatus::Unknown, "nobody knows whether it happened".into());
            }
            State::Succeeded | State::Happened | State::Compensating | State::Stuck => {}
        }
        if effect.effect.compensates.is_some() {
            return (UndoneStatus::CannotBeUndone, "it undid something itself".into());
        }
        let Some(After { toolset, compensation, .. }) = self.after(&effect).await else {
            return (UndoneStatus::CannotBeUndone, CHANGED.to_owned());
        };
        let Some(compensation) = compensation else {
            return (UndoneStatus::CannotBeUndone, "its tool declares no compensation".into());
        };
        if let Some(why) = self.elsewhere(&effect.effect).await {
            return (UndoneStatus::CannotBeUndone, why);
        }
        let arguments = match arguments::fill(&compensation.arguments, &effect) {
            Ok(arguments) => arguments,
            Err(why) => return (UndoneStatus::CannotBeUndone, why),
        };
        match self.take_up(by, &effect).await {
            Ok(TakenUp::ByUs) => {}
            Ok(TakenUp::Undone) => return already(),
            Err(error) => return (UndoneStatus::Stuck, error.to_string()),
        }
        let mut call = compensating(&effect, &compensation.tool, arguments);
        self.about(&mut call, Purpose::Undo, &toolset, &effect.effect);
        fail_point("comp_before").await;
        let envelope = self.insist(by, call).await;
        fail_point("comp_after").await;
        self.conclude(by, &effect, envelope).await
    }

    /// Tries a few times; the key is the same, so it is done once.
    async fn insist(&self, by: &Caller, call: Call) -> Envelope {
        let mut envelope = self.approved(by, call.clone()).await;
        for _ in 1..self.inner.settings.undo_attempts {
            let again = envelope.result.as_ref().err().is_some_and(|error| error.retryable);
            if !again {
                break;
            }
            tokio::time::sleep(self.inner.settings.backoff).await;
            envelope = self.approved(by, call.clone()).await;
        }
        envelope
    }

    /// Runs a compensation. Where it asks for approval, and where what its handler calls does, whoever undoes
    /// gives it; the call finds what was given when it is made again.
    async fn approved(&self, by: &Caller, call: Call) -> Envelope {
        let mut envelope = self.invoke(call.clone()).await;
        for _ in 0..MOST_QUESTIONS {
            let Some(id) = asked(&envelope).map(str::to_owned) else { break };
            match self.decide(&by.tenant, &id, true, &by.actor).await {
                Ok(_) => {}
                // Somebody else who undoes it has approved: the call finds that, or what came of it.
                Err(_) if self.is_given(&by.tenant, &id).await => {}
                Err(error) if caused(by, &call) => {
                    let message = "somebody else has to undo it: that needs an approval, which whoever \
                                   caused the effect cannot give";
                    let error = ToolError::new(error.kind, message);
                    return Envelope { result: Err(error), ..envelope };
                }
                Err(error) => return Envelope { result: Err(error), ..envelope },
            }
            envelope = self.invoke(call.clone()).await;
        }
        envelope
    }

    /// Whether an approval was given, used or not.
    async fn is_given(&self, tenant: &str, id: &str) -> bool {
        let given = [ConfirmationStatus::Approved, ConfirmationStatus::Spent];
        let found = self.inner.store.confirmation(tenant, id).await;
        found.is_ok_and(|one| given.contains(&one.status))
    }

    async fn conclude(
        &self,
        by: &Caller,
        effect: &EffectRecord,
        envelope: Envelope,
    ) -> (UndoneStatus, String) {
        // Its answer cannot be shown, is not kept any more, or was never known; it was carried out.
        let withheld = |error: &ToolError| {
            error.kind == ErrorKind::ResultExpired
                || error.details.as_ref().is_some_and(|details| details.get("done").is_some())
        };
        // This call, or an earlier one that it has repeated.
        let meta = &envelope.meta;
        let by_call = meta.replay_of.as_ref().unwrap_or(&meta.record_id).to_string();
        let done = |result| Undo::Done { by: by_call, result };
        let (step, message) = match envelope.result {
            Ok(result) => (done(result), "undone".to_owned()),
            Err(error) if withheld(&error) => (done(serde_json::Value::Null), "undone".to_owned()),
            // Somebody else is at it, and will write down what came of it.
            Err(error) if error.kind == ErrorKind::InFlight => {
                return (UndoneStatus::Unknown, "it is being undone".to_owned());
            }
            Err(error) if error.kind == ErrorKind::UnknownOutcome => {
                let call = undoing(&error).unwrap_or(&envelope.meta.record_id);
                let ways = self.ways(&by.tenant, call).await;
                let why = format!(
                    "nobody knows whether it was undone: whoever runs haft {ways}, then undoes it again"
                );
                (Undo::Stuck { why: why.clone() }, why)
            }
            Err(error) => {
                // Operators read it on record, who are not told what redaction hides.
                let why = format!("undoing it failed: {}", error.shown());
                (Undo::Stuck { why }, format!("undoing it failed: {}", error.message))
            }
        };
        self.record(by, effect, step, message).await
    }
}

/// Whether whoever undoes something is whom the compensation is made for.
fn caused(by: &Caller, call: &Call) -> bool {
    by.actor == call.caller.actor || Some(&by.actor) == call.caller.subject.as_ref()
}

/// The call that may have undone it.
fn undoing(error: &ToolError) -> Option<&str> {
    error.details.as_ref()?.get("call")?.as_str()
}

fn already() -> (UndoneStatus, String) {
    (UndoneStatus::AlreadyUndone, "undone before".to_owned())
}

/// What is known of the user whose effect is undone: whether there was one. What else their credential said is
/// not on record.
fn known(effect: &Effect) -> serde_json::Map<String, serde_json::Value> {
    let mut people = [Some(&effect.actor), effect.subject.as_ref()].into_iter().flatten();
    let person = people.any(|one| one.kind == PrincipalKind::User);
    serde_json::Map::from_iter([("isAuthenticated".to_owned(), person.into())])
}

/// The call that undoes an effect: in the name of whoever caused it, under one key for ever.
fn compensating(effect: &EffectRecord, tool: &str, arguments: serde_json::Value) -> Call {
    let effect = &effect.effect;
    let caller = Caller {
        tenant: effect.tenant.as_str().into(),
        agent: effect.agent.as_str().into(),
        actor: effect.actor.clone(),
        subject: effect.subject.clone(),
        user: std::sync::Arc::new(known(effect)),
        via: haft_core::hop::Chain::default(),
        era: None,
        // Whatever has become of it: what is undone is not for whoever had it.
        credential: None,
    };
    let mut call = Call::new(caller, tool, arguments);
    (call.key, call.keyed) = (Some(format!("comp:{}", effect.call)), Keyed::Own);
    call.compensates = Some(effect.call.clone());
    call
}
