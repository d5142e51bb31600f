//! `[runtime]`: the numbers of the one path.

use std::time::Duration;

use anyhow::anyhow;
use haft_core::contract::Limits;
use haft_runtime::Settings;
use serde::Deserialize;

use super::number;
use super::store::RawStore;

/// Ten years: whoever means for ever has that.
const LONGEST_S: u64 = 10 * 365 * 86_400;

/// Milliseconds, unless the name says otherwise.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRuntime {
    default_timeout_ms: Option<u64>,
    default_result_bytes: Option<u64>,
    attach_ms: Option<u64>,
    confirmation_ttl_s: Option<u64>,
    request_max_age_s: Option<u64>,
    keep_results_s: Option<u64>,
    keep_keys_s: Option<u64>,
    lease_grace_ms: Option<u64>,
    backoff_ms: Option<u64>,
    undo_attempts: Option<u32>,
    max_batch: Option<usize>,
    max_message_calls: Option<usize>,
    max_depth: Option<usize>,
    max_pending_confirmations: Option<usize>,
}

impl RawRuntime {
    pub(super) fn resolve(self, store: &RawStore, wrong: &mut Vec<anyhow::Error>) -> Settings {
        let mut settings = Settings::default();
        settings.keep_records = store.keep(settings.keep_records);
        let ms = |given: Option<u64>, kept| given.map_or(kept, Duration::from_millis);
        let s = |given: Option<u64>, kept| given.map_or(kept, Duration::from_secs);
        settings.default_timeout = ms(self.default_timeout_ms, settings.default_timeout);
        settings.attach_for = ms(self.attach_ms, settings.attach_for);
        settings.confirmation_ttl = s(self.confirmation_ttl_s, settings.confirmation_ttl);
        settings.request_max_age = s(self.request_max_age_s, settings.request_max_age);
        settings.keep_results = s(self.keep_results_s, settings.keep_results);
        settings.keep_keys = s(self.keep_keys_s, settings.keep_keys);
        settings.lease_grace = ms(self.lease_grace_ms, settings.lease_grace);
        settings.backoff = ms(self.backoff_ms, settings.backoff);
        settings.undo_attempts = self.undo_attempts.unwrap_or(settings.undo_attempts);
        settings.default_result_bytes =
            self.default_result_bytes.unwrap_or(settings.default_result_bytes);
        settings.max_batch = self.max_batch.unwrap_or(settings.max_batch);
        settings.max_message_calls = self.max_message_calls.unwrap_or(settings.max_message_calls);
        settings.max_depth = self.max_depth.unwrap_or(settings.max_depth);
        settings.max_pending_confirmations =
            self.max_pending_confirmations.unwrap_or(settings.max_pending_confirmations);
        super::none_of(
            "runtime",
            &[
                ("default_timeout_ms", self.default_timeout_ms),
                ("default_result_bytes", self.default_result_bytes),
                ("confirmation_ttl_s", self.confirmation_ttl_s),
                ("request_max_age_s", self.request_max_age_s),
                ("max_batch", number(self.max_batch)),
                ("max_message_calls", number(self.max_message_calls)),
            ],
            wrong,
        );
        let ms = Limits::LONGEST_RUNTIME_MS;
        super::at_most(
            "runtime",
            &[
                ("default_timeout_ms", self.default_timeout_ms, ms),
                ("attach_ms", self.attach_ms, ms),
                ("lease_grace_ms", self.lease_grace_ms, ms),
                ("backoff_ms", self.backoff_ms, ms),
                ("confirmation_ttl_s", self.confirmation_ttl_s, LONGEST_S),
                ("keep_results_s", self.keep_results_s, LONGEST_S),
                ("keep_keys_s", self.keep_keys_s, LONGEST_S),
            ],
            wrong,
        );
        if settings.request_max_age >= settings.keep_idempotent_keys {
            wrong.push(anyhow!(
                "`runtime.request_max_age_s` must be below the day for which keys are kept"
            ));
        }
        if settings.request_max_age >= settings.keep_keys {
            wrong.push(anyhow!(
                "`runtime.keep_keys_s` must be above `runtime.request_max_age_s`: a request that is \
                   sent again must find its key"
            ));
        }
        if settings.undo_attempts == 0 {
            wrong.push(anyhow!("`runtime.undo_attempts` must be at least 1"));
        }
        settings
    }
}
