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
    /// By a hash of the labels. Two that share one go to `other`: that is rarer than rare.
    series: ArcSwap<HashMap<u64, Arc<Series<N, T>>>>,
    new: Mutex<()>,
    other: Series<N, T>,
}

struct Series<const N: usize, T> {
    labels: [Box<str>; N],
    value: T,
}

impl<const N: usize, T> Series<N, T> {
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
            other: Series { labels: std::array::from_fn(|_| "other".into()), value: T::default() },
        }
    }

    /// Does something with the value under these labels.
    pub(super) fn of(&self, labels: [&str; N], work: impl FnOnce(&T)) {
        let hash = self.random.hash_one(labels);
        if let Some(one) = self.series.load().get(&hash) {
            let same = one.labels.iter().zip(labels).all(|(one, other)| **one == *other);
            return work(if same { &one.value } else { &self.other.value });
        }
        let one = self.add(hash, labels);
        work(one.as_ref().map_or(&self.other.value, |one| &one.value));
    }

    fn add(&self, hash: u64, labels: [&str; N]) -> Option<Arc<Series<N, T>>> {
        let _turn = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        let series = self.series.load_full();
        if let Some(one) = series.get(&hash) {
            return Some(one.clone());
        }
        if series.len() >= self.most {
            return None;
        }
        let one = Arc::new(Series { labels: labels.map(Into::into), value: T::default() });
        let mut more = (*series).clone();
        more.insert(hash, one.clone());
        self.series.store(Arc::new(more));
        Some(one)
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
