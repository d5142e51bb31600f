//! What differs from one installation to the next, and is neither policy nor contract.

use std::time::Duration;

use haft_core::contract::{Limits, SideEffectPolicy};
use haft_core::ledger::Keep;

/// The numbers. The defaults are those of the documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How long a handler may run where neither contract nor policy says.
    pub default_timeout: Duration,
    /// How large an answer may be where neither contract nor policy says.
    pub default_result_bytes: u64,
    /// How long a duplicate waits for the answer of the call that it repeats.
    pub attach_for: Duration,
    /// How much longer than its deadline a call is waited for before its outcome counts as lost.
    pub lease_grace: Duration,
    /// How long an approval holds.
    pub confirmation_ttl: Duration,
    /// How old a request for a side effect may be.
    pub request_max_age: Duration,
    /// How long answers of side effects are kept.
    pub keep_results: Duration,
    /// How long keys of idempotent effects are kept.
    pub keep_idempotent_keys: Duration,
    /// How long keys of all other effects are kept.
    pub keep_keys: Duration,
    /// How long records of calls are kept, and what else is remembered of them; for ever when
    /// absent. What belongs to an effect is kept as long as that is.
    pub keep_records: Option<Duration>,
    /// How deep tools may call tools.
    pub max_depth: usize,
    /// How many calls a batch may have.
    pub max_batch: usize,
    /// How many calls a message of a model may have that somebody posts.
    pub max_message_calls: usize,
    /// The pause before a retry; doubled for each further one.
    pub backoff: Duration,
    /// How long a deferred intent waits for the client.
    pub intent_limit: Duration,
    /// How often undoing is tried before a person must look.
    pub undo_attempts: u32,
    /// How many questions of one agent may be open at once.
    pub max_pending_confirmations: usize,
    /// How many tools of its own a tenant may define.
    pub max_own_tools: usize,
    /// How large such a definition may be, as JSON.
    pub max_definition_bytes: usize,
    /// How long a tool that a tenant has defined may run, whatever its contract says.
    pub max_own_runtime: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Self {
            default_timeout: Duration::from_secs(30),
            default_result_bytes: 1 << 20,
            attach_for: Duration::from_secs(30),
            lease_grace: Duration::from_secs(10),
            confirmation_ttl: Duration::from_secs(15 * 60),
            request_max_age: Duration::from_secs(15 * 60),
            keep_results: hours(24),
            keep_idempotent_keys: hours(24),
            keep_keys: hours(24 * 30),
            keep_records: Some(hours(24 * 90)),
            max_depth: 4,
            max_batch: 10,
            max_message_calls: 64,
            backoff: Duration::from_millis(100),
            intent_limit: Duration::from_secs(15),
            undo_attempts: 3,
            max_pending_confirmations: 20,
            max_own_tools: 100,
            max_definition_bytes: 256 << 10,
            max_own_runtime: Duration::from_secs(30),
        }
    }
}

impl Settings {
    /// What holds for a call where neither contract nor policy says.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits {
            max_runtime_ms: Some(millis(self.default_timeout)),
            max_result_bytes: Some(self.default_result_bytes),
            ..Limits::default()
        }
    }

    /// How long an entry of a class is kept.
    #[must_use]
    pub fn keep(&self, class: SideEffectPolicy) -> Keep {
        let key = match class {
            SideEffectPolicy::Pure | SideEffectPolicy::Idempotent => self.keep_idempotent_keys,
            SideEffectPolicy::Compensatable | SideEffectPolicy::Irreversible => self.keep_keys,
        };
        Keep { result_ms: millis(self.keep_results), key_ms: millis(key.max(self.keep_results)) }
    }
}

/// Whole milliseconds; what does not fit is the most that does.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
