//! Stores that can only be read, on a file system that is really so or with rights that are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use haft_core::ledger::State;
use haft_core::port::{
    CallFilter, EffectFilter, Journal as _, Ledger as _, Store as _, StoreError,
};
use haft_store::{Options, Sqlite, Verify, sqlite};
use rusqlite::Connection;
use serde_json::json;

use crate::bed::{call_record, claim, settled};

const PLACE: &str = "HAFT_STORE_ONLY_READ";

/// What is beside a store when it can no longer be written to.
const KINDS: [&str; 4] = ["as it was left", "nothing", "killed", "no index"];

fn open(path: &Path) -> Sqlite {
    Sqlite::open(path, Options { verify: Verify::Whole, ..Options::default() }).unwrap()
}

fn beside(path: &Path, what: &str) -> PathBuf {
    PathBuf::from(format!("{}-{what}", path.display()))
}

async fn fill(path: &Path, kind: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let store = open(path);
    settled(&store, claim("k"), State::Succeeded).await;
    store.record(call_record("c", "core__kb_search", 1).into());
    store.flush().await.unwrap();
    // Whatever is signed later is no entry more.
    store.checkpoint(&Sqlite::signing_key(path).unwrap()).await.unwrap();
    let copied = path.with_file_name("copy");
    let copy = |from: &Path, to: &Path| fs::copy(from, to).map(drop).unwrap();
    if kind != "nothing" && kind != "as it was left" {
        copy(path, &copied);
        ["wal", "shm"].iter().for_each(|one| copy(&beside(path, one), &beside(&copied, one)));
    }
    drop(store);
    match kind {
        "nothing" => {
            // Whoever closes it last, and may write, leaves none of them.
            Connection::open(path)
                .unwrap()
                .query_row("SELECT 1 FROM audit", (), |_| Ok(()))
                .unwrap();
            assert!(!beside(path, "wal").exists() && !beside(path, "shm").exists());
        }
        "killed" | "no index" => {
            copy(&copied, path);
            ["wal", "shm"].iter().for_each(|one| copy(&beside(&copied, one), &beside(path, one)));
        }
        _ => {}
    }
    if kind == "no index" {
        fs::remove_file(beside(path, "shm")).unwrap();
    }
}

async fn is_read_and_nothing_else(path: &Path) {
    let store = open(path);
    let calls = CallFilter { tenant: "acme".into(), limit: 10, ..CallFilter::default() };
    assert_eq!(store.calls(calls).await.unwrap().len(), 1);
    let effects = EffectFilter { tenant: "acme".into(), limit: 10, ..EffectFilter::default() };
    assert_eq!(store.effects(effects).await.unwrap().len(), 1);
    assert_eq!(store.effect("acme", "call of k").await.unwrap().state, State::Succeeded);
    assert_eq!(store.verify().await.unwrap().broken, None);
    assert!(!store.is_writable());
    let StoreError::Unavailable(why) = store.claim(claim("new")).await.unwrap_err() else {
        panic!("it is a matter of the store")
    };
    assert!(why.contains("can only be read") && why.contains("writable, then restart"), "{why}");
    assert!(store.note("acme", "note", json!(1)).await.is_err() && store.flush().await.is_err());
    store.record(call_record("d", "core__kb_search", 1).into());
    assert_eq!(store.dropped(), 1);
    drop(store);
    assert!(sqlite::verify_here(path).unwrap().is_ok());
}

/// Does nothing unless it was started where a place can be made read-only.
#[tokio::test]
async fn a_place_is_made_read_only_under_stores() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let path = |kind: &str| Path::new(&place).join(kind.replace(' ', "_")).join("haft.db");
    for kind in KINDS {
        fill(&path(kind), kind).await;
    }
    bar(&place, true);
    for kind in KINDS {
        assert!(fs::write(path(kind).with_file_name("x"), "").is_err(), "{kind}");
        println!("{kind}");
        if kind == "no index" {
            let refused = Sqlite::open(path(kind), Options::default()).unwrap_err();
            assert!(refused.to_string().contains("`-shm`, which is gone: copy both"), "{refused}");
            continue;
        }
        is_read_and_nothing_else(&path(kind)).await;
    }
    bar(&place, false);
    for kind in KINDS {
        let store = open(&path(kind));
        assert_eq!(store.effect("acme", "call of k").await.unwrap().state, State::Succeeded);
        settled(&store, claim("after"), State::Succeeded).await;
    }
    println!("stood it");
}

/// By its file system where that is one of its own, and else by the rights of whoever is not root.
fn bar(place: &str, bars: bool) {
    let (how, mode) = if bars { ("remount,ro", "a-w") } else { ("remount,rw", "u+w") };
    let mut command = match mounts() {
        true => Command::new("mount"),
        false => Command::new("chmod"),
    };
    match mounts() {
        true => command.args(["-o", how, place]),
        false => command.args(["-R", mode, place]),
    };
    assert!(command.status().unwrap().success());
}

/// Whether this process may mount something where nobody else sees it.
fn mounts() -> bool {
    Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success())
}

#[cfg(target_os = "linux")]
#[test]
fn a_store_on_a_read_only_file_system_is_read_and_takes_no_effects() {
    let dir = tempfile::tempdir().unwrap();
    let inner = "\"$0\" --exact still::a_place_is_made_read_only_under_stores --nocapture";
    let is_root = std::os::unix::fs::MetadataExt::uid(&dir.path().metadata().unwrap()) == 0;
    let script = match mounts() {
        true => format!("mount -t tmpfs none \"${PLACE}\" && exec {inner}"),
        // Rights are nothing to root.
        false if is_root => {
            assert!(std::env::var_os("CI").is_none(), "this must not be left out");
            println!("left out: root, who may not mount, can write everything");
            return;
        }
        false => format!("exec {inner}"),
    };
    let mut command = Command::new(if mounts() { "unshare" } else { "bash" });
    if mounts() {
        command.args(["-m", "bash"]);
    }
    let exe = std::env::current_exe().unwrap();
    let output = command.args(["-c", &script]).arg(exe).env(PLACE, dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("stood it"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
