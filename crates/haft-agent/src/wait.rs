//! How long until a request is sent again.

use std::time::Duration;

use crate::model::{Refusal, Retry};
use crate::settings::Patience;

/// The pause before attempt `attempt + 1`; none where there is none to be.
///
/// A provider's own pause is kept, not shortened: who comes back too early is refused again.
pub(crate) fn pause(patience: &Patience, attempt: u32, refusal: &Refusal) -> Option<Duration> {
    if attempt > patience.retries {
        return None;
    }
    match refusal.retry {
        Retry::Never => None,
        Retry::After(pause) => (pause <= patience.longest_pause).then_some(pause),
        Retry::Soon => {
            let doubled = patience.backoff.saturating_mul(1 << (attempt.saturating_sub(1)).min(16));
            Some(doubled.min(patience.longest_pause))
        }
    }
}

/// `Retry-After`: seconds, or an instant, of which the past is now.
pub(crate) fn retry_after(value: &str, now: jiff::Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    }
    let at = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let seconds = at.duration_since(now).as_secs().max(0);
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expected: Option<u64>) {
        let now = "2026-11-16T06:00:00Z".parse().unwrap();
        assert_eq!(retry_after(value, now), expected.map(Duration::from_secs), "{value}");
    }

    #[test]
    fn a_pause_is_seconds_or_an_instant() {
        check("0", Some(0));
        check(" 17 ", Some(17));
        check("1.0", Some(1));
        check("-3.5", Some(0));
        check("Mon, 16 Nov 2026 06:00:30 GMT", Some(30));
        check("Mon, 16 Nov 2026 05:59:00 GMT", Some(0));
        check("soon", None);
        check("NaN", Some(0));
    }

    #[track_caller]
    fn after(attempt: u32, retry: Retry, expected: Option<u64>) {
        let refusal = Refusal { retry, status: None, code: None, message: String::new() };
        let pause = pause(&Patience::default(), attempt, &refusal);
        assert_eq!(pause, expected.map(Duration::from_millis), "{attempt} {retry:?}");
    }

    #[test]
    fn pauses_grow_and_end() {
        after(1, Retry::Soon, Some(500));
        after(2, Retry::Soon, Some(1_000));
        after(4, Retry::Soon, Some(4_000));
        after(5, Retry::Soon, None);
        after(1, Retry::Never, None);
        after(1, Retry::After(Duration::from_secs(7)), Some(7_000));
        // Longer than anyone here waits.
        after(1, Retry::After(Duration::from_secs(3_600)), None);
    }
}
