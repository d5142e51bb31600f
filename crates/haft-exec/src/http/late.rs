//! A secret goes into a request when its bytes leave.
//!
//! Addresses, tables of headers and buffers of the HTTP client are freed as they are, and whatever was
//! in them lies in memory until something else is written there. So none of them ever holds a secret:
//! a mark stands in its place, and whoever writes to the socket exchanges it, in bytes of its own that
//! are wiped. Encryption copies them once and works on the copy in place.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use haft_core::digest::hex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;
use zeroize::Zeroizing;

use crate::end::is_past;

/// The end of a request's head.
const END: &[u8] = b"\r\n\r\n";

/// A secret, and the mark that stands for it in the head of a request.
#[derive(Clone)]
pub(crate) struct Late {
    mark: String,
    secret: Zeroizing<String>,
}

impl Late {
    /// Nobody who has a part in the request can guess the mark.
    pub(crate) fn new(secret: Zeroizing<String>) -> Result<Self, getrandom::Error> {
        let mut mark = [0; 16];
        getrandom::fill(&mut mark)?;
        Ok(Self { mark: hex(&mark), secret })
    }

    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// The head with the secret. Nothing where the mark is not in it.
    fn put_into(&self, head: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let at = found(head, self.mark.as_bytes())?;
        let (before, after) = (head.get(..at)?, head.get(at + self.mark.len()..)?);
        let secret = self.secret.as_bytes();
        // Bytes that grow leave copies of themselves behind.
        let length = before.len() + secret.len() + after.len();
        let mut whole = Zeroizing::new(Vec::with_capacity(length));
        [before, secret, after].into_iter().for_each(|part| whole.extend_from_slice(part));
        Some(whole)
    }
}

fn found(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|here| here == what)
}

/// A connection that exchanges the mark in the one request that it carries, and that carries none whose
/// time is over.
pub(super) struct Exchanged<S> {
    under: S,
    late: Option<Late>,
    /// Until when the request may begin to leave; nothing once it has.
    end: Option<Instant>,
    /// What was taken and has not left yet.
    head: Zeroizing<Vec<u8>>,
    left: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Exchanged<S> {
    pub(super) fn new(under: S, late: Option<Late>, end: Instant) -> Self {
        Self { under, late, end: Some(end), head: Zeroizing::default(), left: 0 }
    }

    /// Takes the head, whole: it is encoded before any of it is written.
    fn take(&mut self, late: &Late, bytes: &[u8]) -> io::Result<usize> {
        let end = found(bytes, END).map(|at| at + END.len());
        let head = end.and_then(|end| late.put_into(bytes.get(..end)?));
        let (Some(end), Some(head)) = (end, head) else {
            return Err(io::Error::other("the request has no place for its credentials"));
        };
        (self.head, self.left) = (head, 0);
        Ok(end)
    }

    /// Until everything that was taken has left.
    fn let_go(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.head.get(self.left..) {
            match ready!(Pin::new(&mut self.under).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.left += count,
            }
        }
        self.head = Zeroizing::default();
        self.left = 0;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Exchanged<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.end.take().is_some_and(is_past) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        if let Some(late) = this.late.take() {
            let first = parts.iter().find(|part| !part.is_empty());
            return Poll::Ready(this.take(&late, first.map_or(&[], |part| part)));
        }
        ready!(this.let_go(cx))?;
        Pin::new(&mut this.under).poll_write_vectored(cx, parts)
    }

    /// What is not copied to be written at once is not left in a buffer that nobody wipes.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.let_go(cx))?;
        Pin::new(&mut this.under).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.let_go(cx))?;
        Pin::new(&mut this.under).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Exchanged<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().under).poll_read(cx, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// What arrives of these writes, through a pipe that takes so many bytes at once.
    async fn arrives(writes: &[&str], secret: &str, at_once: usize) -> io::Result<String> {
        let late = Late::new(Zeroizing::new(secret.to_owned())).unwrap();
        let writes: Vec<String> =
            writes.iter().map(|text| text.replace("MARK", late.mark())).collect();
        let (under, mut other) = tokio::io::duplex(at_once);
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            other.read_to_string(&mut text).await.map(|_| text)
        });
        let end = Instant::now() + std::time::Duration::from_secs(60);
        let mut exchanged = Exchanged::new(under, Some(late), end);
        for text in writes {
            exchanged.write_all(text.as_bytes()).await?;
        }
        exchanged.shutdown().await?;
        drop(exchanged);
        reading.await.unwrap()
    }

    #[tokio::test]
    async fn the_secret_is_in_what_leaves_and_nowhere_before() {
        let body = "MARK".repeat(3);
        for at_once in [1, 7, 4096] {
            let head = "GET / HTTP/1.1\r\nx: Bearer MARK\r\na: b\r\n\r\n";
            let long = "s3cret-longer-than-its-mark-is-by-far";
            let got = arrives(&[head, "rest"], long, at_once).await.unwrap();
            assert_eq!(got, format!("{}rest", head.replace("MARK", long)));
            // One write with all of it, and a body that knows the mark: only the head is ours.
            let got = arrives(&[&format!("{head}{body}")], "s", at_once).await.unwrap();
            assert!(got.starts_with("GET / HTTP/1.1\r\nx: Bearer s\r\na: b\r\n\r\n"), "{got}");
            assert_eq!(got.len(), head.len() - 3 + 3 * 32);
        }
    }

    #[tokio::test]
    async fn a_request_whose_time_is_over_is_not_begun() {
        for (late, gets) in [(false, "GET / HTTP/1.1"), (true, "")] {
            let (under, mut other) = tokio::io::duplex(64);
            let end = Instant::now() + std::time::Duration::from_secs(if late { 0 } else { 60 });
            let mut exchanged = Exchanged::new(under, None, end);
            assert_eq!(exchanged.write_all(b"GET / HTTP/1.1").await.is_err(), late);
            drop(exchanged);
            let mut text = String::new();
            other.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, gets);
        }
    }

    #[tokio::test]
    async fn a_request_without_a_place_for_it_is_not_sent() {
        for write in ["GET / HTTP/1.1\r\n\r\n", "GET /MARK HTTP/1.1\r\n", ""] {
            let got = arrives(&[write, "x"], "s3cret", 64).await;
            assert!(got.is_err(), "{write:?}: {got:?}");
        }
    }
}
