//! What lasts: streams and sockets that end with their key, and that nobody can take from others.

use std::time::Duration;

use haft_server::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Reply, Served};

const STREAM: &str = "Accept: text/event-stream\r\n";

/// A request whose answer does not end, and the beginning of that answer.
async fn listening(served: &Served, key: &str, path: &str, more: &str) -> (TcpStream, String) {
    let mut stream = served.connect().await;
    let ask = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{more}\r\n"
    );
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    (stream, String::from_utf8(head).unwrap())
}

/// Until the chunk that ends a stream, or the time in which it should have come is over.
pub(crate) async fn ends(stream: &mut TcpStream) -> bool {
    let reading = async {
        let mut seen = Vec::new();
        loop {
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return true,
                Ok(count) => seen.extend_from_slice(&piece[..count]),
            }
            if seen.ends_with(b"0\r\n\r\n") {
                return true;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap_or(false)
}

/// A key that was made, and the place where it is revoked.
async fn made(served: &Served, wanted: serde_json::Value) -> (String, String) {
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    assert_eq!(made.status, 201, "{made:?}");
    let place = made.header("location").unwrap().to_owned();
    (made.json()["key"].as_str().unwrap().to_owned(), place)
}

async fn revoke(served: &Served, place: &str) {
    let gone = served.send(&served.admin, "DELETE", place, &[], None).await;
    assert_eq!(gone.status, 200, "{gone:?}");
}

#[tokio::test]
async fn a_stream_of_events_ends_with_its_key_and_no_other_does() {
    let served = Served::new().await;
    let (key, place) = made(&served, json!({"principal": "user:ann", "roles": ["operator"]})).await;
    let (mut theirs, head) = listening(&served, &key, "/v1/events", STREAM).await;
    assert!(head.contains("200 OK"), "{head}");
    let (mut ours, _) = listening(&served, &served.operator, "/v1/events", STREAM).await;
    revoke(&served, &place).await;
    assert!(ends(&mut theirs).await, "it goes on without a key");
    // The other still hears what happens.
    served.post(&served.agent, "/v1/agents/helper/calls", json!({"tool": "echo"})).await;
    let mut heard = [0; 16];
    ours.read_exact(&mut heard).await.unwrap();
    assert!(!heard.ends_with(b"0\r\n\r\n"), "{heard:?}");
}

#[tokio::test]
async fn a_stream_of_an_mcp_session_ends_with_its_key() {
    let served = Served::new().await;
    let (key, place) =
        made(&served, json!({"principal": "agent:helper", "roles": ["agent"]})).await;
    let session = crate::mcp::begin(&served, &key).await;
    let more = format!("Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\n");
    let (mut stream, head) = listening(&served, &key, "/mcp", &more).await;
    assert!(head.contains("200 OK"), "{head}");
    revoke(&served, &place).await;
    assert!(ends(&mut stream).await, "it goes on without a key");
}

#[tokio::test]
async fn no_key_and_no_tenant_takes_every_place() {
    let served = Served::with(Limits { watchers: 8, ..Limits::default() }).await;
    let mut held = Vec::new();
    let mut take = async |key: &str| {
        let (stream, head) = listening(&served, key, "/v1/events", STREAM).await;
        let status: u16 = head.split(' ').nth(1).unwrap().parse().unwrap();
        if status == 200 {
            held.push(stream);
        }
        status
    };
    let statuses = [take(&served.operator).await, take(&served.operator).await];
    assert_eq!(statuses, [200, 200]);
    assert_eq!(take(&served.operator).await, 429, "a quarter for one key");
    assert_eq!([take(&served.admin).await, take(&served.admin).await], [200, 200]);
    let (third, _) = made(&served, json!({"principal": "user:ann", "roles": ["operator"]})).await;
    assert_eq!(take(&third).await, 429, "half for one tenant");
    assert_eq!(take(&served.stranger).await, 200, "another tenant has room");
    // A place is free again when its stream is closed.
    drop(held);
    let mut status = 429;
    for _ in 0..200 {
        let (_, head) = listening(&served, &third, "/v1/events", STREAM).await;
        status = head.split(' ').nth(1).unwrap().parse().unwrap();
        if status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(status, 200);
}

#[tokio::test]
async fn whoever_signs_in_slowly_takes_nobodys_place() {
    let served = Served::with(Limits { at_once: 2, ..Limits::default() }).await;
    let slow = "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\
                Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\
                Expect: 100-continue\r\n\r\n";
    let mut waiting = Vec::new();
    for _ in 0..10 {
        let mut stream = served.connect().await;
        stream.write_all(slow.as_bytes()).await.unwrap();
        let mut go_on = [0; 12];
        stream.read_exact(&mut go_on).await.unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100", "it is being read");
        waiting.push(stream);
    }
    let call = served.post(&served.agent, "/v1/agents/helper/calls", json!({"tool": "echo"})).await;
    assert_eq!(call.status, 200, "{call:?}");
}

#[tokio::test]
async fn sign_ins_are_bounded_too() {
    let limits = Limits { body: Duration::from_millis(300), ..Limits::default() };
    let served = Served::with(limits).await;
    let body = "key=a";
    let slow = |length: usize| {
        format!(
            "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\
             Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    };
    // Its end never comes, and is not waited for.
    let late: Reply = served.raw(slow(100).as_bytes()).await;
    assert_eq!(late.status, 408, "{late:?}");
    assert_eq!(served.raw(slow(body.len()).as_bytes()).await.status, 401);
}
