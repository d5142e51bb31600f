//! What an error of the database means: whether anything was written, and whether to go on.

use haft_core::port::StoreError;
use rusqlite::{Error, ErrorCode};

/// When an error came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum During {
    /// Before the commit was asked for.
    Work,
    /// While it was being written.
    Commit,
}

/// What an error means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judgement {
    /// What callers are told.
    pub(super) error: StoreError,
    /// Whether nothing more may be written: after a failed write to the disk nobody knows what is
    /// on it, and asking again may be answered with a lie.
    pub(super) poisons: bool,
}

pub(super) fn judge(error: &Error, during: During) -> Judgement {
    let poisons = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    );
    let error = match (poisons, during) {
        (true, During::Commit) => StoreError::InDoubt(format!(
            "the disk failed while an entry was being written ({error}); check the disk, then \
             restart"
        )),
        (true, During::Work) => StoreError::Unavailable(format!(
            "the disk failed ({error}); check the disk, then restart"
        )),
        (false, _) => StoreError::Unavailable(in_words(error)),
    };
    Judgement { error, poisons }
}

/// An error of a read, or of a row that is not as we write them.
pub(super) fn of_read(error: &Error) -> StoreError {
    if let Some(own) = own(error) {
        return own;
    }
    let not_ours = matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    );
    if not_ours {
        StoreError::Tampered(format!("an entry cannot be read: {error}"))
    } else {
        StoreError::Unavailable(in_words(error))
    }
}

/// An error of ours that came through the database's hands.
pub(super) fn own(error: &Error) -> Option<StoreError> {
    let Error::FromSqlConversionFailure(_, _, why) = error else { return None };
    why.downcast_ref::<StoreError>().cloned()
}

fn in_words(error: &Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full; make room".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds the database; try again".to_owned()
        }
        Some(ErrorCode::ReadOnly) => {
            "the database cannot be written to; check its rights".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[track_caller]
    fn check(code: i32, during: During, poisons: bool, words: &str) {
        let error = Error::SqliteFailure(ffi::Error::new(code), None);
        let judgement = judge(&error, during);
        assert_eq!(judgement.poisons, poisons);
        let said = judgement.error.to_string();
        assert!(said.starts_with(words), "{said}");
    }

    #[test]
    fn a_failed_fsync_leaves_the_commit_in_doubt_and_ends_all_writing() {
        check(
            ffi::SQLITE_IOERR_FSYNC,
            During::Commit,
            true,
            "the store's answer was lost: the disk",
        );
        check(
            ffi::SQLITE_IOERR_WRITE,
            During::Work,
            true,
            "the store is not available: the disk f",
        );
        check(ffi::SQLITE_CORRUPT, During::Work, true, "the store is not available: the disk f");
    }

    #[test]
    fn a_full_disk_and_a_busy_database_pass() {
        check(
            ffi::SQLITE_FULL,
            During::Commit,
            false,
            "the store is not available: the disk is full",
        );
        check(ffi::SQLITE_BUSY, During::Work, false, "the store is not available: another process");
        check(
            ffi::SQLITE_READONLY,
            During::Work,
            false,
            "the store is not available: the database",
        );
    }
}
