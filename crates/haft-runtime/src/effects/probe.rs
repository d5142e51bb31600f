//! Finding out whether an effect of unknown outcome happened.

use haft_core::call::Purpose;
use haft_core::contract::Probe;
use haft_core::ledger::{After, EffectRecord, State};
use haft_core::port::{Invoke as _, Resolve};
use haft_core::{Call, Caller, ErrorKind, ToolError};
use serde::Serialize;
use serde_json::{Value, json};

use super::contract::CHANGED;
use super::{arguments, for_people, is_empty_note, refused};
use crate::path::ways;
use crate::runtime::Runtime;

/// What a probe found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Probed {
    /// The effect, settled.
    pub effect: EffectRecord,
    /// The tool that was asked.
    pub tool: String,
}

/// What a person found out about an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It happened.
    Happened {
        /// What it would have answered, where that is known. What undoes it may need it, and whoever makes the call
        /// again gets it.
        answer: Option<Value>,
    },
    /// It did not.
    DidNotHappen,
}

impl Found {
    /// Without an answer.
    #[must_use]
    pub fn bare(happened: bool) -> Self {
        match happened {
            true => Self::Happened { answer: None },
            false => Self::DidNotHappen,
        }
    }
}

/// What a pointer of the contract leads to in what the probe said.
fn of_result<'a>(answer: &'a Value, pointer: &str) -> Option<&'a Value> {
    answer.pointer(pointer.strip_prefix("/result").unwrap_or(pointer))
}

/// For how many milliseconds from this moment on a no says nothing: what was sent before the attempt was over may
/// arrive and be carried out after it.
fn unsettled_for(record: &EffectRecord, probe: &Probe, asked_at_ms: i64) -> Option<u64> {
    let over_at_ms = record.ended_at_ms.unwrap_or(asked_at_ms);
    let for_ms = u64::try_from(asked_at_ms.saturating_sub(over_at_ms)).unwrap_or_default();
    probe.settled_after_ms().checked_sub(for_ms).filter(|wait_ms| *wait_ms > 0)
}

fn too_early(tool: &str, wait_ms: u64) -> ToolError {
    let seconds = wait_ms.div_ceil(1000);
    let message = format!(
        "`{tool}` has not found it yet, which says nothing while a request that was sent may still be carried out; \
         probe again in {seconds} s"
    );
    ToolError::new(ErrorKind::InFlight, message)
        .suggest(
            "probe again then, or settle it by hand if you know otherwise that it did not happen",
        )
        .with_details(json!({ "retryAfterMs": wait_ms }))
}

impl Runtime {
    /// Asks the contract's probe whether an unknown effect happened, and settles it.
    ///
    /// # Errors
    ///
    /// An agent asks, the effect is not unknown, there is no probe, or the probe cannot tell: nor can it while what
    /// it has not found may still come.
    pub async fn probe(&self, by: &Caller, call: &str) -> Result<Probed, ToolError> {
        for_people(by)?;
        let record = self.unknown(&by.tenant, call).await?;
        let none = |why: String| {
            Err(ToolError::new(ErrorKind::NotFound, why)
                .suggest("find out by other means and settle it by hand"))
        };
        let Some(After { toolset, probe, .. }) = self.after(&record).await else {
            return none(CHANGED.to_owned());
        };
        let Some(probe) = probe else {
            return none(format!("`{}` declares no probe", record.effect.tool));
        };
        if let Some(why) = self.elsewhere(&record.effect).await {
            return none(why);
        }
        let arguments = arguments::fill(&probe.arguments, &record)
            .map_err(|why| ToolError::new(ErrorKind::Permanent, why))?;
        // In the name of whoever asks, for the agent whose effect it is.
        let caller = Caller { agent: record.effect.agent.as_str().into(), ..by.clone() };
        let mut ask = Call::new(caller, probe.tool.clone(), arguments);
        self.about(&mut ask, Purpose::Probe, &toolset, &record.effect);
        let asked_at_ms = self.inner.store.now_ms();
        let answer = self.invoke(ask).await.result?;
        let Some(happened) = of_result(&answer, &probe.happened).and_then(Value::as_bool) else {
            return Err(ToolError::new(
                ErrorKind::InvalidOutput,
                format!("`{}` did not say whether it happened", probe.tool),
            ));
        };
        if let Some(wait_ms) = unsettled_for(&record, &probe, asked_at_ms).filter(|_| !happened) {
            return Err(too_early(&probe.tool, wait_ms));
        }
        let mut note = format!("asked by {}", by.actor);
        let said = probe.result.as_deref().filter(|_| happened);
        let said = said.and_then(|pointer| of_result(&answer, pointer)).cloned();
        let result = match said {
            None => None,
            // That it happened is known all the same.
            Some(said) => self.found_out(&record, said).await.map_or_else(
                |why| {
                    note = format!("{note}; what it answered is left out: {}", why.message);
                    None
                },
                Some,
            ),
        };
        let by_probe = format!("probe:{}", probe.tool);
        let resolve = Resolve { happened, by: by_probe, note, result };
        let effect = self.resolved(by, call, resolve).await?;
        Ok(Probed { effect, tool: probe.tool })
    }

    /// What whoever runs haft does about an effect of which nobody knows.
    pub(super) async fn ways(&self, tenant: &str, call: &str) -> String {
        let after = match self.inner.store.effect(tenant, call).await {
            Ok(record) => self.after(&record).await,
            Err(_) => None,
        };
        ways(call, after.is_some_and(|after| after.probe.is_some()))
    }

    /// An effect of unknown outcome. One that nobody carries out any more is, whether or not anybody
    /// has noticed before.
    async fn unknown(&self, tenant: &str, call: &str) -> Result<EffectRecord, ToolError> {
        let store = &self.inner.store;
        let mut record = store.effect(tenant, call).await.map_err(|e| refused(&e))?;
        if record.state == State::Started {
            store.recover().await.map_err(|e| refused(&e))?;
            record = store.effect(tenant, call).await.map_err(|e| refused(&e))?;
        }
        if record.state == State::Unknown {
            return Ok(record);
        }
        if record.state == State::Started {
            let message = "the effect is being carried out, or may be begun again";
            return Err(ToolError::new(ErrorKind::Conflict, message)
                .suggest("ask again when its time is over"));
        }
        let message = format!("the effect's outcome is known: {}", record.state.as_str());
        Err(ToolError::new(ErrorKind::Conflict, message))
    }

    /// Settles an unknown effect by hand.
    ///
    /// # Errors
    ///
    /// An agent says so, or nobody says how it is known; the effect is missing or not unknown, its answer does
    /// not fit, or the store cannot be written.
    pub async fn settle(
        &self,
        by: &Caller,
        call: &str,
        found: Found,
        note: &str,
    ) -> Result<EffectRecord, ToolError> {
        for_people(by)?;
        if is_empty_note(note) {
            return Err(ToolError::new(ErrorKind::InvalidArguments, "the note is empty")
                .suggest("say how that is known; it stands on record"));
        }
        let (happened, result) = match found {
            Found::DidNotHappen => (false, None),
            Found::Happened { answer: None } => (true, None),
            Found::Happened { answer: Some(answer) } => {
                let record =
                    self.inner.store.effect(&by.tenant, call).await.map_err(|e| refused(&e))?;
                (true, Some(self.found_out(&record, answer).await?))
            }
        };
        let resolve = Resolve { happened, by: by.actor.to_string(), note: note.to_owned(), result };
        self.resolved(by, call, resolve).await
    }

    async fn resolved(
        &self,
        by: &Caller,
        call: &str,
        resolve: Resolve,
    ) -> Result<EffectRecord, ToolError> {
        let who = resolve.by.clone();
        let resolved = self.inner.store.resolve(&by.tenant, call, resolve).await;
        let record = resolved.map_err(|e| refused(&e))?;
        self.inner.effect_changed(&record.effect, record.state, Some(&who));
        Ok(record)
    }
}
