//! The pool's side of one child: its process and the two pipes.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use haft_core::Digest;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::{Handle, Id};
use tokio::time::Sleep;

use super::frame::{FromChild, Inbox};
use super::{ASKED, Isolation, Settings};

/// A child that does not say that it is ready in this time is given up.
const START: Duration = Duration::from_secs(10);
/// As much as is read at a time.
const BUFFER: usize = 16 << 10;
/// How many sources a child remembers.
const SOURCES: usize = 256;

/// One child.
pub(super) struct Worker {
    child: Option<Child>,
    to: File,
    from: File,
    line: Option<Line>,
    /// What was read and not yet taken.
    pub(super) inbox: Inbox,
    /// Where it is read to.
    buffer: Box<[u8]>,
    known: foldhash::HashSet<Digest>,
    /// How many calls it has served.
    pub(super) calls: u64,
    /// Since when it makes itself ready. It says so when it is done, and takes no call before.
    pub(super) tidying: Option<Instant>,
}

impl Worker {
    /// Starts a child and waits until it is ready. To be called from a thread that lives as long as
    /// the child should: the system ends it with the thread that started it.
    pub(super) fn start(settings: &Settings) -> Result<(Self, Isolation), String> {
        let program = match &settings.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(|why| why.to_string())?,
        };
        let mut child = Command::new(&program)
            .arg(ASKED)
            .arg(settings.memory_bytes.to_string())
            .env_clear()
            .env("TZ", "UTC0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A group of its own: Ctrl-C in a terminal is for haft, which ends what it began.
            .process_group(0)
            .spawn()
            .map_err(|why| format!("{} does not start: {why}", program.display()))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the child has no pipes".to_owned());
        };
        let mut worker = Self {
            child: Some(child),
            to: File::from(OwnedFd::from(to)),
            from: File::from(OwnedFd::from(from)),
            line: None,
            inbox: Inbox::default(),
            buffer: vec![0; BUFFER].into(),
            known: foldhash::HashSet::default(),
            calls: 0,
            tidying: None,
        };
        let isolation = worker.wait_until_ready().map_err(|why| {
            format!("{} does not serve handlers ({why}); call `serve_if_asked` first thing in its `main`", program.display())
        })?;
        worker.unblock().map_err(|why| why.to_string())?;
        Ok((worker, isolation))
    }

    fn wait_until_ready(&mut self) -> Result<Isolation, String> {
        let end = Instant::now() + START;
        let mut buffer = [0; 4096];
        loop {
            match self.inbox.next() {
                Ok(Some(FromChild::Ready(json))) => {
                    return serde_json::from_str(&json).map_err(|why| why.to_string());
                }
                Ok(None) => {}
                Ok(Some(FromChild::Ask { .. } | FromChild::Done { .. })) | Err(_) => {
                    return Err("it says something else".to_owned());
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut pipes = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
            match poll(&mut pipes, timeout) {
                Ok(0) => return Err("it is silent".to_owned()),
                Ok(_) => {}
                Err(nix::Error::EINTR) => continue,
                Err(why) => return Err(why.to_string()),
            }
            match (&self.from).read(&mut buffer) {
                Ok(0) => return Err("it ended".to_owned()),
                Ok(length) => self.inbox.push(buffer.get(..length).unwrap_or_default()),
                Err(why) => return Err(why.to_string()),
            }
        }
    }

    fn unblock(&self) -> nix::Result<()> {
        fcntl(&self.to, FcntlArg::F_SETFL(OFlag::O_NONBLOCK | OFlag::O_WRONLY))?;
        fcntl(&self.from, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(())
    }

    /// Whether the child has this source.
    pub(super) fn knows(&self, digest: &Digest) -> bool {
        self.known.contains(digest)
    }

    /// Remembers that the child gets a source; false where it has it already.
    pub(super) fn learns(&mut self, digest: &Digest) -> bool {
        !self.known.contains(digest) && self.known.insert(digest.clone())
    }

    /// Whether it has done its part.
    pub(super) fn is_spent(&self, settings: &Settings) -> bool {
        self.calls >= settings.calls_per_child || self.known.len() >= SOURCES
    }

    /// Whether it has made itself ready for longer than anything takes, and still says nothing.
    pub(super) fn is_stuck(&self, most: Duration) -> bool {
        let mut pipes = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        // What came with its last answer was read with it, and lies here.
        self.tidying.is_some_and(|since| since.elapsed() > most)
            && self.inbox.is_empty()
            && poll(&mut pipes, PollTimeout::ZERO) == Ok(0)
    }

    /// What a conversation needs, for the runtime that polls now; it is over at `end`.
    pub(super) fn line(&mut self, end: tokio::time::Instant) -> io::Result<Speaking<'_>> {
        let runtime = Handle::try_current().map_err(io::Error::other)?.id();
        if self.line.as_ref().is_none_or(|line| line.runtime != runtime) {
            // Clones, because a runtime that is gone takes with it what it knew.
            self.line = Some(Line {
                runtime,
                to: pipe::Sender::from_owned_fd(self.to.try_clone()?.into())?,
                from: pipe::Receiver::from_owned_fd(self.from.try_clone()?.into())?,
                end: Box::pin(tokio::time::sleep_until(end)),
            });
        }
        let Line { to, from, end: timer, .. } =
            self.line.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        timer.as_mut().reset(end);
        let (inbox, buffer) = (&mut self.inbox, &mut *self.buffer);
        let tidying = &mut self.tidying;
        Ok(Speaking { pipes: Pipes { to, from }, end: timer.as_mut(), inbox, buffer, tidying })
    }

    /// Kills it at once. Whoever gets the process waits for it.
    pub(super) fn kill(mut self) -> Option<Child> {
        let mut child = self.child.take()?;
        drop(child.kill());
        Some(child)
    }
}

/// No child outlives its worker, and none is left as a zombie.
impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The pipes and a timer, known to one runtime. The timer stays: it is cheap to put off, and a new one
/// for each call would wake whoever waits for the next.
struct Line {
    runtime: Id,
    to: pipe::Sender,
    from: pipe::Receiver,
    end: Pin<Box<Sleep>>,
}

/// A child that is spoken with.
pub(super) struct Speaking<'w> {
    pub(super) pipes: Pipes<'w>,
    /// When it is over.
    pub(super) end: Pin<&'w mut Sleep>,
    pub(super) inbox: &'w mut Inbox,
    pub(super) buffer: &'w mut [u8],
    pub(super) tidying: &'w mut Option<Instant>,
}

/// The way to the child, and the way back.
pub(super) struct Pipes<'w> {
    pub(super) to: &'w pipe::Sender,
    pub(super) from: &'w mut pipe::Receiver,
}

/// Writes as much as fits. Can be dropped at any time without losing anything.
pub(super) async fn write(to: &pipe::Sender, bytes: &[u8]) -> io::Result<usize> {
    loop {
        to.writable().await?;
        match to.try_write(bytes) {
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            written => return written,
        }
    }
}

/// Reads what is there. Can be dropped at any time without losing anything. What does not fill the buffer
/// was all that there was, which is not asked for again before there is more.
pub(super) async fn read(from: &mut pipe::Receiver, buffer: &mut [u8]) -> io::Result<usize> {
    from.read(buffer).await
}
