//! Stores that can only be read: their file system was mounted so, or somebody else may write them.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_core::port::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::of_read;
use super::place::real;
use crate::tables::Res;
use crate::trail;

/// A connection that cannot write, and whether the file is taken to stay as it is while that lasts.
pub(super) struct Reading {
    pub(super) conn: Connection,
    is_still: bool,
}

impl Reading {
    pub(super) fn open(path: &Path, busy: Duration) -> Res<Self> {
        match live(path, busy) {
            Ok(conn) => Ok(Self { conn, is_still: false }),
            // SQLite keeps an index of the log in a file of its own, and could not make one.
            Err(error) if cannot_make(&error) && barred(path).is_some() => {
                may_be_read(path)?;
                Ok(Self { conn: still(path)?, is_still: true })
            }
            Err(error) => Err(of_read(&error)),
        }
    }

    /// Opens it again where somebody has begun to write: whoever does makes a log.
    pub(super) fn look_again(&mut self, path: &Path, busy: Duration) {
        if self.is_still
            && log_of(path).exists()
            && let Ok(again) = Self::open(path, busy)
        {
            *self = again;
        }
    }
}

fn live(path: &Path, busy: Duration) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(busy)?;
    conn.set_prepared_statement_cache_capacity(64);
    // Nothing of the file is read before the first question.
    conn.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0))?;
    Ok(conn)
}

/// A file that nobody writes needs no index of its log, where that is empty or gone.
fn still(path: &Path) -> Res<Connection> {
    if fs::metadata(log_of(path)).is_ok_and(|log| log.len() > 0) {
        return Err(StoreError::Unavailable(format!(
            "`{}` can only be read here, and its log (`-wal`) has entries that cannot be read without \
             the file `-shm`, which is gone: copy both to where they can be written to, or make this \
             place writable",
            path.display()
        )));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(address(path), flags);
    let conn = conn.map_err(|error| of_read(&error))?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(conn)
}

fn cannot_make(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

/// Rights that are missing are no matter of SQLite's files, which may all be there.
fn may_be_read(path: &Path) -> Res<()> {
    for path in [path.to_owned(), log_of(path), index_of(path)] {
        if let Err(why) = may(&path, For::Reading)
            && why.kind() == io::ErrorKind::PermissionDenied
        {
            let path = path.display();
            return Err(StoreError::Unavailable(format!("`{path}` cannot be read: {why}")));
        }
    }
    Ok(())
}

fn log_of(path: &Path) -> PathBuf {
    with(path, "-wal")
}

fn index_of(path: &Path) -> PathBuf {
    with(path, "-shm")
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = real(path).into_os_string();
    name.push(end);
    PathBuf::from(name)
}

/// The address by which SQLite takes a file that does not change. What an address has other uses for is escaped.
fn address(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for c in path.to_string_lossy().chars() {
        match c {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            c => address.push(c),
        }
    }
    address + "?immutable=1"
}

/// Why a database that is there cannot be written to, be it itself or the folder in which its log and its owners are.
pub(super) fn barred(path: &Path) -> Option<String> {
    // Whoever may not look into its folder does not know.
    if matches!(path.try_exists(), Ok(false)) {
        return None;
    }
    let told = |error: io::Error| {
        let bars = [io::ErrorKind::ReadOnlyFilesystem, io::ErrorKind::PermissionDenied];
        bars.contains(&error.kind()).then(|| error.to_string())
    };
    let file = trail::open_file(path, OpenOptions::new().append(true));
    file.err().and_then(told).or_else(|| folder(path).err().and_then(told))
}

fn folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    may(folder.unwrap_or(Path::new(".")), For::Writing)
}

enum For {
    Reading,
    Writing,
}

/// Asks for a right without opening anything: whoever closes a file gives up all that this process has locked of it.
#[cfg(unix)]
fn may(path: &Path, what: For) -> io::Result<()> {
    use nix::unistd::AccessFlags;
    let flags = match what {
        For::Reading => AccessFlags::R_OK,
        For::Writing => AccessFlags::W_OK,
    };
    Ok(nix::unistd::access(path, flags)?)
}

#[cfg(not(unix))]
fn may(_: &Path, _: For) -> io::Result<()> {
    Ok(())
}

/// What whoever wants to write is told.
pub(super) fn in_words(path: &Path, why: &str) -> String {
    format!(
        "`{}` can only be read ({why}): nothing that writes is done; make it and its folder writable, then \
         restart",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_one_file_whatever_it_is_called() {
        for (path, expected) in [
            ("/a/haft.db", "file:/a/haft.db?immutable=1"),
            ("haft.db", "file:haft.db?immutable=1"),
            ("/a b/50%?#.db", "file:/a b/50%25%3f%23.db?immutable=1"),
        ] {
            assert_eq!(address(Path::new(path)), expected);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("50%?mode=memory#.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        let conn = still(&path).unwrap();
        let tables = "SELECT count(*) FROM sqlite_schema";
        assert_eq!(conn.query_row(tables, (), |row| row.get::<_, i64>(0)).unwrap(), 1);
    }
}
