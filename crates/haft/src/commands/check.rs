//! `haft check`

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use haft_runtime::Runtime;
use haft_runtime::policy::Problem;
use haft_server::who::Keys;
use haft_server::who::jwt::Issuers;
use haft_store::Memory;
use serde::Serialize;

use super::serve::{LISTEN, hosts};
use crate::assembly::{IN_THE_CLEAR, block_on, plain};
use crate::cli::Check;
use crate::commands::lint::counted;
use crate::config::Config;
use crate::config::sections;
use crate::output::{Exit, Output, misuse};
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

/// Whether nothing seals what callers write. What keeps the key from being read is found elsewhere.
fn in_the_clear(file: &Path) -> bool {
    let Ok((Some(config), _)) = Config::check(file) else { return false };
    let keys = config.outside.key_place(&config.database()).read();
    keys.is_ok_and(|keys| keys.is_empty())
}

fn found(at: &Place, file: &Path, out: &Output) -> anyhow::Result<Vec<Finding>> {
    let name = file.display().to_string();
    let (config, mistakes) = Config::check(file)?;
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
    inspection.tools(at, &config, out);
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
        self.tell(config.calendar(), "");
        self.tell(config.otlp.collector(|name| std::env::var(name).ok()), "`otlp.endpoint`");
        self.tell(Keys::load(&config.server.keys), "`keys`");
        self.tell(Issuers::load(&config.server.issuers), "`issuers`");
        self.tell(hosts(config, config.server.listen.unwrap_or(LISTEN)), "");
        self.known(config);
    }

    /// Agents and keys of tenants that there are not.
    fn known(&mut self, config: &Config) {
        let records = config.records();
        let is = |tenant: &str| records.tenants.iter().any(|one| one.id == tenant);
        let accounts = config.outside.accounts.iter().map(|one| one.account());
        let named =
            accounts.map(|one| (one.tenant, format!("`connections.accounts`, `{}`", one.id)));
        let keys = config.server.keys.iter();
        let named =
            named.chain(keys.map(|one| (one.tenant.clone(), format!("`keys`, `{}`", one.id))));
        let rules = records.policies.iter();
        let named =
            named.chain(rules.map(|one| (one.tenant.clone(), format!("`policies`, `{}`", one.id))));
        for (tenant, what) in named.filter(|(tenant, _)| !is(tenant)).collect::<Vec<_>>() {
            let help = "it may be one of the store; declare it under [[tenants]] where it is not";
            self.say("warning", &format!("{what}: no tenant `{tenant}` is declared; {help}"));
        }
    }

    /// What is needed beside the file: it may be there where the server runs, and not here.
    fn secrets(&mut self, config: &Config) {
        for one in &config.outside.accounts {
            if let Err(why) = one.credentials() {
                let id = one.account().id;
                self.say("warning", &format!("`connections.accounts`, `{id}`: {why}"));
            }
        }
        if let Err(why) = config.outside.key_place(&config.database()).read() {
            self.say("warning", &format!("`connections.key_env`: {why}"));
        }
        let variable = |name: &str| std::env::var(name).ok();
        let common = config.common_model();
        if let (Some(_), Err(why)) = (&common.provider, common.endpoint(variable)) {
            self.say("warning", &format!("`model.provider`: {why}"));
        }
        for (tenant, agent) in config.agents_with_models() {
            if let Err(why) = config.model(tenant, agent).endpoint(variable) {
                self.say("warning", &format!("the model of `{tenant}/{agent}`: {why}"));
            }
        }
    }

    /// The tools, and what is said about them.
    fn tools(&mut self, at: &Place, config: &Config, out: &Output) {
        let registry = match at.registry(None, out) {
            Ok(registry) => registry,
            Err(why) => return self.say("error", &format!("`toolset`: {why:#}")),
        };
        let policy = match config.policy(&registry) {
            Ok(policy) => policy,
            Err(problems) => return problems.iter().for_each(|one| self.problem(one)),
        };
        policy.warnings().iter().for_each(|one| self.problem(one));
        let made = block_on(async {
            let store = Arc::new(Memory::new());
            let executors = Arc::new(haft_exec::Executors::new());
            let mut builder = Runtime::builder(registry, store, executors)
                .policy(Arc::new(policy))
                .rules(config.rules.clone())
                .records(config.records())
                .settings(config.settings.clone())
                .define(Arc::new(haft_build::Drafts))
                .guide();
            if let Ok(source) = config.source() {
                builder = builder.source(source);
            }
            let runtime = builder.build()?;
            runtime.refresh().await?;
            Ok(runtime.configured().problems.clone())
        });
        match made {
            Ok(problems) => problems.iter().for_each(|one| self.problem(one)),
            Err(why) => self.say("error", &format!("{why:#}")),
        }
    }

    /// A problem of the policy or of who has what. Where it names no line of its own, what it names in
    /// this file is looked for.
    fn problem(&mut self, one: &Problem) {
        let help = one.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let message = format!("{}{help}", one.message);
        let own = one.file == self.file || one.file.is_empty() || one.file == "store";
        let place = sections::place(self.text, &message).filter(|_| own && one.line.is_none());
        self.found.push(Finding {
            file: if own { self.file.to_owned() } else { one.file.clone() },
            line: one.line.or(place.map(|(line, _)| line)),
            column: place.map(|(_, column)| column),
            severity: if one.is_error() { "error" } else { "warning" },
            message,
        });
    }
}
