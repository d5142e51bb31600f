//! Carrying out what a socket's client asks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt as _;
use haft_core::outcome::{Applied, Intent, IntentStatus};
use haft_core::port::Invoke as _;
use haft_core::record::{Event, EventKind};
use haft_core::session::{Phase, Session};
use haft_core::trace::Trace;
use haft_core::{Call, Caller, Envelope, ErrorKind, Principal, ToolError};
use haft_runtime::runtime::Decided;
use haft_runtime::trace;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::frame::{Asked, Told};
use super::is_of;
use super::line::{Entered, Line};
use super::queue::{AT_ONCE, Queue, WAITING};
use crate::api::calls::Notes;
use crate::api::confirmations;
use crate::api::dialects::{self, Said, Sent};
use crate::door::Door;
use crate::mcp::{Approvals, beside};
use crate::problem::Problem;
use crate::room::Work;
use crate::who::{Role, Who};

/// So many frames of one connection that are no calls are worked on at once. They end soon, and none of
/// them waits behind calls: with a message, a signal or its end, a user breaks in.
const BESIDE: usize = 32;

/// What a connection works with.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) door: Arc<Door>,
    pub(super) line: Arc<Line>,
    pub(super) who: Who,
    caller: Caller,
    session: Arc<str>,
    calls: Arc<Queue<Taken>>,
    beside: Arc<Semaphore>,
    /// The trace that its calls are part of.
    trace: Option<Trace>,
    /// The session has ended.
    ended: Arc<AtomicBool>,
    /// And its client was told.
    over: Arc<AtomicBool>,
}

/// A frame that is carried out, or will be.
struct Taken {
    id: String,
    asked: Asked,
    place: Place,
}

/// What a frame has its room among.
enum Place {
    Call(#[expect(dead_code, reason = "held until the call is done")] Work),
    Beside(#[expect(dead_code, reason = "held until the frame is answered")] OwnedSemaphorePermit),
}

impl Desk {
    pub(super) fn new(
        door: Arc<Door>,
        who: Who,
        caller: Caller,
        session: &str,
        line: Arc<Line>,
    ) -> Self {
        Self {
            door,
            line,
            who,
            caller,
            session: session.into(),
            calls: Arc::default(),
            beside: Arc::new(Semaphore::new(BESIDE)),
            trace: None,
            ended: Arc::default(),
            over: Arc::default(),
        }
    }

    /// With a trace that what it carries out is part of.
    pub(super) fn traced(mut self, trace: Option<Trace>) -> Self {
        self.trace = trace;
        self
    }

    /// Whether the session has ended, and there is nothing more to tell.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Whether an event is of this session, or tells what became of a question that it asks.
    pub(super) fn is_ours(&self, event: &Event) -> bool {
        is_of(event, &self.caller, &self.session) || self.is_asked(event)
    }

    /// Whether an event is of a question that another session has put first.
    fn is_asked(&self, event: &Event) -> bool {
        event.kind == EventKind::ConfirmationDecided
            && *event.tenant == *self.caller.tenant
            && *event.agent == *self.caller.agent
            && event
                .payload
                .get("id")
                .and_then(Value::as_str)
                .is_some_and(|id| self.line.questions.has(id))
    }

    /// Takes a frame. It is carried out to its end, whatever becomes of the connection.
    pub(super) fn take(&self, text: &str) {
        let (id, asked) = Asked::read(text, self.door.limits.body_bytes);
        let (asked, content) = match (&id, asked) {
            (Some(_), Ok(asked)) => asked,
            (to, Err(problem)) => return self.refuse(to.as_deref(), &problem),
            (None, Ok(_)) => return,
        };
        let id = id.unwrap_or_default();
        let place = match self.place(&asked) {
            Ok(place) => place,
            Err(problem) => return self.refuse(Some(&id), &problem),
        };
        // The server waits for what has its room by then. Whatever comes later is for the next connection.
        if self.door.is_stopping() {
            return;
        }
        match self.line.enter(&id, content) {
            Entered::New => {}
            Entered::Again => return,
            Entered::Other => return self.refuse(Some(&id), &used_before()),
        }
        let taken = Taken { id, asked, place };
        let next = match &taken.place {
            Place::Call(_) => self.calls.enter(taken),
            Place::Beside(_) => Some(taken),
        };
        next.into_iter().for_each(|next| self.carry_out(next));
    }

    /// Room for what is asked. A call that waits counts as work of its tenant, too.
    fn place(&self, asked: &Asked) -> Result<Place, Problem> {
        if !asked.calls() {
            let own = self.beside.clone().try_acquire_owned();
            return own.map(Place::Beside).map_err(|_| crowded(&format!("{BESIDE} such frames")));
        }
        if self.calls.is_full() {
            return Err(crowded(&format!("{AT_ONCE} calls, and {WAITING} that wait")));
        }
        let room = self.door.work(&self.who.tenant);
        room.map(Place::Call).map_err(|problem| problem.advise(AGAIN))
    }

    fn carry_out(&self, taken: Taken) {
        let desk = self.clone();
        tokio::spawn(async move {
            let Taken { id, asked, place } = taken;
            // Whatever becomes of it, others have their turn after it.
            let _ = AssertUnwindSafe(desk.answer(&id, asked)).catch_unwind().await;
            let next = match place {
                Place::Call(_) => desk.calls.leave(),
                Place::Beside(_) => None,
            };
            drop(place);
            next.into_iter().for_each(|next| desk.carry_out(next));
            desk.finish();
        });
    }

    async fn answer(&self, id: &str, asked: Asked) {
        match trace::within(self.trace, self.work(id, asked)).await {
            Ok(result) => self.line.tell(Some(id), &Told::Answer { to: id, result }),
            Err(problem) => {
                self.line.tell(Some(id), &Told::Error { to: Some(id), problem: &problem });
            }
        }
    }

    /// Passes an event on. What ends the session elsewhere ends the connection, too.
    pub(super) fn hear(&self, event: &Event) {
        self.line.tell(None, &Told::Event { event });
        let says = |name, what| event.payload.get(name).is_some_and(|said| said == what);
        if event.kind != EventKind::SessionChanged {
            return;
        }
        if says("phase", "ended") {
            let intents = event.payload.get("intents").cloned().unwrap_or_default();
            self.look(serde_json::from_value(intents).unwrap_or_default());
        } else if says("change", "intents") {
            self.look(Vec::new());
        }
    }

    /// Looks whether the session has ended: then its client is told, and of these intents, which
    /// nobody's frame has carried out.
    pub(super) fn look(&self, intents: Vec<Applied>) {
        let desk = self.clone();
        tokio::spawn(async move {
            match desk.door.runtime.session(&desk.caller, &desk.session).await {
                Ok(session) if session.phase == Phase::Ended => {
                    desk.tell_intents(&intents, &session);
                }
                // Forgotten meanwhile: nothing can be done in it any more.
                Err(error) if error.kind == ErrorKind::SessionInactive => {
                    desk.ended.store(true, Ordering::Release);
                }
                // Where it cannot be read now, the next look tells.
                Ok(_) | Err(_) => return,
            }
            desk.finish();
        });
    }

    /// Ends the connection where the session has ended; not before the last answer is on the line.
    fn finish(&self) {
        let idle = self.calls.is_idle() && self.beside.available_permits() == BESIDE;
        if idle && self.ended.load(Ordering::Acquire) {
            self.over.store(true, Ordering::Release);
            self.line.poke();
        }
    }

    fn refuse(&self, to: Option<&str>, problem: &Problem) {
        self.line.tell(None, &Told::Error { to, problem });
    }

    async fn work(&self, id: &str, asked: Asked) -> Result<Value, Problem> {
        let (runtime, caller) = (&self.door.runtime, &self.caller);
        match asked {
            Asked::Call { call, arguments } => {
                let operates = self.who.is(Role::Operator);
                let mut call = call.call(caller.clone(), operates)?;
                call.arguments = call.arguments.from_text(arguments.as_deref());
                call.sees_rules = operates;
                if call.session.as_deref().is_some_and(|named| named != &*self.session) {
                    return Err(Problem::malformed("`call.session` names another session")
                        .advise("leave it out: a socket's calls are its session's"));
                }
                call.session = Some(self.session.to_string());
                // The session knows a call again that is sent again, also after a restart.
                call.id = call.id.take().or_else(|| Some(id.to_owned()));
                let known = call.id.clone().unwrap_or_default();
                self.heard(id, known, &mut call);
                let envelope = runtime.invoke(call).await;
                self.line.questions.hear(&envelope);
                self.intents(&envelope).await?;
                Ok(json!(envelope))
            }
            Asked::Said { format, message, strict, connection, dry_run } => {
                let said = Said::in_session(&format, &self.session).so(strict, connection, dry_run);
                let bytes = message.to_string().into_bytes();
                // A frame that is sent again is known again by its id, as a call's is.
                let sent = Sent::Framed(id.to_owned());
                let read = dialects::read(&self.door, caller.clone(), &format, said, sent, &bytes);
                let mut message = read.await?;
                message.shows_rules(self.who.is(Role::Operator));
                message.calls().for_each(|(known, call)| self.heard(id, known, call));
                let answered = message.answer(runtime, &|_, _| {}).await;
                for outcome in &answered.outcomes {
                    self.line.questions.hear(outcome);
                    self.intents(outcome).await?;
                }
                Ok(json!(answered))
            }
            Asked::Message { message } => {
                Ok(json!(runtime.message(caller, &self.session, message).await?))
            }
            Asked::Signal { signal } => {
                let signalled = runtime.signal(caller, &self.session, signal.into()).await?;
                let done = |intent: &Intent| Applied {
                    intent: intent.clone(),
                    status: IntentStatus::Applied,
                    reason: None,
                };
                let released: Vec<Applied> = signalled.released.iter().map(done).collect();
                self.tell_intents(&released, &signalled.session);
                Ok(json!(signalled))
            }
            Asked::Confirm { confirmation, approve } => {
                let decided = self.confirm(&confirmation, approve).await?;
                Ok(json!({ "confirmation": decided.confirmation, "token": decided.token }))
            }
            Asked::Close => {
                let session = runtime.close(caller, &self.session).await?;
                self.ended.store(true, Ordering::Release);
                Ok(json!(session))
            }
        }
    }

    /// Has the client hear how far a call is, under the frame that asked for it.
    fn heard(&self, of: &str, id: String, call: &mut Call) {
        let (line, of) = (self.line.clone(), of.to_owned());
        let tell = move |name: &'static str, note: Value| {
            line.note(&match name {
                "progress" => Told::Progress { of: &of, note: &note },
                _ => Told::Log { of: &of, note: &note },
            });
        };
        call.client = Some(Arc::new(Notes::new(&id, tell)));
    }

    /// The user beside the client answers what this session asks for them, where their client is
    /// trusted to have asked them. Everything else takes an approver.
    async fn confirm(&self, id: &str, approve: bool) -> Result<Decided, Problem> {
        let (runtime, tenant) = (&self.door.runtime, &*self.caller.tenant);
        let Some(person) = self.asked(id).await else {
            return confirmations::answered(&self.door, &self.who, id, approve).await;
        };
        match self.door.socket_approvals {
            Approvals::Client => Ok(runtime.confirm(tenant, id, approve, &person).await?),
            Approvals::Approvers if self.who.is(Role::Approver) => {
                confirmations::answered(&self.door, &self.who, id, approve).await
            }
            Approvals::Approvers => Err(untrusted(&person)),
        }
    }

    /// The user whom a question of this session is for, and who sits beside its client.
    async fn asked(&self, id: &str) -> Option<Principal> {
        let person = beside(&self.caller)?;
        let asked = self.door.runtime.store().confirmation(&self.caller.tenant, id).await.ok()?;
        let is_ours =
            asked.session.as_deref() == Some(&*self.session) || self.line.questions.has(id);
        (is_ours && asked.subject.as_ref() == Some(&person)).then_some(person)
    }

    /// What a call asked of the session, and what became of it.
    async fn intents(&self, envelope: &Envelope) -> Result<(), Problem> {
        if !envelope.intents.is_empty() {
            let session = self.door.runtime.session(&self.caller, &self.session).await?;
            self.tell_intents(&envelope.intents, &session);
        }
        Ok(())
    }

    fn tell_intents(&self, intents: &[Applied], session: &Session) {
        if !intents.is_empty() {
            self.line.tell(None, &Told::Intents { intents, session });
        }
        if session.phase == Phase::Ended {
            self.ended.store(true, Ordering::Release);
        }
    }
}

/// The key says for whom its holder acts, not who sits there.
fn untrusted(person: &Principal) -> Problem {
    let why = format!("the word of a socket's client is not taken for that of `{person}` here");
    Problem::forbidden(why).advise(
        "have somebody with the role `approver` answer, in the console or at \
         `/v1/confirmations/{id}`; where every client asks its user and the model cannot answer, \
         an operator sets `server.socket_approvals = \"client\"` in `haft.toml`",
    )
}

const AGAIN: &str = "wait for an answer, then send the same frame again";

/// More than a connection has under way.
fn crowded(what: &str) -> Problem {
    let message = format!("the connection has as much under way as it may: {what}");
    Problem::crowded(message).advise(AGAIN)
}

/// One id, two frames. Whoever counts frames anew on each connection must not take the first one's
/// answer for the second's.
fn used_before() -> Problem {
    let message = "this id was used for another frame of the session; nothing was done";
    let error = ToolError::new(ErrorKind::Conflict, message);
    error.suggest("give every frame of a session an id of its own, over all its connections").into()
}
