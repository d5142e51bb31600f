//! Whether a request's body was read to its end before it was answered.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use hyper::body::{Frame, SizeHint};

/// What is known of a body. None where there is none to read.
pub(crate) struct Whole(Option<Arc<AtomicBool>>);

impl Whole {
    /// A request whose body is watched.
    pub(crate) fn of(request: Request) -> (Request, Self) {
        if request.body().is_end_stream() {
            return (request, Self(None));
        }
        let read = Arc::new(AtomicBool::new(false));
        let request = request.map(|body| Body::new(Watched { body, read: read.clone() }));
        (request, Self(Some(read)))
    }

    pub(crate) fn was_read(&self) -> bool {
        self.0.as_ref().is_none_or(|read| read.load(Ordering::Relaxed))
    }
}

struct Watched {
    body: Body,
    read: Arc<AtomicBool>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.read.store(true, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
