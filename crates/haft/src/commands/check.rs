//! `haft check`

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Problem};
use haft_server::who::jwt::Issuers;
use haft_server::who::{BadKey, Keys};
use haft_store::vault::{KeyPlace, Keyring};
use haft_store::{Memory, Sqlite};
use serde::Serialize;

use super::serve::{LISTEN, hosts};
use crate::assembly::{IN_THE_CLEAR, block_on, plain};
use crate::cli::Check;
use crate::commands::lint::counted;
use crate::config::sections;
use crate::config::{Checked, Config};
use crate::output::{Exit, Output, in_words, misuse};
use crate::source::{Place, compiled};

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
        self.tell(writable(&config.database()), "`store.path`");
    }

    /// Keys and issuers: each of them, though the first that is wrong keeps the server from starting.
    fn keys(&mut self, config: &Config) {
        let now = jiff::Timestamp::now().as_millisecond();
        let mut good = Vec::new();
        for key in &config.server.keys {
            let faults = key.faults();
            for why in &faults {
                self.say("error", &format!("`keys`, `{}`: {why}", key.id));
            }
            if faults.is_empty() {
                good.push(key.clone());
                if let Err(why) = Keys::load(&good) {
                    good.pop();
                    self.say("error", &format!("`keys`, `{}`: {why}", key.id));
                }
            }
            if key.expires.is_some_and(|at| at.0 <= now) {
                let what = "it has ended and opens nothing; make another with `haft keys new`";
                self.say("warning", &format!("`keys`, `{}`: {what}", key.id));
            }
        }
        let mut good = Vec::new();
        for issuer in &config.server.issuers {
            good.push(issuer.clone());
            if let Err(why) = Issuers::load(&good) {
                good.pop();
                self.say("error", &format!("`issuers`: {why}"));
            }
        }
    }

    /// What can be told of keys that could not be read as a whole.
    fn unread_keys(&mut self, config: &Config) {
        let Some(whole) = sections::table(self.text) else { return };
        let text = |key: &toml::Value, name| key.get(name)?.as_str().map(str::to_owned);
        for key in whole.get("keys").and_then(toml::Value::as_array).into_iter().flatten() {
            let (Some(id), Some(sha256)) = (text(key, "id"), text(key, "sha256")) else { continue };
            let was_read = config.server.keys.iter().any(|one| one.id == id);
            if let Some(why) = BadKey::of_hash(&id, &sha256).filter(|_| !was_read) {
                self.say("error", &format!("`keys`, `{id}`: {why}"));
            }
        }
    }

    /// Agents and keys of tenants that there are not.
    fn known(&mut self, config: &Config) {
        let records = config.records();
        let is = |tenant: &str| records.tenants.iter().any(|one| one.id == tenant);
        let accounts = config.outside.accounts.iter().map(|one| one.account());
        let mut named: Vec<(String, String)> = accounts
            .map(|one| (one.tenant, format!("`connections.accounts`, `{}`", one.id)))
            .collect();
        let keys = config.server.keys.iter();
        named.extend(keys.map(|one| (one.tenant.clone(), format!("`keys`, `{}`", one.id))));
        let rules = records.policies.iter();
        named.extend(rules.map(|one| (one.tenant.clone(), format!("`policies`, `{}`", one.id))));
        let shared = config.common_model().tenants.iter().flatten().filter(|one| *one != "*");
        named.extend(shared.map(|one| (one.clone(), "`model.tenants`".to_owned())));
        named.retain(|(tenant, _)| !is(tenant));
        for (tenant, what) in named {
            let help = "it may be one of the store; declare it under [[tenants]] where it is not";
            self.say("warning", &format!("{what}: no tenant `{tenant}` is declared; {help}"));
        }
        for (tenant, agent) in config.agents_with_models() {
            if !records.agents.iter().any(|one| one.tenant == *tenant && one.id == *agent) {
                let what = format!("no agent `{agent}` of tenant `{tenant}` is declared");
                let help =
                    "it may be one of the store; declare it under [[agents]] where it is not";
                self.say(
                    "warning",
                    &format!("{}: {what}; {help}", section(tenant, agent, self.text)),
                );
            }
        }
    }

    /// The models that agents talk to: where they are, and the connections that have their keys.
    fn models(&mut self, config: &Config) {
        let home = config.first_tenant();
        let mut all = vec![("`model".to_owned(), config.common_model().clone(), home)];
        for (tenant, agent) in config.agents_with_models() {
            let name = section(tenant, agent, self.text);
            let own = config.model(tenant, agent);
            all.push((name.trim_end_matches('`').to_owned(), own, config.pays(tenant, agent)));
        }
        for (name, model, tenant) in all {
            // One that is not its own is said once, where it stands.
            let own = name == "`model" || model.url != config.common_model().url;
            if let Err(why) = model.place()
                && own
            {
                self.say("error", &format!("{name}.url`: {why}"));
            }
            let missing =
                model.connection.as_ref().filter(|id| !config.declares(&tenant, id.as_str()));
            if let Some(id) = missing {
                self.unconnected(&format!("{name}.connection`"), &tenant, id);
            }
        }
        for agent in &config.records.agents {
            let Some(model) = &agent.model else { continue };
            if !config.declares(&agent.tenant, &model.connection) {
                let name = format!("`agents`, `{}`: `model`", agent.id);
                self.unconnected(&name, &agent.tenant, &model.connection);
            }
        }
    }

    fn unconnected(&mut self, what: &str, tenant: &str, id: &str) {
        let help = "it may be one of the store (`haft connections list`); declare it under \
                    [[connections.accounts]] where it is not";
        let why = format!("no connection `{id}` of tenant `{tenant}` is declared");
        self.say("warning", &format!("{what}: {why}; {help}"));
    }

    /// What is needed beside the file: it may be there where the server runs, and not here.
    fn secrets(&mut self, config: &Config) {
        for one in &config.outside.accounts {
            let id = one.account().id;
            if let Err(why) = one.credentials() {
                self.say("warning", &format!("`connections.accounts`, `{id}`: {why}"));
            }
            if let Some(path) = one.exposed() {
                let path = path.display();
                let why =
                    format!("everybody on this machine can read `{path}`; `chmod 600 {path}`");
                self.say("warning", &format!("`connections.accounts`, `{id}`: {why}"));
            }
        }
        let place = config.outside.key_place(&config.database());
        if let Err(why) = place.read() {
            let (name, is_here) = match &place {
                KeyPlace::Env(name) => ("`connections.key_env`", std::env::var_os(name).is_some()),
                KeyPlace::File(path) => ("`connections`", path.exists()),
                KeyPlace::Named(path) => ("`connections.key_file`", path.exists()),
            };
            // Whoever checks may not be the one who may read it. But what is here and no key will not do.
            let hidden = why.kind() == std::io::ErrorKind::PermissionDenied;
            let severity = if is_here && !hidden { "error" } else { "warning" };
            self.say(severity, &format!("{name}: {why}"));
        } else if let Ok(keys) = place.read() {
            self.lost_keys(config, &keys);
        }
        let variable = |name: &str| std::env::var(name).ok();
        let common = config.common_model();
        if let (Some(_), Err(why)) = (&common.provider, common.endpoint(variable)) {
            self.say("warning", &format!("`model.provider`: {why}"));
        }
        for (tenant, agent) in config.agents_with_models() {
            if let Err(why) = config.model(tenant, agent).endpoint(variable) {
                self.say("warning", &format!("{}: {why}", section(tenant, agent, self.text)));
            }
        }
    }

    /// Keys that something in the store was sealed with, and that are not here.
    fn lost_keys(&mut self, config: &Config, keys: &Keyring) {
        let database = config.database();
        let sealed = match Sqlite::sealed_with(&database) {
            Ok(sealed) => sealed,
            // It may be of another version; whoever opens it says more.
            Err(_) => return,
        };
        for id in sealed.iter().filter(|id| !keys.knows(id)) {
            let what =
                format!("something in `{}` was sealed with the key {id}", database.display());
            let help = "it is not here, and without it the store does not open; put it back";
            self.say("error", &format!("`connections`: {what}; {help}"));
        }
    }

    /// What of the tools can be told where something could not be read: that there are some, and that
    /// the files with rules are there.
    fn files(&mut self, at: &Place, config: &Config, out: &Output) {
        let (source, missing) = config.readable_source();
        missing.iter().for_each(|one| self.problem(one));
        // Where none is left, it may be what could not be read.
        let toolset = at.toolset_beside(config.toolset.clone()).ok().flatten();
        let Some(registry) = toolset.map(|one| compiled(&one, out)) else { return };
        let registry = match registry {
            Ok(registry) => registry,
            Err(why) => return self.say("error", &format!("`toolset`: {why:#}")),
        };
        // Rules may name tools that tenants bring along, and those may stand there, too.
        if self.text.contains("definitions") {
            return;
        }
        let problems = config.policy_of(&source, &registry).err().unwrap_or_default();
        problems.iter().for_each(|one| self.problem(one));
    }

    /// The tools, and what is said about them.
    fn tools(&mut self, at: &Place, config: &Config, out: &Output) {
        let toolset = at.toolset_beside(config.toolset.clone()).ok().flatten();
        let registry = toolset.map_or_else(|| at.registry(None, out), |one| compiled(&one, out));
        let (source, missing) = config.readable_source();
        missing.iter().for_each(|one| self.problem(one));
        let registry = match registry {
            Ok(registry) => registry,
            Err(why) => return self.say("error", &format!("`toolset`: {why:#}")),
        };
        // What is wrong with the common rules hides nothing that is wrong with a tenant's, and a file
        // that is not there nothing that is wrong with the others.
        let policy = config.policy_of(&source, &registry).unwrap_or_else(|problems| {
            problems.iter().for_each(|one| self.problem(one));
            Policy::deny_all("the policy is broken")
        });
        policy.warnings().iter().for_each(|one| self.problem(one));
        let made = block_on(async {
            let store = Arc::new(Memory::new());
            let executors = Arc::new(haft_exec::Executors::new());
            let builder = Runtime::builder(registry, store, executors)
                .policy(Arc::new(policy))
                .rules(config.rules.clone())
                .records(config.records())
                .settings(config.settings.clone())
                .define(Arc::new(haft_build::Drafts))
                .source(source)
                .guide();
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
        let mut message = format!("{}{help}", one.message);
        // Rules of a tenant: their Cedar texts count their own lines.
        if let Some(id) = one.file.strip_prefix("haft.toml:").filter(|id| !id.starts_with(' ')) {
            message = match one.line {
                Some(line) => {
                    format!("`policies`, `{id}`: line {line} of its Cedar rules: {message}")
                }
                None => format!("`policies`, `{id}`: {message}"),
            };
            return self.say(if one.is_error() { "error" } else { "warning" }, &message);
        }
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

/// The section of an agent's model, as the file has it.
fn section(tenant: &str, agent: &str, text: &str) -> String {
    let whole = format!("models.\"{tenant}/{agent}\"");
    match text.contains(&whole) {
        true => format!("`{whole}`"),
        false => format!("`models.{agent}`"),
    }
}

/// Whether the database can be opened or made, without doing so: an empty file is made beside it, and taken
/// away at once. Some folders look as if they could be written and cannot.
fn writable(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if path.is_dir() {
        bail!("`{shown}` is a folder; name a file in it, `{shown}/haft.db` say");
    }
    let existing = path.ancestors().find(|one| one.exists());
    let place = existing.filter(|one| !one.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if place != path && !place.is_dir() {
        bail!("`{shown}` cannot be made: `{}` is no folder", place.display());
    }
    let failed = |why: std::io::Error| {
        anyhow!("`{}` cannot be written: {}", place.display(), in_words(&why))
    };
    if place == path {
        return std::fs::OpenOptions::new().append(true).open(path).map(drop).map_err(failed);
    }
    let probe = place.join(format!(".haft-check-{}", std::process::id()));
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&probe);
    made.map_err(failed)?;
    std::fs::remove_file(&probe).map_err(failed)
}
