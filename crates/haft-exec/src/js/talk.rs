//! One call with one child: the call goes out, what the handler asks for is answered, the end comes
//! back.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use haft_core::contract::{Capability, Contract, Mode};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Host, Job, SessionView};
use haft_core::registry::Implementation;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Settings;
use super::frame::{End, FromChild, MAX_FRAME, Message as _, Sent, ToChild};
use super::pool::TIDYING;
use super::worker::{Speaking, Worker, read, write};

/// What a result may have around its data: `ok`, `intents`.
const AROUND: u64 = 64 << 10;
/// How much a handler may ask for at the same time; the rest waits its turn.
const AT_ONCE: usize = 64;

/// The call, as it is sent. A source goes to each child once.
pub(super) fn call(
    worker: &mut Worker,
    job: &Job,
    budget: Duration,
    settings: &Settings,
) -> Result<Vec<u8>, ToolError> {
    let Implementation::Js { digest, source } = &job.tool.handler else {
        return Err(super::not_js(job));
    };
    let capabilities: Vec<&str> =
        job.tool.contract.capabilities.iter().map(|capability| capability.in_js()).collect();
    let allowed = job.tool.contract.limits.max_result_bytes.unwrap_or(0);
    let sent = Sent {
        digest: digest.hex(),
        arguments: &job.arguments,
        context: &Context::of(job),
        capabilities: &capabilities,
        seed: seed(job.provider_key.as_deref().unwrap_or(&job.scope.call)),
        budget_ms: u64::try_from(budget.as_millis()).unwrap_or(u64::MAX).max(1),
        answer_bytes: settings.answer_bytes.max(allowed).saturating_add(AROUND),
        asks: settings.asks,
        ask_bytes: settings.ask_bytes,
    };
    let mut frame = sent.frame().map_err(|why| {
        ToolError::new(ErrorKind::Internal, "the call cannot be told to its handler").caused_by(why)
    })?;
    // Before the child is said to know the source: it does not get this one.
    if frame.len() + source.len() > MAX_FRAME - (64 << 10) {
        let message = "the arguments are too large for a handler";
        return Err(ToolError::new(ErrorKind::InvalidArguments, message));
    }
    frame.text(if worker.learns(digest) { source } else { "" });
    Ok(frame.close())
}

/// What a handler may know about its call: a list, whose order `child/prelude.js` knows. Names are given
/// there, when they are asked for, which most handlers never do.
#[derive(Serialize)]
struct Context<'a>(
    Mode,
    Option<&'a str>,
    bool,
    u64,
    &'a str,
    bool,
    bool,
    &'a str,
    #[serde(serialize_with = "version_of")] &'a Contract,
    bool,
    &'a str,
);

fn version_of<S: Serializer>(contract: &Contract, to: S) -> Result<S::Ok, S::Error> {
    contract.version.serialize(to)
}

impl<'a> Context<'a> {
    fn of(job: &'a Job) -> Self {
        let (scope, contract) = (&job.scope, &job.tool.contract);
        // Whole, so that what is new in a session is not forgotten here.
        let SessionView { id, active, turn, registry_version, suppress_audio, suppress_transcript } =
            &scope.session;
        Self(
            scope.mode,
            id.as_deref(),
            *active,
            *turn,
            registry_version,
            *suppress_audio,
            *suppress_transcript,
            &job.tool.id,
            contract,
            contract.idempotent,
            &scope.call,
        )
    }
}

/// FNV-1a: the same on every machine and in every version.
fn seed(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What broke a conversation off.
pub(super) enum Broken {
    /// The child was gone before it had the call, or did not come to it: it can be sent to another one.
    Unsent,
    /// The handler may have run.
    Lost(String),
    /// It did not end in time.
    Late,
    /// In all the time that the call has, the child did not come to it.
    Busy,
}

impl From<&str> for Broken {
    fn from(why: &str) -> Self {
        Self::Lost(why.to_owned())
    }
}

impl From<String> for Broken {
    fn from(why: String) -> Self {
        Self::Lost(why)
    }
}

/// What a child says at a handler's end.
pub(super) struct Said {
    /// How it ended.
    pub(super) end: End,
    /// The answer or the error, as JSON.
    pub(super) json: String,
    /// Whether the child can take the next call at once.
    pub(super) ready: bool,
}

/// Holds the conversation, until `end` at the latest.
pub(super) async fn hold(
    worker: &mut Worker,
    call: Vec<u8>,
    job: &Job,
    end: Instant,
    told_bytes: u64,
) -> Result<Said, Broken> {
    let speaking = worker.line(end).map_err(|why| why.to_string())?;
    let mut talk = Talk { speaking, end, out: VecDeque::new(), asks: Asks::new(job), told_bytes };
    talk.send(&call).await?;
    loop {
        match talk.heard()? {
            Some(said) => return talk.finish(said).await,
            None => talk.wait().await?,
        }
    }
}

/// A conversation with a child.
struct Talk<'t> {
    speaking: Speaking<'t>,
    end: Instant,
    /// Answers that are still to be written.
    out: VecDeque<u8>,
    asks: Asks<'t>,
    told_bytes: u64,
}

impl Talk<'_> {
    /// Sends the call. A child that has not read it whole cannot have begun it, and until it has, it says
    /// nothing but that it is ready.
    async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Broken> {
        let Speaking { pipes, end: timer, tidying, .. } = &mut self.speaking;
        // One that does not come to an end with what the last handler left is given up, and not the call.
        if let Some(since) = **tidying {
            timer.as_mut().reset(self.end.min(Instant::from_std(since) + TIDYING));
        }
        while !bytes.is_empty() {
            tokio::select! {
                biased;
                written = write(pipes.to, bytes) => {
                    bytes = bytes.get(written.map_err(|_| Broken::Unsent)?..).unwrap_or_default();
                }
                () = timer.as_mut() => return Err(given_up(self.end)),
            }
        }
        Ok(())
    }

    /// Takes what the child has said so far, and gives the last of it.
    fn heard(&mut self) -> Result<Option<Said>, Broken> {
        let Speaking { end: timer, inbox, tidying, .. } = &mut self.speaking;
        while let Some(message) = inbox.next().map_err(|_| "the child sent no message of ours")? {
            match message {
                FromChild::Ready(_) if tidying.take().is_some() => timer.as_mut().reset(self.end),
                _ if tidying.is_some() => return Err("the child is not ready".into()),
                FromChild::Ask { id, capability, method, json } => {
                    self.asks.take(id, &capability, method, &json)?;
                }
                FromChild::Done { end, json, ready } => return Ok(Some(Said { end, json, ready })),
                FromChild::Ready(_) => return Err("the child is confused".into()),
            }
        }
        Ok(None)
    }

    /// Waits until there is something to go on with.
    async fn wait(&mut self) -> Result<(), Broken> {
        let Speaking { pipes, end: timer, inbox, buffer, tidying } = &mut self.speaking;
        let (to_write, _) = self.out.as_slices();
        tokio::select! {
            biased;
            written = write(pipes.to, to_write), if !to_write.is_empty() => {
                let written = written.map_err(|why| format!("the child does not read: {why}"))?;
                drop(self.out.drain(..written));
            }
            length = read(pipes.from, buffer) => {
                match length.map_err(|why| format!("the child cannot be read: {why}"))? {
                    // It has not begun what it was not ready for.
                    0 if tidying.is_some() => return Err(Broken::Unsent),
                    0 => return Err("the child ended".into()),
                    length => inbox.push(buffer.get(..length).unwrap_or_default()),
                }
            }
            Some((id, answer)) = self.asks.next(), if !self.asks.is_done() => {
                self.out.extend(told(id, answer, self.told_bytes).frame());
            }
            () = timer.as_mut() => {
                return Err(if tidying.is_some() { given_up(self.end) } else { Broken::Late });
            }
        }
        Ok(())
    }

    /// What was asked for and not waited for is still carried out, and what the child was begun to be told
    /// is told to the end: it passes over it.
    async fn finish(&mut self, mut said: Said) -> Result<Said, Broken> {
        let Speaking { pipes, end: timer, .. } = &mut self.speaking;
        while !self.asks.is_done() || !self.out.is_empty() {
            let (to_write, _) = self.out.as_slices();
            tokio::select! {
                biased;
                written = write(pipes.to, to_write), if !to_write.is_empty() => match written {
                    Ok(written) => drop(self.out.drain(..written)),
                    // What it said last holds, though it is gone.
                    Err(_) => {
                        self.out.clear();
                        said.ready = false;
                    }
                },
                Some(_) = self.asks.next(), if !self.asks.is_done() => {}
                () = timer.as_mut() => return Err(Broken::Late),
            }
        }
        Ok(said)
    }
}

/// A child did not come to its call.
fn given_up(end: Instant) -> Broken {
    if Instant::now() < end { Broken::Unsent } else { Broken::Busy }
}

/// One question, and what comes of it.
type Ask = Boxed<'static, (u64, Result<Value, ToolError>)>;

/// What the handler asked for. Most ask for nothing, and nothing is made for them.
struct Asks<'j> {
    job: &'j Job,
    running: Option<FuturesUnordered<Ask>>,
    queued: VecDeque<Ask>,
}

impl<'j> Asks<'j> {
    fn new(job: &'j Job) -> Self {
        Self { job, running: None, queued: VecDeque::new() }
    }

    /// Begins a question, or queues it. A child that names what the contract does not list has
    /// broken out of its realm.
    fn take(&mut self, id: u64, name: &str, method: String, json: &str) -> Result<(), String> {
        let listed = &self.job.tool.contract.capabilities;
        let Some(capability) = listed.iter().copied().find(|listed| listed.in_js() == name) else {
            return Err(format!("the child asked for `{}`", name.escape_debug()));
        };
        let arguments = serde_json::from_str(json);
        let host = self.job.host.clone();
        let ask: Ask = Box::pin(async move {
            let answer = match arguments {
                Ok(arguments) => asked(host, capability, method, arguments).await,
                Err(why) => Err(unreadable(&why)),
            };
            (id, answer)
        });
        let running = self.running.get_or_insert_default();
        if running.len() < AT_ONCE {
            running.push(ask);
        } else {
            self.queued.push_back(ask);
        }
        Ok(())
    }

    async fn next(&mut self) -> Option<(u64, Result<Value, ToolError>)> {
        let running = self.running.as_mut()?;
        let answer = running.next().await;
        if let Some(ask) = self.queued.pop_front() {
            running.push(ask);
        }
        answer
    }

    fn is_done(&self) -> bool {
        self.running.as_ref().is_none_or(FuturesUnordered::is_empty) && self.queued.is_empty()
    }
}

async fn asked(
    host: Arc<dyn Host>,
    capability: Capability,
    method: String,
    arguments: Value,
) -> Result<Value, ToolError> {
    let asked = host.call(capability, &method, arguments);
    AssertUnwindSafe(asked).catch_unwind().await.unwrap_or_else(|_| {
        let message = format!("`{}.{method}` broke off", capability.in_js());
        let mut error = ToolError::new(ErrorKind::Internal, message);
        error.partial_side_effects = true;
        Err(error)
    })
}

fn unreadable(why: &serde_json::Error) -> ToolError {
    ToolError::new(ErrorKind::Internal, "the call cannot be read; nest less").caused_by(why)
}

fn told(id: u64, answer: Result<Value, ToolError>, most: u64) -> ToChild {
    let (ok, json) = match answer {
        Ok(value) => (true, value.to_string()),
        Err(error) => (false, json!(error).to_string()),
    };
    if json.len() as u64 <= most {
        return ToChild::Answer { id, ok, json };
    }
    let message = format!("the answer has {} bytes; at most {most} are passed on", json.len());
    let error = ToolError::new(ErrorKind::Permanent, message).suggest("ask for less");
    ToChild::Answer { id, ok: false, json: json!(error).to_string() }
}
