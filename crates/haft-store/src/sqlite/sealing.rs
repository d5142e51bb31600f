//! What callers wrote, sealed at rest: a key for each tenant, itself sealed with the key of connections.
//!
//! A sealed text is still JSON: `{"session":"s1","sealed":"<key>.<base64>"}`. What rows are found and
//! forgotten by stays clear beside it; whoever may read gets the whole text out of the seal, and what
//! stands beside it counts for nothing. Each is bound to its place, so that none can be moved into
//! another row.
//!
//! Whatever a tenant wrote while there was no key stays as it is, and is told apart by its first byte.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use haft_core::Digest;
use haft_core::port::StoreError;
use haft_core::record::{AuditEntry, InvocationRecord};
use rusqlite::{Connection, OptionalExtension as _, Row};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::fault::of_read;
use super::row::unreadable;
use super::tx::Tx;
use super::{Sqlite, listed, verify};
use crate::steps::configs::SHRED;
use crate::steps::journal::{ACKNOWLEDGE, BEGIN, SIGNING};
use crate::steps::proof::Proof;
use crate::tables::Res;
use crate::vault::seal::{self, NONCE};
use crate::vault::{Key, Keyring, Ring, unread};

/// Sealed texts begin with it, which nothing does that is written as JSON.
pub(super) const MARK: char = ' ';

/// So long others are waited for before the log is emptied.
const BUSY: Duration = Duration::from_secs(2);

const KEY: &str = "SELECT id, sealed_with, nonce, sealed FROM tenant_keys WHERE tenant = ?1";

/// Where in the database a text stands: its column, its tenant, and what names its row.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) column: &'a str,
    pub(super) tenant: &'a str,
    pub(super) row: &'a str,
}

impl<'a> Place<'a> {
    /// A text of the ledger, by the key of its entry.
    pub(super) fn effect(column: &'a str, tenant: &'a str, key: &'a str) -> Self {
        Self { column, tenant, row: key }
    }

    pub(super) fn confirmation(tenant: &'a str, id: &'a str) -> Self {
        Self { column: "confirmations.body", tenant, row: id }
    }

    pub(super) fn session(tenant: &'a str, id: &'a str) -> Self {
        Self { column: "sessions.body", tenant, row: id }
    }

    /// The answer of a call, by its id.
    pub(super) fn answer(tenant: &'a str, call: &'a str) -> Self {
        Self { column: "session_answers.body", tenant, row: call }
    }

    pub(super) fn block(tenant: &'a str, principal: &'a str) -> Self {
        Self { column: "blocks.reason", tenant, row: principal }
    }

    pub(super) fn draft(tenant: &'a str, id: &'a str) -> Self {
        Self { column: "drafts.meeting", tenant, row: id }
    }

    pub(super) fn booking(tenant: &'a str, event: &'a str) -> Self {
        Self { column: "bookings.body", tenant, row: event }
    }

    /// An entry of the audit trail. Where in the trail it stands, the chain says.
    pub(super) fn entry(tenant: &'a str, kind: &'a str) -> Self {
        Self { column: "audit.body", tenant, row: kind }
    }

    /// The lengths keep one place from being spelt as another.
    fn bytes(&self) -> Vec<u8> {
        let Self { column, tenant, row } = self;
        format!("haft text 1 {column} {} {tenant} {row}", tenant.len()).into_bytes()
    }
}

/// Nothing stays clear.
#[derive(Serialize)]
pub(super) struct Nothing {}

#[derive(Serialize)]
struct Written<C> {
    #[serde(flatten)]
    clear: C,
    sealed: String,
}

#[derive(Deserialize)]
struct Read<'a> {
    #[serde(borrow)]
    sealed: Cow<'a, str>,
}

/// What of an entry of the trail it is found by, compared with the ledger, and forgotten by.
#[derive(Default, Deserialize, Serialize)]
struct Found {
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Of the row that the call is found by, or that there is none.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    listed: Option<Option<Digest>>,
    #[serde(flatten)]
    proof: Option<Proof>,
}

/// A connection to the database that can read what is sealed in it, for one transaction or one query:
/// a key that was looked up is not looked up again.
pub(super) struct Seals<'c> {
    conn: &'c Connection,
    ring: &'c Ring,
    keys: RefCell<HashMap<String, Option<Key>>>,
}

impl Deref for Seals<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.conn
    }
}

impl<'c> Seals<'c> {
    pub(super) fn new(conn: &'c Connection, ring: &'c Ring) -> Self {
        Self { conn, ring, keys: RefCell::default() }
    }

    /// A tenant's key, if it has one.
    fn key(&self, tenant: &str) -> rusqlite::Result<Option<Key>> {
        if let Some(known) = self.keys.borrow().get(tenant) {
            return Ok(known.clone());
        }
        let wrapped = self.conn.prepare_cached(KEY)?.query_row((tenant,), wrapped).optional()?;
        let key = wrapped.map(|one| one.open(tenant, self.ring)).transpose().map_err(own)?;
        self.keys.borrow_mut().insert(tenant.to_owned(), key.clone());
        Ok(key)
    }

    /// The key to seal a tenant's texts with: its own, or a new one where it has none. None where
    /// there is nothing to seal that with.
    fn key_to_seal(&self, tenant: &str) -> rusqlite::Result<Option<Key>> {
        if let Some(key) = self.key(tenant)? {
            return Ok(Some(key));
        }
        if self.ring.known().is_empty() {
            return Ok(None);
        }
        // Looked for again while nobody else writes: were another key to have taken over, whoever did
        // that would not see this one.
        let ring = self.ring.anew().map_err(|why| own(unread(&why)))?;
        let key = Key::random().map_err(own)?;
        put(self.conn, tenant, &key, &ring)?;
        self.keys.borrow_mut().insert(tenant.to_owned(), Some(key.clone()));
        Ok(Some(key))
    }

    /// A text sealed, with what may stay clear beside it; nothing where there is no key.
    fn close<C: Serialize>(
        &self,
        place: Place<'_>,
        clear: impl FnOnce() -> C,
        text: &str,
    ) -> rusqlite::Result<Option<String>> {
        let Some(key) = self.key_to_seal(place.tenant)? else { return Ok(None) };
        let (nonce, sealed) = seal::close(&key, &place.bytes(), text.as_bytes()).map_err(own)?;
        let mut bytes = Vec::with_capacity(NONCE + sealed.len());
        bytes.extend(nonce);
        bytes.extend(sealed);
        let mut said = String::with_capacity(16 + bytes.len().div_ceil(3) * 4);
        said.push_str(key.id());
        said.push('.');
        STANDARD_NO_PAD.encode_string(&bytes, &mut said);
        let written = serde_json::to_string(&Written { clear: clear(), sealed: said });
        written.map(|json| Some(format!("{MARK}{json}"))).map_err(|why| unreadable(0, why))
    }

    /// A text as somebody wrote it.
    pub(super) fn open<'t>(
        &self,
        place: Place<'_>,
        text: &'t str,
    ) -> rusqlite::Result<Cow<'t, str>> {
        let Some(json) = text.strip_prefix(MARK) else { return Ok(Cow::Borrowed(text)) };
        let touched = || own(StoreError::Tampered(format!("{} does not open", place.column)));
        let read: Read<'_> = serde_json::from_str(json).map_err(|_| touched())?;
        let (id, bytes) = read.sealed.split_once('.').ok_or_else(touched)?;
        let Some(key) = self.key(place.tenant)?.filter(|key| key.id() == id) else {
            return Err(own(gone(place.tenant)));
        };
        let bytes = STANDARD_NO_PAD.decode(bytes).map_err(|_| touched())?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE>().ok_or_else(touched)?;
        let plain = seal::reveal(&key, &place.bytes(), *nonce, sealed).ok_or_else(touched)?;
        String::from_utf8(plain.to_vec()).map(Cow::Owned).map_err(|_| touched())
    }

    /// An entry of the audit trail as it was written. What a tenant wrote whose key is gone, and what
    /// somebody touched, stays sealed: the entry is there, and whoever looks for the fault sees it.
    pub(super) fn opened(&self, mut entry: AuditEntry) -> Res<AuditEntry> {
        let opened = match self.open(Place::entry(&entry.tenant, &entry.kind), &entry.body) {
            Ok(Cow::Owned(opened)) => opened,
            Ok(Cow::Borrowed(_)) => return Ok(entry),
            Err(error) => match of_read(&error) {
                why if why == gone(&entry.tenant) || matches!(why, StoreError::Tampered(_)) => {
                    return Ok(entry);
                }
                why => return Err(why),
            },
        };
        entry.body = opened;
        Ok(entry)
    }

    /// JSON in a column that may be sealed, or nothing.
    pub(super) fn json<T: DeserializeOwned>(
        &self,
        row: &Row<'_>,
        at: usize,
        place: Place<'_>,
    ) -> rusqlite::Result<Option<T>> {
        let Some(text) = row.get_ref(at)?.as_str_or_null()? else { return Ok(None) };
        let text = self.open(place, text)?;
        serde_json::from_str(&text).map(Some).map_err(|error| unreadable(at, error))
    }
}

/// An error of ours among those of the database.
fn own(error: StoreError) -> rusqlite::Error {
    unreadable(0, error)
}

fn gone(tenant: &str) -> StoreError {
    StoreError::WrongState(format!(
        "it was sealed with a key of the tenant `{tenant}` that is gone, as is whatever it sealed"
    ))
}

/// A tenant's key as it is kept.
struct Wrapped {
    id: String,
    with: String,
    nonce: [u8; NONCE],
    sealed: Vec<u8>,
}

fn wrapped(row: &Row<'_>) -> rusqlite::Result<Wrapped> {
    Ok(Wrapped { id: row.get(0)?, with: row.get(1)?, nonce: row.get(2)?, sealed: row.get(3)? })
}

fn about(tenant: &str, id: &str) -> Vec<u8> {
    Place { column: "tenant_keys", tenant, row: id }.bytes()
}

impl Wrapped {
    fn open(&self, tenant: &str, ring: &Ring) -> Res<Key> {
        self.open_with(tenant, &*ring.with(&self.with)?)
    }

    fn open_with(&self, tenant: &str, keys: &Keyring) -> Res<Key> {
        let with = keys
            .named(&self.with)
            .map_err(|why| seal::of(&format!("the key of the tenant `{tenant}`"), why))?;
        let plain = seal::reveal(with, &about(tenant, &self.id), self.nonce, &self.sealed);
        let bytes = plain.and_then(|plain| <[u8; 32]>::try_from(plain.as_slice()).ok());
        bytes.map(|bytes| Key::of(Zeroizing::new(bytes))).ok_or_else(|| {
            StoreError::Tampered(format!("the key of the tenant `{tenant}` does not open"))
        })
    }
}

fn put(conn: &Connection, tenant: &str, key: &Key, ring: &Keyring) -> rusqlite::Result<()> {
    let with = ring.current().map_err(own)?;
    let (nonce, sealed) = seal::close(with, &about(tenant, key.id()), key.bytes()).map_err(own)?;
    let sql = "INSERT OR REPLACE INTO tenant_keys (tenant, id, sealed_with, nonce, sealed) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut statement = conn.prepare_cached(sql)?;
    statement.execute((tenant, key.id(), with.id(), nonce, sealed)).map(drop)
}

/// One tenant's key for each key that seals them has to open before anything is done: whoever lost one
/// is told at once, and nothing is written in the clear meanwhile.
pub(super) fn check(conn: &Connection, ring: &Ring) -> Res<()> {
    let sql = "SELECT tenant, id, sealed_with, nonce, sealed FROM tenant_keys \
               GROUP BY sealed_with";
    let one = |row: &Row<'_>| -> rusqlite::Result<(String, Wrapped)> {
        let (id, with) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Wrapped { id, with, nonce: row.get(3)?, sealed: row.get(4)? }))
    };
    for (tenant, wrapped) in super::read::all(conn, sql, (), one)? {
        wrapped.open(&tenant, ring)?;
    }
    Ok(())
}

impl Sqlite {
    /// The keys that anything in a database was sealed with, by name; none where there is no database.
    /// Nothing is made, changed or waited for.
    ///
    /// # Errors
    ///
    /// It cannot be read, or has nothing that is sealed like this.
    pub fn sealed_with(path: &Path) -> Res<Vec<String>> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let conn = super::reader::open(path, Duration::ZERO)?;
        let sql = "SELECT sealed_with FROM tenant_keys UNION SELECT key_id FROM connections";
        super::read::all(&conn, sql, (), |row| row.get(0))
    }

    /// Whether what callers write is sealed.
    #[must_use]
    pub fn is_sealing(&self) -> bool {
        !self.ring.known().is_empty()
    }

    /// Copies the write-ahead log into the database and empties it: a key that was just destroyed is
    /// still in there. Where somebody reads meanwhile, it goes with a later copy.
    pub(super) async fn empty_log(&self) {
        let path = self.path.clone();
        let _ = verify::aside(move || {
            let failed = |error| of_read(&error);
            let conn = Connection::open(path).map_err(failed)?;
            conn.busy_timeout(BUSY).map_err(failed)?;
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).map_err(failed)
        })
        .await;
    }

    /// Seals the keys of all tenants with the first key, in one step. Gives how many.
    pub(crate) async fn rewrap(&self, keys: Arc<Keyring>) -> Res<usize> {
        self.write(move |tx| tx.rewrap(&keys)).await
    }
}

impl Tx<'_> {
    /// A text as it is written: sealed where there is a key, with what may stay clear beside it.
    pub(super) fn sealed(
        &mut self,
        place: Place<'_>,
        clear: impl Serialize,
        text: String,
    ) -> Res<String> {
        let sealed = self.seals.close(place, || clear, &text);
        Ok(self.try_(sealed)?.unwrap_or(text))
    }

    /// The same for an entry of the audit trail. What operators did is theirs to be read, and none of
    /// it was written by callers; nor is what an effect's beginning says.
    pub(super) fn sealed_entry(
        &mut self,
        tenant: &str,
        kind: &str,
        body: String,
        record: Option<&InvocationRecord>,
    ) -> Res<String> {
        let is_clear = matches!(
            kind,
            "config" | "connection" | "confirmation" | ACKNOWLEDGE | BEGIN | SHRED | SIGNING
        );
        if is_clear {
            return Ok(body);
        }
        let clear = || {
            let found = serde_json::from_str::<Found>(&body).unwrap_or_default();
            let is_call = matches!(kind, "call" | "settle" | "late");
            Found { listed: is_call.then(|| record.map(listed::digest)), ..found }
        };
        let sealed = self.seals.close(Place::entry(tenant, kind), clear, &body);
        Ok(self.try_(sealed)?.unwrap_or(body))
    }

    fn rewrap(&mut self, keys: &Keyring) -> Res<usize> {
        let current = keys.current()?.id().to_owned();
        let sql = "SELECT tenant FROM tenant_keys WHERE sealed_with <> ?1";
        let tenants = self.all(sql, (&current,), |row| row.get::<_, String>(0))?;
        for tenant in &tenants {
            let Some(wrapped) = self.one(KEY, (tenant,), wrapped)? else { continue };
            let key = wrapped.open_with(tenant, keys)?;
            let done = put(self.conn, tenant, &key, keys);
            self.try_(done)?;
        }
        Ok(tenants.len())
    }

    /// Destroys a tenant's key, and drops its rows: nobody can read them any more, or may. What the audit
    /// trail has of it stays, sealed for good where there was a key.
    pub(super) fn shred(&mut self, tenant: &str) -> Res<()> {
        for table in [
            "tenant_keys",
            "effects",
            "calls",
            "confirmations",
            "sessions",
            "blocks",
            "drafts",
            "bookings",
            "booked_time",
        ] {
            self.execute(&format!("DELETE FROM {table} WHERE tenant = ?1"), (tenant,))?;
        }
        self.seals.keys.borrow_mut().remove(tenant);
        Ok(())
    }
}
