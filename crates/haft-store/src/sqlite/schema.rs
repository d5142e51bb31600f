//! The tables, and how an older file becomes a newer one.

use haft_core::port::StoreError;
use rusqlite::{Connection, TransactionBehavior};

use super::fault::of_read;
use super::grants;

/// "haft", so that another program's database is not taken for ours.
const APPLICATION_ID: i32 = 0x6861_6674;

/// What each version adds. Never changed once released; new ones go to the end.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/configs.sql"),
    include_str!("schema/connections.sql"),
    include_str!("schema/calendar.sql"),
    include_str!("schema/forgetting.sql"),
    include_str!("schema/approvals.sql"),
    include_str!("schema/clock.sql"),
    include_str!("schema/answers.sql"),
    include_str!("schema/finding.sql"),
    include_str!("schema/sealing.sql"),
    include_str!("schema/beginnings.sql"),
    include_str!("schema/acknowledging.sql"),
    include_str!("schema/signing.sql"),
    include_str!("schema/granting.sql"),
    include_str!("schema/deeds.sql"),
    include_str!("schema/asking.sql"),
    include_str!("schema/parts.sql"),
    include_str!("schema/ticking.sql"),
];

/// The version from which on the trail says who may use a connection.
const GRANTS: usize = 14;
/// The versions from which on effects have deeds, and say of what they are parts.
const DEEDS: usize = 15;
const PARTS: usize = 17;

/// How a connection that writes is set up. Checkpoints of the write-ahead log are made by the
/// writer, because SQLite keeps their failures to itself.
pub(super) const PRAGMAS: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA foreign_keys = ON;
    PRAGMA wal_autocheckpoint = 0;
    PRAGMA journal_size_limit = 16777216;
    PRAGMA cache_size = -32768;
    PRAGMA temp_store = MEMORY;
    PRAGMA trusted_schema = OFF;
    PRAGMA secure_delete = FAST;
";

/// Brings the file to the newest version, one step per transaction: killed in between, it goes on
/// where it was. Two processes do not get into each other's way.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), StoreError> {
    let newest = MIGRATIONS.len();
    // Nearly always, and then somebody who holds the file keeps nobody from opening it.
    if stands(conn).map_err(failed)? == (newest as i64, APPLICATION_ID) {
        return Ok(());
    }
    loop {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let (version, application) = stands(&tx).map_err(failed)?;
        if application != APPLICATION_ID && !is_empty(&tx)? {
            return Err(StoreError::Unavailable(
                "the file is another program's database; name another file".to_owned(),
            ));
        }
        let version = usize::try_from(version).unwrap_or(usize::MAX);
        if version > newest {
            return Err(StoreError::Unavailable(format!(
                "the database has schema {version} and this haft knows up to {newest}; \
                 use the newer haft that wrote it"
            )));
        }
        let Some(migration) = MIGRATIONS.get(version) else { return Ok(()) };
        tx.execute_batch(migration).map_err(failed)?;
        if version + 1 == GRANTS {
            grants::put_found(&tx)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        tx.pragma_update(None, "user_version", (version + 1) as i64).map_err(failed)?;
        tx.commit().map_err(failed)?;
    }
}

/// Refuses a file that cannot be brought to the newest version and is not of it.
pub(super) fn is_newest(conn: &Connection) -> Result<(), StoreError> {
    let newest = MIGRATIONS.len();
    let (version, application) = stands(conn).map_err(|error| of_read(&error))?;
    if (version, application) == (newest as i64, APPLICATION_ID) {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "the database has schema {version}, this haft knows {newest}, and it cannot be written to: make it \
         writable once, or use the haft that wrote it"
    )))
}

/// Whether a file is of a version in which the trail says who may use a connection.
pub(super) fn tells_grants(conn: &Connection) -> Result<bool, StoreError> {
    is_of(conn, GRANTS).map_err(|error| of_read(&error))
}

/// Which of some are of the version that a file is of: before effects had deeds, before they said of what they are
/// parts, or since.
pub(super) fn by_columns<T: Copy>(
    conn: &Connection,
    [none, deeds, parts]: [T; 3],
) -> rusqlite::Result<T> {
    Ok(match (is_of(conn, PARTS)?, is_of(conn, DEEDS)?) {
        (true, _) => parts,
        (false, true) => deeds,
        (false, false) => none,
    })
}

fn is_of(conn: &Connection, least: usize) -> rusqlite::Result<bool> {
    let version = conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))?;
    Ok(version >= least as i64)
}

/// The version that a file is of, and the program.
fn stands(conn: &Connection) -> rusqlite::Result<(i64, i32)> {
    let version = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok((version, conn.pragma_query_value(None, "application_id", |row| row.get(0))?))
}

fn is_empty(conn: &Connection) -> Result<bool, StoreError> {
    conn.query_row("SELECT count(*) = 0 FROM sqlite_schema", (), |row| row.get(0)).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: rusqlite::Error) -> StoreError {
    StoreError::Unavailable(format!("the database cannot be prepared: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of a migration. None of ours has a semicolon inside, but for triggers.
    fn statements(migration: &str) -> Vec<String> {
        let mut all = vec![String::new()];
        for line in migration.lines() {
            let Some(last) = all.last_mut() else { continue };
            *last += line;
            *last += "\n";
            let in_trigger = last.contains("CREATE TRIGGER") && !line.trim_end().ends_with("END;");
            if line.trim_end().ends_with(';') && !in_trigger {
                all.push(String::new());
            }
        }
        all.retain(|one| one.lines().any(|line| !line.is_empty() && !line.starts_with("--")));
        all
    }

    fn version(conn: &Connection) -> usize {
        conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap() as usize
    }

    fn tables(conn: &Connection) -> Vec<String> {
        let sql = "SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY name";
        let mut found = conn.prepare(sql).unwrap();
        found.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Killed between any two statements of any step, a file is as it was before the step, and the next
    /// start goes on from there.
    #[test]
    fn a_migration_that_is_cut_off_anywhere_is_taken_up_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut whole = Connection::open_in_memory().unwrap();
        migrate(&mut whole).unwrap();
        let (expected, mut cut) = (tables(&whole), 0);
        for (step, migration) in MIGRATIONS.iter().enumerate() {
            for done in 0..=statements(migration).len() {
                let path = dir.path().join(format!("{step}-{done}.db"));
                let mut conn = Connection::open(&path).unwrap();
                conn.execute_batch(PRAGMAS).unwrap();
                for (at, before) in MIGRATIONS.iter().take(step).enumerate() {
                    conn.execute_batch(before).unwrap();
                    conn.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
                    conn.pragma_update(None, "user_version", at as i64 + 1).unwrap();
                }
                let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
                for statement in statements(migration).iter().take(done) {
                    tx.execute_batch(statement).unwrap();
                }
                // Its process is gone: nobody commits.
                drop(tx);
                drop(conn);
                let mut next = Connection::open(&path).unwrap();
                assert_eq!(version(&next), step, "step {step}, {done} statements");
                migrate(&mut next).unwrap();
                assert_eq!(version(&next), MIGRATIONS.len());
                assert_eq!(tables(&next), expected, "step {step}, {done} statements");
                cut += 1;
            }
        }
        assert!(cut > 40, "only {cut} places were tried");
    }
}
