//! The log of `haft serve`, on standard error.

use std::io::{IsTerminal as _, stderr};

use anyhow::{Context as _, anyhow};
use haft_server::logs::Lines;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

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
    let wanted = wanted(level);
    let started = match json {
        true => {
            log.json().flatten_event(true).with_current_span(false).finish().with(wanted).try_init()
        }
        false => log.with_ansi(terminal).compact().finish().with(wanted).try_init(),
    };
    started.map_err(|why| anyhow!("the log cannot be started: {why}"))?;
    haft_server::logs::panics();
    Ok(())
}

/// What is told from which level on. The SDK that speaks MCP warns of what clients get wrong, in their
/// own words and without saying whose; the server has a line of its own for that (`mcp_refused`).
fn wanted(level: LevelFilter) -> Targets {
    Targets::new().with_default(level).with_target("rmcp", level.min(LevelFilter::ERROR))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn what_clients_get_wrong_is_not_told_in_their_words() {
        for level in [LevelFilter::WARN, LevelFilter::INFO] {
            let wanted = wanted(level);
            for place in ["rmcp", "rmcp::service"] {
                assert!(!wanted.would_enable(place, &Level::WARN), "{place}");
                assert!(wanted.would_enable(place, &Level::ERROR), "{place}");
            }
            assert!(wanted.would_enable("haft_server::tending", &Level::WARN));
        }
        assert!(wanted(LevelFilter::INFO).would_enable("haft_server::mcp::noted", &Level::INFO));
    }
}
