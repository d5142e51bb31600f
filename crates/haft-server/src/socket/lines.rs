//! The lines of all sessions, within one bound: those of closed sockets go first, and of the tenant
//! that has the most.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::line::Line;

/// So long a line without a connection is kept.
const KEPT: Duration = Duration::from_secs(15 * 60);

/// So many bytes are kept of all sessions together.
const BYTES: usize = 128 << 20;

/// The lines of all sessions.
pub(crate) struct Lines(Arc<All>);

impl Default for Lines {
    fn default() -> Self {
        Self::within(BYTES)
    }
}

/// What the lines have in common.
pub(super) struct All {
    most: usize,
    /// What all of them hold.
    pub(super) bytes: AtomicUsize,
    by_session: Mutex<HashMap<String, Kept>>,
}

struct Kept {
    tenant: Arc<str>,
    line: Arc<Line>,
}

impl Kept {
    fn is_open(&self) -> bool {
        Arc::strong_count(&self.line) > 1
    }
}

impl Lines {
    fn within(most: usize) -> Self {
        Self(Arc::new(All { most, bytes: AtomicUsize::new(0), by_session: Mutex::default() }))
    }

    /// The line of a tenant's session.
    pub(crate) fn of(&self, tenant: &Arc<str>, session: &str) -> Arc<Line> {
        let line = {
            let mut lines = self.0.lines();
            lines.retain(|_, kept| kept.is_open() || kept.line.age() < KEPT);
            let new = || Kept {
                tenant: tenant.clone(),
                line: Arc::new(Line::new(Arc::downgrade(&self.0))),
            };
            lines.entry(session.to_owned()).or_insert_with(new).line.clone()
        };
        self.0.settle();
        line
    }
}

impl All {
    fn lines(&self) -> MutexGuard<'_, HashMap<String, Kept>> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room where there is too much, and some more, so that it is not made for every frame.
    pub(super) fn settle(&self) {
        if self.bytes.load(Ordering::Relaxed) <= self.most {
            return;
        }
        let mut lines = self.lines();
        // What cannot be made smaller in so many steps is nothing but open lines that are short.
        for _ in 0..2 * lines.len() + 64 {
            if self.bytes.load(Ordering::Relaxed) <= self.most - self.most / 8 {
                return;
            }
            let Some(tenant) = largest(&lines) else { return };
            match oldest(&lines, &tenant) {
                Some(id) => drop(lines.remove(&id)),
                None => {
                    let own = lines.values().filter(|kept| kept.tenant == tenant);
                    let longest = own.max_by_key(|kept| kept.line.held());
                    longest.iter().for_each(|kept| kept.line.halve());
                }
            }
        }
    }
}

/// The tenant's line that was closed first.
fn oldest(lines: &HashMap<String, Kept>, tenant: &Arc<str>) -> Option<String> {
    let closed = lines.iter().filter(|(_, kept)| kept.tenant == *tenant && !kept.is_open());
    closed.max_by_key(|(_, kept)| kept.line.age()).map(|(id, _)| id.clone())
}

/// The tenant whose lines hold the most.
fn largest(lines: &HashMap<String, Kept>) -> Option<Arc<str>> {
    let mut held: HashMap<&Arc<str>, usize> = HashMap::new();
    for kept in lines.values() {
        *held.entry(&kept.tenant).or_default() += kept.line.held();
    }
    held.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(tenant, _)| tenant.clone())
}

#[cfg(test)]
mod tests {
    use super::super::frame::Told;
    use super::super::line::Entered;
    use super::*;

    fn tell(line: &Line, bytes: usize) {
        let result = serde_json::json!("x".repeat(bytes));
        line.tell(None, &Told::Answer { to: "a", result });
    }

    fn total(lines: &Lines) -> usize {
        let held: usize = lines.0.lines().values().map(|kept| kept.line.held()).sum();
        assert_eq!(held, lines.0.bytes.load(Ordering::Relaxed), "what is counted is what is held");
        held
    }

    fn kept(lines: &Lines, prefix: &str) -> usize {
        lines.0.lines().keys().filter(|id| id.starts_with(prefix)).count()
    }

    #[test]
    fn lines_of_closed_sockets_are_within_one_bound_and_nobody_pays_for_another() {
        let (most, ours, theirs) = (1 << 20, Arc::from("ours"), Arc::from("theirs"));
        let lines = Lines::within(most);
        tell(&lines.of(&ours, "ours-1"), 100_000);
        let open = lines.of(&theirs, "open");
        tell(&open, 1_000);
        for at in 0..50 {
            tell(&lines.of(&theirs, &format!("theirs-{at}")), 100_000);
            assert!(total(&lines) <= most + 200_000, "{}", total(&lines));
        }
        assert_eq!(kept(&lines, "ours-"), 1, "the other tenant's is still there");
        assert_eq!(kept(&lines, "open"), 1, "an open one is not taken away");
        assert!((3..=9).contains(&kept(&lines, "theirs-")), "{}", kept(&lines, "theirs-"));
        assert_eq!(kept(&lines, "theirs-49"), 1, "the newest stay");
    }

    #[test]
    fn open_lines_share_the_bound_and_forget_the_oldest_frames() {
        let lines = Lines::within(1 << 20);
        let open: Vec<_> = (0..8).map(|at| lines.of(&Arc::from("t"), &at.to_string())).collect();
        for _ in 0..40 {
            open.iter().for_each(|line| tell(line, 20_000));
        }
        assert!(total(&lines) <= (1 << 20) + 30_000, "{}", total(&lines));
        drop(open);
        let ids = lines.of(&Arc::from("t"), "ids");
        for at in 0..5_000 {
            ids.enter(&format!("{at:0>100}"), [0; 32]);
        }
        assert!(total(&lines) <= 1 << 20, "ids count as well: {}", total(&lines));
        let newest = ids.enter(&format!("{:0>100}", 4_999), [0; 32]);
        assert_eq!(newest, Entered::Again, "the newest are known");
    }
}
