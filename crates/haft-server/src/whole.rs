//! Whether a request's body was read to its end before it was answered, and what becomes of its place
//! meanwhile.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http;
use hyper::body::{Frame, SizeHint};

use crate::problem::Problem;
use crate::seat::{Seat, Unseated};

/// What is known of a body. None where there is none to read.
pub(crate) struct Whole(Option<Arc<AtomicBool>>);

impl Whole {
    /// A request whose body is watched.
    pub(crate) fn of<B>(request: http::Request<B>, seat: &Seat) -> (Request, Self)
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        if request.body().is_end_stream() {
            return (request.map(|_| Body::empty()), Self(None));
        }
        let read = Arc::new(AtomicBool::new(false));
        let (seat, known) = (seat.clone(), read.clone());
        let request = request.map(|body| Body::new(Watched { body, read: known, seat }));
        (request, Self(Some(read)))
    }

    pub(crate) fn was_read(&self) -> bool {
        self.0.as_ref().is_none_or(|read| read.load(Ordering::Relaxed))
    }
}

struct Watched<B> {
    body: B,
    read: Arc<AtomicBool>,
    seat: Seat,
}

impl<B: HttpBody<Data = Bytes>> Watched<B> {
    /// What a piece, or the end, means for the place.
    fn came(&self, piece: Option<&Frame<Bytes>>) -> Result<(), Problem> {
        if let Some(data) = piece.and_then(Frame::data_ref) {
            self.seat.brings(data.len())?;
        }
        if piece.is_none() || self.body.is_end_stream() {
            self.read.store(true, Ordering::Relaxed);
            self.seat.sit_down()?;
        }
        Ok(())
    }
}

impl<B> HttpBody for Watched<B>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            self.seat.stand_up();
            return Poll::Pending;
        };
        let frame = match frame.transpose() {
            Ok(frame) => frame,
            Err(error) => return Poll::Ready(Some(Err(axum::Error::new(error)))),
        };
        match self.came(frame.as_ref()) {
            Ok(()) => Poll::Ready(frame.map(Ok)),
            Err(problem) => Poll::Ready(Some(Err(axum::Error::new(Unseated(problem))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
