//! `[store]`: where things are remembered, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use haft_store::Verify;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// The section as it is written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawStore {
    pub(super) path: Option<PathBuf>,
    #[serde(deserialize_with = "verify")]
    pub(super) verify: Verify,
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

/// A word, or `true` for all of it and `false` for nothing, as it was before there were words for it.
fn verify<'de, D: Deserializer<'de>>(from: D) -> Result<Verify, D::Error> {
    struct Word;

    impl Visitor<'_> for Word {
        type Value = Verify;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("tail, whole or false")
        }

        fn visit_bool<E>(self, all: bool) -> Result<Verify, E> {
            Ok(if all { Verify::Whole } else { Verify::Never })
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<Verify, E> {
            match word {
                "tail" => Ok(Verify::Tail),
                "whole" => Ok(Verify::Whole),
                _ => Err(E::unknown_variant(word, &["tail", "whole"])),
            }
        }
    }
    from.deserialize_any(Word)
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

    #[test]
    fn how_much_is_checked_is_a_word_or_as_it_was() {
        for (text, expected) in [
            ("", Verify::Tail),
            ("verify = \"tail\"", Verify::Tail),
            ("verify = \"whole\"", Verify::Whole),
            ("verify = true", Verify::Whole),
            ("verify = false", Verify::Never),
        ] {
            assert_eq!(toml::from_str::<RawStore>(text).unwrap().verify, expected, "{text}");
        }
    }
}
