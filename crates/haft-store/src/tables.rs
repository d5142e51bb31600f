//! What the steps ask of a store: rows in, rows out, inside one transaction.

use haft_core::call::Principal;
use haft_core::config::{Entry, Kind};
use haft_core::ledger::{Claim, EffectRecord, Ending};
use haft_core::port::StoreError;
use haft_core::record::{AuditEntry, Confirmation, InvocationRecord};
use haft_core::registry::PublicKey;
use haft_core::session::{Block, Session};

use crate::machine::{Head, Owner};
use crate::steps::proof::Stored;
use crate::trail::{Gap, Link};

pub(crate) type Res<T> = Result<T, StoreError>;

/// One transaction on the tables of a store.
pub(crate) trait Tables {
    /// Now, the same for the whole transaction.
    fn now_ms(&self) -> i64;

    fn is_alive(&mut self, owner: Owner) -> bool;

    fn head(&mut self, key: &[u8; 32]) -> Res<Option<Head>>;

    fn head_of_call(&mut self, tenant: &str, call: &str) -> Res<Option<Head>>;

    /// The whole entry.
    fn effect(&mut self, id: i64) -> Res<EffectRecord>;

    /// The entry as it is stored; nothing where nobody could edit that.
    fn stored(&mut self, id: i64) -> Res<Option<Stored>>;

    /// Started and unknown effects of the same act.
    fn open_acts(&mut self, tenant: &str, act: &[u8; 32]) -> Res<Vec<Head>>;

    /// Those for which the tool got the same.
    fn open_deeds(&mut self, tenant: &str, deed: &[u8; 32]) -> Res<Vec<Head>>;

    /// Whether a tenant has effects that have to be there until more is known of them.
    fn has_open(&mut self, tenant: &str) -> Res<bool>;

    /// Started effects of other owners, and those whose lease is over.
    fn started_and_left(&mut self) -> Res<Vec<Head>>;

    /// Ids of entries of which something is due to be forgotten, and whether that is the entry: by a
    /// time that can be trusted.
    fn due(&mut self, limit: usize) -> Res<Vec<(i64, Due)>>;

    /// Writes a new attempt, in place of the earlier one where there is one. Returns its id.
    fn start(&mut self, claim: &Claim, epoch: u64) -> Res<i64>;

    /// Writes the outcome of an attempt.
    fn end(&mut self, head: &Head, ending: &Ending, due_at_ms: Option<i64>) -> Res<()>;

    /// Writes what may change in an entry after its attempt.
    fn put_effect(&mut self, id: i64, record: &EffectRecord, due_at_ms: Option<i64>) -> Res<()>;

    fn forget(&mut self, id: i64, what: Due) -> Res<()>;

    fn confirmation(&mut self, tenant: &str, id: &str) -> Res<Option<Confirmation>>;

    /// Confirmations with the same binding.
    fn bound(&mut self, tenant: &str, binding: &[u8; 32]) -> Res<Vec<Confirmation>>;

    /// What is approved and not spent.
    fn approved(&mut self, tenant: &str) -> Res<Vec<Confirmation>>;

    /// How many questions somebody has asked after a time that nobody has answered. Counted without opening any: whoever
    /// claims waits meanwhile.
    fn waiting(&mut self, tenant: &str, asker: &[u8; 32], after_ms: i64) -> Res<usize>;

    /// Whether an approval stands in the audit trail as it is said here.
    fn is_approved(&mut self, confirmation: &Confirmation) -> Res<bool>;

    fn put_confirmation(&mut self, confirmation: &Confirmation) -> Res<()>;

    fn revision(&mut self, tenant: &str, session: &str) -> Res<Option<u64>>;

    fn session(&mut self, tenant: &str, id: &str) -> Res<Option<Session>>;

    fn put_session(&mut self, session: &Session) -> Res<()>;

    /// Keeps the answer of a call in a session, as JSON, in place of an earlier one.
    fn put_answer(&mut self, session: &Session, call: &str, body: String) -> Res<()>;

    /// The answers that are kept of a session, newest first: where each is, its call and its length.
    fn answers(&mut self, session: &Session) -> Res<Vec<(i64, String, usize)>>;

    fn drop_answer(&mut self, session: &Session, place: i64) -> Res<()>;

    fn block(&mut self, tenant: &str, principal: &Principal) -> Res<Option<Block>>;

    fn put_block(&mut self, block: &Block) -> Res<()>;

    fn drop_block(&mut self, tenant: &str, principal: &Principal) -> Res<bool>;

    /// A thing that is configured: its last version, and what it says unless it was removed.
    fn config(&mut self, kind: Kind, tenant: &str, id: &str) -> Res<Option<(u64, Option<Entry>)>>;

    /// Writes the next version of a thing, and keeps the one before where that may be kept.
    fn put_config(&mut self, entry: &Entry, removed: bool) -> Res<()>;

    /// Appends to the audit trail; returns the entry's number.
    fn append(&mut self, tenant: &str, kind: &str, body: String) -> Res<u64>;

    /// Appends the record of a call to the audit trail, and makes it findable.
    fn append_record(
        &mut self,
        tenant: &str,
        kind: &str,
        body: String,
        record: &InvocationRecord,
    ) -> Res<()> {
        let number = self.append(tenant, kind, body)?;
        self.put_call(number, record)
    }

    /// Makes a call findable whose record is in the audit trail under this number.
    fn put_call(&mut self, number: u64, record: &InvocationRecord) -> Res<()>;
}

/// What changing what is configured asks of a store besides.
pub(crate) trait Clears: Tables {
    /// What is there of a tenant besides itself; of one that was removed, what was there by then.
    fn left_of(&mut self, tenant: &str) -> Res<Vec<Entry>>;

    /// Drops what a tenant's things and itself said before; of one that was removed, before that.
    fn drop_versions(&mut self, tenant: &str) -> Res<()>;
}

/// What forgetting old things asks of a store besides.
pub(crate) trait Forgets: Tables {
    /// Entries of the trail from this number on that are older than this, the oldest first, and
    /// whether there are more of them. Never the newest entry: the next one is linked to it.
    fn old(&mut self, from: u64, before_ms: i64, most: usize) -> Res<(Vec<AuditEntry>, bool)>;

    /// An entry as the one after it is linked to it, if it is there.
    fn link(&mut self, number: u64) -> Res<Option<Link>>;

    /// The gaps that begin in between, and the last one that begins before.
    fn gaps(&mut self, from: u64, to: u64) -> Res<Vec<Gap>>;

    /// Up to where a person has looked at what is wrong with the trail, as this key has signed.
    fn looked(&mut self, key: &PublicKey) -> Res<Looked>;

    /// Puts a gap in the place of entries, their calls, and the gaps beside them. Returns how many
    /// calls went.
    fn cut(&mut self, cut: &Cut) -> Res<u64>;

    /// Whether an effect in the ledger was approved with this confirmation.
    fn is_in_ledger(&mut self, tenant: &str, confirmation: &str) -> Res<bool>;

    /// Whether who may use a connection is what this entry says.
    fn is_last_on_grants(&mut self, entry: &AuditEntry) -> Res<bool>;

    /// Drops confirmations that were asked for before this, whose time is over, and which no effect
    /// in the ledger was approved with.
    fn drop_confirmations(&mut self, before_ms: i64, most: usize) -> Res<u64>;

    /// Drops sessions that nobody has used since this and that have no effect in the ledger,
    /// looking at some from this place on. Returns how many went, the next place, and whether there
    /// are more to look at.
    fn drop_sessions(&mut self, from: i64, before_ms: i64, most: usize) -> Res<(u64, i64, bool)>;
}

/// Entries that go, and what takes their place.
pub(crate) struct Cut {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The gaps beside them that become part of this one, by their first entries.
    pub(crate) joined: Vec<u64>,
    pub(crate) gap: Gap,
}

/// The faults of the trail up to here a person has looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looked {
    pub(crate) number: u64,
    pub(crate) at_ms: i64,
}

impl Looked {
    /// Whether a gap was there to be looked at. By its number: when it was made, a gap that nobody
    /// has signed can only pretend.
    pub(crate) fn covers(self, gap: &Gap) -> bool {
        gap.last < self.number
    }
}

/// What is due to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The answer; the entry itself goes at this time.
    Body { entry_at_ms: i64 },
    /// Everything.
    Entry,
}
