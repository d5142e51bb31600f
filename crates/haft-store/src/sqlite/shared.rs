//! What the handle, the writer and the readers know together.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use haft_core::port::StoreError;
use parking_lot::Mutex;
use rusqlite::ErrorCode;

use super::Verify;
use super::fault::Judgement;
use crate::clock::Steady;
use crate::steps::forget::DAY_MS;
use crate::trail;

/// So long after a write found no room, another may try.
const RETRY_MS: i64 = 1_000;

/// A block that another process made is noticed after so long.
const LOOK_FOR_BLOCKS_MS: i64 = 200;

pub(super) struct Shared {
    pub(super) clock: Steady,
    poison: Mutex<Option<String>>,
    is_poisoned: AtomicBool,
    /// When a write last found no room; 0 when there is room.
    full_at_ms: AtomicI64,
    /// So many pages it may have; as many as there are numbers where that is not limited.
    most_pages: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) unsigned: AtomicU64,
    suspicion: Mutex<Suspicion>,
    is_suspicious: AtomicBool,
    /// Whether the last head could not be told, and the last checkpoint not be written.
    untold: AtomicBool,
    unsigned_now: AtomicBool,
    /// When somebody last looked into the trail and went on.
    acknowledged_at_ms: AtomicI64,
    /// When all of the trail was checked; nothing where nobody wants it to be.
    checked_at_ms: Option<AtomicI64>,
    /// There may be blocks if this file is there.
    blocks: PathBuf,
    any_blocks: AtomicBool,
    looked_at_ms: AtomicI64,
}

/// What tells of the trail's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// With every commit.
    Head,
    /// Signed, now and then.
    Checkpoint,
}

/// Whose effects are stopped because the audit trail was touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// Nobody's.
    #[default]
    None,
    /// Those of these tenants.
    Of(HashSet<String>, String),
    /// Everybody's: it cannot be told whose entries were touched.
    All(String),
}

impl Shared {
    pub(super) fn new(clock: Steady, blocks: PathBuf, any_blocks: bool, verify: Verify) -> Self {
        Self {
            clock,
            poison: Mutex::new(None),
            is_poisoned: AtomicBool::new(false),
            full_at_ms: AtomicI64::new(0),
            most_pages: AtomicU64::new(u64::MAX),
            dropped: AtomicU64::new(0),
            unsigned: AtomicU64::new(0),
            suspicion: Mutex::new(Suspicion::None),
            is_suspicious: AtomicBool::new(false),
            untold: AtomicBool::new(false),
            unsigned_now: AtomicBool::new(false),
            acknowledged_at_ms: AtomicI64::new(0),
            checked_at_ms: (verify != Verify::Never).then(AtomicI64::default),
            blocks,
            any_blocks: AtomicBool::new(any_blocks),
            looked_at_ms: AtomicI64::new(0),
        }
    }

    /// Why nothing may be written any more.
    pub(super) fn poisoned(&self) -> Option<StoreError> {
        if !self.is_poisoned.load(Ordering::Acquire) {
            return None;
        }
        self.poison.lock().clone().map(StoreError::Unavailable)
    }

    pub(super) fn poison(&self, why: &str) {
        self.poison.lock().get_or_insert_with(|| why.to_owned());
        self.is_poisoned.store(true, Ordering::Release);
    }

    /// The same while it was in use. Whoever runs it has to know: callers are told that the ledger cannot be written.
    pub(super) fn end_writing(&self, why: &str) {
        if !self.is_poisoned.load(Ordering::Acquire) {
            tracing::error!(event = "store_ends_writing", why);
        }
        self.poison(why);
    }

    /// Draws the consequences of an error, and returns what callers are told.
    pub(super) fn blame(&self, judgement: &Judgement, error: &rusqlite::Error) -> StoreError {
        if judgement.poisons {
            self.end_writing(&format!(
                "the disk failed earlier ({error}) and nothing is written any more; check the \
                 disk, then restart"
            ));
        }
        if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
            self.full_at_ms.store(self.clock.now_ms().max(1), Ordering::Release);
        }
        judgement.error.clone()
    }

    pub(super) fn has_room(&self) {
        if self.full_at_ms.load(Ordering::Relaxed) != 0 {
            self.full_at_ms.store(0, Ordering::Release);
        }
    }

    pub(super) fn may_have(&self, pages: Option<u64>) {
        self.most_pages.store(pages.unwrap_or(u64::MAX), Ordering::Release);
    }

    /// How many pages it may have, where that is limited.
    pub(super) fn most_pages(&self) -> Option<u64> {
        Some(self.most_pages.load(Ordering::Acquire)).filter(|most| *most != u64::MAX)
    }

    /// While there is no room, now and then somebody may try.
    pub(super) fn is_writable(&self) -> bool {
        let full_at_ms = self.full_at_ms.load(Ordering::Acquire);
        let may_try = full_at_ms == 0 || self.clock.now_ms() - full_at_ms >= RETRY_MS;
        may_try && !self.is_poisoned.load(Ordering::Acquire)
    }

    /// What tells of the trail's end beside the database was written, or was not. The entries are safe
    /// either way, and the next that is written covers them; until then nobody would notice if they were
    /// cut off, or an older copy put back. So it is counted, and said when that changes.
    pub(super) fn wrote(&self, what: Beside, done: io::Result<()>) {
        let (failing, fails, works) = match what {
            Beside::Head => (&self.untold, "head_not_written", "head_written_again"),
            Beside::Checkpoint => (&self.unsigned_now, "trail_not_signed", "trail_signed_again"),
        };
        match done {
            Ok(()) if failing.load(Ordering::Relaxed) => {
                failing.store(false, Ordering::Relaxed);
                tracing::warn!(event = works);
            }
            Ok(()) => {}
            Err(error) => {
                self.unsigned.fetch_add(1, Ordering::Relaxed);
                if !failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(event = fails, why = %error);
                }
            }
        }
    }

    pub(super) fn suspect(&self, suspicion: Suspicion) {
        let any = suspicion != Suspicion::None;
        *self.suspicion.lock() = suspicion;
        self.is_suspicious.store(any, Ordering::Release);
    }

    /// Somebody has looked into the trail at this time. What was suspected before is no longer.
    pub(super) fn looked(&self, at_ms: i64) {
        if self.acknowledged_at_ms.fetch_max(at_ms, Ordering::AcqRel) < at_ms {
            self.suspect(Suspicion::None);
        }
    }

    /// All of the trail was checked, as it was at this time.
    pub(super) fn checked(&self, at_ms: i64) {
        if let Some(checked) = &self.checked_at_ms {
            checked.fetch_max(at_ms, Ordering::AcqRel);
        }
    }

    /// Whether somebody should check all of it: only its end was, or it is a day ago.
    pub(super) fn is_check_due(&self) -> bool {
        let since = |checked: &AtomicI64| self.clock.now_ms() - checked.load(Ordering::Acquire);
        self.checked_at_ms.as_ref().is_some_and(|checked| since(checked) >= DAY_MS)
    }

    /// Refuses effects of a tenant whose trail was touched.
    pub(super) fn trusts(&self, tenant: &str) -> Result<(), StoreError> {
        if !self.is_suspicious.load(Ordering::Acquire) {
            return Ok(());
        }
        match &*self.suspicion.lock() {
            Suspicion::All(why) => Err(StoreError::Tampered(why.clone())),
            Suspicion::Of(tenants, why) if tenants.contains(tenant) => {
                Err(StoreError::Tampered(why.clone()))
            }
            Suspicion::Of(..) | Suspicion::None => Ok(()),
        }
    }

    /// Refuses what nobody may do while any of the trail was touched.
    pub(super) fn doubted(&self) -> Result<(), StoreError> {
        match &*self.suspicion.lock() {
            Suspicion::All(why) | Suspicion::Of(_, why) => Err(StoreError::Tampered(why.clone())),
            Suspicion::None => Ok(()),
        }
    }

    pub(super) fn any_blocks(&self) -> bool {
        if self.any_blocks.load(Ordering::Acquire) {
            return true;
        }
        let now_ms = self.clock.now_ms();
        if now_ms - self.looked_at_ms.load(Ordering::Relaxed) < LOOK_FOR_BLOCKS_MS {
            return false;
        }
        self.looked_at_ms.store(now_ms, Ordering::Relaxed);
        let any = self.blocks.exists();
        if any {
            self.any_blocks.store(true, Ordering::Release);
        }
        any
    }

    /// Tells every process that there may be blocks from now on.
    pub(super) fn expect_blocks(&self) -> Result<(), StoreError> {
        let mut options = std::fs::OpenOptions::new();
        trail::open_file(&self.blocks, options.create(true).append(true)).map_err(|error| {
            StoreError::Unavailable(format!("`{}`: {error}", self.blocks.display()))
        })?;
        self.any_blocks.store(true, Ordering::Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;
    use crate::clock::{Stored, System};

    /// The events that were said.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    impl Visit for Log {
        fn record_str(&mut self, field: &Field, value: &str) {
            if field.name() == "event" {
                self.0.lock().push(value.to_owned());
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
    }

    impl Subscriber for Log {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    #[test]
    fn that_the_trails_end_cannot_be_told_is_said_once_and_that_it_can_again() {
        let clock = Steady::new(Arc::new(System::default()), Stored::default());
        let shared = Shared::new(clock, PathBuf::from("blocks"), false, Verify::Never);
        let log = Log::default();
        tracing::subscriber::with_default(log.clone(), || {
            for (what, works, said) in [
                (Beside::Head, true, None),
                (Beside::Head, false, Some("head_not_written")),
                (Beside::Head, false, None),
                (Beside::Checkpoint, false, Some("trail_not_signed")),
                (Beside::Checkpoint, false, None),
                (Beside::Head, true, Some("head_written_again")),
                (Beside::Head, true, None),
                (Beside::Head, false, Some("head_not_written")),
                (Beside::Checkpoint, true, Some("trail_signed_again")),
            ] {
                let full = || io::Error::from(io::ErrorKind::StorageFull);
                shared.wrote(what, if works { Ok(()) } else { Err(full()) });
                assert_eq!(log.0.lock().drain(..).next().as_deref(), said, "{what:?} {works}");
            }
        });
        assert_eq!(shared.unsigned.load(Ordering::Relaxed), 5);
    }
}
