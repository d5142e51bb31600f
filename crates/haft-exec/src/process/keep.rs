//! The process between haft and a program: it ends whatever the program has started, however that
//! got away.
//!
//! Who forks twice and begins a session of its own is in no group that could be killed, and has no
//! parent that could be followed. Orphans fall to the nearest process that says it takes them, which is
//! the keeper here: everything that the program ever started is below it, until it ends the last of
//! them. It ends them when haft tells it to, when haft is gone, when the program has ended, when the time of
//! the call is over, and when they have become too many: what the system would count is all that a user
//! runs, and for root nothing at all.
//!
//! What haft writes to the program goes through it, so that the program gets nothing of a haft that is
//! gone, and nothing whose time is over. Haft ends a program itself at the deadline; the keeper does so a
//! moment later, for a haft that has been stopped.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, Signal, kill, killpg, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, dup2_stderr, dup2_stdout, getpid};

use super::relay::{Halt, Relay};
use super::start::{is_child_of, number};
use crate::inherited;

/// The first argument of a program that is to keep a handler.
pub(super) const ASKED: &str = "haft:keep";

/// What the kernel does not let go of in this time is left to it.
const LONGEST: Duration = Duration::from_secs(5);

/// How long is waited between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// So many processes a program may have at a time, itself included.
pub(super) const MOST: usize = 256;

/// How often they are counted. In between there may be more.
const COUNTED: Duration = Duration::from_millis(50);

/// How often is looked for the end of one that has closed its pipes.
const ENDING_LOOKS: u32 = 25;

/// How a keeper ends that has found too many: nobody dies of this one otherwise.
pub(super) const TOO_MANY: Signal = Signal::SIGPWR;

/// Keeps a handler and does not return, if this process was started for that.
pub(super) fn keep_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_none_or(|first| first != ASKED) {
        return;
    }
    std::process::exit(match keep(arguments) {
        Ok(Over::Ended(WaitStatus::Exited(_, code))) => code,
        Ok(Over::Ended(WaitStatus::Signaled(_, signal, _))) => {
            // Whoever looks sees how the handler ended.
            let _ = raise(signal);
            1
        }
        Ok(Over::TooMany) => {
            let _ = raise(TOO_MANY);
            1
        }
        Ok(Over::Ended(_) | Over::Told) => 0,
        Err(_) => 3,
    });
}

/// How it came to an end.
enum Over {
    /// The handler has ended, and how.
    Ended(WaitStatus),
    /// Somebody wants it to.
    Told,
    /// There are more processes than it may have.
    TooMany,
}

/// Keeps a handler to its end.
fn keep(mut arguments: impl Iterator<Item = OsString>) -> nix::Result<Over> {
    let haft = arguments.next().and_then(number).ok_or(Errno::EINVAL)?;
    // Whoever waits for the other end of something learns that it is closed, however long this lives.
    inherited::close();
    prctl::set_child_subreaper(true)?;
    // Nobody whom it keeps looks into it, and it leaves no core.
    prctl::set_dumpable(false)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let mut signals = SigSet::empty();
    [Signal::SIGCHLD, Signal::SIGTERM].into_iter().for_each(|one| signals.add(one));
    signals.thread_block()?;
    prctl::set_pdeathsig(Signal::SIGTERM)?;
    // One that died before that sends no signal any more.
    if !is_child_of(haft) {
        return Ok(Over::Told);
    }
    let mut command = Command::new("/proc/self/exe");
    // It begins a session, and with it a group, of its own: who signals the group that it is in means
    // itself.
    command.arg(super::start::ASKED).arg(getpid().to_string()).args(arguments);
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(|_| Errno::ENOEXEC)?;
    let handler = Pid::from_raw(i32::try_from(child.id()).map_err(|_| Errno::ESRCH)?);
    // Kept to the last: a handler that found its input closed would do what it does at its end.
    let mut relay = child.stdin.take().ok_or(Errno::EPIPE).and_then(Relay::new);
    let ended = match (let_go(), &mut relay) {
        (Ok(()), Ok(relay)) => until_end(handler, &signals, relay),
        (Err(_), _) | (_, Err(_)) => Ok(Over::Told),
    };
    end_all(handler);
    ended
}

/// What the handler writes to is its alone: whoever reads that learns when it has closed it.
fn let_go() -> std::io::Result<()> {
    let nothing = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    Ok(())
}

fn until_end(handler: Pid, signals: &SigSet, relay: &mut Relay) -> nix::Result<Over> {
    // With a thread that counts beside one that waits, the keeper could be killed by the other's number.
    let signals = SignalFd::with_flags(signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    let (me, mut counted) = (getpid(), Instant::now());
    loop {
        let some = wait(&signals, relay)?;
        while let Some(signal) = signals.read_signal()? {
            if i32::try_from(signal.ssi_signo) == Ok(Signal::SIGTERM as i32) {
                return Ok(Over::Told);
            }
        }
        if let Some(status) = reap(handler) {
            return Ok(Over::Ended(status));
        }
        // After the signals, so that nothing is begun for one who is known to be gone.
        match relay.go_on(some) {
            Ok(()) => {}
            Err(Halt::Over) => return Ok(Over::Told),
            // One that ends closes its pipes first.
            Err(Halt::Unread) => return Ok(soon(handler).map_or(Over::Told, Over::Ended)),
        }
        if counted.elapsed() >= COUNTED {
            counted = Instant::now();
            if are_many(me) {
                return Ok(Over::TooMany);
            }
        }
    }
}

/// Waits until there is something to do, and says what haft's pipe has.
fn wait(signals: &SignalFd, relay: &Relay) -> nix::Result<PollFlags> {
    let mut waiting = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    waiting.extend(relay.waits_for());
    let left = relay.left().map_or(COUNTED, |left| left.min(COUNTED));
    let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
    match poll(&mut waiting, left) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(why) => return Err(why),
    }
    Ok(waiting.get(1).and_then(PollFd::revents).unwrap_or(PollFlags::empty()))
}

/// How a handler has ended that is about to.
fn soon(handler: Pid) -> Option<WaitStatus> {
    let looks = (0..ENDING_LOOKS).map(|_| {
        std::thread::sleep(PAUSE);
        reap(handler)
    });
    looks.flatten().next()
}

/// Whether there are more processes below one than there may be. Looks at those alone, and not at
/// everything that runs: where the kernel does not list them, nobody knows. It lists also those that have
/// ended and that nobody has waited for, so that it takes a second look to be sure.
fn are_many(me: Pid) -> bool {
    let mut found = 0;
    let mut here = vec![me];
    while let Some(one) = here.pop() {
        let children = children(one);
        found += children.len();
        if found > MOST {
            return below(me).len() > MOST;
        }
        here.extend(children);
    }
    false
}

fn children(of: Pid) -> Vec<Pid> {
    let threads = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|one| fs::read_to_string(one.path().join("children")).ok());
    let numbers = |list: String| -> Vec<Pid> {
        list.split_whitespace().filter_map(|one| one.parse().ok()).map(Pid::from_raw).collect()
    };
    lists.flat_map(numbers).collect()
}

/// Takes in those that have ended; the handler's end is worth knowing.
fn reap(handler: Pid) -> Option<WaitStatus> {
    let mut found = None;
    loop {
        match waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(_) => return found,
            Ok(status) if status.pid() == Some(handler) => found = Some(status),
            Ok(_) => {}
        }
    }
}

/// Stops everything below this process, so that nothing new begins, and kills it.
fn end_all(handler: Pid) {
    // Where nothing can be seen below, its group is still known.
    let _ = killpg(handler, Signal::SIGKILL);
    let (me, end) = (getpid(), Instant::now() + LONGEST);
    while Instant::now() < end {
        reap(handler);
        let all = still(me, end);
        if all.is_empty() {
            return;
        }
        for one in all {
            // Who is gone already cannot be killed.
            let _ = kill(one, Signal::SIGKILL);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Everything below a process, stopped: looked for again until there is nobody new.
fn still(me: Pid, end: Instant) -> BTreeSet<Pid> {
    let mut stopped = BTreeSet::new();
    loop {
        let all = below(me);
        let new: Vec<Pid> = all.difference(&stopped).copied().collect();
        if new.is_empty() || Instant::now() >= end {
            // A number that somebody else has by now is not ours to stop.
            for other in stopped.difference(&all) {
                let _ = kill(*other, Signal::SIGCONT);
            }
            return all;
        }
        for one in new {
            let _ = kill(one, Signal::SIGSTOP);
            stopped.insert(one);
        }
    }
}

/// The processes below one that have not ended.
fn below(me: Pid) -> BTreeSet<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all: Vec<(Pid, Pid)> = entries.filter_map(|entry| parent(&entry.path())).collect();
    let mut found = BTreeSet::new();
    let mut here = vec![me];
    while let Some(one) = here.pop() {
        for (child, _) in all.iter().filter(|(_, parent)| *parent == one) {
            if found.insert(*child) {
                here.push(*child);
            }
        }
    }
    found
}

/// A process and its parent. Its name stands in brackets and may hold anything.
pub(super) fn parent(folder: &Path) -> Option<(Pid, Pid)> {
    let id: i32 = folder.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read(folder.join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, rest) = stat.rsplit_once(')')?;
    let mut words = rest.split_whitespace();
    let ended = matches!(words.next()?, "Z" | "X");
    let parent: i32 = words.next()?.parse().ok()?;
    (!ended).then_some((Pid::from_raw(id), Pid::from_raw(parent)))
}
