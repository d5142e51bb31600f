//! Signals that tell a process to stop: Ctrl-C, SIGTERM, and SIGHUP.

use std::future::pending;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A file that may not become longer (`ulimit -f`) is an error of whoever writes it, and not the end of the process.
/// (What it starts is ended by that signal as ever: listening is not handed on, ignoring would be.)
pub(crate) fn outlive_long_files() {
    let kind = SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32);
    // Where that cannot be listened for, nothing is lost that is on record.
    let _ = signal(kind);
}

/// Those that tell a process to stop.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Option<Signal>,
}

impl Signals {
    /// From now on they end nothing by themselves.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            // The terminal was closed: what has begun is finished all the same. Whoever said `nohup` wants it
            // to go on, and to listen would be to hear.
            hangup: match ends_at_hangup() {
                true => Some(signal(SignalKind::hangup())?),
                false => None,
            },
        })
    }

    /// Waits for the next of them.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = next(&mut self.hangup) => {}
        }
    }
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

/// Whether the process was not started to outlive its terminal. Where the system does not say, what it
/// does by itself is right for both, if less gentle.
fn ends_at_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored(&status).is_some_and(|mask| mask & HANGUP == 0)
}

/// SIGHUP is the first of signals.
const HANGUP: u64 = 1;

/// The signals that a process ignores, as the kernel writes them.
fn ignored(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
