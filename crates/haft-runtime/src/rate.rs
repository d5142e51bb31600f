//! So many calls in so long, per tenant, principal and tool.

use std::collections::{HashMap, VecDeque};

use haft_core::contract::Rate;
use parking_lot::Mutex;

/// More windows than this are not kept. Those go that are over; where too many are left, a tenth, of those who have not
/// called for longest.
const MAX_WINDOWS: usize = 100_000;

/// Who calls what, under which rate.
type Key = (String, String, String, u64, u64);

/// The recent calls of everyone.
#[derive(Default)]
pub(crate) struct Rates {
    windows: Mutex<HashMap<Key, VecDeque<i64>>>,
}

impl Rates {
    /// Counts a call under every rate; or under none, and says which is used up and in how many
    /// milliseconds a call will be taken again.
    pub(crate) fn take(
        &self,
        tenant: &str,
        principal: &str,
        tool: &str,
        rates: &[Rate],
        now_ms: i64,
    ) -> Result<(), (Rate, u64)> {
        let mut windows = self.windows.lock();
        if windows.len() >= MAX_WINDOWS {
            make_room(&mut windows, MAX_WINDOWS / 10 * 9, now_ms);
        }
        for rate in rates {
            let calls = windows.entry(key(tenant, principal, tool, rate)).or_default();
            let window = length(rate.window_ms);
            while calls.front().is_some_and(|first| now_ms.saturating_sub(*first) >= window) {
                calls.pop_front();
            }
            room(calls.iter(), rate, now_ms)?;
        }
        for rate in rates {
            windows.entry(key(tenant, principal, tool, rate)).or_default().push_back(now_ms);
        }
        Ok(())
    }

    /// Forgets the calls of a tenant that was removed: another of its name has made none.
    pub(crate) fn forget(&self, tenant: &str) {
        self.windows.lock().retain(|key, _| key.0 != tenant);
    }

    /// What [`take`](Self::take) would say; nothing is counted.
    pub(crate) fn look(
        &self,
        tenant: &str,
        principal: &str,
        tool: &str,
        rates: &[Rate],
        now_ms: i64,
    ) -> Result<(), (Rate, u64)> {
        let windows = self.windows.lock();
        rates.iter().try_for_each(|rate| {
            let calls = windows.get(&key(tenant, principal, tool, rate));
            let counts = |at: &&i64| now_ms.saturating_sub(**at) < length(rate.window_ms);
            room(calls.into_iter().flatten().filter(counts), rate, now_ms)
        })
    }
}

/// Keeps so many windows at most, so that the next many calls need not look through all of them again.
fn make_room(windows: &mut HashMap<Key, VecDeque<i64>>, most: usize, now_ms: i64) {
    let lasts = |key: &Key, at: i64| now_ms.saturating_sub(at) < length(key.4);
    windows.retain(|key, calls| calls.back().is_some_and(|at| lasts(key, *at)));
    let Some(over) = windows.len().checked_sub(most).filter(|over| *over > 0) else { return };
    let mut called: Vec<i64> = windows.values().filter_map(|calls| calls.back().copied()).collect();
    let (_, last, _) = called.select_nth_unstable(over - 1);
    let (last, mut over) = (*last, over);
    windows.retain(|_, calls| {
        let goes = over > 0 && calls.back().is_none_or(|at| *at <= last);
        over -= usize::from(goes);
        !goes
    });
}

fn key(tenant: &str, principal: &str, tool: &str, rate: &Rate) -> Key {
    (tenant.into(), principal.into(), tool.into(), rate.calls, rate.window_ms)
}

/// Whether one more call fits beside those of the window.
fn room<'a>(
    calls: impl Iterator<Item = &'a i64>,
    rate: &Rate,
    now_ms: i64,
) -> Result<(), (Rate, u64)> {
    let mut calls = calls.peekable();
    let window = length(rate.window_ms);
    let free = calls.peek().map_or(window, |at| at.saturating_add(window) - now_ms);
    match calls.count() < usize::try_from(rate.calls).unwrap_or(usize::MAX) {
        true => Ok(()),
        false => Err((*rate, u64::try_from(free).unwrap_or(0))),
    }
}

fn length(window_ms: u64) -> i64 {
    i64::try_from(window_ms).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_slides_and_belongs_to_one_caller_and_tool() {
        let rates = Rates::default();
        let rate = Rate { calls: 2, window_ms: 1000 };
        let take = |who: &str, tool: &str, now| {
            rates.take("t", who, tool, &[rate], now).map_err(|(_, wait)| wait)
        };
        assert_eq!(take("a", "x", 0), Ok(()));
        assert_eq!(take("a", "x", 400), Ok(()));
        assert_eq!(take("a", "x", 900), Err(100));
        assert_eq!(take("b", "x", 900), Ok(()));
        assert_eq!(take("a", "y", 900), Ok(()));
        let look = |now| rates.look("t", "a", "x", &[rate], now).map_err(|(_, wait)| wait);
        assert_eq!((look(900), look(1000), look(1000)), (Err(100), Ok(()), Ok(())));
        assert_eq!(take("a", "x", 1000), Ok(()));
        assert_eq!(take("a", "x", 1001), Err(399));
        rates.forget("other");
        assert_eq!(take("a", "x", 1001), Err(399));
        rates.forget("t");
        assert_eq!(take("a", "x", 1001), Ok(()), "by another of the name");
    }

    #[test]
    fn of_too_many_windows_those_go_that_are_over_and_then_those_of_longest_ago() {
        let mut windows = HashMap::new();
        let rate = |window_ms| Rate { calls: 9, window_ms };
        for at in 0..20 {
            let who = at.to_string();
            windows.insert(key("t", &who, "short", &rate(10)), VecDeque::from([at]));
            windows.insert(key("t", &who, "day", &rate(86_400_000)), VecDeque::from([at]));
        }
        make_room(&mut windows, 30, 20);
        assert_eq!(windows.len(), 29, "nine of the short ones still count");
        make_room(&mut windows, 10, 21);
        let mut left: Vec<_> = windows.values().map(|calls| calls[0]).collect();
        left.sort_unstable();
        assert_eq!((windows.len(), left[0]), (10, 15));
    }

    #[test]
    fn windows_are_bounded_however_long_they_are() {
        let (rates, day) = (Rates::default(), Rate { calls: 9, window_ms: 86_400_000 });
        for at in 0..MAX_WINDOWS + MAX_WINDOWS / 5 {
            let asked = rates.take("t", &at.to_string(), "x", &[day], 1_000 + at as i64);
            assert_eq!(asked, Ok(()));
        }
        assert!(rates.windows.lock().len() <= MAX_WINDOWS);
    }

    #[test]
    fn no_calls_at_all_is_a_rate_too() {
        let rates = Rates::default();
        assert!(rates.take("t", "a", "x", &[Rate { calls: 0, window_ms: 10 }], 0).is_err());
    }

    #[test]
    fn two_rates_are_counted_apart_and_together() {
        let rates = Rates::default();
        let (short, long) = (Rate { calls: 1, window_ms: 10 }, Rate { calls: 2, window_ms: 1000 });
        let take = |now| rates.take("t", "a", "x", &[short, long], now);
        assert_eq!(take(0), Ok(()));
        assert_eq!(take(5), Err((short, 5)));
        assert_eq!(take(10), Ok(()));
        assert_eq!(take(20), Err((long, 980)));
        // What was refused was not counted.
        assert_eq!(take(1000), Ok(()));
    }
}
