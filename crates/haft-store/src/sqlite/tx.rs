//! The tables in SQLite, inside the writer's transaction.

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::config::{Entry, Kind};
use haft_core::digest::hex;
use haft_core::ledger::{Claim, EffectRecord, Ending};
use haft_core::port::StoreError;
use haft_core::record::{Confirmation, ConfirmationStatus, InvocationRecord};
use haft_core::session::{Block, Session};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, params};
use serde::Serialize;

use super::fault;
use super::owner::Owners;
use super::row::{self, head_columns, signed, stored_columns};
use super::sealing::{MARK, Nothing, Place, Seals};
use crate::machine::{Head, Owner, later};
use crate::steps::confirmations::asker;
use crate::steps::journal::{ACKNOWLEDGE, written};
use crate::steps::proof::Stored;
use crate::tables::{Due, Res, Tables};
use crate::trail::Link;

/// Left to itself, SQLite would look through all effects of the tenant: they are in this order, too.
pub(super) const HEAD_OF_CALL: &str = concat!(
    "SELECT ",
    head_columns!(),
    " FROM effects INDEXED BY effects_call WHERE call = ?1 AND tenant = ?2 \
     ORDER BY id DESC LIMIT 1"
);

/// Word for word the condition of the index of questions that nobody has answered: no body is read.
pub(super) const WAITING: &str = "SELECT count(*) FROM confirmations INDEXED BY confirmations_asker \
    WHERE tenant = ?1 AND asker = ?2 AND asked_at_ms > ?3 AND status = 'pending'";

/// A transaction.
pub(super) struct Tx<'c> {
    pub(super) conn: &'c Connection,
    pub(super) seals: Seals<'c>,
    pub(super) owners: &'c Owners,
    pub(super) owner: Owner,
    pub(super) now_ms: i64,
    /// What is forgotten, is forgotten by this time.
    pub(super) trusted_ms: i64,
    /// The end of the audit trail.
    pub(super) link: Link,
    /// The first error of the database, for the writer to judge.
    pub(super) failure: Option<rusqlite::Error>,
}

impl Tx<'_> {
    /// Takes an error's full story for the writer, and gives the short one to the step.
    pub(super) fn try_<T>(&mut self, result: rusqlite::Result<T>) -> Res<T> {
        result.map_err(|error| {
            if let Some(own) = fault::own(&error) {
                return own;
            }
            let said = fault::of_read(&error);
            self.failure.get_or_insert(error);
            said
        })
    }

    pub(super) fn execute(&mut self, sql: &str, params: impl Params) -> Res<usize> {
        let done = self.conn.prepare_cached(sql).and_then(|mut it| it.execute(params));
        self.try_(done)
    }

    pub(super) fn one<T>(
        &mut self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Res<Option<T>> {
        let statement = self.conn.prepare_cached(sql);
        let found = statement.and_then(|mut it| it.query_row(params, read).optional());
        self.try_(found)
    }

    pub(super) fn all<T>(
        &mut self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Res<Vec<T>> {
        let statement = self.conn.prepare_cached(sql);
        let found = statement.and_then(|mut it| it.query_map(params, read)?.collect());
        self.try_(found)
    }
}

/// What is written of an entry of the ledger, each in a seal of its own.
struct Columns<'a> {
    tenant: &'a str,
    key: String,
}

impl<'a> Columns<'a> {
    fn of(tenant: &'a str, key: &[u8; 32]) -> Self {
        Self { tenant, key: hex(key) }
    }

    /// JSON text for a column that may be empty.
    fn text<T: Serialize>(
        &self,
        tx: &mut Tx<'_>,
        column: &str,
        value: Option<&T>,
    ) -> Res<Option<String>> {
        let Some(value) = value else { return Ok(None) };
        let place = Place::effect(column, self.tenant, &self.key);
        tx.sealed(place, Nothing {}, written(value)?).map(Some)
    }
}

fn any<T>(list: &Vec<T>) -> Option<&Vec<T>> {
    (!list.is_empty()).then_some(list)
}

/// What of a confirmation it is found and forgotten by.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    session: &'a Option<String>,
    expires_at_ms: i64,
}

/// What of a session it is forgotten by.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Begun {
    created_at_ms: i64,
}

impl Tx<'_> {
    /// Confirmations of a tenant: `id, body`.
    fn asked(&mut self, sql: &str, tenant: &str, params: impl Params) -> Res<Vec<Confirmation>> {
        let read = |row: &Row<'_>| row::confirmation(row, &self.seals, tenant);
        let statement = self.conn.prepare_cached(sql);
        let found: rusqlite::Result<Vec<Option<Confirmation>>> =
            statement.and_then(|mut it| it.query_map(params, read)?.collect());
        Ok(self.try_(found)?.into_iter().flatten().collect())
    }
}

impl Tables for Tx<'_> {
    fn now_ms(&self) -> i64 {
        self.now_ms
    }

    fn is_alive(&mut self, owner: Owner) -> bool {
        owner == self.owner || self.owners.is_alive(owner)
    }

    fn head(&mut self, key: &[u8; 32]) -> Res<Option<Head>> {
        let sql = concat!("SELECT ", head_columns!(), " FROM effects WHERE key = ?1");
        self.one(sql, (key,), row::head)
    }

    fn head_of_call(&mut self, tenant: &str, call: &str) -> Res<Option<Head>> {
        self.one(HEAD_OF_CALL, (call, tenant), row::head)
    }

    fn effect(&mut self, id: i64) -> Res<EffectRecord> {
        let statement = self.conn.prepare_cached(super::read::EFFECT_BY_ID);
        let read = |found: &Row<'_>| row::effect(found, &self.seals);
        let found = statement.and_then(|mut it| it.query_row((id,), read).optional());
        self.try_(found)?.ok_or(StoreError::Missing)
    }

    fn stored(&mut self, id: i64) -> Res<Option<Stored>> {
        let sql = concat!("SELECT ", stored_columns!(), " FROM effects WHERE id = ?1");
        self.one(sql, (id,), row::stored)?.map(Some).ok_or(StoreError::Missing)
    }

    fn open_acts(&mut self, tenant: &str, act: &[u8; 32]) -> Res<Vec<Head>> {
        let sql = concat!(
            "SELECT ",
            head_columns!(),
            " FROM effects WHERE act = ?1 AND (state = 'started' OR state = 'unknown') AND tenant = ?2"
        );
        self.all(sql, (act, tenant), row::head)
    }

    fn open_deeds(&mut self, tenant: &str, deed: &[u8; 32]) -> Res<Vec<Head>> {
        let sql = concat!(
            "SELECT ",
            head_columns!(),
            " FROM effects WHERE deed = ?1 AND (state = 'started' OR state = 'unknown') AND tenant = ?2"
        );
        self.all(sql, (deed, tenant), row::head)
    }

    fn has_open(&mut self, tenant: &str) -> Res<bool> {
        let sql = "SELECT 1 FROM effects WHERE tenant = ?1 \
                   AND state IN ('started', 'unknown', 'compensating', 'stuck') LIMIT 1";
        Ok(self.one(sql, (tenant,), |row| row.get::<_, i64>(0))?.is_some())
    }

    fn started_and_left(&mut self) -> Res<Vec<Head>> {
        let sql = concat!(
            "SELECT ",
            head_columns!(),
            " FROM effects WHERE (state = 'started' OR state = 'unknown') AND state = 'started' \
             AND (owner <> ?1 OR lease_until_ms <= ?2) ORDER BY id"
        );
        self.all(sql, (self.owner, self.now_ms), row::head)
    }

    fn due(&mut self, limit: usize) -> Res<Vec<(i64, Due)>> {
        let sql = "SELECT id, ended_at_ms, keep_key_ms FROM effects \
                   WHERE due_at_ms IS NOT NULL AND due_at_ms <= ?1 ORDER BY due_at_ms LIMIT ?2";
        let now_ms = self.trusted_ms;
        self.all(sql, (now_ms, signed(limit as u64)), |found| {
            let entry_at_ms = later(found.get(1)?, row::unsigned(found, 2)?);
            let what = if entry_at_ms <= now_ms { Due::Entry } else { Due::Body { entry_at_ms } };
            Ok((found.get(0)?, what))
        })
    }

    fn start(&mut self, claim: &Claim, epoch: u64) -> Res<i64> {
        let sql = "INSERT OR REPLACE INTO effects (key, fingerprint, act, tenant, call, tool, \
                   session, turn_group, class, state, epoch, owner, lease_until_ms, \
                   keep_result_ms, keep_key_ms, started_at_ms, effect, confirmation, deed, part_of) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'started', ?10, ?11, ?12, ?13, ?14, \
                   ?15, ?16, ?17, ?18, ?19)";
        let effect = &claim.effect;
        let (owner, now_ms) = (self.owner, self.now_ms);
        let columns = Columns::of(&effect.tenant, &claim.key.raw());
        let text = columns.text(self, "effects.effect", Some(effect))?;
        let params = params![
            claim.key.raw(),
            claim.fingerprint.raw(),
            claim.act.raw(),
            effect.tenant,
            effect.call,
            effect.tool,
            effect.session,
            effect.turn_group,
            effect.policy.as_str(),
            signed(epoch),
            owner,
            later(now_ms, claim.lease_ms),
            signed(claim.keep.result_ms),
            signed(claim.keep.key_ms),
            now_ms,
            text,
            claim.confirmation.as_ref().map(|spend| &spend.id),
            claim.deed.raw(),
            effect.part_of.as_ref().map(Digest::raw),
        ];
        self.execute(sql, params)?;
        Ok(self.conn.last_insert_rowid())
    }

    fn end(&mut self, head: &Head, ending: &Ending, due_at_ms: Option<i64>) -> Res<()> {
        let sql = "UPDATE effects SET state = ?2, ended_at_ms = ?3, result = ?4, error = ?5, \
                   intents = ?6, due_at_ms = ?7 WHERE id = ?1";
        let now_ms = self.now_ms;
        let columns = Columns::of(&head.tenant, &head.key);
        let params = params![
            head.id,
            ending.state.as_str(),
            now_ms,
            columns.text(self, "effects.result", ending.result.as_ref())?,
            columns.text(self, "effects.error", ending.error.as_ref())?,
            columns.text(self, "effects.intents", any(&ending.intents))?,
            due_at_ms,
        ];
        self.execute(sql, params).map(drop)
    }

    fn put_effect(&mut self, id: i64, record: &EffectRecord, due_at_ms: Option<i64>) -> Res<()> {
        let sql = "UPDATE effects SET state = ?2, ended_at_ms = ?3, result = ?4, error = ?5, \
                   intents = ?6, resolution = ?7, compensation_id = ?8, compensation_result = ?9, \
                   due_at_ms = ?10 WHERE id = ?1";
        let columns = Columns::of(&record.effect.tenant, &record.key.raw());
        let undone = record.compensation_result.as_ref();
        let params = params![
            id,
            record.state.as_str(),
            record.ended_at_ms,
            columns.text(self, "effects.result", record.result.as_ref())?,
            columns.text(self, "effects.error", record.error.as_ref())?,
            columns.text(self, "effects.intents", any(&record.intents))?,
            columns.text(self, "effects.resolution", record.resolution.as_ref())?,
            record.compensation_id,
            columns.text(self, "effects.compensation_result", undone)?,
            due_at_ms,
        ];
        self.execute(sql, params).map(drop)
    }

    fn forget(&mut self, id: i64, what: Due) -> Res<()> {
        match what {
            Due::Entry => self.execute("DELETE FROM effects WHERE id = ?1", (id,)),
            Due::Body { entry_at_ms } => self.execute(
                "UPDATE effects SET result = NULL, intents = NULL, compensation_result = NULL, \
                 due_at_ms = ?2 WHERE id = ?1",
                (id, entry_at_ms),
            ),
        }
        .map(drop)
    }

    fn confirmation(&mut self, tenant: &str, id: &str) -> Res<Option<Confirmation>> {
        let sql = "SELECT id, body FROM confirmations WHERE tenant = ?1 AND id = ?2";
        Ok(self.asked(sql, tenant, (tenant, id))?.pop())
    }

    fn bound(&mut self, tenant: &str, binding: &[u8; 32]) -> Res<Vec<Confirmation>> {
        let sql = "SELECT id, body FROM confirmations WHERE tenant = ?1 AND binding = ?2";
        self.asked(sql, tenant, (tenant, binding))
    }

    fn approved(&mut self, tenant: &str) -> Res<Vec<Confirmation>> {
        let sql = "SELECT id, body FROM confirmations WHERE tenant = ?1 AND status = ?2";
        self.asked(sql, tenant, (tenant, ConfirmationStatus::Approved.as_str()))
    }

    fn waiting(&mut self, tenant: &str, asker: &[u8; 32], after_ms: i64) -> Res<usize> {
        let counted = self.one(WAITING, (tenant, asker, after_ms), |row| row::unsigned(row, 0))?;
        Ok(usize::try_from(counted.unwrap_or_default()).unwrap_or(usize::MAX))
    }

    fn is_approved(&mut self, confirmation: &Confirmation) -> Res<bool> {
        super::approvals::stands(self.conn, confirmation)
    }

    fn put_confirmation(&mut self, confirmation: &Confirmation) -> Res<()> {
        let sql = "INSERT INTO confirmations (tenant, id, binding, status, asked_at_ms, body, asker) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (tenant, id) DO UPDATE SET \
                   status = excluded.status, body = excluded.body";
        let clear =
            Asked { session: &confirmation.session, expires_at_ms: confirmation.expires_at_ms };
        let place = Place::confirmation(&confirmation.tenant, &confirmation.id);
        let body = self.sealed(place, clear, written(confirmation)?)?;
        let params = params![
            confirmation.tenant,
            confirmation.id,
            confirmation.binding.raw(),
            confirmation.status.as_str(),
            confirmation.asked_at_ms,
            body,
            asker(confirmation),
        ];
        self.execute(sql, params).map(drop)
    }

    fn revision(&mut self, tenant: &str, session: &str) -> Res<Option<u64>> {
        let sql = "SELECT revision FROM sessions WHERE tenant = ?1 AND id = ?2";
        self.one(sql, (tenant, session), |found| row::unsigned(found, 0))
    }

    fn session(&mut self, tenant: &str, id: &str) -> Res<Option<Session>> {
        let sql = "SELECT body FROM sessions WHERE tenant = ?1 AND id = ?2";
        let read = |row: &Row<'_>| self.seals.json(row, 0, Place::session(tenant, id));
        let statement = self.conn.prepare_cached(sql);
        let found = statement.and_then(|mut it| it.query_row((tenant, id), read).optional());
        Ok(self.try_(found)?.flatten())
    }

    fn put_session(&mut self, session: &Session) -> Res<()> {
        let sql = "INSERT INTO sessions (tenant, id, revision, body, touched_at_ms) VALUES \
                   (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tenant, id) DO UPDATE SET \
                   revision = excluded.revision, body = excluded.body, \
                   touched_at_ms = excluded.touched_at_ms";
        let place = Place::session(&session.tenant, &session.id);
        let clear = Begun { created_at_ms: session.created_at_ms };
        let (body, now_ms) = (self.sealed(place, clear, written(session)?)?, self.now_ms);
        let params = (&session.tenant, &session.id, signed(session.revision), body, now_ms);
        self.execute(sql, params).map(drop)
    }

    fn put_answer(&mut self, session: &Session, call: &str, body: String) -> Res<()> {
        let sql = "INSERT OR REPLACE INTO session_answers (tenant, session, call, body) VALUES \
                   (?1, ?2, ?3, ?4)";
        let body = self.sealed(Place::answer(&session.tenant, call), Nothing {}, body)?;
        self.execute(sql, (&session.tenant, &session.id, call, body)).map(drop)
    }

    fn answers(&mut self, session: &Session) -> Res<Vec<(i64, String, usize)>> {
        // As long as they were before they were sealed: that makes three bytes four.
        let sql = "SELECT place, call, \
                   octet_length(body) * iif(substr(body, 1, 1) = ' ', 3, 4) / 4 FROM session_answers \
                   WHERE tenant = ?1 AND session = ?2 ORDER BY place DESC";
        self.all(sql, (&session.tenant, &session.id), |found| {
            let length = usize::try_from(found.get::<_, i64>(2)?).unwrap_or(usize::MAX);
            Ok((found.get(0)?, found.get(1)?, length))
        })
    }

    fn drop_answer(&mut self, _: &Session, place: i64) -> Res<()> {
        self.execute("DELETE FROM session_answers WHERE place = ?1", (place,)).map(drop)
    }

    fn block(&mut self, tenant: &str, principal: &Principal) -> Res<Option<Block>> {
        let found = super::read::block(&self.seals, tenant, principal);
        self.try_(found)
    }

    fn put_block(&mut self, block: &Block) -> Res<()> {
        let sql = "INSERT INTO blocks (tenant, principal, until_ms, reason) VALUES \
                   (?1, ?2, ?3, ?4) ON CONFLICT (tenant, principal) DO UPDATE SET \
                   until_ms = excluded.until_ms, reason = excluded.reason";
        let principal = block.principal.to_string();
        // No reason can be taken for a sealed one.
        let reason = block.reason.trim_start_matches(MARK).to_owned();
        let place = Place::block(&block.tenant, &principal);
        let reason = self.sealed(place, Nothing {}, reason)?;
        self.execute(sql, (&block.tenant, &principal, block.until_ms, reason)).map(drop)
    }

    fn drop_block(&mut self, tenant: &str, principal: &Principal) -> Res<bool> {
        let sql = "DELETE FROM blocks WHERE tenant = ?1 AND principal = ?2";
        Ok(self.execute(sql, (tenant, principal.to_string()))? > 0)
    }

    fn config(&mut self, kind: Kind, tenant: &str, id: &str) -> Res<Option<(u64, Option<Entry>)>> {
        self.find_config(kind, tenant, id)
    }

    fn put_config(&mut self, entry: &Entry, removed: bool) -> Res<()> {
        self.write_config(entry, removed)
    }

    fn append(&mut self, tenant: &str, kind: &str, body: String) -> Res<u64> {
        self.append_with(tenant, kind, body, None)
    }

    fn append_record(
        &mut self,
        tenant: &str,
        kind: &str,
        body: String,
        record: &InvocationRecord,
    ) -> Res<()> {
        let number = self.append_with(tenant, kind, body, Some(record))?;
        self.put_call(number, record)
    }

    fn put_call(&mut self, number: u64, record: &InvocationRecord) -> Res<()> {
        // A row that a tail left which was cut off stands in nobody's way.
        let sql = "INSERT OR REPLACE INTO calls (number, tenant, agent, tool, session, call, error, \
                   started_at_ms, duration_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let params = params![
            signed(number),
            record.tenant,
            record.agent,
            record.tool,
            record.session,
            record.call,
            record.error.map(haft_core::ErrorKind::as_str),
            record.started_at_ms,
            signed(record.duration_us),
        ];
        self.execute(sql, params).map(drop)
    }
}

impl Tx<'_> {
    /// Appends an entry, which may be the record of a call.
    fn append_with(
        &mut self,
        tenant: &str,
        kind: &str,
        body: String,
        record: Option<&InvocationRecord>,
    ) -> Res<u64> {
        if self.link.is_lost() && kind != ACKNOWLEDGE {
            let number = self.link.number;
            return Err(StoreError::Tampered(format!("entry {number}: its hash cannot be read")));
        }
        let body = self.sealed_entry(tenant, kind, body, record)?;
        let entry = self.link.next(self.now_ms, tenant, kind, body);
        self.execute(row::PUT_ENTRY, row::entry_values(&entry))?;
        Ok(entry.number)
    }
}
