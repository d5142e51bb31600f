//! Events: those on record, found by filters, and those that happen, for whoever comes back too.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Served, events};

const CALLS: &str = "/v1/agents/helper/calls";

/// A stream of events, as far as it was read.
pub(crate) struct Stream {
    socket: TcpStream,
    read: String,
    /// How many events were taken out of it.
    taken: usize,
}

impl Stream {
    async fn open(served: &Served, query: &str, last: &str) -> Self {
        Self::open_by(served, &served.operator, query, last).await
    }

    pub(crate) async fn open_by(served: &Served, key: &str, query: &str, last: &str) -> Self {
        let mut socket = served.connect().await;
        let ask = format!(
            "GET /v1/events{query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
             Authorization: Bearer {key}\r\n{last}\r\n"
        );
        socket.write_all(ask.as_bytes()).await.unwrap();
        let mut stream = Self { socket, read: String::new(), taken: 0 };
        while !stream.read.contains("\r\n\r\n") {
            stream.more().await;
        }
        assert!(stream.read.starts_with("HTTP/1.1 200"), "{}", stream.read);
        stream
    }

    async fn more(&mut self) {
        let mut piece = [0; 4096];
        let count = self.socket.read(&mut piece).await.unwrap();
        assert!(count > 0, "it has ended: {}", self.read);
        self.read += &String::from_utf8_lossy(&piece[..count]);
    }

    /// The next event, and the id with which it came.
    pub(crate) async fn next(&mut self) -> (String, Value, String) {
        loop {
            // Each event is one chunk, whose size stands in a line of its own.
            let text = self.read.replace("\r\n", "\n");
            let all = events(&text);
            if let Some((name, said)) = all.get(self.taken).cloned() {
                let block = text.split("\n\n").filter(|block| block.contains("event: "));
                let block = block.clone().nth(self.taken).unwrap();
                let id = block.lines().find_map(|line| line.strip_prefix("id: "));
                self.taken += 1;
                return (name, said, id.unwrap_or_default().to_owned());
            }
            self.more().await;
        }
    }
}

async fn call(served: &Served, tool: &str, text: &str) -> String {
    let key = [("Idempotency-Key", text)];
    let body = json!({"tool": tool, "arguments": {"text": text}});
    let reply = served.send(&served.agent, "POST", CALLS, &key, Some(body)).await.json();
    reply["meta"]["callId"].as_str().unwrap().to_owned()
}

/// The calls that a list tells of, newest first.
async fn listed(served: &Served, key: &str, path: &str) -> Vec<String> {
    let reply = served.get(key, path).await;
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    let text =
        |one: &Value| one["call"].as_str().or(one["body"]["call"].as_str()).map(str::to_owned);
    let found = reply.json();
    let of = |one: &Value| text(one).or_else(|| text(&one["body"]["record"])).unwrap_or_default();
    found.as_array().unwrap().iter().map(of).collect()
}

#[tokio::test]
async fn what_happened_is_found_by_what_it_is_about() {
    let served = Served::new().await;
    let begun = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await.json();
    let session = begun["id"].as_str().unwrap().to_owned();
    let echo = call(&served, "echo", "one").await;
    let send = call(&served, "send", "two").await;
    let body = json!({"tool": "echo", "session": session, "arguments": {"text": "three"}});
    let reply = served.post(&served.agent, CALLS, body).await.json();
    let inside = reply["meta"]["callId"].as_str().unwrap().to_owned();
    for of in ["/v1/events", "/v1/audit"] {
        let check = async |query: &str, expected: &[&String]| {
            let found = listed(&served, &served.operator, &format!("{of}?{query}")).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{of}?{query}");
        };
        match of {
            "/v1/events" => check("", &[&inside, &send, &echo]).await,
            // That an effect began is in the trail, too.
            _ => check("", &[&inside, &send, &send, &echo]).await,
        }
        check("tool=send", &[&send]).await;
        check("tool=shop__echo", &[&inside, &echo]).await;
        check("agent=helper&limit=2", &[&inside, &send]).await;
        check("agent=other", &[]).await;
        check(&format!("session={session}"), &[&inside]).await;
        check(&format!("call={send}"), &[&send]).await;
        check("since_ms=32503680000000", &[]).await;
        check("since_ms=1&until_ms=32503680000000&tool=send", &[&send]).await;
        check("until_ms=1", &[]).await;
        let kind = if of == "/v1/events" { "tool_call_result" } else { "call,settle" };
        check(&format!("kind={kind}&tool=echo"), &[&inside, &echo]).await;
        let theirs = listed(&served, &served.stranger, &format!("{of}?tool=shop__echo")).await;
        assert_eq!(theirs, Vec::<String>::new(), "{of}: of another tenant");
    }
    let found = served.get(&served.operator, "/v1/events?tool=send").await.json();
    assert_eq!(found[0]["type"], "tool_call_result", "{found}");
    assert_eq!(
        (&found[0]["payload"]["ok"], &found[0]["payload"]["effect"]),
        (&json!(true), &json!("succeeded"))
    );
}

#[tokio::test]
async fn what_people_decide_is_on_record_with_what_it_is_about() {
    let served = Served::new().await;
    call(&served, "pay", "rent").await;
    let asked = served.get(&served.operator, "/v1/confirmations").await.json();
    let place = format!("/v1/confirmations/{}", asked[0]["id"].as_str().unwrap());
    assert_eq!(served.post(&served.operator, &place, json!({"approve": true})).await.status, 200);
    let path = "/v1/events?kind=confirmation_decided&tool=shop__pay&agent=helper";
    let found = served.get(&served.operator, path).await.json();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found[0]["payload"]["status"], "approved", "{found}");
    assert_eq!(found[0]["payload"]["by"], "user:mara", "{found}");
    assert_eq!(found[0]["payload"]["decidedBy"], "user:mara", "{found}");
}

#[tokio::test]
async fn events_of_confirmations_name_the_call_that_asked_and_its_turn() {
    let served = Served::new().await;
    let kinds = "confirmation_requested,confirmation_decided";
    let mut stream = Stream::open(&served, &format!("?kind={kinds}"), "").await;
    let sessions = "/v1/agents/helper/sessions";
    let session = served.post(&served.agent, sessions, json!({"mode": "text"})).await.json();
    let body =
        json!({"tool": "pay", "arguments": {"text": "rent"}, "session": session["id"].clone()});
    let calls = "/v1/agents/helper/calls";
    let asked = served.post(&served.agent, calls, body.clone()).await.json();
    let (asking, turn) = (&asked["meta"]["recordId"], &json!(1));
    let (_, told, _) = stream.next().await;
    assert_eq!((&told["call"], &told["turn"]), (asking, turn), "{told}");
    let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap();
    let place = format!("/v1/confirmations/{id}");
    assert_eq!(served.post(&served.operator, &place, json!({"approve": true})).await.status, 200);
    let (_, told, _) = stream.next().await;
    assert_eq!((&told["call"], &told["turn"]), (asking, turn), "{told}");
    let done = served.post(&served.agent, calls, body).await.json();
    let kept = served.get(&served.operator, "/v1/events?kind=confirmation_decided").await.json();
    let said: Vec<_> =
        kept.as_array().unwrap().iter().map(|one| (&one["call"], &one["turn"])).collect();
    assert_eq!(said, [(&done["meta"]["recordId"], turn), (asking, turn)], "{kept}");
    let path = format!("/v1/audit?kind=confirmation&call={}", asking.as_str().unwrap());
    let found = served.get(&served.operator, &path).await.json();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
}

#[tokio::test]
async fn an_answer_is_told_at_the_time_at_which_it_was_given() {
    let served = Served::new().await;
    let mut stream = Stream::open(&served, "?kind=confirmation_decided", "").await;
    call(&served, "pay", "rent").await;
    let asked = served.get(&served.operator, "/v1/confirmations").await.json();
    let at = |value: &Value| value.as_i64().unwrap();
    while served.door.runtime.store().now_ms() <= at(&asked[0]["askedAtMs"]) {
        tokio::task::yield_now().await;
    }
    let place = format!("/v1/confirmations/{}", asked[0]["id"].as_str().unwrap());
    assert_eq!(served.post(&served.operator, &place, json!({"approve": false})).await.status, 200);
    let (_, told, _) = stream.next().await;
    assert!(at(&told["atMs"]) > at(&asked[0]["askedAtMs"]), "{told} {asked}");
    assert_eq!(told["payload"]["decidedBy"], "user:mara", "{told}");
    let kept = served.get(&served.operator, "/v1/events?kind=confirmation_decided").await.json();
    assert!((at(&told["atMs"]) - at(&kept[0]["atMs"])).abs() < 1_000, "{told} {kept}");
}

#[tokio::test]
async fn a_filter_that_cannot_be_meant_is_refused_by_its_name() {
    let served = Served::new().await;
    for (query, streamed, names) in [
        ("kind=nonsense", false, "`kind`"),
        ("kind=nonsense", true, "`kind`"),
        ("kind=tool_call_start", false, "`tool_call_start`"),
        ("colour=red", false, "colour"),
        ("colour=red", true, "colour"),
        ("since_ms=yesterday", false, "since_ms"),
        ("since_ms=5&until_ms=4", false, "`since_ms`"),
        ("after=x", false, "after"),
        ("after=999999999", false, "`after`"),
        ("after=0", false, "`after`"),
        ("after=18446744073709551615", false, "`after`"),
        ("limit=-1", false, "limit"),
        ("limit=0", false, "`limit`"),
        ("since_ms=5", true, "`since_ms`"),
        ("after=5", true, "`after`"),
    ] {
        let stream = [("Accept", "text/event-stream")];
        let headers = if streamed { &stream[..] } else { &[] };
        let path = format!("/v1/events?{query}");
        let reply = served.send(&served.operator, "GET", &path, headers, None).await;
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
        let why = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(why.contains(names), "{query}: {why}");
    }
    for list in ["calls", "effects", "sessions", "confirmations", "admin/agents", "admin/policies"]
    {
        for limit in [0, 1_001] {
            let reply = served.get(&served.admin, &format!("/v1/{list}?limit={limit}")).await;
            assert!(
                reply.status == 400 && reply.body.contains("has 1 to 1000"),
                "{list}: {reply:?}"
            );
        }
    }
    for query in ["kind=nonsense", "since_ms=5&until_ms=4", "colour=red", "before=x"] {
        let reply = served.get(&served.operator, &format!("/v1/audit?{query}")).await;
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
    // Every kind that is written is one that can be asked for.
    for kind in
        ["call", "settle,late", "unknown", "resolve", "undo", "confirmation", "note", "config"]
            .into_iter()
            .chain(["confirmation_mismatch", "model_request", "connection"])
    {
        let reply = served.get(&served.operator, &format!("/v1/audit?kind={kind}")).await;
        assert_eq!(reply.status, 200, "{kind}: {reply:?}");
    }
    let odd = [("Accept", "text/event-stream"), ("Last-Event-ID", "yesterday")];
    let reply = served.send(&served.operator, "GET", "/v1/events", &odd, None).await;
    assert!(reply.status == 400 && reply.body.contains("Last-Event-ID"), "{reply:?}");
}

#[tokio::test]
async fn a_stream_tells_only_what_was_asked_for() {
    let served = Served::new().await;
    let mut stream = Stream::open(&served, "?tool=send&kind=tool_call_result", "").await;
    call(&served, "echo", "one").await;
    let send = call(&served, "send", "two").await;
    let (name, said, id) = stream.next().await;
    assert_eq!((name.as_str(), &said["call"]), ("tool_call_result", &json!(send)));
    assert!(!id.is_empty(), "{said}");
}

#[tokio::test]
async fn whoever_comes_back_is_told_first_what_was_missed() {
    let served = Served::new().await;
    let mut stream = Stream::open(&served, "", "").await;
    let first = call(&served, "echo", "one").await;
    let (_, said, _) = stream.next().await;
    assert_eq!(said["call"], json!(first));
    let (name, _, last) = stream.next().await;
    assert_eq!(name, "tool_call_result");
    drop(stream);
    let second = call(&served, "echo", "two").await;
    let mut stream = Stream::open(&served, "", &format!("Last-Event-ID: {last}\r\n")).await;
    let third = call(&served, "echo", "three").await;
    for (call, kind) in [
        (&second, "tool_call_start"),
        (&second, "tool_call_result"),
        (&third, "tool_call_start"),
        (&third, "tool_call_result"),
    ] {
        let (name, said, _) = stream.next().await;
        assert_eq!((name.as_str(), &said["call"]), (kind, &json!(call)));
    }
}

#[tokio::test]
async fn whoever_comes_back_too_late_is_told_from_where_to_read() {
    let served = Served::new().await;
    let missed = call(&served, "echo", "one").await;
    let last = "Last-Event-ID: 00000000000000ff.5.1000\r\n";
    let mut stream = Stream::open(&served, "?tool=echo", last).await;
    let (name, said, _) = stream.next().await;
    assert_eq!(
        (name.as_str(), &said["events"], &said["sinceMs"]),
        ("lost", &json!(null), &json!(1000))
    );
    let found = listed(&served, &served.operator, said["read"].as_str().unwrap()).await;
    assert_eq!(found, [missed], "{said}");
}

/// Whoever pages with a damaged cursor is told, and does not begin at the newest again.
#[tokio::test]
async fn what_only_looks_like_the_id_of_an_entry_is_refused() {
    let served = Served::new().await;
    let agent = served.send(&served.admin, "PUT", "/v1/admin/agents/night", &[], Some(json!({})));
    assert_eq!(agent.await.status, 201);
    let newest = served.get(&served.operator, "/v1/audit?limit=1").await.json();
    let id = newest[0]["id"].as_str().unwrap();
    let last = if id.ends_with('0') { '1' } else { '0' };
    let forged = format!("{}{last}", &id[..id.len() - 1]);
    for (key, id, status) in
        [(&served.operator, id, 200), (&served.operator, &forged, 400), (&served.stranger, id, 400)]
    {
        let reply = served.get(key, &format!("/v1/audit?before={id}")).await;
        assert_eq!(reply.status, status, "{id}: {reply:?}");
    }
}
