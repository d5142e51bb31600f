//! The crash harness. A *sink* performs effects and counts them, a *victim* runs haft on a database
//! and is killed, and a *driver* sends calls like a client that never gives up, then compares what it
//! was told, what the sink did and what the ledger says.
//!
//! **Knows** the runtime, the store and native tools, as a program that embeds them does. **Does not
//! know** how any of them works inside: it only looks at what comes out.

mod dice;
mod fail;
mod run;
mod sink;
mod victim;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Kills haft while it acts, and checks what is left")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Drives, kills and checks. Prints one line; ends with 1 when a promise was broken.
    Run(run::Options),
    /// Performs effects over loopback and counts them. Started by `run`.
    Sink {
        /// Its log.
        #[arg(long)]
        log: PathBuf,
    },
    /// Runs haft. Started by `run`.
    Victim(victim::Options),
}

fn main() -> anyhow::Result<ExitCode> {
    match Arguments::parse().command {
        Command::Run(options) => run::run(options),
        Command::Sink { log } => sink::serve(&log).map(|()| ExitCode::SUCCESS),
        Command::Victim(options) => victim::serve(&options).map(|()| ExitCode::SUCCESS),
    }
}
