//! Keys that are made while haft runs, kept as hashes in the store.

use haft_core::Principal;
use haft_core::config::{Change, Entry, Kind, Snapshot};
use haft_runtime::Runtime;
use haft_runtime::config::ChangeError;
use haft_runtime::policy::{Instant, Problem};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::facts::Facts;
use super::{Key, Keys, Role, Who, mint as text_of};

/// What the store keeps of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredKey {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// SHA-256 of the key's whole text, in hex.
    pub sha256: String,
    /// Who holds it.
    pub principal: Principal,
    /// For whom its holder acts, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Principal>,
    /// What it allows.
    pub roles: Vec<Role>,
    /// The agents whose calls it may make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// What is known about its user.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub user: Facts,
    /// When it was made, in milliseconds of the Unix epoch.
    pub made_at_ms: i64,
    /// When it ends; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at_ms: Option<i64>,
}

impl StoredKey {
    fn key(&self, id: &str, tenant: &str) -> Key {
        Key {
            id: id.to_owned(),
            sha256: self.sha256.clone(),
            tenant: tenant.to_owned(),
            principal: self.principal.clone(),
            subject: self.subject.clone(),
            roles: self.roles.clone(),
            agents: self.agents.clone(),
            name: self.name.clone(),
            expires: self.expires_at_ms.map(Instant),
            user: self.user.clone(),
        }
    }
}

/// A key that somebody wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What it is for.
    pub name: Option<String>,
    /// Who holds it.
    pub principal: Principal,
    /// For whom its holder acts, always.
    pub subject: Option<Principal>,
    /// What it allows.
    pub roles: Vec<Role>,
    /// The agents whose calls it may make.
    pub agents: Option<Vec<String>>,
    /// What is known about its user.
    pub user: Facts,
    /// When it ends, in milliseconds of the Unix epoch.
    pub expires_at_ms: Option<i64>,
}

fn senseless(why: impl Into<String>) -> ChangeError {
    ChangeError::Invalid(vec![Problem::error("request", why.into())])
}

/// Makes a key; returns its text, which is nowhere else, and what is kept. The id is random: no
/// tenant learns of another's from a name that is taken.
///
/// # Errors
///
/// It makes no sense, or cannot be written.
pub async fn mint(
    runtime: &Runtime,
    by: &Principal,
    tenant: &str,
    wanted: Wanted,
) -> Result<(String, Entry), ChangeError> {
    let mut random = [0; 40];
    getrandom::fill(&mut random).map_err(|why| senseless(format!("no random numbers: {why}")))?;
    let (name, secret) = random.split_at(8);
    let id = format!("k{}", super::hex(name));
    let secret: [u8; 32] = secret.try_into().unwrap_or([0; 32]);
    let now = runtime.store().now_ms();
    if wanted.expires_at_ms.is_some_and(|at| at <= now) {
        return Err(senseless("`expires` is over already"));
    }
    if wanted.name.as_ref().is_some_and(|name| name.len() > 200) {
        return Err(senseless("`name` has more than 200 bytes"));
    }
    let (text, sha256) = text_of(&id, &secret);
    let stored = StoredKey {
        name: wanted.name,
        sha256,
        principal: wanted.principal,
        subject: wanted.subject,
        roles: wanted.roles,
        agents: wanted.agents,
        user: wanted.user,
        made_at_ms: now,
        expires_at_ms: wanted.expires_at_ms,
        revoked_at_ms: None,
    };
    Keys::load(&[stored.key(&id, tenant)]).map_err(|why| senseless(why.why()))?;
    let change = Change {
        kind: Kind::Key,
        tenant: tenant.to_owned(),
        id,
        from: 0,
        to: Some(json!(stored)),
        by: by.clone(),
    };
    Ok((text, runtime.change(change).await?.entry))
}

/// Revokes a key. One that is revoked stays so. What its holder has approved and no call has used yet
/// counts no longer: the questions are open again.
///
/// # Errors
///
/// There is none, or it cannot be written.
pub async fn revoke(
    runtime: &Runtime,
    by: &Principal,
    tenant: &str,
    id: &str,
) -> Result<Entry, ChangeError> {
    let (entry, stored) = closed(runtime, by, tenant, id).await?;
    // Over a socket, whoever the holder acts for approves.
    for approver in [Some(&stored.principal), stored.subject.as_ref()].into_iter().flatten() {
        runtime.store().withdraw(tenant, approver).await?;
    }
    Ok(entry)
}

async fn closed(
    runtime: &Runtime,
    by: &Principal,
    tenant: &str,
    id: &str,
) -> Result<(Entry, StoredKey), ChangeError> {
    loop {
        let entry = runtime.store().entry(Kind::Key, tenant, id).await?;
        let mut stored: StoredKey = serde_json::from_value(entry.body.clone())
            .map_err(|why| senseless(format!("the key cannot be read: {why}")))?;
        if stored.revoked_at_ms.is_some() {
            return Ok((entry, stored));
        }
        stored.revoked_at_ms = Some(runtime.store().now_ms());
        let change = Change {
            kind: Kind::Key,
            tenant: tenant.to_owned(),
            id: id.to_owned(),
            from: entry.version,
            to: Some(json!(stored)),
            by: by.clone(),
        };
        match runtime.change(change).await {
            // Somebody else revokes it, or has: look again.
            Err(ChangeError::Stale) => {}
            changed => return changed.map(|changed| (changed.entry, stored)),
        }
    }
}

/// The stored keys that open something, as of one moment.
#[derive(Debug, Default)]
pub(crate) struct Opening {
    /// The changes of the store that this was made after.
    pub(crate) changes: u64,
    keys: Keys,
}

impl Opening {
    pub(crate) fn new(snapshot: &Snapshot) -> Self {
        let mut opening = Self { changes: snapshot.changes, ..Self::default() };
        for entry in snapshot.entries.iter().filter(|one| one.kind == Kind::Key) {
            let read = serde_json::from_value::<StoredKey>(entry.body.clone());
            // One that cannot be read opens nothing.
            let Ok(stored) = read else { continue };
            if stored.revoked_at_ms.is_some() {
                continue;
            }
            // Nor does one that makes no sense.
            let _ = opening.keys.add(&stored.key(&entry.id, &entry.tenant), Some(entry.edition()));
        }
        opening
    }

    pub(crate) fn find(&self, text: &str, now_ms: impl FnOnce() -> i64) -> Option<&Who> {
        self.keys.find(text, now_ms)
    }

    pub(crate) fn holder(&self, id: &str, now_ms: impl FnOnce() -> i64) -> Option<&Who> {
        self.keys.holder(id, now_ms)
    }

    /// Whoever holds a key that opens something.
    pub(crate) fn holders(&self, now_ms: i64) -> impl Iterator<Item = &Who> {
        self.keys.holders(now_ms)
    }
}
