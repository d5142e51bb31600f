//! Fresh ids.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::digest::push_hex;

/// Of random bytes that an id has.
const LENGTH: usize = 16;

/// The system is asked for so many ids' worth at a time: asking costs more than all else here.
const AT_ONCE: usize = 64;

thread_local! {
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare { bytes: [0; LENGTH * AT_ONCE], left: 0 }) };
    static DRAFT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Random bytes of the system that no id has used yet.
struct Spare {
    bytes: [u8; LENGTH * AT_ONCE],
    left: usize,
}

impl Spare {
    fn take(&mut self) -> Option<[u8; LENGTH]> {
        if self.left == 0 {
            getrandom::fill(&mut self.bytes).ok()?;
            self.left = AT_ONCE;
        }
        self.left -= 1;
        let next = self.bytes.chunks_exact_mut(LENGTH).nth(self.left)?;
        // Taken out, so that no id can be found here later.
        let mut taken = [0; LENGTH];
        taken.swap_with_slice(next);
        Some(taken)
    }
}

/// An id as [`fresh`] makes it, for whoever shares it: written where it stays.
pub(crate) fn fresh_shared(prefix: &str) -> Arc<str> {
    let drafted = DRAFT.try_with(|draft| {
        let mut draft = draft.borrow_mut();
        draft.clear();
        write(&mut draft, prefix);
        Arc::from(draft.as_str())
    });
    // A thread that is ending has no place for drafts any more.
    drafted.unwrap_or_else(|_| fresh(prefix).into())
}

/// 128 random bits after a prefix: `call_3f…`. Guessing one is hopeless.
pub(crate) fn fresh(prefix: &str) -> String {
    let mut id = String::with_capacity(prefix.len() + 1 + 2 * LENGTH);
    write(&mut id, prefix);
    id
}

fn write(id: &mut String, prefix: &str) {
    id.push_str(prefix);
    id.push('_');
    let bytes = SPARE.try_with(|spare| spare.borrow_mut().take()).ok().flatten();
    match bytes {
        Some(bytes) => push_hex(id, &bytes),
        // A system without randomness: ids are still unique here, by time and count.
        None => {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |since| since.as_nanos());
            let _ = std::fmt::Write::write_fmt(id, format_args!("{now:x}{count:x}"));
        }
    }
}

static COUNT: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_id_comes_twice_on_any_thread() {
        let some = || (0..3 * AT_ONCE).map(|_| fresh("call")).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(some)).collect();
        let ids: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(ids.iter().all(|id| id.len() == "call_".len() + 2 * LENGTH));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    }
}
