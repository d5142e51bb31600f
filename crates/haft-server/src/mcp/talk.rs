//! The client while a call runs: told how far it is, and asked.
//!
//! In the older era a question is a request of the server's own, and the handler waits for its answer.
//! The newer era has no such requests: the call ends with the questions, and is made again with the
//! answers.
#![expect(deprecated, reason = "what the newer era will take away, the older one has")]

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::port::{Asked, Boxed, Can, Client, Level, Log, Note, Progress, Question};
use haft_core::{ErrorKind, ToolError, validator};
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ElicitRequest, ElicitRequestParams,
    InputRequest, ListRootsRequest, LoggingLevel, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use serde_json::{Map, Value, json};

/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// How a request came: in which era, from a client that can do what.
pub(super) struct Line {
    /// Nobody, where the client wants to hear nothing before the answer.
    peer: Option<Peer<RoleServer>>,
    newer: bool,
    can: Can,
    progress: Option<ProgressToken>,
    level: Option<Level>,
}

impl Line {
    /// The line of a request that the SDK has read.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let newest = ProtocolVersion::V_2026_07_28;
        let version = context.protocol_version();
        Self {
            peer: Some(context.peer.clone()),
            newer: version.is_some_and(|version| version.as_str() >= newest.as_str()),
            can: can(context.client_capabilities().as_ref()),
            progress: context.meta.get_progress_token(),
            level: context.meta.log_level().map(level),
        }
    }

    /// A request of the newer era whose answer is all that its client wants.
    pub(super) fn of_one_answer(capabilities: &ClientCapabilities) -> Self {
        let can = can(Some(capabilities));
        Self { peer: None, newer: true, can, progress: None, level: None }
    }

    /// Whether questions end the call.
    pub(super) fn is_newer(&self) -> bool {
        self.newer
    }
}

/// One request's client.
pub(super) struct Talk {
    peer: Option<Peer<RoleServer>>,
    /// Whether questions end the call.
    pub(super) by_result: bool,
    can: Can,
    progress: Option<ProgressToken>,
    /// Nothing below this is told; nothing at all where absent.
    least: Option<Level>,
    /// What the client has said so far.
    answers: BTreeMap<String, Value>,
    open: Mutex<Open>,
}

/// What is still to be answered, and what could not be asked.
#[derive(Default)]
struct Open {
    questions: Vec<Asked>,
    lacking: Can,
}

impl Talk {
    /// The client of a request, with the answers that came with it.
    pub(super) fn new(line: Line, session_level: Level, answers: BTreeMap<String, Value>) -> Self {
        let Line { peer, newer, can, progress, level } = line;
        let least = if newer { level } else { Some(level.unwrap_or(session_level)) };
        Self { peer, by_result: newer, can, progress, least, answers, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions that a handler put and nobody has answered.
    pub(super) fn unanswered(&self) -> Vec<Asked> {
        self.open().questions.clone()
    }

    /// What the client has said so far.
    pub(super) fn answers(&self) -> &BTreeMap<String, Value> {
        &self.answers
    }

    /// What a handler needed and the client has not.
    pub(super) fn lacking(&self) -> Option<ClientCapabilities> {
        let Can { elicit, sample, roots } = self.open().lacking;
        let mut lacking = Map::new();
        for (is, name) in [(elicit, "elicitation"), (sample, "sampling"), (roots, "roots")] {
            if is {
                lacking.insert(name.to_owned(), json!({}));
            }
        }
        let lacking = (!lacking.is_empty()).then_some(Value::Object(lacking))?;
        serde_json::from_value(lacking).ok()
    }

    async fn put(&self, questions: Vec<Asked>) -> Result<Map<String, Value>, ToolError> {
        self.check(&questions)?;
        if self.by_result {
            return self.look_up(questions);
        }
        let mut answers = Map::new();
        for Asked { name, question } in questions {
            let answer = self.request(&question, pending()).await?;
            answers.insert(name, answer);
        }
        Ok(answers)
    }

    fn check(&self, questions: &[Asked]) -> Result<(), ToolError> {
        let mut open = self.open();
        for asked in questions.iter().filter(|asked| !asked.question.fits(self.can)) {
            match asked.question {
                Question::Elicit { .. } => open.lacking.elicit = true,
                Question::Sample(_) => open.lacking.sample = true,
                Question::Roots {} => open.lacking.roots = true,
            }
        }
        if open.lacking == Can::default() {
            return Ok(());
        }
        let message = "the client cannot be asked what this tool needs to know";
        Err(ToolError::new(ErrorKind::Permanent, message)
            .suggest("use a client that can, or ask the user yourself"))
    }

    /// What came with the request; the rest is asked when the call has ended.
    fn look_up(&self, questions: Vec<Asked>) -> Result<Map<String, Value>, ToolError> {
        let mut found = Map::new();
        let mut missing = Vec::new();
        for asked in questions {
            match self.answers.get(&asked.name).filter(|said| answers(&asked.question, said)) {
                Some(said) => drop(found.insert(asked.name, said.clone())),
                None => missing.push(asked),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        self.open().questions = missing;
        let message = "the client is asked first; nothing was done yet";
        Err(ToolError::new(ErrorKind::Cancelled, message))
    }

    /// Asks now, and waits for the answer; none where `over` ends first, or where none comes.
    pub(super) async fn ask_until(
        &self,
        question: &Question,
        over: impl Future<Output = ()>,
    ) -> Option<Value> {
        self.request(question, over).await.ok()
    }

    async fn request(
        &self,
        question: &Question,
        over: impl Future<Output = ()>,
    ) -> Result<Value, ToolError> {
        let request = match input(question)? {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
            _ => return Err(unanswerable("this cannot be asked")),
        };
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let Some(peer) = &self.peer else { return Err(unanswerable("nobody can be asked")) };
        let asked = peer.send_request_with_option(request, options).await;
        let answer = match asked {
            Ok(handle) => {
                let id = handle.id.clone();
                tokio::select! {
                    biased;
                    answer = handle.await_response() => answer,
                    () = over => {
                        // The client may close what needs no answer any more. One that is gone need not.
                        let why = "somebody else has answered".to_owned();
                        let over = CancelledNotificationParam::new(Some(id), Some(why));
                        let _ = peer.notify_cancelled(over).await;
                        return Err(unanswerable("somebody else has answered"));
                    }
                }
            }
            Err(error) => Err(error),
        };
        let said = json!(
            answer.map_err(|why| { unanswerable("the client gave no answer").caused_by(why) })?
        );
        match answers(question, &said) {
            true => Ok(said),
            false => Err(unanswerable("the client's answer is not one to this question")),
        }
    }
}

impl Client for Talk {
    fn can(&self) -> Can {
        self.can
    }

    fn tell<'a>(&'a self, note: Note) -> Boxed<'a, ()> {
        Box::pin(async move {
            match note {
                Note::Progress(progress) => self.tell_progress(progress).await,
                Note::Log(log) => self.tell_log(log).await,
            }
        })
    }

    fn ask<'a>(
        &'a self,
        questions: Vec<Asked>,
    ) -> Boxed<'a, Result<Map<String, Value>, ToolError>> {
        Box::pin(self.put(questions))
    }
}

impl Talk {
    async fn tell_progress(&self, progress: Progress) {
        let (Some(token), Some(peer)) = (self.progress.clone(), &self.peer) else { return };
        let mut said = ProgressNotificationParam::new(token, progress.progress);
        said.total = progress.total;
        said.message = progress.message;
        // Who is gone is not told.
        let _ = peer.notify_progress(said).await;
    }

    async fn tell_log(&self, log: Log) {
        let Some(peer) = &self.peer else { return };
        if self.least.is_none_or(|least| log.level < least) {
            return;
        }
        let mut said = LoggingMessageNotificationParam::new(theirs(log.level), log.data);
        said.logger = log.logger;
        let _ = peer.notify_logging_message(said).await;
    }
}

fn unanswerable(message: &str) -> ToolError {
    ToolError::new(ErrorKind::Permanent, message).suggest("go on without it, or tell the user")
}

/// Whether something is an answer to a question.
fn answers(question: &Question, said: &Value) -> bool {
    let action = said.get("action").and_then(Value::as_str);
    match question {
        Question::Elicit { schema, .. } => match action {
            Some("accept") => said.get("content").is_some_and(|content| fits(schema, content)),
            Some("decline" | "cancel") => true,
            Some(_) | None => false,
        },
        Question::Sample(_) => said.get("role").is_some() && said.get("content").is_some(),
        Question::Roots {} => said.get("roots").is_some_and(Value::is_array),
    }
}

fn fits(schema: &Value, content: &Value) -> bool {
    // A schema that cannot be read holds nobody to anything.
    validator::compile(schema).map_or(true, |schema| schema.is_valid(content))
}

/// A question in the protocol's words.
pub(super) fn input(question: &Question) -> Result<InputRequest, ToolError> {
    let wrong = |why: serde_json::Error| {
        unanswerable("the tool asks something that the protocol has no words for").caused_by(why)
    };
    match question {
        Question::Elicit { message, schema } => {
            let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
            let params: ElicitRequestParams = serde_json::from_value(params).map_err(wrong)?;
            Ok(InputRequest::Elicitation(ElicitRequest::new(params)))
        }
        Question::Sample(params) => {
            let request = json!({ "method": "sampling/createMessage", "params": params });
            serde_json::from_value(request).map(InputRequest::CreateMessage).map_err(wrong)
        }
        Question::Roots {} => Ok(InputRequest::ListRoots(ListRootsRequest::default())),
    }
}

fn can(capabilities: Option<&ClientCapabilities>) -> Can {
    let Some(has) = capabilities else { return Can::default() };
    // One that says nothing more has forms, as there was nothing else once.
    let forms = has.elicitation.as_ref().is_some_and(|one| one.form.is_some() || one.url.is_none());
    Can { elicit: forms, sample: has.sampling.is_some(), roots: has.roots.is_some() }
}

pub(super) fn level(theirs: LoggingLevel) -> Level {
    match theirs {
        LoggingLevel::Debug => Level::Debug,
        LoggingLevel::Info => Level::Info,
        LoggingLevel::Notice => Level::Notice,
        LoggingLevel::Warning => Level::Warning,
        LoggingLevel::Error => Level::Error,
        LoggingLevel::Critical => Level::Critical,
        LoggingLevel::Alert => Level::Alert,
        LoggingLevel::Emergency => Level::Emergency,
    }
}

fn theirs(level: Level) -> LoggingLevel {
    match level {
        Level::Debug => LoggingLevel::Debug,
        Level::Info => LoggingLevel::Info,
        Level::Notice => LoggingLevel::Notice,
        Level::Warning => LoggingLevel::Warning,
        Level::Error => LoggingLevel::Error,
        Level::Critical => LoggingLevel::Critical,
        Level::Alert => LoggingLevel::Alert,
        Level::Emergency => LoggingLevel::Emergency,
    }
}
