//! Listening: connections with deadlines and a cap, and a shutdown that lets work finish.

use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use hyper::server::conn::http1::Builder;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::door::Door;
use crate::guard::Guarded;
use crate::heard::{Requests, counted};
use crate::patient::Patient;
use crate::tending;

/// How long open requests and begun effects are waited for when the server is told to stop. Whoever
/// ends the process has something to write after that.
pub const DRAIN: Duration = Duration::from_secs(21);

/// Serves until `stop` resolves. Then it says for a moment that it is not ready, so that whoever
/// shares out work sends none; takes no more connections, finishes what has begun, and returns what was
/// not done when time was up, or when `hurry` resolved.
pub async fn serve(
    listener: TcpListener,
    door: Arc<Door>,
    stop: impl Future<Output = ()> + Send,
    hurry: impl Future<Output = ()> + Send,
) -> Left {
    let app = crate::guarded(door.clone());
    let most = door.limits.connections.min(Semaphore::MAX_PERMITS);
    let room = Arc::new(Semaphore::new(most));
    let following = tokio::spawn({
        let door = door.clone();
        async move { door.follow().await }
    });
    let tending = tokio::spawn(tending::keep(door.clone()));
    let mut hurry = std::pin::pin!(hurry);
    admit(&listener, &room, &door, &app, stop).await;
    door.leave();
    let seen = tokio::time::sleep(door.limits.leave);
    let hurried = tokio::select! {
        () = admit(&listener, &room, &door, &app, seen) => false,
        () = &mut hurry => true,
    };
    drop(listener);
    following.abort();
    tending.abort();
    door.stop();
    // One time for all that has begun. Every place is free again when every connection is closed.
    let until = Instant::now() + DRAIN;
    let drained = async {
        let all = u32::try_from(most).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout_at(until, room.acquire_many(all)).await;
        // Between two effects of what was accepted none runs: it goes on all the same.
        let _ = tokio::time::timeout_at(until, door.room.rests()).await;
        door.runtime.drain(until.saturating_duration_since(Instant::now())).await;
    };
    if !hurried {
        tokio::select! {
            () = drained => {}
            () = &mut hurry => {}
        }
    }
    let requests = door.busy();
    door.close();
    Left { effects: door.runtime.effects_running(), requests }
}

/// What a server that has stopped did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Effects that are carried out without anybody to see how they end.
    pub effects: usize,
    /// Requests that were not answered to their end.
    pub requests: usize,
}

/// Lets connections in until it is told to stop.
async fn admit(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
    door: &Arc<Door>,
    app: &Guarded,
    until: impl Future<Output = ()>,
) {
    tokio::pin!(until);
    loop {
        tokio::select! {
            () = &mut until => return,
            accepted = accept(listener, room, door) => {
                let Some((stream, permit)) = accepted else { continue };
                tokio::spawn(connection(door.clone(), app.clone(), stream, permit));
            }
        }
    }
}

/// One connection, to its end. A connection that breaks is the client's affair.
async fn connection(
    door: Arc<Door>,
    app: Guarded,
    stream: TcpStream,
    _place: OwnedSemaphorePermit,
) {
    let requests = Arc::new(Requests::default());
    let stream = Patient::new(stream, &door.limits, requests.clone());
    let app = counted(app, requests);
    let serving = builder().serve_connection(TokioIo::new(stream), app);
    let mut serving = std::pin::pin!(serving.with_upgrades());
    tokio::select! {
        _ = serving.as_mut() => return,
        () = door.stopped() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

type Accepted = (TcpStream, OwnedSemaphorePermit);

/// The next connection, once there is room for one.
async fn accept(listener: &TcpListener, room: &Arc<Semaphore>, door: &Door) -> Option<Accepted> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => {
            door.shortage.may_end();
            // Small answers must not wait for the client's acknowledgement.
            let _ = stream.set_nodelay(true);
            Some((stream, permit))
        }
        // Whoever hung up before it was let in.
        Err(error) if error.kind() == ErrorKind::ConnectionAborted => None,
        Err(error) => {
            // Out of file descriptors, say: wait for some to be given back.
            door.shortage.begins(&error);
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// HTTP/1.1 alone: what HTTP/2 would bring in speed, its floods would cost. How long a client may have
/// nothing to say, and how long a head may take that has begun, is the reader's to see: the library
/// would set a timer for each request. It is given one that never rings, because it then looks for the
/// next head as soon as an answer is written, and from there on the reader counts.
fn builder() -> Builder {
    let mut builder = Builder::new();
    let untimed = Untimed { now: std::time::Instant::now() };
    builder.timer(untimed).header_read_timeout(Duration::ZERO).max_buf_size(64 << 10);
    builder
}

/// Time that stands still, and costs nothing.
#[derive(Clone, Copy)]
struct Untimed {
    now: std::time::Instant,
}

impl Timer for Untimed {
    fn sleep(&self, _: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Never)
    }

    fn sleep_until(&self, _: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Never)
    }

    fn now(&self) -> std::time::Instant {
        self.now
    }
}

struct Never;

impl Future for Never {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Sleep for Never {}
