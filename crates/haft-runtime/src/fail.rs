//! Places where a test build can be made to die, stop or wait, to see what survives.
//!
//! Without the `failpoints` feature there is nothing here.

/// A named place on the path.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) async fn fail_point(_name: &str) {}

/// A named place. `HAFT_FAIL=name:kill` sends the process a real `SIGKILL` here, `name:stop` a
/// `SIGSTOP`, after which it goes on when somebody sends `SIGCONT`, and `name:pause` waits for ever;
/// `name:kill:7` does it the seventh time.
#[cfg(feature = "failpoints")]
pub async fn fail_point(name: &str) {
    points::reached(name).await;
}

#[cfg(feature = "failpoints")]
mod points {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    struct Point {
        name: String,
        action: String,
        at: u64,
        seen: AtomicU64,
    }

    static POINT: OnceLock<Option<Point>> = OnceLock::new();

    fn armed() -> Option<Point> {
        let spec = std::env::var("HAFT_FAIL").ok()?;
        let mut parts = spec.split(':');
        let name = parts.next()?.to_owned();
        let action = parts.next()?.to_owned();
        let at = parts.next().and_then(|at| at.parse().ok()).unwrap_or(1);
        Some(Point { name, action, at, seen: AtomicU64::new(0) })
    }

    pub(super) async fn reached(name: &str) {
        let Some(point) = POINT.get_or_init(armed).as_ref().filter(|point| point.name == name)
        else {
            return;
        };
        if point.seen.fetch_add(1, Ordering::SeqCst) + 1 != point.at {
            return;
        }
        match point.action.as_str() {
            "kill" => {
                let _ = kill(Pid::this(), Signal::SIGKILL);
                // The signal may take a moment; nothing of ours runs in it.
                std::future::pending().await
            }
            "stop" => {
                let _ = kill(Pid::this(), Signal::SIGSTOP);
                // Another thread may take the signal, and this one go on for a moment: it must be
                // here that it is stopped.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            _ => std::future::pending().await,
        }
    }
}
