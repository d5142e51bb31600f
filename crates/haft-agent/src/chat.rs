//! One conversation, in one session.

mod asking;
mod inbox;
mod rounds;

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::session::Session;
use haft_core::{Caller, Registry, ToolError};
use haft_runtime::session::Arrived;
use haft_wire::{RawJson, Rendering, results};
use serde_json::Value;

use crate::agent::Agent;
use crate::calls::{self, Asked};
use crate::cancel::Cancel;
use crate::event::{Done, Event, Listen};
use crate::history::{History, answerable};
use crate::told::Told;
use crate::wishes::{Chosen, Wishes};
use inbox::Inbox;
use rounds::Run;

/// So many tools that a search has found stay callable.
const MOST_FOUND: usize = 64;

/// A conversation.
pub struct Chat {
    agent: Agent,
    caller: Caller,
    session: String,
    registry_version: String,
    history: History,
    /// Tools that were found or described, in that order.
    found: Vec<String>,
    /// Ids of calls: here, in what was told, and earlier in the session.
    used: HashSet<String>,
    /// Tools whose documentation the model has been given.
    explained: HashSet<String>,
    /// An answer whose calls are being made. It outlives a run that was dropped.
    round: Option<Round>,
    inbox: Arc<Inbox>,
    /// What whoever keeps the conversation wants of the model.
    wishes: Wishes,
}

/// What an answer asks for.
struct Round {
    /// The tools as the model saw them.
    rendering: Arc<Rendering>,
    replay: Vec<RawJson>,
    asked: Vec<Asked>,
    /// What the user says with the results.
    words: Vec<String>,
}

/// Takes messages while the conversation goes on.
#[derive(Clone)]
pub struct Mailbox(Arc<Inbox>);

impl Mailbox {
    /// Leaves a message. While the model works it waits, and the session's rule decides what becomes
    /// of calls that cannot be undone; otherwise it comes before the next thing that is said.
    ///
    /// # Errors
    ///
    /// The user is blocked, the session is over, or the store cannot be written.
    pub async fn post(&self, text: &str) -> Result<Arrived, ToolError> {
        self.0.post(text).await
    }
}

impl Chat {
    pub(crate) fn new(agent: Agent, caller: Caller, session: &Session) -> Self {
        let inbox = Inbox::new(agent.runtime.clone(), caller.clone(), session);
        Self {
            agent,
            caller,
            session: session.id.clone(),
            registry_version: session.registry_version.clone(),
            history: History::default(),
            found: Vec::new(),
            used: session.recent.iter().map(|call| call.id.clone()).collect(),
            explained: HashSet::new(),
            round: None,
            inbox: Arc::new(inbox),
            wishes: Wishes::default(),
        }
    }

    pub(crate) fn told(mut self, told: Told) -> Self {
        self.history = told.history;
        self.wishes = told.wishes;
        self.used.extend(told.ids);
        // What is to be called has to be shown, also where not all tools are.
        if let Chosen::Ours(id) = &self.wishes.chosen {
            self.found.push(id.clone());
        }
        self
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Where messages are left while [`say`](Self::say) runs.
    #[must_use]
    pub fn mailbox(&self) -> Mailbox {
        Mailbox(self.inbox.clone())
    }

    /// The conversation so far, in the provider's shape.
    #[must_use]
    pub fn messages(&self) -> Vec<Value> {
        let items = self.history.items().iter();
        items.filter_map(|item| serde_json::to_value(item).ok()).collect()
    }

    /// Says something, and runs until the model has answered. Ends exactly once: with the
    /// [`Event::Done`] that is also returned.
    ///
    /// Dropping the future calls everything off that has not begun; what has begun is carried out and
    /// recorded, and the next message continues the same turn. [`Cancel`] is gentler: calls that
    /// change something are waited for, so that the model knows what became of them.
    pub async fn say(&mut self, text: &str, to: &mut dyn Listen, cancel: &Cancel) -> Done {
        let mut run = Run::new(self, cancel);
        let reason = run.drive(text, to).await;
        let done = run.done(reason);
        to.hear(Event::Done(done.clone())).await;
        done
    }

    /// Runs until the model has answered what was [told](Agent::take_up). The session's turn stays
    /// open: whoever keeps the conversation may send it again.
    pub async fn answer(&mut self, to: &mut dyn Listen, cancel: &Cancel) -> Done {
        let mut run = Run::new(self, cancel);
        let reason = run.answer(to).await;
        let done = run.done(reason);
        to.hear(Event::Done(done.clone())).await;
        done
    }

    fn registry(&self) -> Option<Arc<Registry>> {
        self.agent.runtime.registry(&self.registry_version)
    }

    /// Puts an answer and what became of its calls into the history. What has no answer gets one:
    /// providers refuse a conversation in which a call has none.
    fn settle_round(&mut self, words: &[&str]) {
        let dialect = self.agent.model.dialect();
        let Some(mut round) = self.round.take() else {
            if !words.is_empty() {
                self.history.ours(results::reply(dialect, &[], words));
            }
            return;
        };
        for asked in &mut round.asked {
            if asked.answer.is_none() {
                let error = match asked.is_in_doubt() {
                    true => calls::unheard(),
                    false => calls::called_off(),
                };
                asked.answer = Some(asked.unanswered(error));
            }
        }
        let ids: Vec<String> =
            round.asked.iter().filter_map(|asked| asked.paired.clone()).collect();
        self.history.theirs(answerable(dialect, round.replay, &ids));
        let told: Vec<_> = round.asked.iter().map(|asked| asked.told(&round.rendering)).collect();
        let answers: Vec<_> = round
            .asked
            .iter()
            .zip(&told)
            .filter_map(|(asked, told)| Some(asked.pair(told.as_ref()?)))
            .collect();
        let all: Vec<&str> =
            round.words.iter().map(String::as_str).chain(words.iter().copied()).collect();
        self.history.ours(results::reply(dialect, &answers, &all));
    }

    /// Makes tools callable that the model has found.
    fn find(&mut self, ids: impl IntoIterator<Item = String>) {
        for id in ids {
            if !self.found.contains(&id) {
                self.found.push(id);
            }
        }
        let many = self.found.len().saturating_sub(MOST_FOUND);
        self.found.drain(..many);
    }
}
