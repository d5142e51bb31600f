//! Responses that want more than their share.

use std::io::Write as _;
use std::time::{Duration, Instant};

use haft_core::ErrorKind;
use serde_json::json;

use super::rig::{call, client, tool, within};
use super::server::{Does, Server};
use crate::rig::{data, error};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn gzip(body: &[u8]) -> Does {
    let mut all = format!("{OK}content-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len())
        .into_bytes();
    all.extend_from_slice(body);
    Does::Says(all)
}

#[track_caller]
fn because(ended: haft_core::port::Ended) -> String {
    let (how, error) = error(ended);
    format!("{how}: {}", error.source.clone().unwrap_or_default())
}

#[tokio::test]
async fn a_packed_answer_is_unpacked() {
    let server = Server::saying(gzip(&packed(br#"{"a": 1}"#))).await;
    let ended = call(json!({"method": "GET", "url": server.url("/")}), json!({})).await;
    assert_eq!(data(ended), json!({"a": 1}));
    assert!(server.seen()[0].contains("accept-encoding: gzip\r\n"));
}

#[tokio::test]
async fn a_response_that_is_too_long_is_not_read_to_its_end() {
    let chunked = format!("{OK}transfer-encoding: chunked\r\n\r\n");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let long = "unusable: the response has more than 1048576 bytes";
    let bomb = packed(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 100 << 10, "a thousand to one");
    for (does, expected) in [
        (Does::Repeats(chunked.into_bytes(), chunk.into_bytes()), long),
        (Does::Repeats(format!("{OK}\r\n").into_bytes(), vec![b' '; 1000]), long),
        (Does::Hangs(format!("{OK}content-length: 99999999999\r\n\r\n").into_bytes()), long),
        (gzip(&bomb), long),
        (
            Does::Says(b"HTTP/1.1 500 Broken\r\ncontent-length: 99999999999\r\n\r\n".to_vec()),
            "lost: the response has more than 1048576 bytes",
        ),
        (gzip(b"not gzip at all"), "lost: the response cannot be unpacked"),
        (gzip(packed(b"{}").get(..8).unwrap()), "lost: the response cannot be unpacked"),
        (
            Does::Says(format!("{OK}content-encoding: br\r\n\r\nxx").into_bytes()),
            "lost: the response is packed as `br`",
        ),
        (
            Does::Repeats(
                b"HTTP/1.1 200 OK\r\n".to_vec(),
                b"x-a: bbbbbbbbbbbbbbbbbbbbbbbbbb\r\n".to_vec(),
            ),
            "lost: ",
        ),
        (Does::Repeats(b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'y'; 1000]), "lost: "),
        (
            Does::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n{}".to_vec()),
            "lost: the response broke off",
        ),
        (Does::Says(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}".to_vec()), "lost: "),
        (
            Does::Says(
                b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}".to_vec(),
            ),
            "lost: ",
        ),
    ] {
        let server = Server::saying(does).await;
        let start = Instant::now();
        let ended = call(json!({"method": "GET", "url": server.url("/")}), json!({})).await;
        let found = because(ended);
        assert!(found.starts_with(expected), "{found}");
        assert!(start.elapsed() < Duration::from_secs(4), "{found}");
    }
}

/// Whoever refuses has done nothing, however much they say about it.
#[tokio::test]
async fn a_refusal_is_one_however_long_it_is() {
    let long = "the response has more than 1048576 bytes";
    let says = |status: &str, rest: &str| {
        Does::Says(format!("HTTP/1.1 {status}\r\n{rest}\r\n").into_bytes())
    };
    let endless = "content-length: 99999999999\r\n";
    for (does, kind, expected) in [
        (says("403 No", endless), ErrorKind::Auth, long),
        (says("404 No", endless), ErrorKind::NotFound, long),
        (says("422 No", endless), ErrorKind::InvalidArguments, long),
        (says("307 There", endless), ErrorKind::Permanent, long),
        (
            says("409 No", "content-length: 5\r\n\r\n{}"),
            ErrorKind::Conflict,
            "the response broke off",
        ),
    ] {
        let server = Server::saying(does).await;
        let ended = call(json!({"method": "POST", "url": server.url("/")}), json!({})).await;
        let (how, error) = error(ended);
        let source = error.source.clone().unwrap_or_default();
        assert_eq!((how, error.kind), ("failed", kind), "{error:?}");
        assert!(source.starts_with(expected), "{source}");
    }
    let retry = "retry-after: 7\r\n";
    let server = Server::saying(says("429 No", &format!("{retry}{endless}"))).await;
    let gateway = json!({"method": "POST", "url": server.url("/")});
    let (how, error) = error(call(gateway, json!({})).await);
    assert_eq!((how, error.kind), ("failed", ErrorKind::RateLimited));
    assert!(error.suggestion.contains("wait 7 s"), "{error:?}");
}

#[tokio::test]
async fn endless_beginnings_end_at_the_deadline() {
    let flood = Does::Repeats(Vec::new(), b"HTTP/1.1 103 Early\r\n\r\n".to_vec());
    let extension = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;".to_vec();
    for does in [flood, Does::Repeats(extension, vec![b'a'; 100])] {
        let server = Server::saying(does).await;
        let gateway = json!({"method": "GET", "url": server.url("/")});
        let start = Instant::now();
        let time = Duration::from_millis(500);
        let ended = within(client(), tool(gateway), json!({}), time, None).await;
        assert_eq!(error(ended).0, "lost");
        assert!(start.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn a_contract_may_ask_for_more_or_less() {
    let body = format!("\"{}\"", "x".repeat(2 << 20));
    let long = Does::Says(format!("{OK}content-length: {}\r\n\r\n{body}", body.len()).into_bytes());
    let server = Server::saying(long).await;
    let gateway =
        |most: u64| json!({"method": "GET", "url": server.url("/"), "maxResponseBytes": most});
    data(call(gateway(3 << 20), json!({})).await);
    assert!(because(call(gateway(10), json!({})).await).contains("more than 10 bytes"));
}
