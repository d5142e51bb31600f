//! What the newer era's clients are told of: addresses, as many as there may be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::Caller;
use haft_core::content::Document;
use haft_core::port::Boxed;
use haft_server::mcp::{Resource, Resources, Settings};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{ACCEPT, NEWER, meta};
use crate::client::Served;

const OWN: &str = "haft://tools/agent/helper/enabled";

/// Listens at these addresses, and gives what is said first.
async fn listen(served: &Served, uris: &[&str]) -> String {
    let params =
        json!({"_meta": meta(json!({})), "notifications": {"resourceSubscriptions": uris}});
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nAccept: {}\r\nMCP-Protocol-Version: {NEWER}\r\n\
         Mcp-Method: subscriptions/listen\r\nContent-Length: {}\r\n\r\n{body}",
        served.agent,
        ACCEPT.1,
        body.len()
    );
    let mut stream = served.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\"jsonrpc\"") {
        let mut piece = [0; 4096];
        let size = stream.read(&mut piece).await.unwrap();
        assert!(size > 0, "{heard}");
        heard.push_str(&String::from_utf8_lossy(&piece[..size]));
    }
    heard
}

/// The older era refuses to tell of what there is not.
#[tokio::test]
async fn what_nobody_can_read_is_not_watched() {
    let served = Served::new().await;
    let theirs = "haft://tools/tenant/theirs/available";
    let heard =
        listen(&served, &[OWN, "haft://nope", "haft://tools/agent/spy/enabled", theirs]).await;
    assert!(heard.contains(OWN), "{heard}");
    assert!(!heard.contains("nope") && !heard.contains("spy"), "{heard}");
    assert!(!heard.contains("theirs"), "{heard}");
}

/// Resources of a program that counts how often it is asked what there is.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Resources for Counting {
    fn list(&self, _: &Caller) -> Vec<Resource> {
        self.0.fetch_add(1, Ordering::SeqCst);
        vec![Resource { uri: "notes://1".to_owned(), ..Resource::default() }]
    }

    fn templates(&self, _: &Caller) -> Vec<Resource> {
        self.0.fetch_add(1, Ordering::SeqCst);
        vec![Resource { uri: "days://{day}".to_owned(), ..Resource::default() }]
    }

    fn read<'a>(&'a self, _: &'a Caller, _: &'a str) -> Boxed<'a, Option<Vec<Document>>> {
        Box::pin(async { None })
    }
}

/// Nothing else goes on while they are looked up.
#[tokio::test]
async fn so_many_addresses_are_watched_and_looked_up_together() {
    let own = Arc::new(Counting::default());
    let resources: Vec<Arc<dyn Resources>> = vec![own.clone()];
    let settings = Settings { resources, ..Settings::default() };
    let served = Served::made(|door| door.with_mcp(settings)).await;
    let days: Vec<String> = (0..100).map(|day| format!("days://{day}")).collect();
    let mut days: Vec<&str> = days.iter().map(String::as_str).collect();
    days[0] = "notes://1";
    days[1] = "notes://2";
    let heard = listen(&served, &days).await;
    for (uri, is_watched) in
        [("notes://1", true), ("notes://2", false), ("days://2", true), ("days://99", true)]
    {
        assert_eq!(heard.contains(&format!("\"{uri}\"")), is_watched, "{uri}: {heard}");
    }
    assert_eq!(own.0.load(Ordering::SeqCst), 2, "it is asked once for each");
    for uris in [[&days[..], &[OWN]].concat(), vec![OWN; 2]] {
        let heard = listen(&served, &uris).await;
        assert!(heard.contains("-32602") && heard.contains("100 addresses at most"), "{heard}");
    }
    assert_eq!(own.0.load(Ordering::SeqCst), 2, "nor for what is refused");
}
