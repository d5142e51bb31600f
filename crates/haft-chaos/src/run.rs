//! The driver: a client that never gives up, while what it talks to is killed again and again; and
//! the checker at its end.

mod check;
mod child;
mod client;
mod ledger;
mod life;
mod pause;

use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;

use crate::dice::Dice;
use crate::fail;
use crate::sink::Log;
use crate::victim::Sabotage;
use check::Verdict;
use child::{Sink, Stage};
use client::Client;
use life::{Life, Until};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Every failpoint with every class, pauses and some random kills: the run of `./test`.
    #[arg(long, conflicts_with = "kills")]
    short: bool,
    /// How often to kill.
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// How often to stop besides, for longer than a lease, and let go on.
    #[arg(long, default_value_t = 0, conflicts_with = "short")]
    stops: u64,
    /// How many keys to use.
    #[arg(long)]
    keys: Option<u64>,
    /// What chance follows from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many requests are under way at once.
    #[arg(long, default_value_t = 64)]
    window: usize,
    /// Keep database and log in this directory; without it they go when the run ends.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Break something on purpose, to see that it is noticed.
    #[arg(long)]
    sabotage: Option<Sabotage>,
}

pub(crate) fn run(options: Options) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let passing = tempfile::tempdir()?;
    let dir = options.dir.clone().unwrap_or_else(|| passing.path().to_owned());
    std::fs::create_dir_all(&dir).with_context(|| format!("`{}`", dir.display()))?;
    let clean = runtime.block_on(drive(&options, &dir))?;
    Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn drive(options: &Options, dir: &Path) -> anyhow::Result<bool> {
    let log = dir.join("sink.log");
    let sink = Sink::start(&log).await?;
    let stage = Stage {
        db: dir.join("haft.db"),
        sink: sink.port,
        closed: closed_port()?,
        sabotage: options.sabotage,
    };
    let mut dice = Dice::new(options.seed);
    let keys = options.keys.unwrap_or(2_000);
    let plan = match options.short {
        true => life::short(&mut dice),
        false => life::long(&mut dice, options.kills, keys),
    };
    let mut client = Client::new(keys, options.window, dice);
    let began = Instant::now();
    let mut kills = 0;
    for life in plan.into_iter().chain(life::stops(options.stops)) {
        kills += match life {
            Life::Killed(killed) => client.live(&stage, killed).await?,
            Life::Stopped { point, act } => pause::stop(&mut client, &stage, point, act).await?,
        };
    }
    client.finish(&stage).await?;
    let took = began.elapsed().as_secs_f64();
    sink.end().await?;
    let told = client.told();
    let entries = Log::read(&log)?;
    let ledger = ledger::read(&stage.db, told).await?;
    let verdict = check::check(told, &entries, &ledger);
    let speed = client.answered() as f64 / took;
    report(&verdict, &client, kills, speed)?;
    Ok(verdict.is_clean())
}

/// The one line; what was wrong goes to standard error.
fn report(verdict: &Verdict, client: &Client, kills: u64, speed: f64) -> anyhow::Result<()> {
    let mut error = std::io::stderr();
    for wrong in verdict.wrong.iter().take(20) {
        writeln!(error, "{wrong}")?;
    }
    let Verdict { duplicated, lost, falsely_failed, unknown, .. } = verdict;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "keys {}, kills {kills}, concurrent duplicates {}, duplicated {duplicated}, lost {lost}, \
         falsely failed {falsely_failed}, unknown {unknown}, calls per second {speed:.0}",
        client.used(),
        client.duplicates(),
    )?;
    Ok(out.flush()?)
}

/// A port on loopback that was free a moment ago. Nobody listens there.
fn closed_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Says why a run cannot do what was asked of it.
fn need_failpoints() -> anyhow::Result<()> {
    anyhow::ensure!(
        fail::BUILT_IN,
        "this build has no failpoints; build it with `--features failpoints`"
    );
    Ok(())
}
