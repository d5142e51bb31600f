//! `docs/faults.md` names tests that exist, and leaves no row out.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// How many rows each part has.
const ROWS: [(char, usize); 14] = [
    ('F', 45),
    ('A', 16),
    ('B', 10),
    ('C', 15),
    ('D', 11),
    ('E', 20),
    ('S', 14),
    ('G', 11),
    ('H', 15),
    ('I', 10),
    ('J', 8),
    ('K', 7),
    ('L', 8),
    ('M', 12),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The rows: number, fault, and what tries it.
fn rows(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let cells = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
    let rows = cells.filter(|row| row.len() == 3 && row[0] != "row");
    rows.map(|row| (row[0].to_owned(), row[2].to_owned())).collect()
}

/// The names of all functions that are tests, and of what every store is tried with.
fn tests(folder: &Path, names: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests(&path, names);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim_start) {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    is_test = true;
                } else if let Some((_, rest)) = line.split_once("fn ").filter(|_| is_test) {
                    names.extend(rest.split('(').next().map(str::to_owned));
                    is_test = false;
                } else if let Some(name) = line.strip_suffix("(bed) {") {
                    names.insert(name.to_owned());
                }
            }
        }
    }
}

#[test]
fn every_row_is_there_once_and_in_order() {
    let text = fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let found: Vec<String> = rows(&text).into_iter().map(|(row, _)| row).collect();
    let all = ROWS.iter().flat_map(|(part, count)| (1..=*count).map(move |n| format!("{part}{n}")));
    assert_eq!(found, all.collect::<Vec<_>>());
}

#[test]
fn every_test_that_is_named_exists_and_a_row_without_one_says_no() {
    let text = fs::read_to_string(root().join("docs/faults.md")).unwrap();
    let mut known = HashSet::new();
    tests(&root().join("crates"), &mut known);
    for (row, tried) in rows(&text) {
        let named = tried.split('`').skip(1).step_by(2);
        // Commands and files have a dot, a space or a slash.
        let named: Vec<&str> = named.filter(|one| !one.contains([' ', '.', '/'])).collect();
        assert!(!named.is_empty() || tried.starts_with("**no**"), "{row} names no test");
        for test in named {
            assert!(known.contains(test), "{row} names `{test}`, which is no test");
        }
    }
}
