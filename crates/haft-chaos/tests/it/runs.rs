//! The harness as a whole: it passes what is sound, and notices what is broken on purpose.

use std::process::Command;

/// Runs the harness, and returns whether it was content and what it counted.
#[track_caller]
fn run(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_haft-chaos"))
        .args(["run", "--kills", "3", "--keys", "300"])
        .args(arguments)
        .output()
        .unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    assert_eq!(line.lines().count(), 1, "{line} {}", String::from_utf8_lossy(&output.stderr));
    (output.status.success(), line)
}

/// The number after a word in the line.
#[track_caller]
fn count(line: &str, word: &str) -> u64 {
    let part = line.split(", ").find_map(|part| part.strip_prefix(word)).unwrap();
    part.trim().parse().unwrap()
}

#[test]
fn what_is_sound_passes() {
    let (content, line) = run(&[]);
    assert!(content, "{line}");
    assert_eq!(count(&line, "keys"), 300, "{line}");
    assert_eq!(count(&line, "kills"), 3, "{line}");
    assert!(count(&line, "concurrent duplicates") > 0, "{line}");
}

/// Real processes and real signals: one sleeps past its lease with calls half done, another takes
/// over, and the first goes on.
#[test]
fn what_slept_past_its_lease_and_goes_on_does_nothing_twice() {
    let (content, line) = run(&["--stops", "4"]);
    assert!(content, "{line}");
    // Each stopped one, and whoever took over where the database was free.
    assert!(count(&line, "kills") >= 7, "{line}");
}

#[test]
fn a_store_that_forgets_is_caught() {
    let (content, line) = run(&["--sabotage", "forget"]);
    assert!(!content && count(&line, "duplicated") > 0, "{line}");
}

#[test]
fn a_lost_answer_that_is_called_a_failure_is_caught() {
    let (content, line) = run(&["--sabotage", "lie"]);
    assert!(!content && count(&line, "falsely failed") > 0, "{line}");
}

#[test]
fn a_success_without_an_act_is_caught() {
    let (content, line) = run(&["--sabotage", "boast"]);
    assert!(!content && count(&line, "lost") > 0, "{line}");
}
