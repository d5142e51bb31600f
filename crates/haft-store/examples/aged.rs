//! A store that has run for long, beside an empty one in the same run: how long it takes to open, to
//! check, to copy and to put back, and what a call costs in it. The store is filled by calls.
//!
//! `cargo run --release -p haft-store --example aged DIR ENTRIES [forget]`
//!
//! What `DIR` has is used again and added to. `forget` lets a year pass afterwards, and looks how
//! long calls wait while everything is forgotten; it does that to a copy.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use haft_core::port::{Journal as _, Ledger as _, Store as _};
use haft_store::{Clock, Options, Sqlite, System, Verify};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use cpu::cpu;

#[path = "parts/cpu.rs"]
mod cpu;
#[path = "parts/effect.rs"]
mod effect;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// As many at once as share a commit.
const CALLERS: u64 = 256;

/// A call in the measurement is no call of the filling.
const MEASURED: u64 = 1_000_000;

/// After so long even keys and the trail may be forgotten.
const A_YEAR_MS: i64 = 365 * 86_400_000;

/// The machine's clock, on which a year can pass at once.
#[derive(Default)]
struct Later {
    clock: System,
    ahead_ms: AtomicI64,
}

impl Clock for Later {
    fn wall_ms(&self) -> i64 {
        self.clock.wall_ms() + self.ahead_ms.load(Ordering::SeqCst)
    }

    fn ticks_ms(&self) -> i64 {
        self.clock.ticks_ms() + self.ahead_ms.load(Ordering::SeqCst)
    }
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "say a folder and how many entries the trail shall have";
    let dir = PathBuf::from(arguments.next().ok_or(usage)?);
    let entries: u64 = arguments.next().ok_or(usage)?.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let (aged, copy) = (dir.join("aged.db"), dir.join("copy.db"));
    fill(&runtime, &aged, entries)?;
    match arguments.next().as_deref() {
        Some("forget") => {
            copied(&aged, &copy)?;
            forget(&runtime, &copy)
        }
        Some(other) => Err(format!("`{other}` is not `forget`").into()),
        None => measure(&runtime, &dir, &aged, &copy),
    }
}

/// Of three entries two are of an effect, which began and ended, and one is of a call that reads.
fn fill(runtime: &Runtime, path: &Path, entries: u64) -> Outcome<()> {
    let store = Arc::new(Sqlite::open(path, Options::default())?);
    let began = Instant::now();
    let written = || -> Outcome<u64> {
        let conn = rusqlite::Connection::open(path)?;
        let sql = "SELECT coalesce(max(number), 0) FROM audit";
        Ok(conn.query_row(sql, (), |row| row.get::<_, i64>(0))?.unsigned_abs())
    };
    let from = written()?.div_ceil(3 * CALLERS);
    let to = entries / (3 * CALLERS);
    let rounds = from..to.max(from);
    let count = rounds.end - rounds.start;
    runtime.block_on(async {
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (store, rounds) = (Arc::clone(&store), rounds.clone());
            callers.spawn(async move {
                for number in rounds {
                    effect::call(&*store, caller, number).await?;
                    store.room().await;
                    let call = format!("call_{number:012}_{caller:02}_r");
                    let asked = json!({ "query": "who is mara?" });
                    store.record(effect::record(call, "core__kb_search", &asked, number).into());
                }
                Outcome::Ok(())
            });
        }
        while let Some(caller) = callers.join_next().await {
            caller??;
        }
        Outcome::Ok(())
    })?;
    let dropped = store.dropped();
    drop(store);
    println!("filled in {:.0?}: {count} rounds, {dropped} records dropped", began.elapsed());
    println!("{} entries, {} MB", written()?, std::fs::metadata(path)?.len() >> 20);
    Ok(())
}

fn measure(runtime: &Runtime, dir: &Path, aged: &Path, copy: &Path) -> Outcome<()> {
    for (said, verify) in [
        ("without a check", Verify::Never),
        // The first time, there is nothing to go on from.
        ("the first time", Verify::Tail),
        ("by its tail", Verify::Tail),
        ("as a whole", Verify::Whole),
    ] {
        let opened = || Sqlite::open(aged, Options { verify, ..Options::default() });
        let took = timed(|| Ok(opened().map(drop)?))?;
        println!("opened {said:17} {took}");
    }
    let took = timed(|| {
        let key = Sqlite::signing_key(aged)?.public();
        let found = haft_store::sqlite::verify(aged, &key, &Sqlite::checkpoints(aged))??;
        println!("                         {} entries are intact", found.entries);
        Ok(())
    })?;
    println!("`haft audit verify`      {took}");
    let took = timed(|| copied(aged, copy))?;
    println!("copied (VACUUM INTO)     {took}");
    let back = dir.join("back.db");
    let took = timed(|| Ok(std::fs::copy(copy, &back).map(|_| ())?))?;
    println!("put back (cp)            {took}");
    std::fs::remove_file(back)?;
    compare(runtime, dir, aged)
}

/// A whole copy of a store in use, as the documents say, with its key and checkpoints.
fn copied(path: &Path, copy: &Path) -> Outcome<()> {
    // Nothing of an earlier copy may tell of more than this one has.
    for beside in ["", "-wal", "-shm", ".head", ".checked"] {
        let left = PathBuf::from(format!("{}{beside}", copy.display()));
        if left.exists() {
            std::fs::remove_file(left)?;
        }
    }
    let conn = rusqlite::Connection::open(path)?;
    conn.execute("VACUUM INTO ?1", (copy.to_string_lossy(),))?;
    for beside in ["key", "checkpoints"] {
        let of = |path: &Path| PathBuf::from(format!("{}.{beside}", path.display()));
        std::fs::copy(of(path), of(copy))?;
    }
    Ok(())
}

/// Calls in turn in both stores, so that whatever else the machine does, it does to both.
fn compare(runtime: &Runtime, dir: &Path, aged: &Path) -> Outcome<()> {
    let empty = tempfile::tempdir_in(dir)?;
    let stores = [
        Sqlite::open(empty.path().join("empty.db"), Options::default())?,
        Sqlite::open(aged, Options::default())?,
    ];
    let at = u64::from(std::process::id()) * MEASURED;
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..20 {
        for (store, took) in stores.iter().zip(&mut took) {
            for number in 0..100 {
                let began = Instant::now();
                runtime.block_on(effect::call(store, MEASURED, at + round * 100 + number))?;
                took.push(began.elapsed());
            }
        }
    }
    let [empty, aged] = took.map(figures);
    println!("claim + settle, empty    p50 {:>8.0?}  p99 {:>8.0?}", empty.0, empty.1);
    println!("claim + settle, aged     p50 {:>8.0?}  p99 {:>8.0?}", aged.0, aged.1);
    println!("aged / empty             p50 {:.2}", aged.0.as_secs_f64() / empty.0.as_secs_f64());
    Ok(())
}

/// How long calls wait while nothing else is done, and while a year's worth is forgotten.
fn forget(runtime: &Runtime, path: &Path) -> Outcome<()> {
    let clock = Arc::new(Later::default());
    let options = Options { clock: clock.clone(), ..Options::default() };
    let store = Arc::new(Sqlite::open(path, options)?);
    let alone = runtime.block_on(beside(&store, MEASURED, async |_: &Sqlite| Ok(())))?;
    println!(
        "claim + settle alone     p50 {:>8.0?}  p99 {:>8.0?}  longest {:.0?}",
        alone.0, alone.1, alone.2
    );
    clock.ahead_ms.store(A_YEAR_MS, Ordering::SeqCst);
    let began = Instant::now();
    let purging = runtime.block_on(beside(&store, MEASURED + 1, async |store: &Sqlite| {
        let gone = store.purge().await?;
        println!("{gone} effects were forgotten in {:.2?}", began.elapsed());
        Ok(())
    }))?;
    println!(
        "while effects go         p50 {:>8.0?}  p99 {:>8.0?}  longest {:.0?}",
        purging.0, purging.1, purging.2
    );
    let began = Instant::now();
    let forgetting = runtime.block_on(beside(&store, MEASURED + 2, async |store: &Sqlite| {
        let (mut gone, mut longest) = (0, Duration::ZERO);
        loop {
            let step = Instant::now();
            let went = store.forget(store.now_ms() - A_YEAR_MS / 2).await?;
            longest = longest.max(step.elapsed());
            gone += went.entries;
            if !went.more {
                break;
            }
        }
        println!(
            "{gone} entries were forgotten in {:.2?}, longest step {longest:.0?}",
            began.elapsed()
        );
        Ok(())
    }))?;
    println!(
        "while entries go         p50 {:>8.0?}  p99 {:>8.0?}  longest {:.0?}",
        forgetting.0, forgetting.1, forgetting.2
    );
    Ok(())
}

/// Makes calls one after the other until the work is done, for a second at least.
async fn beside(
    store: &Arc<Sqlite>,
    caller: u64,
    work: impl AsyncFnOnce(&Sqlite) -> Outcome<()>,
) -> Outcome<(Duration, Duration, Duration)> {
    let done = Arc::new(AtomicBool::new(false));
    let calls = tokio::spawn({
        let (store, done, start) = (Arc::clone(store), Arc::clone(&done), Instant::now());
        async move {
            let (mut took, mut number) = (Vec::new(), 0);
            while !done.load(Ordering::SeqCst) || start.elapsed() < Duration::from_secs(1) {
                let began = Instant::now();
                effect::call(&*store, caller, number).await?;
                took.push(began.elapsed());
                number += 1;
            }
            Outcome::Ok(took)
        }
    });
    let worked = work(store).await;
    done.store(true, Ordering::SeqCst);
    let took = calls.await??;
    worked?;
    let longest = took.iter().max().copied().unwrap_or_default();
    let (p50, p99) = figures(took);
    Ok((p50, p99, longest))
}

/// How long it took, and how much of that the processor worked.
fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<String> {
    let (began, worked) = (Instant::now(), cpu());
    work()?;
    let (took, worked) = (began.elapsed(), cpu() - worked);
    Ok(format!("{took:>10.2?}  cpu {worked:>7.2?}  peak {} MB", peak()))
}

/// The median, and what one in a hundred is slower than.
fn figures(mut took: Vec<Duration>) -> (Duration, Duration) {
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).copied().unwrap_or_default();
    (at(50), at(99))
}

/// The most memory that this process ever had, by Linux's count.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok());
    kilobytes.unwrap_or_default() >> 10
}
