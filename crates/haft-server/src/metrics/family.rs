//! One metric with its sets of labels.

use std::fmt::Write as _;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::HashMap;
use foldhash::quality::RandomState;

/// A metric. Finding a set of labels and counting under it takes no lock; only the first call under
/// a new one does.
pub(super) struct Family<const N: usize, T> {
    name: &'static str,
    help: &'static str,
    labels: [&'static str; N],
    most: usize,
    random: RandomState,
    /// By a hash of the labels. Of two that share one the second goes to a rest: that is rarer than rare.
    series: ArcSwap<HashMap<u64, Arc<Series<N, T>>>>,
    new: Mutex<()>,
    /// What even the rests of tenants have no room for.
    other: Series<N, T>,
}

/// What stands in a label where there is no room for more of them.
const OTHER: &str = "other";
/// One in so many sets of labels is kept for the rests of tenants.
const KEPT: usize = 4;

struct Series<const N: usize, T> {
    labels: [Box<str>; N],
    value: T,
}

impl<const N: usize, T> Series<N, T> {
    fn is(&self, labels: [&str; N]) -> bool {
        self.labels.iter().zip(labels).all(|(one, other)| **one == *other)
    }

    /// The tenant is the first label of every metric.
    fn is_of(&self, tenant: &str) -> bool {
        self.labels.first().is_some_and(|first| **first == *tenant)
    }
}

impl<const N: usize, T: Value> Family<N, T> {
    pub(super) fn new(
        name: &'static str,
        help: &'static str,
        labels: [&'static str; N],
        most: usize,
    ) -> Self {
        Self {
            name,
            help,
            labels,
            most,
            random: RandomState::default(),
            series: ArcSwap::default(),
            new: Mutex::default(),
            other: Series { labels: std::array::from_fn(|_| OTHER.into()), value: T::default() },
        }
    }

    /// Does something with the value under these labels; where there is no room for them, under those of
    /// the tenant's rest.
    pub(super) fn of(&self, labels: [&str; N], work: impl FnOnce(&T)) {
        if let Some(one) = self.series.load().get(&self.hash(labels)).filter(|it| it.is(labels)) {
            return work(&one.value);
        }
        let rest = rest(labels);
        // Room does not grow: whoever has a rest would ask for more in vain, under a lock.
        let known = self.series.load().get(&self.hash(rest)).filter(|it| it.is(rest)).cloned();
        let one = known.or_else(|| self.add(labels)).or_else(|| self.add(rest));
        work(one.as_ref().map_or(&self.other.value, |one| &one.value));
    }

    fn hash(&self, labels: [&str; N]) -> u64 {
        self.random.hash_one(labels)
    }

    fn add(&self, labels: [&str; N]) -> Option<Arc<Series<N, T>>> {
        let hash = self.hash(labels);
        let _turn = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        let series = self.series.load_full();
        if let Some(one) = series.get(&hash) {
            return one.is(labels).then(|| one.clone());
        }
        if !self.has_room(&series, labels) {
            return None;
        }
        let one = Arc::new(Series { labels: labels.map(Into::into), value: T::default() });
        let mut more = (*series).clone();
        more.insert(hash, one.clone());
        self.series.store(Arc::new(more));
        Some(one)
    }

    /// Whether there is room for these. A tenant takes at most twice what it leaves to others, and all
    /// of them leave some for the rests: however many agents and tools one has, another is counted.
    fn has_room(&self, series: &HashMap<u64, Arc<Series<N, T>>>, labels: [&str; N]) -> bool {
        if rest(labels) == labels {
            return labels.first() != Some(&OTHER) && series.len() < self.most;
        }
        let is_own =
            |one: &&Arc<Series<N, T>>| labels.first().is_some_and(|tenant| one.is_of(tenant));
        let own = series.values().filter(is_own).count();
        let left = (self.most - self.most / KEPT).saturating_sub(series.len());
        own < left.saturating_mul(2)
    }

    /// Drops what was counted for a tenant, and makes room for others.
    pub(super) fn forget(&self, tenant: &str) {
        let _turn = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        let mut less = (*self.series.load_full()).clone();
        less.retain(|_, one| !one.is_of(tenant));
        self.series.store(Arc::new(less));
    }

    pub(super) fn render(&self, text: &mut String, tenant: Option<&str>) {
        let (name, help, kind) = (self.name, self.help, T::KIND);
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        let series = self.series.load();
        let theirs = |one: &&Arc<Series<N, T>>| tenant.is_none_or(|tenant| one.is_of(tenant));
        let mut all: Vec<_> = series.values().filter(theirs).collect();
        all.sort_by(|one, other| one.labels.cmp(&other.labels));
        for one in all {
            one.value.render(text, name, &self.written(&one.labels));
        }
        if tenant.is_none() && self.other.value.is_used() {
            self.other.value.render(text, name, &self.written(&self.other.labels));
        }
    }

    fn written(&self, values: &[Box<str>; N]) -> String {
        let pairs = self.labels.iter().zip(values);
        let one = pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        one.collect::<Vec<_>>().join(",")
    }
}

/// The labels of a tenant's rest. The tenant is the first label of every metric.
fn rest<const N: usize>(labels: [&str; N]) -> [&str; N] {
    let mut rest = [OTHER; N];
    if let (Some(first), Some(tenant)) = (rest.first_mut(), labels.first()) {
        *first = tenant;
    }
    rest
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// What is counted under one set of labels.
pub(super) trait Value: Default {
    const KIND: &'static str;

    fn is_used(&self) -> bool;

    fn render(&self, text: &mut String, name: &str, labels: &str);
}

/// How often.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Value for Count {
    const KIND: &'static str = "counter";

    fn is_used(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let _ = writeln!(text, "{name}{{{labels}}} {}", self.0.load(Ordering::Relaxed));
    }
}

/// Up to how many microseconds, and as Prometheus writes it.
const BUCKETS: [(u64, &str); 14] = [
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
];

/// How long.
#[derive(Default)]
pub(super) struct Durations {
    within: [AtomicU64; BUCKETS.len()],
    longer: AtomicU64,
    micros: AtomicU64,
}

impl Durations {
    pub(super) fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let place = BUCKETS.iter().position(|(most, _)| micros <= *most);
        let place = place.and_then(|at| self.within.get(at)).unwrap_or(&self.longer);
        place.fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Value for Durations {
    const KIND: &'static str = "histogram";

    fn is_used(&self) -> bool {
        self.micros.load(Ordering::Relaxed) > 0 || self.longer.load(Ordering::Relaxed) > 0
    }

    fn render(&self, text: &mut String, name: &str, labels: &str) {
        let mut sum = 0;
        for ((_, most), count) in BUCKETS.iter().zip(&self.within) {
            sum += count.load(Ordering::Relaxed);
            let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{most}\"}} {sum}");
        }
        // Counted from the parts, so that the whole always fits them.
        sum += self.longer.load(Ordering::Relaxed);
        let seconds = self.micros.load(Ordering::Relaxed) as f64 / 1e6;
        let _ = writeln!(text, "{name}_bucket{{{labels},le=\"+Inf\"}} {sum}");
        let _ = writeln!(text, "{name}_sum{{{labels}}} {seconds}\n{name}_count{{{labels}}} {sum}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(family: &Family<2, Count>, tenant: Option<&str>) -> Vec<String> {
        let mut text = String::new();
        family.render(&mut text, tenant);
        text.lines().skip(2).map(str::to_owned).collect()
    }

    #[test]
    fn a_tenant_with_many_labels_leaves_others_their_own() {
        let family = Family::<2, Count>::new("calls", "Calls", ["tenant", "agent"], 20);
        for round in 0..2 {
            for at in 0..100 {
                family.of(["loud", &format!("a{at}")], Count::add);
            }
            let own = lines(&family, Some("loud"));
            assert_eq!(own.len(), 11, "half of them, and the rest: {own:?}");
            let rest = format!("calls{{tenant=\"loud\",agent=\"other\"}} {}", 90 * (round + 1));
            assert!(own.contains(&rest), "{own:?}");
        }
        family.of(["quiet", "helper"], Count::add);
        assert_eq!(lines(&family, Some("quiet")), ["calls{tenant=\"quiet\",agent=\"helper\"} 1"]);
    }

    #[test]
    fn however_many_tenants_there_are_the_sets_are_bounded_and_nothing_is_lost() {
        let family = Family::<2, Count>::new("calls", "Calls", ["tenant", "agent"], 20);
        for tenant in 0..50 {
            for agent in 0..10 {
                family.of([&format!("t{tenant}"), &format!("a{agent}")], Count::add);
            }
        }
        family.of(["other", "other"], Count::add);
        let all = lines(&family, None);
        assert_eq!(all.len(), 21, "with the one for those that have not even a rest: {all:?}");
        let count = |line: &String| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
        assert_eq!(all.iter().map(count).sum::<u64>(), 501);
    }
}
