//! Waiting for what may be under way: whoever interrupts a command learns what that leaves behind.

use std::future::pending;
use std::time::Duration;

use crate::assembly::Desk;
use crate::output::Output;
use crate::signals::Signals;

/// A renewal of a token is given this long when a command was interrupted.
const RENEWAL: Duration = Duration::from_secs(5);

/// What is said to whoever interrupts.
pub(crate) struct Words {
    /// Where nothing is under way: what that means.
    pub(crate) nothing: String,
    /// Where something is: what goes on.
    pub(crate) begun: String,
    /// Where that was left: what nobody knows now.
    pub(crate) left: String,
    /// And what to run next, line by line.
    pub(crate) next: Vec<String>,
}

/// Awaits the end of some work; none where it was left. What has not begun an effect is dropped by the first
/// signal; else that only says so, and the second leaves the effect to itself.
pub(crate) async fn patiently<T>(
    desk: &Desk,
    work: impl Future<Output = T>,
    words: &Words,
    out: &Output,
) -> Option<T> {
    // Where the system does not tell, nobody interrupts.
    let mut signals = Signals::listen().ok();
    let mut work = Box::pin(work);
    tokio::select! {
        done = &mut work => return Some(done),
        () = interrupted(&mut signals) => {}
    }
    if desk.runtime.drain(Duration::ZERO).await == 0 {
        // A token that is being renewed is kept, where that does not take long.
        drop(work);
        desk.runtime.drain(RENEWAL).await;
        out.error(&format!("interrupted; {}", words.nothing));
        return None;
    }
    out.note(&format!("{}; wait for its end, or press Ctrl-C again to leave", words.begun));
    tokio::select! {
        done = &mut work => return Some(done),
        () = interrupted(&mut signals) => {}
    }
    out.error(&format!("left; {}", words.left));
    words.next.iter().for_each(|line| out.note(line));
    None
}

async fn interrupted(signals: &mut Option<Signals>) {
    match signals {
        Some(signals) => signals.next().await,
        None => pending().await,
    }
}
