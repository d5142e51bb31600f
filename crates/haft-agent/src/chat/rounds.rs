//! The rounds of one message: ask, run the calls, answer, until the model is done.

use std::sync::Arc;
use std::time::Duration;

use haft_core::{ErrorKind, Registry, ToolError};
use haft_runtime::guide::{DESCRIBE, SEARCH};
use haft_runtime::toolbox::Catalog;
use haft_wire::results::{malformed_error, unreadable};
use haft_wire::{Fault, Finish, Turn};
use serde_json::Value;
use tokio::time::Instant;

use super::inbox::{elsewhere, texts};
use super::{Chat, Round};
use crate::calls::{self, Asked, Desk};
use crate::cancel::Cancel;
use crate::event::{Done, Event, Failing, Limit, Listen, Reason, Spent};
use crate::offer::{self, Offer};
use crate::prompt;
use crate::wishes::Chosen;

/// A year, for times that no clock can show.
const FAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// So often in a row a model is told that what it wrote is no call.
const MOST_UNREAD: u32 = 2;

/// What goes on from one round to the next.
pub(super) struct Run<'a> {
    pub(super) chat: &'a mut Chat,
    pub(super) cancel: &'a Cancel,
    pub(super) spent: Spent,
    pub(super) text: String,
    pub(super) deadline: Instant,
    /// So many answers in a row, up to the last, the provider could not take as calls.
    pub(super) unread: u32,
}

/// How a round ended.
enum Next {
    /// The model is asked again.
    Again,
    /// The turn is over, like this.
    Over(Reason),
}

impl<'a> Run<'a> {
    pub(super) fn new(chat: &'a mut Chat, cancel: &'a Cancel) -> Self {
        let deadline = after(Instant::now(), chat.agent.settings.limits.time);
        Self { chat, cancel, spent: Spent::default(), text: String::new(), deadline, unread: 0 }
    }

    /// What is told at the end.
    pub(super) fn done(self, reason: Reason) -> Done {
        Done { reason, text: self.text, spent: self.spent }
    }

    /// Runs until there is nothing more to do, and says why.
    pub(super) async fn drive(&mut self, text: &str, to: &mut dyn Listen) -> Reason {
        let messages = match self.chat.inbox.begin(text).await {
            Ok(messages) => messages,
            Err(error) => return refused(error),
        };
        // What a run that was dropped has left comes first.
        let words: Vec<&str> = messages.iter().map(String::as_str).collect();
        self.chat.settle_round(&words);
        loop {
            let reason = match self.round(to).await {
                Next::Again => continue,
                Next::Over(reason) => reason,
            };
            self.chat.settle_round(&[]);
            let waiting = match self.chat.inbox.complete().await {
                Ok(waiting) => waiting,
                Err(error) => return refused(error),
            };
            let goes_on = matches!(reason, Reason::Finished | Reason::Length);
            if waiting.is_empty() {
                return reason;
            }
            if !goes_on {
                // What waits begins the next turn, with the next thing that is said.
                self.chat.inbox.keep(waiting).await;
                return reason;
            }
            self.take_up(&waiting, to).await;
        }
    }

    /// Runs until the model has answered.
    pub(super) async fn answer(&mut self, to: &mut dyn Listen) -> Reason {
        loop {
            if let Next::Over(reason) = self.round(to).await {
                self.chat.settle_round(&[]);
                return reason;
            }
        }
    }

    /// Newer messages of the user.
    async fn take_up(&mut self, messages: &[String], to: &mut dyn Listen) {
        for text in messages {
            to.hear(Event::Message { text: text.clone() }).await;
        }
        let words: Vec<&str> = messages.iter().map(String::as_str).collect();
        self.chat.settle_round(&words);
    }

    async fn round(&mut self, to: &mut dyn Listen) -> Next {
        if let Some(reason) = self.limit() {
            return Next::Over(reason);
        }
        let catalog = match self.catalog().await {
            Ok(found) => found,
            Err(error) => return Next::Over(refused(error)),
        };
        let (registry, catalog) = catalog;
        let offer = self.chat.offer(&registry, &catalog);
        self.chat.explained.extend(offer.documented.iter().cloned());
        let turn = match self.ask(&offer, to).await {
            Ok(turn) => turn,
            Err(reason) => return Next::Over(reason),
        };
        let desk = Desk {
            agent: &self.chat.agent.clone(),
            caller: &self.chat.caller.clone(),
            session: &self.chat.session.clone(),
            catalog: &catalog,
            rendering: &offer.rendering,
            theirs: &self.chat.wishes.theirs.clone(),
            cancel: self.cancel,
        };
        let mut asked = desk.read(&turn, &mut self.chat.used);
        to.hear(Event::ModelAnswer {
            round: self.spent.rounds,
            usage: turn.end.usage,
            finish: word(&turn.end.finish),
            calls: asked.len(),
        })
        .await;
        if asked.is_empty() {
            return self.without_calls(turn);
        }
        let wanted = self.chat.wishes.chosen != Chosen::Nothing;
        if let Some(calls) = calls::handed(&asked, desk.theirs, &turn.replay).filter(|_| wanted) {
            return Next::Over(Reason::HandedBack { calls });
        }
        if !wanted {
            // Not every provider keeps a model to it.
            for one in &mut asked {
                one.answer = Some(one.unanswered(calls::unwanted()));
            }
        }
        let rendering = offer.rendering.clone();
        self.chat.round = Some(Round { rendering, replay: turn.replay, asked, words: Vec::new() });
        let ended = match wanted {
            true => self.calls(&desk, to).await,
            false => None,
        };
        // Messages that calls gave way to are the session's no longer, however the calls ended.
        let aborted = self.supersede(to).await;
        self.follow_up(&catalog);
        match ended {
            Some(reason) => Next::Over(reason),
            None => self.answered(aborted, to).await,
        }
    }

    /// An answer that asks for nothing.
    fn without_calls(&mut self, turn: Turn) -> Next {
        let cut: Vec<String> = turn
            .broken
            .iter()
            .map(|broken| {
                let error = malformed_error(broken.why);
                let name = match broken.call.name.as_str() {
                    "" => "a tool".to_owned(),
                    name => format!("`{name}`"),
                };
                format!("Your call of {name} was not run: {}; {}", error.message, error.suggestion)
            })
            .collect();
        self.chat.history.theirs(turn.replay);
        match turn.end.finish {
            Finish::Paused => Next::Again,
            // The model ran out of room in mid-call: it is told, and may try again.
            Finish::Length | Finish::Stop | Finish::Calls | Finish::Other(_) if !cut.is_empty() => {
                let cut: Vec<&str> = cut.iter().map(String::as_str).collect();
                self.chat.settle_round(&cut);
                Next::Again
            }
            Finish::Length => Next::Over(Reason::Length),
            Finish::Filtered => Next::Over(Reason::Filtered),
            Finish::Refused => Next::Over(Reason::Refused),
            Finish::Stop | Finish::Calls | Finish::Other(_) => Next::Over(Reason::Finished),
            Finish::Failed | Finish::Cut => self.unread(turn.end.fault),
        }
    }

    /// What was to be a call did not come as one. There is none to answer: the model is told in
    /// words and asked again, unless it was told often enough.
    fn unread(&mut self, fault: Option<Fault>) -> Next {
        let told = fault.as_ref().and_then(unreadable).filter(|_| self.unread <= MOST_UNREAD);
        let Some(error) = told else {
            let message = fault.map_or_else(|| "the answer was cut off".into(), |it| it.message);
            return Next::Over(Reason::ModelFailed { message, failing: Failing::Passing });
        };
        let (what, advice) = (&error.message, &error.suggestion);
        self.chat.settle_round(&[&format!("Your last answer was not used: {what}; {advice}")]);
        Next::Again
    }

    /// Makes the calls, until all are answered or something ends the turn.
    async fn calls(&mut self, desk: &Desk<'_>, to: &mut dyn Listen) -> Option<Reason> {
        // Held by the chat, so that what was begun is known even if this is dropped.
        let mut at = 0;
        loop {
            let Some(round) = &mut self.chat.round else { return None };
            let left = round.asked.get_mut(at..).unwrap_or_default();
            if left.is_empty() {
                return None;
            }
            if let Some(reason) = over(self.cancel, self.deadline, &self.spent, desk) {
                return Some(reason);
            }
            let room = desk.agent.settings.limits.calls.saturating_sub(self.spent.calls);
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let most = left.len().min(room);
            if most == 0 {
                over_budget(left, desk.agent.settings.limits.calls);
                let most = u64::from(desk.agent.settings.limits.calls);
                return Some(Reason::Limit { limit: Limit::Calls, most });
            }
            let left = left.get_mut(..most).unwrap_or_default();
            let (taken, waited) = desk.step(left, to).await;
            at += taken;
            if given_up(&round.asked) {
                superseded(round.asked.get_mut(at..).unwrap_or_default());
                at = round.asked.len();
            }
            self.deadline = after(self.deadline, waited);
            self.spent.calls += u32::try_from(taken).unwrap_or(u32::MAX);
        }
    }

    /// All calls have an answer: what follows from them, and the model is asked again.
    async fn answered(&mut self, aborted: bool, to: &mut dyn Listen) -> Next {
        if aborted {
            return match self.chat.inbox.complete().await {
                // Somebody else goes on with what the turn was given up for.
                Ok(messages) if messages.is_empty() => Next::Over(refused(elsewhere())),
                Ok(messages) => {
                    self.take_up(&messages, to).await;
                    Next::Again
                }
                Err(error) => Next::Over(refused(error)),
            };
        }
        self.chat.settle_round(&[]);
        if self.cancel.is_cancelled() { Next::Over(Reason::Cancelled) } else { Next::Again }
    }

    /// Newer messages that calls gave way to: handed over with the results, or the turn is over.
    async fn supersede(&mut self, to: &mut dyn Listen) -> bool {
        let Some(round) = &mut self.chat.round else { return false };
        let mut aborted = false;
        let mut newer = Vec::new();
        for asked in &mut round.asked {
            let Some(Err(error)) = asked.answer.as_mut().map(|envelope| &mut envelope.result)
            else {
                continue;
            };
            if error.kind != ErrorKind::Superseded {
                continue;
            }
            match error.details.as_mut().and_then(|details| details.get_mut("messages")) {
                Some(messages) => {
                    let taken = messages.take();
                    newer.extend(texts(taken.as_array().map_or(&[], Vec::as_slice)));
                    error.details = None;
                }
                None => aborted = true,
            }
        }
        for text in &newer {
            to.hear(Event::Message { text: text.clone() }).await;
        }
        round.words.extend(newer);
        aborted
    }

    /// What the answers make callable, and documents for calls that were refused.
    fn follow_up(&mut self, catalog: &Catalog) {
        let Some(round) = &mut self.chat.round else { return };
        let mut found = Vec::new();
        let mut unfit = Vec::new();
        for asked in &round.asked {
            match asked.answer.as_ref().map(|envelope| &envelope.result) {
                Some(Ok(data)) if asked.tool == SEARCH => {
                    let tools = data.get("tools").and_then(Value::as_array).into_iter().flatten();
                    found.extend(
                        tools.filter_map(|tool| Some(tool.get("tool")?.as_str()?.to_owned())),
                    );
                }
                Some(Ok(data)) if asked.tool == DESCRIBE => {
                    let tool = data.get("tool").and_then(Value::as_str).map(str::to_owned);
                    self.chat.explained.extend(tool.clone());
                    found.extend(tool);
                }
                Some(Err(error)) if error.kind == ErrorKind::InvalidArguments => {
                    unfit.push(asked.tool.clone());
                }
                Some(_) | None => {}
            }
        }
        let asking = found
            .iter()
            .filter(|id| catalog.get(id).is_some_and(|tool| prompt::asks_for_it(&tool.tool)));
        for id in unfit.iter().chain(asking) {
            let Some(tool) = catalog.get(id).filter(|tool| !tool.tool.doc.trim().is_empty()) else {
                continue;
            };
            if self.chat.explained.insert(tool.tool.id.clone()) {
                let changed = self.chat.agent.is_changed(&tool.tool);
                let doc = prompt::document(&tool.tool, changed);
                round.words.push(format!("The documentation of `{}`:\n\n{doc}", tool.tool.id));
            }
        }
        self.chat.find(found);
    }

    async fn catalog(&self) -> Result<(Arc<Registry>, Catalog), ToolError> {
        let chat = &self.chat;
        let runtime = &chat.agent.runtime;
        let session = runtime.session(&chat.caller, &chat.session).await?;
        let found = runtime.catalog_in(&chat.caller, &session);
        found.zip(chat.registry()).map(|(catalog, registry)| (registry, catalog)).ok_or_else(|| {
            let message = "the registry that the session is pinned to is not loaded";
            ToolError::new(ErrorKind::Unavailable, message).suggest("start a new session")
        })
    }

    /// Whether the next request is one too many.
    fn limit(&self) -> Option<Reason> {
        let limits = &self.chat.agent.settings.limits;
        if self.cancel.is_cancelled() {
            return Some(Reason::Cancelled);
        }
        if self.spent.rounds >= limits.rounds {
            return Some(Reason::Limit { limit: Limit::Rounds, most: limits.rounds.into() });
        }
        used_up(&self.spent, limits, self.deadline)
    }
}

impl Chat {
    pub(super) fn offer(&self, registry: &Registry, catalog: &Catalog) -> Offer {
        let agent = &self.agent;
        let dialect = agent.model.dialect();
        let (found, theirs) = (&self.found, self.wishes.theirs.count());
        offer::make(&agent.shelf, dialect, registry, catalog, found, theirs, &agent.settings)
    }
}

/// So much later, or so late that nobody sees it.
fn after(at: Instant, time: Duration) -> Instant {
    at.checked_add(time).or_else(|| at.checked_add(FAR)).unwrap_or(at)
}

/// Whether no further call may begin.
fn over(cancel: &Cancel, deadline: Instant, spent: &Spent, desk: &Desk<'_>) -> Option<Reason> {
    if cancel.is_cancelled() {
        return Some(Reason::Cancelled);
    }
    used_up(spent, &desk.agent.settings.limits, deadline)
}

fn used_up(spent: &Spent, limits: &crate::settings::Limits, deadline: Instant) -> Option<Reason> {
    if spent.tokens() >= limits.tokens {
        return Some(Reason::Limit { limit: Limit::Tokens, most: limits.tokens });
    }
    (Instant::now() >= deadline)
        .then_some(Reason::Limit { limit: Limit::Time, most: limits.time.as_secs() })
}

/// Whether the session has given the turn up for a newer message, which begins another one. Where
/// the messages come with the error, the turn goes on with them.
fn given_up(asked: &[Asked]) -> bool {
    let errors = asked.iter().filter_map(|one| one.answer.as_ref()?.result.as_ref().err());
    errors
        .filter(|error| error.kind == ErrorKind::Superseded)
        .any(|error| error.details.as_ref().and_then(|details| details.get("messages")).is_none())
}

/// Calls of a turn that was given up. The next one may be open by now, and they are none of its.
fn superseded(left: &mut [Asked]) {
    for asked in left {
        let message = "a newer message of the user came first";
        let error = ToolError::new(ErrorKind::Superseded, message);
        asked.answer = Some(asked.unanswered(error));
    }
}

/// Calls that were one too many.
fn over_budget(left: &mut [Asked], most: u32) {
    for asked in left {
        let message = format!("this message's allowance of {most} calls is used up");
        let error = ToolError::new(ErrorKind::BudgetExceeded, message);
        asked.answer = Some(asked.unanswered(error));
    }
}

pub(super) fn refused(error: ToolError) -> Reason {
    Reason::SessionRefused { kind: error.kind, message: error.into_fault().message }
}

pub(super) fn word(finish: &Finish) -> String {
    match serde_json::to_value(finish) {
        Ok(Value::String(word)) => word,
        Ok(_) | Err(_) => "other".to_owned(),
    }
}
