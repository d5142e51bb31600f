//! Same input, same bytes; unchanged input, no work.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use haft_build::build::{Reuse, Written, check, unchanged};
use haft_core::contract::Category;
use serde_json::{Value, json};

use crate::workshop::Workshop;

fn toolset() -> Workshop {
    let workshop = Workshop::new();
    for name in ["zebra", "apple", "mango"] {
        workshop.add(name, Category::Retrieval);
    }
    workshop
}

fn without_time(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value["build"]["at"] = json!("");
    haft_core::digest::canonical(&value)
}

#[test]
fn the_same_input_gives_the_same_bytes_elsewhere() {
    let one = toolset();
    // Another folder, whose files were made in another order.
    let other = Workshop::new();
    other.remove("tools/echo");
    for name in ["mango", "zebra", "echo", "apple"] {
        for file in ["tests.json", "handler.js", "doc.md", "schema.json", "doc_summary.md"] {
            let file = format!("tools/{name}/{file}");
            other.write(&file, one.read(&file));
        }
    }
    let (first, second) = (one.check(), other.check());
    assert_eq!(first.version(), second.version());
    assert_eq!(
        without_time(&first.write(None).unwrap()),
        without_time(&second.write(None).unwrap())
    );
}

#[test]
fn the_file_is_canonical_json() {
    let text = toolset().check().write(None).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(text.trim_end(), haft_core::digest::canonical(&value));
}

#[test]
fn everything_that_a_session_could_notice_moves_the_version() {
    let workshop = toolset();
    let mut seen = vec![workshop.check().version()];
    let changes: [&dyn Fn(); 5] = [
        &|| workshop.replace("tools/echo/handler.js", "words.length", "words.length + 0"),
        &|| workshop.replace("tools/echo/doc.md", "for whom", "for whom exactly"),
        &|| workshop.replace("tools/echo/doc_summary.md", "say", "Say"),
        &|| workshop.patch("echo", json!({"latencyBudgetMs": 201})),
        &|| {
            workshop.write("core.md", "# Policy\nBe kind.\n");
            workshop.write("toolset.toml", "namespace = \"core\"\n[prompts]\ncore = \"core.md\"\n");
        },
    ];
    for change in changes {
        change();
        let version = workshop.check().version();
        assert!(!seen.contains(&version), "{version:?} of {seen:?}");
        seen.push(version);
    }
    // Neither layout nor key order nor tests do.
    let contract: Value = serde_json::from_str(&workshop.read("tools/echo/schema.json")).unwrap();
    workshop.write("tools/echo/schema.json", haft_core::digest::canonical(&contract));
    workshop.remove("tools/echo/tests.json");
    assert_eq!(workshop.check().version(), *seen.last().unwrap());
}

/// Moves the time of every file and folder back, so that nothing counts as just written.
fn age(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
        }
        let file = fs::File::open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    }
}

#[test]
fn only_what_changed_is_compiled_again() {
    let workshop = toolset();
    age(workshop.root());
    let build = || check(workshop.root(), Reuse::Unchanged, &|_, _| {}).unwrap();
    let cold = build();
    assert_eq!((cold.folders, cold.compiled), (4, 4));
    let warm = build();
    assert_eq!((warm.folders, warm.compiled), (4, 0));
    assert_eq!(warm.entries, cold.entries);

    workshop.patch("apple", json!({"description": "Another thing."}));
    let one = build();
    assert_eq!(one.compiled, 1);
    assert_eq!(one.version(), workshop.check().version(), "as a build from nothing");

    workshop.write("toolset.toml", "namespace = \"other\"\n");
    assert_eq!(build().compiled, 4, "every id has changed");
    workshop.remove("tools/mango");
    assert_eq!(build().entries.len(), 3);
    fs::write(workshop.path(".haft/build.cache"), "nonsense").unwrap();
    assert_eq!(build().compiled, 3, "a broken cache is an empty one");
}

#[test]
fn what_is_remembered_is_also_said_again() {
    let workshop = toolset();
    workshop.patch("apple", json!({"category": "frut"}));
    workshop.patch("mango", json!({"output": null, "redaction": {"allow": []}}));
    age(workshop.root());
    let build = || check(workshop.root(), Reuse::Unchanged, &|_, _| {}).unwrap();
    let (cold, warm) = (build(), build());
    assert_eq!(warm.compiled, 0);
    assert_eq!(warm.diagnostics, cold.diagnostics);
    assert!(warm.has_errors());
}

#[test]
fn a_registry_that_says_the_same_is_not_written_again() {
    let workshop = toolset();
    let file = workshop.path("out/tool_registry.json");
    assert_eq!(workshop.check().write_to(&file, None).unwrap(), Written::New);
    assert_eq!(workshop.check().write_to(&file, None).unwrap(), Written::UpToDate);
    workshop.patch("apple", json!({"description": "Another thing."}));
    assert_eq!(workshop.check().write_to(&file, None).unwrap(), Written::New);
}

#[test]
fn a_toolset_that_has_not_changed_needs_only_a_look() {
    let workshop = toolset();
    workshop.patch("mango", json!({"output": null, "redaction": {"allow": []}}));
    age(workshop.root());
    let file = workshop.path("tool_registry.json");
    assert!(unchanged(workshop.root()).is_none(), "nothing is known yet");
    let built = check(workshop.root(), Reuse::Unchanged, &|_, _| {}).unwrap();
    built.write_to(&file, None).unwrap();
    let known = unchanged(workshop.root()).unwrap();
    assert_eq!(known.diagnostics, built.diagnostics);
    assert_eq!(Some(known.version.clone()), built.version());
    assert!(known.is_written_at(&file));
    assert!(!known.is_written_at(&workshop.path("elsewhere.json")));

    fs::write(&file, "touched").unwrap();
    assert!(!unchanged(workshop.root()).unwrap().is_written_at(&file));
    let changes: [&dyn Fn(); 6] = [
        &|| {
            workshop.write("core.md", "# Policy\nBe kind.\n");
            workshop.write("toolset.toml", "namespace = \"core\"\n[prompts]\ncore = \"core.md\"\n");
        },
        &|| workshop.patch("apple", json!({"description": "Another thing."})),
        &|| workshop.write("tools/zebra/README.md", "new"),
        &|| workshop.remove("tools/zebra/README.md"),
        &|| workshop.write("toolset.toml", "namespace = \"core\"\nexclude = [\"mango\"]\n"),
        &|| workshop.remove("tools/zebra"),
    ];
    for (number, change) in changes.iter().enumerate() {
        change();
        assert!(unchanged(workshop.root()).is_none(), "change {number} was not noticed");
        age(workshop.root());
        check(workshop.root(), Reuse::Unchanged, &|_, _| {}).unwrap();
        assert!(unchanged(workshop.root()).is_some(), "after change {number}");
    }
}
