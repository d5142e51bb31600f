//! A session held over a WebSocket: calls, messages and signals come in, answers, events and intents
//! go out. What is lost with a connection is sent again on the next one, and nothing is run twice.

mod desk;
mod frame;
mod line;
mod lines;
mod questions;
mod queue;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_core::Caller;
use haft_core::contract::Mode;
use haft_core::record::Event;
use haft_core::session::Session;
use haft_runtime::trace;
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use crate::api::{ModeName, caller};
use crate::body::Params;
use crate::door::Door;
use crate::guard::Credential;
use crate::hub::Missed;
use crate::problem::{NoKey, Problem};
use crate::who::Who;
use desk::Desk;
use frame::Told;
use line::{Cursor, Line};
pub(crate) use lines::Lines;

/// The name of this protocol.
const PROTOCOL: &str = "haft.v1";

/// Whoever is silent is asked whether they are there, and after three of these is gone.
const BEAT: Duration = Duration::from_secs(20);

/// So long a connection has whose session goes on over another to tell its client so.
const FAREWELL: Duration = Duration::from_secs(1);

/// Which session, and from where on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// A session to go on with; a new one when absent.
    session: Option<String>,
    /// How model and user talk in a new session: `text` (as when absent) or `voice`.
    #[param(inline)]
    mode: Option<ModeName>,
    /// The `cursor` of the last frame that arrived: what came after it is sent again.
    #[param(value_type = Option<String>)]
    after: Option<Cursor>,
}

impl Wanted {
    /// The session to go on with, or a new one. Whoever says what does not fit together may mean either.
    async fn session(&self, door: &Door, caller: &Caller) -> Result<Session, Problem> {
        let mode = self.mode.map(Mode::from);
        let Some(id) = &self.session else {
            if self.after.is_some() {
                let why = "`after` is a place in a session, and `session` is not said";
                let fix = "say which `session` goes on, or leave `after` out for a new one";
                return Err(Problem::malformed(why).advise(fix));
            }
            return Ok(door.runtime.open(caller, mode.unwrap_or(Mode::Text)).await?);
        };
        let session = door.runtime.session(caller, id).await?;
        if mode.is_some_and(|mode| mode != session.mode) {
            let why = format!("the session's mode is `{}`, for good", session.mode.as_str());
            let fix = "leave `mode` out where a session goes on, or begin a new one";
            return Err(Problem::malformed(why).advise(fix));
        }
        Ok(session)
    }
}

/// Holds a session over a WebSocket, in JSON frames; see docs/sessions.md. Browsers, which cannot
/// set headers here, send the key as a second subprotocol: `haft.v1, haft.key.<key>`.
#[utoipa::path(get, path = "/v1/agents/{agent}/socket", tag = "sessions",
    operation_id = "open_socket",
    params(("agent" = String, Path, description = "The agent."), Wanted),
    responses(
        (status = 101, description = "The session, as frames."),
        (status = 400, description = "Not a request for a WebSocket, or what it says of the session \
            does not fit together.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        (status = 404, description = "No such agent.", body = Problem,
            content_type = "application/problem+json"),
        (status = 410, description = "No such session, or none any longer. One that has ended is \
            shown, and closed.", body = Problem,
            content_type = "application/problem+json"),
        (status = 429, description = "Too many are open for this key or tenant.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn open(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Extension(credential): Extension<Credential>,
    Path(agent): Path<String>,
    Params(wanted): Params<Wanted>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|why| Problem::malformed(why.body_text()))?;
    let caller = caller(&door, &who, &agent)?;
    // No session is begun for whom there is no place.
    let place = wanted.session.is_none().then(|| door.places.take(&who)).transpose()?;
    let session = wanted.session(&door, &caller).await?;
    let line = door.lines.of(&who.tenant, &session.id);
    let place = match place {
        Some(place) => line.sits(place),
        None => line.seat(&door.places, &who)?,
    };
    let most = door.limits.body_bytes;
    let upgrade = upgrade.protocols([PROTOCOL]).max_message_size(most).max_frame_size(most);
    // What its client asks is part of the trace that the connection was opened in.
    let trace = trace::current();
    Ok(upgrade.on_upgrade(move |socket| async move {
        let desk = Desk::new(door, who, caller, &session.id, line).traced(trace);
        let shut = desk.door.clone().shut(Some(credential), desk.who.clone());
        let held = Held { desk, socket };
        held.run(&session, wanted.after, shut).await;
        drop(place);
    }))
}

/// One connection to a session.
struct Held {
    desk: Desk,
    socket: WebSocket,
}

/// Why a connection ends.
enum End {
    /// The client is gone.
    Gone,
    /// Another connection has taken the session over.
    TakenOver,
    /// The server stops.
    Stopping,
    /// The key or token opens nothing any more.
    Shut,
    /// The session is over.
    Over,
    /// The client has sent what nobody can read.
    Unreadable,
    /// The client has sent more at once than is taken.
    TooLong,
}

impl End {
    fn frame(&self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Gone => return None,
            Self::TakenOver => (4001, "the session goes on over another connection"),
            Self::Stopping => (1001, "the server stops; connect again"),
            Self::Shut => (1008, "the key opens this no longer"),
            Self::Over => (1000, "the session has ended"),
            Self::Unreadable => (1003, "frames are texts that hold JSON"),
            Self::TooLong => (1009, "the frame is longer than `server.max_body_bytes`"),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

impl Held {
    async fn run(
        mut self,
        session: &Session,
        after: Option<Cursor>,
        shut: impl Future<Output = ()>,
    ) {
        let line = self.desk.line.clone();
        let (place, resumed) = line.attach(after.as_ref());
        let holder = place.holder;
        let held = async {
            let ready = Told::Ready { session, resumed };
            let end = match self.send(frame::text(&ready)).await {
                Ok(()) => self.talk(&line, place, shut).await,
                Err(end) => end,
            };
            if let Some(frame) = end.frame() {
                let _ = self.socket.send(Message::Close(Some(frame))).await;
            }
        };
        // A client that takes nothing any more does not keep the place from the next connection.
        let given_up = async {
            line.taken_over(holder).await;
            tokio::time::sleep(FAREWELL).await;
        };
        tokio::select! {
            () = held => {}
            () = given_up => {}
        }
    }

    async fn talk(
        &mut self,
        line: &Arc<Line>,
        mut place: line::Place,
        shut: impl Future<Output = ()>,
    ) -> End {
        let mut events = self.desk.door.hub.watch(&self.desk.who.tenant);
        let stopped = self.desk.door.stopped();
        tokio::pin!(stopped, shut);
        let (mut beat, mut heard) = (tokio::time::interval(BEAT), Instant::now());
        loop {
            // Whatever is on the line goes out first, in order.
            loop {
                match line.next(&mut place) {
                    line::Next::Frame(text) => {
                        if let Err(end) = self.send(text).await {
                            return end;
                        }
                    }
                    line::Next::Nothing => break,
                    line::Next::TakenOver => return End::TakenOver,
                }
            }
            if self.desk.is_over() {
                return End::Over;
            }
            tokio::select! {
                biased;
                () = &mut stopped => return End::Stopping,
                () = &mut shut => return End::Shut,
                () = line.changed() => {}
                event = events.next() => match event {
                    Some(Ok(event)) => self.hear(&event),
                    Some(Err(Missed(lost))) => {
                        line.tell(None, &Told::Lost { events: lost });
                        self.desk.look(Vec::new());
                    }
                    // The tenant is gone, and whatever opened this with it.
                    None => return End::Shut,
                },
                got = self.socket.recv() => {
                    heard = Instant::now();
                    match got {
                        Some(Ok(Message::Text(text))) => self.desk.take(text.as_str()),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Binary(_))) => return End::Unreadable,
                        Some(Err(why)) if is_too_long(&why) => return End::TooLong,
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Gone,
                    }
                }
                _ = beat.tick() => {
                    if heard.elapsed() > BEAT * 3 {
                        return End::Gone;
                    }
                    if self.socket.send(Message::Ping(Vec::new().into())).await.is_err() {
                        return End::Gone;
                    }
                    // It may have ended before this connection, or in another process.
                    self.desk.look(Vec::new());
                }
            }
        }
    }

    fn hear(&self, event: &Event) {
        if self.desk.is_ours(event) {
            self.desk.hear(event);
        }
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        // A client that takes nothing for so long is gone.
        let sent = tokio::time::timeout(BEAT, self.socket.send(Message::Text(text.into()))).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Gone),
        }
    }
}

/// Whether a frame was over the limit. The library says so in words alone.
fn is_too_long(error: &axum::Error) -> bool {
    error.to_string().contains("too long")
}

/// The session that a caller holds.
fn is_of(event: &Event, caller: &Caller, session: &str) -> bool {
    *event.tenant == *caller.tenant
        && *event.agent == *caller.agent
        && event.session.as_deref() == Some(session)
}
