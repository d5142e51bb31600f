//! The loop's events in the shapes of Chat Completions.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use haft_agent::{Decision, Done, Event, Failing, Handed, Listen, Reason};
use haft_core::port::Boxed;
use haft_core::{Caller, ErrorKind, ToolError};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::Sender;

use super::asked::Asked;
use crate::api::calls::fresh;
use crate::problem::Problem;

/// A problem in the shape that these clients read.
pub(crate) struct Failure(Problem);

impl<E: Into<Problem>> From<E> for Failure {
    fn from(problem: E) -> Self {
        Self(problem.into())
    }
}

impl Failure {
    /// An answer in the shape that these clients read, whoever has made it.
    pub(crate) fn instead(mut response: Response) -> Response {
        let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
        let body = Self(problem).body().to_string();
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.map(|_| Body::from(body))
    }

    fn body(&self) -> Value {
        let Self(problem) = self;
        let kind = match problem.status().as_u16() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            status if status < 500 => "invalid_request_error",
            _ => "server_error",
        };
        json!({ "error": {
            "message": problem.in_words(), "type": kind, "param": null, "code": problem.code(),
        } })
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.0.status(), Json(self.body())).into_response();
        if let Some(seconds) = self.0.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// What has been said so far.
#[derive(Default)]
pub(super) struct Answer {
    text: String,
    refusal: String,
    /// A round is over; what comes is a paragraph of its own.
    apart: bool,
    /// People who are waited for.
    waiting: Vec<Value>,
    asked: Option<(String, Value)>,
}

impl Answer {
    /// Takes an event, and gives what is new in the answer: of the text, and of a refusal.
    pub(super) fn hear(&mut self, event: &Event) -> Option<Value> {
        match event {
            Event::Text { delta } if !delta.is_empty() => {
                let apart = std::mem::take(&mut self.apart) && !self.text.is_empty();
                let piece = if apart { format!("\n\n{delta}") } else { delta.clone() };
                self.text += &piece;
                Some(json!({ "content": piece }))
            }
            Event::Refusal { delta } => {
                self.refusal += delta;
                Some(json!({ "refusal": delta }))
            }
            Event::ModelAnswer { .. } => {
                self.apart = true;
                None
            }
            Event::ConfirmationRequested { id, question } => {
                self.asked = Some((id.clone(), json!(question)));
                None
            }
            Event::ConfirmationDecided { decision: Decision::Later, .. } => {
                self.waiting.extend(self.asked.take().map(|(_, question)| question));
                None
            }
            Event::ConfirmationDecided { .. }
            | Event::Text { .. }
            | Event::ModelRequest { .. }
            | Event::Reasoning { .. }
            | Event::Retry { .. }
            | Event::ToolCallStart { .. }
            | Event::ToolCallResult { .. }
            | Event::Message { .. }
            | Event::Done(_) => None,
        }
    }
}

/// What all pieces of an answer have in common.
#[derive(Clone)]
pub(super) struct Pieces {
    id: String,
    created: u64,
    model: String,
    session: String,
    tenant: Arc<str>,
    agent: Arc<str>,
    with_usage: bool,
}

impl Pieces {
    pub(super) fn new(asked: &Asked, session: &str, caller: &Caller) -> Result<Self, Problem> {
        Ok(Self {
            id: fresh("chatcmpl")?,
            created: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            model: asked.model.clone(),
            session: session.to_owned(),
            tenant: caller.tenant.clone(),
            agent: caller.agent.clone(),
            with_usage: asked.with_usage(),
        })
    }

    /// The whole completion.
    pub(super) fn whole(&self, answer: Answer, done: &Done) -> Result<Value, Failure> {
        if let Some(failure) = self.failed(&done.reason) {
            return Err(failure);
        }
        let refusal = Some(answer.refusal).filter(|refusal| !refusal.is_empty());
        let mut message =
            json!({ "role": "assistant", "content": answer.text, "refusal": refusal });
        if let (Some(calls), Some(fields)) = (handed(&done.reason), message.as_object_mut()) {
            fields.insert("tool_calls".to_owned(), calls.into());
            if answer.text.is_empty() {
                fields.insert("content".to_owned(), Value::Null);
            }
        }
        Ok(json!({
            "id": self.id, "object": "chat.completion", "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0, "message": message, "logprobs": null, "finish_reason": word(&done.reason),
            }],
            "usage": usage(done),
            "haft": self.ours(&answer.waiting, done),
        }))
    }

    fn piece(
        &self,
        choices: Value,
        more: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Value {
        let mut piece = Map::new();
        let usage = self.with_usage.then_some(("usage", Value::Null));
        let common = [
            ("id", json!(self.id)),
            ("object", json!("chat.completion.chunk")),
            ("created", json!(self.created)),
            ("model", json!(self.model)),
            ("choices", choices),
        ];
        for (key, value) in common.into_iter().chain(usage).chain(more) {
            piece.insert(key.to_owned(), value);
        }
        Value::Object(piece)
    }

    fn delta(&self, delta: &Value) -> Value {
        let choice = json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null });
        self.piece(json!([choice]), [])
    }

    /// Hears the loop, and sends what is new.
    pub(super) fn listener(&self, to: Sender<Value>) -> Listener {
        Listener { pieces: self.clone(), to, answer: Answer::default(), begun: false }
    }

    /// The last pieces.
    pub(super) fn end(&self, answer: Answer, done: &Done) -> Vec<Value> {
        if let Some(failure) = self.failed(&done.reason) {
            return vec![failure.body()];
        }
        let word = word(&done.reason);
        let last = json!([{ "index": 0, "delta": {}, "logprobs": null, "finish_reason": word }]);
        let calls =
            handed(&done.reason).map(|calls| self.delta(&json!({ "tool_calls": numbered(calls) })));
        let mut all: Vec<Value> = calls.into_iter().collect();
        all.push(self.piece(last, [("haft", self.ours(&answer.waiting, done))]));
        if self.with_usage {
            all.push(self.piece(json!([]), [("usage", usage(done))]));
        }
        all
    }

    /// Whether there is no answer at all. Why is for whoever runs the server; those who ask are not
    /// told all of it.
    fn failed(&self, reason: &Reason) -> Option<Failure> {
        if let Reason::ModelFailed { message, .. } = reason {
            let (tenant_id, agent_id) = (&*self.tenant, &*self.agent);
            let (session, why) = (self.session.as_str(), message.as_str());
            tracing::warn!(event = "model_failed", tenant_id, agent_id, session, why);
        }
        failed(reason)
    }

    /// What these clients do not know of and may read.
    fn ours(&self, waiting: &[Value], done: &Done) -> Value {
        let mut ours = Map::new();
        ours.insert("session".into(), json!(self.session));
        ours.insert("rounds".into(), json!(done.spent.rounds));
        ours.insert("calls".into(), json!(done.spent.calls));
        if let Ok(Value::Object(why)) = serde_json::to_value(&done.reason) {
            ours.extend(why);
        }
        if !waiting.is_empty() {
            ours.insert("confirmations".into(), json!(waiting));
        }
        Value::Object(ours)
    }
}

/// Sends an answer as it comes.
pub(super) struct Listener {
    pieces: Pieces,
    to: Sender<Value>,
    pub(super) answer: Answer,
    begun: bool,
}

impl Listen for Listener {
    fn hear<'a>(&'a mut self, event: Event) -> Boxed<'a, ()> {
        Box::pin(async move {
            if !std::mem::replace(&mut self.begun, true) {
                let role = json!({ "role": "assistant", "content": "" });
                let _ = self.to.send(self.pieces.delta(&role)).await;
            }
            if let Some(new) = self.answer.hear(&event) {
                // Gone is whoever listened: the run is dropped for that.
                let _ = self.to.send(self.pieces.delta(&new)).await;
            }
        })
    }
}

/// What is told in place of an answer.
fn failed(reason: &Reason) -> Option<Failure> {
    let error = match reason {
        Reason::ModelFailed { message, failing: Failing::Unasked } => {
            ToolError::new(ErrorKind::Permanent, message.clone())
        }
        // Where the model is, and what its provider says of the key, is not the agent's business.
        Reason::ModelFailed { failing: Failing::Passing, .. } => {
            ToolError::new(ErrorKind::Transient, "the model did not answer")
                .suggest("send the same conversation again; what was done is not done twice")
        }
        Reason::ModelFailed { failing: Failing::Lasting, .. } => {
            ToolError::new(ErrorKind::Permanent, "the model's provider refused the request")
                .suggest("tell whoever runs this server: its log says why (`model_failed`)")
        }
        Reason::SessionRefused { kind, message } => ToolError::new(*kind, message.clone()),
        // Half an answer must not be taken for the whole: these clients look at nothing else.
        Reason::Cancelled => {
            ToolError::new(ErrorKind::Transient, "the server stops, and the answer is not complete")
                .suggest("send the same conversation again; what was done is not done twice")
        }
        Reason::Finished
        | Reason::HandedBack { .. }
        | Reason::Length
        | Reason::Refused
        | Reason::Filtered
        | Reason::Limit { .. } => return None,
    };
    Some(Problem::from(error).into())
}

fn word(reason: &Reason) -> &'static str {
    match reason {
        Reason::Length | Reason::Limit { .. } => "length",
        Reason::Filtered => "content_filter",
        Reason::HandedBack { .. } => "tool_calls",
        Reason::Finished
        | Reason::Refused
        | Reason::Cancelled
        | Reason::ModelFailed { .. }
        | Reason::SessionRefused { .. } => "stop",
    }
}

/// The calls that are the client's to make.
fn handed(reason: &Reason) -> Option<Vec<Value>> {
    let Reason::HandedBack { calls } = reason else { return None };
    let call = |one: &Handed| {
        let mut call = json!({ "id": one.id, "type": "function",
            "function": { "name": one.name, "arguments": one.arguments } });
        // Where clients of Google's own Chat Completions keep it.
        if let (Some(signature), Some(fields)) = (&one.signature, call.as_object_mut()) {
            let signed = json!({ "google": { "thought_signature": signature } });
            fields.insert("extra_content".to_owned(), signed);
        }
        call
    };
    Some(calls.iter().map(call).collect())
}

/// In a stream each says which it is.
fn numbered(calls: Vec<Value>) -> Vec<Value> {
    let number = |(at, mut call): (usize, Value)| {
        if let Some(fields) = call.as_object_mut() {
            fields.insert("index".to_owned(), json!(at));
        }
        call
    };
    calls.into_iter().enumerate().map(number).collect()
}

fn usage(done: &Done) -> Value {
    let spent = &done.spent;
    json!({
        "prompt_tokens": spent.input_tokens, "completion_tokens": spent.output_tokens,
        "total_tokens": spent.tokens(),
    })
}
