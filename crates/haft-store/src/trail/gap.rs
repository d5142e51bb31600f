//! A gap in the trail: entries that were forgotten in their time.

use haft_core::Digest;
use haft_core::registry::{PublicKey, Signature, SigningKey};

use super::Link;

/// Entries that follow one another and were forgotten, and what they stood between. Signed, so that
/// nobody without the key can take an entry out and call it forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// The first of them.
    pub(crate) first: u64,
    /// The last of them.
    pub(crate) last: u64,
    /// What the first was linked to.
    pub(crate) previous: Digest,
    /// The last one's hash, to which the entry after them is linked.
    pub(crate) hash: Digest,
    /// When, in milliseconds of the Unix epoch by the store's clock.
    pub(crate) at_ms: i64,
    /// Over all of the above.
    pub(crate) signature: Signature,
}

impl Gap {
    pub(crate) fn sign(
        first: u64,
        previous: Digest,
        end: Link,
        at_ms: i64,
        key: &SigningKey,
    ) -> Self {
        let signature = key.sign(&statement(first, &previous, &end, at_ms));
        Self { first, last: end.number, previous, hash: end.hash, at_ms, signature }
    }

    pub(crate) fn is_signed_by(&self, key: &PublicKey) -> bool {
        let said = statement(self.first, &self.previous, &self.end(), self.at_ms);
        self.signature.key == *key && self.signature.covers(&said)
    }

    /// Where the chain goes on.
    pub(crate) fn end(&self) -> Link {
        Link { number: self.last, hash: self.hash.clone() }
    }

    pub(crate) fn entries(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

fn statement(first: u64, previous: &Digest, end: &Link, at_ms: i64) -> String {
    let Link { number: last, hash } = end;
    format!("haft audit gap 1\n{first}\n{last}\n{previous}\n{hash}\n{at_ms}\n")
}
