//! A server that runs for long keeps its store in order by itself.

use std::sync::Arc;
use std::time::Duration;

use haft_server::Limits;
use haft_store::{Manual, Options, Sqlite};
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
    assert_eq!((&verified["broken"], &verified["forgotten"]), (&Value::Null, &json!(3)));
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
