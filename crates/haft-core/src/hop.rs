//! Marks what this instance sends, so that it knows its own requests when they come back to it.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

/// The header with the mark.
pub const HEADER: &str = "haft-hop";

/// This process's mark: 128 bits that nobody guesses, others on each start. Whoever is sent one could
/// send it back, and is then refused what they ask for: nobody else is.
#[must_use]
pub fn own() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| {
        let mut mark = String::new();
        for half in 0..2_u8 {
            // Seeded by the system.
            let _ = write!(mark, "{:016x}", RandomState::new().hash_one(half));
        }
        mark
    })
}

/// Whether a request with these marks was sent by this process.
pub fn is_own<'a>(mut marks: impl Iterator<Item = &'a str>) -> bool {
    marks.any(|mark| mark.split(',').any(|one| one.trim() == own()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_mark_is_known_among_others() {
        let check = |marks: &[&str], own: bool| {
            assert_eq!(is_own(marks.iter().copied()), own, "{marks:?}");
        };
        assert_eq!(own().len(), 32);
        assert_eq!(own(), own());
        let listed = format!("abc, {}", own());
        check(&[], false);
        check(&["", "abc"], false);
        check(&[own()], true);
        check(&["abc", &listed], true);
    }
}
