//! Who is asking: API keys, what each may do, and for whom.
//!
//! Tenant, principal and subject come from the credential and from nowhere else. A key is a random
//! text that is shown once; what is kept is its SHA-256.

pub mod facts;
pub mod jwt;
pub mod stored;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use foldhash::HashMap;
use haft_core::call::{Caller, Credential, Principal, PrincipalKind};
use haft_core::config::Edition;
use haft_core::hop::Chain;
use haft_runtime::policy::Instant;
use haft_runtime::redact::is_hidden;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use facts::Facts;

/// What a key's holder may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// See an agent's tools and make its calls.
    Agent,
    /// Answer confirmations.
    Approver,
    /// Watch calls, and decide about effects.
    Operator,
    /// Everything, and change what others may do.
    Administrator,
    /// Read the metrics, and nothing else.
    Metrics,
}

/// A key, as it is declared: everything but the secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Key {
    /// Its name, which stands in the key's text.
    pub id: String,
    /// SHA-256 of the key's whole text, in hex.
    pub sha256: String,
    /// Whose tools and records.
    pub tenant: String,
    /// Who holds it.
    pub principal: Principal,
    /// For whom its holder acts, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Principal>,
    /// What it allows.
    pub roles: Vec<Role>,
    /// The agents whose calls it may make; all of the tenant where absent. An agent's own key is
    /// for that agent alone unless this says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it ends; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Instant>,
    /// What is known about its user: `context.user` in rules and conditions.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub user: Facts,
}

/// Whoever makes a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Who {
    /// The name of the key.
    pub key: Arc<str>,
    /// Whose tools and records.
    pub tenant: Arc<str>,
    /// Who acts.
    pub principal: Principal,
    /// For whom.
    pub subject: Option<Principal>,
    /// What is known about the user.
    pub(crate) user: Arc<Facts>,
    /// The servers that the request came through.
    pub(crate) via: Chain,
    /// Which of the tenants of this name it was that let them in: what is kept for them is for no other.
    pub(crate) era: u64,
    credential: Option<Arc<Credential>>,
    roles: Arc<[Role]>,
    agents: Option<Arc<[String]>>,
}

impl Who {
    /// Whoever bears an issuer's token. An agent's is for that agent alone.
    pub(crate) fn by_token(
        issuer: &str,
        tenant: &str,
        principal: Principal,
        subject: Option<Principal>,
        roles: Vec<Role>,
        said: &Facts,
    ) -> Self {
        let agent = principal.kind == PrincipalKind::Agent;
        let agents = agent.then(|| [principal.id.to_string()].into());
        let (key, tenant) = (issuer.into(), tenant.into());
        let user = facts::of(&principal, subject.as_ref(), said);
        let (via, era, credential, roles) = (Chain::default(), 0, None, roles.into());
        Self { key, tenant, principal, subject, user, via, era, credential, roles, agents }
    }

    /// The same one, whose token holds up to this second.
    pub(crate) fn until(mut self, last_s: u64) -> Self {
        self.credential = Some(Arc::new(Credential::Token { last_s }));
        self
    }

    /// Whether the role is held. An administrator holds every one but an agent's; like an operator,
    /// they may make an agent's calls as themselves. Only people approve: a program that administers
    /// does not.
    #[must_use]
    pub fn is(&self, role: Role) -> bool {
        let person = self.principal.kind == PrincipalKind::User;
        let held = self.roles.contains(&role)
            || (role != Role::Agent && self.roles.contains(&Role::Administrator));
        held && (role != Role::Approver || person)
    }

    /// Whether they decide about what others do, beside whatever they call themselves.
    pub(crate) fn decides(&self) -> bool {
        self.is(Role::Operator) || self.is(Role::Approver)
    }

    /// The same one, of a request that came through other servers.
    pub(crate) fn through(mut self, via: Chain) -> Self {
        self.via = via;
        self
    }

    /// The same one, let in by this tenant of that name.
    pub(crate) fn at(mut self, era: u64) -> Self {
        self.era = era;
        self
    }

    /// Whether what is kept for one tenant is this one's: the same, not another of its name.
    pub(crate) fn shares_tenant(&self, other: &Self) -> bool {
        self.tenant == other.tenant && self.era == other.era
    }

    /// The same person with another tenant's things before them. Only for who may: the door asks.
    pub(crate) fn in_tenant(&self, tenant: &str) -> Self {
        Self { tenant: tenant.into(), ..self.clone() }
    }

    /// Whether it is the same credential with the same rights, whichever servers a request came
    /// through. Of a token, its issuer and what it says count, and not its text or its end: one that
    /// was renewed is the same, and one that has gained or lost something is not.
    pub(crate) fn has_the_rights_of(&self, other: &Self) -> bool {
        let agents = match (&self.agents, &other.agents) {
            (Some(own), Some(theirs)) => same_set(own, theirs),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let named = self.key == other.key && self.tenant == other.tenant;
        let person = self.principal == other.principal && self.subject == other.subject;
        named && person && self.user == other.user && agents && same_set(&self.roles, &other.roles)
    }

    /// The agent that this key is for, where it is for one alone.
    #[must_use]
    pub fn only_agent(&self) -> Option<&str> {
        match self.agents.as_deref() {
            Some([only]) => Some(only),
            Some(_) | None => None,
        }
    }

    /// Whether this key may make an agent's calls.
    pub(crate) fn may_call(&self, agent: &str) -> bool {
        let named = self.agents.as_ref().is_none_or(|agents| agents.iter().any(|one| one == agent));
        named && (self.is(Role::Agent) || self.is(Role::Operator))
    }

    /// The caller of an agent's tools, where this key may be one.
    #[must_use]
    pub fn calls_as(&self, agent: &str) -> Option<Caller> {
        self.may_call(agent).then(|| self.caller(agent))
    }

    /// The same whoever may call; of no agent in particular where it has no name.
    pub(crate) fn caller(&self, agent: &str) -> Caller {
        Caller {
            tenant: self.tenant.clone(),
            agent: agent.into(),
            actor: self.principal.clone(),
            subject: self.subject.clone(),
            user: self.user.clone(),
            via: self.via.clone(),
            era: Some(self.era),
            credential: self.credential.clone(),
        }
    }
}

/// Whether the same is listed, in whichever order and however often. (As it was, nearly always: this is asked for
/// every request of a session.)
fn same_set<T: Ord>(one: &[T], other: &[T]) -> bool {
    let set = |listed| BTreeSet::<&T>::from_iter(listed);
    one == other || set(one) == set(other)
}

/// Why a set of keys is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadKey {
    id: String,
    why: &'static str,
}

impl BadKey {
    /// What is wrong with the `sha256` of a key of which nothing else may be known.
    #[must_use]
    pub fn of_hash(id: &str, sha256: &str) -> Option<Self> {
        unhex(sha256).is_none().then(|| Self { id: id.to_owned(), why: NO_HASH })
    }

    /// What is wrong.
    #[must_use]
    pub fn why(&self) -> String {
        format!("the key {}", self.why)
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key `{}` {}", self.id.escape_debug(), self.why)
    }
}

impl std::error::Error for BadKey {}

/// The keys that open this server.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    by_id: HashMap<String, ([u8; 32], Who)>,
    declared: Vec<Key>,
    /// When keys end that do.
    ends: HashMap<String, i64>,
}

impl Keys {
    /// Checks the keys that are declared.
    ///
    /// # Errors
    ///
    /// The first that makes no sense.
    pub fn load(keys: &[Key]) -> Result<Self, BadKey> {
        let mut all = Self::default();
        for key in keys {
            all.add(key, None)?;
            all.declared.push(key.clone());
        }
        Ok(all)
    }

    /// Takes a key in; one that the store keeps holds as long as its entry is as it was read.
    pub(crate) fn add(&mut self, key: &Key, kept: Option<Edition>) -> Result<(), BadKey> {
        if let Some(first) = key.faults().into_iter().next() {
            return Err(first);
        }
        let wrong = |why| Err(BadKey { id: key.id.clone(), why });
        let Some(hash) = unhex(&key.sha256) else { return wrong(NO_HASH) };
        if self.by_id.insert(key.id.clone(), (hash, holder(key, kept))).is_some() {
            return wrong("is there twice");
        }
        if let Some(at) = key.expires {
            self.ends.insert(key.id.clone(), at.0);
        }
        Ok(())
    }

    /// The keys that are declared.
    pub(crate) fn declared(&self) -> impl Iterator<Item = &Key> {
        self.declared.iter()
    }

    /// Whoever holds a key's text, as long as it opens anything.
    #[must_use]
    pub fn find(&self, text: &str, now_ms: impl FnOnce() -> i64) -> Option<&Who> {
        let (id, _) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let (expected, who) = self.by_id.get(id)?;
        let found: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        match bool::from(found.ct_eq(expected)) {
            true => self.in_time(who, now_ms),
            false => None,
        }
    }
}

impl Keys {
    /// Whoever holds a key that opens something.
    pub(crate) fn holders(&self, now_ms: i64) -> impl Iterator<Item = &Who> {
        let all = self.by_id.values().map(|(_, who)| who);
        all.filter(move |who| self.in_time(who, || now_ms).is_some())
    }

    /// Whoever holds the key of this name now, where there is one that opens something.
    #[must_use]
    pub(crate) fn holder(&self, id: &str, now_ms: impl FnOnce() -> i64) -> Option<&Who> {
        self.by_id.get(id).and_then(|(_, who)| self.in_time(who, now_ms))
    }

    /// Most keys have no end, and nobody asks for the time then.
    fn in_time<'a>(&'a self, who: &'a Who, now_ms: impl FnOnce() -> i64) -> Option<&'a Who> {
        let over = self.ends.get(&*who.key).is_some_and(|at| *at <= now_ms());
        (!over).then_some(who)
    }
}

fn holder(key: &Key, kept: Option<Edition>) -> Who {
    let own =
        (key.principal.kind == PrincipalKind::Agent).then(|| vec![key.principal.id.to_string()]);
    let ends = kept.is_some() || key.expires.is_some();
    let credential = Credential::Key { kept, ends_at_ms: key.expires.map(|at| at.0) };
    Who {
        key: key.id.as_str().into(),
        tenant: key.tenant.as_str().into(),
        principal: key.principal.clone(),
        subject: key.subject.clone(),
        user: facts::of(&key.principal, key.subject.as_ref(), &key.user),
        via: Chain::default(),
        era: 0,
        credential: ends.then(|| Arc::new(credential)),
        roles: key.roles.clone().into(),
        agents: key.agents.clone().or(own).map(Into::into),
    }
}

const PREFIX: &str = "haft_";

/// Makes a key's text from 32 random bytes, and the hash that is kept of it.
#[must_use]
pub fn mint(id: &str, random: &[u8; 32]) -> (String, String) {
    let text = format!("{PREFIX}{id}_{}", hex(random));
    let hash = hex(&Sha256::digest(text.as_bytes()));
    (text, hash)
}

/// The hash that is kept of a key's text.
#[must_use]
pub fn hash_of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn is_key_id(id: &str) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    !id.is_empty() && id.len() <= 64 && id.bytes().all(plain)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const NO_ID: &str = "has no usable id; use lower-case letters, digits and `-`";
const NO_HASH: &str = "needs `sha256` as 64 hex digits; `haft keys new` prints them";

impl Key {
    /// Everything that makes no sense, the first first.
    #[must_use]
    pub fn faults(&self) -> Vec<BadKey> {
        let (kind, roles) = (self.principal.kind, &self.roles);
        let beyond_agents = roles.iter().any(|role| *role != Role::Agent);
        let faults = [
            (!is_key_id(&self.id)).then_some(NO_ID),
            unhex(&self.sha256).is_none().then_some(NO_HASH),
            (kind == PrincipalKind::Agent && beyond_agents)
                .then_some("belongs to an agent, which can hold no other role than `agent`"),
            (kind == PrincipalKind::Service && roles.contains(&Role::Approver))
                .then_some("belongs to a service, and only people approve; make keys for `user:…`"),
            roles.is_empty().then_some("has no role and would open nothing"),
            looks_like_another(&self.principal),
            self.subject.as_ref().and_then(looks_like_another),
            facts::fault(&self.user),
        ];
        faults.into_iter().flatten().map(|why| BadKey { id: self.id.clone(), why }).collect()
    }
}

/// Why a name would pass for somebody else's, wherever it is shown. Letters that look like others make
/// names of their own: languages are written with them.
#[must_use]
pub fn looks_like_another(principal: &Principal) -> Option<&'static str> {
    let id = &*principal.id;
    // Pages and terminals show several spaces as one.
    let odd = |c: char| c.is_whitespace() && c != ' ';
    let first = id.split_once(':').map(|(first, _)| first.trim().to_ascii_lowercase());
    if id.chars().any(is_hidden) {
        Some("names somebody with characters that cannot be seen; leave them out")
    } else if id.trim() != id || id.contains("  ") || id.contains(odd) {
        Some(
            "names somebody with spaces that cannot be told apart; leave single plain ones, inside",
        )
    } else if first.is_some_and(|first| ["user", "agent", "service"].contains(&&*first)) {
        Some("names somebody as if they were of another kind; say one kind, once")
    } else {
        None
    }
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}
