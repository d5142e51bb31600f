//! `haft check`: everything that somebody should look at, at once. What concerns one kind of thing is
//! looked at in a file of its own.

mod keys;
mod models;
mod secrets;
mod store;
#[cfg(test)]
mod tests;
mod tools;

use std::path::Path;

use anyhow::Context as _;
use haft_store::Sqlite;
use serde::Serialize;

use super::serve::{LISTEN, host_faults};
use crate::assembly::{IN_THE_CLEAR, plain};
use crate::cli::Check;
use crate::commands::lint::counted;
use crate::config::sections;
use crate::config::{Checked, Config};
use crate::output::{Exit, Output, in_words, misuse};
use crate::source::Place;

/// One thing that somebody should look at.
#[derive(Debug, PartialEq, Serialize)]
struct Finding {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    severity: &'static str,
    message: String,
}

impl Finding {
    fn shown(&self) -> String {
        let mut place = self.file.clone();
        for number in [self.line, self.column].into_iter().flatten() {
            place.push_str(&format!(":{number}"));
        }
        format!("{place}: {}: {}", self.severity, self.message)
    }
}

pub(crate) fn run(at: &Place, options: &Check, out: &mut Output) -> anyhow::Result<Exit> {
    let here = std::env::current_dir().context("the current folder cannot be found")?;
    let Some(file) = Config::nearest(at.config.as_deref(), &here) else {
        return Err(misuse(
            "there is no haft.toml in this folder or above it; name one with `--config FILE`, or make one \
             with `haft init`",
        ));
    };
    let findings = found(at, &file, out)?;
    let errors = findings.iter().filter(|one| one.severity == "error").count();
    if options.json {
        out.json(&findings)?;
    } else {
        findings.iter().for_each(|one| out.line(&plain(&one.shown())));
        let warnings = counted(findings.len() - errors, "warning");
        let name = plain(&file.display().to_string());
        out.note(&format!("{name}: {}, {warnings}", counted(errors, "error")));
        if in_the_clear(&file) {
            out.note(IN_THE_CLEAR);
        }
    }
    Ok(if errors == 0 { Exit::Done } else { Exit::Misused })
}

/// Whether nothing seals what callers write. What keeps the key from being read is found elsewhere, and so
/// is a key that was lost.
fn in_the_clear(file: &Path) -> bool {
    let Ok(Checked { config: Some(config), .. }) = Config::check(file) else { return false };
    let keys = config.outside.key_place(&config.database()).read();
    let sealed = Sqlite::sealed_with(&config.database()).unwrap_or_default();
    sealed.is_empty() && keys.is_ok_and(|keys| keys.is_empty())
}

fn found(at: &Place, file: &Path, out: &Output) -> anyhow::Result<Vec<Finding>> {
    let name = file.display().to_string();
    let Checked { config, left_out, mistakes } = Config::check(file)?;
    let mut all: Vec<Finding> = mistakes
        .into_iter()
        .map(|one| Finding {
            file: name.clone(),
            line: Some(one.line),
            column: Some(one.column),
            severity: "error",
            message: one.why,
        })
        .collect();
    let Some(config) = config else { return Ok(all) };
    let text = std::fs::read_to_string(file)?;
    let mut inspection = Inspection { file: &name, text: &text, found: Vec::new() };
    inspection.parts(&config);
    inspection.secrets(&config);
    inspection.models(&config);
    // What is named may be what could not be read.
    if !left_out.has_any(&["tenants", "agents"]) {
        inspection.known(&config);
    }
    if !left_out.has_any(&["connections"]) {
        inspection.connected(&config);
    }
    inspection.unread_keys(&config);
    inspection.tools(at, &config, &left_out, out);
    all.append(&mut inspection.found);
    Ok(all)
}

/// What is found beyond the shape of the file.
struct Inspection<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Finding>,
}

impl Inspection<'_> {
    fn say(&mut self, severity: &'static str, message: &str) {
        let place = self.place(message);
        self.add(Finding {
            file: self.file.to_owned(),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            severity,
            message: message.to_owned(),
        });
    }

    /// What is wrong for several is said once.
    fn add(&mut self, finding: Finding) {
        if !self.found.contains(&finding) {
            self.found.push(finding);
        }
    }

    /// Where what a message names stands.
    fn place(&self, message: &str) -> Option<(usize, usize)> {
        sections::place(self.text, message).or_else(|| self.place_of_first(message))
    }

    /// Where what a problem begins with stands: `deny: …`, or an agent's name.
    fn place_of_first(&self, message: &str) -> Option<(usize, usize)> {
        let said = message.strip_prefix("haft.toml: ").unwrap_or(message);
        let (what, _) = said.split_once(':')?;
        let named = match what.split_once(' ') {
            Some(("agent", id)) => format!("`agents`, {id}"),
            Some(("tenant", id)) => format!("`tenants`, {id}"),
            Some(_) => return None,
            None => format!("`policy.{what}`"),
        };
        sections::place(self.text, &named)
    }

    fn tell_all(&mut self, wrong: &[anyhow::Error]) {
        wrong.iter().for_each(|why| self.say("error", &format!("{why:#}")));
    }

    /// Whatever is only looked at when something is started.
    fn parts(&mut self, config: &Config) {
        self.tell_all(&config.faults());
        self.sources(config);
        let (wrong, missing) = config.otlp.faults(|name| std::env::var(name).ok());
        wrong.iter().for_each(|why| self.say("error", why));
        missing.iter().for_each(|why| self.say("warning", why));
        self.keys(config);
        self.tell_all(&host_faults(config, config.server.listen.unwrap_or(LISTEN)));
        if let Err(why) = store::writable(&config.database()) {
            self.say("error", &format!("`store.path`: {why:#}"));
        }
    }

    /// Files of the knowledge base that are not here. They need not be where the server runs: it reads
    /// what was made of them.
    fn sources(&mut self, config: &Config) {
        for source in config.kb_sources() {
            if let Err(why) = std::fs::metadata(&source) {
                let (shown, why) = (source.display(), in_words(&why));
                let help = "`haft kb import` needs it";
                let said = format!("`kb.sources`: `{shown}` cannot be read: {why}; {help}");
                self.say("warning", &said);
            }
        }
    }
}
