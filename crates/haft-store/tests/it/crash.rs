//! `kill -9` at random: what was answered is there, and what was begun is not begun again.
//!
//! The victim is this test binary, run again as a child that claims and settles until it is killed
//! and writes down what it was answered.

use std::collections::HashMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::contract::SideEffectPolicy as Class;
use haft_core::ledger::{Claimed, State};
use haft_core::port::{CallFilter, EffectFilter, Journal as _, Ledger as _, Store as _};
use haft_store::sqlite::verify;
use haft_store::{Options, Sqlite};
use serde_json::json;

use crate::bed::{call_record, ending, of_class};

const VICTIM: &str = "HAFT_STORE_VICTIM";
const KILLS: u64 = 20;
const CALLERS: u64 = 8;

/// Does nothing unless it is the victim.
#[test]
fn the_victim_works_until_it_is_killed() {
    let Ok(round) = std::env::var(VICTIM) else { return };
    let dir = std::env::current_dir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let options = Options { checkpoint_every: 50, ..Options::default() };
    let store = Arc::new(Sqlite::open(dir.join("haft.db"), options).unwrap());
    let diary = fs::OpenOptions::new().append(true).create(true).open(dir.join("diary")).unwrap();
    let diary = Arc::new(diary);
    runtime.block_on(async {
        let mut callers = Vec::new();
        for caller in 0..CALLERS {
            let (store, diary) = (Arc::clone(&store), Arc::clone(&diary));
            let name = format!("{round}.{caller}");
            callers.push(tokio::spawn(async move { toil(&store, &diary, &name).await }));
        }
        for caller in callers {
            caller.await.unwrap();
        }
    });
}

async fn toil(store: &Sqlite, diary: &fs::File, name: &str) {
    for number in 0.. {
        let key = format!("{name}.{number}");
        let class = if number % 4 == 3 { Class::Idempotent } else { Class::Irreversible };
        let Claimed::Fresh(ticket) = store.claim(of_class(&key, class)).await.unwrap() else {
            panic!("a new key was not fresh")
        };
        write_down(diary, &format!("claimed {key}\n"));
        let state = if number % 5 == 4 { State::Failed } else { State::Succeeded };
        let record = call_record(&ticket.call, "core__pay", 1);
        store.settle(&ticket, ending(state, Some(json!(key))), Some(record)).await.unwrap();
        write_down(diary, &format!("{} {key}\n", state.as_str()));
    }
}

/// One write per line: killed in between, a line is there or it is not.
fn write_down(mut diary: &fs::File, line: &str) {
    diary.write_all(line.as_bytes()).unwrap();
}

fn run_and_kill(dir: &Path, round: u64) {
    kill_at_work(dir, "crash::the_victim_works_until_it_is_killed", round);
}

fn kill_at_work(dir: &Path, victim: &str, round: u64) {
    let before = fs::metadata(dir.join("diary")).map_or(0, |file| file.len());
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", victim, "--nocapture"])
        .env(VICTIM, round.to_string())
        .current_dir(dir)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // Killed once it is at work, a different moment later each time.
    while fs::metadata(dir.join("diary")).map_or(0, |file| file.len()) <= before {
        assert!(Instant::now() < deadline, "the victim does nothing");
        assert!(victim.try_wait().unwrap().is_none(), "the victim ended by itself");
        std::thread::yield_now();
    }
    let moment = Instant::now() + Duration::from_micros(1_000 + round * 7_919 % 60_000);
    while Instant::now() < moment {
        std::thread::yield_now();
    }
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// The last line about each key.
fn diary(dir: &Path) -> HashMap<String, String> {
    let text = fs::read_to_string(dir.join("diary")).unwrap();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(word, key)| (key.to_owned(), word.to_owned())).collect()
}

#[test]
fn nothing_that_was_answered_is_lost_by_twenty_kills() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for round in 0..KILLS {
        run_and_kill(dir.path(), round);
        let store = Sqlite::open(&path, Options::default()).unwrap();
        runtime.block_on(inspect(&store, &diary(dir.path())));
        let key = store.public_key().unwrap();
        drop(store);
        let verified = verify(&path, &key, &Sqlite::checkpoints(&path)).unwrap().unwrap();
        assert!(verified.entries > 0 && verified.checkpoints > 0);
    }
}

async fn inspect(store: &Sqlite, diary: &HashMap<String, String>) {
    let lost = store.recover().await.unwrap();
    let filter = EffectFilter { tenant: "acme".into(), limit: 1_000_000, ..Default::default() };
    let all = store.effects(filter).await.unwrap();
    let states: HashMap<_, _> =
        all.iter().map(|one| (one.effect.call.trim_start_matches("call of "), one)).collect();
    for (key, word) in diary {
        let record = states.get(key.as_str()).unwrap_or_else(|| panic!("{key} was {word}"));
        if word != "claimed" {
            assert_eq!(record.state.as_str(), word, "{key}");
            assert_eq!(record.result, Some(json!(key)));
        }
    }
    assert!(all.iter().all(|one| one.state != State::Started), "nobody carries anything out");
    for record in lost.iter().filter(|one| one.effect.policy == Class::Irreversible) {
        let key = record.effect.call.trim_start_matches("call of ");
        let claimed = store.claim(of_class(key, Class::Irreversible)).await.unwrap();
        assert!(matches!(claimed, Claimed::Unknown(_)), "{key} would be done again");
    }
    store.flush().await.unwrap();
}

const FORGETFUL: &str = "crash::the_forgetful_forgets_until_it_is_killed";
const OLD_CALLS: u64 = 4_000;
/// Every so many calls something is kept: an effect that nobody knows the outcome of.
const OPEN_EVERY: u64 = 100;

/// Does nothing unless it is the victim. Between two steps it writes down how many calls went. It is
/// killed soon after its first line: in one round before a step has ended, however slow the machine
/// is, and in the next one after.
#[test]
fn the_forgetful_forgets_until_it_is_killed() {
    let Ok(round) = std::env::var(VICTIM) else { return };
    let dir = std::env::current_dir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = Sqlite::open(dir.join("haft.db"), Options::default()).unwrap();
    let diary = fs::OpenOptions::new().append(true).create(true).open(dir.join("diary")).unwrap();
    if round.parse::<u64>().unwrap().is_multiple_of(2) {
        write_down(&diary, "begun -\n");
    }
    runtime.block_on(async {
        loop {
            let went = store.forget(i64::MAX).await.unwrap();
            write_down(&diary, &format!("went {}\n", went.calls));
            // Somebody else writes meanwhile.
            store.note("acme", "note", json!("between")).await.unwrap();
        }
    });
}

/// Many calls, and among them effects of unknown outcome.
async fn remember(store: &Sqlite) {
    for n in 0..OLD_CALLS {
        if n % OPEN_EVERY == 0 {
            let key = format!("lost {n}");
            let claimed = store.claim(of_class(&key, Class::Irreversible)).await.unwrap();
            let Claimed::Fresh(ticket) = claimed else { panic!("{claimed:?}") };
            let record = call_record(&ticket.call, "core__pay", 1);
            store.settle(&ticket, ending(State::Unknown, None), Some(record)).await.unwrap();
        }
        store.record(call_record(&format!("c{n}"), "core__kb_search", 1).into());
        if n % 500 == 0 {
            store.flush().await.unwrap();
        }
    }
    store.flush().await.unwrap();
}

#[test]
fn forgetting_that_is_killed_in_the_middle_harms_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(remember(&Sqlite::open(&path, Options::default()).unwrap()));
    let lost = OLD_CALLS / OPEN_EVERY;
    let mut left = Vec::new();
    for round in 0..8 {
        kill_at_work(dir.path(), FORGETFUL, round);
        let options = Options { verify: haft_store::Verify::Whole, ..Options::default() };
        let store = Sqlite::open(&path, options).unwrap();
        let checked = runtime.block_on(store.verify()).unwrap();
        assert_eq!(checked.broken, None, "round {round}");
        let filter = CallFilter { tenant: "acme".into(), limit: 1_000_000, ..Default::default() };
        let calls = runtime.block_on(store.calls(filter)).unwrap();
        let kept = calls.iter().filter(|one| one.call.starts_with("call of lost")).count();
        assert_eq!(kept as u64, lost, "round {round}");
        let again = of_class("lost 0", Class::Irreversible);
        let claimed = runtime.block_on(store.claim(again)).unwrap();
        assert!(matches!(claimed, Claimed::Unknown(_)), "it would be done again: {claimed:?}");
        left.push(calls.len() as u64 - lost);
    }
    assert!(left.is_sorted_by(|earlier, later| earlier >= later), "{left:?}");
    assert!(left.last() < Some(&OLD_CALLS), "nothing was forgotten: {left:?}");
    let store = Sqlite::open(&path, Options::default()).unwrap();
    while runtime.block_on(store.forget(i64::MAX)).unwrap().more {}
    let stats = CallFilter { tenant: "acme".into(), ..Default::default() };
    let stats = runtime.block_on(store.stats(stats)).unwrap();
    let calls: Vec<_> = stats.iter().map(|one| (&*one.tool, one.calls)).collect();
    assert_eq!(calls, [("core__pay", lost)]);
}

#[test]
fn the_log_does_not_grow_from_one_short_life_to_the_next() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (mut lives, mut sizes) = (vec![tempfile::tempdir().unwrap()], Vec::new());
    for _ in 0..6 {
        let here = lives.last().unwrap().path().to_owned();
        let store = Sqlite::open(here.join("haft.db"), Options::default()).unwrap();
        for _ in 0..50 {
            runtime.block_on(store.note("acme", "note", json!("hello"))).unwrap();
        }
        sizes.push(fs::metadata(here.join("haft.db-wal")).unwrap().len());
        // What a kill leaves: the files as they are while the store is open.
        let next = tempfile::tempdir().unwrap();
        for name in ["haft.db", "haft.db-wal"] {
            fs::copy(here.join(name), next.path().join(name)).unwrap();
        }
        lives.push(next);
    }
    assert!(sizes[5] < 2 * sizes[0], "{sizes:?}");
}
