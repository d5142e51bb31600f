//! How long stopping takes: one time for all of it, from when no more work is taken until the process
//! is gone. Each phase has its part, and what keeps to none of them does not keep the process.

use std::thread;
use std::time::Duration;

use crate::assembly::LEFT;
use crate::output::Exit;

/// All of it, as the documents say.
const WHOLE: Duration = Duration::from_secs(25);

/// How long the last records and traces are waited for.
pub(super) const LAST: Duration = Duration::from_secs(2);

// Requests and effects first, then the last records, then what works on the side.
const _: () = assert!(
    haft_server::DRAIN.as_secs() + LAST.as_secs() + LEFT.as_secs() <= WHOLE.as_secs(),
    "the phases take no longer than all of it"
);

/// Ends the process when its time is up. Timers do not run while every thread works for a request that
/// does not let go, and nothing bounds how long a disk takes: this has a thread of its own.
///
/// Effects that are under way stay on record as started, as after a loss of power. It ends without a word,
/// which might have to wait for whoever reads it.
pub(super) fn begin(leave: Duration) {
    after(leave.saturating_add(WHOLE), || std::process::exit(Exit::Findings.code().into()));
}

/// Where no thread can be had the phases are all there is.
fn after(time: Duration, end: impl FnOnce() + Send + 'static) {
    let wait = move || {
        thread::sleep(time);
        end();
    };
    let _ = thread::Builder::new().name("ending".to_owned()).spawn(wait);
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Not on a thread of the runtime's: the only one is busy until it was called.
    #[tokio::test]
    async fn its_time_is_up_although_every_thread_is_busy() {
        let (called, end) = mpsc::channel();
        after(Duration::ZERO, move || called.send(()).unwrap());
        end.recv().unwrap();
    }
}
