//! Whether there is room for more, before anything is refused for want of it.

use std::path::Path;

use rusqlite::Connection;

/// Less than this is as good as nothing: one call and what is said of it in the trail take more, and the
/// log grows by the pages that they change before the database does.
const LEAST_BYTES: u64 = 1 << 20;

/// The same of a database that may have so many pages and no more.
const LEAST_PAGES: u64 = 16;

/// What a database has room for.
pub(super) fn any(conn: &Connection, path: &Path, most_pages: Option<u64>) -> bool {
    let number = |name| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).ok();
    let pages = most_pages.and_then(|most| {
        let used = number("page_count")?.saturating_sub(number("freelist_count")?);
        Some(most.saturating_sub(u64::try_from(used).ok()?))
    });
    enough(bytes(path), pages)
}

/// What cannot be told is no reason to turn anybody away.
fn enough(bytes: Option<u64>, pages: Option<u64>) -> bool {
    bytes.is_none_or(|bytes| bytes >= LEAST_BYTES) && pages.is_none_or(|pages| pages >= LEAST_PAGES)
}

/// The bytes that the file system has for whoever asks.
#[cfg(unix)]
#[cfg_attr(
    target_os = "linux",
    expect(clippy::useless_conversion, reason = "elsewhere these are smaller numbers")
)]
fn bytes(path: &Path) -> Option<u64> {
    let about = nix::sys::statvfs::statvfs(path).ok()?;
    let blocks = u64::from(about.blocks_available());
    Some(blocks.saturating_mul(u64::from(about.fragment_size())))
}

#[cfg(not(unix))]
fn bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_is_none_and_what_nobody_knows_is_enough() {
        for (bytes, pages, expected) in [
            (None, None, true),
            (Some(0), None, false),
            (Some(LEAST_BYTES - 1), None, false),
            (Some(LEAST_BYTES), None, true),
            (None, Some(0), false),
            (Some(u64::MAX), Some(LEAST_PAGES - 1), false),
            (Some(LEAST_BYTES), Some(LEAST_PAGES), true),
            (Some(0), Some(u64::MAX), false),
        ] {
            assert_eq!(enough(bytes, pages), expected, "{bytes:?} {pages:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_system_says_what_it_has() {
        let dir = tempfile::tempdir().unwrap();
        assert!(bytes(dir.path()).is_some_and(|bytes| bytes > 0));
        assert_eq!(bytes(&dir.path().join("nowhere")), None);
    }
}
