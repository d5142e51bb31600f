//! What Prometheus reads: calls, how long they took, what was answered from memory, side effects.
//!
//! Names and labels are part of the interface. Each metric has at most a thousand sets of labels, of
//! which no tenant takes all; what comes after is counted under its tenant and `other`. Counting takes
//! no lock.

mod family;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::ErrorKind;
use haft_core::contract::SideEffectPolicy;
use haft_core::port::{Finished, Forgotten, Observe};

use family::{Count, Durations, Family};

/// How many sets of labels a metric has at most.
pub const MOST_LABEL_SETS: usize = 1_000;

/// The counters of one process.
pub struct Metrics {
    durations: Family<4, Durations>,
    executions: Family<4, Count>,
    hits: Family<2, Count>,
    effects: Family<3, Count>,
    errors: Family<4, Count>,
    not_done: Family<4, Count>,
    requests: [AtomicU64; 5],
    /// Calls, entries of the trail, confirmations and sessions.
    forgotten: [AtomicU64; 4],
}

impl Default for Metrics {
    fn default() -> Self {
        Self::with_label_sets(MOST_LABEL_SETS)
    }
}

impl Metrics {
    /// With another bound on the sets of labels.
    #[must_use]
    pub fn with_label_sets(most: usize) -> Self {
        Self {
            durations: Family::new(
                "tool_execution_duration_seconds",
                "How long tools took to answer",
                ["tenant_id", "agent_id", "tool_name", "gateway"],
                most,
            ),
            executions: Family::new(
                "tool_execution_total",
                "Calls by how they ended",
                ["tenant_id", "agent_id", "tool_name", "status"],
                most,
            ),
            hits: Family::new(
                "tool_idempotency_cache_hits_total",
                "Calls answered from memory",
                ["tenant_id", "tool_name"],
                most,
            ),
            effects: Family::new(
                "tool_side_effect_total",
                "Side effects that were asked for, by class",
                ["tenant_id", "agent_id", "policy"],
                most,
            ),
            errors: Family::new(
                "haft_call_errors_total",
                "Calls that ended in an error, by stage and kind",
                ["tenant_id", "agent_id", "stage", "error"],
                most,
            ),
            not_done: Family::new(
                "haft_calls_not_done_total",
                "Calls that ended in an error and did nothing, by stage and kind",
                ["tenant_id", "agent_id", "stage", "error"],
                most,
            ),
            requests: Default::default(),
            forgotten: Default::default(),
        }
    }

    /// One answer over HTTP.
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).saturating_sub(1);
        if let Some(count) = self.requests.get(class) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the store was told to forget.
    pub(crate) fn forgot(&self, went: &Forgotten) {
        let counts = [went.calls, went.entries, went.confirmations, went.sessions];
        for (count, more) in self.forgotten.iter().zip(counts) {
            count.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Everything in Prometheus' text format; of one tenant only, where it is named.
    #[must_use]
    pub fn render(&self, tenant: Option<&str>) -> String {
        let mut text = String::with_capacity(4096);
        self.durations.render(&mut text, tenant);
        self.executions.render(&mut text, tenant);
        self.hits.render(&mut text, tenant);
        self.effects.render(&mut text, tenant);
        self.errors.render(&mut text, tenant);
        self.not_done.render(&mut text, tenant);
        if tenant.is_none() {
            text += "# HELP haft_http_requests_total Answers over HTTP, by class of status\n\
                     # TYPE haft_http_requests_total counter\n";
            for (at, count) in self.requests.iter().enumerate() {
                let count = count.load(Ordering::Relaxed);
                let _ = writeln!(text, "haft_http_requests_total{{code=\"{}xx\"}} {count}", at + 1);
            }
            text += "# HELP haft_store_forgotten_total What was forgotten in its time\n\
                     # TYPE haft_store_forgotten_total counter\n";
            let kinds = ["call", "entry", "confirmation", "session"];
            for (kind, count) in kinds.iter().zip(&self.forgotten) {
                let count = count.load(Ordering::Relaxed);
                let _ = writeln!(text, "haft_store_forgotten_total{{what=\"{kind}\"}} {count}");
            }
        }
        text
    }
}

/// A counter without labels, in Prometheus' text format.
pub(crate) fn counter(text: &mut String, name: &str, help: &str, value: u64) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {value}");
}

/// A gauge without labels, in Prometheus' text format.
pub(crate) fn gauge(text: &mut String, name: &str, help: &str, value: impl std::fmt::Display) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
}

/// A name that stands for no tool is nobody's label: models make names up.
pub(crate) const NO_TOOL: &str = "unknown";

/// Whether a call that ended in this error did nothing. An answer that is withheld is that of a tool
/// that ran, and a repetition is told of it, too.
fn is_not_done(error: ErrorKind, class: Option<SideEffectPolicy>) -> bool {
    let is_withheld = matches!(error, ErrorKind::InvalidOutput | ErrorKind::RedactionFailed);
    let only_reads = class == Some(SideEffectPolicy::Pure);
    error != ErrorKind::UnknownOutcome && (!is_withheld || only_reads)
}

impl Observe for Metrics {
    fn finished(&self, seen: &Finished<'_>) {
        let tool = seen.tool.unwrap_or(NO_TOOL);
        let (tenant, agent) = (seen.tenant, seen.agent);
        self.executions.of([tenant, agent, tool, seen.status()], Count::add);
        if seen.cached {
            self.hits.of([tenant, tool], Count::add);
        }
        if seen.attempts > 0 {
            let gateway = seen.gateway.unwrap_or("internal");
            self.durations.of([tenant, agent, tool, gateway], |one| one.add(seen.took));
            if let Some(class) = seen.class.filter(|class| *class != SideEffectPolicy::Pure) {
                self.effects.of([tenant, agent, class.as_str()], Count::add);
            }
        }
        if let Some(error) = seen.error {
            let labels = [tenant, agent, seen.stage.as_str(), error.as_str()];
            self.errors.of(labels, Count::add);
            if is_not_done(error, seen.class) {
                self.not_done.of(labels, Count::add);
            }
        }
    }

    fn tenant_removed(&self, tenant: &str) {
        self.durations.forget(tenant);
        self.executions.forget(tenant);
        self.hits.forget(tenant);
        self.effects.forget(tenant);
        self.errors.forget(tenant);
        self.not_done.forget(tenant);
    }
}
