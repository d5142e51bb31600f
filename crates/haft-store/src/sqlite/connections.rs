//! The table of connections: sealed records go in and come out; nothing here can open one.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_core::connection::{Account, Grant};
use haft_core::port::{Expect, StoreError};
use haft_core::{Digest, Principal};
use rusqlite::{Connection, Row};
use serde_json::json;

use super::fault::of_read;
use super::row::signed;
use super::tx::Tx;
use super::{Sqlite, grants};
use crate::steps::confirmations;
use crate::tables::{Res, Tables as _};
use crate::vault;

/// A record as it is kept.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) account: Account,
    pub(crate) key_id: String,
    pub(crate) nonce: [u8; 24],
    pub(crate) sealed: Vec<u8>,
}

const COLUMNS: &str = "SELECT account, key_id, nonce, sealed FROM connections";

impl Sqlite {
    pub(crate) async fn kept_connection(&self, tenant: String, id: String) -> Res<Kept> {
        self.readers
            .ask(move |conn| {
                let sql = format!("{COLUMNS} WHERE tenant = ?1 AND id = ?2");
                let found = all(conn, &sql, (&tenant, &id))?;
                found.into_iter().next().ok_or(StoreError::Missing)
            })
            .await
    }

    /// Those of a tenant, or all.
    pub(crate) async fn kept_connections(&self, tenant: Option<String>) -> Res<Vec<Kept>> {
        self.readers
            .ask(move |conn| match tenant {
                Some(tenant) => {
                    let sql = format!("{COLUMNS} WHERE tenant = ?1 ORDER BY id");
                    all(conn, &sql, (&tenant,))
                }
                None => all(conn, &format!("{COLUMNS} ORDER BY tenant, id"), ()),
            })
            .await
    }

    pub(crate) async fn put_connection(
        &self,
        kept: Kept,
        expect: Expect,
        by: Option<Principal>,
    ) -> Res<Account> {
        self.write(move |tx| {
            let account = &kept.account;
            vault::expected(revision(tx, &account.tenant, &account.id)?, expect)?;
            store(tx, &kept)?;
            let what = match (expect, &by) {
                (Expect::Nothing, _) => "made",
                (Expect::Revision(_), Some(_)) => "changed",
                (Expect::Revision(_), None) => "renewed",
            };
            note(tx, account, what, by.as_ref())?;
            if let (Expect::Revision(_), Some(by)) = (expect, &by) {
                confirmations::withdraw_through(tx, &account.tenant, &account.id, by)?;
            }
            Ok(kept.account.clone())
        })
        .await
    }

    /// Replaces records by the same ones under another key, all or none.
    pub(crate) async fn reseal_connections(&self, anew: Vec<(Kept, u64)>) -> Res<()> {
        self.write(move |tx| {
            for (kept, before) in &anew {
                let account = &kept.account;
                let there = revision(tx, &account.tenant, &account.id)?;
                vault::expected(there, Expect::Revision(*before))?;
                store(tx, kept)?;
                note(tx, account, "resealed", None)?;
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn remove_connection(
        &self,
        tenant: String,
        id: String,
        by: Principal,
    ) -> Res<()> {
        self.write(move |tx| {
            let sql = "DELETE FROM connections WHERE tenant = ?1 AND id = ?2";
            if tx.execute(sql, (&tenant, &id))? == 0 {
                return Err(StoreError::Missing);
            }
            let sql = "DELETE FROM connection_grants WHERE tenant = ?1 AND connection = ?2";
            tx.execute(sql, (&tenant, &id))?;
            let grants = [(); 0];
            let body = json!({ "connection": id, "what": "removed", "by": by, "grants": grants })
                .to_string();
            tx.append(&tenant, "connection", body)?;
            confirmations::withdraw_through(tx, &tenant, &id, &by).map(drop)
        })
        .await
    }

    /// Those that the trail tells of: what a row alone says counts for nothing.
    pub(crate) async fn connection_grants(&self) -> Res<Vec<Grant>> {
        let memory = Arc::clone(&self.granted);
        self.readers.ask(move |conn| memory.lock().in_force(conn)).await
    }

    pub(crate) async fn connection_grants_in(&self, tenant: String) -> Res<Vec<Grant>> {
        let mut all = self.connection_grants().await?;
        all.retain(|one| one.tenant == tenant);
        Ok(all)
    }

    pub(crate) async fn grant_connection(&self, grant: Grant, by: Principal) -> Res<()> {
        self.write(move |tx| {
            if revision(tx, &grant.tenant, &grant.connection)?.is_none() {
                return Err(StoreError::Missing);
            }
            let mut grants = standing(tx, &grant.tenant, &grant.connection)?;
            put_grant(tx, &grant)?;
            grants.insert(grants::digest(&grant));
            let body = json!({
                "connection": grant.connection, "what": "granted", "to": grant, "by": by,
                "grants": grants,
            });
            tx.append(&grant.tenant, "connection", body.to_string()).map(drop)
        })
        .await
    }

    pub(crate) async fn revoke_connection(
        &self,
        tenant: String,
        id: String,
        principal: Option<String>,
        by: Principal,
    ) -> Res<u64> {
        self.write(move |tx| {
            let mut grants = standing(tx, &tenant, &id)?;
            let changed = take_back(tx, (&tenant, &id), principal.as_deref(), &mut grants)?;
            if principal.is_none() {
                grants.clear();
            }
            let body = json!({
                "connection": id, "what": "revoked", "from": principal, "by": by, "grants": grants,
            });
            tx.append(&tenant, "connection", body.to_string())?;
            Ok(changed)
        })
        .await
    }

    pub(crate) async fn hold_connection(&self, tenant: String, id: String, ms: u64) -> Res<bool> {
        self.write(move |tx| {
            let now = tx.now_ms();
            let sql = "UPDATE connections SET held_until_ms = ?3 WHERE tenant = ?1 AND id = ?2 \
                       AND held_until_ms <= ?4";
            let until = now.saturating_add(signed(ms));
            Ok(tx.execute(sql, (&tenant, &id, until, now))? == 1)
        })
        .await
    }

    pub(crate) async fn release_connection(&self, tenant: String, id: String) -> Res<()> {
        self.write(move |tx| {
            let sql = "UPDATE connections SET held_until_ms = 0 WHERE tenant = ?1 AND id = ?2";
            tx.execute(sql, (&tenant, &id)).map(drop)
        })
        .await
    }
}

fn revision(tx: &mut Tx<'_>, tenant: &str, id: &str) -> Res<Option<u64>> {
    let sql = "SELECT revision FROM connections WHERE tenant = ?1 AND id = ?2";
    let found: Option<i64> = tx.one(sql, (tenant, id), |row| row.get(0))?;
    Ok(found.map(|number| u64::try_from(number).unwrap_or_default()))
}

fn store(tx: &mut Tx<'_>, kept: &Kept) -> Res<()> {
    let sql = "INSERT OR REPLACE INTO connections \
               (tenant, id, revision, account, key_id, nonce, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let account = &kept.account;
    let params = (
        &account.tenant,
        &account.id,
        signed(account.revision),
        json!(account).to_string(),
        &kept.key_id,
        &kept.nonce[..],
        &kept.sealed,
    );
    tx.execute(sql, params).map(drop)
}

/// The grants of a connection as the trail tells them; none where it does not.
fn standing(tx: &mut Tx<'_>, tenant: &str, id: &str) -> Res<BTreeSet<Digest>> {
    Ok(grants::standing(tx.conn, tenant, id)?.unwrap_or_default())
}

/// Takes a principal out of the grants of a connection, or all of them where none is named. What somebody has
/// written there goes the same way, and is not in the trail afterwards either. Returns how many were changed.
fn take_back(
    tx: &mut Tx<'_>,
    (tenant, id): (&str, &str),
    principal: Option<&str>,
    grants: &mut BTreeSet<Digest>,
) -> Res<u64> {
    let sql = "SELECT body FROM connection_grants WHERE tenant = ?1 AND connection = ?2";
    let mut changed = 0;
    for body in texts(tx.conn, sql, (tenant, id))? {
        let kept = grants::Kept { tenant: tenant.to_owned(), connection: id.to_owned(), body };
        let before = kept.grant();
        let after = before.clone().and_then(|grant| vault::without(grant, principal));
        if before.is_some() && after == before {
            continue;
        }
        changed += 1;
        let sql = "DELETE FROM connection_grants WHERE tenant = ?1 AND connection = ?2 \
                   AND body = ?3";
        tx.execute(sql, (tenant, id, &kept.body))?;
        let stood = before.is_some_and(|grant| grants.remove(&grants::digest(&grant)));
        let Some(after) = after else { continue };
        put_grant(tx, &after)?;
        if stood {
            grants.insert(grants::digest(&after));
        }
    }
    Ok(changed)
}

fn put_grant(tx: &mut Tx<'_>, grant: &Grant) -> Res<()> {
    let sql =
        "INSERT OR IGNORE INTO connection_grants (tenant, connection, body) VALUES (?1, ?2, ?3)";
    let body = json!(grant).to_string();
    tx.execute(sql, (&grant.tenant, &grant.connection, body)).map(drop)
}

/// Who changed what is for the audit trail; what it was changed to is not.
fn note(tx: &mut Tx<'_>, account: &Account, what: &str, by: Option<&Principal>) -> Res<()> {
    let body = json!({
        "connection": account.id, "what": what, "kind": account.kind,
        "provider": account.provider, "hosts": account.hosts, "revision": account.revision, "by": by,
    });
    tx.append(&account.tenant, "connection", body.to_string()).map(drop)
}

fn texts(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Res<Vec<String>> {
    let read = || -> rusqlite::Result<Vec<String>> {
        conn.prepare(sql)?.query_map(params, |row| row.get(0))?.collect()
    };
    read().map_err(|error| of_read(&error))
}

fn all(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Res<Vec<Kept>> {
    type Raw = (String, String, Vec<u8>, Vec<u8>);
    let raw = |row: &Row<'_>| -> rusqlite::Result<Raw> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
    };
    let read =
        || -> rusqlite::Result<Vec<Raw>> { conn.prepare(sql)?.query_map(params, raw)?.collect() };
    let rows = read().map_err(|error| of_read(&error))?;
    rows.into_iter().map(kept).collect()
}

fn kept((account, key_id, nonce, sealed): (String, String, Vec<u8>, Vec<u8>)) -> Res<Kept> {
    let touched = || StoreError::Tampered("a connection cannot be read".to_owned());
    Ok(Kept {
        account: serde_json::from_str(&account).map_err(|_| touched())?,
        key_id,
        nonce: nonce.try_into().map_err(|_| touched())?,
        sealed,
    })
}
