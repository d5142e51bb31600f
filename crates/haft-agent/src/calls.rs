//! The calls of one answer: each through the one path, once, and answered whatever happens.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use haft_core::call::{RawArguments, Together};
use haft_core::contract::SideEffectPolicy;
use haft_core::outcome::Meta;
use haft_core::port::Invoke as _;
use haft_core::{Call, Envelope, ErrorKind, ToolError};
use haft_runtime::redact::View;
use haft_runtime::toolbox::Catalog;
use haft_wire::results::{Answer, malformed};
use haft_wire::{BrokenCall, Dialect, RawJson, Rendering, Turn, WireCall};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::approve::{Decision, Question};
use crate::cancel::Cancel;
use crate::describe;
use crate::event::{Event, Listen};
use crate::theirs::{Handed, Theirs};

/// Something that the model asked for, and what became of it.
pub(crate) struct Asked {
    pub(crate) wire: WireCall,
    /// The id in events and in the session: the provider's where it is one of its own.
    pub(crate) id: String,
    /// The id that pairs the answer with what is repeated of the call; none where order does.
    pub(crate) paired: Option<String>,
    /// The canonical id, or the name that the model used.
    pub(crate) tool: String,
    kind: Kind,
    pub(crate) answer: Option<Envelope>,
    begun: bool,
}

enum Kind {
    /// It only reads, so it may run beside others and be dropped.
    Reads(Box<Call>),
    /// It may change something.
    Writes(Box<Call>),
    /// It is of a tool of the client's own.
    Theirs,
    /// It never was a call.
    Broken(Box<BrokenCall>),
}

impl Asked {
    fn call(&self) -> Option<&Call> {
        match &self.kind {
            Kind::Reads(call) | Kind::Writes(call) => Some(call),
            Kind::Broken(_) | Kind::Theirs => None,
        }
    }

    fn reads(&self) -> bool {
        matches!(self.kind, Kind::Reads(_))
    }

    /// Whether it was begun and may have changed something.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.begun && !self.reads() && self.answer.is_none()
    }

    /// The end of a call that was not made, or whose end nobody heard.
    pub(crate) fn unanswered(&self, error: ToolError) -> Envelope {
        let meta = Meta {
            call_id: self.id.as_str().into(),
            tool: self.tool.as_str().into(),
            ..Meta::default()
        };
        Envelope { result: Err(error), intents: Vec::new(), meta }
    }

    /// The answer in the words of the tools that the model was shown.
    pub(crate) fn told(&self, shown: &Rendering) -> Option<Envelope> {
        let envelope = self.answer.clone()?;
        let WireCall { name, arguments, .. } = &self.wire;
        Some(match self.wire.offered_name() {
            Some(_) => shown.retold(name, arguments, envelope),
            None => envelope,
        })
    }

    /// As the wire's results want it.
    pub(crate) fn pair<'a>(&'a self, envelope: &'a Envelope) -> Answer<'a> {
        Answer { id: self.paired.as_deref(), name: &self.wire.name, envelope }
    }
}

/// Where the calls are made.
pub(crate) struct Desk<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) caller: &'a haft_core::Caller,
    pub(crate) session: &'a str,
    pub(crate) catalog: &'a Catalog,
    pub(crate) rendering: &'a Rendering,
    /// Tools of the client's own.
    pub(crate) theirs: &'a Theirs,
    pub(crate) cancel: &'a Cancel,
}

/// The calls of an answer that calls tools of the client's own and nothing else: the client makes
/// them. Beside others they are not made, and the model is told to ask for them again: its history
/// here is not the client's, so an answer is either all ours or all theirs.
pub(crate) fn handed(asked: &[Asked], theirs: &Theirs, replay: &[RawJson]) -> Option<Vec<Handed>> {
    let call = |one: &Asked| {
        matches!(one.kind, Kind::Theirs).then(|| Handed {
            id: one.id.clone(),
            name: one.tool.clone(),
            arguments: theirs.raise(&one.wire.name, &one.wire.arguments),
            signature: None,
        })
    };
    let mut calls: Vec<Handed> = asked.iter().map(call).collect::<Option<_>>()?;
    let signed = signatures(replay);
    if signed.len() == calls.len() {
        calls.iter_mut().zip(signed).for_each(|(call, signature)| call.signature = signature);
    }
    Some(calls)
}

/// What Gemini signed the calls of an answer with, in their order.
fn signatures(replay: &[RawJson]) -> Vec<Option<String>> {
    let parts = replay
        .iter()
        .filter_map(RawJson::value)
        .filter_map(|content| content.get("parts").and_then(Value::as_array).cloned());
    parts
        .flatten()
        .filter(|part| part.get("functionCall").is_some())
        .map(|part| part.get("thoughtSignature").and_then(Value::as_str).map(str::to_owned))
        .collect()
}

impl Desk<'_> {
    /// What an answer asks for, in its order. Other alternatives and what was taken back do not
    /// count.
    pub(crate) fn read(&self, turn: &Turn, used: &mut HashSet<String>) -> Vec<Asked> {
        let calls = turn.calls_to_run().map(|wire| self.call(wire));
        let broken = turn.broken_to_answer().map(|one| self.broken(one));
        let mut all: Vec<Asked> = calls.chain(broken).collect();
        all.sort_by_key(|asked| asked.wire.position);
        let together = Arc::new(Together::default());
        for asked in &mut all {
            asked.id = unique(asked.wire.id.as_deref(), used);
            if let Kind::Reads(call) | Kind::Writes(call) = &mut asked.kind {
                call.id = Some(asked.id.clone());
                call.together = Some(together.clone());
            }
        }
        all
    }

    fn name(&self, wire: &WireCall) -> String {
        match wire.offered_name().and_then(|name| self.rendering.tool(name)) {
            Some(id) => id.to_owned(),
            None => wire.full_name().into_owned(),
        }
    }

    fn call(&self, wire: &WireCall) -> Asked {
        if let Some(name) = wire.offered_name().and_then(|name| self.theirs.named(name)) {
            return self.asked(wire, name.to_owned(), Kind::Theirs);
        }
        let tool = self.name(wire);
        let arguments = self.rendering.arguments(&wire.name, &wire.arguments);
        let mut call = Call::new(self.caller.clone(), tool.clone(), arguments);
        call.session = Some(self.session.to_owned());
        call.mode = self.agent.settings.mode;
        let known = self.catalog.get(&tool);
        let needed = known.and_then(|known| known.tool.contract.connection.as_ref());
        // The agent's own comes first: a model may be shared by tenants that have other connections.
        let needed = needed.filter(|_| known.is_some_and(|known| known.connection.is_none()));
        if let Some(id) = needed.and_then(|one| self.agent.connections.get(&one.provider)) {
            call.connection = Some(id.clone());
            call.connections = vec![id.clone()];
        }
        // What is not known is refused by the path; until then it counts as the worst.
        let reads = known
            .is_some_and(|known| known.tool.contract.side_effect_policy == SideEffectPolicy::Pure);
        let kind = if reads { Kind::Reads(Box::new(call)) } else { Kind::Writes(Box::new(call)) };
        self.asked(wire, tool, kind)
    }

    /// One that nothing can be made of is refused like any other call, so that it is on record.
    fn broken(&self, broken: &BrokenCall) -> Asked {
        let mut asked = self.call(&broken.call);
        asked.kind = match (asked.kind, malformed(broken, "").result) {
            (Kind::Reads(mut call) | Kind::Writes(mut call), Err(why))
                if broken.why.names_a_function() =>
            {
                call.unreadable = Some(Box::new(why));
                Kind::Reads(call)
            }
            _ => Kind::Broken(Box::new(broken.clone())),
        };
        asked
    }

    fn asked(&self, wire: &WireCall, tool: String, kind: Kind) -> Asked {
        let id = String::new();
        let paired = match self.rendering.target().dialect {
            Dialect::Gemini | Dialect::GeminiLive => wire.id.clone(),
            Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::OpenAiRealtime
            | Dialect::Anthropic
            | Dialect::Mcp
            | Dialect::Adm => Some(wire.answer_id().into_owned()),
        };
        Asked { wire: wire.clone(), id, paired, tool, kind, answer: None, begun: false }
    }

    /// Runs the calls from `from` on that may run together: several that read, or one that writes.
    /// Returns how many were taken, and how long people took to answer.
    pub(crate) async fn step(
        &self,
        asked: &mut [Asked],
        to: &mut dyn Listen,
    ) -> (usize, std::time::Duration) {
        let together = asked.iter().take_while(|one| one.reads()).count();
        let together = together.min(self.agent.settings.parallel.max(1)).max(1);
        let group = asked.get_mut(..together.min(asked.len())).unwrap_or_default();
        for one in group.iter_mut() {
            one.begun = true;
            to.hear(self.started(one)).await;
        }
        self.together(group, to).await;
        let mut waited = std::time::Duration::ZERO;
        for one in group.iter_mut() {
            if let Some(question) = one.answer.as_ref().and_then(waits_for) {
                let begun = tokio::time::Instant::now();
                let answer = self.confirm(one, question, to).await;
                waited += begun.elapsed();
                if let Some(answer) = answer {
                    one.answer = Some(answer);
                }
                to.hear(self.ended(one)).await;
            }
        }
        (together, waited)
    }

    /// Runs a group, and tells of each end but for those that wait for a person.
    async fn together(&self, group: &mut [Asked], to: &mut dyn Listen) {
        let mut running: FuturesUnordered<_> = group
            .iter()
            .enumerate()
            .map(|(at, one)| async move { (at, self.one(one).await) })
            .collect();
        let mut answers = Vec::new();
        while let Some((at, envelope)) = running.next().await {
            let waits = waits_for(&envelope).is_some();
            if let (false, Some(one)) = (waits, group.get(at)) {
                to.hear(self.result(one, &envelope)).await;
            }
            answers.push((at, envelope));
        }
        drop(running);
        for (at, envelope) in answers {
            if let Some(one) = group.get_mut(at) {
                one.answer = Some(envelope);
            }
        }
    }

    /// Makes one call. One that reads is dropped when the turn is called off; one that writes ends.
    async fn one(&self, asked: &Asked) -> Envelope {
        match &asked.kind {
            Kind::Broken(broken) => malformed(broken, &asked.id),
            Kind::Theirs => asked.unanswered(by_itself()),
            Kind::Writes(call) => self.agent.runtime.invoke((**call).clone()).await,
            Kind::Reads(call) => tokio::select! {
                biased;
                () = self.cancel.cancelled() => asked.unanswered(called_off()),
                envelope = self.agent.runtime.invoke((**call).clone()) => {
                    describe::as_shown(self.rendering.target(), self.catalog, &asked.tool, envelope)
                }
            },
        }
    }

    /// Asks a person, and makes the very same call again when they have answered.
    async fn confirm(
        &self,
        asked: &Asked,
        question: Question,
        to: &mut dyn Listen,
    ) -> Option<Envelope> {
        let call = asked.call()?;
        let id = asked.id.clone();
        to.hear(Event::ConfirmationRequested { id: id.clone(), question: question.clone() }).await;
        let approve = &self.agent.approve;
        let decision = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Decision::Later,
            decision = approve.ask(&question) => decision,
        };
        to.hear(Event::ConfirmationDecided { id, decision }).await;
        let said_yes = match decision {
            Decision::Later => return None,
            Decision::Approve => true,
            Decision::Decline => false,
        };
        let by = approve.principal();
        let runtime = &self.agent.runtime;
        match runtime.confirm(&self.caller.tenant, &question.id, said_yes, by).await {
            Ok(_) => Some(runtime.invoke(call.clone()).await),
            Err(error) => Some(asked.unanswered(error)),
        }
    }

    fn started(&self, asked: &Asked) -> Event {
        let arguments =
            match (asked.call().map(|call| &call.arguments), self.catalog.get(&asked.tool)) {
                (Some(arguments), Some(tool)) => {
                    let value = match arguments {
                        RawArguments::Value(value) | RawArguments::Read(value, _) => value.clone(),
                        RawArguments::Text(text) => serde_json::from_str(text).unwrap_or_default(),
                    };
                    View::compile(&tool.tool.contract.redaction.allow_args).of(&value)
                }
                (Some(_) | None, _) => json!({}),
            };
        Event::ToolCallStart { id: asked.id.clone(), tool: asked.tool.clone(), arguments }
    }

    fn ended(&self, asked: &Asked) -> Event {
        match &asked.answer {
            Some(envelope) => self.result(asked, envelope),
            None => self.result(asked, &asked.unanswered(called_off())),
        }
    }

    fn result(&self, asked: &Asked, envelope: &Envelope) -> Event {
        let error = envelope.result.as_ref().err();
        let tool = self.catalog.get(&asked.tool);
        let seen = |data: &Value| match tool {
            Some(tool) => View::compile(&tool.tool.contract.redaction.allow).of(data),
            None => json!({}),
        };
        Event::ToolCallResult {
            id: asked.id.clone(),
            tool: asked.tool.clone(),
            ok: envelope.is_ok(),
            error: error.map(|error| error.kind),
            message: error.map(|error| error.shown().to_owned()),
            result: envelope.result.as_ref().ok().map(seen),
            cached: envelope.meta.cached,
            duration_ms: envelope.meta.duration_ms,
            intents: envelope.intents.iter().map(|applied| json!(applied)).collect(),
        }
    }
}

/// The question that a call waits for.
fn waits_for(envelope: &Envelope) -> Option<Question> {
    let error = envelope.result.as_ref().err()?;
    let details = error.details.as_ref().filter(|_| error.kind == ErrorKind::ConfirmationRequired);
    Question::of(details?)
}

/// An id that no other call of the conversation has. Some providers give none, some begin anew with
/// each answer, and some give one twice.
fn unique(given: Option<&str>, used: &mut HashSet<String>) -> String {
    let base = given.filter(|id| !id.is_empty()).unwrap_or("call");
    let mut id = base.to_owned();
    let mut number = used.len();
    if given.is_none_or(str::is_empty) {
        id = format!("{base}_{number}");
    }
    while !used.insert(id.clone()) {
        number += 1;
        id = format!("{base}_{number}");
    }
    id
}

/// Whether an id is one of those that are given where a provider gives none.
pub(crate) fn is_made_up(id: &str) -> bool {
    id.strip_prefix("call_").is_some_and(|number| number.parse::<usize>().is_ok())
}

/// What calls are answered with where the client wants none.
pub(crate) fn unwanted() -> ToolError {
    let message = "no tool may be called in this answer";
    ToolError::new(ErrorKind::Denied, message).suggest("answer with what you know")
}

/// What a call that was not made is answered with.
pub(crate) fn called_off() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "the user called the turn off; nothing was done")
}

/// What a call of the client's own tool is answered with beside others.
fn by_itself() -> ToolError {
    let message = "this tool is called by the client, so not together with others";
    ToolError::new(ErrorKind::Cancelled, message)
        .suggest("look at the other results, then call it again by itself")
}

/// What a call that was begun is answered with when nobody heard its end.
pub(crate) fn unheard() -> ToolError {
    let mut error = ToolError::new(
        ErrorKind::UnknownOutcome,
        "the turn was cut off while this call was being carried out",
    );
    error.partial_side_effects = true;
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_calls_share_an_id() {
        let mut used = HashSet::new();
        let mut next = |given: Option<&str>| unique(given, &mut used);
        assert_eq!(next(Some("a")), "a");
        assert_eq!(next(Some("a")), "a_2");
        assert_eq!(next(None), "call_2");
        assert_eq!(next(Some("")), "call_3");
        assert_eq!(next(Some("call_4")), "call_4");
        assert_eq!(next(None), "call_5");
        assert!(is_made_up("call_5") && !is_made_up("call_5a") && !is_made_up("a_2"));
    }
}
