//! Durable effects per second: claim and settle, each on disk before it is answered, beside bare
//! SQLite with one durable commit per insert on the same disk, in the same run.
//!
//! `cargo run --release -p haft-store --example throughput [DIR [SECONDS [CALLERS…]]]`
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::port::Ledger;
use haft_store::{Memory, Options, Sqlite};

use cpu::cpu;
use effect::call;

#[path = "parts/cpu.rs"]
mod cpu;
#[path = "parts/effect.rs"]
mod effect;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What came of a run.
struct Run {
    per_second: f64,
    p50: Duration,
    p99: Duration,
    /// Of the processor, for one call; nothing where it cannot be told.
    cpu: Duration,
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let base = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds = arguments.next().map_or(Ok(3), |text| text.parse())?;
    let time = Duration::from_secs(seconds);
    let mut callers: Vec<u64> = arguments.map(|text| text.parse()).collect::<Result<_, _>>()?;
    if callers.is_empty() {
        callers = vec![1, 64];
    }
    let dir = tempfile::tempdir_in(base)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;

    let bare = bare(&dir.path().join("bare.db"), time)?;
    show("bare rusqlite, one commit per insert", &bare, &bare);
    for callers in callers {
        let path = dir.path().join(format!("{callers}.db"));
        let store = Arc::new(Sqlite::open(path, Options::default())?);
        let run = runtime.block_on(drive(store, callers, time))?;
        show(&format!("sqlite, claim + settle, {callers} callers"), &run, &bare);
    }
    let run = runtime.block_on(drive(Arc::new(Memory::new()), 64, time / 4))?;
    show("memory, claim + settle, 64 callers", &run, &bare);
    Ok(())
}

fn show(what: &str, run: &Run, bare: &Run) {
    let ratio = run.per_second / bare.per_second;
    println!(
        "{what:40} {:>9.0}/s  {ratio:>5.2} × bare  p50 {:>7.0?}  p99 {:>7.0?}  cpu {:>5.1?}",
        run.per_second, run.p50, run.p99, run.cpu
    );
}

/// Inserts of the same size, each with a commit of its own.
fn bare(path: &Path, time: Duration) -> Outcome<Run> {
    let conn = rusqlite::Connection::open(path)?;
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    conn.execute_batch("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT) STRICT")?;
    let body = "x".repeat(600);
    let mut took = Vec::new();
    let (start, worked) = (Instant::now(), cpu());
    while start.elapsed() < time {
        let began = Instant::now();
        conn.prepare_cached("INSERT INTO rows (body) VALUES (?1)")?.execute((&body,))?;
        took.push(began.elapsed());
    }
    Ok(figures(took, start.elapsed(), cpu() - worked))
}

async fn drive<L: Ledger + 'static>(store: Arc<L>, callers: u64, time: Duration) -> Outcome<Run> {
    let (start, worked) = (Instant::now(), cpu());
    let callers: Vec<_> = (0..callers)
        .map(|caller| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut took = Vec::new();
                for number in 0.. {
                    if start.elapsed() >= time {
                        break;
                    }
                    let began = Instant::now();
                    call(&*store, caller, number).await?;
                    took.push(began.elapsed());
                }
                Outcome::Ok(took)
            })
        })
        .collect();
    let mut took = Vec::new();
    for caller in callers {
        took.extend(caller.await??);
    }
    Ok(figures(took, start.elapsed(), cpu() - worked))
}

fn figures(mut took: Vec<Duration>, elapsed: Duration, worked: Duration) -> Run {
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a few millions at most")]
    let per_second = took.len() as f64 / elapsed.as_secs_f64();
    let calls = u32::try_from(took.len().max(1)).unwrap_or(u32::MAX);
    Run { per_second, p50: at(50), p99: at(99), cpu: worked / calls }
}
