//! What is only read.

use std::fmt::Write as _;

use haft_core::call::Principal;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{CallFilter, CallStats, ConfirmationFilter, EffectFilter, Slice, StoreError};
use haft_core::record::{AuditEntry, Confirmation, InvocationRecord};
use haft_core::session::{Block, Session};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};
use serde_json::Value as Json;

use super::fault::of_read;
use super::row::{self, effect_columns, signed};
use super::sealing::{Place, Seals};
use crate::figures::{self, Figures, Series};
use crate::machine::Owner;
use crate::steps::journal;
use crate::tables::Res;

pub(super) const EFFECT_BY_ID: &str =
    concat!("SELECT ", effect_columns!(), " FROM effects WHERE id = ?1");
/// As [`super::tx::HEAD_OF_CALL`].
const EFFECT_OF_CALL: &str = concat!(
    "SELECT ",
    effect_columns!(),
    " FROM effects INDEXED BY effects_call WHERE call = ?1 AND tenant = ?2 \
     ORDER BY id DESC LIMIT 1"
);
const BLOCK: &str = "SELECT until_ms, reason FROM blocks WHERE tenant = ?1 AND principal = ?2";

/// Conditions, and the values in them.
pub(super) struct Where {
    pub(super) sql: String,
    values: Vec<Value>,
}

impl Where {
    pub(super) fn new(select: &str, tenant: &str) -> Self {
        let sql = format!("{select} WHERE tenant = ?1");
        Self { sql, values: vec![Value::Text(tenant.to_owned())] }
    }

    /// A condition that ends where its value belongs.
    fn and(&mut self, condition: &str, value: impl Into<Value>) {
        self.values.push(value.into());
        let _ = write!(self.sql, " AND {condition} ?{}", self.values.len());
    }

    pub(super) fn and_some<T: Into<Value>>(&mut self, condition: &str, value: Option<T>) {
        if let Some(value) = value {
            self.and(condition, value);
        }
    }

    /// A condition on one of several words; none when there are no words.
    pub(super) fn and_one_of(&mut self, column: &str, words: &[String]) {
        if words.is_empty() {
            return;
        }
        let first = self.values.len() + 1;
        self.values.extend(words.iter().cloned().map(Value::Text));
        let places: Vec<_> = (first..=self.values.len()).map(|at| format!("?{at}")).collect();
        let _ = write!(self.sql, " AND {column} IN ({})", places.join(", "));
    }

    /// Only what comes after a row in a list that is in falling order of `columns`.
    fn after(&mut self, columns: &str, table: &str, name: &str, row: Option<&str>) {
        let Some(row) = row else { return };
        self.values.push(Value::Text(row.to_owned()));
        let _ = write!(
            self.sql,
            " AND ({columns}) < (SELECT {columns} FROM {table} WHERE tenant = ?1 AND {name} = ?{} \
             ORDER BY rowid DESC LIMIT 1)",
            self.values.len()
        );
    }

    pub(super) fn limit(&mut self, limit: usize) {
        self.values.push(Value::Integer(signed(figures::limit(limit) as u64)));
        let _ = write!(self.sql, " LIMIT ?{}", self.values.len());
    }

    pub(super) fn all<T>(
        self,
        conn: &Connection,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Res<Vec<T>> {
        let statement = conn.prepare_cached(&self.sql);
        let found = statement
            .and_then(|mut it| it.query_map(params_from_iter(self.values), read)?.collect());
        found.map_err(|error| of_read(&error))
    }
}

pub(super) fn effect(conn: &Seals<'_>, tenant: &str, call: &str) -> Res<EffectRecord> {
    one(conn, EFFECT_OF_CALL, (call, tenant), |found| row::effect(found, conn))?
        .ok_or(StoreError::Missing)
}

pub(super) fn by_key(conn: &Seals<'_>, key: &[u8; 32]) -> Res<EffectRecord> {
    let sql = concat!("SELECT ", effect_columns!(), " FROM effects WHERE key = ?1");
    one(conn, sql, (key,), |found| row::effect(found, conn))?.ok_or(StoreError::Missing)
}

/// Those that an earlier version wrote have to be opened: it did not say of what they are parts.
const PARTS: &str = concat!(
    "SELECT ",
    effect_columns!(),
    " FROM effects INDEXED BY effects_parts WHERE part_of IN (?1, x'') AND tenant = ?2 ORDER BY id DESC"
);

pub(super) fn parts(conn: &Seals<'_>, whole: &EffectRecord) -> Res<Vec<EffectRecord>> {
    let params = (whole.key.raw(), &whole.effect.tenant);
    let mut parts = all(conn, PARTS, params, |found| row::effect(found, conn))?;
    parts.retain(|one| whole.has_part(&one.effect));
    Ok(parts)
}

pub(super) fn effects(conn: &Seals<'_>, filter: &EffectFilter) -> Res<Vec<EffectRecord>> {
    let select = concat!("SELECT ", effect_columns!(), " FROM effects");
    let mut query = Where::new(select, &filter.tenant);
    let needs_attention =
        |state: &State| matches!(state, State::Unknown | State::Compensating | State::Stuck);
    if !filter.states.is_empty() && filter.states.iter().all(needs_attention) {
        // Word for word the condition of the index of the few effects that wait for somebody.
        query.sql.push_str(" AND (state = 'unknown' OR state = 'compensating' OR state = 'stuck')");
    }
    if !filter.states.is_empty() {
        let words: Vec<_> = filter.states.iter().map(|state| state.as_str()).collect();
        // Our own words, none of which needs quoting.
        let _ = write!(query.sql, " AND state IN ('{}')", words.join("', '"));
    }
    query.and_some("tool =", filter.tool.clone());
    query.and_some("session =", filter.session.clone());
    query.and_some("turn_group =", filter.turn_group.clone());
    query.and_some("class =", filter.policy.map(|class| class.as_str().to_owned()));
    query.after("id", "effects INDEXED BY effects_call", "call", filter.after.as_deref());
    query.sql.push_str(" ORDER BY id DESC");
    query.limit(filter.limit);
    query.all(conn, |found| row::effect(found, conn))
}

/// The names by which a tool is looked for; none where no tool is.
pub(super) fn either(tool: &Option<String>, or: &Option<String>) -> Vec<String> {
    let Some(tool) = tool else { return Vec::new() };
    let other = or.iter().filter(|name| *name != tool);
    std::iter::once(tool).chain(other).cloned().collect()
}

fn of_calls(select: &str, filter: &CallFilter) -> Where {
    let mut query = Where::new(select, &filter.tenant);
    query.and_some("agent =", filter.agent.clone());
    query.and_one_of("tool", &either(&filter.tool, &filter.or_tool));
    query.and_some("session =", filter.session.clone());
    query.and_some("error =", filter.error.map(|kind| kind.as_str().to_owned()));
    query.and_some("(error IS NULL) =", filter.ok);
    query.and_some("started_at_ms >=", filter.since_ms);
    query.and_some("started_at_ms <=", filter.until_ms);
    query.and_some("call =", filter.call.clone());
    query
}

/// The numbers of calls, newest first.
fn found_calls(filter: &CallFilter) -> Where {
    // Left to itself, SQLite would look through all calls of the tenant: they are in this order.
    let select = match (&filter.call, &filter.session) {
        (Some(_), _) => "SELECT number FROM calls INDEXED BY calls_call",
        (None, Some(_)) => "SELECT number FROM calls INDEXED BY calls_session",
        (None, None) => "SELECT number FROM calls",
    };
    let mut query = of_calls(select, filter);
    let by_call = "calls INDEXED BY calls_call";
    query.after("started_at_ms, number", by_call, "call", filter.after.as_deref());
    query.sql.push_str(" ORDER BY started_at_ms DESC, number DESC");
    query.limit(filter.limit);
    query
}

pub(super) fn calls(conn: &Seals<'_>, filter: &CallFilter) -> Res<Vec<InvocationRecord>> {
    // One view of both tables: what is old may be forgotten meanwhile.
    let _view = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let numbers = found_calls(filter).all(conn, |found| found.get::<_, i64>(0))?;
    let body = |number| -> Res<InvocationRecord> {
        let sql = "SELECT kind, body FROM audit WHERE number = ?1";
        let found = one(conn, sql, (number,), |row| {
            let kind = row.get_ref(0)?.as_str()?;
            let place = Place::entry(&filter.tenant, kind);
            Ok(journal::recorded(kind, &conn.open(place, row.get_ref(1)?.as_str()?)?))
        })?;
        found.unwrap_or_else(|| {
            Err(StoreError::Tampered(format!("entry {number} of the audit trail is missing")))
        })
    };
    numbers.into_iter().map(body).collect()
}

/// From one tool to the next in the index, however many calls each has.
const TOOLS: &str = "WITH RECURSIVE called (tool) AS (\
    SELECT min(tool) FROM calls WHERE tenant = ?1 UNION ALL \
    SELECT (SELECT min(tool) FROM calls WHERE tenant = ?1 AND tool > called.tool) \
    FROM called WHERE called.tool IS NOT NULL) \
    SELECT tool FROM called WHERE tool IS NOT NULL";

pub(super) fn tools(conn: &Connection, tenant: &str) -> Res<Vec<String>> {
    all(conn, TOOLS, (tenant,), |found| found.get(0))
}

pub(super) fn caused_with(conn: &Connection, tenant: &str) -> Res<Vec<String>> {
    let sql = "SELECT DISTINCT tool FROM effects WHERE tenant = ?1 ORDER BY tool";
    all(conn, sql, (tenant,), |found| found.get(0))
}

pub(super) fn stats(conn: &Connection, filter: &CallFilter) -> Res<Vec<CallStats>> {
    let query = of_calls("SELECT tool, error IS NOT NULL, duration_us FROM calls", filter);
    let mut figures = Figures::default();
    query.all(conn, |found| {
        figures.take(found.get_ref(0)?.as_str()?, found.get(1)?, row::unsigned(found, 2)?);
        Ok(())
    })?;
    Ok(figures.end())
}

pub(super) fn series(conn: &Connection, filter: &CallFilter, step_ms: u64) -> Res<Vec<Slice>> {
    let mut query = of_calls("SELECT started_at_ms, error, duration_us FROM calls", filter);
    query.sql.push_str(" ORDER BY started_at_ms DESC");
    query.limit(figures::series_limit(filter.limit));
    let mut series = Series::new(step_ms);
    query.all(conn, |found| {
        let error = found.get_ref(1)?.as_str_or_null()?;
        series.take(found.get(0)?, error, row::unsigned(found, 2)?);
        Ok(())
    })?;
    Ok(series.end())
}

pub(super) fn audit(conn: &Seals<'_>, from: u64, limit: usize) -> Res<Vec<AuditEntry>> {
    let sql = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
               WHERE number >= ?1 ORDER BY number LIMIT ?2";
    let limit = signed(figures::limit(limit) as u64);
    let found = all(conn, sql, (signed(from), limit), row::audit)?;
    found.into_iter().map(|entry| conn.opened(entry)).collect()
}

pub(super) fn confirmation(conn: &Seals<'_>, tenant: &str, id: &str) -> Res<Confirmation> {
    let sql = "SELECT id, body FROM confirmations WHERE tenant = ?1 AND id = ?2";
    let body = one(conn, sql, (tenant, id), |found| row::confirmation(found, conn, tenant))?;
    body.flatten().ok_or(StoreError::Missing)
}

pub(super) fn confirmations(
    conn: &Seals<'_>,
    filter: &ConfirmationFilter,
) -> Res<Vec<Confirmation>> {
    let mut query = Where::new("SELECT id, body FROM confirmations", &filter.tenant);
    query.and_some("status =", filter.status.map(|status| status.as_str().to_owned()));
    query.and_some("iif(json_valid(body), body ->> '$.session', NULL) =", filter.session.clone());
    let void_at = "iif(json_valid(body), body ->> '$.expiresAtMs', NULL) >";
    query.and_some(void_at, filter.open_after_ms);
    query.after("asked_at_ms, id", "confirmations", "id", filter.after.as_deref());
    query.sql.push_str(" ORDER BY asked_at_ms DESC, id DESC");
    query.limit(filter.limit);
    let read = |found: &Row<'_>| row::confirmation(found, conn, &filter.tenant);
    Ok(query.all(conn, read)?.into_iter().flatten().collect())
}

pub(super) fn session(conn: &Seals<'_>, tenant: &str, id: &str) -> Res<Session> {
    let sql = "SELECT body FROM sessions WHERE tenant = ?1 AND id = ?2";
    let place = Place::session(tenant, id);
    let body = one(conn, sql, (tenant, id), |found| conn.json(found, 0, place))?;
    body.flatten().ok_or(StoreError::Missing)
}

pub(super) fn answer(conn: &Seals<'_>, tenant: &str, session: &str, id: &str) -> Res<Json> {
    let sql = "SELECT body FROM session_answers WHERE tenant = ?1 AND session = ?2 AND call = ?3";
    let place = Place::answer(tenant, id);
    let body = one(conn, sql, (tenant, session, id), |found| conn.json(found, 0, place))?;
    body.flatten().ok_or(StoreError::Missing)
}

pub(super) fn sessions(
    conn: &Seals<'_>,
    tenant: &str,
    after: Option<&str>,
    limit: usize,
) -> Res<Vec<Session>> {
    let mut query = Where::new("SELECT id, body FROM sessions", tenant);
    query.after("rowid", "sessions", "id", after);
    // Rows stay where they were put when the session began.
    query.sql.push_str(" ORDER BY rowid DESC");
    query.limit(limit);
    let read =
        |found: &Row<'_>| conn.json(found, 1, Place::session(tenant, found.get_ref(0)?.as_str()?));
    Ok(query.all(conn, read)?.into_iter().flatten().collect())
}

pub(super) fn blocked(
    conn: &Seals<'_>,
    tenant: &str,
    principal: &Principal,
    now_ms: i64,
) -> Res<Option<Block>> {
    let found = block(conn, tenant, principal).map_err(|error| of_read(&error))?;
    Ok(found.filter(|block| block.until_ms > now_ms))
}

/// Whether an effect was begun by another owner, or its lease is over.
pub(super) fn any_left(conn: &Connection, owner: Owner, now_ms: i64) -> Res<bool> {
    let sql = "SELECT 1 FROM effects WHERE (state = 'started' OR state = 'unknown') \
               AND state = 'started' AND (owner <> ?1 OR lease_until_ms <= ?2) LIMIT 1";
    Ok(one(conn, sql, (owner, now_ms), |row| row.get::<_, i64>(0))?.is_some())
}

pub(super) fn any_blocks(conn: &Connection) -> Res<bool> {
    let found = one(conn, "SELECT 1 FROM blocks LIMIT 1", (), |row| row.get::<_, i64>(0))?;
    Ok(found.is_some())
}

pub(super) fn block(
    conn: &Seals<'_>,
    tenant: &str,
    principal: &Principal,
) -> rusqlite::Result<Option<Block>> {
    let name = principal.to_string();
    let read = |found: &Row<'_>| {
        let reason = conn.open(Place::block(tenant, &name), found.get_ref(1)?.as_str()?)?;
        Ok(Block {
            tenant: tenant.to_owned(),
            principal: principal.clone(),
            until_ms: found.get(0)?,
            reason: reason.into_owned(),
        })
    };
    conn.prepare_cached(BLOCK)?.query_row((tenant, &name), read).optional()
}

pub(super) fn one<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Res<Option<T>> {
    let statement = conn.prepare_cached(sql);
    let found = statement.and_then(|mut it| it.query_row(params, read).optional());
    found.map_err(|error| of_read(&error))
}

pub(super) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Res<Vec<T>> {
    let statement = conn.prepare_cached(sql);
    let found = statement.and_then(|mut it| it.query_map(params, read)?.collect());
    found.map_err(|error| of_read(&error))
}

#[cfg(test)]
mod tests;
