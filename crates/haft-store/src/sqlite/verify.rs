//! Checks the audit trail of a database.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use haft_core::Digest;
use haft_core::port::{Checked, StoreError};
use haft_core::registry::{PublicKey, SigningKey};
use rusqlite::{Connection, Row};
use tokio::sync::oneshot;

use super::agree::Words;
use super::fault::of_read;
use super::forget::gaps;
use super::known::Evidence;
use super::listed::each_with_calls;
use super::looked::{self, Acknowledged};
use super::pass::{self, Signatures};
use super::shared::Suspicion;
use super::{Sqlite, read, reader, row, writer};
use crate::tables::Res;
use crate::trail::{self, Broken, Chain, Checkpoint, Fault, Head, Link, Verified, Written};

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
    let evidence = Evidence::of(&conn)?;
    // Before the view that they are compared with: whoever writes meanwhile tells and signs more.
    let had = told(path)?.map(|head| head.link);
    let checkpoints = match signed(checkpoints)? {
        Ok(checkpoints) => checkpoints,
        Err(broken) => return Ok(Err(broken)),
    };
    let missing = evidence.against(key, &checkpoints, is_told(path));
    // Nothing can be said under another key.
    if let Some(broken) = missing.clone().filter(|broken| broken.fault == Fault::Key) {
        return Ok(Err(broken));
    }
    // One view of all tables.
    let conn = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let mut chain = match Chain::new(checkpoints, gaps(&conn)?, key) {
        Ok(chain) => chain,
        Err(broken) => return Ok(Err(broken)),
    };
    chain.had(had.into_iter().chain(evidence.link()));
    let mut first = None;
    let (mut words, said) = (Words::default(), Acknowledged::read(&conn, key)?);
    let listed = each_with_calls(&conn, |entry, is_intact| {
        words.take(entry);
        if is_intact && said.vouches_for(entry.number) {
            words.look(entry);
        }
        if first.is_none() {
            first = chain.follow(entry, is_intact).err();
        }
    })?;
    if first.is_none() {
        let differing = words.against(&conn)?.into_iter().chain(said.alone).chain(listed);
        first = words.telling(&differing.collect::<Vec<_>>());
        first = first.or_else(|| said.unsigned.into_iter().next());
    }
    let ended = first.map_or_else(|| chain.end(), Err);
    Ok(ended.and_then(|verified| missing.map_or(Ok(verified), Err)))
}

/// The same of a database with its own key and checkpoints. Nothing is made, also where there is no key.
///
/// # Errors
///
/// When the files cannot be read; [`StoreError::Missing`] where there is no store.
pub fn verify_here(path: &Path) -> Result<Result<Verified, Broken>, StoreError> {
    if !is_there(path)? {
        return removed(path)?.map(Err).ok_or(StoreError::Missing);
    }
    let key = trail::key_there(&super::beside(path, "key"))?;
    let key = match key {
        Some(key) => key,
        // Where nothing was signed, any key does.
        None => SigningKey::from_seed(&[0; 32]),
    };
    verify(path, &key.public(), &Sqlite::checkpoints(path))
}

fn is_there(path: &Path) -> Res<bool> {
    path.try_exists().map_err(|error| {
        StoreError::Unavailable(format!("`{}` cannot be read: {error}", path.display()))
    })
}

/// That a database is gone, where what belongs to one is there.
fn removed(path: &Path) -> Res<Option<Broken>> {
    let mut left = false;
    for what in ["key", "head", "checkpoints"] {
        left |= is_there(&super::beside(path, what))?;
    }
    let signed = signed(&Sqlite::checkpoints(path))?.unwrap_or_default();
    let signed = signed.last().map(|last| last.number);
    let number = told(path)?.map(|head| head.link.number).max(signed).unwrap_or_default();
    Ok(left.then_some(Broken { number, tenant: None, fault: Fault::Database }))
}

/// Whether there is a file that tells the end of the trail. One that cannot be read says nothing, as after a loss of
/// power; but it is there.
pub(super) fn is_told(path: &Path) -> bool {
    super::beside(path, "head").exists()
}

/// The end of the trail as it stands beside the database.
pub(super) fn told(path: &Path) -> Res<Option<Head>> {
    let path = super::beside(path, "head");
    Head::read(&path).map_err(|error| {
        StoreError::Unavailable(format!("`{}` cannot be read: {error}", path.display()))
    })
}

/// Signs the end of the trail as it stood beside the database, where the database knows nothing of it:
/// it was put back from an older copy. What is written next is told in its place, and this stays
/// until somebody has looked.
pub(super) fn fence(conn: &Connection, path: &Path, key: &SigningKey) -> Res<()> {
    let Some(Head { link, at_ms }) = told(path)? else { return Ok(()) };
    if Evidence::of(conn)?.is_of_another(&key.public()) {
        return Ok(());
    }
    if has(conn, &link)? || at_ms <= looked::last(conn, &key.public())?.at_ms {
        return Ok(());
    }
    let checkpoints = Sqlite::checkpoints(path);
    let is_signed = |one: &Checkpoint| (one.number, &one.hash) == (link.number, &link.hash);
    // Whatever is wrong with the others is found when they are compared.
    if signed(&checkpoints)?.is_ok_and(|all| all.iter().any(is_signed)) {
        return Ok(());
    }
    let head = Checkpoint::sign(&link, at_ms, key);
    trail::append(&checkpoints, &head, None).map(drop).map_err(|error| {
        StoreError::Unavailable(format!("`{}` cannot be written: {error}", checkpoints.display()))
    })
}

/// Whether an entry is there, or was and is forgotten.
pub(super) fn has(conn: &Connection, link: &Link) -> Res<bool> {
    let last = writer::last_link(conn).map_err(|error| of_read(&error))?;
    let sql = "SELECT hash FROM audit WHERE number = ?1";
    // One that cannot be read is not it.
    let digest = |found: &Row<'_>| Ok(row::digest(found, 0).ok());
    let hash = read::one(conn, sql, (row::signed(link.number),), digest)?;
    Ok(hash.map_or(link.number <= last.number, |hash| hash.as_ref() == Some(&link.hash)))
}

/// Says when a database's time, or that of its trail, is far ahead of the machine's clock, which shows
/// `wall_ms`. That is no fault of the trail. Of a database that is not there nothing is said.
///
/// # Errors
///
/// When the file cannot be read.
pub fn ahead(path: &Path, wall_ms: i64) -> Result<Option<String>, StoreError> {
    if !is_there(path)? {
        return Ok(None);
    }
    let conn = reader::open(path, Duration::from_secs(5))?;
    let number = |sql| read::one(&conn, sql, (), |row| row.get::<_, Option<i64>>(0));
    let store_ms = number("SELECT now_ms FROM clock")?.flatten().unwrap_or_default();
    let latest_ms = number("SELECT max(at_ms) FROM audit")?.flatten().unwrap_or_default();
    Ok(trail::warning(wall_ms, store_ms, latest_ms))
}

impl Sqlite {
    /// Checks the trail on a thread of its own: it reads all of it, and readers are few. What it finds
    /// stops effects as it does when a store is opened.
    pub(super) async fn verify_aside(&self) -> Res<Checked> {
        // Whatever is queued is part of the trail.
        if self.queue.is_some() {
            self.write(|_| Ok(())).await?;
        }
        let (path, short, now_ms) = (self.path.clone(), self.short, self.shared.clock.now_ms());
        let passed = aside(move || pass::whole(&path, short, now_ms, Signatures::All)).await?;
        // Whether or not more can be read: what was found is not lost over it.
        self.shared.looked(passed.looked_at_ms);
        let looked = self.has_looked().await.unwrap_or(passed.looked_at_ms);
        // Who has looked since has seen more than this did.
        if looked == passed.looked_at_ms {
            if passed.suspicion != Suspicion::None {
                self.shared.suspect(passed.suspicion);
            }
            self.shared.checked(now_ms);
        }
        let (path, wall_ms) = (self.path.clone(), self.shared.clock.wall_ms());
        let warning = aside(move || ahead(&path, wall_ms)).await?;
        let mut verdict = passed.verdict.ok_or_else(unended)?;
        if looked != passed.looked_at_ms {
            verdict.unseen = None;
        }
        Ok(Checked { warning, ..verdict })
    }
}

/// The marks of everything on which the trail and the tables do not agree.
pub(super) fn marks(path: &Path, key: &PublicKey) -> Res<Vec<Digest>> {
    let conn = reader::open(path, Duration::from_secs(5))?;
    let conn = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let mut words = Words::default();
    let listed = each_with_calls(&conn, |entry, _| words.take(entry))?;
    let alone = Acknowledged::read(&conn, key)?.alone.into_iter().chain(listed);
    Ok(words.against(&conn)?.into_iter().chain(alone).flat_map(|one| one.marks).collect())
}

/// Does what takes long on a thread of its own.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Res<T> + Send + 'static,
) -> Res<T> {
    let (answer, wait) = oneshot::channel();
    let thread = std::thread::Builder::new().name("haft-store-verify".to_owned());
    // Nobody waits any more: nobody to tell.
    let spawned = thread.spawn(move || drop(answer.send(work())));
    spawned
        .map_err(|error| StoreError::Unavailable(format!("no thread to check with: {error}")))?;
    wait.await.map_err(|_| unended())?
}

fn unended() -> StoreError {
    StoreError::Unavailable("the check did not end".to_owned())
}

/// An entry whose content alone was changed is its tenant's affair. Anything else can be due to an
/// entry that is no longer there to say whose it was.
pub(super) fn suspects(faults: &[Broken]) -> Suspicion {
    let Some(first) = faults.first() else { return Suspicion::None };
    let its_own = |broken: &Broken| {
        matches!(
            broken.fault,
            Fault::Hash
                | Fault::Ledger
                | Fault::Removed
                | Fault::Config
                | Fault::Approval
                | Fault::Grants
                | Fault::Calls
        )
    };
    // What is nobody's own, as that somebody has looked, is everybody's affair.
    let somebodys = |tenant: &String| !tenant.is_empty();
    let owner =
        |broken: &Broken| broken.tenant.clone().filter(somebodys).filter(|_| its_own(broken));
    match faults.iter().map(owner).collect::<Option<HashSet<String>>>() {
        Some(tenants) => Suspicion::Of(tenants, in_words(first)),
        None => Suspicion::All(in_words(first)),
    }
}

pub(super) fn in_words(broken: &Broken) -> String {
    broken.to_string()
}

pub(super) fn signed(path: &Path) -> Res<Result<Vec<Checkpoint>, Broken>> {
    trail::read(path).map_err(|error| {
        StoreError::Unavailable(format!(
            "the checkpoints in `{}` cannot be read: {error}",
            path.display()
        ))
    })
}

pub(super) fn each(conn: &Connection, after: u64, mut take: impl FnMut(&Written<'_>)) -> Res<()> {
    let sql = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
               WHERE number > ?1 ORDER BY number";
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = conn.prepare(sql)?;
        let mut rows = statement.query((row::signed(after),))?;
        while let Some(found) = rows.next()? {
            take(&row::written(found)?);
        }
        Ok(())
    };
    read().map_err(|error| of_read(&error))
}
