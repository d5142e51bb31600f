//! What was granted before the trail said so of every connection: taken as it is found, once.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use serde_json::json;

use super::super::known::Evidence;
use super::super::{read, row, writer};
use super::{digest, rows, standing};
use crate::tables::Res;

/// Writes into the trail who may use what, as an older haft has left it, when its file is brought up to date.
/// A second time nothing is taken so: whoever sets the file's version back would have what they like granted.
pub(in super::super) fn put(conn: &Connection) -> Res<()> {
    let failed = |error: rusqlite::Error| super::of_read(&error);
    let (mut link, last_ms) = writer::last_entry(conn).map_err(failed)?;
    // A new file has nothing to take, and after an entry that cannot be read nothing is written.
    if link.number == 0 || link.is_lost() || is_done(conn)? {
        return Ok(());
    }
    let now_ms = read::one(conn, "SELECT now_ms FROM clock", (), |found| found.get::<_, i64>(0))?;
    let at_ms = now_ms.unwrap_or_default().max(last_ms);
    let mut all = BTreeMap::<(String, String), BTreeSet<_>>::new();
    for kept in rows(conn)? {
        let Some(grant) = kept.grant() else { continue };
        all.entry((kept.tenant, kept.connection)).or_default().insert(digest(&grant));
    }
    // Of no connection: this was done.
    let done = ((String::new(), String::new()), BTreeSet::new());
    for ((tenant, connection), grants) in all.into_iter().chain([done]) {
        let body = json!({ "connection": connection, "what": "found", "grants": grants });
        let entry = link.next(at_ms, &tenant, "connection", body.to_string());
        conn.execute(row::PUT_ENTRY, row::entry_values(&entry)).map_err(failed)?;
    }
    Ok(())
}

/// Whether the trail was begun by a haft that says so of every connection, or this was done before.
fn is_done(conn: &Connection) -> Res<bool> {
    Ok(standing(conn, "", "")?.is_some() || Evidence::of(conn)?.tells_grants())
}
