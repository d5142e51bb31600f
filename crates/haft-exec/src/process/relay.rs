//! What haft writes, on its way to the program.
//!
//! Between lines of the protocol, which are objects and begin with a brace, haft says to the keeper until
//! when the call that follows runs, and when it has been answered. The time is one of the clock that all
//! processes of a machine share, and not how much of it is left: a haft that is stopped before it has
//! written it does not thereby move it. That clock runs on while the machine sleeps.

use std::io;
use std::os::fd::AsFd as _;
use std::process::ChildStdin;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{read, write};
use tokio::time::Instant;

/// Said before a call, with the milliseconds of the clock.
const UNTIL: &str = "until ";

/// Said after it.
pub(super) const REST: &str = "rest";

/// Haft ends a program at its deadline; its keeper, where haft has not, so much later.
const GRACE: Duration = Duration::from_millis(50);

/// As much is passed on at a time.
const BUFFER: usize = 64 << 10;

/// No line to the keeper is longer.
const LONGEST: usize = 64;

/// The line that says until when the next call runs.
pub(super) fn until(end: Instant) -> String {
    // The clock first: what stops this process in between makes the time shorter.
    let now = now();
    let left = end.saturating_duration_since(Instant::now()).saturating_add(GRACE);
    format!("{UNTIL}{}\n", now.saturating_add(left).as_millis())
}

/// Without a clock everything is over: nothing is run that cannot be ended.
fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from)
}

/// Why nothing more is passed on.
pub(super) enum Halt {
    /// Haft is gone, or the time is over.
    Over,
    /// The program has closed its input.
    Unread,
}

/// Passes on lines, for as long as their call runs.
pub(super) struct Relay {
    from: io::Stdin,
    to: ChildStdin,
    /// What was read and not yet passed on.
    out: Vec<u8>,
    /// A line for the keeper, as far as it was read.
    said: Vec<u8>,
    /// Whose the line is that is being read.
    line: Line,
    until: Option<Duration>,
}

enum Line {
    /// It begins with the next byte.
    Next,
    Program,
    Keeper,
}

impl Relay {
    pub(super) fn new(to: ChildStdin) -> nix::Result<Self> {
        // A program that does not read does not keep its keeper from ending it.
        fcntl(&to, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let (out, said) = (Vec::new(), Vec::new());
        Ok(Self { from: io::stdin(), to, out, said, line: Line::Next, until: None })
    }

    /// How much time the call has left.
    pub(super) fn left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_sub(now()))
    }

    /// What is waited for: haft's pipe first, of which it is always of interest that it was closed.
    pub(super) fn waits_for(&self) -> impl Iterator<Item = PollFd<'_>> {
        let is_free = self.out.is_empty();
        let reads = if is_free { PollFlags::POLLIN } else { PollFlags::empty() };
        let writes = || PollFd::new(self.to.as_fd(), PollFlags::POLLOUT);
        [PollFd::new(self.from.as_fd(), reads)].into_iter().chain((!is_free).then(writes))
    }

    /// Reads where haft's pipe has something, and passes on what the program takes.
    pub(super) fn go_on(&mut self, haft: PollFlags) -> Result<(), Halt> {
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
        if haft.intersects(gone) || self.is_over() {
            return Err(Halt::Over);
        }
        if haft.contains(PollFlags::POLLIN) && self.out.is_empty() {
            self.take()?;
        }
        self.pass()
    }

    fn is_over(&self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    fn take(&mut self) -> Result<(), Halt> {
        let mut buffer = [0; BUFFER];
        let count = match read(&self.from, &mut buffer) {
            Ok(0) => return Err(Halt::Over),
            Ok(count) => count,
            Err(Errno::EINTR | Errno::EAGAIN) => return Ok(()),
            Err(_) => return Err(Halt::Over),
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        bytes.split_inclusive(|byte| *byte == b'\n').try_for_each(|part| self.sort(part))
    }

    /// Takes a line, or a part of one that ends where the line does or where no more has come.
    fn sort(&mut self, part: &[u8]) -> Result<(), Halt> {
        if let Line::Next = self.line {
            self.line = if part.first() == Some(&b'{') { Line::Program } else { Line::Keeper };
        }
        let ends = part.ends_with(b"\n");
        match self.line {
            Line::Keeper => {
                self.said.extend_from_slice(part);
                if ends {
                    self.obey()?;
                }
            }
            Line::Program | Line::Next => self.out.extend_from_slice(part),
        }
        if ends {
            self.line = Line::Next;
        }
        if self.said.len() > LONGEST { Err(Halt::Over) } else { Ok(()) }
    }

    /// Who cannot be understood may have said that it is over.
    fn obey(&mut self) -> Result<(), Halt> {
        let said = std::mem::take(&mut self.said);
        let said = std::str::from_utf8(&said).map_err(|_| Halt::Over)?.trim_end();
        self.until = match said.strip_prefix(UNTIL) {
            Some(ms) => Some(Duration::from_millis(ms.parse().map_err(|_| Halt::Over)?)),
            None if said == REST => None,
            None => return Err(Halt::Over),
        };
        // What follows is not passed on.
        if self.is_over() { Err(Halt::Over) } else { Ok(()) }
    }

    fn pass(&mut self) -> Result<(), Halt> {
        if self.out.is_empty() {
            return Ok(());
        }
        match write(&self.to, &self.out) {
            Ok(count) => drop(self.out.drain(..count)),
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => return Err(Halt::Unread),
        }
        Ok(())
    }
}
