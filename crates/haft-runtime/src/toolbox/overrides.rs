//! Where an agent's rules differ from a contract. Tighter is free; looser takes an administrator.

use haft_core::contract::{Confirmation, Contract, Leniency, Limits, Mode, Rate};
use serde::{Deserialize, Serialize};

use crate::policy;

/// What differs; everything else is as the contract says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Overrides {
    /// Whether a person must approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_confirmation: Option<bool>,
    /// Where the tool may be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_modes: Option<Vec<Mode>>,
    /// How long a call should take at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_budget_ms: Option<u64>,
    /// A call is stopped after this long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runtime_ms: Option<u64>,
    /// A larger result is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<u64>,
    /// How often it may be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<policy::Rate>,
    /// How arguments are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Leniency>,
}

impl Overrides {
    /// The settings that are looser than the contract, or than what is usual where that sets no limit.
    #[must_use]
    pub fn loosened(&self, contract: &Contract, usual: &Limits) -> Vec<&'static str> {
        let limits = &contract.limits;
        let runtime_ms = limits.max_runtime_ms.or(usual.max_runtime_ms);
        let result_bytes = limits.max_result_bytes.or(usual.max_result_bytes);
        let asks = contract.requires_confirmation != Confirmation::Always(false);
        let strict = contract.arguments.mode == Leniency::Strict;
        let new_mode =
            |modes: &Vec<Mode>| modes.iter().any(|mode| !contract.allowed_modes.contains(mode));
        let checks = [
            ("requires_confirmation", self.requires_confirmation == Some(false) && asks),
            ("allowed_modes", self.allowed_modes.as_ref().is_some_and(new_mode)),
            (
                "latency_budget_ms",
                self.latency_budget_ms.is_some_and(|ms| ms > contract.latency_budget_ms),
            ),
            ("max_runtime_ms", is_more(self.max_runtime_ms, runtime_ms)),
            ("max_result_bytes", is_more(self.max_result_bytes, result_bytes)),
            ("rate", self.rate.is_some_and(|rate| is_faster(rate, limits.rate))),
            ("arguments", self.arguments == Some(Leniency::Lenient) && strict),
        ];
        checks.into_iter().filter(|(_, looser)| *looser).map(|(name, _)| name).collect()
    }

    /// What cannot be meant.
    pub(crate) fn senseless(&self) -> Option<&'static str> {
        if self.rate.is_some_and(|rate| rate.window_ms == 0) {
            return Some("a rate's window of 0 ms is none");
        }
        if self.max_result_bytes == Some(0) {
            return Some("no result has 0 bytes");
        }
        let none = self.max_runtime_ms == Some(0) || self.latency_budget_ms == Some(0);
        none.then_some("nothing runs in 0 ms")
    }

    /// The limits with what differs.
    pub(crate) fn limits(&self, contract: &Contract) -> Limits {
        let limits = contract.limits.clone();
        let rate = |rate: policy::Rate| Rate { calls: rate.calls, window_ms: rate.window_ms };
        Limits {
            max_runtime_ms: self.max_runtime_ms.or(limits.max_runtime_ms),
            max_result_bytes: self.max_result_bytes.or(limits.max_result_bytes),
            rate: self.rate.map(rate).or(limits.rate),
            provider_key_window_ms: limits.provider_key_window_ms,
        }
    }
}

/// Where there is no limit at all, any is tighter.
fn is_more(said: Option<u64>, limit: Option<u64>) -> bool {
    matches!((said, limit), (Some(said), Some(limit)) if said > limit)
}

/// More calls at once, or more over time.
fn is_faster(said: policy::Rate, limit: Option<Rate>) -> bool {
    limit.is_some_and(|limit| {
        let over_time = |calls: u64, window: u64| u128::from(calls) * u128::from(window);
        said.calls > limit.calls
            || over_time(said.calls, limit.window_ms) > over_time(limit.calls, said.window_ms)
    })
}
