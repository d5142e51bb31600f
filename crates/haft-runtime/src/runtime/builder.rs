//! Putting a runtime together.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use haft_core::Registry;
use haft_core::contract::Capability;
use haft_core::port::{
    Broker, Connections, Decide, Define, Execute, Observe, Provide, Publish, Store,
};
use haft_core::record::Event;

use super::config::Office;
use super::hide::Adding;
use super::shelves::Shelves;
use super::{Inner, Rulebook, Runtime};
use crate::config::{Declared, Purpose, Workshop, naming, sheets};
use crate::guide::{self, Guide};
use crate::path;
use crate::policy::{Policy, Problem, Rules, Source};
use crate::rate::Rates;
use crate::redact::{Marker, Scrubber, Secrets};
use crate::session::Book;
use crate::settings::Settings;
use crate::shelf::Shelf;
use crate::token::TokenKey;
use crate::toolbox::{Catalogs, Directory, Records, Suggestions};

/// Why a runtime could not be put together.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildError {
    /// The system gave no randomness for keys.
    NoRandomness(String),
    /// The search for secrets could not be prepared.
    Secrets(String),
    /// What is wrong with names, tenants or agents.
    Problems(Vec<Problem>),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRandomness(why) => write!(f, "the system gives no random numbers: {why}"),
            Self::Secrets(why) => write!(f, "the search for secrets could not be prepared: {why}"),
            Self::Problems(problems) => {
                let all: Vec<_> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&all.join("; "))
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// Nobody listens.
struct Silence;

impl Publish for Silence {
    fn publish(&self, _: &Event) {}

    fn is_listening(&self) -> bool {
        false
    }
}

/// Collects the parts. What is left out is as safe as can be: no policy allows nothing.
pub struct Builder {
    registry: Registry,
    store: Arc<dyn Store>,
    executors: Arc<dyn Execute>,
    decide: Option<Arc<dyn Decide>>,
    rules: Rules,
    records: Records,
    source: Option<Source>,
    capabilities: HashMap<Capability, Arc<dyn Provide>>,
    publish: Arc<dyn Publish>,
    observe: Vec<Arc<dyn Observe>>,
    settings: Settings,
    scrubber: Option<Scrubber>,
    broker: Option<Arc<dyn Broker>>,
    connections: Option<Arc<dyn Connections>>,
    secret: Option<[u8; 32]>,
    define: Option<Arc<dyn Define>>,
    guide: bool,
}

impl Runtime {
    /// A runtime of a registry, a store that remembers and executors that run handlers.
    #[must_use]
    pub fn builder(
        registry: Registry,
        store: Arc<dyn Store>,
        executors: Arc<dyn Execute>,
    ) -> Builder {
        Builder {
            records: Records::of_one("default", "default"),
            registry,
            store,
            executors,
            decide: None,
            source: None,
            rules: Rules::default(),
            capabilities: HashMap::new(),
            publish: Arc::new(Silence),
            observe: Vec::new(),
            settings: Settings::default(),
            scrubber: None,
            broker: None,
            connections: None,
            secret: None,
            define: None,
            guide: false,
        }
    }
}

impl Builder {
    /// Who may do what.
    #[must_use]
    pub fn policy(mut self, decide: Arc<dyn Decide>) -> Self {
        self.decide = Some(decide);
        self
    }

    /// Budgets and what becomes of superseded calls, by mode.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// What the policy was made from, so that it can be made anew with what the store holds. Without
    /// this, a policy stays as it is and the store holds no rules.
    #[must_use]
    pub fn source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// Tenants and agents. Without any there is one of each, both called `default`.
    #[must_use]
    pub fn records(mut self, records: Records) -> Self {
        self.records = records;
        self
    }

    /// What stands behind a capability.
    #[must_use]
    pub fn provide(mut self, capability: Capability, provider: Arc<dyn Provide>) -> Self {
        self.capabilities.insert(capability, provider);
        self
    }

    /// Where events go.
    #[must_use]
    pub fn publish(mut self, publish: Arc<dyn Publish>) -> Self {
        self.publish = publish;
        self
    }

    /// Who counts calls; may be said more than once.
    #[must_use]
    pub fn observe(mut self, observe: Arc<dyn Observe>) -> Self {
        self.observe.push(observe);
        self
    }

    /// The numbers.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Where the credentials of connections come from. Without it no call has any.
    #[must_use]
    pub fn broker(mut self, broker: Arc<dyn Broker>) -> Self {
        self.broker = Some(broker);
        self
    }

    /// Where connections are kept: what is granted there is in force from each
    /// [`Runtime::refresh`] on.
    #[must_use]
    pub fn connections(mut self, connections: Arc<dyn Connections>) -> Self {
        self.connections = Some(connections);
        self
    }

    /// What must never be shown.
    #[must_use]
    pub fn secrets(mut self, scrubber: Scrubber) -> Self {
        self.scrubber = Some(scrubber);
        self
    }

    /// The key of the installation: approvals are signed with it, and survive a restart when it
    /// does.
    #[must_use]
    pub fn secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// With the tools that tell about tools, `reg_describe` and `reg_search`: see [`crate::guide`].
    #[must_use]
    pub fn guide(mut self) -> Self {
        self.guide = true;
        self
    }

    /// What compiles the tools that tenants bring along. Without it there are none.
    #[must_use]
    pub fn define(mut self, define: Arc<dyn Define>) -> Self {
        self.define = Some(define);
        self
    }

    /// Puts it together.
    ///
    /// # Errors
    ///
    /// The parts do not fit together, or there is no secret and no randomness to make one.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let secret = self.secret.map_or_else(random, Ok)?;
        let marker = Arc::new(Marker::new(secret));
        let scrubber = self.scrubber.map_or_else(knows_nothing, Ok)?;
        let secrets = Secrets::declared(&scrubber);
        let secrets = secrets.map_err(|why| BuildError::Secrets(why.to_string()))?;
        let guide = self.guide.then(guides).transpose()?;
        let shelf =
            Shelf::new(self.registry, guide, marker.clone()).map_err(BuildError::Problems)?;
        let declared = Declared { records: self.records, source: self.source };
        let workshop = Workshop::new(self.define);
        let shelves = brought(&declared, &workshop, Shelves::new(Arc::new(shelf)))
            .map_err(BuildError::Problems)?;
        let (stocks, absent) = (shelves.stocks(), BTreeSet::new());
        let usual = self.settings.limits();
        let directory =
            Directory::load_with(&declared.records, &stocks, "haft.toml", &absent, &usual)
                .map_err(BuildError::Problems)?;
        let office = Office::new(declared, self.connections, workshop);
        let decide = self.decide.unwrap_or_else(|| Arc::new(Policy::deny_all("no policy is set")));
        let others = self.executors;
        Ok(Runtime {
            inner: Arc::new_cyclic(|inner| Inner {
                shelves: ArcSwap::from_pointee(shelves),
                rules: ArcSwap::from_pointee(Rulebook::new(
                    decide,
                    self.rules,
                    Arc::new(directory),
                )),
                office,
                catalogs: Catalogs::new(1_000),
                changes: tokio::sync::watch::Sender::new(0),
                secrets: ArcSwap::from_pointee(secrets),
                adding: Adding::default(),
                broker: self.broker,
                book: Book::new(self.store.clone()),
                store: self.store,
                executors: match guide {
                    Some(_) => Arc::new(Guide::new(inner.clone(), others)),
                    None => others,
                },
                capabilities: self.capabilities,
                publish: self.publish,
                observe: self.observe,
                settings: self.settings,
                tokens: TokenKey::from_bytes(secret),
                marker,
                guide,
                running: Arc::default(),
                placed: Arc::default(),
                rates: Rates::default(),
                recall: path::Recall::default(),
                asked_after: parking_lot::Mutex::default(),
                tasks: Arc::default(),
                suggestions: Suggestions::default(),
                eras: Default::default(),
            }),
        })
    }
}

/// With what is declared of the tools that tenants bring along.
fn brought(
    declared: &Declared,
    workshop: &Workshop,
    mut shelves: Shelves,
) -> Result<Shelves, Vec<Problem>> {
    let (mut problems, mut all) = (Vec::new(), Vec::new());
    let (registry, stock) = (shelves.current.registry.clone(), &shelves.current.stock);
    for (tenant, sheets) in sheets(declared, &[], None) {
        let place = |id: &str, pointer: &str| {
            format!("haft.toml: definition `{id}` of `{tenant}`{pointer}")
        };
        let named = sheets.iter().filter_map(|one| {
            let problem = naming(&one.id, &[&registry], stock)?;
            Some(Problem { file: place(&one.id, ""), ..problem })
        });
        problems.extend(named);
        let (tools, found) =
            workshop.registry(Purpose::Use, &tenant, &sheets, (&registry, stock), &place);
        problems.extend(found.into_iter().filter(Problem::is_error));
        all.push((tenant, tools));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    shelves.bring(all.into_iter());
    Ok(shelves)
}

fn random() -> Result<[u8; 32], BuildError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|why| BuildError::NoRandomness(why.to_string()))?;
    Ok(bytes)
}

fn knows_nothing() -> Result<Scrubber, BuildError> {
    Scrubber::new(&[]).map_err(|why| BuildError::Secrets(why.to_string()))
}

/// The tools that tell about tools.
fn guides() -> Result<&'static Registry, BuildError> {
    guide::registry().map_err(|why| BuildError::Problems(vec![Problem::error("haft__reg_*", why)]))
}
