//! Puts a runtime together from `haft.toml`: registry, store, policy, directory, executors.

use std::collections::HashMap;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use haft_build::diagnostic::render::Colour;
use haft_core::call::{Caller, Principal};
use haft_core::contract::{Capability, Handler};
use haft_core::ledger::EffectRecord;
use haft_core::port::{Boxed, Ended, Execute, Job, Observe, Publish, Store as _, StoreError};
use haft_core::record::{Event, EventKind};
use haft_core::{Digest, Registry, Tool, ToolError, nearest};
use haft_exec::http::Fetch;
use haft_exec::{Executors, Js, Native, Process, js, process};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Problem, Severity};
use haft_runtime::redact::is_hidden;
use haft_runtime::toolbox::Records;
use haft_store::{Options, Sqlite};
use haft_tools::kb::{Base, Provider};

use crate::bundled;
use crate::config::Config;
use crate::links::Links;
use crate::named;
use crate::output::{Output, in_words, misuse};
use crate::signals;
use crate::source::{Place, Tools};

/// A runtime and the store behind it.
pub(crate) struct Desk {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<Sqlite>,
    pub(crate) config: Config,
    pub(crate) links: Links,
    /// What is wrong with the policy: everything is denied.
    broken: Vec<Problem>,
}

impl Desk {
    /// Opens everything that calls need. The terminal is the client.
    pub(crate) fn open(at: &Place, registry: Option<&Path>, out: &Output) -> anyhow::Result<Self> {
        Self::open_for(at, registry, Arc::new(Client { colour: out.colour() }), out)
    }

    /// The same, for another client.
    pub(crate) fn open_for(
        at: &Place,
        registry: Option<&Path>,
        publish: Arc<dyn Publish>,
        out: &Output,
    ) -> anyhow::Result<Self> {
        Self::open_observed(at, registry, publish, Vec::new(), out)
    }

    /// The same, with a configuration that the command line changes.
    pub(crate) fn open_with(
        at: &Place,
        registry: Option<&Path>,
        publish: Arc<dyn Publish>,
        change: &dyn Fn(&mut Config) -> anyhow::Result<()>,
        out: &Output,
    ) -> anyhow::Result<Self> {
        let at = &bundled::or_here(at, registry, out)?;
        let mut config = at.config()?;
        change(&mut config)?;
        let tools = Tools::All(at.registry(registry, out)?);
        Self::assemble((at, config), tools, publish, Vec::new(), out)
    }

    /// The same for what is said about records alone: no tool is called, so none has to build.
    pub(crate) fn open_for_records(at: &Place, out: &Output) -> anyhow::Result<Self> {
        let at = &bundled::or_here(at, None, out)?;
        let (config, tools) = (at.config()?, at.tools_for_records(out)?);
        let publish = Arc::new(Client { colour: out.colour() });
        Self::assemble((at, config), tools, publish, Vec::new(), out)
    }

    /// The same, with somebody who counts.
    pub(crate) fn open_observed(
        at: &Place,
        registry: Option<&Path>,
        publish: Arc<dyn Publish>,
        observers: Vec<Arc<dyn Observe>>,
        out: &Output,
    ) -> anyhow::Result<Self> {
        let at = &bundled::or_here(at, registry, out)?;
        let (config, tools) = (at.config()?, Tools::All(at.registry(registry, out)?));
        Self::assemble((at, config), tools, publish, observers, out)
    }

    fn assemble(
        (at, config): (&Place, Config),
        tools: Tools,
        publish: Arc<dyn Publish>,
        observers: Vec<Arc<dyn Observe>>,
        out: &Output,
    ) -> anyhow::Result<Self> {
        let toolset = at.toolset().ok();
        let store = Arc::new(open_store(&config)?);
        let links = Links::open(&config, &store)?;
        let (registry, whole, policy, broken) = match tools {
            Tools::All(registry) => match config.policy(&registry) {
                Ok(policy) => (registry, true, policy, Vec::new()),
                Err(problems) => {
                    (registry, true, Policy::deny_all("the policy is broken"), problems)
                }
            },
            // Its rules name tools that are not here.
            Tools::Sound(registry) => {
                (registry, false, Policy::deny_all("the toolset does not build"), Vec::new())
            }
        };
        for problem in &broken {
            out.note(&problem.to_string());
        }
        for problem in policy.warnings() {
            out.note(&problem.to_string());
        }
        let kb = config.kb()?;
        let base = Provider::new(Arc::new(Base::new(kb.setup)), kb.namespaces);
        let calendar = haft_tools::calendar::Provider::new(
            store.clone(),
            links.client.clone(),
            config.calendar()?,
        );
        let executors = links.executors(&config, &registry, toolset);
        let mut builder = Runtime::builder(registry, store.clone(), executors)
            .provide(Capability::Kb, Arc::new(base));
        // Without its files a policy denies everything, whatever the store holds.
        if whole && let Ok(source) = config.source() {
            builder = builder.source(source);
        }
        for observer in observers {
            builder = builder.observe(observer);
        }
        let runtime = builder
            .policy(Arc::new(policy))
            .rules(config.rules.clone())
            .records(config.records())
            .settings(config.settings.clone())
            .publish(publish)
            .secret(secret(&config)?)
            .broker(links.broker.clone())
            .connections(links.accounts.clone())
            .define(Arc::new(haft_build::Drafts))
            .provide(Capability::Http, Arc::new(Fetch::new(links.client.clone())))
            .provide(Capability::Calendar, Arc::new(calendar))
            .provide(Capability::Images, Arc::new(links.images(&config)))
            .guide()
            .build()?;
        let desk = Self { runtime, store, config, links, broken };
        if let Some(why) = desk.store.only_read() {
            out.note(&format!("warning: {}", plain(&why)));
        }
        if whole {
            desk.follow(out)?;
        }
        Ok(desk)
    }

    /// Puts in force what the store holds beside what `haft.toml` declares.
    fn follow(&self, out: &Output) -> anyhow::Result<()> {
        let handle = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| handle.block_on(self.runtime.refresh()))
            .context("what is configured cannot be read")?;
        for problem in &self.runtime.configured().problems {
            out.note(&problem.to_string());
        }
        Ok(())
    }

    /// Refuses to begin what lasts under a policy that is broken: it would only say no.
    pub(crate) fn sound(&self) -> anyhow::Result<()> {
        let configured = self.runtime.configured();
        // Rules that a tenant's administrators wrote deny that tenant alone; these are the operator's.
        let declared =
            |one: &&Problem| one.severity == Severity::Error && one.file.starts_with("haft.toml:");
        let of_tenants = configured.problems.iter().filter(declared).map(ToString::to_string);
        let broken: Vec<String> =
            self.broken.iter().map(ToString::to_string).chain(of_tenants).collect();
        let Some(first) = broken.first() else { return Ok(()) };
        let more = match broken.len() {
            1 => String::new(),
            all => format!(" (and {} more, above)", all - 1),
        };
        bail!(
            "the policy is broken and would deny everything, so nothing is started: {first}{more}"
        )
    }

    /// The tenants whose effects are refused because the audit trail was touched, and why.
    pub(crate) async fn distrusted(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for tenant in &self.runtime.configured().records.tenants {
            if let Err(StoreError::Tampered(why)) = self.store.trusts(&tenant.id).await {
                found.push((tenant.id.clone(), why));
            }
        }
        found
    }

    /// Says whose effects are refused.
    pub(crate) async fn warn(&self, out: &Output) {
        for (tenant, why) in self.distrusted().await {
            out.note(&format!(
                "no effects of tenant `{}` are taken: {}; see `haft audit verify` and `haft audit \
                 acknowledge`",
                plain(&tenant),
                plain(&why)
            ));
        }
    }

    /// Effects of processes that are gone, which nobody knows the end of. A store that can only be read is as it is.
    pub(crate) async fn left(&self) -> anyhow::Result<Vec<EffectRecord>> {
        if self.store.only_read().is_some() {
            return Ok(Vec::new());
        }
        self.runtime.tend().await.context("the store cannot be written")
    }

    /// Takes over what commands that were killed have left.
    pub(crate) async fn tend(&self, out: &Output) -> anyhow::Result<()> {
        for effect in self.left().await? {
            let (call, tool) = (&effect.effect.call, &effect.effect.tool);
            out.note(&format!(
                "unknown: nobody knows whether {call} ({tool}) was carried out; see `haft effects`"
            ));
        }
        Ok(())
    }

    /// Whoever types a command may know which agents there are.
    pub(crate) fn known(&self, caller: &Caller) -> anyhow::Result<()> {
        let (tenant, agent) = (&*caller.tenant, &*caller.agent);
        if self.runtime.has_agent(tenant, agent) {
            return Ok(());
        }
        let configured = self.runtime.configured();
        let records = &configured.records;
        Err(misuse(unknown(records, tenant, agent)))
    }

    /// The tenant of an agent, where the command line does not say.
    pub(crate) fn caller(
        &self,
        agent: &str,
        tenant: Option<&str>,
        actor: Option<&str>,
    ) -> anyhow::Result<Caller> {
        let tenant = match tenant {
            Some(tenant) => tenant.to_owned(),
            None => self.config.tenant_of(agent),
        };
        for (what, id) in [("--agent", agent), ("--tenant", tenant.as_str())] {
            Principal::parse(&format!("agent:{id}"))
                .map_err(|_| misuse(format!("{what}: `{}` is not an id", plain(id))))?;
        }
        let mut caller = Caller::agent(&tenant, agent);
        if let Some(actor) = actor {
            caller.actor = named::principal(actor, "--as")?;
        }
        Ok(caller)
    }
}

/// What is wrong with the name of an agent or its tenant.
fn unknown(records: &Records, tenant: &str, agent: &str) -> String {
    let tenants: Vec<&str> = records.tenants.iter().map(|one| one.id.as_str()).collect();
    let agents: Vec<&str> = records.agents.iter().map(|one| one.id.as_str()).collect();
    let (of, named) = (plain(tenant), plain(agent));
    let home = records.agents.iter().find(|one| one.id == agent).map(|one| one.tenant.as_str());
    match home {
        // Whoever mistypes the tenant is not told of everybody's agents.
        _ if !tenants.contains(&tenant) => {
            format!("there is no tenant `{of}`; {}", nearest::suggest(tenant, &tenants))
        }
        None => format!("there is no agent `{named}`; {}", nearest::suggest(agent, &agents)),
        Some(home) => {
            format!("the agent `{named}` is not of tenant `{of}`, but of `{}`", plain(home))
        }
    }
}

/// The terminal is the session's client: it shows the messages of handlers.
struct Client {
    colour: Colour,
}

impl Publish for Client {
    fn publish(&self, event: &Event) {
        if event.kind == EventKind::Message {
            let mark = match self.colour {
                Colour::Yes => "\u{1b}[1mmessage\u{1b}[0m",
                Colour::No => "message",
            };
            // Nobody is left to tell when standard error is gone.
            let _ = writeln!(std::io::stderr(), "{mark}: {}", plain(&event.payload.to_string()));
        }
    }
}

/// Text in which nothing moves the cursor, changes colours or hides: whatever is not plain is
/// written as an escape.
pub(crate) fn plain(text: &str) -> String {
    let shown = |c: char| c == '\n' || !is_hidden(c);
    if text.chars().all(shown) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| match shown(c) {
            true => c.to_string(),
            // As JSON writes them, so that what is JSON stays JSON.
            false => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units);
                units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }
        })
        .collect()
}

/// The database of the configuration.
pub(crate) fn open_store(config: &Config) -> anyhow::Result<Sqlite> {
    let path = config.database();
    if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
        make(folder).with_context(|| format!("`{}` cannot be made", folder.display()))?;
    }
    let seal_with = Some(config.outside.key_place(&path));
    let options = Options { verify: config.verify, seal_with, ..Options::default() };
    Sqlite::open(&path, options)
        .with_context(|| format!("the store `{}` cannot be opened", path.display()))
}

/// Said where nothing seals what callers write.
pub(crate) const IN_THE_CLEAR: &str = "note: answers and arguments are kept in the store as they are; \
    with a key for connections they are sealed (docs/sealing.md)";

/// A folder for what is nobody else's business: readable by its owner, and not to be committed.
pub(crate) fn make(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    std::fs::write(folder.join(".gitignore"), "*\n")
}

/// Native functions first, then the sandbox, then programs of the toolset.
pub(crate) fn executors(registry: &Registry, run: PathBuf, toolset: Option<PathBuf>) -> Executors {
    let executors =
        Executors::new().with(Bound::to(registry)).with(Js::new(js::Settings::default()));
    match toolset {
        Some(toolset) => executors.with(Process::new(process::Settings::new(toolset, run))),
        None => executors,
    }
}

/// Native functions are part of this program, not of a registry: they run for the contracts that name
/// the function as the registry in use does, and for no older revision of it.
struct Bound {
    native: Native,
    named: HashMap<String, Option<Handler>>,
}

impl Bound {
    fn to(registry: &Registry) -> Self {
        let named = registry.tools.iter().map(|one| (one.id.clone(), one.contract.handler.clone()));
        Self { native: haft_tools::functions(registry), named: named.collect() }
    }
}

impl Execute for Bound {
    fn can_run(&self, tool: &Tool) -> bool {
        self.native.can_run(tool) && self.named.get(&tool.id) == Some(&tool.contract.handler)
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        self.native.execute(job)
    }
}

/// The installation's secret, which only the holder of the store's key can make: its signature under
/// a sentence that is signed for nothing else. So approvals outlive a restart.
fn secret(config: &Config) -> anyhow::Result<[u8; 32]> {
    let key = Sqlite::signing_key(&config.database())?;
    let signature = key.sign("haft: the secret of this installation, 1");
    Ok(Digest::of_bytes(signature.value.as_bytes()).raw())
}

/// An error of the path, for people.
pub(crate) fn said(error: ToolError) -> anyhow::Error {
    let source = error.source.clone().map(|source| format!(" ({source})")).unwrap_or_default();
    anyhow!("{}{source}; {}", error.message, error.suggestion)
}

/// Text, a file (`@file`) or standard input (`-`).
pub(crate) fn text_of(argument: &str) -> anyhow::Result<String> {
    let (what, text) = match argument.strip_prefix('@') {
        Some(file) => (format!("`{}`", plain(file)), std::fs::File::open(file).and_then(read)),
        None if argument == "-" => ("standard input".to_owned(), read(std::io::stdin())),
        None => return Ok(argument.to_owned()),
    };
    text.map_err(|why| anyhow!("{what} cannot be read: {}", in_words(&why)))?
        .ok_or_else(|| anyhow!("{what} has more than {MOST} bytes"))
}

/// More than anybody means.
const MOST: u64 = 16 << 20;

/// All of it; none where that is too much.
fn read(from: impl Read) -> std::io::Result<Option<String>> {
    let mut text = String::new();
    let size = from.take(MOST + 1).read_to_string(&mut text)?;
    Ok((size as u64 <= MOST).then_some(text))
}

/// How long what works on the side is waited for when all else is done.
pub(crate) const LEFT: std::time::Duration = std::time::Duration::from_secs(2);

/// How many threads a command works on.
pub(crate) const THREADS: usize = 2;

/// How much stack each has, where nobody says otherwise. Rules are evaluated by calls inside of calls, and
/// what may be written must fit, without optimisation, too.
const STACK: usize = 8 << 20;

/// Where a command has no threads to work on.
pub(crate) const FEW_THREADS: &str = "no threads can be started: this machine, or whoever limits what runs \
    here, gives too few (`ulimit -u`, `TasksMax`, `--pids-limit`)";

/// Runs what a command does on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let threads = startable(THREADS);
    threads.context(FEW_THREADS)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(THREADS).enable_all();
    if std::env::var_os("RUST_MIN_STACK").is_none() {
        builder.thread_stack_size(STACK);
    }
    let runtime = builder.build().context("the runtime cannot be started")?;
    let done = runtime.block_on(async {
        signals::outlive_long_files();
        work.await
    });
    // What still reads from somewhere that gives no answer does not keep the process.
    runtime.shutdown_timeout(LEFT);
    done
}

/// Whether so many threads can be had at once. The runtime does not say that they cannot: it panics, and
/// may then wait for ever for the one that it could start.
fn startable(number: usize) -> std::io::Result<()> {
    let begin = || {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let wait = move || held.recv().is_ok();
        Ok((hold, std::thread::Builder::new().spawn(wait)?))
    };
    let begun: Vec<std::io::Result<_>> = (0..number).map(|_| begin()).collect();
    begun.into_iter().try_for_each(|one| {
        let (hold, thread) = one?;
        drop(hold);
        thread.join().map(drop).map_err(|_| std::io::Error::other("a thread gave up"))
    })
}

#[cfg(test)]
mod tests {
    use haft_build::build::Reuse;

    use super::*;

    #[track_caller]
    fn check(tenant: &str, agent: &str, expected: &str) {
        let mut records = Records::of_one("acme", "helper");
        let other = Records::of_one("globex", "clerk");
        records.tenants.extend(other.tenants);
        records.agents.extend(other.agents);
        assert_eq!(unknown(&records, tenant, agent), expected);
    }

    #[test]
    fn a_native_function_runs_for_the_revision_that_it_is_and_for_no_other() {
        let studio = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../toolsets/studio"));
        let checked = haft_build::build::check(studio, Reuse::Nothing, &|_, _| {}).unwrap();
        let registry = checked.registry().unwrap();
        let bound = Bound::to(&registry);
        let mut tool = registry.find("extract_contacts").unwrap().clone();
        assert!(bound.can_run(&tool));
        let Some(Handler::Native { revision, .. }) = &mut tool.contract.handler else { panic!() };
        *revision += 1;
        assert!(!bound.can_run(&tool));
    }

    #[test]
    fn who_types_a_command_is_told_which_agents_there_are() {
        check("acme", "helpr", "there is no agent `helpr`; did you mean `helper`?");
        check("nobody", "x", "there is no tenant `nobody`; use one of `acme`, `globex`");
        check("acme", "x", "there is no agent `x`; use one of `helper`, `clerk`");
        check("acmee", "helper", "there is no tenant `acmee`; did you mean `acme`?");
        check("globex", "helper", "the agent `helper` is not of tenant `globex`, but of `acme`");
    }
}
