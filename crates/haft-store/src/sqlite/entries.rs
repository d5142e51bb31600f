//! The audit trail, found by what its entries are about.

use std::cmp::Reverse;

use haft_core::port::{StoreError, TrailFilter};
use haft_core::record::AuditEntry;
use rusqlite::Row;

use super::fault::of_read;
use super::read::{Where, either, one};
use super::row::{self, signed};
use super::sealing::Seals;
use crate::figures;
use crate::steps::journal::BEGIN;
use crate::tables::Res;

const ENTRY: &str = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
                     WHERE number = ?1";

/// Word for word the condition of the index of entries that tell of something else than how a call
/// began or ended. Those have no row among the calls, and say themselves what they are about.
macro_rules! rare {
    () => {
        " AND kind <> 'call' AND kind <> 'settle' AND kind <> 'late' AND kind <> 'begin'"
    };
}

const RARE: &str = rare!();

/// When a tenant of this name was removed last: nothing before it is for whoever is called so now. Looked
/// for only where one can have been: it was made, and then changed or removed. Whoever is called so now
/// need not have been made here.
const REMOVED: &str = concat!(
    "SELECT MAX(number) FROM audit INDEXED BY audit_rare WHERE tenant = ?1",
    rare!(),
    " AND kind = 'shred' AND EXISTS (SELECT 1 FROM configs \
     WHERE kind = 'tenant' AND tenant = ?1 AND id = ?1 AND version >= 2)"
);

/// A tenant's entries, newest first. Their numbers are found first: bodies are long, and few of those
/// that are looked through are wanted.
pub(super) fn trail(conn: &Seals<'_>, filter: &TrailFilter) -> Res<Vec<AuditEntry>> {
    // One view of both tables: what is old may be forgotten meanwhile.
    let _view = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
    let number = |found: &Row<'_>| found.get::<_, i64>(0);
    let removed = one(conn, REMOVED, (&filter.tenant,), |found| found.get::<_, Option<i64>>(0))?;
    let removed = removed.flatten().unwrap_or_default();
    let mut numbers = match filter.is_about_something() {
        false => plain(filter, removed).all(conn, number)?,
        true => {
            let mut both = of_calls(filter, removed).all(conn, number)?;
            both.extend(of_others(filter, removed).all(conn, number)?);
            both
        }
    };
    numbers.sort_unstable_by_key(|number| Reverse(*number));
    numbers.truncate(figures::limit(filter.limit));
    let entry = |number| {
        let found = one(conn, ENTRY, (number,), row::audit)?;
        let found = found.ok_or_else(|| {
            StoreError::Tampered(format!("entry {number} of the audit trail is missing"))
        });
        conn.opened(found?)
    };
    numbers.into_iter().map(entry).collect()
}

fn is_rare(kind: &str) -> bool {
    !matches!(kind, "call" | "settle" | "late" | BEGIN)
}

fn newest(mut query: Where, filter: &TrailFilter, removed: i64) -> Where {
    query.and_some("number <", filter.before.map(signed));
    query.and_some("number >", Some(removed).filter(|number| *number > 0));
    query.sql.push_str(" ORDER BY number DESC");
    query.limit(filter.limit);
    query
}

/// Entries whatever they are about.
fn plain(filter: &TrailFilter, removed: i64) -> Where {
    let rare = !filter.kinds.is_empty() && filter.kinds.iter().all(|kind| is_rare(kind));
    let in_time = filter.since_ms.is_some() || filter.until_ms.is_some();
    let from = match (rare, in_time) {
        (true, _) => "SELECT number FROM audit INDEXED BY audit_rare",
        (false, true) => "SELECT number FROM audit INDEXED BY audit_time",
        // From the end of the table, until there are enough.
        (false, false) => "SELECT number FROM audit NOT INDEXED",
    };
    let mut query = Where::new(from, &filter.tenant);
    if rare {
        query.sql.push_str(RARE);
    }
    query.and_one_of("kind", &filter.kinds);
    query.and_some("at_ms >=", filter.since_ms);
    query.and_some("at_ms <=", filter.until_ms);
    newest(query, filter, removed)
}

/// Entries that tell how a call ended.
fn of_calls(filter: &TrailFilter, removed: i64) -> Where {
    let mut query = Where::new("SELECT number FROM calls", &filter.tenant);
    query.and_some("agent =", filter.agent.clone());
    query.and_one_of("tool", &either(&filter.tool, &filter.or_tool));
    query.and_some("session =", filter.session.clone());
    query.and_some("call =", filter.call.clone());
    let entry = |column: &str| format!("(SELECT {column} FROM audit WHERE number = calls.number)");
    query.and_one_of(&entry("kind"), &filter.kinds);
    query.and_some(&format!("{} >=", entry("at_ms")), filter.since_ms);
    query.and_some(&format!("{} <=", entry("at_ms")), filter.until_ms);
    newest(query, filter, removed)
}

/// The others. What somebody has touched may not be JSON any more, and is about nothing then.
fn of_others(filter: &TrailFilter, removed: i64) -> Where {
    let mut query = Where::new("SELECT number FROM audit INDEXED BY audit_rare", &filter.tenant);
    let said = |name: &str| format!("iif(json_valid(body), body ->> '$.{name}', NULL)");
    query.sql.push_str(RARE);
    // Before anything of a body is read.
    query.and_one_of("kind", &filter.kinds);
    query.and_some("at_ms >=", filter.since_ms);
    query.and_some("at_ms <=", filter.until_ms);
    for (name, wanted) in
        [("agent", &filter.agent), ("session", &filter.session), ("call", &filter.call)]
    {
        query.and_some(&format!("{} =", said(name)), wanted.clone());
    }
    query.and_one_of(&said("tool"), &either(&filter.tool, &filter.or_tool));
    newest(query, filter, removed)
}
