//! How long stopping takes: one time for all of it, from when no more work is taken until the process
//! is gone. Each phase has its part, and what keeps to none of them does not keep the process.

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

/// How long a process has that was told to stop, and waits so long before it closes its door.
pub(in crate::commands) fn time(leave: Duration) -> Duration {
    leave.saturating_add(WHOLE)
}

/// Ends the process whose time is up. Timers of the server do not run while every thread works for a request
/// that does not let go, and nothing bounds how long a disk takes: the thread that hears signals calls this.
///
/// Effects that are under way stay on record as started, as after a loss of power. It ends without a word,
/// which might have to wait for whoever reads it.
pub(super) fn end() -> ! {
    std::process::exit(Exit::Findings.code().into())
}
