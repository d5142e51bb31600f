//! Checks the audit trail of a database.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::time::Duration;

use haft_core::Digest;
use haft_core::port::{Checked, StoreError};
use haft_core::record::AuditEntry;
use haft_core::registry::PublicKey;
use rusqlite::{Connection, Row};
use tokio::sync::oneshot;

use super::agree::Words;
use super::fault::of_read;
use super::forget::gaps;
use super::shared::Suspicion;
use super::{Sqlite, read, reader, row};
use crate::tables::{Looked, Res};
use crate::trail::{self, Broken, Chain, Checkpoint, Fault, Gap, Link, Verified};

/// Up to where a person has looked at faults, for [`looked`].
pub(super) const LOOKED: &str =
    "SELECT coalesce(max(number), 0), coalesce(max(at_ms), 0) FROM acknowledged";

/// Checks a database's audit trail against itself and against the checkpoints in a file.
///
/// # Errors
///
/// When the files cannot be read. What is wrong with the trail is in the inner result.
pub fn verify(
    path: &Path,
    key: &PublicKey,
    checkpoints: &Path,
) -> Result<Result<Verified, Broken>, StoreError> {
    let conn = reader::open(path, Duration::from_secs(5))?;
    let checkpoints = match signed(checkpoints)? {
        Ok(checkpoints) => checkpoints,
        Err(broken) => return Ok(Err(broken)),
    };
    // One view of all tables, whoever writes meanwhile.
    let conn = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let mut chain = match Chain::new(checkpoints, gaps(&conn)?, key) {
        Ok(chain) => chain,
        Err(broken) => return Ok(Err(broken)),
    };
    let mut first = None;
    let mut words = Words::default();
    each(&conn, |entry| {
        words.take(entry);
        if first.is_none() {
            first = chain.take(entry).err();
        }
    })?;
    if first.is_none() {
        first = words.against(&conn)?.into_iter().next().map(|one| one.broken);
    }
    Ok(first.map_or_else(|| chain.end(), Err))
}

/// Says when a database's time, or that of its trail, is far ahead of the machine's clock, which shows
/// `wall_ms`. That is no fault of the trail.
///
/// # Errors
///
/// When the file cannot be read.
pub fn ahead(path: &Path, wall_ms: i64) -> Result<Option<String>, StoreError> {
    let conn = reader::open(path, Duration::from_secs(5))?;
    let number = |sql| read::one(&conn, sql, (), |row| row.get::<_, Option<i64>>(0));
    let store_ms = number("SELECT now_ms FROM clock")?.flatten().unwrap_or_default();
    let latest_ms = number("SELECT max(at_ms) FROM audit")?.flatten().unwrap_or_default();
    Ok(trail::warning(wall_ms, store_ms, latest_ms))
}

impl Sqlite {
    /// Checks the trail on a thread of its own: it reads all of it, and readers are few.
    pub(super) async fn verify_aside(&self) -> Res<Checked> {
        // Whatever is queued is part of the trail.
        self.write(|_| Ok(())).await?;
        let (path, wall_ms) = (self.path.clone(), self.shared.clock.wall_ms());
        aside(move || {
            let key = Self::signing_key(&path)?.public();
            let found = verify(&path, &key, &Self::checkpoints(&path)).map(trail::said)?;
            Ok(Checked { warning: ahead(&path, wall_ms)?, ..found })
        })
        .await
    }
}

/// The marks of everything on which the trail and the tables do not agree.
pub(super) fn marks(path: &Path) -> Res<Vec<Digest>> {
    let conn = reader::open(path, Duration::from_secs(5))?;
    let conn = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let mut words = Words::default();
    each(&conn, |entry| words.take(entry))?;
    Ok(words.against(&conn)?.into_iter().flat_map(|one| one.marks).collect())
}

/// Does what takes long on a thread of its own.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Res<T> + Send + 'static,
) -> Res<T> {
    let (answer, wait) = oneshot::channel();
    let thread = std::thread::Builder::new().name("haft-store-verify".to_owned());
    let unavailable = |why: String| StoreError::Unavailable(why);
    // Nobody waits any more: nobody to tell.
    let spawned = thread.spawn(move || drop(answer.send(work())));
    spawned.map_err(|error| unavailable(format!("no thread to check with: {error}")))?;
    wait.await.map_err(|_| unavailable("the check did not end".to_owned()))?
}

/// Whom to stop, because of faults that nobody has acknowledged.
pub(super) fn suspicion(conn: &Connection, key: &PublicKey, path: &Path) -> Res<Suspicion> {
    let looked = read::one(conn, LOOKED, (), looked)?.unwrap_or_default();
    let all = |broken: &Broken| Ok(Suspicion::All(in_words(broken)));
    let checkpoints = match signed(path)? {
        Ok(checkpoints) => checkpoints,
        Err(broken) => return all(&broken),
    };
    let newer = checkpoints.into_iter().filter(|one| one.at_ms > looked.at_ms).collect();
    let (checkpoints, gaps) = (trail::by_number(newer), gaps(conn)?);
    if let Some(forged) = forged(&checkpoints, &gaps, looked, key) {
        return all(&forged);
    }
    let mut chain = Chain::from(Link::default(), checkpoints, gaps);
    let mut faults = Vec::new();
    let mut words = Words::default();
    each(conn, |entry| {
        words.take(entry);
        let fault = chain.take(entry).err();
        // Whoever changed what somebody has said changed what they have looked at.
        if fault.as_ref().is_none_or(|broken| broken.fault != Fault::Hash) {
            words.look(entry);
        }
        faults.extend(fault.filter(|broken| broken.number > looked.number));
    })?;
    faults.extend(chain.end().err());
    let differing = words.against(conn)?.into_iter().filter(|one| !words.knows(one));
    faults.extend(differing.map(|one| one.broken));
    Ok(suspects(&faults))
}

/// The newest checkpoint, and gaps that nobody has looked at, must be signed. All the others are
/// compared with their entries like it, and prove nothing that it does not: every entry is linked to
/// those before. To check each signature takes long where there are many; [`verify`] does.
fn forged(
    checkpoints: &BTreeMap<u64, Checkpoint>,
    gaps: &[Gap],
    looked: Looked,
    key: &PublicKey,
) -> Option<Broken> {
    let broken = |number, fault| Some(Broken { number, tenant: None, fault });
    if let Some((number, _)) =
        checkpoints.last_key_value().filter(|(_, newest)| !newest.is_signed_by(key))
    {
        return broken(*number, Fault::Checkpoint);
    }
    // One from before the key was lost is known, as checkpoints of that time are.
    let mut unknown = gaps.iter().filter(|gap| !looked.covers(gap));
    let forged = unknown.find(|gap| !gap.is_signed_by(key))?;
    broken(forged.first, Fault::Forgotten)
}

/// An entry whose content alone was changed is its tenant's affair. Anything else can be due to an
/// entry that is no longer there to say whose it was.
pub(super) fn suspects(faults: &[Broken]) -> Suspicion {
    let Some(first) = faults.first() else { return Suspicion::None };
    let its_own = |broken: &Broken| {
        matches!(broken.fault, Fault::Hash | Fault::Ledger | Fault::Removed | Fault::Config)
    };
    let owner = |broken: &Broken| broken.tenant.clone().filter(|_| its_own(broken));
    match faults.iter().map(owner).collect::<Option<HashSet<String>>>() {
        Some(tenants) => Suspicion::Of(tenants, in_words(first)),
        None => Suspicion::All(in_words(first)),
    }
}

pub(super) fn in_words(broken: &Broken) -> String {
    broken.to_string()
}

/// When somebody last looked into the trail and went on; 0 where nobody has.
pub(super) fn looked_at_ms(conn: &Connection) -> Res<i64> {
    Ok(read::one(conn, LOOKED, (), looked)?.unwrap_or_default().at_ms)
}

pub(super) fn looked(found: &Row<'_>) -> rusqlite::Result<Looked> {
    Ok(Looked { number: row::unsigned(found, 0)?, at_ms: found.get(1)? })
}

pub(super) fn signed(path: &Path) -> Res<Result<Vec<Checkpoint>, Broken>> {
    trail::read(path).map_err(|error| {
        StoreError::Unavailable(format!(
            "the checkpoints in `{}` cannot be read: {error}",
            path.display()
        ))
    })
}

fn each(conn: &Connection, mut take: impl FnMut(&AuditEntry)) -> Res<()> {
    let sql = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit ORDER BY number";
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query(())?;
        while let Some(found) = rows.next()? {
            take(&row::audit(found)?);
        }
        Ok(())
    };
    read().map_err(|error| of_read(&error))
}
