//! What is measured of one subject, and the table.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::made::Asked;

#[derive(Serialize, Deserialize)]
pub(crate) struct Line {
    #[serde(default)]
    pub(crate) says: String,
    /// Importing, by the clock and by the processor.
    pub(crate) index: Spent,
    /// The most memory until the import was done, in megabytes; what is mapped from files counts too.
    pub(crate) memory: u64,
    pub(crate) bytes: u64,
    /// Of each query the processor's time, in order.
    pub(crate) times: Vec<Duration>,
    pub(crate) found: usize,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Spent {
    clock: Duration,
    processor: Duration,
}

/// Something that is being timed.
pub(crate) struct Watch(Instant, Duration);

impl Watch {
    pub(crate) fn start() -> Self {
        Self(Instant::now(), cpu(ClockId::CLOCK_PROCESS_CPUTIME_ID))
    }

    pub(crate) fn spent(&self) -> Spent {
        let processor = cpu(ClockId::CLOCK_PROCESS_CPUTIME_ID) - self.1;
        Spent { clock: self.0.elapsed(), processor }
    }
}

fn cpu(clock: ClockId) -> Duration {
    clock_gettime(clock).unwrap().into()
}

/// The most memory that this process ever had, in megabytes.
pub(crate) fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1_024
}

pub(crate) fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| match entry.path().is_dir() {
            true => size(&entry.path()),
            false => entry.metadata().unwrap().len(),
        })
        .sum()
}

/// Asks everything; the times are in order.
pub(crate) fn asked<'a>(
    queries: &'a [Asked],
    mut ask: impl FnMut(&'a Asked) -> usize,
) -> (Vec<Duration>, usize) {
    // Once without counting, as a server that has been running for a while would answer.
    queries.iter().take(20).for_each(|asked| {
        ask(asked);
    });
    let mut found = 0;
    let mut times: Vec<Duration> = queries
        .iter()
        .map(|asked| {
            let start = cpu(ClockId::CLOCK_THREAD_CPUTIME_ID);
            found += ask(asked);
            cpu(ClockId::CLOCK_THREAD_CPUTIME_ID) - start
        })
        .collect();
    times.sort_unstable();
    (times, found)
}

impl Line {
    fn at(&self, part: f64) -> f64 {
        let place = (self.times.len().max(1) - 1) as f64 * part;
        self.times.get(place as usize).map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
    }

    fn mean(&self) -> f64 {
        self.times.iter().sum::<Duration>().as_secs_f64() * 1_000.0 / self.times.len() as f64
    }
}

/// Prints the table, and how the first line compares with the others.
pub(crate) fn show(lines: &[Line], records: u64) {
    println!(
        "{:26} {:>10} {:>13} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>7}",
        "",
        "records/s",
        "CPU µs/record",
        "memory MB",
        "index MB",
        "p50 ms",
        "p99 ms",
        "max ms",
        "mean ms",
        "found"
    );
    for line in lines {
        println!(
            "{:26} {:>10.0} {:>13.1} {:>9} {:>9.1} {:>8.3} {:>8.3} {:>8.3} {:>8.3} {:>7}",
            line.says,
            records as f64 / line.index.clock.as_secs_f64(),
            line.index.processor.as_secs_f64() * 1e6 / records as f64,
            line.memory,
            line.bytes as f64 / 1e6,
            line.at(0.5),
            line.at(0.99),
            line.at(1.0),
            line.mean(),
            line.found
        );
    }
    let [ours, others @ ..] = lines else { return };
    for other in others {
        let (theirs, own) = (other.index, ours.index);
        println!(
            "{} against {}: index rate {:.2} by the clock, {:.2} by the processor; index size {:.2}; p50 {:.2}, p99 {:.2}, mean {:.2}",
            ours.says,
            other.says,
            theirs.clock.as_secs_f64() / own.clock.as_secs_f64(),
            theirs.processor.as_secs_f64() / own.processor.as_secs_f64(),
            ours.bytes as f64 / other.bytes as f64,
            ours.at(0.5) / other.at(0.5),
            ours.at(0.99) / other.at(0.99),
            ours.mean() / other.mean()
        );
    }
}
