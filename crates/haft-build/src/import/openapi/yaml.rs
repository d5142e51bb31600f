//! YAML from anybody.
//!
//! `yes` and `on` are words, a key stands once, and aliases are bounded by what they expand to,
//! since ten lines of YAML can stand for gigabytes.

use serde_json::Value;
use serde_saphyr::options::DuplicateKeyPolicy;

pub(super) fn read(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 100,
            max_documents: 1,
            max_nodes: 2_000_000,
            max_events: 5_000_000,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 200_000,
            max_replay_stack_depth: 16,
            max_alias_expansions_per_anchor: 10_000,
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_stay_words_and_bombs_stay_small() {
        let text = "on: yes\n200: {a: 0x10, b: 1.5, c: null, d: true}\n";
        let expected = json!({"on": "yes", "200": {"a": 16, "b": 1.5, "c": null, "d": true}});
        assert_eq!(read(text).unwrap(), expected);
        assert!(read("a: 1\na: 2\n").is_err(), "a key that stands twice");
        assert!(read("a: .nan\n").is_err(), "a number that JSON does not have");
        let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x]\n");
        for n in 1..12 {
            let before = format!("*l{}", n - 1);
            let nine = [before.as_str(); 9].join(", ");
            bomb.push_str(&format!("l{n}: &l{n} [{nine}]\n"));
        }
        assert!(read(&bomb).is_err(), "aliases of aliases");
        assert!(read(&"[".repeat(5_000)).is_err(), "nesting without end");
    }
}
