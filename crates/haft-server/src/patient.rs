//! A connection whose client must take what it is sent, must finish the head of a request that it has
//! begun, and must not be silent for ever: one that takes too long is let go, and its place is free
//! again. Of a head that says two lengths it says so.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::door::Limits;
use crate::framing::Framing;
use crate::heard::Requests;

/// A connection with a limit on how long it takes nothing, and on how long a head takes.
pub(crate) struct Patient {
    stream: TcpStream,
    most: Duration,
    /// Until when it is waited for, while it takes nothing.
    until: Option<Pin<Box<Sleep>>>,
    head: Duration,
    requests: Arc<Requests>,
    framing: Framing,
    /// Until when a head that has begun must be there, and how many heads were there before it.
    begun: Option<(u64, Instant)>,
    /// Wakes us then. Most heads come whole, and nobody waits for the rest.
    alarm: Option<Pin<Box<Sleep>>>,
    silence: Silence,
}

/// How long a client has had nothing to say.
struct Silence {
    most: Duration,
    since: Option<Instant>,
    /// Wakes us at the earliest end of a silence. It is set once and looked at when it rings: setting it
    /// anew for each request would cost more than hearing it once in vain.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Silence {
    fn is_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        // Longer than there is time is for ever.
        let Some(until) = since.checked_add(self.most) else { return false };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        while alarm.as_mut().poll(cx).is_ready() {
            if alarm.deadline() >= until {
                return true;
            }
            alarm.as_mut().reset(until);
        }
        false
    }
}

impl Patient {
    /// The first head has begun with the connection; later ones begin with their first byte.
    pub(crate) fn new(stream: TcpStream, limits: &Limits, requests: Arc<Requests>) -> Self {
        let (most, head) = (limits.write, limits.head);
        let begun = Some((0, Instant::now() + head));
        let framing = Framing::default();
        let silence = Silence { most: limits.keep_alive, since: None, alarm: None };
        Self { stream, most, until: None, head, requests, framing, begun, alarm: None, silence }
    }

    /// Whether a head that has begun is not there in time, or none has begun for too long.
    fn is_late(&mut self, cx: &mut Context<'_>) -> bool {
        let Some((_, until)) = self.begun else { return self.silence.is_too_long(cx) };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if alarm.deadline() != until {
            alarm.as_mut().reset(until);
        }
        alarm.as_mut().poll(cx).is_ready()
    }

    /// Looks at what has come before anybody reads it.
    fn look(&mut self, came: &[u8]) {
        if !came.is_empty()
            && self.requests.are_read()
            && let Some(which) = self.framing.read(came)
        {
            self.requests.doubt(which);
        }
    }

    /// What came of writing, or that it has taken too long.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        came: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if came.is_ready() {
            self.until = None;
            return came;
        }
        let most = self.most;
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(most)));
        ready!(until.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let came = Pin::new(&mut self.stream).poll_read(cx, into);
        self.look(into.filled().get(before..).unwrap_or_default());
        if came.is_ready() {
            self.silence.since = None;
        }
        let heads = self.requests.begun();
        if self.requests.is_working() || self.begun.as_ref().is_some_and(|(of, _)| *of != heads) {
            self.begun = None;
        }
        if self.requests.is_working() {
            return came;
        }
        if came.is_pending() {
            return match self.is_late(cx) {
                true => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                false => Poll::Pending,
            };
        }
        if into.filled().len() > before && self.begun.is_none() {
            self.begun = Some((heads, Instant::now() + self.head));
        }
        came
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let came = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, came)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let came = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.written(cx, came)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Says nothing of what was taken: a socket has nothing to flush.
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
