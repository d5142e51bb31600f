//! Irreversible calls with claim and outcome on disk before they are answered, beside bare SQLite
//! with one durable commit per insert on the same disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haft_core::call::RawArguments;
use haft_core::contract::SideEffectPolicy;
use haft_core::port::Invoke as _;
use haft_core::{Call, Caller};
use haft_runtime::Runtime;
use haft_store::{Options, Sqlite};

use crate::count::processor;
use haft_bench::fixture::{Answer, Fixture};
use crate::report::{Run, nanos};

/// Beside the program: where temporary files lie is memory on some machines.
fn folder() -> tempfile::TempDir {
    let program = std::env::current_exe().unwrap();
    tempfile::tempdir_in(program.parent().unwrap()).unwrap()
}

/// Inserts about as large as a claim, each with a commit of its own.
pub fn bare(_: &Fixture, time: Duration) {
    let folder = folder();
    let database = rusqlite::Connection::open(folder.path().join("bare.db")).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT) STRICT",
        )
        .unwrap();
    let body = "x".repeat(600);
    let mut insert = database.prepare("INSERT INTO rows (body) VALUES (?1)").unwrap();
    let mut took = Vec::new();
    let (start, worked) = (Instant::now(), processor());
    while start.elapsed() < time {
        let began = Instant::now();
        insert.execute((&body,)).unwrap();
        took.push(nanos(began));
    }
    let (wall, processor) = (start.elapsed(), processor().saturating_sub(worked));
    Run { took, wall, processor, allocations: None }.print("SQLite, one commit per insert");
}

pub fn one_caller(fixture: &Fixture, time: Duration) {
    calls("haft, irreversible, 1 caller", 1, fixture, time);
}

pub fn many_callers(fixture: &Fixture, time: Duration) {
    calls("haft, irreversible, 64 callers", 64, fixture, time);
}

fn calls(name: &str, callers: u64, fixture: &Fixture, time: Duration) {
    let folder = folder();
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let runtime = runtime(fixture, &folder.path().join("calls.db"));
    let next = Arc::new(AtomicU64::new(0));
    tokio.block_on(drive(&runtime, &next, callers, fixture, time / 8));
    let run = tokio.block_on(drive(&runtime, &next, callers, fixture, time));
    run.print(name);
}

fn runtime(fixture: &Fixture, path: &Path) -> Runtime {
    let store = Arc::new(Sqlite::open(path.to_path_buf(), Options::default()).unwrap());
    fixture.runtime(10, SideEffectPolicy::Irreversible, Answer::Text, store)
}

/// A key of its own, and other arguments: no two acts are the same.
fn numbered(template: &Call, number: u64) -> Call {
    let mut call = template.clone();
    call.key = Some(format!("bench-{number}"));
    if let RawArguments::Text(text) = &mut call.arguments {
        *text = text.replacen("\"query\":\"", &format!("\"query\":\"{number} "), 1);
    }
    call
}

async fn drive(
    runtime: &Runtime,
    next: &Arc<AtomicU64>,
    callers: u64,
    fixture: &Fixture,
    time: Duration,
) -> Run {
    let (start, worked) = (Instant::now(), processor());
    let caller = |_| {
        let (runtime, next) = (runtime.clone(), next.clone());
        let template = fixture.call(&Caller::agent("default", "default"));
        tokio::spawn(async move {
            let mut took = Vec::new();
            while start.elapsed() < time {
                let call = numbered(&template, next.fetch_add(1, Ordering::Relaxed));
                let began = Instant::now();
                let envelope = runtime.invoke(call).await;
                took.push(nanos(began));
                assert!(envelope.result.is_ok(), "{envelope:?}");
            }
            took
        })
    };
    let callers: Vec<_> = (0..callers).map(caller).collect();
    let mut took = Vec::new();
    for caller in callers {
        took.extend(caller.await.unwrap());
    }
    let (wall, processor) = (start.elapsed(), processor().saturating_sub(worked));
    Run { took, wall, processor, allocations: None }
}
