//! A server that runs for long keeps its store in order by itself, and says how that is.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haft_core::call::Principal;
use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::ledger::{Claim, Effect, Keep};
use haft_core::port::{Journal as _, Ledger as _};
use haft_core::{Caller, Digest};
use haft_server::Limits;
use haft_store::{Manual, Options, Sqlite};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::client::Served;

const START: i64 = 1_800_000_000_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A server on a database, and the clock of that.
async fn served(dir: &tempfile::TempDir) -> (Served, Arc<Manual>) {
    let clock = Manual::at(START);
    let options = Options { clock: clock.clone(), ..Options::default() };
    let store = Sqlite::open(dir.path().join("haft.db"), options).unwrap();
    let limits = Limits { tend: Duration::from_millis(20), ..Limits::default() };
    (Served::on(Arc::new(store), limits).await, clock)
}

async fn call(served: &Served, tool: &str, key: &str) {
    let body = json!({"tool": tool, "arguments": {"text": "x"}, "idempotency_key": key});
    let reply = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert!(reply.status < 300, "{reply:?}");
}

async fn calls(served: &Served) -> Vec<Value> {
    served.get(&served.operator, "/v1/calls").await.json().as_array().unwrap().clone()
}

async fn figure(served: &Served, name: &str) -> f64 {
    let text = served.get(&served.admin, "/metrics").await.body;
    let line = text.lines().find(|line| line.starts_with(name));
    line.unwrap_or_else(|| panic!("no {name}")).rsplit_once(' ').unwrap().1.parse().unwrap()
}

/// Waits until so many calls are on record: they are written, and forgotten, a moment later.
async fn until(served: &Served, count: usize) {
    for _ in 0..500 {
        if calls(served).await.len() == count {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not {count} calls: {:?}", calls(served).await);
}

#[tokio::test]
async fn old_records_are_forgotten_while_it_runs() {
    let dir = tempfile::tempdir().unwrap();
    let (served, clock) = served(&dir).await;
    for tool in ["echo", "send", "pay"] {
        call(&served, tool, tool).await;
    }
    until(&served, 3).await;
    clock.advance(89 * DAY_MS);
    call(&served, "echo", "").await;
    until(&served, 4).await;
    // It looks at them several times.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(calls(&served).await.len(), 4, "they are kept for ninety days");
    clock.advance(2 * DAY_MS);
    until(&served, 1).await;
    let waiting = served.get(&served.operator, "/v1/confirmations").await;
    assert_eq!(waiting.json(), json!([]), "nobody can answer it any more");
    let verified = served.post(&served.operator, "/v1/audit/verify", json!({})).await.json();
    // How three calls ended, and that one of them began.
    assert_eq!((&verified["broken"], &verified["forgotten"]), (&Value::Null, &json!(4)));
    let mut tries = 0;
    // Counted after the store has forgotten, so perhaps a moment later than it could be seen.
    while figure(&served, "haft_store_forgotten_total{what=\"call\"}").await < 3.0 {
        tries += 1;
        assert!(tries < 500, "it is not counted");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(figure(&served, "haft_store_forgotten_total{what=\"confirmation\"}").await, 1.0);
    call(&served, "send", "send").await;
    until(&served, 2).await;
}

#[tokio::test]
async fn a_store_whose_time_is_far_ahead_is_said_when_the_trail_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (served, clock) = served(&dir).await;
    call(&served, "send", "send").await;
    let verify = async || {
        let reply = served.post(&served.operator, "/v1/audit/verify", json!({})).await.json();
        assert_eq!(reply["broken"], Value::Null, "{reply}");
        reply["warning"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(verify().await, "");
    clock.set_wall(START - 30 * DAY_MS);
    let said = verify().await;
    assert!(said.contains("the store's time is 30 days ahead"), "{said}");
    call(&served, "send", "again").await;
}

/// What another process has begun.
fn begun() -> Claim {
    let caller = Caller::agent("ours", "helper");
    let digest = |text: &str| Digest::of_bytes(text.as_bytes());
    Claim {
        other: None,
        key: digest("key"),
        fingerprint: digest("arguments"),
        act: digest("act"),
        deed_unconnected: None,
        place: None,
        deed: digest("deed"),
        lease_ms: 30_000,
        again_within_ms: 0,
        keep: Keep { result_ms: 60_000, key_ms: 60_000 },
        confirmation: None,
        despite_similar: false,
        effect: Effect {
            call: "call_left".into(),
            tenant: caller.tenant.to_string(),
            agent: caller.agent.to_string(),
            actor: Principal::agent("helper"),
            subject: None,
            session: None,
            turn: 0,
            turn_group: None,
            mode: Mode::Text,
            tool: "shop__send".into(),
            tool_version: "1.0.0".into(),
            tool_digest: digest("tool"),
            registry_version: "1.0.00000000".into(),
            policy: SideEffectPolicy::Irreversible,
            arguments: json!({"text": "x"}),
            raw_arguments: None,
            connection: None,
            account_made_ms: None,
            within: None,
            part_of: None,
            compensates: None,
            relies_on_its_key: false,
            first_at_ms: None,
            provider_key: None,
            after: None,
        },
    }
}

/// A database on which a write does not wait long for another process.
fn open(path: &Path, clock: &Arc<Manual>, queue: usize) -> Sqlite {
    let busy = Duration::from_millis(20);
    let options = Options { clock: clock.clone(), busy, queue, ..Options::default() };
    Sqlite::open(path, options).unwrap()
}

/// Waits until something is so, for a few seconds at most.
async fn until_so(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..250 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not so: {what}");
}

#[tokio::test]
async fn what_was_left_is_unknown_a_moment_later() {
    let dir = tempfile::tempdir().unwrap();
    let (path, clock) = (dir.path().join("haft.db"), Manual::at(START));
    let served = Served::on(Arc::new(open(&path, &clock, 1_024)), Limits::default()).await;
    let state = async || {
        let found = served.get(&served.operator, "/v1/effects").await;
        found.json()[0]["state"].as_str().unwrap_or_default().to_owned()
    };
    let other = open(&path, &clock, 1_024);
    other.claim(begun()).await.unwrap();
    assert_eq!(state().await, "started");
    // Nobody waits for it any longer, though its process lives: long before the store is tended.
    clock.advance(30_000);
    until_so("it is unknown", async || state().await == "unknown").await;
    drop(other);
}

#[tokio::test]
async fn a_store_that_cannot_be_written_does_nothing_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (path, clock) = (dir.path().join("haft.db"), Manual::at(START));
    let store = Arc::new(open(&path, &clock, 1_024));
    let served = Served::on(store.clone(), Limits::default()).await;
    let ready = async || served.get("", "/readyz").await.status == 200;
    assert!(ready().await);
    let held = Connection::open(&path).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let body = json!({"tool": "send", "arguments": {"text": "x"}, "idempotency_key": "k"});
    let refused = served.post(&served.agent, "/v1/agents/helper/calls", body.clone()).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("store_unavailable"), "{refused:?}");
    assert_eq!(served.runs(), 0);
    until_so("it is not ready", async || !ready().await).await;
    assert!(store.flush().await.is_err(), "its record could not be written either");
    let dropped = figure(&served, "haft_store_records_dropped_total ").await;
    assert!(dropped >= 1.0, "{dropped}");
    held.execute_batch("COMMIT").unwrap();
    until_so("it is ready again", ready).await;
    let reply = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert_eq!((reply.status, served.runs()), (200, 1));
}

#[tokio::test]
async fn a_clock_that_jumped_is_shown_and_forgets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (served, clock) = served(&dir).await;
    call(&served, "send", "send").await;
    until(&served, 1).await;
    clock.set_wall(START + 100 * DAY_MS);
    let off = async || figure(&served, "haft_store_clock_off_seconds ").await;
    assert_eq!(off().await, 100.0 * 86_400.0);
    // It is tended several times.
    tokio::time::sleep(Duration::from_millis(200)).await;
    call(&served, "send", "send").await;
    assert_eq!(served.runs(), 1, "answered from memory");
    clock.set_wall(START);
    assert_eq!(off().await, 0.0);
    until(&served, 2).await;
}
