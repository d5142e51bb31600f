//! `[store]`: where things are remembered, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// The section as it is written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawStore {
    pub(super) path: Option<PathBuf>,
    pub(super) verify: Option<bool>,
    keep_days: Option<u64>,
}

impl RawStore {
    /// How long records are kept. No days is for ever: of what it could mean, that loses nothing.
    pub(super) fn keep(&self, usual: Option<Duration>) -> Option<Duration> {
        match self.keep_days {
            None => usual,
            Some(0) => None,
            Some(days) => Some(Duration::from_secs(days.saturating_mul(24 * 60 * 60))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, days: Option<u64>) {
        let raw: RawStore = toml::from_str(text).unwrap();
        let usual = Some(Duration::from_secs(90 * 24 * 60 * 60));
        let kept = raw.keep(usual).map(|time| time.as_secs() / (24 * 60 * 60));
        assert_eq!(kept, days, "{text}");
    }

    #[test]
    fn records_are_kept_as_long_as_it_says() {
        check("", Some(90));
        check("keep_days = 7", Some(7));
        check("keep_days = 0", None);
        check("keep_days = 9223372036854775807", Some(u64::MAX / (24 * 60 * 60)));
    }
}
