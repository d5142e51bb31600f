//! A runtime: the parts put together, and every way in.

mod builder;
mod config;
mod confirmations;
mod finding;
mod hide;
mod sessions;
mod shelves;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use haft_core::contract::{Capability, Mode, SideEffectPolicy};
use haft_core::ledger::EffectRecord;
use haft_core::port::{
    Ask, Boxed, Broker, Connections, Decide, Decision, Execute, Forgotten, Invoke, Observe,
    Provide, Publish, Standing, Store, StoreError,
};
use haft_core::record::{Confirmation, Event, EventKind};
use haft_core::session::Session;
use haft_core::{Call, Caller, Digest, Envelope, ErrorKind, Registry, Tool, ToolError};
use serde_json::json;
use tokio::sync::watch;

pub use builder::{BuildError, Builder};
pub use config::ToolState;
pub use confirmations::Decided;
pub(crate) use confirmations::asked;
pub(crate) use hide::{Known, Sieve};
pub use sessions::Signalled;

use self::config::Office;
use self::shelves::Shelves;
use crate::attach::Running;
use crate::path;
use crate::policy::Problem;
use crate::policy::{Budget, Rules, Supersede};
use crate::rate::Rates;
use crate::redact::{Marker, Secrets};
use crate::session::Book;
use crate::settings::Settings;
use crate::shelf::Shelf;
use crate::tasks::Tasks;
use crate::token::TokenKey;
use crate::toolbox::{Catalog, Catalogs, Directory, McpAccess, Seen, Suggestions, Unavailable};

/// The one path, with everything that it needs. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    shelves: ArcSwap<Shelves>,
    rules: ArcSwap<Rulebook>,
    office: Office,
    catalogs: Catalogs,
    /// Counts what may change a catalog.
    changes: watch::Sender<u64>,
    secrets: ArcSwap<Secrets>,
    adding: hide::Adding,
    pub(crate) broker: Option<Arc<dyn Broker>>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) executors: Arc<dyn Execute>,
    pub(crate) capabilities: HashMap<Capability, Arc<dyn Provide>>,
    pub(crate) publish: Arc<dyn Publish>,
    pub(crate) observe: Vec<Arc<dyn Observe>>,
    pub(crate) settings: Settings,
    pub(crate) tokens: TokenKey,
    marker: Arc<Marker>,
    /// The tools that tell about tools, where they are wanted.
    guide: Option<&'static Registry>,
    pub(crate) book: Book,
    pub(crate) running: Arc<Running>,
    pub(crate) rates: Rates,
    pub(crate) recall: path::Recall,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) suggestions: Suggestions,
}

/// What may be done: decisions, budgets and what becomes of superseded calls.
pub(crate) struct Rulebook {
    /// No two have the same: whoever decided by this one can see that it is no longer in force.
    pub(crate) number: u64,
    decide: Arc<dyn Decide>,
    rules: Rules,
    text: Budget,
    voice: Budget,
    /// Tenants and agents: swapped together with the rules, so that nobody sees half of a change.
    directory: Arc<Directory>,
}

impl Rulebook {
    fn new(decide: Arc<dyn Decide>, rules: Rules, directory: Arc<Directory>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            text: rules.budget(Mode::Text),
            voice: rules.budget(Mode::Voice),
            decide,
            rules,
            directory,
        }
    }

    pub(crate) fn budget(&self, mode: Mode) -> &Budget {
        match mode {
            Mode::Text => &self.text,
            Mode::Voice => &self.voice,
        }
    }

    /// Whether any answer is given again without asking its tool.
    pub(crate) fn recalls(&self) -> bool {
        !self.rules.recall.is_empty()
    }

    /// For how long an answer of this tool is good.
    pub(crate) fn recall_for(&self, tool: &Tool) -> Option<Duration> {
        self.rules.recall_for(tool)
    }

    pub(crate) fn supersede(&self, class: SideEffectPolicy, mode: Mode) -> Supersede {
        self.rules.supersede(class, mode)
    }

    pub(crate) fn version_for(&self, tenant: &str) -> Digest {
        self.decide.version_for(tenant)
    }

    pub(crate) fn standing(&self, ask: &Ask<'_>) -> Standing {
        self.decide.standing(ask)
    }

    pub(crate) fn decide(&self, ask: &Ask<'_>) -> Decision {
        self.decide.decide(ask)
    }

    pub(crate) fn holds(&self, condition: &str, ask: &Ask<'_>) -> Result<bool, String> {
        self.decide.holds(condition, ask)
    }
}

impl Inner {
    pub(crate) fn policy(&self) -> arc_swap::Guard<Arc<Rulebook>> {
        self.rules.load()
    }

    fn secrets(&self) -> arc_swap::Guard<Arc<Secrets>> {
        self.secrets.load()
    }

    /// The registry of a version, or the current one, with what the tenant has beside it.
    pub(crate) fn shelf(&self, tenant: &str, version: Option<&str>) -> Option<Arc<Shelf>> {
        let shelves = self.shelves.load();
        match version {
            None => Some(shelves.of(tenant).clone()),
            Some(version) => shelves.find(tenant, version).cloned(),
        }
    }

    /// The tools of a caller at a time, in a session or outside of any.
    pub(crate) fn catalog(
        &self,
        shelf: &Shelf,
        caller: &Caller,
        mode: Mode,
        session: Option<&str>,
        now_ms: i64,
    ) -> Catalog {
        let rules = self.rules.load();
        let mut seen = Seen::new(caller, mode, now_ms);
        // The gate asks the same question with the session in it.
        seen.session = session;
        seen.hide_approval = rules.rules.hide_approval;
        self.catalogs.get(&shelf.stock, &rules.directory, &*rules.decide, &seen)
    }

    /// Whether the agent of a call that was decided earlier still has its tool.
    pub(crate) fn still_has(&self, call: &path::Decided) -> bool {
        let version = call.session.as_ref().map(|session| session.registry_version.as_str());
        let Some(shelf) = self.shelf(&call.call.caller.tenant, version) else { return false };
        let (session, now_ms) = (call.call.session.as_deref(), self.store.now_ms());
        let catalog = self.catalog(&shelf, &call.call.caller, call.mode, session, now_ms);
        catalog.get(&call.tool.tool.id).is_some()
    }

    /// After a change: catalogs are put together anew, and whoever shows them is told.
    fn forget_catalogs(&self) {
        self.catalogs.forget();
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Refuses a principal that is blocked.
    pub(crate) async fn blocked(&self, caller: &Caller) -> Result<(), ToolError> {
        let block =
            self.store.blocked(&caller.tenant, caller.principal()).await.map_err(|error| {
                ToolError::new(ErrorKind::StoreUnavailable, "blocks cannot be read now")
                    .caused_by(error)
            })?;
        match block {
            None => Ok(()),
            Some(block) => {
                let until = rfc3339(block.until_ms);
                Err(ToolError::new(
                    ErrorKind::Blocked,
                    format!("this user is blocked until {until}"),
                )
                .with_details(json!({ "until": until })))
            }
        }
    }

    /// Whether a call names a tool that writes, in the registry of its session. One that cannot be
    /// found does nothing.
    pub(crate) fn would_write(&self, call: &Call, registry_version: &str) -> bool {
        let shelf = self.shelf(&call.caller.tenant, Some(registry_version));
        let Some(shelf) = shelf else { return false };
        let (session, now_ms) = (call.session.as_deref(), self.store.now_ms());
        let catalog = self.catalog(&shelf, &call.caller, call.mode, session, now_ms);
        catalog
            .get(&call.tool)
            .is_some_and(|tool| tool.tool.contract.side_effect_policy != SideEffectPolicy::Pure)
    }

    pub(crate) fn announce(&self, asked: &Confirmation, kind: EventKind) {
        if !self.publish.is_listening() {
            return;
        }
        self.publish.publish(&Event {
            kind,
            tenant: asked.tenant.clone(),
            agent: asked.agent.clone(),
            session: asked.session.clone(),
            turn: 0,
            call: String::new(),
            model_call: None,
            tool: asked.tool.clone(),
            at_ms: asked.asked_at_ms,
            payload: json!({
                "id": asked.id,
                "status": asked.status,
                "decidedBy": asked.decided_by,
                "expiresAtMs": asked.expires_at_ms,
            }),
            by: None,
        });
    }
}

impl Runtime {
    /// Loads a registry, which new sessions and single calls use from now on. Sessions stay with
    /// the one that they began with.
    ///
    /// # Errors
    ///
    /// What is wrong with its names.
    pub fn load(&self, registry: Registry) -> Result<(), Vec<Problem>> {
        let shelf = Arc::new(Shelf::new(registry, self.inner.guide, self.inner.marker.clone())?);
        self.inner.shelves.rcu(|shelves| shelves.with(shelf.clone()));
        self.inner.forget_catalogs();
        self.fit_anew();
        Ok(())
    }

    /// Loads a registry for the sessions that are pinned to it. New sessions and single calls do
    /// not use it. To be called before calls are taken: every policy is read against it, too, and
    /// where one no longer holds, the registry is put away again.
    ///
    /// # Errors
    ///
    /// What is wrong with its names, or with the policies beside it.
    pub fn load_beside(&self, registry: Registry) -> Result<(), Vec<Problem>> {
        let shelf = Arc::new(Shelf::new(registry, self.inner.guide, self.inner.marker.clone())?);
        let before = self.inner.shelves.load_full();
        let known = self.configured().problems.clone();
        self.inner.shelves.store(Arc::new(before.and(&shelf)));
        self.inner.forget_catalogs();
        self.fit_anew();
        let is_new = |one: &&Problem| one.is_error() && !known.contains(one);
        let found: Vec<_> = self.configured().problems.iter().filter(is_new).cloned().collect();
        if found.is_empty() {
            return Ok(());
        }
        self.inner.shelves.store(before);
        self.inner.forget_catalogs();
        self.fit_anew();
        Err(found)
    }

    /// Puts other rules in force, for the next decision on.
    pub fn govern(&self, decide: Arc<dyn Decide>, rules: Rules) {
        self.inner.rules.rcu(|old| {
            Arc::new(Rulebook::new(decide.clone(), rules.clone(), old.directory.clone()))
        });
        self.inner.forget_catalogs();
    }

    /// Puts another directory of tenants and agents in force.
    pub fn direct(&self, directory: Directory) {
        let directory = Arc::new(directory);
        self.inner.rules.rcu(|old| {
            Arc::new(Rulebook::new(old.decide.clone(), old.rules.clone(), directory.clone()))
        });
        self.inner.forget_catalogs();
    }

    /// The tools of a caller, and why the others are not there.
    #[must_use]
    pub fn catalog(&self, caller: &Caller, mode: Mode) -> Catalog {
        let shelf = self.inner.shelves.load().of(&caller.tenant).clone();
        self.inner.catalog(&shelf, caller, mode, None, self.inner.store.now_ms())
    }

    /// The tools of a caller in the registry that a session is pinned to; none where that is not
    /// loaded.
    #[must_use]
    pub fn catalog_in(&self, caller: &Caller, session: &Session) -> Option<Catalog> {
        let shelf = self.inner.shelf(&caller.tenant, Some(&session.registry_version))?;
        let (id, now_ms) = (Some(session.id.as_str()), self.inner.store.now_ms());
        Some(self.inner.catalog(&shelf, caller, session.mode, id, now_ms))
    }

    /// A registry that is loaded, by its version; also by one that speaks of what a tenant has beside
    /// it, which is not in the registry.
    #[must_use]
    pub fn registry(&self, version: &str) -> Option<Arc<Registry>> {
        self.inner.shelves.load().registry(version)
    }

    /// Tells whenever a catalog may have changed: another registry, other rules, other tenants or
    /// agents.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// How a tenant's tools may be used over MCP.
    #[must_use]
    pub fn mcp_access(&self, tenant: &str) -> McpAccess {
        self.inner.rules.load().directory.mcp_access(tenant)
    }

    /// Seals a text that somebody else keeps for us, for one purpose: whoever changes it, or uses it
    /// for another, has nothing.
    #[must_use]
    pub fn seal(&self, purpose: &str, text: &str) -> String {
        self.inner.tokens.seal_text(purpose, text)
    }

    /// The text that was sealed for a purpose.
    #[must_use]
    pub fn unseal(&self, purpose: &str, sealed: &str) -> Option<String> {
        self.inner.tokens.open_text(purpose, sealed)
    }

    /// The registry that new sessions and single calls use.
    #[must_use]
    pub fn current(&self) -> Arc<Registry> {
        self.inner.shelves.load().current.registry.clone()
    }

    /// What new sessions of a tenant are pinned to: the registry's version, and behind a `+` what
    /// stands for the tools that the tenant brings along.
    #[must_use]
    pub fn version_for(&self, tenant: &str) -> Arc<str> {
        self.inner.shelves.load().of(tenant).version.clone()
    }

    /// The tools that a tenant brings along, in stable order.
    #[must_use]
    pub fn own_tools(&self, tenant: &str) -> Vec<Tool> {
        let shelves = self.inner.shelves.load();
        shelves.brought(tenant).map(|own| own.tools.clone()).unwrap_or_default()
    }

    /// Whether a tenant has an agent of this name.
    #[must_use]
    pub fn has_agent(&self, tenant: &str, agent: &str) -> bool {
        self.inner.rules.load().directory.agent(tenant, agent).is_some()
    }

    /// Whether there is more than one tenant.
    #[must_use]
    pub fn has_several_tenants(&self) -> bool {
        self.inner.rules.load().directory.tenants() > 1
    }

    /// What a tenant knows an entry of the audit trail by. The number itself counts those of all
    /// tenants, and would tell each how much the others do.
    #[must_use]
    pub fn place_of(&self, tenant: &str, number: u64) -> String {
        format!("e{:016x}", self.inner.tokens.hide_number(&trail_of(tenant), number))
    }

    /// The entry that a tenant knows by this.
    #[must_use]
    pub fn entry_at(&self, tenant: &str, place: &str) -> Option<u64> {
        let digits = place.strip_prefix('e').filter(|digits| digits.len() == 16)?;
        let hidden = u64::from_str_radix(digits, 16).ok()?;
        Some(self.inner.tokens.show_number(&trail_of(tenant), hidden))
    }

    /// The names of a tenant's agents, in order.
    #[must_use]
    pub fn agents(&self, tenant: &str) -> Vec<String> {
        self.inner.rules.load().directory.agents(tenant)
    }

    /// Where connections are kept, where that is anywhere.
    #[must_use]
    pub fn accounts(&self) -> Option<&Arc<dyn Connections>> {
        self.inner.office.connections()
    }

    /// What finds credentials, where there is anything.
    #[must_use]
    pub fn broker(&self) -> Option<&Arc<dyn Broker>> {
        self.inner.broker.as_ref()
    }

    /// What of a grant to some tools of a tenant would give nothing now.
    #[must_use]
    pub fn grant_doubts(&self, tenant: &str, provider: &str, tools: &[String]) -> Vec<String> {
        let shelves = self.inner.shelves.load();
        let known: Vec<&Tool> =
            shelves.stock(tenant).tools().iter().map(|one| &*one.tool).collect();
        crate::connections::doubts(&known, provider, tools)
    }

    /// The connections that a caller may use a tool with, by id: what is granted, without regard to
    /// what a request was given.
    #[must_use]
    pub fn connections(&self, caller: &Caller, tool: &Tool) -> Vec<String> {
        let Some(needed) = &tool.contract.connection else { return Vec::new() };
        let rules = self.inner.rules.load();
        let (tenant, who) = (&*caller.tenant, caller.principal());
        let usable = rules.directory.grants.usable(tenant, who, &needed.provider, &tool.id);
        usable.into_iter().map(str::to_owned).collect()
    }

    /// What a tenant could take, and how: for its administrators.
    #[must_use]
    pub fn offers(&self, tenant: &str) -> Vec<Unavailable> {
        let shelf = self.inner.shelves.load().of(tenant).clone();
        self.inner.rules.load().directory.offers(&shelf.stock, tenant)
    }

    /// Whether there is something that runs a tool.
    #[must_use]
    pub fn can_run(&self, tool: &Tool) -> bool {
        self.inner.executors.can_run(tool)
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// Calls refused for want of a tool.
    #[must_use]
    pub fn suggestions(&self) -> &Suggestions {
        &self.inner.suggestions
    }

    /// Takes over effects that nobody carries out any more: their process is gone, or could not record
    /// in time what became of them. Returns those whose outcome is unknown now. Cheap enough for
    /// every second.
    ///
    /// # Errors
    ///
    /// The store cannot be read or written.
    pub async fn recover(&self) -> Result<Vec<EffectRecord>, StoreError> {
        let left = self.inner.store.recover().await?;
        self.inner.effects_left(&left);
        Ok(left)
    }

    /// Takes over what nobody carries out any more, and forgets what may be forgotten. To be called at
    /// the start and from time to time. Returns the effects whose outcome is unknown now.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub async fn tend(&self) -> Result<Vec<EffectRecord>, StoreError> {
        let left = self.recover().await?;
        self.inner.store.purge().await?;
        Ok(left)
    }

    /// Forgets records that are older than they are kept, if need be in many small steps. To be
    /// called from time to time by whoever runs for long.
    ///
    /// # Errors
    ///
    /// The store cannot be written. What went until then is gone; the next time goes on from there.
    pub async fn forget(&self) -> Result<Forgotten, StoreError> {
        let mut went = Forgotten::default();
        let Some(keep) = self.inner.settings.keep_records else { return Ok(went) };
        let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let before_ms = self.inner.store.now_ms().saturating_sub(keep_ms);
        loop {
            went.add(&self.inner.store.forget(before_ms).await?);
            if !went.more {
                return Ok(went);
            }
        }
    }

    /// How many effects this process is carrying out.
    #[must_use]
    pub fn effects_running(&self) -> usize {
        self.inner.tasks.running()
    }

    /// Waits for effects that are being carried out and for tokens that are being renewed, at most
    /// so long. Returns how many effects are left; those stay on record as started, and become
    /// unknown.
    pub async fn drain(&self, at_most: Duration) -> usize {
        let over = async {
            self.inner.tasks.drained().await;
            if let Some(broker) = &self.inner.broker {
                broker.rest().await;
            }
        };
        let _ = tokio::time::timeout(at_most, over).await;
        self.inner.tasks.running()
    }
}

impl Invoke for Runtime {
    fn invoke<'a>(&'a self, call: Call) -> Boxed<'a, Envelope> {
        Box::pin(path::take(&self.inner, call))
    }
}

/// What the numbers of a tenant's entries are hidden for.
fn trail_of(tenant: &str) -> String {
    format!("trail of {tenant}")
}

/// An instant as others read it.
pub(crate) fn rfc3339(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms).map_or_else(|_| at_ms.to_string(), |at| at.to_string())
}
