//! The audit trail: a chain of hashes, signed checkpoints of its head, and the check of both.

mod ahead;
mod check;
mod file;
mod gap;
mod head;
mod regular;

use std::fmt;

use haft_core::Digest;
use haft_core::port::Checked;
use haft_core::record::AuditEntry;
use haft_core::registry::{PublicKey, Signature, SigningKey};
use serde::{Deserialize, Serialize};

pub(crate) use ahead::warning;
pub(crate) use check::{Chain, Signed, Written, by_number};
pub(crate) use file::{Signing, append, drop_some, key, key_there, read, replace};
pub(crate) use gap::Gap;
pub(crate) use head::{Head, Heads};
pub(crate) use regular::{open as open_file, read as read_file};

/// The end of the chain, to which the next entry is linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) hash: Digest,
}

impl Default for Link {
    /// What the first entry is linked to.
    fn default() -> Self {
        Self { number: 0, hash: Digest::from_raw(&[0; 32]) }
    }
}

/// No entry's hash, and what none is linked to.
pub(crate) const NOTHING: [u8; 32] = [0xff; 32];

impl Link {
    /// The end of a trail whose last entry has no hash that can be read.
    pub(crate) fn lost(number: u64) -> Self {
        Self { number, hash: Digest::from_raw(&NOTHING) }
    }

    /// Whether it is one: nothing but that somebody has looked may follow from it, and nobody signs it.
    pub(crate) fn is_lost(&self) -> bool {
        self.hash.hex().bytes().all(|digit| digit == b'f')
    }

    /// Makes the next entry, and moves on to it.
    pub(crate) fn next(
        &mut self,
        at_ms: i64,
        tenant: &str,
        kind: &str,
        body: String,
    ) -> AuditEntry {
        self.number += 1;
        let previous = self.hash.clone();
        let mut entry = AuditEntry {
            number: self.number,
            at_ms,
            tenant: tenant.to_owned(),
            kind: kind.to_owned(),
            body,
            hash: previous.clone(),
            previous,
        };
        entry.hash = entry.expected_hash();
        self.hash.clone_from(&entry.hash);
        entry
    }
}

/// The chain's head at a moment, signed: kept outside of the database, it tells when the tail was
/// cut off or the whole chain rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Checkpoint {
    /// The last entry.
    pub number: u64,
    /// Its hash.
    pub hash: Digest,
    /// When, in milliseconds of the Unix epoch by the store's clock.
    pub at_ms: i64,
    /// Over all of the above.
    pub signature: Signature,
}

impl Checkpoint {
    pub(crate) fn sign(link: &Link, at_ms: i64, key: &SigningKey) -> Self {
        let signature = key.sign(&statement(link.number, &link.hash, at_ms));
        Self { number: link.number, hash: link.hash.clone(), at_ms, signature }
    }

    /// Whether it is what this key has signed.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signature.key == *key
            && self.signature.covers(&statement(self.number, &self.hash, self.at_ms))
    }
}

fn statement(number: u64, hash: &Digest, at_ms: i64) -> String {
    format!("haft audit checkpoint 1\n{number}\n{hash}\n{at_ms}\n")
}

/// A chain without a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many entries there are.
    pub entries: u64,
    /// How many there were besides, which were forgotten in their time.
    pub forgotten: u64,
    /// The last one's hash.
    pub head: Digest,
    /// How many checkpoints agree.
    pub checkpoints: u64,
}

/// The first entry that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its number.
    pub number: u64,
    /// Whose it is, where it is there to say so.
    pub tenant: Option<String>,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The entry's content is not what its hash was taken over.
    Hash,
    /// An entry is missing.
    Gap,
    /// The entry is not linked to the one before it.
    Chain,
    /// The entry is not the one that was signed.
    Rewritten,
    /// The entry was signed, and the chain ends before it.
    CutTail,
    /// The checkpoint was not signed with the key, or cannot be read.
    Checkpoint,
    /// Entries are said to have been forgotten, and that is not signed with the key.
    Forgotten,
    /// The ledger says something else about an effect than its entry does, or has one that no entry
    /// knows.
    Ledger,
    /// The ledger no longer has an effect that has to be there.
    Removed,
    /// What is configured is not what its last entry was written for.
    Config,
    /// Something is approved, and that is not the last word of the trail on it.
    Approval,
    /// Somebody may use a connection of whom the trail does not say so, or the other way round.
    Grants,
    /// The table of calls does not say what the trail says.
    Calls,
    /// The key is not the one that the trail was signed with.
    Key,
    /// What the database knows of what was signed was changed or removed.
    Known,
    /// The head that was signed last is not in its file.
    Heads,
    /// The file that tells the end of the trail is gone.
    Head,
    /// The database is gone, and what belongs to it is there.
    Database,
    /// Somebody is said to have looked, which the trail has and the key has not signed.
    Unsigned,
    /// Somebody is said to have looked, of which the trail knows nothing.
    Unfounded,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.fault {
            Fault::Hash => write!(f, "entry {number} was changed: its hash does not fit"),
            Fault::Gap => write!(f, "entry {number} is missing"),
            Fault::Chain => {
                write!(f, "entry {number} does not follow from the one before: one was rewritten")
            }
            Fault::Rewritten => write!(
                f,
                "entry {number} is not the one that was signed; the trail was written anew, or an older \
                 copy of the store was put back"
            ),
            Fault::CutTail => write!(
                f,
                "the trail was cut: entry {number} was signed and is not there; its end was removed, or \
                 an older copy of the store was put back"
            ),
            Fault::Checkpoint => {
                write!(f, "the checkpoint of entry {number} is not signed with this key")
            }
            Fault::Forgotten => write!(
                f,
                "entries from {number} on are said to be forgotten, which is not signed with this key"
            ),
            Fault::Config if number == 0 => {
                f.write_str("something is configured that no entry of the trail knows")
            }
            Fault::Config => {
                write!(f, "what is configured is not what entry {number} says: it was changed")
            }
            Fault::Ledger if number == 0 => {
                f.write_str("the ledger has an effect that no entry of the trail knows")
            }
            Fault::Ledger => {
                write!(f, "the ledger does not say what entry {number} says: it was changed")
            }
            Fault::Approval if number == 0 => {
                f.write_str("a confirmation is approved, of which no entry of the trail knows")
            }
            Fault::Approval => write!(
                f,
                "a confirmation is approved, and entry {number}, the last on it, does not say so: it was \
                 changed"
            ),
            Fault::Grants if number == 0 => f.write_str(
                "somebody is said to be allowed to use a connection, of which no entry of the trail knows: \
                 it counts for nothing",
            ),
            Fault::Grants => write!(
                f,
                "who may use a connection is not what entry {number} says, the last on it: it was changed"
            ),
            Fault::Calls => write!(
                f,
                "the table of calls does not say what entry {number} says: a record in it was changed, \
                 removed or invented; `haft audit acknowledge` puts it right"
            ),
            Fault::Key => write!(
                f,
                "the key beside the database (`.key`) is not the one that the trail was signed with, up to \
                 entry {number} as far as the database knows: put it back from its copy; if it is lost, look \
                 into it and say `haft audit acknowledge`"
            ),
            Fault::Known => write!(
                f,
                "the trail is signed (entry {number}), and what the database knows of that was changed or \
                 removed"
            ),
            Fault::Heads => write!(
                f,
                "the signed head of entry {number} is not in its file (`.checkpoints`): that was removed or \
                 cut, or an older one put back; put the right one back, or look into it and say `haft audit \
                 acknowledge`"
            ),
            Fault::Head => write!(
                f,
                "the file that names the last entry (`.head`) was removed: entries after {number}, which \
                 was signed last, may have been cut off; put it back, or look into it and say `haft audit \
                 acknowledge`"
            ),
            Fault::Database => write!(
                f,
                "the database was removed, and what belongs to it stands there (`.key`, `.head`, \
                 `.checkpoints`): entries up to {number} are known of; put the database back from its copy"
            ),
            Fault::Unsigned => write!(
                f,
                "that somebody has looked, as entry {number} says, is not signed with this key and counts \
                 for nothing; where it was you, under an older haft or a key that was lost, say so again \
                 with `haft audit acknowledge`"
            ),
            Fault::Unfounded => write!(
                f,
                "somebody is said to have looked at everything up to entry {number}, of which the trail \
                 knows nothing: it counts for nothing"
            ),
            Fault::Removed => write!(
                f,
                "the ledger no longer has the effect that entry {number} tells of: it was removed"
            ),
        }
    }
}

impl std::error::Error for Broken {}

/// What was found, as the port says it.
pub(crate) fn said(found: Result<Verified, Broken>) -> Checked {
    match found {
        Ok(Verified { entries, forgotten, head, checkpoints }) => Checked {
            entries,
            forgotten,
            checkpoints,
            head: Some(head),
            broken: None,
            unseen: None,
            warning: None,
        },
        Err(found) => broken(found.number, found.to_string()),
    }
}

/// The same where something is wrong with this entry, or with none that could be named.
pub(crate) fn broken(number: u64, why: String) -> Checked {
    let (entries, forgotten, checkpoints) = (0, 0, 0);
    let broken = Some((number, why));
    Checked {
        entries,
        forgotten,
        checkpoints,
        head: None,
        unseen: broken.clone(),
        broken,
        warning: None,
    }
}

/// Checks entries that nobody has signed.
pub(crate) fn check(entries: &[AuditEntry], gaps: Vec<Gap>) -> Checked {
    let mut chain = Chain::unsigned(gaps);
    let taken = entries.iter().try_for_each(|entry| chain.take(entry));
    said(taken.and_then(|()| chain.end()))
}
