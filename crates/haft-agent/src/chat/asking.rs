//! One request of a round, and its record.

use std::sync::Arc;

use haft_core::{Digest, ErrorKind, ToolError};
use haft_runtime::Runtime;
use haft_wire::{Finish, Turn};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::Chat;
use super::rounds::{Run, refused, word};
use crate::budget::REQUEST;
use crate::event::{Failing, Limit, Listen, Reason};
use crate::offer::Offer;
use crate::request;
use crate::turn::{self, Attempt, Heard};

impl Run<'_> {
    /// Asks the model, and records each attempt.
    pub(super) async fn ask(&mut self, offer: &Offer, to: &mut dyn Listen) -> Result<Turn, Reason> {
        let agent = self.chat.agent.clone();
        let standing = agent.budget(&self.chat.caller.tenant).await.map_err(refused)?;
        standing.map_or(Ok(()), |one| one.allows_more()).map_err(refused)?;
        let (model, settings) = (&*agent.model, &agent.settings);
        let failed = |message: String| Reason::ModelFailed { message, failing: Failing::Unasked };
        let Chat { history, wishes, .. } = &*self.chat;
        let prompt = wishes.prompt(&offer.prompt);
        let dialect = model.dialect();
        // Answers that could not be read have called nothing: what is forced still is.
        let first = self.spent.rounds == self.unread;
        let choice = wishes.choice(first, &offer.rendering).map_err(failed)?;
        let request = request::Request {
            dialect,
            model: model.name(),
            prompt: &prompt,
            history,
            tools: &offer.rendering,
            choice,
            settings,
            wishes,
        };
        let body = request.body().map_err(failed)?;
        self.spent.rounds += 1;
        let ask = turn::Ask {
            model,
            patience: &settings.patience,
            body,
            via: self.chat.caller.via.clone(),
            prompt: Digest::of_bytes(prompt.as_bytes()),
            round: self.spent.rounds,
            tools: request::shown(&offer.rendering) + wishes.theirs.count(),
            tokens: settings.limits.tokens.saturating_sub(self.spent.tokens()),
            deadline: self.deadline,
            cancel: self.cancel,
            heard: Arc::default(),
        };
        let mut unrecorded = Unrecorded::new(self.chat, &ask);
        let asked = ask.run(to, &mut unrecorded.attempts).await;
        unrecorded.attempts.iter().for_each(|attempt| self.spent.add(attempt.usage()));
        unrecorded.write().await.map_err(refused)?;
        self.heard(asked)
    }

    fn heard(&mut self, asked: turn::Asked) -> Result<Turn, Reason> {
        let limits = &self.chat.agent.settings.limits;
        match asked {
            turn::Asked::Turn(turn) => {
                self.text.clone_from(&turn.text);
                let failed = turn.end.finish == Finish::Failed;
                self.unread = if failed { self.unread + 1 } else { 0 };
                Ok(*turn)
            }
            turn::Asked::Failed(why) => {
                let (message, failing) = (why.to_string(), why.retry.into());
                Err(Reason::ModelFailed { message, failing })
            }
            turn::Asked::Cancelled => Err(Reason::Cancelled),
            turn::Asked::Spent => Err(Reason::Limit { limit: Limit::Tokens, most: limits.tokens }),
            turn::Asked::Late => {
                Err(Reason::Limit { limit: Limit::Time, most: limits.time.as_secs() })
            }
        }
    }
}

/// Attempts that are not on record yet, and the one that is under way. Whoever asked may leave at any
/// moment: what was sent and what came of it until then was paid for, so it goes on record, and counts with
/// what it must have cost at least.
struct Unrecorded {
    runtime: Runtime,
    tenant: String,
    /// What is the same of all of them.
    common: Map<String, Value>,
    request_bytes: usize,
    heard: Arc<Heard>,
    attempts: Vec<Attempt>,
}

impl Unrecorded {
    fn new(chat: &Chat, ask: &turn::Ask<'_>) -> Self {
        let common = json!({
            "session": chat.session,
            "agent": &*chat.caller.agent,
            "model": ask.model.name(),
            "provider": ask.model.dialect().as_str(),
            "place": ask.model.place(),
            "round": ask.round,
            "prompt": ask.prompt,
            "request": Digest::of_bytes(ask.body.as_bytes()),
        });
        Self {
            runtime: chat.agent.runtime.clone(),
            tenant: chat.caller.tenant.to_string(),
            common: common.as_object().cloned().unwrap_or_default(),
            request_bytes: ask.body.len(),
            heard: ask.heard.clone(),
            attempts: Vec::new(),
        }
    }

    /// What a request cost and what its prompt was, into the audit trail. Who leaves meanwhile does not
    /// stop that.
    async fn write(mut self) -> Result<(), ToolError> {
        let Some(writing) = self.written() else { return Ok(()) };
        let written = writing.await.unwrap_or_else(|why| Err(why.to_string()));
        written.map_err(|why| {
            ToolError::new(ErrorKind::StoreUnavailable, "the model request could not be recorded")
                .caused_by(why)
        })
    }

    /// Writes by itself what is not on record; none where there is nothing.
    fn written(&mut self) -> Option<JoinHandle<Result<(), String>>> {
        let mut all: Vec<Value> = self.attempts.iter().map(|one| self.ended(one)).collect();
        all.extend(self.heard.under_way().map(|(number, bytes)| self.left(number, bytes)));
        self.attempts.clear();
        let handle = Handle::try_current().ok().filter(|_| !all.is_empty())?;
        let (runtime, tenant) = (self.runtime.clone(), self.tenant.clone());
        Some(handle.spawn(async move {
            for body in all {
                let noted = runtime.store().note(&tenant, REQUEST, body).await;
                noted.map_err(|why| why.to_string())?;
            }
            Ok(())
        }))
    }

    fn with(&self, own: Value) -> Value {
        let mut all = self.common.clone();
        if let Value::Object(own) = own {
            all.extend(own);
        }
        Value::Object(all)
    }

    fn ended(&self, attempt: &Attempt) -> Value {
        let (finish, error, usage) = match &attempt.end {
            Ok(end) => {
                (Some(word(&end.finish)), end.fault.as_ref().map(|f| f.message.clone()), end.usage)
            }
            Err(why) => (None, Some(why.clone()), None),
        };
        let counted = usage.or(attempt.least);
        self.with(json!({
            "attempt": attempt.number,
            "finish": finish,
            "error": error,
            "inputTokens": counted.map(|usage| usage.input),
            "outputTokens": counted.map(|usage| usage.output),
            "estimated": usage.is_none() && counted.is_some(),
            "durationMs": u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
        }))
    }

    fn left(&self, number: u32, bytes: usize) -> Value {
        self.with(json!({
            "attempt": number,
            "error": "whoever asked did not wait for the answer",
            "inputTokens": turn::tokens(self.request_bytes),
            "outputTokens": turn::tokens(bytes),
            "estimated": true,
        }))
    }
}

impl Drop for Unrecorded {
    fn drop(&mut self) {
        // Nobody is left to be told that it could not be written.
        drop(self.written());
    }
}
