//! A process that is killed while it imports, and two that import at once.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use haft_tools::kb::{Import, KbError};

use crate::rig::{Rig, ask, setup};

const CHILD: &str = "HAFT_TOOLS_IMPORT";

fn many(of: usize, word: &str) -> String {
    (0..of).map(|n| format!("{{\"id\": \"{word}:{n}\", \"title\": \"{word} {n}\", \"body\": \"about {word} and number {n}\"}}\n")).collect()
}

/// Not a test of its own: what the other process does.
#[test]
fn child() {
    let Ok(root) = std::env::var(CHILD) else { return };
    let root = std::path::PathBuf::from(root);
    let work = Import { sources: vec![root.join("kb")], root: root.clone(), anew: false };
    // Whoever looks whether this is at work holds the lock for a moment.
    while let Err(error) = work.run(&setup(&root)) {
        assert!(matches!(error, KbError::Busy(_)), "{error}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn start(rig: &Rig) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--nocapture"])
        .env(CHILD, rig.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_import_leaves_the_index_as_it_was() {
    let rig = Rig::new();
    rig.write("kb/old.jsonl", many(50, "lantern"));
    rig.import();
    rig.write("kb/old.jsonl", many(3, "lantern")).write("kb/new.jsonl", many(400_000, "anchor"));
    let mut process = start(&rig);
    // It is at work when it holds the lock.
    let until = Instant::now() + Duration::from_secs(60);
    let mut busy = false;
    while Instant::now() < until && !busy && process.try_wait().unwrap().is_none() {
        busy = matches!(rig.try_import(&["kb/nothing.md"], false), Err(KbError::Busy(_)));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(busy, "the other process never began");
    // Searching goes on meanwhile.
    assert_eq!(rig.base().search(&ask("lantern")).unwrap().total, 50);
    std::thread::sleep(Duration::from_millis(300));
    process.kill().unwrap();
    process.wait().unwrap();
    let base = rig.base();
    assert_eq!(base.search(&ask("lantern")).unwrap().total, 50);
    assert_eq!(base.search(&ask("anchor")).unwrap().total, 0);
    // And the next import finds nothing in its way.
    rig.write("kb/new.jsonl", many(10, "anchor"));
    let report = rig.import();
    assert_eq!(report.records, 13);
    assert_eq!(
        (base.search(&ask("lantern")).unwrap().total, base.search(&ask("anchor")).unwrap().total),
        (3, 10)
    );
}
