//! Times a subject and prints one line of JSON about it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::count::{allocations, processor};

/// What came of a run.
pub struct Run {
    pub took: Vec<u32>,
    pub wall: Duration,
    pub processor: Duration,
    pub allocations: Option<u64>,
}

impl Run {
    pub fn print(mut self, name: &str) {
        self.took.sort_unstable();
        let calls = self.took.len().max(1);
        let at = |percent: usize| {
            f64::from(self.took.get(calls * percent / 100).copied().unwrap_or(0)) / 1e3
        };
        let each = |time: Duration| time.as_secs_f64() * 1e6 / calls as f64;
        let line = json!({
            "name": name,
            "us": each(self.wall),
            "cpu_us": each(self.processor),
            "p50_us": at(50),
            "p99_us": at(99),
            "allocations": self.allocations.map(|made| made as f64 / calls as f64),
        });
        println!("{line}");
    }
}

/// Nanoseconds since an instant; what takes longer than four seconds counts as four.
pub fn nanos(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

/// Repeats a call on this thread, in a loop of events that runs already: so the others are called.
pub async fn repeat(name: &str, time: Duration, mut call: impl AsyncFnMut()) {
    for _ in 0..2_000 {
        call().await;
    }
    let mut took = Vec::with_capacity(4_000_000);
    let (start, worked, made) = (Instant::now(), processor(), allocations());
    let mut before = start;
    while before.duration_since(start) < time {
        call().await;
        let now = Instant::now();
        took.push(now.duration_since(before).as_nanos() as u32);
        before = now;
    }
    Run {
        wall: start.elapsed(),
        processor: processor().saturating_sub(worked),
        allocations: Some(allocations() - made),
        took,
    }
    .print(name);
}
