//! Waiting for what may be under way: whoever interrupts a command learns what that leaves behind.

use std::future::pending;
use std::time::Duration;

use crate::assembly::Desk;
use crate::output::Output;
use crate::signals::Signals;

/// A renewal of a token is given this long when a command was interrupted.
const RENEWAL: Duration = Duration::from_secs(5);

/// An effect that has begun is given this long when the call has returned without it.
const DRAIN: Duration = Duration::from_secs(25);
/// Nobody is told of what ends as soon.
const SOON: Duration = Duration::from_millis(500);

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

/// Who hears of interruptions, from when there is something to leave to the command's end.
pub(crate) struct Patience(Option<Signals>);

impl Patience {
    pub(crate) fn begin() -> Self {
        // Where the system does not tell, nobody interrupts.
        Self(Signals::listen().ok())
    }

    /// Awaits the end of some work; none where it was left. What has not begun an effect is dropped by the first
    /// signal; else that only says so, and the second leaves the effect to itself.
    pub(crate) async fn wait<T>(
        &mut self,
        desk: &Desk,
        work: impl Future<Output = T>,
        words: &Words,
        out: &Output,
    ) -> Option<T> {
        let mut work = Box::pin(work);
        tokio::select! {
            done = &mut work => return Some(done),
            () = interrupted(&mut self.0) => {}
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
            () = interrupted(&mut self.0) => {}
        }
        words.leave(out);
        None
    }

    /// Awaits the end of what goes on behind an answer that was shown. False where it was left.
    pub(crate) async fn rest(&mut self, desk: &Desk, words: &Words, out: &Output) -> bool {
        let ends = async {
            if desk.runtime.drain(SOON).await > 0 {
                out.note(&format!("{}; wait for its end, or press Ctrl-C to leave", words.begun));
                desk.runtime.drain(DRAIN).await;
            }
        };
        tokio::select! {
            () = ends => {}
            () = interrupted(&mut self.0) => {}
        }
        let is_over = desk.runtime.effects_running() == 0;
        if !is_over {
            words.leave(out);
        }
        is_over
    }
}

impl Words {
    fn leave(&self, out: &Output) {
        out.error(&format!("left; {}", self.left));
        self.next.iter().for_each(|line| out.note(line));
    }
}

async fn interrupted(signals: &mut Option<Signals>) {
    match signals {
        Some(signals) => signals.next().await,
        None => pending().await,
    }
}
