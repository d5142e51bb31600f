//! The ledger's steps of undoing, where others may undo the same effect at the same time.

use haft_core::Caller;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{StoreError, Undo};

use super::{UndoneStatus, already};
use crate::runtime::Runtime;

/// So often a step is made anew after others have made theirs.
const STEPS: usize = 16;

/// Who undoes an effect.
pub(super) enum TakenUp {
    /// Whoever asked, and perhaps others: the key is the same.
    ByUs,
    /// Somebody else, and they are done.
    Undone,
}

impl Runtime {
    /// Marks an effect as being undone. One that was left so, or is stuck, is taken up again: the
    /// compensation's key keeps it from being done twice. Others may be at the same effect, so what
    /// counts is how it stands when the step is made, and not how it was read.
    pub(super) async fn take_up(
        &self,
        by: &Caller,
        effect: &EffectRecord,
    ) -> Result<TakenUp, StoreError> {
        let (tenant, call) = (&effect.effect.tenant, &effect.effect.call);
        let mut state = effect.state;
        for _ in 0..STEPS {
            let step = match state {
                State::Compensating => return Ok(TakenUp::ByUs),
                State::Compensated => return Ok(TakenUp::Undone),
                State::Stuck => Undo::Back,
                State::Started
                | State::Unknown
                | State::Succeeded
                | State::Failed
                | State::Happened
                | State::NotHappened => Undo::Begin { by: by.actor.to_string() },
            };
            state = match self.inner.store.undo(tenant, call, step).await {
                Ok(now) => now.state,
                Err(StoreError::WrongState(_)) => {
                    self.inner.store.effect(tenant, call).await?.state
                }
                Err(error) => return Err(error),
            };
        }
        Err(StoreError::Stale)
    }

    /// Writes down what came of undoing. Whoever undid it at the same time may have done so, or may
    /// have given up what has worked since: what was done is on record as done all the same.
    pub(super) async fn record(
        &self,
        by: &Caller,
        effect: &EffectRecord,
        step: Undo,
        message: String,
    ) -> (UndoneStatus, String) {
        let (tenant, call) = (&effect.effect.tenant, &effect.effect.call);
        let is_done = matches!(step, Undo::Done { .. });
        let mut wrong = StoreError::Stale;
        for _ in 0..STEPS {
            wrong = match self.inner.store.undo(tenant, call, step.clone()).await {
                Ok(now) => {
                    let who = by.actor.to_string();
                    self.inner.effect_changed(&effect.effect, now.state, Some(&who));
                    let status = if is_done { UndoneStatus::Undone } else { UndoneStatus::Stuck };
                    return (status, message);
                }
                Err(error) => error,
            };
            let others = matches!(wrong, StoreError::WrongState(_));
            match self.inner.store.effect(tenant, call).await {
                Ok(now) if now.state == State::Compensated => return already(),
                Ok(_) if others && !is_done => return (UndoneStatus::Stuck, message),
                Ok(now) if others && self.take_up(by, &now).await.is_ok() => {}
                Ok(_) | Err(_) => break,
            }
        }
        (UndoneStatus::Stuck, format!("{message}, which could not be recorded: {wrong}"))
    }
}
