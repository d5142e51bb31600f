//! How long the write-ahead log is, and when it is time to copy it into the database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use rusqlite::hooks::Wal;

/// When the log has so many pages that are not in the database yet, they are copied there, and the next
/// commit begins it anew. Its file must not become longer than SQLite leaves it (`journal_size_limit`)
/// then: a commit that writes over what a file has takes a fraction of one that makes it longer, which has to
/// find room on the disk and to write down that it did.
const PAGES: u32 = 3_584;

/// How much of the log is in use. Its file does not tell: that stays as long as it was.
pub(super) struct Log {
    /// What SQLite said with the last commit, whoever wrote the pages.
    pages: Arc<AtomicU32>,
    /// So many there were when it was last copied.
    copied: u32,
}

impl Log {
    /// Of a connection that writes. What it does not know until its first commit, it takes for nothing.
    pub(super) fn of(conn: &mut Connection) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicU32::new(0));
        let told = Arc::clone(&pages);
        let hook = move |_: &mut Wal, pages: std::ffi::c_int| {
            told.store(u32::try_from(pages).unwrap_or_default(), Ordering::Relaxed);
            Ok(())
        };
        conn.wal_hook(Some(hook))?;
        Ok(Self { pages, copied: 0 })
    }

    /// Whether it should be copied. Where somebody still reads what is in there, it goes on instead of
    /// beginning anew, and is copied as often as before.
    pub(super) fn is_long(&mut self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.copied {
            self.copied = 0;
        }
        pages - self.copied >= PAGES
    }

    /// It was copied, or somebody tried to.
    pub(super) fn was_copied(&mut self) {
        self.copied = self.pages.load(Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is built from source, with what `.cargo/config.toml` says.
    #[test]
    fn sqlite_is_built_to_wait_for_what_is_written_and_not_for_the_time_of_the_file() {
        let flags = option_env!("LIBSQLITE3_FLAGS").unwrap_or_default();
        assert!(flags.contains("-DHAVE_FDATASYNC=1"), "`{flags}`: build inside of the checkout");
    }

    #[test]
    fn it_is_copied_after_so_many_pages_since_it_was_or_since_it_began_anew() {
        let mut log = Log { pages: Arc::default(), copied: 0 };
        for (pages, long) in [
            (0, false),
            (PAGES - 1, false),
            (PAGES, true),
            // Somebody reads, and it goes on.
            (PAGES + 1, false),
            (2 * PAGES + 7, true),
            // Nobody does any more.
            (3, false),
            (PAGES - 1, false),
            (PAGES + 2, true),
            // What is in there may be more at once than was before.
            (PAGES + 1, true),
        ] {
            log.pages.store(pages, Ordering::Relaxed);
            assert_eq!(log.is_long(), long, "{pages}");
            if long {
                log.was_copied();
            }
        }
    }
}
