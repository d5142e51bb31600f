//! Remembering.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Boxed;
use crate::Digest;
use crate::call::Principal;
use crate::config::{Change, Entry, Kind, Snapshot};
use crate::contract::SideEffectPolicy;
use crate::error::ErrorKind;
use crate::ledger::{
    Claim, Claimed, EffectRecord, Ending, Settled, Sought, Spend, State, Ticket, Unspendable,
};
use crate::names;
use crate::record::{AuditEntry, Confirmation, ConfirmationStatus, InvocationRecord};
use crate::session::{Block, Session};

/// Why a store could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// It cannot be read or written now. Nothing was done.
    Unavailable(String),
    /// Whether it was written is not known: the answer to the commit was lost.
    InDoubt(String),
    /// Somebody else wrote first.
    Stale,
    /// There is no such thing, or it belongs to someone else.
    Missing,
    /// Its state does not allow this.
    WrongState(String),
    /// What is stored was touched by someone.
    Tampered(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(why) => write!(f, "the store is not available: {why}"),
            Self::InDoubt(why) => write!(f, "the store's answer was lost: {why}"),
            Self::Stale => f.write_str("somebody else wrote first"),
            Self::Missing => f.write_str("there is no such entry"),
            Self::WrongState(why) => f.write_str(why),
            Self::Tampered(why) => write!(f, "the store was changed from outside: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}

type Answer<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// The write-ahead record of side effects.
pub trait Ledger: Send + Sync {
    /// Records that an effect is about to be asked for, and spends the approval, in one durable
    /// step; or says why not.
    fn claim<'a>(&'a self, claim: Claim) -> Answer<'a, Claimed>;

    /// Records what became of it, and the call's record with it, durably.
    fn settle<'a>(
        &'a self,
        ticket: &'a Ticket,
        ending: Ending,
        record: Option<InvocationRecord>,
    ) -> Answer<'a, Settled>;

    /// One effect, by the call that asked for it.
    fn effect<'a>(&'a self, tenant: &'a str, call: &'a str) -> Answer<'a, EffectRecord>;

    /// The entry under a key, where there is one.
    fn by_key<'a>(&'a self, key: &'a Digest) -> Answer<'a, EffectRecord>;

    /// What the handler of an effect did through other tools in all attempts under its key, newest first: all of it.
    fn parts<'a>(&'a self, whole: &'a EffectRecord) -> Answer<'a, Vec<EffectRecord>>;

    /// Effects, newest first.
    fn effects<'a>(&'a self, filter: EffectFilter) -> Answer<'a, Vec<EffectRecord>>;

    /// The tools that effects of a tenant were caused with, in order of their names. Of a call that was cut
    /// off there is nothing else on record.
    fn caused_with<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>>;

    /// Says what became of an unknown effect.
    fn resolve<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        resolve: Resolve,
    ) -> Answer<'a, EffectRecord>;

    /// A step of undoing an effect.
    fn undo<'a>(&'a self, tenant: &'a str, call: &'a str, step: Undo) -> Answer<'a, EffectRecord>;

    /// Takes over what is left: of processes that are gone, and of those that could not record in
    /// time what became of it. What may have happened becomes unknown. Returns those. Costs next to
    /// nothing when there are none.
    fn recover<'a>(&'a self) -> Answer<'a, Vec<EffectRecord>>;

    /// Forgets what may be forgotten: bodies, then keys. Returns how many entries went.
    fn purge<'a>(&'a self) -> Answer<'a, u64>;
}

/// Which effects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectFilter {
    /// Whose.
    pub tenant: String,
    /// In one of these states; in any when empty.
    pub states: Vec<State>,
    /// Of this tool.
    pub tool: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this chain of turns.
    pub turn_group: Option<String>,
    /// Of this class.
    pub policy: Option<SideEffectPolicy>,
    /// Only what comes after this call's effect in the list; nothing where there is none.
    pub after: Option<String>,
    /// At most so many; 0 is a hundred.
    pub limit: usize,
}

/// What became of an unknown effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolve {
    /// Whether it happened.
    pub happened: bool,
    /// Who says so.
    pub by: String,
    /// Why.
    pub note: String,
    /// What it gave, where whoever says so knows.
    pub result: Option<Value>,
}

/// A step of undoing an effect.
#[derive(Clone, Debug, PartialEq)]
pub enum Undo {
    /// From done to being undone. Refused unless it is done.
    Begin {
        /// Who wants it undone, for the audit trail.
        by: String,
    },
    /// From being undone to undone.
    Done {
        /// The call that undid it.
        by: String,
        /// What undoing it gave.
        result: Value,
    },
    /// From being undone to stuck: a person must look.
    Stuck {
        /// Why.
        why: String,
    },
    /// From being undone or stuck back to done: undoing it certainly did nothing.
    Back,
}

/// Records of calls, and the audit trail.
pub trait Journal: Send + Sync {
    /// Takes the record of a call that had no effect. Queued: it does not wait for the disk.
    fn record(&self, record: Box<InvocationRecord>);

    /// Waits until there is room for a record, so that it is not dropped.
    fn room<'a>(&'a self) -> Boxed<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Writes a note into the audit trail, durably.
    fn note<'a>(&'a self, tenant: &'a str, kind: &'a str, body: Value) -> Answer<'a, ()>;

    /// Calls, newest first.
    fn calls<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<InvocationRecord>>;

    /// The tools that a tenant has called, in order of their names.
    fn tools<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<String>>;

    /// Per tool: calls, errors, latency.
    fn stats<'a>(&'a self, filter: CallFilter) -> Answer<'a, Vec<CallStats>>;

    /// Calls in slices of time, oldest first; slices without calls are left out. The filter's limit
    /// is about calls, of which the newest are taken; 0 is [`SERIES_CALLS`].
    fn series<'a>(&'a self, filter: CallFilter, step_ms: u64) -> Answer<'a, Vec<Slice>>;

    /// The audit trail from an entry on, oldest first.
    fn audit<'a>(&'a self, from: u64, limit: usize) -> Answer<'a, Vec<AuditEntry>>;

    /// A tenant's part of the audit trail, newest first.
    fn trail<'a>(&'a self, filter: TrailFilter) -> Answer<'a, Vec<AuditEntry>>;

    /// Checks the whole audit trail. Takes its time, and nobody waits for it but the caller.
    fn verify<'a>(&'a self) -> Answer<'a, Checked>;

    /// Waits until everything that was queued is written.
    fn flush<'a>(&'a self) -> Answer<'a, ()>;
}

/// Which calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallFilter {
    /// Whose.
    pub tenant: String,
    /// Of this agent.
    pub agent: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// Or of this name, under which calls of the tool may have been refused; only beside a tool.
    pub or_tool: Option<String>,
    /// Of this session.
    pub session: Option<String>,
    /// Ended in this.
    pub error: Option<ErrorKind>,
    /// Only failures, or only successes.
    pub ok: Option<bool>,
    /// Begun not before, in milliseconds of the Unix epoch.
    pub since_ms: Option<i64>,
    /// Begun not after.
    pub until_ms: Option<i64>,
    /// This one call.
    pub call: Option<String>,
    /// Only what comes after this call in the list; nothing where there is no such call.
    pub after: Option<String>,
    /// At most so many; 0 is a hundred.
    pub limit: usize,
}

/// Which entries of the audit trail.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrailFilter {
    /// Whose.
    pub tenant: String,
    /// Of one of these kinds; of any when empty.
    pub kinds: Vec<String>,
    /// About this agent. What says nothing of an agent is not about one; so below.
    pub agent: Option<String>,
    /// About this tool.
    pub tool: Option<String>,
    /// Or of this name, under which calls of the tool may have been refused; only beside a tool.
    pub or_tool: Option<String>,
    /// About this session.
    pub session: Option<String>,
    /// About this call.
    pub call: Option<String>,
    /// Written not before, in milliseconds of the Unix epoch.
    pub since_ms: Option<i64>,
    /// Written not after.
    pub until_ms: Option<i64>,
    /// Only entries before this one, by its number.
    pub before: Option<u64>,
    /// At most so many; 0 is a hundred.
    pub limit: usize,
}

impl TrailFilter {
    /// Whether it is about more than who wrote what kind of entry, and when.
    #[must_use]
    pub fn is_about_something(&self) -> bool {
        [&self.agent, &self.tool, &self.session, &self.call].into_iter().any(Option::is_some)
    }
}

/// One tool's calls in figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallStats {
    /// The tool.
    pub tool: String,
    /// How many calls.
    pub calls: u64,
    /// How many of them ended in an error.
    pub errors: u64,
    /// Half of them took at most so long, in microseconds.
    pub p50_us: u64,
    /// Ninety-nine in a hundred took at most so long.
    pub p99_us: u64,
}

/// How many calls a series is made of at most.
pub const SERIES_CALLS: usize = 200_000;

/// The calls that began in a slice of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slice {
    /// When it begins, in milliseconds of the Unix epoch.
    pub at_ms: i64,
    /// How many calls.
    pub calls: u64,
    /// How many ended in each kind of error.
    pub errors: BTreeMap<String, u64>,
    /// Half of them took at most so long, in microseconds.
    pub p50_us: u64,
    /// Ninety-nine in a hundred took at most so long.
    pub p99_us: u64,
}

/// What the check of an audit trail found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checked {
    /// How many entries were checked, where all are intact.
    pub entries: u64,
    /// How many were there once and were forgotten in their time; the chain is whole across them.
    #[serde(default)]
    pub forgotten: u64,
    /// How many signed checkpoints agree with them.
    pub checkpoints: u64,
    /// The last one's hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Digest>,
    /// The first entry that is not as it was written, and what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<(u64, String)>,
    /// The first of those that nobody has acknowledged: only they stop effects.
    #[serde(skip)]
    pub unseen: Option<(u64, String)>,
    /// What somebody should look at although nothing was touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What people are asked to approve.
pub trait Confirmations: Send + Sync {
    /// Asks, or returns the question that is there for the same binding and neither spent nor
    /// expired: open, approved, or declined. Or says why nobody is asked, looking at all of it in one
    /// step: somebody else may spend the approval that was there a moment ago.
    fn ask<'a>(&'a self, asking: Asking) -> Answer<'a, Put>;

    /// One confirmation.
    fn confirmation<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Confirmation>;

    /// Confirmations, newest first.
    fn confirmations<'a>(&'a self, filter: ConfirmationFilter) -> Answer<'a, Vec<Confirmation>>;

    /// Approves or declines. Only a pending one that has not expired, and never by its actor; one that is
    /// approved can still be declined until a call has used it.
    fn decide<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        approve: bool,
        by: &'a Principal,
    ) -> Answer<'a, Confirmation>;

    /// Takes back what somebody has approved and no call has used yet, and says how much that was:
    /// the questions are open again.
    fn withdraw<'a>(&'a self, tenant: &'a str, by: &'a Principal) -> Answer<'a, usize>;

    /// Uses an approval up for a call without effects, or says why it cannot be. (A claim spends
    /// its own.)
    fn spend<'a>(
        &'a self,
        tenant: &'a str,
        call: &'a str,
        spend: &'a Spend,
    ) -> Answer<'a, Option<Unspendable>>;
}

/// A question, and what keeps it from being put.
#[derive(Clone, Debug, PartialEq)]
pub struct Asking {
    /// The question.
    pub confirmation: Confirmation,
    /// What is asked about, where the ledger may answer for it: then nobody need approve.
    pub sought: Option<Sought>,
    /// So many questions of one agent wait for an answer at most, of those that would hold.
    pub most: Option<usize>,
}

impl From<Confirmation> for Asking {
    fn from(confirmation: Confirmation) -> Self {
        Self { confirmation, sought: None, most: None }
    }
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq)]
pub enum Put {
    /// The question that stands: this one, or an earlier one.
    Stands(Box<Confirmation>),
    /// None: the ledger answers for what was asked about.
    Begun,
    /// None: too many wait for an answer already.
    Full,
}

/// Which confirmations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConfirmationFilter {
    /// Whose.
    pub tenant: String,
    /// Of which this became.
    pub status: Option<ConfirmationStatus>,
    /// Void later than this, in milliseconds of the Unix epoch.
    pub open_after_ms: Option<i64>,
    /// Asked in this session.
    pub session: Option<String>,
    /// Only what comes after this one in the list; nothing where there is none.
    pub after: Option<String>,
    /// At most so many; 0 is a hundred.
    pub limit: usize,
}

/// So many bytes of answers are kept of one session, as JSON.
pub const ANSWERS_BYTES: usize = 8 << 20;

/// Sessions.
pub trait Sessions: Send + Sync {
    /// One session.
    fn session<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, Session>;

    /// A tenant's sessions, the newest first: after one of them, or from the newest on; a limit of 0
    /// is a hundred.
    fn sessions<'a>(
        &'a self,
        tenant: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Answer<'a, Vec<Session>>;

    /// Writes a session whose revision is the stored one, and raises it. A new one has revision 0.
    fn save<'a>(&'a self, session: Session) -> Answer<'a, Session>;

    /// As [`save`](Self::save), and keeps what a call in it was answered, under the model's id, in the
    /// same step. Kept are answers of calls that are among the session's recent ones, the newest
    /// first, up to [`ANSWERS_BYTES`] in all.
    fn save_answer<'a>(
        &'a self,
        session: Session,
        id: &'a str,
        answer: &'a Value,
    ) -> Answer<'a, Session>;

    /// What a call in a session was answered; missing where that is not kept (any longer).
    fn answer<'a>(&'a self, tenant: &'a str, session: &'a str, id: &'a str) -> Answer<'a, Value>;
}

/// Blocks on principals.
pub trait Blocks: Send + Sync {
    /// Blocks, or extends the block that there is. Returns it, and whether it was extended.
    fn block<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
        for_ms: u64,
        reason: &'a str,
    ) -> Answer<'a, (Block, bool)>;

    /// The block that holds now.
    fn blocked<'a>(
        &'a self,
        tenant: &'a str,
        principal: &'a Principal,
    ) -> Answer<'a, Option<Block>>;

    /// Whether any block is on record at all: most calls need not ask further.
    fn any_blocks(&self) -> bool;

    /// Lifts a block.
    fn unblock<'a>(&'a self, tenant: &'a str, principal: &'a Principal) -> Answer<'a, ()>;
}

/// What is configured. Every change is a line in the audit trail: who, when, what, and a digest of
/// what it says.
pub trait Configs: Send + Sync {
    /// One entry.
    fn entry<'a>(&'a self, kind: Kind, tenant: &'a str, id: &'a str) -> Answer<'a, Entry>;

    /// The entries of one kind, by tenant and id; those of one tenant where it is named.
    fn entries<'a>(&'a self, kind: Kind, tenant: Option<&'a str>) -> Answer<'a, Vec<Entry>>;

    /// What an entry said, newest first: before a version, or from the newest on, at most so many;
    /// removals are left out. For kinds that keep no versions, what it says now.
    fn versions<'a>(
        &'a self,
        kind: Kind,
        tenant: &'a str,
        id: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> Answer<'a, Vec<Entry>>;

    /// Writes or removes an entry whose version is the one that was read. Returns it as it is now,
    /// or as it was when it was removed.
    fn change<'a>(&'a self, change: Change) -> Answer<'a, Entry>;

    /// How many changes there were, whoever made them: whoever watches this misses none.
    fn changes<'a>(&'a self) -> Answer<'a, u64>;

    /// Everything at one moment.
    fn snapshot<'a>(&'a self) -> Answer<'a, Snapshot>;
}

/// The id of the tool that a name means, among those on record of a tenant: those that were called, and those
/// of effects, which may have no call on record. A name that none of them has is taken as it is.
///
/// # Errors
///
/// The store cannot be read. Inside: the tools that a short name may mean, where there are several.
pub async fn tool_meant(
    store: &dyn Store,
    tenant: &str,
    name: &str,
) -> Result<Result<String, Vec<String>>, StoreError> {
    let mut known = store.tools(tenant).await?;
    // Nothing else is meant by an id, and there may be many effects.
    if name.contains(names::SEPARATOR) && known.iter().any(|id| id == name) {
        return Ok(Ok(name.to_owned()));
    }
    known.extend(store.caused_with(tenant).await?);
    known.sort();
    known.dedup();
    let meant = names::meant(name, known.iter().map(String::as_str));
    Ok(meant.map(str::to_owned).map_err(|several| several.into_iter().map(str::to_owned).collect()))
}

/// All of it.
pub trait Store: Ledger + Journal + Confirmations + Sessions + Blocks + Configs {
    /// Now, in milliseconds of the Unix epoch. Does not jump with the machine's clock, and goes back
    /// only where it had believed a clock that was wrong, and never behind the time before that.
    fn now_ms(&self) -> i64;

    /// What whoever keeps it in order should know.
    fn condition(&self) -> Condition {
        Condition::default()
    }

    /// Whether side effects can be recorded at this moment.
    fn is_writable(&self) -> bool;

    /// Whether there is room for more, by what the disk and the store's own limit say: nothing has to be
    /// refused first. Where that cannot be told there is.
    fn has_room<'a>(&'a self) -> Answer<'a, bool> {
        Box::pin(async { Ok(true) })
    }

    /// Whether side effects of a tenant are taken: not where the audit trail was touched and nobody
    /// has acknowledged that since.
    fn trusts<'a>(&'a self, tenant: &'a str) -> Answer<'a, ()>;

    /// Forgets some of what is older than this: what the audit trail says of calls, questions whose
    /// time is over, sessions that nobody has used since. Whatever belongs to an effect that is in
    /// the ledger stays, who approved it included, and so does every change of what is configured. A
    /// little at a time, so that nobody waits long behind it. Nothing is forgotten of a trail that
    /// somebody has touched, or while the store's time is far ahead of the machine's;
    /// less where it is not sure of the time.
    fn forget<'a>(&'a self, before_ms: i64) -> Answer<'a, Forgotten>;
}

/// How a store is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// How many records of calls could not be kept since it was opened.
    pub dropped: u64,
    /// By how many milliseconds the machine's clock is off, where it has jumped and is not believed.
    pub clock_off_ms: Option<i64>,
    /// Whether all of the audit trail should be checked ([`Journal::verify`]): only its end was, or it is
    /// a day ago.
    pub check_due: bool,
}

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Entries of the audit trail.
    pub entries: u64,
    /// Records of calls: some of those entries.
    pub calls: u64,
    /// Confirmations.
    pub confirmations: u64,
    /// Sessions.
    pub sessions: u64,
    /// Whether there may be more to forget: ask again.
    pub more: bool,
}

impl Forgotten {
    /// Whether anything was.
    #[must_use]
    pub fn anything(&self) -> bool {
        self.entries + self.confirmations + self.sessions > 0
    }

    /// Takes in what another step forgot.
    pub fn add(&mut self, other: &Self) {
        self.entries += other.entries;
        self.calls += other.calls;
        self.confirmations += other.confirmations;
        self.sessions += other.sessions;
        self.more = other.more;
    }
}
