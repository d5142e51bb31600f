//! Being told to stop.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

/// What the signals say.
pub(super) struct Told {
    is_serving: Arc<AtomicBool>,
    first: oneshot::Receiver<()>,
    second: oneshot::Receiver<()>,
}

impl Told {
    /// From now on there may be something to finish first. Gives what ends when the process is told to
    /// stop, and what ends when it is told so again: then it does not wait for anything, and effects that
    /// are under way stay on record as started.
    pub(super) fn serving(self) -> (impl Future<Output = ()>, impl Future<Output = ()>) {
        self.is_serving.store(true, Ordering::SeqCst);
        (heard(self.first), heard(self.second))
    }
}

/// Listens from the first moment: where nothing does, the first process of a container does not hear a
/// signal at all.
///
/// Until it serves, to be told is to end at once. Whoever opens a large store for the first time after an
/// upgrade may do so for minutes, and what is half done then is undone by the next start, as after a loss
/// of power.
///
/// One listener hears both signals. With one for each, a second signal that comes before the second
/// listener has noticed the first would be taken for the first.
pub(super) fn listen() -> anyhow::Result<Told> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // The terminal was closed: what has begun is finished all the same. Whoever said `nohup` wants it to
    // go on, and to listen would be to hear.
    let mut hangup = match ends_at_hangup() {
        true => Some(signal(SignalKind::hangup())?),
        false => None,
    };
    let ((first, told), (second, again)) = (oneshot::channel(), oneshot::channel());
    let is_serving = Arc::new(AtomicBool::new(false));
    let serving = Arc::clone(&is_serving);
    tokio::spawn(async move {
        for tell in [first, second] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = next(&mut hangup) => {}
            }
            if !serving.load(Ordering::SeqCst) {
                // Without a word: it might have to wait for whoever reads them, and nobody is owed one.
                std::process::exit(0);
            }
            // Whoever is gone need not be told.
            let _ = tell.send(());
        }
    });
    Ok(Told { is_serving, first: told, second: again })
}

async fn heard(told: oneshot::Receiver<()>) {
    // The listener ends with the process, and then there is nothing to stop.
    let _ = told.await;
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
