//! Bodies that are too long, or of another length than they say, or packed: at every door that reads one.

use std::time::Duration;

use haft_server::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::Served;

const LIMIT: usize = 1000;

/// A server, and the doors that read a body: the heads of requests that get as far as that.
struct Doors {
    served: Served,
    heads: Vec<String>,
}

impl Doors {
    async fn new() -> Self {
        let body = Duration::from_millis(300);
        let served = Served::with(Limits { body_bytes: LIMIT, body, ..Limits::default() }).await;
        let form =
            "Content-Type: application/x-www-form-urlencoded\r\nOrigin: http://localhost\r\n";
        let json = |key: &str| {
            format!("Authorization: Bearer {key}\r\nContent-Type: application/json\r\n")
        };
        let shown = format!("key={}", served.operator);
        let enter = format!(
            "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{form}\
             Content-Length: {}\r\n\r\n{shown}",
            shown.len()
        );
        let entered = served.raw(enter.as_bytes()).await;
        let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let (agent, admin) = (json(&served.agent), json(&served.admin));
        let heads = [
            ("POST /v1/agents/helper/calls", agent.as_str()),
            ("POST /v1/agents/helper/sessions", &agent),
            ("POST /v1/chat/completions", &agent),
            ("POST /v1/agents/helper/chat/completions", &agent),
            ("POST /mcp", &agent),
            ("POST /v1/connections", &admin),
            ("PUT /v1/admin/policies/own", &admin),
            ("POST /console/sign-in", form),
            ("POST /console/audit", &format!("{form}Cookie: {cookie}\r\n")),
        ];
        let heads = heads.map(|(line, more)| {
            format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}")
        });
        Self { heads: heads.to_vec(), served }
    }

    /// What every door answers to a body. The client stays and sends nothing more.
    async fn check(&self, framing: &str, body: &[u8], statuses: &[u16]) {
        for head in &self.heads {
            let mut stream = self.served.connect().await;
            let text = [format!("{head}{framing}\r\n").as_bytes(), body].concat();
            stream.write_all(&text).await.unwrap();
            let mut answer = [0; 12];
            let read =
                tokio::time::timeout(Duration::from_secs(10), stream.read_exact(&mut answer));
            let read = read.await.unwrap_or_else(|_| panic!("{head}{framing}: no answer"));
            let said = String::from_utf8_lossy(&answer).into_owned();
            read.unwrap_or_else(|why| panic!("{head}{framing}: {why} {said}"));
            let status = match said.rsplit(' ').next().unwrap().parse().unwrap() {
                // The page that asks for a key, once more.
                200 if head.contains("/sign-in") => 401,
                status => status,
            };
            assert!(statuses.contains(&status), "{head}{framing}: {said}");
        }
        assert_eq!(self.served.runs(), 0, "{framing}");
        let fine = self.served.get("", "/healthz").await;
        assert_eq!(fine.status, 200, "{framing}");
    }
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

#[tokio::test]
async fn what_is_too_long_is_refused_at_every_door_however_it_comes() {
    let doors = Doors::new().await;
    let long = vec![b' '; LIMIT + 1];
    let length = format!("Content-Length: {}\r\n", long.len());
    doors.check(&length, &long, &[413]).await;
    // It says so itself: nothing of it need come.
    doors.check(&length, b"", &[413]).await;
    doors.check("Content-Length: 18446744073709551615\r\n", b"{", &[413, 431]).await;
    // It does not say so, and has no end.
    let chunks = chunk(&[b' '; 100]).repeat(LIMIT / 100 + 1);
    doors.check("Transfer-Encoding: chunked\r\n", &chunks, &[413]).await;
    let large = [b"ffff\r\n".as_slice(), &long].concat();
    doors.check("Transfer-Encoding: chunked\r\n", &large, &[413]).await;
    // Very many very small pieces.
    let small = chunk(b" ").repeat(LIMIT + 1);
    doors.check("Transfer-Encoding: chunked\r\n", &small, &[413]).await;
    doors.check("Transfer-Encoding: chunked\r\n", b"ffffffffffffffffff\r\n{", &[400]).await;
}

#[tokio::test]
async fn a_body_of_another_length_than_it_says_does_nothing() {
    let doors = Doors::new().await;
    let body = br#"{"tool": "send", "arguments": {"text": "x"}, "idempotency_key": "a"}"#;
    // Less comes than was said: it is waited for, and not for ever.
    let more = format!("Content-Length: {}\r\n", body.len() + 1);
    doors.check(&more, body, &[408]).await;
    let open = [chunk(body).as_slice(), b"5\r\n{"].concat();
    doors.check("Transfer-Encoding: chunked\r\n", &open, &[408]).await;
    // More comes than was said: what was said is not whole.
    let less = format!("Content-Length: {}\r\n", body.len() - 1);
    doors.check(&less, body, &[400, 401, 403]).await;
    doors.check("Content-Length: 0\r\n", body, &[400, 401, 403]).await;
    for odd in ["-1", "+5", "5, 6", "0x5", "five", ""] {
        doors.check(&format!("Content-Length: {odd}\r\n"), body, &[400]).await;
    }
    doors.check("Transfer-Encoding: chunked\r\n", b"-5\r\n{}", &[400]).await;
}

/// Whoever leaves before the body is there has asked for nothing.
#[tokio::test]
async fn half_a_body_of_somebody_who_left_does_nothing() {
    let doors = Doors::new().await;
    for head in &doors.heads {
        for framing in ["Content-Length: 500\r\n", "Transfer-Encoding: chunked\r\n"] {
            let mut stream = doors.served.connect().await;
            let text = format!("{head}{framing}\r\n1f4\r\n{{\"tool\": \"send\"");
            stream.write_all(text.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            let said = String::from_utf8_lossy(&answer);
            assert!(!said.starts_with("HTTP/1.1 2"), "{head}{framing}: {said}");
        }
    }
    assert_eq!(doors.served.runs(), 0);
}

/// What would follow a body that says less than it is, on a connection that stays.
#[tokio::test]
async fn what_is_behind_a_body_is_another_request_or_nothing() {
    let served = Served::new().await;
    let body = json!({"tool": "echo", "arguments": {"text": "x"}}).to_string();
    let ask = |behind: &str| {
        format!(
            "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}{behind}",
            served.agent,
            body.len()
        )
    };
    let reply = served.raw(ask("}}{\"tool\": \"send\"}\r\n\r\n").as_bytes()).await;
    assert_eq!((reply.status, served.runs()), (200, 1), "{reply:?}");
    assert_eq!(reply.body.matches("HTTP/1.1 ").count(), 1, "{reply:?}");
    assert!(reply.body.contains("HTTP/1.1 400"), "{reply:?}");
    // One without a key is refused like any other.
    let behind = "GET /v1/calls HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let reply = served.raw(ask(behind).as_bytes()).await;
    assert!(reply.status == 200 && reply.body.contains("HTTP/1.1 401"), "{reply:?}");
}

#[tokio::test]
async fn packed_bodies_are_not_unpacked() {
    let doors = Doors::new().await;
    // Ten megabytes of nothing, in each packing: nobody finds out.
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03";
    let zstd = b"\x28\xb5\x2f\xfd\xa0\x00\x00\xa0\x00";
    for (packing, body) in [
        ("gzip", &gzip[..]),
        ("x-gzip", gzip),
        ("br", b"\x8b\x02\x80"),
        ("zstd", zstd),
        ("deflate", b"\x78\x9c"),
        ("gzip, br", gzip),
        ("GZIP", gzip),
        ("identity", b"{}"),
        ("unheard-of", b"{}"),
    ] {
        let framing = format!("Content-Encoding: {packing}\r\nContent-Length: {}\r\n", body.len());
        doors.check(&framing, body, &[415]).await;
    }
    // Packed on the way, which is another matter and not taken either.
    for packing in ["gzip, chunked", "gzip", "chunked, gzip", "identity"] {
        let framing = format!("Transfer-Encoding: {packing}\r\n");
        doors.check(&framing, &[chunk(gzip).as_slice(), b"0\r\n\r\n"].concat(), &[400, 415]).await;
    }
    // And not said to be: it is no text.
    let framing = format!("Content-Length: {}\r\n", gzip.len());
    doors.check(&framing, gzip, &[400, 401, 403]).await;
}
