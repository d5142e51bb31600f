//! One request of a round, and its record.

use haft_core::{Digest, ErrorKind, ToolError};
use haft_runtime::Runtime;
use haft_wire::{Finish, Turn};
use serde_json::{Value, json};

use super::Chat;
use super::rounds::{Run, refused, word};
use crate::budget::REQUEST;
use crate::event::{Limit, Listen, Reason};
use crate::offer::Offer;
use crate::request;
use crate::turn::{self, Attempt};

impl Run<'_> {
    /// Asks the model, and records each attempt.
    pub(super) async fn ask(&mut self, offer: &Offer, to: &mut dyn Listen) -> Result<Turn, Reason> {
        let agent = self.chat.agent.clone();
        let standing = agent.budget(&self.chat.caller.tenant).await.map_err(refused)?;
        standing.map_or(Ok(()), |one| one.allows_more()).map_err(refused)?;
        let (model, settings) = (&*agent.model, &agent.settings);
        let failed = |message: String| Reason::ModelFailed { message };
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
        };
        let mut attempts = Vec::new();
        let mut unheard = Unheard::new(self.chat, &ask);
        let asked = ask.run(to, &mut attempts).await;
        unheard.body = None;
        attempts.iter().for_each(|attempt| self.spent.add(attempt.usage()));
        for attempt in &attempts {
            self.record(&ask, attempt).await.map_err(refused)?;
        }
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
            turn::Asked::Failed(why) => Err(Reason::ModelFailed { message: why.to_string() }),
            turn::Asked::Cancelled => Err(Reason::Cancelled),
            turn::Asked::Spent => Err(Reason::Limit { limit: Limit::Tokens, most: limits.tokens }),
            turn::Asked::Late => {
                Err(Reason::Limit { limit: Limit::Time, most: limits.time.as_secs() })
            }
        }
    }

    /// What a request cost and what its prompt was, into the audit trail.
    async fn record(&self, ask: &turn::Ask<'_>, attempt: &Attempt) -> Result<(), ToolError> {
        let (finish, error, usage) = match &attempt.end {
            Ok(end) => {
                (Some(word(&end.finish)), end.fault.as_ref().map(|f| f.message.clone()), end.usage)
            }
            Err(why) => (None, Some(why.clone()), None),
        };
        let counted = usage.or(attempt.least);
        let body = json!({
            "session": self.chat.session,
            "agent": &*self.chat.caller.agent,
            "model": ask.model.name(),
            "provider": ask.model.dialect().as_str(),
            "place": ask.model.place(),
            "round": ask.round,
            "attempt": attempt.number,
            "prompt": ask.prompt,
            "request": attempt.request,
            "finish": finish,
            "error": error,
            "inputTokens": counted.map(|usage| usage.input),
            "outputTokens": counted.map(|usage| usage.output),
            "estimated": usage.is_none() && counted.is_some(),
            "durationMs": u64::try_from(attempt.took.as_millis()).unwrap_or(u64::MAX),
        });
        let store = self.chat.agent.runtime.store();
        store.note(&self.chat.caller.tenant, REQUEST, body).await.map_err(|why| {
            ToolError::new(ErrorKind::StoreUnavailable, "the model request could not be recorded")
                .caused_by(why)
        })
    }
}

/// A request whose answer nobody waits for any more: whoever asked is gone. It was sent all the same, so
/// it goes on record, and counts with what it must have cost at least.
struct Unheard {
    runtime: Runtime,
    tenant: String,
    body: Option<Value>,
}

impl Unheard {
    fn new(chat: &Chat, ask: &turn::Ask<'_>) -> Self {
        let body = json!({
            "session": chat.session,
            "agent": &*chat.caller.agent,
            "model": ask.model.name(),
            "provider": ask.model.dialect().as_str(),
            "place": ask.model.place(),
            "round": ask.round,
            "prompt": ask.prompt,
            "request": Digest::of_bytes(ask.body.as_bytes()),
            "error": "whoever asked did not wait for the answer",
            "inputTokens": ask.least(0).input,
            "estimated": true,
        });
        let tenant = chat.caller.tenant.to_string();
        Self { runtime: chat.agent.runtime.clone(), tenant, body: Some(body) }
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        let (Some(body), Ok(handle)) = (self.body.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (runtime, tenant) = (self.runtime.clone(), std::mem::take(&mut self.tenant));
        handle.spawn(async move {
            // Nobody is left to be told that it could not be written.
            let _ = runtime.store().note(&tenant, REQUEST, body).await;
        });
    }
}
