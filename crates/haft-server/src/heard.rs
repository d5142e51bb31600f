//! The requests of one connection, counted, so that its reader can tell a head from a body and a
//! client that is slow from one that has nothing to say.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response, StatusCode};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};

use crate::guard::Guarded;

/// How many requests a connection has begun, and how many of them are answered to the end.
pub(crate) struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
    /// The first that says two lengths, counted from 0.
    doubtful: AtomicU64,
    /// Whether the connection speaks another protocol by now.
    upgraded: AtomicBool,
}

/// A request that says two lengths, or comes behind something that could be read in two ways.
#[derive(Clone, Copy)]
pub(crate) struct TwoLengths;

impl Default for Requests {
    fn default() -> Self {
        let doubtful = AtomicU64::new(u64::MAX);
        let (begun, ended, upgraded) =
            (AtomicU64::default(), AtomicU64::default(), AtomicBool::default());
        Self { begun, ended, doubtful, upgraded }
    }
}

impl Requests {
    /// How many heads were read.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// Says which request has two lengths. What comes after it is not read.
    pub(crate) fn doubt(&self, which: u64) {
        self.doubtful.store(which, Ordering::Release);
    }

    /// Whether what is read is a request, or part of one.
    pub(crate) fn are_read(&self) -> bool {
        !self.upgraded.load(Ordering::Acquire)
    }

    /// Whether what is read belongs to a request whose head is known.
    pub(crate) fn is_working(&self) -> bool {
        self.begun() != self.ended.load(Ordering::Acquire)
    }
}

/// A request until the end of its answer.
struct Open {
    requests: Arc<Requests>,
    /// A connection that speaks another protocol from here on has no more heads.
    ends: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.ends {
            self.requests.ended.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// An answer on its way.
pub(crate) struct Answer {
    body: Body,
    _open: Open,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The application with its requests counted.
pub(crate) fn counted(
    app: Guarded,
    requests: Arc<Requests>,
) -> impl Service<Request<Incoming>, Response = Response<Answer>, Error = Infallible, Future: Send>
{
    service_fn(move |mut request: Request<Incoming>| {
        let number = requests.begun.fetch_add(1, Ordering::AcqRel);
        if number >= requests.doubtful.load(Ordering::Acquire) {
            request.extensions_mut().insert(TwoLengths);
        }
        let mut open = Open { requests: requests.clone(), ends: true };
        let app = app.clone();
        // Begun in here: what is handed in is kept beside what becomes of it, and moved with it.
        async move {
            let response = app.answer(request).await;
            open.ends = response.status() != StatusCode::SWITCHING_PROTOCOLS;
            if !open.ends {
                open.requests.upgraded.store(true, Ordering::Release);
            }
            Ok(response.map(|body| Answer { body, _open: open }))
        }
    })
}
