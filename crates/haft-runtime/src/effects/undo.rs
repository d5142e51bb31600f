//! Undoing: declared compensations, newest effect first, each once.

use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectFilter, Invoke as _, StoreError, Undo};
use haft_core::record::ConfirmationStatus;
use haft_core::{Call, Caller, Envelope, ErrorKind, ToolError};
use serde::Serialize;

use super::{arguments, for_people, refused};
use crate::fail::fail_point;
use crate::runtime::{Runtime, asked};

/// What to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoTarget {
    /// One effect, by its call.
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
                vec![self.inner.store.effect(&by.tenant, call).await.map_err(|e| refused(&e))?]
            }
            UndoTarget::TurnGroup(group) => {
                let filter = EffectFilter {
                    tenant: by.tenant.to_string(),
                    turn_group: Some(group.clone()),
                    limit: 1_000,
                    ..EffectFilter::default()
                };
                self.inner.store.effects(filter).await.map_err(|e| refused(&e))?
            }
        };
        if effects.is_empty() {
            return Err(refused(&StoreError::Missing));
        }
        let mut done = Vec::with_capacity(effects.len());
        for effect in effects {
            // A compensation is not undone: that would do what was undone again.
            if effect.effect.compensates.is_none() || matches!(target, UndoTarget::Call(_)) {
                done.push(self.undo_one(by, effect).await);
            }
        }
        Ok(done)
    }

    async fn undo_one(&self, by: &Caller, effect: EffectRecord) -> Undone {
        let (call, tool) = (effect.effect.call.clone(), effect.effect.tool.clone());
        let (status, message) = match self.known(by, effect).await {
            Ok(effect) => self.compensate(by, effect).await,
            Err(message) => (UndoneStatus::Unknown, message),
        };
        Undone { call, tool, status, message }
    }

    /// Whether it happened must be known before it is undone.
    async fn known(&self, by: &Caller, effect: EffectRecord) -> Result<EffectRecord, String> {
        if effect.state != State::Unknown {
            return Ok(effect);
        }
        match self.probe(by, &effect.effect.call).await {
            Ok(probed) => Ok(probed.effect),
            Err(error) => Err(format!("nobody knows whether it happened: {}", error.message)),
        }
    }

    async fn compensate(&self, by: &Caller, effect: EffectRecord) -> (UndoneStatus, String) {
        match effect.state {
            State::Compensated => return (UndoneStatus::AlreadyUndone, "undone before".into()),
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
        let tool = self.tool_behind(&effect).await;
        let compensation = tool.as_ref().and_then(|tool| tool.contract.compensation.as_ref());
        let Some(compensation) = compensation else {
            return (UndoneStatus::CannotBeUndone, "its tool declares no compensation".into());
        };
        let arguments = match arguments::fill(&compensation.arguments, &effect) {
            Ok(arguments) => arguments,
            Err(why) => return (UndoneStatus::CannotBeUndone, why),
        };
        if let Err(error) = self.take_up(by, &effect).await {
            return (UndoneStatus::Stuck, error.to_string());
        }
        let call = compensating(&effect, &compensation.tool, arguments);
        fail_point("comp_before").await;
        let envelope = self.insist(by, call).await;
        fail_point("comp_after").await;
        self.conclude(&by.actor.to_string(), &effect, envelope).await
    }

    /// Marks an effect as being undone. One that was left so, or is stuck, is taken up again: the
    /// compensation's key keeps it from being done twice.
    async fn take_up(&self, by: &Caller, effect: &EffectRecord) -> Result<(), StoreError> {
        let (tenant, call) = (&effect.effect.tenant, &effect.effect.call);
        if effect.state == State::Compensating {
            return Ok(());
        }
        if effect.state == State::Stuck {
            self.inner.store.undo(tenant, call, Undo::Back).await?;
        }
        let by = by.actor.to_string();
        self.inner.store.undo(tenant, call, Undo::Begin { by }).await.map(drop)
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

    /// Runs a compensation. Where it asks for approval, whoever undoes gives it.
    async fn approved(&self, by: &Caller, mut call: Call) -> Envelope {
        let envelope = self.invoke(call.clone()).await;
        let Some(id) = asked(&envelope) else { return envelope };
        match self.confirm(&by.tenant, id, true, &by.actor).await {
            Ok(decided) if decided.confirmation.status == ConfirmationStatus::Approved => {
                call.confirmation = decided.token;
                self.invoke(call).await
            }
            Ok(_) => envelope,
            Err(error) => Envelope { result: Err(error), ..envelope },
        }
    }

    /// The call that undid an effect: this one, or an earlier one that this one has repeated.
    async fn undone_by(&self, effect: &EffectRecord, envelope: &Envelope) -> String {
        let this = &envelope.meta.record_id;
        if !envelope.meta.cached {
            return this.to_string();
        }
        let mut after = None;
        loop {
            let filter = EffectFilter {
                tenant: effect.effect.tenant.clone(),
                tool: Some(envelope.meta.tool.to_string()),
                after,
                limit: 1_000,
                ..EffectFilter::default()
            };
            let Ok(found) = self.inner.store.effects(filter).await else { return this.to_string() };
            let undid =
                |one: &&EffectRecord| one.effect.compensates.as_ref() == Some(&effect.effect.call);
            match (found.iter().find(undid), found.last()) {
                (Some(earlier), _) => return earlier.effect.call.clone(),
                (None, Some(last)) => after = Some(last.effect.call.clone()),
                (None, None) => return this.to_string(),
            }
        }
    }

    async fn conclude(
        &self,
        by: &str,
        effect: &EffectRecord,
        envelope: Envelope,
    ) -> (UndoneStatus, String) {
        let withheld = |error: &ToolError| {
            error.details.as_ref().is_some_and(|details| details.get("done").is_some())
        };
        let undone_by = self.undone_by(effect, &envelope).await;
        let done = |result| Undo::Done { by: undone_by, result };
        let (step, status, message) = match envelope.result {
            Ok(result) => (done(result), UndoneStatus::Undone, "undone".to_owned()),
            Err(error) if withheld(&error) => {
                (done(serde_json::Value::Null), UndoneStatus::Undone, error.into_fault().message)
            }
            // Somebody else is at it, and will write down what came of it.
            Err(error) if error.kind == ErrorKind::InFlight => {
                return (UndoneStatus::Unknown, "it is being undone".to_owned());
            }
            Err(error) => {
                let why = format!("undoing it failed: {}", error.message);
                (Undo::Stuck { why: why.clone() }, UndoneStatus::Stuck, why)
            }
        };
        let (tenant, call) = (&effect.effect.tenant, &effect.effect.call);
        let error = match self.inner.store.undo(tenant, call, step).await {
            Ok(now) => {
                self.inner.effect_changed(&effect.effect, now.state, Some(by));
                return (status, message);
            }
            Err(error) => error,
        };
        // Somebody else who undid it at the same time has written it down.
        match self.inner.store.effect(tenant, call).await {
            Ok(now) if now.state == State::Compensated => {
                (UndoneStatus::AlreadyUndone, "undone".to_owned())
            }
            Ok(_) | Err(_) => {
                (UndoneStatus::Stuck, format!("{message}, which could not be recorded: {error}"))
            }
        }
    }
}

/// The call that undoes an effect: in the name of whoever caused it, under one key for ever.
fn compensating(effect: &EffectRecord, tool: &str, arguments: serde_json::Value) -> Call {
    let effect = &effect.effect;
    let caller = Caller {
        tenant: effect.tenant.as_str().into(),
        agent: effect.agent.as_str().into(),
        actor: effect.actor.clone(),
        subject: effect.subject.clone(),
        user: std::sync::Arc::default(),
        via: haft_core::hop::Chain::default(),
    };
    let mut call = Call::new(caller, tool, arguments);
    call.mode = effect.mode;
    call.key = Some(format!("comp:{}", effect.call));
    call.connection.clone_from(&effect.connection);
    call.connections = call.connection.iter().cloned().collect();
    call.compensates = Some(effect.call.clone());
    call
}
