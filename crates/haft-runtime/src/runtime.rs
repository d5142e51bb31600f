//! A runtime: the parts put together, and every way in.

mod builder;
mod config;
mod confirmations;
mod eras;
mod finding;
mod hide;
mod rulebook;
mod sessions;
mod shelves;
mod shown;
mod tending;
mod void;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use haft_core::connection::Account;
use haft_core::contract::{Capability, Mode, SideEffectPolicy};
use haft_core::port::{
    Boxed, Broker, Connections, Decide, Execute, Invoke, Observe, Provide, Publish, Store,
};
use haft_core::record::{Confirmation, Event, EventKind};
use haft_core::{Call, Caller, Envelope, ErrorKind, Registry, Tool, ToolError};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

pub use builder::{BuildError, Builder};
pub use config::ToolState;
pub use confirmations::Decided;
pub(crate) use confirmations::asked;
pub(crate) use hide::{Known, Sieve};
pub(crate) use rulebook::Rulebook;
pub use sessions::Signalled;
pub use void::Void;

use self::config::Office;
use self::eras::Eras;
use self::shelves::Shelves;
use crate::attach::Running;
use crate::path;
use crate::policy::{Problem, Rules};
use crate::rate::Rates;
use crate::redact::{Marker, Secrets};
use crate::session::{Book, Placed};
use crate::settings::Settings;
use crate::shelf::{Loaded, Shelf};
use crate::tasks::Tasks;
use crate::token::TokenKey;
use crate::toolbox::{Catalog, Catalogs, Directory, EffectiveTool, Seen, Suggestions};

/// The one path, with everything that it needs. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

/// A tool that a call names.
pub(crate) struct Named {
    pub(crate) writes: bool,
    /// Nothing where it cannot be called.
    pub(crate) loaded: Option<Arc<Loaded>>,
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
    pub(crate) placed: Arc<Placed>,
    pub(crate) rates: Rates,
    pub(crate) recall: path::Recall,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) suggestions: Suggestions,
    pub(crate) eras: Eras,
    /// When it was last asked, by whoever waits for another process, whether that is there still.
    asked_after: Mutex<Option<Instant>>,
}

impl Inner {
    pub(crate) fn policy(&self) -> arc_swap::Guard<Arc<Rulebook>> {
        self.rules.load()
    }

    fn secrets(&self) -> arc_swap::Guard<Arc<Secrets>> {
        self.secrets.load()
    }

    /// What is known of a tenant's connection.
    pub(crate) async fn account(&self, tenant: &str, connection: &str) -> Option<Account> {
        let all = self.office.connections()?.accounts(tenant).await.ok()?;
        all.into_iter().find(|one| one.id == connection)
    }

    /// When a tenant's connection was made: another one of its name may be another account.
    pub(crate) async fn account_made_ms(&self, tenant: &str, connection: &str) -> Option<i64> {
        self.account(tenant, connection).await.map(|account| account.made_ms)
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

    /// The tools that a call may name. For what is asked about effects, and done to undo them, they are
    /// put together each time: that is rare.
    pub(crate) fn catalog_for(
        &self,
        shelf: &Shelf,
        call: &Call,
        mode: Mode,
        now_ms: i64,
    ) -> Catalog {
        if !call.purpose.is_after_the_fact() {
            return self.catalog(shelf, &call.caller, mode, call.session.as_deref(), now_ms);
        }
        let rules = self.rules.load();
        let seen = Seen { purpose: call.purpose, ..Seen::new(&call.caller, mode, now_ms) };
        Catalog::build(&shelf.stock, &rules.directory, &*rules.decide, &seen)
    }

    /// The tool of a call that was decided earlier, as its agent has it now.
    pub(crate) fn tool_now(&self, call: &path::Decided) -> Option<Arc<EffectiveTool>> {
        let version = call.session.as_ref().map(|session| session.registry_version.as_str());
        let shelf = self.shelf(&call.call.caller.tenant, version)?;
        let catalog = self.catalog_for(&shelf, &call.call, call.mode, self.store.now_ms());
        catalog.get(&call.tool.tool.id).cloned()
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

    /// The tool that a call names, in the registry that it will be made in: its session's, or else the one of now. One
    /// that cannot be found does nothing.
    pub(crate) fn named(&self, call: &Call, registry_version: &str) -> Option<Named> {
        let version = call.session.as_ref().map(|_| registry_version);
        let shelf = self.shelf(&call.caller.tenant, version)?;
        let catalog = self.catalog_for(&shelf, call, call.mode, self.store.now_ms());
        let tool = &catalog.get(&call.tool)?.tool;
        let writes = tool.contract.side_effect_policy != SideEffectPolicy::Pure;
        Some(Named { writes, loaded: shelf.loaded(tool).ok() })
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
            turn: asked.turn,
            call: asked.call.clone().unwrap_or_default(),
            model_call: None,
            tool: asked.tool.clone(),
            at_ms: match asked.decided_by {
                Some(_) => self.store.now_ms(),
                None => asked.asked_at_ms,
            },
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
