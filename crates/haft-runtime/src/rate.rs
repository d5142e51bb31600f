//! So many calls in so long, per tenant, principal and tool.

use std::collections::{HashMap, VecDeque};

use haft_core::contract::Rate;
use parking_lot::Mutex;

/// More windows than this are not kept; the oldest idle ones go first.
const MAX_WINDOWS: usize = 100_000;

/// Who calls what.
type Key = (String, String, String);

/// The recent calls of everyone.
#[derive(Default)]
pub(crate) struct Rates {
    windows: Mutex<HashMap<Key, VecDeque<i64>>>,
}

impl Rates {
    /// Counts a call, or says in how many milliseconds one will be taken again.
    pub(crate) fn take(
        &self,
        tenant: &str,
        principal: &str,
        tool: &str,
        rate: Rate,
        now_ms: i64,
    ) -> Result<(), u64> {
        let window = i64::try_from(rate.window_ms).unwrap_or(i64::MAX);
        let most = usize::try_from(rate.calls).unwrap_or(usize::MAX);
        let mut windows = self.windows.lock();
        if windows.len() >= MAX_WINDOWS {
            windows.retain(|_, calls| calls.back().is_some_and(|last| now_ms - last < window));
        }
        let key = (tenant.to_owned(), principal.to_owned(), tool.to_owned());
        let calls = windows.entry(key).or_default();
        while calls.front().is_some_and(|first| now_ms.saturating_sub(*first) >= window) {
            calls.pop_front();
        }
        if calls.len() < most {
            calls.push_back(now_ms);
            return Ok(());
        }
        let free_at = calls.front().map_or(window, |first| first.saturating_add(window) - now_ms);
        Err(u64::try_from(free_at).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_slides_and_belongs_to_one_caller_and_tool() {
        let rates = Rates::default();
        let rate = Rate { calls: 2, window_ms: 1000 };
        let take = |who: &str, tool: &str, now| rates.take("t", who, tool, rate, now);
        assert_eq!(take("a", "x", 0), Ok(()));
        assert_eq!(take("a", "x", 400), Ok(()));
        assert_eq!(take("a", "x", 900), Err(100));
        assert_eq!(take("b", "x", 900), Ok(()));
        assert_eq!(take("a", "y", 900), Ok(()));
        assert_eq!(take("a", "x", 1000), Ok(()));
        assert_eq!(take("a", "x", 1001), Err(399));
    }

    #[test]
    fn no_calls_at_all_is_a_rate_too() {
        let rates = Rates::default();
        assert!(rates.take("t", "a", "x", Rate { calls: 0, window_ms: 10 }, 0).is_err());
    }
}
