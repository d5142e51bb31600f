//! Every code has a page, a test, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use haft_build::code::ALL;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn codes_and_pages_are_the_same_set() {
    let pages: BTreeSet<String> = fs::read_dir(root().join("docs/errors"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // Kinds of call errors have pages here too; haft-core checks those.
        .filter(|name| name.starts_with('H'))
        .map(|name| name.trim_end_matches(".md").to_owned())
        .collect();
    let codes: BTreeSet<String> = ALL.iter().map(|code| code.id.to_owned()).collect();
    assert_eq!(pages, codes);
    assert_eq!(codes.len(), ALL.len(), "a code stands twice");
}

#[test]
fn pages_say_what_and_how() {
    for code in ALL {
        let heading = code.page.lines().next().unwrap();
        assert!(heading.starts_with(&format!("# {}: ", code.id)), "{heading}");
        assert!(code.page.lines().count() >= 8, "{} says too little", code.id);
        let answered = code.page.contains("lint");
        assert!(!code.allowable || answered, "{}'s page does not say how to allow it", code.id);
    }
}

#[test]
fn the_index_lists_every_code_with_its_title() {
    let index = fs::read_to_string(root().join("docs/errors/README.md")).unwrap();
    for code in ALL {
        let row =
            index.lines().find(|line| line.contains(&format!("[{}]({}.md)", code.id, code.id)));
        let row = row.unwrap_or_else(|| panic!("{} is not in the index", code.id));
        assert!(row.contains(code.title()), "{row} should say {}", code.title());
        assert!(row.contains(code.severity.as_str()), "{row}");
    }
}

#[test]
fn every_code_is_provoked_by_a_test() {
    let tests = ["lints.rs", "registry.rs", "providers.rs"].map(|file| {
        fs::read_to_string(root().join("crates/haft-build/tests/it").join(file)).unwrap()
    });
    let registry = ["H701", "H702", "H703", "H704", "H705", "H706"];
    // Not to be had without root (H011) or without a bug in the checks before it (H319).
    let elsewhere = ["H011", "H319"];
    for code in ALL {
        let named = tests.iter().any(|test| test.contains(code.id));
        assert!(
            named || registry.contains(&code.id) || elsewhere.contains(&code.id),
            "no test provokes {}",
            code.id
        );
    }
}
