//! Who is let in, and what is turned away before anything reads it.

use std::sync::Arc;
use std::time::Duration;

use haft_core::Principal;
use haft_core::port::{EffectFilter, Journal as _, Ledger as _, Store as _};
use haft_server::Limits;
use haft_store::{Manual, Memory, Options, Sqlite};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::Served;

#[tokio::test]
async fn nobody_gets_in_without_a_key() {
    let served = Served::new().await;
    let document = haft_server::openapi();
    let mut tried = 0;
    for (path, item) in &document.paths.paths {
        let path = path.replace("{agent}", "helper").replace(['{', '}'], "x");
        let open = ["/healthz", "/readyz", "/errors/"].iter().any(|one| path.starts_with(one));
        let methods = [("GET", &item.get), ("POST", &item.post), ("DELETE", &item.delete)];
        for (method, operation) in methods {
            if operation.is_none() || open {
                continue;
            }
            for key in ["", "haft_helper_0000", "nonsense"] {
                let reply = served.send(key, method, &path, &[], Some(json!({}))).await;
                assert_eq!(reply.status, 401, "{method} {path} with `{key}`: {reply:?}");
                let said = reply.json();
                let problem =
                    if path.ends_with("/chat/completions") { &said["error"] } else { &said };
                assert_eq!(problem["code"], "unauthenticated", "{path}");
            }
            tried += 1;
        }
    }
    assert!(tried >= 18, "only {tried} operations were tried");
    assert_eq!(served.get("", "/healthz").await.status, 200);
    assert_eq!(served.get("", "/readyz").await.status, 200);
}

#[tokio::test]
async fn nothing_of_another_tenant_can_be_reached() {
    let served = Served::new().await;
    let session = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await;
    assert_eq!(session.status, 201, "{session:?}");
    let id = session.json()["id"].as_str().unwrap().to_owned();
    for path in ["/v1/agents/helper/tools".to_owned(), format!("/v1/agents/helper/sessions/{id}")] {
        let reply = served.get(&served.stranger, &path).await;
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
    // Through their own agent, a session of ours is like one that never was.
    let ours = served.get(&served.stranger, &format!("/v1/agents/spy/sessions/{id}")).await;
    let none = served.get(&served.stranger, "/v1/agents/spy/sessions/ses_0").await;
    assert_eq!(ours.status, none.status);
    assert_eq!(ours.body.replace(&id, "ses_0"), none.body);
    let call = json!({"tool": "echo"});
    let reply = served.post(&served.stranger, "/v1/agents/helper/calls", call).await;
    assert_eq!(reply.status, 404);
    served.post(&served.agent, "/v1/agents/helper/calls", json!({"tool": "echo"})).await;
    assert_eq!(served.get(&served.stranger, "/v1/calls").await.json(), json!([]));
    assert_eq!(served.get(&served.operator, "/v1/calls").await.json()[0]["tool"], "shop__echo");
}

#[tokio::test]
async fn foreign_names_and_pages_are_turned_away() {
    let served = Served::made(|mut door| {
        door.hosts.push("haft.example".to_owned());
        door
    })
    .await;
    let ask = |host: &str, more: &str| {
        format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n")
    };
    for (host, more, status) in [
        ("localhost", "", 200),
        ("127.0.0.1:80", "", 200),
        ("rebound.example", "", 403),
        ("localhost.rebound.example", "", 403),
        ("localhost:abc", "", 403),
        ("127.0.0.1:7514.evil.example", "", 403),
        ("localhost", "Origin: http://localhost\r\n", 200),
        ("localhost:7411", "Origin: https://LOCALHOST:7411\r\n", 200),
        ("localhost:443", "Origin: https://localhost\r\n", 200),
        ("localhost", "Origin: http://localhost:9\r\n", 403),
        ("localhost:7411", "Origin: http://127.0.0.1:7411\r\n", 403),
        ("localhost", "Origin: app://localhost\r\n", 403),
        // A proxy that puts in a host of its own.
        ("127.0.0.1:7411", "Origin: https://haft.example\r\n", 200),
        ("127.0.0.1:7411", "Origin: https://haft.example:8443\r\n", 403),
        ("haft.example:7411", "Origin: http://haft.example\r\n", 403),
        ("localhost", "Origin: http://rebound.example\r\n", 403),
        ("localhost", "Origin: null\r\n", 403),
        ("localhost", "Host: localhost\r\n", 400),
        ("localhost", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", 400),
        ("localhost", "Content-Encoding: gzip\r\n", 415),
    ] {
        let reply = served.raw(ask(host, more).as_bytes()).await;
        assert_eq!(reply.status, status, "{host} {more:?}: {reply:?}");
    }
    // An address that names a host, too.
    for (address, host, status) in [
        ("localhost", "localhost", 200),
        ("localhost", "rebound.example", 403),
        ("rebound.example", "localhost", 403),
    ] {
        let text = ask(host, "").replace("/healthz", &format!("http://{address}/healthz"));
        let reply = served.raw(text.as_bytes()).await;
        assert_eq!(reply.status, status, "{address} {host}: {reply:?}");
    }
}

/// A tool whose address leads back to the server it runs in.
#[tokio::test]
async fn a_server_refuses_its_own_requests() {
    let served = Served::new().await;
    let key = &served.agent;
    let ask = |mark: &str| {
        format!(
            "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {key}\r\nContent-Type: application/json\r\nhaft-hop: {mark}\r\n\
             Content-Length: 15\r\n\r\n{{\"tool\":\"echo\"}}"
        )
    };
    let other = served.raw(ask("0123456789abcdef0123456789abcdef").as_bytes()).await;
    assert_eq!(other.status, 200, "{other:?}");
    let own = served.raw(ask(haft_core::hop::own()).as_bytes()).await;
    assert_eq!((own.status, own.json()["code"].clone()), (508, json!("loop")), "{own:?}");
    assert_eq!(served.get(&served.operator, "/v1/calls").await.json().as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_two_readers_could_take_differently_is_refused() {
    let served = Served::new().await;
    let key = &served.agent;
    let head = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    );
    let twice = r#"{"tool":"echo","t\u006fol":"send"}"#;
    for (more, body) in [
        (format!("Content-Length: {}\r\n", twice.len()), twice),
        ("Content-Length: 4\r\nContent-Length: 5\r\n".to_owned(), "{}  "),
        ("Content-Length: 2\r\n X: folded\r\n".to_owned(), "{}"),
    ] {
        let reply = served.raw(format!("{head}{more}\r\n{body}").as_bytes()).await;
        assert_eq!(reply.status, 400, "{more:?}: {reply:?}");
    }
    let plain = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {key}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}"
    );
    assert_eq!(served.raw(plain.as_bytes()).await.status, 415);
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn a_head_that_could_be_read_in_two_ways_ends_the_connection() {
    let served = Served::new().await;
    let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (lines, statuses) in [
        ("Host: localhost\r\n", 2),
        ("Host: localhost\r\nHost: localhost\r\n", 1),
        ("", 1),
        ("Host: elsewhere.example\r\n", 2),
    ] {
        let text = format!("GET /healthz HTTP/1.1\r\n{lines}\r\n{next}");
        let reply = served.raw(text.as_bytes()).await;
        let all = format!("{}\r\n\r\n{}", reply.head, reply.body);
        assert_eq!(all.matches("HTTP/1.1 ").count(), statuses, "{lines:?}: {all}");
    }
}

#[tokio::test]
async fn a_key_that_is_for_no_agent_is_told_so() {
    let served = Served::new().await;
    for role in ["approver", "metrics"] {
        let wanted = json!({"principal": "user:ann", "roles": [role]});
        let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
        let key = made.json()["key"].as_str().unwrap().to_owned();
        for path in ["/v1/tools", "/v1/agents/helper/tools", "/v1/agents/nobody/tools"] {
            let reply = served.get(&key, path).await;
            assert_eq!((reply.status, &reply.json()["code"]), (403, &json!("forbidden")), "{path}");
        }
    }
    assert_eq!(served.get(&served.agent, "/v1/agents/nobody/tools").await.status, 404);
}

/// A length beside chunks: the HTTP library passes over it, and whoever stands before this server may not.
#[tokio::test]
async fn a_length_beside_chunks_is_refused_and_ends_the_connection() {
    let served = Served::new().await;
    let head = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\n",
        served.agent
    );
    let healthy = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let body = "f\r\n{\"tool\":\"echo\"}\r\n0\r\n\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{body}");
    let sized = format!("{head}Content-Length: 15\r\n\r\n{{\"tool\":\"echo\"}}");
    let (te, cl) = ("Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n");
    let folded = te.to_lowercase() + &cl.to_uppercase();
    // Behind the last chunk only `\r\n` ends a line: this is one trailer, and no end before it.
    let odd = chunked.replace("0\r\n\r\n", "0\r\n\nx: y\r\n\r\n");
    for (before, lines, statuses) in [
        (&*odd, format!("{te}{cl}"), "200 400"),
        (&odd, te.to_owned(), "200 400"),
        ("", format!("{te}{cl}"), "400"),
        ("", format!("{cl}{te}"), "400"),
        ("", folded.clone(), "400"),
        ("", format!("{te}X: y\r\n {cl}"), "400"),
        (healthy, format!("{te}{cl}"), "200 400"),
        (&chunked, folded, "200 400"),
        (&sized, format!("{cl}{te}"), "200 400"),
        (&chunked, te.to_owned(), "200 200 200"),
        (&sized, te.to_owned(), "200 200 200"),
    ] {
        // What comes after it is asked of nobody.
        let text = format!("{before}{head}{lines}\r\n{body}{healthy}");
        let runs = served.runs();
        for size in [text.len(), 1, 7] {
            let told = in_parts(&served, text.as_bytes(), size).await;
            assert_eq!(told, statuses, "{size} at a time: {text}");
        }
        let acts = before.matches("echo").count() + usize::from(!statuses.contains("400"));
        assert_eq!(served.runs() - runs, 3 * acts, "{text}");
    }
}

/// The statuses of what is answered to a text that is sent in parts, until the server hangs up or the
/// last request is answered.
async fn in_parts(served: &Served, text: &[u8], size: usize) -> String {
    let mut stream = served.connect().await;
    stream.set_nodelay(true).unwrap();
    for part in text.chunks(size) {
        // It may have hung up already.
        if stream.write_all(part).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut told = Vec::new();
    while !told.ends_with(b"ok\n") || !statuses(&told).starts_with("200 200 200") {
        let mut bytes = [0; 1024];
        match stream.read(&mut bytes).await {
            Ok(0) | Err(_) => break,
            Ok(size) => told.extend_from_slice(&bytes[..size]),
        }
    }
    statuses(&told)
}

fn statuses(told: &[u8]) -> String {
    let told = String::from_utf8_lossy(told);
    let all = told.split("HTTP/1.1 ").skip(1).filter_map(|one| one.split(' ').next());
    all.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_body_is_utf8_and_an_object() {
    let served = Served::new().await;
    for (kind, body, status, says) in [
        ("application/json", r#"{"tool":"echo"}"#, 200, ""),
        ("application/json; charset=UTF-8", r#"{"tool":"echo"}"#, 200, ""),
        ("application/json;charset=\"utf-8\"", r#"{"tool":"echo"}"#, 200, ""),
        ("application/json; charset=utf-16", r#"{"tool":"echo"}"#, 415, "must be UTF-8"),
        ("application/json; x=y; Charset=utf-7", r#"{"tool":"echo"}"#, 415, "must be UTF-8"),
        ("application/json", r#"["echo"]"#, 400, "the body must be a JSON object"),
        ("application/json", r#"{"calls":[["echo"]]}"#, 400, "a list stands where"),
    ] {
        let reply = served
            .raw(
                format!(
                    "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                     Authorization: Bearer {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
                    served.agent,
                    body.len()
                )
                .as_bytes(),
            )
            .await;
        assert_eq!(reply.status, status, "{kind} {body}: {reply:?}");
        assert!(reply.body.contains(says), "{kind} {body}: {reply:?}");
    }
    let list = json!(["n", "user:z", null, ["operator"], null, null]);
    let made = served.post(&served.admin, "/v1/admin/keys", list).await;
    assert_eq!(made.status, 400, "{made:?}");
    let approved = served.post(&served.operator, "/v1/confirmations/x", json!([true])).await;
    assert_eq!(approved.status, 400, "{approved:?}");
}

#[tokio::test]
async fn an_answer_to_a_body_that_was_not_read_says_that_the_connection_ends() {
    let served = Served::new().await;
    let (key, json) = (&served.agent, "Content-Type: application/json\r\n");
    for (path, headers, status, closes) in [
        ("/v1/agents/helper/calls", format!("Authorization: Bearer {key}\r\n{json}"), 200, false),
        ("/v1/agents/helper/calls", format!("Authorization: Bearer {key}\r\n"), 415, true),
        ("/v1/agents/helper/calls", json.to_owned(), 401, true),
        ("/v1/agents/nobody/calls", format!("Authorization: Bearer {key}\r\n{json}"), 404, true),
        ("/nowhere", json.to_owned(), 401, true),
        ("/nowhere", format!("Authorization: Bearer {key}\r\n{json}"), 404, true),
    ] {
        let body = r#"{"tool":"echo"}"#;
        let text = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = served.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let size = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..size]).to_lowercase();
        assert!(answer.starts_with(&format!("http/1.1 {status}")), "{path}: {answer}");
        assert_eq!(answer.contains("connection: close\r\n"), closes, "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_while_it_arrives() {
    let limits = Limits { body_bytes: 1000, ..Limits::default() };
    let served = Served::with(limits).await;
    let mut text = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        served.agent
    );
    for _ in 0..20 {
        text += &format!("64\r\n{}\r\n", "x".repeat(100));
    }
    // No end: the answer must not wait for one.
    let mut stream = served.connect().await;
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_head_that_does_not_come_is_not_waited_for() {
    let limits = Limits { head: Duration::from_millis(50), ..Limits::default() };
    let served = Served::with(limits).await;
    // Nothing at all, half a head, and what HTTP/2 would begin with.
    for begin in [&b""[..], b"GET /healthz HTT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut slow = served.connect().await;
        slow.write_all(begin).await.unwrap();
        let mut all = Vec::new();
        // Returns because the server hangs up.
        let _ = slow.read_to_end(&mut all).await;
        assert!(!String::from_utf8_lossy(&all).contains("200"));
    }
    assert_eq!(served.get("", "/healthz").await.status, 200);
}

/// One answer to `/healthz`, as far as it goes.
async fn healthy(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await?;
    let mut seen = Vec::new();
    while !seen.ends_with(b"ok\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).await?;
        seen.push(byte[0]);
    }
    assert!(seen.starts_with(b"HTTP/1.1 200"));
    Ok(())
}

#[tokio::test]
async fn a_client_with_nothing_to_say_stays_longer_than_one_that_does_not_finish() {
    let (head, keep_alive) = (Duration::from_millis(100), Duration::from_millis(1_500));
    let served = Served::with(Limits { head, keep_alive, ..Limits::default() }).await;
    let mut stream = served.connect().await;
    healthy(&mut stream).await.unwrap();
    tokio::time::sleep(5 * head).await;
    healthy(&mut stream).await.unwrap();
    // Half a head, and it is over long before silence would be.
    let begun = std::time::Instant::now();
    stream.write_all(b"GET /healthz HTT").await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!((head..keep_alive).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    // Silence has its end, too, and counts from the last request.
    let mut silent = served.connect().await;
    healthy(&mut silent).await.unwrap();
    tokio::time::sleep(keep_alive * 2 / 3).await;
    healthy(&mut silent).await.unwrap();
    let since = std::time::Instant::now();
    assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
    // The answer was on its way for a moment.
    assert!(since.elapsed() > keep_alive * 2 / 3, "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_trail_that_was_touched_is_told_at_the_door_and_to_whoever_wants_an_effect() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    let open = || {
        let options = Options { verify: haft_store::Verify::Whole, ..Options::default() };
        Arc::new(Sqlite::open(&path, options).unwrap())
    };
    let send = async |served: &Served, key: &str| {
        let body = json!({"tool": "send", "arguments": {"text": "x"}, "idempotency_key": key});
        served.post(&served.agent, "/v1/agents/helper/calls", body).await
    };
    let served = Served::on(open(), Limits::default()).await;
    assert_eq!(send(&served, "a").await.status, 200);
    assert_eq!(served.get("", "/readyz").await.status, 200);
    served.stop().await;
    std::fs::write(Sqlite::checkpoints(&path), "{}\n").unwrap();
    let served = Served::on(open(), Limits::default()).await;
    let ready = served.get("", "/readyz").await;
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(ready.body.contains("haft audit acknowledge"), "{ready:?}");
    let refused = send(&served, "b").await;
    let error = &refused.json()["error"];
    assert_eq!((&error["kind"], &error["retryable"]), (&json!("store_unavailable"), &json!(false)));
    assert!(error["suggestion"].as_str().unwrap().contains("haft audit verify"), "{error}");
    // Somebody looks, in another process.
    open().acknowledge(&Principal::user("ines"), "a restored backup").await.unwrap();
    assert_eq!(send(&served, "c").await.status, 200);
    let mut tries = 0;
    while served.get("", "/readyz").await.status != 200 {
        tries += 1;
        assert!(tries < 200, "it is not ready again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_store_without_room_is_told_at_the_door() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Manual::at(1_760_000_000_000);
    let options = Options { max_bytes: Some(600_000), clock: clock.clone(), ..Options::default() };
    let store = Arc::new(Sqlite::open(dir.path().join("haft.db"), options).unwrap());
    let served = Served::on(store.clone(), Limits::default()).await;
    // Down to the last page: what is left of one takes a small entry still.
    for size in [50_000, 2_000, 100] {
        let mut notes = 0;
        while store.note("acme", "note", json!("x".repeat(size))).await.is_ok() {
            notes += 1;
            assert!(notes < 1_000, "there is always room");
        }
    }
    let body = json!({"tool": "send", "arguments": {"text": "x"}, "idempotency_key": "a"});
    let refused = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert_eq!(refused.json()["error"]["kind"], "store_unavailable", "{refused:?}");
    let ready = served.get("", "/readyz").await;
    assert_eq!((ready.status, ready.body.contains("has no room left")), (503, true), "{ready:?}");
    // However long ago it is that something was refused: there is still no room.
    clock.advance(1_000);
    assert!(store.is_writable(), "somebody may try again");
    let again = Served::on(store.clone(), Limits::default()).await;
    let ready = again.get("", "/readyz").await;
    assert_eq!((ready.status, ready.body.contains("has no room left")), (503, true), "{ready:?}");
    store.set_max_bytes(None).await.unwrap();
    let mut tries = 0;
    while served.get("", "/readyz").await.status != 200 {
        tries += 1;
        assert!(tries < 200, "it is not ready again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn whoever_sends_a_wrong_token_is_told_that_it_is_wrong() {
    let served = Served::new().await;
    let told = async |key: &str, path: &str| {
        let reply = served.get(key, path).await;
        reply.header("www-authenticate").unwrap().to_owned()
    };
    for path in ["/v1/tools", "/mcp"] {
        assert_eq!(told("", path).await, "Bearer realm=\"haft\"", "{path}");
        let wrong = told("haft_helper_0000", path).await;
        assert_eq!(wrong, "Bearer realm=\"haft\", error=\"invalid_token\"", "{path}");
    }
}

#[tokio::test]
async fn a_client_that_has_the_tools_is_not_sent_them_again() {
    let served = Served::new().await;
    let place = "/v1/agents/helper/tools";
    let tag = served.get(&served.agent, place).await.header("etag").unwrap().to_owned();
    let (weak, list) = (format!("W/{tag}"), format!("\"other\", W/{tag}"));
    for (seen, status) in [(&*tag, 304), (&weak, 304), (&list, 304), ("*", 304), ("\"x\"", 200)] {
        let headers = [("If-None-Match", seen)];
        let reply = served.send(&served.agent, "GET", place, &headers, None).await;
        assert_eq!(reply.status, status, "{seen}");
        assert_eq!(reply.header("cache-control"), Some("private, no-cache"), "{seen}");
    }
}

#[tokio::test]
async fn the_tenants_tools_are_listed_with_their_tier_and_searched() {
    let served = Served::new().await;
    let off = json!({"enabled": false});
    let place = "/v1/admin/agents/helper/activations/shop__send";
    let headers = [("If-None-Match", "*")];
    let turned = served.send(&served.admin, "PUT", place, &headers, Some(off)).await;
    assert!(turned.status < 300, "{turned:?}");
    for key in [&served.agent, &served.operator, &served.admin] {
        let all = served.get(key, "/v1/tools").await.json();
        let tiers: Vec<(&str, u64)> = all["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["id"].as_str().unwrap(), one["tier"].as_u64().unwrap()))
            .collect();
        assert_eq!(tiers, [("shop__echo", 3), ("shop__pay", 3), ("shop__send", 2)], "{all}");
        assert_eq!(all["agent"], "helper");
        let send = served.get(key, "/v1/tools/send").await.json();
        assert_eq!(
            (&send["id"], &send["why"]),
            (&json!("shop__send"), &json!("disabled_for_agent"))
        );
        let found = served.get(key, "/v1/tools?q=pay").await.json();
        assert_eq!(found["tools"][0]["id"], "shop__pay", "{found}");
        let doc = served.get(key, "/v1/tools/shop__send/doc").await;
        assert_eq!((doc.status, doc.body.as_str()), (200, "# How to use it\n"));
        assert_eq!(served.get(key, "/v1/tools/nothing").await.status, 404);
        assert_eq!(served.get(key, "/v1/tools?agent=spy").await.status, 404);
    }
    assert_eq!(served.get(&served.stranger, "/v1/tools").await.json()["agent"], "spy");
}

#[tokio::test]
async fn more_than_there_is_room_for_is_told_to_wait() {
    let served = Arc::new(Served::with(Limits { at_once: 1, ..Limits::default() }).await);
    let first = tokio::spawn({
        let served = served.clone();
        async move {
            // Holds the only place until it is let go.
            let call = json!({"tool": "echo", "arguments": {"text": "wait"}});
            served.post(&served.agent, "/v1/agents/helper/calls", call).await.status
        }
    });
    served.ran(1).await;
    let second = served.get("", "/v1/openapi.json").await;
    let wait = second.header("retry-after").and_then(|text| text.parse::<u64>().ok());
    assert!(second.status == 503 && matches!(wait, Some(1 | 2)), "{second:?}");
    served.gate()(1);
    assert_eq!(first.await.unwrap(), 200);
    assert_eq!(served.get("", "/v1/openapi.json").await.status, 200);
}

#[tokio::test]
async fn told_to_stop_it_finishes_what_it_has() {
    let served = Served::new().await;
    let mut open = served.connect().await;
    let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
    open.write_all(head.as_bytes()).await.unwrap();
    let stop = tokio::spawn(served.stop());
    open.write_all(b"\r\n").await.unwrap();
    let mut answer = [0; 15];
    open.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    assert_eq!(stop.await.unwrap().effects, 0);
}

#[tokio::test]
async fn who_only_listens_does_not_hold_up_the_end() {
    let served = Served::new().await;
    let mut open = served.connect().await;
    let ask = format!(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
         Authorization: Bearer {}\r\n\r\n",
        served.operator
    );
    open.write_all(ask.as_bytes()).await.unwrap();
    let mut answer = [0; 15];
    open.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    let stopped = tokio::time::timeout(Duration::from_secs(10), served.stop()).await;
    assert_eq!(stopped.expect("it waits for the listener").effects, 0);
}

#[tokio::test]
async fn told_to_stop_it_says_so_before_it_closes_its_door() {
    let limits = Limits { leave: Duration::from_secs(3600), ..Limits::default() };
    let mut served = Served::on(Arc::new(Memory::new()), limits).await;
    assert_eq!(served.get("", "/readyz").await.status, 200);
    served.tell_to_stop();
    while served.get("", "/readyz").await.status == 200 {
        tokio::task::yield_now().await;
    }
    let reply = served.get("", "/readyz").await;
    assert_eq!((reply.status, reply.body.as_str()), (503, "the server is about to stop\n"));
    let body = json!({"tool": "echo", "arguments": {"text": "x"}});
    let reply = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert_eq!(reply.status, 200, "who comes meanwhile is served");
    let port = served.port();
    let stopped = tokio::time::timeout(Duration::from_secs(20), served.hurry()).await;
    let left = stopped.expect("the second word shortens the hour");
    assert_eq!((left.effects, left.requests), (0, 0));
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
}

#[tokio::test]
async fn told_twice_it_does_not_wait_for_effects_and_says_how_many_there_are() {
    let mut served = Served::new().await;
    let body = json!({"tool": "send", "arguments": {"text": "wait"}, "idempotency_key": "k"});
    let (port, key) = (served.port(), served.agent.clone());
    let text = body.to_string();
    let request = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    let mut open = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    open.write_all(request.as_bytes()).await.unwrap();
    served.ran(1).await;
    served.tell_to_stop();
    let stopped = tokio::time::timeout(Duration::from_secs(10), served.hurry()).await;
    let left = stopped.expect("it waits for the effect");
    assert_eq!((left.effects, left.requests), (1, 1));
}

/// What was accepted goes on to its end, also where nothing of it runs at the moment that the server looks.
#[tokio::test]
async fn told_to_stop_it_carries_out_what_it_has_accepted() {
    const CALLS: usize = 4;
    for watched in [false, true] {
        let store = Arc::new(Memory::new());
        let mut served = Served::on(store.clone(), Limits::default()).await;
        let call =
            |at: usize| json!({"tool": "send", "arguments": {"text": format!("wait {at}0")}});
        let calls = json!({"calls": (1..=CALLS).map(call).collect::<Vec<_>>()}).to_string();
        let wanted = if watched { "Accept: text/event-stream" } else { "Prefer: respond-async" };
        let request = format!(
            "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nIdempotency-Key: k\r\n{wanted}\r\n\
             Content-Length: {}\r\n\r\n{calls}",
            served.agent,
            calls.len()
        );
        let mut open = served.connect().await;
        open.write_all(request.as_bytes()).await.unwrap();
        served.ran(1).await;
        drop(open);
        served.tell_to_stop();
        let left = served.stop().await;
        assert_eq!((left.effects, left.requests), (0, 0), "watched: {watched}");
        let effects = EffectFilter { tenant: "ours".into(), limit: 10, ..EffectFilter::default() };
        let effects = store.effects(effects).await.unwrap();
        let ends: Vec<_> = effects.iter().map(|one| one.state.as_str()).collect();
        assert_eq!(ends, ["succeeded"; CALLS], "watched: {watched}");
    }
}
