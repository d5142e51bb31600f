//! Where the stores are put to the test: what is asked of them, and a clock to move.

use std::path::PathBuf;
use std::sync::Arc;

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::ledger::{
    Claim, Claimed, Effect, EffectRecord, Ending, Keep, Settled, Spend, State, Ticket,
};
use haft_core::port::{Boxed, Put, Store, StoreError};
use haft_core::record::{Confirmation, ConfirmationStatus, InvocationRecord, Stage};
use haft_store::vault::KeyPlace;
use haft_store::{Manual, Memory, Options, Sqlite};
use serde_json::{Value, json};

pub(crate) const START: i64 = 1_800_000_000_000;
pub(crate) const LEASE: i64 = 30_000;
/// For how long a provider knows a key.
pub(crate) const AGAIN: i64 = 10 * LEASE;
/// The version of what is written here.
pub(crate) const SCHEMA: i64 = 18;
/// Takes back what this version says of time.
pub(crate) const BEFORE_TICKS: &str = "ALTER TABLE clock ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0; \
    ALTER TABLE clock DROP COLUMN held_ms; ALTER TABLE clock DROP COLUMN boot; \
    ALTER TABLE clock DROP COLUMN ticks_ms; ALTER TABLE clock DROP COLUMN jump_offset_ms; \
    ALTER TABLE clock DROP COLUMN jump_since_ms; ALTER TABLE clock DROP COLUMN jump_off_ms; \
    PRAGMA user_version = 17";
pub(crate) const KEEP: Keep = Keep { result_ms: 60_000, key_ms: 600_000 };

/// A store that can be opened several times, as several processes would.
pub(crate) struct Bed {
    pub(crate) clock: Arc<Manual>,
    kind: Kind,
}

enum Kind {
    Memory(Memory),
    Sqlite { dir: tempfile::TempDir, sealed: bool },
}

impl Bed {
    pub(crate) fn memory() -> Self {
        let clock = Manual::at(START);
        let kind = Kind::Memory(Memory::with_clock(clock.clone()));
        Self { clock, kind }
    }

    pub(crate) fn sqlite() -> Self {
        Self::on_disk(false)
    }

    /// What callers write is sealed.
    pub(crate) fn sealed() -> Self {
        let bed = Self::on_disk(true);
        bed.key_place().make().unwrap();
        bed
    }

    fn on_disk(sealed: bool) -> Self {
        let kind = Kind::Sqlite { dir: tempfile::tempdir().unwrap(), sealed };
        Self { clock: Manual::at(START), kind }
    }

    pub(crate) fn key_place(&self) -> KeyPlace {
        KeyPlace::File(self.path().with_file_name("keys"))
    }

    /// One more process; dropping it is its death.
    pub(crate) fn open(&self) -> Box<dyn Store> {
        match &self.kind {
            Kind::Memory(memory) => Box::new(memory.join()),
            Kind::Sqlite { .. } => Box::new(self.open_sqlite(|_| ())),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        match &self.kind {
            Kind::Memory(_) => panic!("a store in memory has no path"),
            Kind::Sqlite { dir, .. } => dir.path().join("haft.db"),
        }
    }

    pub(crate) fn open_sqlite(&self, set: impl FnOnce(&mut Options)) -> Sqlite {
        let mut options = Options { clock: self.clock.clone(), ..Options::default() };
        if matches!(self.kind, Kind::Sqlite { sealed: true, .. }) {
            options.seal_with = Some(self.key_place());
        }
        set(&mut options);
        Sqlite::open(self.path(), options).unwrap()
    }
}

/// Runs a test on every store.
pub(crate) fn on_every_store(test: impl for<'a> Fn(&'a Bed) -> Boxed<'a, ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for bed in [Bed::memory(), Bed::sqlite(), Bed::sealed()] {
        runtime.block_on(test(&bed));
    }
}

/// A contract: sentences, each run on every store.
macro_rules! contract {
    ($($name:ident($bed:ident) $body:block)*) => {
        $(
            #[test]
            fn $name() {
                $crate::bed::on_every_store(|$bed| Box::pin(async move $body));
            }
        )*
    };
}
pub(crate) use contract;

/// The question that stands when one is put and nothing keeps it from that.
pub(crate) async fn ask(
    store: &dyn Store,
    question: Confirmation,
) -> Result<Confirmation, StoreError> {
    match store.ask(question.into()).await? {
        Put::Stands(stands) => Ok(*stands),
        put @ (Put::Begun | Put::Full) => panic!("nobody is asked: {put:?}"),
    }
}

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

/// An irreversible claim; its call is named after its key.
pub(crate) fn claim(key: &str) -> Claim {
    Claim {
        key: digest(key),
        other: None,
        fingerprint: digest("arguments"),
        act: digest(&format!("act of {key}")),
        deed_unconnected: None,
        place: None,
        deed: digest(&format!("deed of {key}")),
        lease_ms: LEASE as u64,
        again_within_ms: AGAIN as u64,
        keep: KEEP,
        confirmation: None,
        despite_similar: false,
        effect: Effect {
            call: format!("call of {key}"),
            tenant: "acme".into(),
            agent: "assistant".into(),
            actor: Principal::agent("assistant"),
            subject: Some(Principal::user("mara")),
            session: Some("s1".into()),
            turn: 2,
            turn_group: Some("g1".into()),
            mode: Mode::Voice,
            tool: "core__pay".into(),
            tool_version: "1.2.0".into(),
            tool_digest: digest("tool"),
            registry_version: "1.0.abcdef01".into(),
            policy: SideEffectPolicy::Irreversible,
            arguments: json!({ "to": "bo", "amount": 12 }),
            connection: Some("conn_1".into()),
            account_made_ms: None,
            within: None,
            part_of: None,
            compensates: None,
            relies_on_its_key: false,
            first_at_ms: None,
            provider_key: None,
            after: None,
            raw_arguments: None,
        },
    }
}

pub(crate) fn of_class(key: &str, class: SideEffectPolicy) -> Claim {
    let mut claim = claim(key);
    claim.effect.policy = class;
    claim
}

pub(crate) fn spending(key: &str, id: &str, binding: &str) -> Claim {
    let spend = Spend { id: id.to_owned(), binding: digest(binding), turn: 3 };
    Claim { confirmation: Some(spend), ..claim(key) }
}

pub(crate) fn ending(state: State, result: Option<Value>) -> Ending {
    Ending { state, result, error: None, intents: Vec::new() }
}

pub(crate) fn call_record(call: &str, tool: &str, duration_us: u64) -> InvocationRecord {
    InvocationRecord {
        call: call.into(),
        model_call: Some("toolu_1".into()),
        tenant: "acme".into(),
        agent: "assistant".into(),
        actor: Principal::agent("assistant"),
        subject: None,
        session: Some("s1".into()),
        turn: 1,
        mode: Mode::Text,
        tool: tool.into(),
        tool_version: None,
        registry_version: None,
        arguments: Some(json!({ "q": "tea" }).into()),
        result: Some(json!({ "hits": 2 }).into()),
        error: None,
        message: None,
        stage: Stage::Publish,
        rule: None,
        cached: false,
        attempts: 1,
        warnings: vec!["string_to_integer".into()],
        started_at_ms: START,
        duration_us,
    }
}

pub(crate) fn confirmation(id: &str, binding: &str) -> Confirmation {
    Confirmation {
        id: id.to_owned(),
        tenant: "acme".into(),
        agent: "assistant".into(),
        actor: Principal::agent("assistant"),
        subject: Some(Principal::user("mara")),
        session: None,
        turn: 2,
        call: Some("call_asked".into()),
        tool: "core__pay".into(),
        arguments: json!({ "amount": 12 }),
        connection: None,
        preview: "Pay 12 to Bo?".into(),
        suspicious: Vec::new(),
        binding: digest(binding),
        tool_digest: None,
        policy_version: None,
        status: ConfirmationStatus::Pending,
        decided_by: None,
        asked_at_ms: START,
        expires_at_ms: START + 100_000,
    }
}

pub(crate) async fn fresh(store: &dyn Store, claim: Claim) -> Ticket {
    let claimed = store.claim(claim).await.unwrap();
    let Claimed::Fresh(ticket) = claimed else { panic!("not fresh: {claimed:?}") };
    ticket
}

pub(crate) async fn settle(
    store: &dyn Store,
    ticket: &Ticket,
    state: State,
    result: Option<Value>,
) {
    let settled = store.settle(ticket, ending(state, result), None).await.unwrap();
    assert_eq!(settled, Settled::Written);
}

/// An effect that was settled so.
pub(crate) async fn settled(store: &dyn Store, claim: Claim, state: State) -> EffectRecord {
    let call = claim.effect.call.clone();
    let ticket = fresh(store, claim).await;
    let result = (state == State::Succeeded).then(|| json!({ "paid": true }));
    settle(store, &ticket, state, result).await;
    store.effect("acme", &call).await.unwrap()
}

/// One word for what the ledger answered.
pub(crate) fn word(claimed: &Claimed) -> String {
    match claimed {
        Claimed::Fresh(ticket) => format!("fresh {}", ticket.epoch),
        Claimed::InFlight(_) => "in flight".into(),
        Claimed::Answered(_) => "answered".into(),
        Claimed::Conflict => "conflict".into(),
        Claimed::Unknown(_) => "unknown".into(),
        Claimed::Similar(_) => "similar".into(),
        Claimed::Displaced => "displaced".into(),
        Claimed::Unspendable(why) => format!("{why:?}"),
    }
}

/// But for the entry that says which key the trail is signed with: nobody signs what is in memory.
pub(crate) async fn kinds(store: &dyn Store) -> Vec<String> {
    let entries = store.audit(1, 1_000).await.unwrap();
    entries.into_iter().map(|entry| entry.kind).filter(|kind| kind != "signing").collect()
}
