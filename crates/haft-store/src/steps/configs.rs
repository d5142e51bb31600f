//! The steps of what is configured.

use haft_core::config::{Change, Entry, Kind, MAX_ENTRY_BYTES, MAX_ENTRY_ID};
use haft_core::port::StoreError;
use haft_core::{Digest, Principal};
use serde::Serialize;

use super::journal::written;
use crate::tables::{Clears, Res, Tables};

/// A tenant was removed, and with it what was its own. What the trail has of it is for nobody who is called
/// the same later.
pub(crate) const SHRED: &str = "shred";

/// The audit entry of a change. What an entry says may hold a hash or a sealed credential, so only
/// its digest is here.
#[derive(Serialize)]
struct Changed<'a> {
    kind: Kind,
    id: &'a str,
    version: u64,
    by: String,
    digest: Option<Digest>,
}

/// Writes or removes an entry, on what was read.
pub(crate) fn change(on: &mut impl Clears, change: &Change) -> Res<Entry> {
    sensible(change)?;
    let stored = on.config(change.kind, &change.tenant, &change.id)?;
    let (version, before) = match stored {
        None => (0, None),
        Some((version, before)) => (version, before),
    };
    match (&before, change.from) {
        (None, 0) if change.to.is_some() => {}
        (None, _) => return Err(StoreError::Missing),
        (Some(before), from) if before.version == from => {}
        (Some(_), _) => return Err(StoreError::Stale),
    }
    let tenant_goes = change.kind == Kind::Tenant && change.to.is_none();
    if tenant_goes && on.has_open(&change.id)? {
        return Err(StoreError::WrongState(format!(
            "the tenant `{}` has effects whose outcome is open; settle them first",
            change.id
        )));
    }
    let comes_again = change.kind == Kind::Tenant && before.is_none() && version > 0;
    if tenant_goes || comes_again {
        // An older haft left it there when it removed the tenant.
        clear(on, &change.id, &change.by)?;
    }
    let entry = write(on, change, version)?;
    if tenant_goes {
        on.drop_versions(&change.id)?;
        // Whoever is called so later begins after this.
        on.append(&change.id, SHRED, "{}".to_owned())?;
    }
    match before {
        Some(before) if change.to.is_none() => Ok(before),
        Some(_) | None => Ok(entry),
    }
}

/// Removes what is left of a tenant, and what it said: revoked keys name people, and rules say what their
/// author would tell nobody who is called the same later. That there was something under an id stays,
/// so that nobody who read the old can overwrite the new.
fn clear(on: &mut impl Clears, tenant: &str, by: &Principal) -> Res<()> {
    for left in on.left_of(tenant)? {
        let removal = Change {
            kind: left.kind,
            tenant: left.tenant,
            id: left.id,
            from: left.version,
            to: None,
            by: by.clone(),
        };
        write(on, &removal, left.version)?;
    }
    on.drop_versions(tenant)
}

/// Writes the version after this one, and that it was written.
fn write(on: &mut impl Tables, change: &Change, version: u64) -> Res<Entry> {
    let entry = Entry {
        kind: change.kind,
        tenant: change.tenant.clone(),
        id: change.id.clone(),
        version: version + 1,
        body: change.to.clone().unwrap_or_default(),
        changed_at_ms: on.now_ms(),
        changed_by: change.by.clone(),
    };
    on.put_config(&entry, change.to.is_none())?;
    let line = Changed {
        kind: change.kind,
        id: &change.id,
        version: entry.version,
        by: change.by.to_string(),
        digest: change.to.as_ref().map(Digest::of_json),
    };
    on.append(&change.tenant, "config", written(&line)?)?;
    Ok(entry)
}

fn sensible(change: &Change) -> Res<()> {
    let wrong = |why: &str| Err(StoreError::WrongState(why.to_owned()));
    for id in [&change.tenant, &change.id] {
        if id.is_empty() || id.len() > MAX_ENTRY_ID || id.chars().any(char::is_control) {
            return wrong("an id has 1 to 512 bytes and no control characters");
        }
    }
    match &change.to {
        Some(body) if written(body)?.len() > MAX_ENTRY_BYTES => {
            wrong("an entry has at most 1 MiB; write less")
        }
        Some(_) | None => Ok(()),
    }
}
