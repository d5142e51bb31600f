//! Marks what is sent, so that a request that comes back to where it has been is known, however many
//! servers it went through.
//!
//! Each process adds its own mark to those that a request came with and sends all of them on. Whoever
//! finds its own among them refuses the request. What is between two servers and does not pass the
//! header on cuts the chain.

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, OnceLock};

/// The header with the marks.
pub const HEADER: &str = "haft-hop";

/// A request that came through more servers than this goes no further: nobody builds that on purpose.
pub const MOST: usize = 8;

/// How long a mark is.
const LENGTH: usize = 32;

/// This process's mark: 128 bits that nobody guesses, others on each start. Whoever is sent one could
/// send it back, and is then refused what they ask for: nobody else is.
#[must_use]
pub fn own() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| {
        let mut mark = String::with_capacity(LENGTH);
        for half in 0..2_u8 {
            // Seeded by the system.
            let _ = write!(mark, "{:016x}", RandomState::new().hash_one(half));
        }
        mark
    })
}

/// The marks that a request came with, the first sender first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain(Arc<[Box<str>]>);

/// Why a request goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looped {
    /// This process has sent it, or what led to it.
    Back,
    /// It came through more than [`MOST`] servers.
    TooLong,
}

impl Chain {
    /// Reads the values of the header. What is no mark was not written by one of us, and is left out.
    ///
    /// # Errors
    ///
    /// The request goes round, or has come too far.
    pub fn read<'a>(values: impl Iterator<Item = &'a str>) -> Result<Self, Looped> {
        let is_mark =
            |text: &&str| text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mut marks: Vec<Box<str>> = Vec::new();
        for mark in values.flat_map(|value| value.split(',')).map(str::trim).filter(is_mark) {
            if mark.eq_ignore_ascii_case(own()) {
                return Err(Looped::Back);
            }
            if marks.len() == MOST {
                return Err(Looped::TooLong);
            }
            marks.push(mark.into());
        }
        // An empty list of its own would be made for every request.
        Ok(if marks.is_empty() { Self::default() } else { Self(marks.into()) })
    }

    /// The header's value for what is sent on: all of them, and our own.
    #[must_use]
    pub fn and_own(&self) -> String {
        let mut marks: Vec<&str> = self.0.iter().map(|mark| &**mark).collect();
        marks.push(own());
        marks.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef0123456789abcdef";
    const B: &str = "fedcba9876543210fedcba9876543210";

    /// What is sent on where a request came with these, without our own mark at its end.
    #[track_caller]
    fn check(values: &[&str], expected: Result<&str, Looped>) {
        let chain = Chain::read(values.iter().copied());
        let sent = chain.map(|chain| chain.and_own());
        let sent = sent.map(|all| all.strip_suffix(own()).unwrap().to_owned());
        assert_eq!(sent, expected.map(str::to_owned), "{values:?}");
    }

    #[test]
    fn marks_are_sent_on_in_their_order_and_ones_own_comes_back_to_nobody() {
        assert_eq!((own().len(), own()), (32, own()));
        check(&[], Ok(""));
        check(&[A], Ok(&format!("{A}, ")));
        check(&[A, B], Ok(&format!("{A}, {B}, ")));
        check(&[&format!(" {A} ,{B},")], Ok(&format!("{A}, {B}, ")));
        check(&[own()], Err(Looped::Back));
        check(&[&own().to_uppercase()], Err(Looped::Back));
        check(&[A, &format!("{B}, {}", own())], Err(Looped::Back));
    }

    #[test]
    fn what_is_no_mark_is_not_sent_on() {
        check(&["", "abc", "a: b", &A[1..], &format!("{A}0"), &"x".repeat(32)], Ok(""));
        check(&[&format!("abc, {A}, \u{e9}")], Ok(&format!("{A}, ")));
    }

    #[test]
    fn a_chain_ends() {
        let most = [A; MOST].join(", ");
        check(&[&most], Ok(&format!("{most}, ")));
        check(&[&most, B], Err(Looped::TooLong));
        check(&[&most, own()], Err(Looped::Back));
    }
}
