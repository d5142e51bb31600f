//! What is configured, in SQLite.

use haft_core::Principal;
use haft_core::config::{Change, Entry, Kind, Snapshot};
use haft_core::port::{Boxed, Configs, StoreError};
use rusqlite::{Connection, Params, Row, params};

use super::fault::of_read;
use super::row::{json, signed, unreadable, unsigned};
use super::tx::Tx;
use super::{Sqlite, read};
use crate::figures;
use crate::steps;
use crate::steps::journal::written;
use crate::tables::{Clears, Res};

type Answer<'a, T> = Boxed<'a, Res<T>>;

macro_rules! columns {
    () => {
        "kind, tenant, id, version, body, changed_at_ms, changed_by"
    };
}

const ONE: &str =
    concat!("SELECT ", columns!(), " FROM configs WHERE kind = ?1 AND tenant = ?2 AND id = ?3");

impl Configs for Sqlite {
    fn entry<'a>(&'a self, kind: Kind, tenant: &'a str, id: &'a str) -> Answer<'a, Entry> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        Box::pin(self.readers.ask(move |conn| {
            let found = read::one(conn, ONE, (kind.as_str(), tenant, id), entry)?;
            found.and_then(Stored::there).ok_or(StoreError::Missing)
        }))
    }

    fn entries<'a>(&'a self, kind: Kind, tenant: Option<&'a str>) -> Answer<'a, Vec<Entry>> {
        let tenant = tenant.map(str::to_owned);
        Box::pin(self.readers.ask(move |conn| {
            let sql = concat!(
                "SELECT ",
                columns!(),
                " FROM configs WHERE kind = ?1 AND (?2 IS NULL OR tenant = ?2) \
                 AND body IS NOT NULL ORDER BY tenant, id"
            );
            all(conn, sql, (kind.as_str(), tenant))
        }))
    }

    fn versions<'a>(
        &'a self,
        kind: Kind,
        tenant: &'a str,
        id: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> Answer<'a, Vec<Entry>> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        let before = before.map_or(i64::MAX, signed);
        let limit = signed(figures::limit(limit) as u64);
        Box::pin(self.readers.ask(move |conn| {
            let sql = concat!(
                "SELECT ",
                columns!(),
                " FROM configs WHERE kind = ?1 AND tenant = ?2 AND id = ?3 \
                 AND version < ?4 AND body IS NOT NULL UNION ALL SELECT ",
                columns!(),
                " FROM config_versions WHERE kind = ?1 AND tenant = ?2 AND id = ?3 \
                 AND version < ?4 ORDER BY version DESC LIMIT ?5"
            );
            all(conn, sql, (kind.as_str(), tenant, id, before, limit))
        }))
    }

    fn change<'a>(&'a self, change: Change) -> Answer<'a, Entry> {
        let tenant_goes = change.kind == Kind::Tenant && change.to.is_none();
        Box::pin(async move {
            let changed = self.write(move |tx| steps::configs::change(tx, &change)).await?;
            if tenant_goes && self.is_sealing() {
                self.empty_log().await;
            }
            Ok(changed)
        })
    }

    fn changes<'a>(&'a self) -> Answer<'a, u64> {
        Box::pin(self.readers.ask(|conn| changes(conn)))
    }

    fn snapshot<'a>(&'a self) -> Answer<'a, Snapshot> {
        Box::pin(self.readers.ask(|conn| {
            // One view of both tables, whoever writes meanwhile.
            let view = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
            let sql = concat!(
                "SELECT ",
                columns!(),
                " FROM configs WHERE body IS NOT NULL ORDER BY kind, tenant, id"
            );
            let mut entries = all(&view, sql, ())?;
            entries.sort_by(|a, b| (a.kind, &a.tenant, &a.id).cmp(&(b.kind, &b.tenant, &b.id)));
            Ok(Snapshot { changes: changes(&view)?, entries })
        }))
    }
}

fn changes(conn: &Connection) -> Res<u64> {
    let found = read::one(conn, "SELECT changes FROM config_changes", (), |row| unsigned(row, 0))?;
    Ok(found.unwrap_or_default())
}

/// A row: a thing that is there, or one that was removed.
struct Stored {
    entry: Entry,
    there: bool,
}

impl Stored {
    fn there(self) -> Option<Entry> {
        self.there.then_some(self.entry)
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let kind: String = row.get(0)?;
    let by: String = row.get(6)?;
    let body = json(row, 4)?;
    let there = body.is_some();
    let entry = Entry {
        kind: Kind::parse(&kind).ok_or_else(|| unreadable(0, format!("no kind `{kind}`")))?,
        tenant: row.get(1)?,
        id: row.get(2)?,
        version: unsigned(row, 3)?,
        body: body.unwrap_or_default(),
        changed_at_ms: row.get(5)?,
        changed_by: Principal::parse(&by).map_err(|why| unreadable(6, why))?,
    };
    Ok(Stored { entry, there })
}

fn all(conn: &Connection, sql: &str, params: impl Params) -> Res<Vec<Entry>> {
    let found = read::all(conn, sql, params, entry)?;
    Ok(found.into_iter().filter_map(Stored::there).collect())
}

/// Up to when something was the tenant's that was removed last: whatever it is, where none was.
macro_rules! by_then {
    () => {
        " AND changed_at_ms <= ifnull((SELECT gone.changed_at_ms FROM configs AS gone \
         WHERE gone.kind = 'tenant' AND gone.tenant = ?1 AND gone.id = ?1 AND gone.body IS NULL), \
         changed_at_ms)"
    };
}

impl Clears for Tx<'_> {
    fn left_of(&mut self, tenant: &str) -> Res<Vec<Entry>> {
        let sql = concat!(
            "SELECT ",
            columns!(),
            " FROM configs WHERE tenant = ?1 AND kind <> 'tenant' AND body IS NOT NULL",
            by_then!(),
            " ORDER BY kind, id"
        );
        let found = self.all(sql, (tenant,), entry)?;
        Ok(found.into_iter().filter_map(Stored::there).collect())
    }

    fn drop_versions(&mut self, tenant: &str) -> Res<()> {
        let sql = concat!("DELETE FROM config_versions WHERE tenant = ?1", by_then!());
        self.execute(sql, (tenant,)).map(drop)
    }
}

impl Tx<'_> {
    pub(super) fn find_config(
        &mut self,
        kind: Kind,
        tenant: &str,
        id: &str,
    ) -> Res<Option<(u64, Option<Entry>)>> {
        let found = self.one(ONE, (kind.as_str(), tenant, id), entry)?;
        Ok(found.map(|stored| (stored.entry.version, stored.there())))
    }

    pub(super) fn write_config(&mut self, entry: &Entry, removed: bool) -> Res<()> {
        let (kind, by) = (entry.kind.as_str(), entry.changed_by.to_string());
        if entry.kind.keeps_versions() {
            let keep = concat!(
                "INSERT INTO config_versions SELECT ",
                columns!(),
                " FROM configs WHERE kind = ?1 AND tenant = ?2 AND id = ?3 AND body IS NOT NULL"
            );
            self.execute(keep, (kind, &entry.tenant, &entry.id))?;
        }
        if removed && entry.kind == Kind::Tenant {
            self.shred(&entry.id)?;
        }
        let body = match removed {
            true => None,
            false => Some(written(&entry.body)?),
        };
        let put = concat!(
            "INSERT INTO configs (",
            columns!(),
            ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (kind, tenant, id) DO UPDATE SET \
             version = excluded.version, body = excluded.body, \
             changed_at_ms = excluded.changed_at_ms, changed_by = excluded.changed_by"
        );
        let version = signed(entry.version);
        let values = params![kind, entry.tenant, entry.id, version, body, entry.changed_at_ms, by];
        self.execute(put, values)?;
        self.execute("UPDATE config_changes SET changes = changes + 1", ()).map(drop)
    }
}
