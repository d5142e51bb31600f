//! One answer of a model: asked for, streamed, and asked for again where nothing of it was shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::Digest;
use haft_core::hop::Chain;
use haft_wire::results::unreadable;
use haft_wire::{Close, Decoder, End, Fault, Finish, Said, Turn, Usage, decode};
use tokio::time::{Instant, timeout};

use crate::cancel::Cancel;
use crate::event::{Event, Listen};
use crate::model::{Model, Refusal, Retry, Stream};
use crate::settings::Patience;
use crate::wait;

/// What is asked, and how it is recorded.
pub(crate) struct Ask<'a> {
    pub(crate) model: &'a dyn Model,
    pub(crate) patience: &'a Patience,
    pub(crate) body: String,
    /// The servers that the request came through.
    pub(crate) via: Chain,
    pub(crate) prompt: Digest,
    pub(crate) round: u32,
    pub(crate) tools: usize,
    /// So many tokens are left.
    pub(crate) tokens: u64,
    pub(crate) deadline: Instant,
    pub(crate) cancel: &'a Cancel,
    pub(crate) heard: Arc<Heard>,
}

/// What an attempt that is under way has brought so far: whoever asked may leave before it ends, and it
/// was paid for all the same.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Which attempt; 0 while none is under way.
    number: AtomicU32,
    bytes: AtomicUsize,
}

impl Heard {
    fn begin(&self, number: u32) {
        self.bytes.store(0, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    fn add(&self, said: &Said) {
        let bytes = match said {
            Said::Text { delta, .. } | Said::Refusal { delta } | Said::Reasoning { delta } => {
                delta.len()
            }
            Said::Call(call) => call.arguments.len(),
            Said::Broken(_) | Said::Cancelled { .. } | Said::End(_) => 0,
        };
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn end(&self) {
        self.number.store(0, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The attempt that is under way, and how much it has brought.
    pub(crate) fn under_way(&self) -> Option<(u32, usize)> {
        let number = self.number.load(Ordering::Relaxed);
        (number > 0).then(|| (number, self.bytes()))
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A whole answer.
    Turn(Box<Turn>),
    /// None, and none is to be had.
    Failed(Refusal),
    /// It was called off.
    Cancelled,
    /// The time was over.
    Late,
    /// Answers that broke off have used the tokens up.
    Spent,
}

impl Asked {
    /// Why an attempt was not waited for.
    fn unheard(&self) -> &'static str {
        match self {
            Self::Late => "the time for this message was over",
            Self::Turn(_) | Self::Failed(_) | Self::Cancelled | Self::Spent => "called off",
        }
    }
}

/// A token is about so many bytes of a request or an answer, or fewer.
const BYTES_OF_A_TOKEN: usize = 4;

/// So many bytes in tokens.
pub(crate) fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes / BYTES_OF_A_TOKEN).unwrap_or(u64::MAX)
}

fn said_by(turn: &Turn) -> usize {
    let calls = turn.calls.iter().map(|call| call.arguments.len());
    turn.text.len() + turn.reasoning.len() + calls.sum::<usize>()
}

/// One attempt, for the record.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) number: u32,
    pub(crate) end: Result<End, String>,
    /// What it must have cost at least, where it was sent and the provider has not said.
    pub(crate) least: Option<Usage>,
    pub(crate) took: Duration,
}

impl Attempt {
    /// What it cost, as far as the provider has said: also when it broke off.
    pub(crate) fn usage(&self) -> Usage {
        self.end.as_ref().ok().and_then(|end| end.usage).unwrap_or_default()
    }
}

impl Ask<'_> {
    /// Asks until there is an answer, or none is to be had. `record` is told of each attempt.
    pub(crate) async fn run(&self, to: &mut dyn Listen, attempts: &mut Vec<Attempt>) -> Asked {
        let request = Digest::of_bytes(self.body.as_bytes());
        for number in 1.. {
            to.hear(Event::ModelRequest {
                round: self.round,
                attempt: number,
                prompt: self.prompt.clone(),
                request: request.clone(),
                tools: self.tools,
            })
            .await;
            let begun = Instant::now();
            let mut shown = false;
            self.heard.begin(number);
            let ended = tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Asked::Cancelled),
                () = tokio::time::sleep_until(self.deadline) => Err(Asked::Late),
                answer = self.attempt(to, &mut shown) => Ok(answer),
            };
            let end = match &ended {
                Ok(Ok(turn)) => Ok(turn.end.clone()),
                Ok(Err(refusal)) => Err(refusal.to_string()),
                Err(asked) => Err(asked.unheard().to_owned()),
            };
            let took = begun.elapsed();
            let least = match &ended {
                Ok(Ok(turn)) if turn.end.usage.is_none() => Some(self.least(said_by(turn))),
                Err(_) => Some(self.least(self.heard.bytes())),
                Ok(Ok(_) | Err(_)) => None,
            };
            self.heard.end();
            attempts.push(Attempt { number, end, least, took });
            let refusal = match ended {
                Err(asked) => return asked,
                Ok(Ok(turn)) => match failure(&turn) {
                    None => return Asked::Turn(turn),
                    Some(refusal) => refusal,
                },
                Ok(Err(refusal)) => refusal,
            };
            // What the user has read cannot be taken back.
            let pause = wait::pause(self.patience, number, &refusal).filter(|_| !shown);
            let Some(pause) = pause else { return Asked::Failed(refusal) };
            if spent(attempts) >= self.tokens {
                return Asked::Spent;
            }
            if let Some(end) = self.wait(pause, &refusal, to).await {
                return end;
            }
        }
        Asked::Late
    }

    /// What asking this costs at least, when so many bytes were answered.
    fn least(&self, answered: usize) -> Usage {
        Usage { input: tokens(self.body.len()), output: tokens(answered) }
    }

    async fn wait(&self, pause: Duration, why: &Refusal, to: &mut dyn Listen) -> Option<Asked> {
        let after_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        to.hear(Event::Retry { round: self.round, after_ms, why: why.to_string() }).await;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Some(Asked::Cancelled),
            () = tokio::time::sleep_until(self.deadline) => Some(Asked::Late),
            () = tokio::time::sleep(pause) => None,
        }
    }

    async fn attempt(&self, to: &mut dyn Listen, shown: &mut bool) -> Result<Box<Turn>, Refusal> {
        let asked =
            timeout(self.patience.first_byte, self.model.ask_via(self.body.clone(), &self.via));
        let mut stream = match asked.await {
            Ok(Ok(stream)) => stream,
            Ok(Err(refusal)) => return unread(refusal),
            Err(_) => return Err(Refusal::passing("the model did not answer in time")),
        };
        // State belongs to one stream.
        let mut decoder = Decoder::new(self.model.dialect(), decode::Limits::default());
        let mut said = Vec::new();
        while !decoder.has_ended() {
            match self.piece(&mut *stream).await {
                Ok(Some(bytes)) => decoder.feed(&bytes, &mut said),
                Ok(None) => decoder.close(Close::Eof, &mut said),
                Err(_) => decoder.close(Close::Reset, &mut said),
            }
            said.iter().for_each(|one| self.heard.add(one));
            for one in said.drain(..) {
                *shown |= show(one, to).await;
            }
        }
        let mut turn = Box::new(decoder.into_turn());
        self.hide(&mut turn.end);
        Ok(turn)
    }

    /// Servers repeat what they were sent, in their errors above all.
    fn hide(&self, end: &mut End) {
        let hide = |text: &mut String| *text = self.model.hide(std::mem::take(text));
        if let Some(fault) = &mut end.fault {
            hide(&mut fault.message);
            fault.code.as_mut().map(hide);
        }
        end.word.as_mut().map(hide);
        if let Finish::Other(word) = &mut end.finish {
            hide(word);
        }
    }

    async fn piece(&self, stream: &mut dyn Stream) -> Result<Option<Vec<u8>>, Refusal> {
        match timeout(self.patience.idle, stream.next()).await {
            Ok(piece) => piece,
            Err(_) => Err(Refusal::passing("the model stopped in mid-answer")),
        }
    }
}

fn spent(attempts: &[Attempt]) -> u64 {
    let all = attempts.iter().map(Attempt::usage);
    all.fold(0, |sum, usage| sum.saturating_add(usage.input).saturating_add(usage.output))
}

/// Passes on what people read, and says whether it was a word of the answer.
async fn show(said: Said, to: &mut dyn Listen) -> bool {
    match said {
        Said::Text { choice: 0, delta } => {
            to.hear(Event::Text { delta }).await;
            true
        }
        Said::Refusal { delta } => {
            to.hear(Event::Refusal { delta }).await;
            true
        }
        Said::Reasoning { delta } => {
            to.hear(Event::Reasoning { delta }).await;
            // It is no part of the answer, and minutes of it would else be lost to one reset.
            false
        }
        // Calls are taken from the whole answer, once it is one.
        Said::Text { .. }
        | Said::Call(_)
        | Said::Broken(_)
        | Said::Cancelled { .. }
        | Said::End(_) => false,
    }
}

/// Some refuse what the model wrote in place of a call with a status: that is an answer, too.
fn unread(refusal: Refusal) -> Result<Box<Turn>, Refusal> {
    let fault = Fault { code: refusal.code.clone(), message: refusal.to_string() };
    match unreadable(&fault) {
        Some(_) => Ok(Box::new(Turn::of(End { fault: Some(fault), ..End::of(Finish::Failed) }))),
        None => Err(refusal),
    }
}

/// Whether an answer is none.
fn failure(turn: &Turn) -> Option<Refusal> {
    let message = |otherwise: &str| match &turn.end.fault {
        Some(Fault { message, .. }) if !message.is_empty() => message.clone(),
        Some(_) | None => otherwise.to_owned(),
    };
    match &turn.end.finish {
        Finish::Cut => Some(Refusal::passing(message("the answer was cut off"))),
        // The model has answered, and is told what was wrong with it.
        Finish::Failed if turn.end.fault.as_ref().and_then(unreadable).is_some() => None,
        Finish::Failed => {
            let retry = match turn.end.fault.as_ref().is_some_and(passes) {
                true => Retry::Soon,
                false => Retry::Never,
            };
            Some(Refusal {
                retry,
                status: None,
                code: None,
                message: message("the provider reported an error"),
            })
        }
        Finish::Stop
        | Finish::Calls
        | Finish::Length
        | Finish::Filtered
        | Finish::Refused
        | Finish::Paused
        | Finish::Other(_) => None,
    }
}

/// Providers' words and numbers for what passes by itself.
fn passes(fault: &Fault) -> bool {
    const PASSING: [&str; 19] = [
        "overloaded_error",
        "rate_limit_error",
        "api_error",
        "timeout_error",
        "server_error",
        "rate_limit_exceeded",
        "internal_error",
        "service_unavailable",
        "overloaded",
        "UNAVAILABLE",
        "RESOURCE_EXHAUSTED",
        "INTERNAL",
        "DEADLINE_EXCEEDED",
        "429",
        "500",
        "502",
        "503",
        "504",
        "529",
    ];
    fault.code.as_deref().is_some_and(|code| PASSING.contains(&code))
}
