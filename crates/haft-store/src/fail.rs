//! Places where a test build can be made to die, to see what survives. Without the `failpoints`
//! feature there is nothing here.

use rusqlite::Connection;

/// A named place.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn fail_point(_name: &str) {}

/// Sees to it that commits of this connection pass a named place inside.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn watch(_conn: &mut Connection) {}

/// A named place. `HAFT_FAIL=name:kill:7` sends the process a real `SIGKILL` here the seventh time.
#[cfg(feature = "failpoints")]
pub(crate) fn fail_point(name: &str) {
    points::reached(name);
}

/// SQLite asks its hook when everything of a transaction is done and nothing of it is written into
/// the log yet: `in_commit`.
#[cfg(feature = "failpoints")]
pub(crate) fn watch(conn: &mut Connection) {
    let hook = || {
        points::reached("in_commit");
        false
    };
    // A connection that takes no hook never dies here, and the harness notices that.
    let _ = conn.commit_hook(Some(hook));
}

#[cfg(feature = "failpoints")]
mod points {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    static POINT: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static SEEN: AtomicU64 = AtomicU64::new(0);

    /// Only killing is for places in here; the others are the path's.
    fn armed() -> Option<(String, u64)> {
        let spec = std::env::var("HAFT_FAIL").ok()?;
        let mut parts = spec.split(':');
        let name = parts.next()?.to_owned();
        parts.next().filter(|action| *action == "kill")?;
        let at = parts.next().and_then(|at| at.parse().ok()).unwrap_or(1);
        Some((name, at))
    }

    pub(super) fn reached(name: &str) {
        let Some((_, at)) = POINT.get_or_init(armed).as_ref().filter(|(one, _)| one == name) else {
            return;
        };
        if SEEN.fetch_add(1, Ordering::SeqCst) + 1 == *at {
            let _ = kill(Pid::this(), Signal::SIGKILL);
            // The signal may take a moment; nothing of ours is written in it.
            loop {
                std::thread::park();
            }
        }
    }
}
