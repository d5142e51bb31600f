//! There is no second way to run a tool.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            out.push(path);
        }
    }
}

/// Every place of the crates' own sources that says `text`, tests and examples aside.
fn places(text: &str) -> Vec<String> {
    let crates = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut files = Vec::new();
    for one in fs::read_dir(crates).unwrap().map(Result::unwrap) {
        sources(&one.path().join("src"), &mut files);
    }
    assert!(files.len() > 200, "{}", files.len());
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(crates).unwrap().display().to_string();
        let says = fs::read_to_string(&file)
            .unwrap()
            .lines()
            .any(|line| line.contains(text) && !line.trim_start().starts_with("//"));
        if says && !name.contains("/tests") {
            found.push(name);
        }
    }
    found
}

#[test]
fn only_the_path_makes_jobs_and_hands_them_to_executors() {
    let execute = "haft-runtime/src/path/execute.rs";
    // Clippy refuses `Job::new` wherever this is not said.
    assert_eq!(places("clippy::disallowed_methods"), [execute]);
    assert_eq!(places("executors.execute("), [execute]);
}

#[test]
fn every_door_ends_in_the_one_path() {
    let mut doors = places("path::take(");
    doors.sort();
    assert_eq!(doors, ["haft-runtime/src/host/nested.rs", "haft-runtime/src/runtime.rs"]);
}
