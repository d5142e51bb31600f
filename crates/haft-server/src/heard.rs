//! The requests of one connection, counted, so that its reader can tell a head from a body and a
//! client that is slow from one that has nothing to say.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, Response, StatusCode};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::{Service, service_fn};

use crate::guard::Guarded;

/// How many requests a connection has begun, and how many of them are answered to the end.
#[derive(Default)]
pub(crate) struct Requests {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl Requests {
    /// How many heads were read.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
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
    service_fn(move |request| {
        requests.begun.fetch_add(1, Ordering::AcqRel);
        let mut open = Open { requests: requests.clone(), ends: true };
        let app = app.clone();
        // Begun in here: what is handed in is kept beside what becomes of it, and moved with it.
        async move {
            let response = app.answer(request).await;
            open.ends = response.status() != StatusCode::SWITCHING_PROTOCOLS;
            Ok(response.map(|body| Answer { body, _open: open }))
        }
    })
}
