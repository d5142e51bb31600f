//! `haft check`: everything that somebody should look at, at once. What concerns one kind of thing is
//! looked at in a file of its own.

mod keys;
mod models;
mod secrets;
mod store;
mod tools;

use std::path::Path;

use anyhow::Context as _;
use haft_store::Sqlite;
use serde::Serialize;

use super::serve::{LISTEN, hosts};
use crate::assembly::{IN_THE_CLEAR, plain};
use crate::cli::Check;
use crate::commands::lint::counted;
use crate::config::sections;
use crate::config::{Checked, Config};
use crate::output::{Exit, Output, in_words, misuse};
use crate::source::Place;

/// One thing that somebody should look at.
#[derive(Debug, Serialize)]
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
    let Checked { config, is_whole, mistakes } = Config::check(file)?;
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
    // What is named may stand in what could not be read.
    if is_whole {
        inspection.known(&config);
        inspection.models(&config);
        inspection.tools(at, &config, out);
    } else {
        inspection.unread_keys(&config);
        inspection.files(at, &config, out);
    }
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
        let place = sections::place(self.text, message);
        self.found.push(Finding {
            file: self.file.to_owned(),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            severity,
            message: message.to_owned(),
        });
    }

    fn tell<T>(&mut self, part: Result<T, impl Into<anyhow::Error>>, context: &str) {
        if let Err(why) = part {
            let why: anyhow::Error = why.into();
            let message = match context {
                "" => format!("{why:#}"),
                context => format!("{context}: {why:#}"),
            };
            self.say("error", &message);
        }
    }

    /// Whatever is only looked at when something is started.
    fn parts(&mut self, config: &Config) {
        self.tell(config.kb(), "");
        self.sources(config);
        self.tell(config.calendar(), "");
        let variable = |name: &str| std::env::var(name).ok();
        if let Err(why) = config.otlp.collector(variable) {
            self.say("warning", &format!("`otlp.headers`: {why:#}"));
        }
        // The address is wrong or right wherever the values of its headers are.
        let otel = |name: &str| name.starts_with("OTEL_");
        let found =
            config.otlp.collector(|name| variable(name).or((!otel(name)).then(|| "-".into())));
        let checked = found.ok().flatten().map_or(Ok(()), |one| one.check());
        self.tell(checked.map_err(anyhow::Error::msg), "");
        self.keys(config);
        self.tell(hosts(config, config.server.listen.unwrap_or(LISTEN)), "");
        self.tell(store::writable(&config.database()), "`store.path`");
    }

    /// Files of the knowledge base that are not here. They need not be where the server runs: it reads
    /// what was made of them.
    fn sources(&mut self, config: &Config) {
        for source in config.kb().map(|kb| kb.sources).unwrap_or_default() {
            if let Err(why) = std::fs::metadata(&source) {
                let (shown, why) = (source.display(), in_words(&why));
                let help = "`haft kb import` needs it";
                let said = format!("`kb.sources`: `{shown}` cannot be read: {why}; {help}");
                self.say("warning", &said);
            }
        }
    }
}
