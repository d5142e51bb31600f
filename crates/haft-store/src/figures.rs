//! Which records a filter means, and a tool's calls in figures.

use std::collections::BTreeMap;

use haft_core::ledger::EffectRecord;
use haft_core::port::{CallFilter, CallStats, EffectFilter, SERIES_CALLS, Slice};
use haft_core::record::InvocationRecord;

/// What a limit of nothing means.
const USUAL_LIMIT: usize = 100;

pub(crate) fn limit(asked: usize) -> usize {
    if asked == 0 { USUAL_LIMIT } else { asked }
}

/// How many calls a series is made of.
pub(crate) fn series_limit(asked: usize) -> usize {
    if asked == 0 { SERIES_CALLS } else { asked.min(SERIES_CALLS) }
}

fn agrees<T: PartialEq>(wanted: &Option<T>, is: &T) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted == is)
}

fn names(wanted: Option<&str>, is: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == is)
}

fn is_some<T: PartialEq>(wanted: &Option<T>, is: &Option<T>) -> bool {
    wanted.is_none() || wanted == is
}

pub(crate) fn is_meant(filter: &CallFilter, record: &InvocationRecord) -> bool {
    *filter.tenant == *record.tenant
        && names(filter.agent.as_deref(), &record.agent)
        && (names(filter.tool.as_deref(), &record.tool)
            || filter.or_tool.as_deref() == Some(&*record.tool))
        && is_some(&filter.session, &record.session)
        && is_some(&filter.error, &record.error)
        && filter.ok.is_none_or(|ok| ok == record.error.is_none())
        && filter.since_ms.is_none_or(|since| record.started_at_ms >= since)
        && filter.until_ms.is_none_or(|until| record.started_at_ms <= until)
        && names(filter.call.as_deref(), &record.call)
}

pub(crate) fn effect_is_meant(filter: &EffectFilter, record: &EffectRecord) -> bool {
    let effect = &record.effect;
    filter.tenant == effect.tenant
        && (filter.states.is_empty() || filter.states.contains(&record.state))
        && agrees(&filter.tool, &effect.tool)
        && is_some(&filter.session, &effect.session)
        && is_some(&filter.turn_group, &effect.turn_group)
        && agrees(&filter.policy, &effect.policy)
}

/// Calls by tool.
#[derive(Default)]
pub(crate) struct Figures(BTreeMap<String, Timed>);

/// How many of them failed, and how long each took.
#[derive(Default)]
struct Timed {
    errors: u64,
    durations: Vec<u64>,
}

impl Figures {
    pub(crate) fn take(&mut self, tool: &str, failed: bool, duration_us: u64) {
        if !self.0.contains_key(tool) {
            self.0.insert(tool.to_owned(), Timed::default());
        }
        if let Some(timed) = self.0.get_mut(tool) {
            timed.errors += u64::from(failed);
            timed.durations.push(duration_us);
        }
    }

    /// Exact figures per tool, tools in order of their names.
    pub(crate) fn end(self) -> Vec<CallStats> {
        let of_tool = |(tool, Timed { errors, mut durations }): (String, Timed)| {
            durations.sort_unstable();
            let at = |percent| at_rank(&durations, percent);
            CallStats {
                tool,
                calls: durations.len() as u64,
                errors,
                p50_us: at(50),
                p99_us: at(99),
            }
        };
        self.0.into_iter().map(of_tool).collect()
    }
}

/// The smallest value, of those in order, that so many in a hundred do not exceed.
fn at_rank(values: &[u64], percent: usize) -> u64 {
    values.get(rank(values.len(), percent)).copied().unwrap_or(0)
}

/// The place of the nearest rank: of the smallest value that so many in a hundred do not exceed.
fn rank(of: usize, percent: usize) -> usize {
    (of * percent).div_ceil(100).saturating_sub(1)
}

/// Calls by the slice of time in which they began.
pub(crate) struct Series {
    step_ms: i64,
    slices: BTreeMap<i64, (BTreeMap<String, u64>, Vec<u64>)>,
}

impl Series {
    pub(crate) fn new(step_ms: u64) -> Self {
        let step_ms = i64::try_from(step_ms).unwrap_or(i64::MAX).max(1);
        Self { step_ms, slices: BTreeMap::new() }
    }

    pub(crate) fn take(&mut self, started_at_ms: i64, error: Option<&str>, duration_us: u64) {
        let at_ms = started_at_ms - started_at_ms.rem_euclid(self.step_ms);
        let (errors, durations) = self.slices.entry(at_ms).or_default();
        durations.push(duration_us);
        if let Some(error) = error {
            *errors.entry(error.to_owned()).or_default() += 1;
        }
    }

    pub(crate) fn end(self) -> Vec<Slice> {
        let slice = |(at_ms, (errors, mut durations)): (i64, (_, Vec<u64>))| {
            durations.sort_unstable();
            let at = |percent| at_rank(&durations, percent);
            let calls = durations.len() as u64;
            Slice { at_ms, calls, errors, p50_us: at(50), p99_us: at(99) }
        };
        self.slices.into_iter().map(slice).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_exact_by_the_nearest_rank() {
        let stats = |calls: &[u64]| {
            let mut figures = Figures::default();
            calls.iter().for_each(|n| figures.take("a", *n == 7, *n));
            figures.end()
        };
        let many: Vec<u64> = (1..=200).rev().collect();
        assert_eq!(
            stats(&many),
            [CallStats { tool: "a".into(), calls: 200, errors: 1, p50_us: 100, p99_us: 198 }]
        );
        assert_eq!(stats(&[7])[0].p99_us, 7);
        assert!(stats(&[]).is_empty());
    }
}
