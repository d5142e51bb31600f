//! Clients that close their sockets, before an act has begun and at each place after.

use std::sync::Arc;
use std::time::Duration;

use haft_core::port::{CallFilter, Journal as _};
use haft_core::record::InvocationRecord;
use haft_server::Limits;
use haft_store::{Options, Sqlite};
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::client::Served;
use crate::mcp;

/// A server on a database that can be held, so that nothing is written to it for a while.
struct Bed {
    served: Served,
    store: Arc<Sqlite>,
    holder: Connection,
    _dir: tempfile::TempDir,
}

impl Bed {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("haft.db");
        let options = Options { busy: Duration::from_secs(60), ..Options::default() };
        let store = Arc::new(Sqlite::open(&path, options).unwrap());
        let served = Served::on(store.clone(), Limits::default()).await;
        let holder = Connection::open(&path).unwrap();
        holder.busy_timeout(Duration::from_secs(60)).unwrap();
        Self { served, store, holder, _dir: dir }
    }

    /// From here on nothing is written until [`Self::let_go`].
    fn hold(&self) {
        self.holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    }

    fn let_go(&self) {
        self.holder.execute_batch("ROLLBACK").unwrap();
    }

    /// Returns when so many requests are worked on; asking for figures is none.
    async fn working(&self, wanted: usize) {
        let line = format!("haft_http_requests_in_flight {wanted}");
        for _ in 0..2_000 {
            let said = self.served.get(&self.served.operator, "/metrics").await;
            if said.body.lines().any(|one| one == line) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("not `{line}`");
    }

    async fn drained(&self) {
        assert_eq!(self.served.door.runtime.drain(Duration::from_secs(30)).await, 0);
    }

    async fn records(&self) -> Vec<InvocationRecord> {
        haft_core::port::Journal::flush(&*self.store).await.unwrap();
        let tool = Some("shop__send".to_owned());
        let filter = CallFilter { tenant: "ours".into(), tool, limit: 10, ..CallFilter::default() };
        self.store.calls(filter).await.unwrap()
    }
}

/// The doors whose callers wait for an answer on the same request.
#[derive(Clone, Copy, Debug)]
enum Through {
    Calls,
    Batch,
    Mcp,
}

const ALL: [Through; 3] = [Through::Calls, Through::Batch, Through::Mcp];

impl Through {
    fn request(self, bed: &Bed, text: &str) -> String {
        let call = json!({
            "tool": "send", "arguments": {"text": text}, "idempotency_key": "k",
        });
        let (path, accept, body) = match self {
            Self::Calls => ("/v1/agents/helper/calls", "", call),
            Self::Batch => ("/v1/agents/helper/calls", "", json!({ "calls": [call] })),
            Self::Mcp => ("/mcp", ", text/event-stream", in_mcp(text)),
        };
        let body = body.to_string();
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json{accept}\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: send\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            bed.served.agent,
            body.len()
        )
    }

    /// Asks, and leaves the socket open.
    async fn ask(self, bed: &Bed, text: &str) -> TcpStream {
        let mut stream = bed.served.connect().await;
        stream.write_all(self.request(bed, text).as_bytes()).await.unwrap();
        stream
    }

    /// Asks once more, and waits for the answer.
    async fn ask_again(self, bed: &Bed, text: &str) -> Value {
        let request =
            self.request(bed, text).replace("HTTP/1.1\r\n", "HTTP/1.1\r\nConnection: close\r\n");
        bed.served.raw(request.as_bytes()).await.json()
    }
}

fn in_mcp(text: &str) -> Value {
    let mut meta = mcp::meta(json!({}));
    meta["haft/idempotencyKey"] = json!("k");
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "send", "arguments": {"text": text}, "_meta": meta,
    }})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_closes_before_the_claim_has_nothing_done() {
    for door in ALL {
        let bed = Bed::new().await;
        bed.hold();
        let stream = door.ask(&bed, "hi").await;
        bed.working(1).await;
        drop(stream);
        bed.working(0).await;
        bed.let_go();
        bed.drained().await;
        assert_eq!(bed.served.runs(), 0, "{door:?}");
        let records = bed.records().await;
        let ends: Vec<_> = records.iter().map(|one| one.error.map(|kind| kind.as_str())).collect();
        assert_eq!(ends, [Some("cancelled")], "{door:?}");
        // The key is free.
        let answer = door.ask_again(&bed, "hi").await.to_string();
        assert!(answer.contains(r#""said":{"text":"hi"}"#), "{door:?}: {answer}");
        assert_eq!(bed.served.runs(), 1, "{door:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_closes_while_it_is_done_or_recorded_stops_nothing() {
    for (door, recording) in ALL.into_iter().flat_map(|door| [(door, false), (door, true)]) {
        let bed = Bed::new().await;
        let go = bed.served.gate();
        let stream = door.ask(&bed, "wait").await;
        bed.served.ran(1).await;
        if recording {
            // The handler ends, and its outcome cannot be written yet.
            bed.hold();
            go(1);
        }
        drop(stream);
        bed.working(0).await;
        match recording {
            true => bed.let_go(),
            false => go(1),
        }
        bed.drained().await;
        let ends: Vec<_> = bed.records().await.iter().map(|one| one.error).collect();
        assert_eq!(ends, [None], "{door:?} {recording}");
        let answer = door.ask_again(&bed, "wait").await.to_string();
        assert!(answer.contains(r#""said":{"text":"wait"}"#), "{door:?}: {answer}");
        assert_eq!(bed.served.runs(), 1, "{door:?} {recording}: not done again");
    }
}
