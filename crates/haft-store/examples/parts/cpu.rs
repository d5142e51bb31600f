//! What the processor does for us: on a machine that others use, that says more than a clock.

use std::time::Duration;

/// So much until now, by Linux's count of hundredths of seconds.
pub(super) fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    Duration::from_millis(ticks.filter_map(|text| text.parse::<u64>().ok()).sum::<u64>() * 10)
}
