//! The two pipes, from inside: blocking, and nothing else is open.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::js::frame::{Call, FromChild, Inbox, Message as _, ToChild};

/// Standard input and output.
#[derive(Clone)]
pub(super) struct Wire(Arc<Mutex<Received>>);

struct Received {
    inbox: Inbox,
    buffer: Vec<u8>,
}

const BUFFER: usize = 64 << 10;

impl Wire {
    pub(super) fn new() -> Self {
        let received = Received { inbox: Inbox::default(), buffer: vec![0; BUFFER] };
        Self(Arc::new(Mutex::new(received)))
    }

    pub(super) fn send(&self, message: &FromChild) -> io::Result<()> {
        let frame = message.frame();
        let mut rest = frame.as_slice();
        while !rest.is_empty() {
            let written = nix::unistd::write(io::stdout().as_fd(), rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Waits for the next call. Answers to what a handler did not wait for may come before it.
    pub(super) fn next_call(&self) -> io::Result<Call> {
        loop {
            if let ToChild::Call(call) = self.receive()? {
                return Ok(call);
            }
        }
    }

    /// Waits for the next message.
    pub(super) fn receive(&self) -> io::Result<ToChild> {
        let mut received = self.0.lock();
        let Received { inbox, buffer } = &mut *received;
        loop {
            match inbox.next() {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(_) => return Err(io::ErrorKind::InvalidData.into()),
            }
            let length = nix::unistd::read(io::stdin().as_fd(), buffer)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            inbox.push(buffer.get(..length).unwrap_or_default());
        }
    }
}
