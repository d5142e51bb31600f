//! When, and from which commit.

use std::path::Path;
use std::process::{Command, Stdio};

/// The build time that `SOURCE_DATE_EPOCH` sets, where it is a number of seconds.
pub(super) fn fixed_time() -> Option<i64> {
    std::env::var("SOURCE_DATE_EPOCH").ok()?.trim().parse().ok()
}

/// The build time in RFC 3339, UTC, whole seconds.
pub(super) fn now() -> String {
    let seconds = fixed_time().unwrap_or_else(|| jiff::Timestamp::now().as_second());
    jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// The commit that a folder is at, where it is inside of a git checkout.
pub(super) fn commit_of(folder: &Path) -> Option<String> {
    // Looking for `.git` first keeps a build outside of a checkout from starting a process.
    folder.ancestors().find(|place| place.join(".git").exists())?;
    let output = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    let valid = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    (output.status.success() && valid).then_some(commit)
}
