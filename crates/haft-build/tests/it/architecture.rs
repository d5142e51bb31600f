//! `ARCHITECTURE.md` speaks of files and crates that exist.

use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn every_file_that_it_names_exists() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let named: Vec<&str> =
        text.split('`').skip(1).step_by(2).filter(|word| word.starts_with("crates/")).collect();
    assert!(named.len() > 10, "{named:?}");
    for file in named {
        assert!(root().join(file).exists(), "{file}");
    }
    assert!(text.lines().count() <= 250);
}

#[test]
fn it_has_a_paragraph_for_every_crate_and_no_other() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut described: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("**`")?.split_once("`**"))
        .map(|(name, _)| name.to_owned())
        .collect();
    let mut crates: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    described.sort();
    crates.sort();
    assert_eq!(described, crates);
}

#[test]
fn every_page_that_is_linked_exists() {
    for page in [
        "README.md",
        "CONTRIBUTING.md",
        "docs/arguments.md",
        "docs/calls.md",
        "docs/cli.md",
        "docs/config.md",
        "docs/contract.md",
        "docs/import.md",
        "docs/policy.md",
        "docs/registry.md",
    ] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let folder = root().join(page).parent().unwrap().to_owned();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            assert!(folder.join(link).exists(), "{page} links to {link}");
        }
    }
}
