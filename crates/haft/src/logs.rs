//! The log of `haft serve`, on standard error.

use std::io::{IsTerminal as _, stderr};

use anyhow::{Context as _, anyhow};
use haft_server::logs::Lines;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt;

use crate::config::Logging;

/// Starts the log. Whoever does not read it keeps nobody waiting.
pub(crate) fn start(how: Logging) -> anyhow::Result<()> {
    let terminal = stderr().is_terminal();
    let (json, level) = match how {
        Logging::Off => return Ok(()),
        Logging::Json => (true, LevelFilter::INFO),
        Logging::Text => (false, LevelFilter::INFO),
        // Every call is on record in any case. Two lines more for each are for who asks for them.
        Logging::Auto => (!terminal, LevelFilter::WARN),
    };
    let lines = Lines::to(stderr()).context("no thread to write the log with")?;
    let lines = lines.coloured(terminal && !json);
    let log = fmt().with_max_level(level).with_target(false).with_writer(move || lines.clone());
    let started = match json {
        true => log.json().flatten_event(true).with_current_span(false).try_init(),
        false => log.with_ansi(terminal).compact().try_init(),
    };
    started.map_err(|why| anyhow!("the log cannot be started: {why}"))?;
    haft_server::logs::panics();
    Ok(())
}
