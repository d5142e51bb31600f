//! Fresh ids.

use haft_core::digest::hex;

/// 128 random bits after a prefix: `call_3f…`. Guessing one is hopeless.
pub(crate) fn fresh(prefix: &str) -> String {
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // A system without randomness: ids are still unique here, by time and count.
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        return format!("{prefix}_{now:x}{count:x}");
    }
    format!("{prefix}_{}", hex(&bytes))
}

static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
