//! What callers wrote, sealed at rest with a key for each tenant.

use std::fs;
use std::sync::Arc;

use haft_core::config::{Change, Kind};
use haft_core::ledger::{Ending, State};
use haft_core::outcome::Intent;
use haft_core::port::{
    Blocks as _, Calendar as _, CallFilter, Configs as _, ConfirmationFilter, Confirmations as _,
    EffectFilter, Journal as _, Ledger as _, Resolve, Sessions as _, Store, StoreError,
    TrailFilter, Undo,
};
use haft_core::{ErrorKind, Principal, ToolError};
use haft_store::vault::Key;
use haft_store::{Options, Sqlite, Vault, Verified};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::bed::{
    Bed, START, ask, call_record, claim, confirmation, digest, fresh, of_class, settle,
};
use crate::calendar::{booking, draft, meeting};
use crate::contract::{recent, session};

pub(crate) const CANARY: &str = "canary-5f1c";

/// How often the canary stands in any file beside the database.
pub(crate) fn seen(bed: &Bed, what: &[u8]) -> usize {
    let folder = bed.path().parent().unwrap().to_owned();
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let bytes = files.filter(|path| path.is_file()).map(|path| fs::read(path).unwrap());
    bytes.map(|bytes| bytes.windows(what.len()).filter(|one| *one == what).count()).sum()
}

pub(crate) fn said() -> Value {
    json!({ "said": CANARY })
}

/// Effects that were settled, given up, settled by hand, undone, and told of too late.
pub(crate) async fn act(store: &Sqlite, clock: &haft_store::Manual) {
    let mut first = of_class("first", haft_core::contract::SideEffectPolicy::Compensatable);
    first.effect.arguments = said();
    first.effect.raw_arguments = Some(said());
    let ticket = fresh(store, first).await;
    let record = haft_core::record::InvocationRecord {
        arguments: Some(said().into()),
        result: Some(said().into()),
        message: Some(CANARY.to_owned()),
        ..call_record("call of first", "core__pay", 5)
    };
    let ending = Ending {
        state: State::Succeeded,
        result: Some(said()),
        error: None,
        intents: vec![Intent::SetPendingMessage { message: said() }],
    };
    store.settle(&ticket, ending, Some(record.clone())).await.unwrap();
    store.undo("acme", "call of first", Undo::Begin { by: CANARY.to_owned() }).await.unwrap();
    let done = Undo::Done { by: "u".to_owned(), result: said() };
    store.undo("acme", "call of first", done).await.unwrap();

    let mut second = claim("second");
    second.effect.arguments = said();
    let ticket = fresh(store, second).await;
    clock.advance(crate::bed::LEASE + 1);
    store.recover().await.unwrap();
    let failed = ToolError::new(ErrorKind::Permanent, CANARY);
    let ending =
        Ending { state: State::Failed, result: None, error: Some(failed), intents: Vec::new() };
    store.settle(&ticket, ending, None).await.unwrap();
    let (by, note) = ("user:mara".to_owned(), CANARY.to_owned());
    let resolve = Resolve { happened: true, by, note, result: Some(said()) };
    store.resolve("acme", "call of second", resolve).await.unwrap();

    store.record(Box::new(haft_core::record::InvocationRecord { call: "read".into(), ..record }));
    store.note("acme", "note", said()).await.unwrap();
}

pub(crate) async fn ask_and_talk(store: &Sqlite) {
    let mut asked = confirmation("c1", "binding");
    asked.session = Some("s1".to_owned());
    // The store of before is made by the same acts, and did not say which call asked.
    (asked.turn, asked.call) = (0, None);
    (asked.arguments, asked.preview) = (said(), CANARY.to_owned());
    ask(store, asked).await.unwrap();
    store.decide("acme", "c1", true, &Principal::user("mara")).await.unwrap();
    let mut talk = session();
    talk.waiting.push_back(said());
    talk.recent.push_back(recent("a1"));
    let talk = store.save(talk).await.unwrap();
    store.save_answer(talk, "a1", &said()).await.unwrap();
    store.block("acme", &Principal::user("eve"), 1_000_000, CANARY).await.unwrap();
    let mut meeting = meeting(&["bo@example.com"], START, START + 1_000);
    (meeting.title, meeting.notes) = (CANARY.to_owned(), Some(CANARY.to_owned()));
    let mut draft = draft("d1", &meeting);
    draft.expires_ms = START + 1_000_000;
    store.keep(draft.clone()).await.unwrap();
    let booked = booking(&draft, haft_core::calendar::BookingStatus::Confirmed);
    store.book(booked, START, 1_000).await.unwrap();
}

/// All of it, as whoever may see it does.
async fn all_of_it(store: &Sqlite) -> String {
    parts(store).await.concat()
}

/// Calls, effects, approvals, what the trail says of a session and in all, sessions, an answer, a block,
/// meetings and a draft.
pub(crate) async fn parts(store: &Sqlite) -> [String; 10] {
    let calls = store
        .calls(CallFilter { tenant: "acme".into(), limit: 9, ..CallFilter::default() })
        .await
        .unwrap();
    let effects = store
        .effects(EffectFilter { tenant: "acme".into(), limit: 9, ..EffectFilter::default() })
        .await
        .unwrap();
    let asked = ConfirmationFilter {
        tenant: "acme".into(),
        session: Some("s1".into()),
        limit: 9,
        ..ConfirmationFilter::default()
    };
    let asked = store.confirmations(asked).await.unwrap();
    let about = TrailFilter {
        tenant: "acme".into(),
        session: Some("s1".into()),
        limit: 9,
        ..TrailFilter::default()
    };
    let trail = store.trail(about).await.unwrap();
    // Who signs it is said when it is signed first, which is when this was read.
    let mut audit = store.audit(1, 100).await.unwrap();
    audit.retain(|entry| entry.kind != "signing");
    let sessions = store.sessions("acme", None, 9).await.unwrap();
    let answer = store.answer("acme", "s1", "a1").await.unwrap();
    let block = store.blocked("acme", &Principal::user("eve")).await.unwrap();
    let span = haft_core::calendar::Span { start_ms: START, end_ms: START + 1 };
    let booked = store.bookings("a", span, Some("bo@example.com"), 9).await.unwrap();
    let draft = store.draft("a", "d1", START).await.unwrap();
    [
        format!("{calls:#?}"),
        format!("{effects:#?}"),
        format!("{asked:#?}"),
        format!("{trail:#?}"),
        format!("{audit:#?}"),
        format!("{sessions:#?}"),
        format!("{answer:#?}"),
        format!("{block:#?}"),
        format!("{booked:#?}"),
        format!("{draft:#?}"),
    ]
}

pub(crate) async fn verified(bed: &Bed) -> Verified {
    let key = Sqlite::signing_key(&bed.path()).unwrap().public();
    let checked = haft_store::sqlite::verify(&bed.path(), &key, &Sqlite::checkpoints(&bed.path()));
    checked.unwrap().unwrap()
}

/// Everything is written and read, and what is on the disk meanwhile and afterwards.
async fn check(bed: &Bed) -> (usize, usize, String) {
    let store = bed.open_sqlite(|_| ());
    act(&store, &bed.clock).await;
    ask_and_talk(&store).await;
    let read = all_of_it(&store).await;
    let meanwhile = seen(bed, CANARY.as_bytes());
    drop(store);
    verified(bed).await;
    let again = all_of_it(&bed.open_sqlite(|_| ())).await;
    assert_eq!(read, again, "the same after a restart");
    (meanwhile, seen(bed, CANARY.as_bytes()), read)
}

#[tokio::test]
async fn nothing_that_callers_wrote_is_in_the_files() {
    let (meanwhile, afterwards, read) = check(&Bed::sealed()).await;
    assert_eq!((meanwhile, afterwards), (0, 0));
    let (clear, clear_afterwards, read_clear) = check(&Bed::sqlite()).await;
    assert!(clear >= 20 && clear_afterwards >= 20, "{clear} and {clear_afterwards} without a key");
    // But for hashes, which are over what is stored.
    let words = |text: &str| -> Vec<String> {
        let is_hex = |byte: char| byte.is_ascii_hexdigit();
        text.split("sha256:").map(|rest| rest.trim_start_matches(is_hex).to_owned()).collect()
    };
    assert_eq!(words(&read), words(&read_clear), "a key changes nothing that anybody reads");
}

#[tokio::test]
async fn what_was_written_before_there_was_a_key_is_read_beside_what_is_sealed() {
    let bed = Bed::sqlite();
    let before = bed.open_sqlite(|_| ());
    settle(&before, &fresh(&before, claim("old")).await, State::Succeeded, Some(said())).await;
    // One that runs on while another process makes the key.
    bed.key_place().make().unwrap();
    let sealing = |options: &mut Options| options.seal_with = Some(bed.key_place());
    let other = bed.open_sqlite(|options| options.seal_with = Some(bed.key_place()));
    assert!(!before.is_sealing() && other.is_sealing());
    settle(&other, &fresh(&other, claim("new")).await, State::Succeeded, Some(said())).await;
    for store in [&other, &bed.open_sqlite(sealing)] {
        for call in ["call of old", "call of new"] {
            let found = store.effect("acme", call).await.unwrap();
            assert_eq!(found.result, Some(said()), "{call}");
        }
    }
    // It has no place to look for a key, and does not write beside what is sealed in the clear.
    let refused = before.claim(claim("third")).await.unwrap_err();
    assert!(refused.to_string().contains("there is no key here"), "{refused}");
    drop((before, other));
    assert_eq!(verified(&bed).await.entries, 5, "and who signs it");
}

#[tokio::test]
async fn another_key_takes_over_and_the_old_one_opens_nothing() {
    let bed = Bed::sealed();
    let store = Arc::new(bed.open_sqlite(|_| ()));
    settle(&*store, &fresh(&*store, claim("one")).await, State::Succeeded, Some(said())).await;
    let old = bed.key_place().read().unwrap();
    let both = old.led_by(Key::random().unwrap());
    let haft_store::vault::KeyPlace::File(path) = bed.key_place() else { panic!("a file") };
    both.write(&path).unwrap();
    Vault::new(Arc::clone(&store), both.clone()).reseal().await.unwrap();
    both.first_only().write(&path).unwrap();
    // One that runs on knows the new key when it needs it.
    let mut other = claim("two");
    other.effect.tenant = "other".to_owned();
    fresh(&*store, other).await;
    assert_eq!(store.effect("acme", "call of one").await.unwrap().result, Some(said()));
    drop(store);
    let again = bed.open_sqlite(|_| ());
    assert_eq!(again.effect("acme", "call of one").await.unwrap().result, Some(said()));
    assert!(again.effect("other", "call of two").await.is_ok());
    drop(again);
    old.write(&path).unwrap();
    let options = Options { seal_with: Some(bed.key_place()), ..Options::default() };
    let refused = Sqlite::open(bed.path(), options).unwrap_err().to_string();
    let (new, old) = (both.current().unwrap().id(), old.current().unwrap().id());
    let words =
        format!("it was sealed with the key {new}, and the key here is {old}; nothing is lost");
    assert!(refused.contains(&words), "{refused}");
    let none = Sqlite::open(bed.path(), Options::default()).unwrap_err().to_string();
    assert!(
        none.contains("there is no key here; nothing is lost: put the right key back"),
        "{none}"
    );
}

pub(crate) fn tenant(name: &str, from: u64, to: Option<Value>) -> Change {
    Change {
        kind: Kind::Tenant,
        tenant: name.to_owned(),
        id: name.to_owned(),
        from,
        to,
        by: Principal::user("root"),
    }
}

#[tokio::test]
async fn a_tenant_that_is_removed_takes_what_it_wrote_with_it() {
    let bed = Bed::sealed();
    let store = bed.open_sqlite(|_| ());
    store.change(tenant("acme", 0, Some(json!({})))).await.unwrap();
    act(&store, &bed.clock).await;
    ask_and_talk(&store).await;
    let wrapped: Vec<u8> = {
        let conn = Connection::open(bed.path()).unwrap();
        let sql = "SELECT sealed FROM tenant_keys WHERE tenant = 'acme'";
        conn.query_row(sql, (), |row| row.get(0)).unwrap()
    };
    assert!(seen(&bed, &wrapped) > 0);
    store.change(tenant("acme", 1, None)).await.unwrap();
    let effects = EffectFilter { tenant: "acme".into(), limit: 9, ..EffectFilter::default() };
    assert!(store.effects(effects).await.unwrap().is_empty());
    assert!(
        store
            .calls(CallFilter { tenant: "acme".into(), limit: 9, ..CallFilter::default() })
            .await
            .unwrap()
            .is_empty()
    );
    let trail = store.audit(1, 99).await.unwrap();
    let settled = trail.iter().find(|entry| entry.kind == "settle").unwrap();
    assert!(settled.body.contains("\"sealed\":") && settled.body.contains("call of first"));
    // Another of the same name has a key of its own, and nothing of what was.
    settle(&store, &fresh(&store, claim("first")).await, State::Succeeded, Some(said())).await;
    assert_eq!(store.effect("acme", "call of first").await.unwrap().result, Some(said()));
    store.recover().await.unwrap();
    drop(store);
    verified(&bed).await;
    assert_eq!(seen(&bed, &wrapped), 0, "the key itself is gone from the disk");
}

#[tokio::test]
async fn an_entry_that_somebody_touched_is_still_shown() {
    let bed = Bed::sealed();
    let store = bed.open_sqlite(|_| ());
    for key in ["one", "two"] {
        settle(&store, &fresh(&store, claim(key)).await, State::Succeeded, Some(said())).await;
    }
    crate::trail::touch(&bed, "UPDATE audit SET body = replace(body, '.', '.A') WHERE number = 2");
    let all = store.audit(1, 9).await.unwrap();
    let is_sealed: Vec<bool> = all.iter().map(|one| one.body.contains("\"sealed\":")).collect();
    assert_eq!(is_sealed, [false, true, false, false]);
}

#[tokio::test]
async fn a_sealed_text_is_bound_to_its_row() {
    let bed = Bed::sealed();
    let store = bed.open_sqlite(|_| ());
    for key in ["one", "two"] {
        settle(&store, &fresh(&store, claim(key)).await, State::Succeeded, Some(said())).await;
    }
    let conn = Connection::open(bed.path()).unwrap();
    let sql =
        "UPDATE effects SET result = (SELECT result FROM effects WHERE key = ?1) WHERE key = ?2";
    conn.execute(sql, (digest("one").raw(), digest("two").raw())).unwrap();
    let moved = store.effect("acme", "call of two").await.unwrap_err();
    assert_eq!(moved, StoreError::Tampered("effects.result does not open".to_owned()));
    assert!(store.effect("acme", "call of one").await.is_ok());
    assert!(store.is_writable(), "one bad row stops nobody else");
}
