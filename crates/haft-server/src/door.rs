//! What every request meets: the runtime behind the door, who may come in, and how many at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use haft_agent::Agent;
use haft_runtime::Runtime;
use tokio::sync::{Mutex, Semaphore, watch};

use crate::api::connections::Tests;
use crate::api::consents::Consents;
use crate::arriving::Arriving;
use crate::console::Visits;
use crate::follow::Followed;
use crate::guard::Credential;
use crate::hub::Hub;
use crate::later::Later;
use crate::mcp::{self, Approvals};
use crate::metrics::Metrics;
use crate::places::Places;
use crate::problem::Problem;
use crate::room::{Room, Share, Tenants, Work};
use crate::seat::At;
use crate::shortage::Shortage;
use crate::shown::Renderings;
use crate::socket::Lines;
use crate::who::jwt::Issuers;
use crate::who::stored::Opening;
use crate::who::{Keys, Role, Who};

/// The numbers of the door.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body.
    pub body_bytes: usize,
    /// How long a request's head may take, and how long a new connection may be silent.
    pub head: Duration,
    /// How long a connection may be silent between two requests.
    pub keep_alive: Duration,
    /// How long its body may take.
    pub body: Duration,
    /// How long it may take nothing of what it is sent.
    pub write: Duration,
    /// How many requests are worked on at once; more are turned away.
    pub at_once: usize,
    /// How many connections are open at once; more wait outside.
    pub connections: usize,
    /// How many calls that answer later run or are kept: those that have ended make room.
    pub later: usize,
    /// How many sockets and streams of events are open at once: half of them at most for one tenant,
    /// a quarter for one key.
    pub watchers: usize,
    /// How often the store is put in order.
    pub tend: Duration,
    /// How long a server that is told to stop says so at `/readyz` before it closes its door.
    pub leave: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            head: Duration::from_secs(5),
            keep_alive: Duration::from_secs(75),
            body: Duration::from_secs(30),
            write: Duration::from_secs(30),
            at_once: 1024,
            connections: 8192,
            later: 10_000,
            watchers: 1_024,
            tend: Duration::from_secs(60),
            leave: Duration::ZERO,
        }
    }
}

/// The agent of a tenant, by its name, with the model that it talks to, or what is missing.
pub type Models = Arc<dyn Fn(&str, &str) -> Result<Agent, String> + Send + Sync>;

/// So long the store is waited for when somebody asks whether it takes writes.
const ANSWER: Duration = Duration::from_secs(5);

/// Beside all requests an eighth as many have room by which people decide something, and so many at least.
const ASIDE: usize = 8;
const LEAST_ASIDE: usize = 4;

/// So many sign in at once.
const ENTERING: usize = 64;

/// What a server is made of.
pub struct Door {
    /// The one path.
    pub runtime: Runtime,
    /// Events, for streams. The runtime must publish to it.
    pub hub: Hub,
    /// Who may come in.
    pub keys: Keys,
    /// The names under which it is reached, without ports.
    pub hosts: Vec<String>,
    /// The numbers.
    pub limits: Limits,
    /// The door for MCP clients.
    pub(crate) mcp: mcp::Settings,
    /// Whose word counts as an approval over a session's socket.
    pub(crate) socket_approvals: Approvals,
    pub(crate) lists: mcp::Lists,
    pub(crate) owners: mcp::Owners,
    pub(crate) used: mcp::Used,
    pub(crate) room: Room,
    /// For what people decide, when the room is full.
    aside: Room,
    /// For whoever signs in.
    entrance: Room,
    pub(crate) arriving: Arriving,
    pub(crate) places: Places,
    pub(crate) later: Later,
    pub(crate) renderings: Renderings,
    /// Keys of the store.
    stored: ArcSwap<Opening>,
    /// What is counted. The runtime must be observed by it.
    pub(crate) metrics: Arc<Metrics>,
    issuers: Issuers,
    /// The tenant whose administrators may make tenants.
    home: Option<String>,
    pub(crate) models: Option<Models>,
    pub(crate) lines: Lines,
    pub(crate) visits: Visits,
    /// What came of testing connections.
    pub(crate) tests: Tests,
    /// People who are asked for their consent.
    pub(crate) consents: Consents,
    /// How many tokens tenants have used.
    pub(crate) spending: haft_agent::budget::Spending,
    /// A tenant's first key is made by one at a time.
    pub(crate) founding: Mutex<()>,
    /// The audit trail is checked by one at a time.
    pub(crate) verifying: Semaphore,
    state: watch::Sender<State>,
    ready: Mutex<Option<(Instant, Takes)>>,
    pub(crate) shortage: Shortage,
    pub(crate) followed: Followed,
}

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Open,
    /// Work is still taken, and everybody is told that it will not be for long.
    Leaving,
    /// No more work is taken; what has begun is finished.
    Stopping,
    Closed,
}

/// What the store takes.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Effects,
    /// It can be written, but the audit trail was touched.
    NoEffects,
    /// It is full, or what it lies on is.
    NoRoom,
    Nothing,
}

impl Door {
    /// A door to a runtime.
    #[must_use]
    pub fn new(runtime: Runtime, hub: Hub, keys: Keys, hosts: Vec<String>, limits: Limits) -> Self {
        Self {
            mcp: mcp::Settings::default(),
            socket_approvals: Approvals::Approvers,
            lists: mcp::Lists::default(),
            owners: mcp::Owners::default(),
            used: mcp::Used::default(),
            room: Room::new(limits.at_once),
            aside: Room::new((limits.at_once / ASIDE).max(LEAST_ASIDE)),
            entrance: Room::new(ENTERING),
            arriving: Arriving::default(),
            places: Places::new(limits.watchers),
            later: Later::new(limits.later),
            renderings: Renderings::default(),
            stored: ArcSwap::default(),
            metrics: Arc::default(),
            issuers: Issuers::default(),
            home: None,
            models: None,
            lines: Lines::default(),
            visits: Visits::default(),
            tests: Tests::default(),
            consents: Consents::default(),
            spending: haft_agent::budget::Spending::default(),
            founding: Mutex::new(()),
            verifying: Semaphore::new(1),
            state: watch::Sender::new(State::Open),
            ready: Mutex::new(None),
            shortage: Shortage::default(),
            followed: Followed::default(),
            runtime,
            hub,
            keys,
            hosts,
            limits,
        }
    }

    /// The tenant whose administrators may make tenants and their first keys.
    #[must_use]
    pub fn home(mut self, tenant: &str) -> Self {
        self.home = Some(tenant.to_owned());
        self
    }

    /// The counters that are shown; the runtime's `observe` takes the same.
    #[must_use]
    pub fn metrics(mut self, metrics: Arc<Metrics>) -> Self {
        self.metrics = metrics;
        self
    }

    /// Whose tokens open it, beside keys.
    #[must_use]
    pub fn issuers(mut self, issuers: Issuers) -> Self {
        self.issuers = issuers;
        self
    }

    pub(crate) fn is_home(&self, who: &Who) -> bool {
        self.is_home_of(&who.tenant)
    }

    /// Whether a tenant is the one that runs the installation.
    pub(crate) fn is_home_of(&self, tenant: &str) -> bool {
        self.home.as_deref() == Some(tenant)
    }

    /// A tenant's part of the room, for a request that is in.
    pub(crate) fn share(&self, at: At, tenant: &Arc<str>) -> Result<Share, Problem> {
        self.room_at(at).share(tenant, self.tenants())
    }

    pub(crate) fn room_at(&self, at: At) -> &Room {
        match at {
            At::Room => &self.room,
            At::Aside => &self.aside,
            At::Entrance => &self.entrance,
        }
    }

    /// How many requests are worked on.
    pub(crate) fn busy(&self) -> usize {
        self.room.taken() + self.aside.taken()
    }

    /// Room for what lasts longer than the request that began it.
    pub(crate) fn work(&self, tenant: &Arc<str>) -> Result<Work, Problem> {
        self.room.work(tenant, self.tenants())
    }

    fn tenants(&self) -> Tenants {
        if self.runtime.has_several_tenants() { Tenants::Several } else { Tenants::One }
    }

    /// Whoever holds a key's text, declared or stored.
    pub(crate) fn of_key(&self, text: &str) -> Option<Who> {
        let now_ms = || self.runtime.store().now_ms();
        let who = match self.keys.find(text, now_ms) {
            Some(who) => who.clone(),
            None => self.opening().find(text, now_ms)?.clone(),
        };
        Some(self.let_in(who))
    }

    /// By the tenant that is called so now.
    fn let_in(&self, who: Who) -> Who {
        let era = self.runtime.era(&who.tenant);
        who.at(era)
    }

    /// Whoever holds the key of this name, as long as it opens anything.
    pub(crate) fn holder(&self, id: &str) -> Option<Who> {
        let now_ms = || self.runtime.store().now_ms();
        let who = match self.keys.holder(id, now_ms) {
            Some(who) => who.clone(),
            None => self.opening().holder(id, now_ms)?.clone(),
        };
        Some(self.let_in(who))
    }

    /// Whether somebody holds an administrator's key of a tenant that opens something.
    pub(crate) fn has_administrator(&self, tenant: &str, meant: impl Fn(&Who) -> bool) -> bool {
        let own = |who: &Who| *who.tenant == *tenant && who.is(Role::Administrator) && meant(who);
        let now_ms = self.runtime.store().now_ms();
        self.keys.holders(now_ms).any(own) || self.opening().holders(now_ms).any(own)
    }

    /// Resolves when a credential no longer opens what it did: revoked, expired, or of another role.
    pub(crate) async fn shut(self: Arc<Self>, credential: Option<Credential>, who: Who) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if !self.still_opens(credential.as_ref(), &who).await {
                return;
            }
        }
    }

    /// Resolves when a visit of the console is over: signed out, or its time is up.
    pub(crate) async fn left(self: Arc<Self>, visit: [u8; 32]) {
        while self.visits.goes_on(&visit) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Whether a credential still opens what it did. Whoever visits the console holds the key that they
    /// came in with.
    pub(crate) async fn still_opens(&self, credential: Option<&Credential>, who: &Who) -> bool {
        let now = match credential {
            Some(credential) => self.identify(&credential.0).await,
            None => self.holder(&who.key),
        };
        // However the request came.
        now.map(|now| now.through(who.via.clone())).as_ref() == Some(who)
    }

    /// The stored keys, as they are now.
    fn opening(&self) -> arc_swap::Guard<Arc<Opening>> {
        if self.stored.load().changes != self.runtime.config_changes() {
            let configured = self.runtime.configured();
            self.stored.store(Arc::new(Opening::new(&configured.snapshot)));
        }
        self.stored.load()
    }

    /// Whoever holds a credential: the text after `Bearer`. The one place that says so, for every
    /// way in.
    pub async fn identify(&self, credential: &str) -> Option<Who> {
        self.catch_up().await;
        if let Some(who) = self.of_key(credential) {
            return Some(who);
        }
        if !self.issuers.may_be(credential) {
            return None;
        }
        // Boxed: most requests come with a key.
        match Box::pin(self.issuers.find(credential)).await {
            Ok(who) => Some(self.let_in(who)),
            Err(refused) => {
                let (issuer, kid) = (refused.issuer.as_deref(), refused.kid.as_deref());
                tracing::warn!(event = "token_refused", why = refused.why, issuer, kid);
                None
            }
        }
    }

    /// With models, so that whole conversations can be had at `/v1/chat/completions`.
    #[must_use]
    pub fn with_models(mut self, models: Models) -> Self {
        self.models = Some(models);
        self
    }

    /// The path of a link that signs the holder of a key in to the console: once, and soon. None
    /// where the system gives no random numbers.
    #[must_use]
    pub fn invite(&self, key: &str) -> Option<String> {
        let text = self.visits.invite(key)?;
        Some(format!("{}/sign-in/{text}", crate::console::HOME))
    }

    /// With other settings for MCP clients.
    #[must_use]
    pub fn with_mcp(mut self, settings: mcp::Settings) -> Self {
        self.mcp = settings;
        self
    }

    /// With the word of whoever holds a session's socket as that of the person for whom they act, or
    /// without it, as when this is not said: who holds the key may be the agent itself.
    #[must_use]
    pub fn with_socket_approvals(mut self, approvals: Approvals) -> Self {
        self.socket_approvals = approvals;
        self
    }

    /// Says that it will not be ready for long.
    pub(crate) fn leave(&self) {
        self.state.send_replace(State::Leaving);
    }

    /// Ends streams that have no end of their own; what has one is waited for.
    pub(crate) fn stop(&self) {
        self.state.send_replace(State::Stopping);
    }

    /// Ends what was not done when the time for it was up.
    pub(crate) fn close(&self) {
        self.state.send_replace(State::Closed);
    }

    /// Whether no more work is taken.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.state.borrow() >= State::Stopping
    }

    /// Resolves when the server is told to stop.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        self.reached(State::Stopping)
    }

    /// Resolves when nothing is waited for any longer.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        self.reached(State::Closed)
    }

    fn reached(&self, wanted: State) -> impl Future<Output = ()> + Send + use<> {
        let mut told = self.state.subscribe();
        async move {
            // The sender is gone: so is the server.
            let _ = told.wait_for(|state| *state >= wanted).await;
        }
    }

    /// Whether work would be taken, or why not.
    pub(crate) async fn ready(&self) -> Result<(), &'static str> {
        if *self.state.borrow() > State::Open {
            return Err("the server is about to stop");
        }
        if self.shortage.is_now() {
            return Err("no connections can be accepted: there are no file descriptors left");
        }
        match self.store().await {
            Takes::Effects => Ok(()),
            Takes::NoRoom => Err(
                "the store has no room left: make some where it lies, or have less kept, and it is \
                 written again",
            ),
            Takes::Nothing => Err(
                "the store cannot be written: the log says why, and whether haft has to be started \
                 again",
            ),
            Takes::NoEffects => Err(
                "the audit trail was changed from outside, and no effects are taken until somebody \
                 has looked (`haft audit verify`) and said so (`haft audit acknowledge`)",
            ),
        }
    }

    /// What the store takes. Asked once a second at most: this is open to all.
    async fn store(&self) -> Takes {
        let mut known = self.ready.lock().await;
        match *known {
            Some((at, takes)) if at.elapsed() < Duration::from_secs(1) => takes,
            Some(_) | None => {
                // A store that does not answer takes nothing either.
                let asked = tokio::time::timeout(ANSWER, self.ask_store()).await;
                let takes = asked.unwrap_or(Takes::Nothing);
                *known = Some((Instant::now(), takes));
                takes
            }
        }
    }

    async fn ask_store(&self) -> Takes {
        let store = self.runtime.store();
        // Where nothing waits to be written there is nothing that could fail: what was refused last
        // tells, and is asked for first, and so does the room that there is.
        if store.has_room().await.is_ok_and(|room| !room) {
            return Takes::NoRoom;
        }
        if !store.is_writable() {
            return Takes::Nothing;
        }
        if store.flush().await.is_err() {
            return Takes::Nothing;
        }
        // One tenant's trail is no reason to turn the others away.
        let mut takes = Takes::Effects;
        for tenant in &self.runtime.configured().records.tenants {
            match store.trusts(&tenant.id).await {
                Ok(()) => return Takes::Effects,
                Err(_) => takes = Takes::NoEffects,
            }
        }
        takes
    }
}
