//! Places where a test build can be made to stop or pause, to see what survives.
//!
//! Without the `failpoints` feature there is nothing here.

/// A named place on the path.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) async fn fail_point(_name: &str) {}

/// A named place on the path. `HAFT_FAIL=name:kill` ends the process here as `kill -9` would,
/// `name:pause` waits for ever, `name:kill:7` does it the seventh time.
#[cfg(feature = "failpoints")]
pub(crate) async fn fail_point(name: &str) {
    points::reached(name).await;
}

#[cfg(feature = "failpoints")]
mod points {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

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
            // The test harness sees the mark and sends a real SIGKILL; nothing runs after this.
            "kill" => {
                std::process::abort();
            }
            _ => std::future::pending().await,
        }
    }
}
