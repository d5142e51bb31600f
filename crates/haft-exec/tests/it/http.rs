//! Requests to real servers on this machine, friendly and hostile.

mod fetch;
mod hostile;
mod images;
mod reach;
mod rig;
pub(crate) mod server;
mod tls;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haft_core::ErrorKind;
use haft_core::connection::Lease;
use haft_core::contract::Capability;
use haft_core::error::ToolError;
use haft_core::port::{Boxed, Broker, Execute as _, Host, Job, Want};
use haft_exec::Http;
use serde_json::{Value, json};

use crate::rig::{data, error, scope};
pub(crate) use rig::client;
use rig::{Fixed, auth, bearer, bound, call, tool, within};
use server::{Does, Server, json as says, response};

/// How a call ended, in two words.
#[track_caller]
fn end(ended: haft_core::port::Ended) -> String {
    let (how, error) = error(ended);
    format!("{how}, {}", error.kind)
}

#[tokio::test]
async fn a_request_is_what_the_contract_says() {
    let server = Server::saying(says("200 OK", r#"{"issue": {"id": 7}}"#)).await;
    let ended = call(
        json!({
            "method": "POST", "url": server.url("/p/{project}/issues"),
            "query": {"notify": "notify", "v": {"value": 2}}, "headers": {"X-Source": "source"},
            "body": {"title": "title", "labels": "labels"}, "result": "/issue",
            "idempotencyHeader": "Idempotency-Key",
        }),
        json!({"project": "a/b", "title": "T", "labels": ["x"], "notify": true, "source": "me"}),
    )
    .await;
    assert_eq!(data(ended), json!({"id": 7}));
    let [request] = &server.seen()[..] else { panic!("one request") };
    assert!(request.starts_with("POST /p/a%2Fb/issues?notify=true&v=2 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("x-source: me\r\n"), "{request}");
    assert!(request.contains("idempotency-key: key-1\r\n"), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"labels\":[\"x\"],\"title\":\"T\"}"), "{request}");
}

/// Lets a call begin until its credentials were asked for.
struct LetIn {
    fixed: Fixed,
    gone: Arc<AtomicBool>,
}

impl Broker for LetIn {
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        self.gone.store(true, Ordering::SeqCst);
        self.fixed.lease(want)
    }

    fn refused<'a>(&'a self, want: &'a Want, lease: &'a Lease) -> Boxed<'a, bool> {
        self.fixed.refused(want, lease)
    }
}

struct Rules(Arc<AtomicBool>);

impl Host for Rules {
    fn call<'a>(
        &'a self,
        _: Capability,
        _: &'a str,
        _: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async { Ok(Value::Null) })
    }

    fn withdrawn(&self) -> Option<ToolError> {
        let why = || ToolError::new(ErrorKind::Transient, "what let the call run changed");
        self.0.load(Ordering::SeqCst).then(why)
    }
}

/// Whoever waited for credentials may be let in no longer.
#[tokio::test]
async fn what_let_a_call_run_is_looked_at_when_its_credentials_are_there() {
    for (connected, expected, requests) in [(false, "{}", 1), (true, "not begun, transient", 0)] {
        let server = Server::saying(says("200 OK", "{}")).await;
        let gone = Arc::new(AtomicBool::new(false));
        let fixed = Fixed {
            presented: bearer("s3cret"),
            hosts: vec!["127.0.0.1".to_owned()],
            asked: parking_lot::Mutex::default(),
        };
        let broker = Arc::new(LetIn { fixed, gone: gone.clone() });
        let tool = Arc::new(tool(json!({"method": "POST", "url": server.url("/pay")})));
        let time = Duration::from_secs(5);
        let job = Job::new(tool, json!({}), scope("call_1"), Arc::new(Rules(gone)), time, None);
        let auth = connected.then(|| bound(broker, &["127.0.0.1"]));
        let ended = Http::new(client()).execute(job.with_auth(auth)).await;
        let came = if connected { end(ended) } else { data(ended).to_string() };
        assert_eq!((came.as_str(), server.seen().len()), (expected, requests));
    }
}

#[tokio::test]
async fn a_status_is_a_kind_of_error_and_leaves_doubt_unless_it_is_a_refusal() {
    for (status, expected) in [
        ("101 Other", "lost, permanent"),
        ("300 Many", "lost, permanent"),
        ("301 Moved", "lost, permanent"),
        ("302 Found", "lost, conflict"),
        ("303 See", "lost, permanent"),
        ("304 Same", "failed, permanent"),
        ("305 Proxy", "failed, permanent"),
        ("306 Unused", "failed, permanent"),
        ("307 There", "failed, permanent"),
        ("308 There", "failed, permanent"),
        ("309 New", "lost, permanent"),
        ("400 Bad", "failed, invalid_arguments"),
        ("401 Who", "failed, auth"),
        ("403 No", "failed, auth"),
        ("404 Gone", "failed, not_found"),
        ("408 Slow", "lost, timeout"),
        ("409 Clash", "failed, conflict"),
        ("418 Teapot", "failed, permanent"),
        ("429 Often", "failed, rate_limited"),
        ("460 Left", "lost, permanent"),
        ("498 Token", "failed, permanent"),
        ("499 Left", "lost, permanent"),
        ("500 Broken", "lost, transient"),
        ("502 Bad", "lost, transient"),
        ("503 Busy", "lost, transient"),
        ("504 Late", "lost, not_found"),
        ("600 What", "lost, permanent"),
        ("999 What", "lost, permanent"),
        ("099 What", "lost, transient"),
        ("451 Law", "failed, not_found"),
    ] {
        let server = Server::saying(says(status, "{}")).await;
        let gateway = json!({
            "method": "POST", "url": server.url("/"),
            "errors": {"302": "conflict", "451": "not_found", "504": "not_found"},
        });
        let (how, error) = error(call(gateway, json!({})).await);
        assert_eq!(format!("{how}, {}", error.kind), expected, "{status}");
        let is_refusal = error.message.contains("refused the request");
        let is_client = status.starts_with('4');
        assert_eq!(is_refusal, is_client && how == "failed", "{status}: {}", error.message);
        assert_eq!(server.seen().len(), 1, "sent once: {status}");
    }
}

#[tokio::test]
async fn what_the_service_says_about_it_reaches_the_model() {
    let said = r#"{"error": {"message": "title\u0007 is too long"}}"#;
    let does = response("422 No", "retry-after: 30\r\n", said);
    let server = Server::saying(does).await;
    let (_, error) = error(call(json!({"method": "GET", "url": server.url("/")}), json!({})).await);
    assert_eq!(error.message, "the service refused the request (422): title is too long");
    assert_eq!(error.suggestion, "wait 30 s before you try again");
}

#[tokio::test]
async fn nothing_listens_and_nothing_was_done() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let ended = call(json!({"method": "POST", "url": url}), json!({})).await;
    assert_eq!(end(ended), "not begun, transient");
}

#[tokio::test]
async fn what_breaks_after_the_request_may_have_been_done() {
    for (does, expected) in [
        (Does::Closes, "lost, transient"),
        (
            Does::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":".to_vec()),
            "lost, permanent",
        ),
        (Does::Says(b"nonsense\r\n\r\n".to_vec()), "lost, transient"),
        (Does::Says(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()), "lost, transient"),
        (says("200 OK", "<html>not json</html>"), "lost, permanent"),
    ] {
        let server = Server::saying(does).await;
        let ended = call(json!({"method": "POST", "url": server.url("/")}), json!({})).await;
        assert_eq!(end(ended), expected);
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_not_waited_for() {
    for sent in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"] {
        let server = Server::saying(Does::Hangs(sent.to_vec())).await;
        let gateway = json!({"method": "POST", "url": server.url("/")});
        let time = Duration::from_millis(200);
        let ended = within(client(), tool(gateway), json!({}), time, None).await;
        assert_eq!(end(ended), "lost, timeout");
    }
}

#[tokio::test]
async fn an_empty_answer_is_nothing_and_text_is_text() {
    let server = Server::saying(response("204 Done", "", "")).await;
    let gateway = json!({"method": "DELETE", "url": server.url("/")});
    assert_eq!(data(call(gateway, json!({})).await), json!(null));
    let server = Server::saying(response("200 OK", "content-type: text/plain\r\n", "hello")).await;
    let gateway = json!({"method": "GET", "url": server.url("/"), "response": "text"});
    assert_eq!(data(call(gateway, json!({})).await), json!("hello"));
    let server = Server::saying(response("200 OK", "", "")).await;
    let gateway = json!({"method": "HEAD", "url": server.url("/")});
    assert_eq!(data(call(gateway, json!({})).await), json!(null));
}

#[tokio::test]
async fn credentials_are_attached_to_their_host() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let gateway = json!({"method": "GET", "url": server.url("/x")});
    let time = Duration::from_secs(5);
    let with = |presented, hosts: &[&str]| {
        within(client(), tool(gateway.clone()), json!({}), time, Some(auth(presented, hosts)))
    };
    data(with(bearer("tok-123456"), &["127.0.0.1"]).await);
    let query = haft_core::connection::Presented::Query {
        name: "key".into(),
        value: haft_core::secret::SecretText::new("a&b"),
    };
    data(with(query, &["127.0.0.1"]).await);
    data(with(bearer("tok-123456"), &["other.example"]).await);
    let seen = server.seen();
    assert!(seen[0].contains("authorization: Bearer tok-123456\r\n"), "{}", seen[0]);
    assert!(seen[1].starts_with("GET /x?key=a%26b HTTP/1.1\r\n"), "{}", seen[1]);
    assert!(!seen[2].contains("tok-123456"), "{}", seen[2]);
}

/// Of `key=…` and `key[a]=…` services take whichever they like.
#[tokio::test]
async fn no_member_is_written_into_the_place_of_the_credentials() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let more = json!({"from": "more", "style": "form", "explode": true});
    let gateway = json!({"method": "GET", "url": server.url("/"), "query": {"more": more}});
    for (name, sent) in [("key", 0), ("key[a]", 0), ("key%5B", 0), ("KEY", 0), ("keys", 1)] {
        let query = haft_core::connection::Presented::Query {
            name: "key".into(),
            value: haft_core::secret::SecretText::new("tok-123456"),
        };
        let auth = Some(auth(query, &["127.0.0.1"]));
        let arguments = json!({"more": {name: "mine"}});
        let time = Duration::from_secs(5);
        let ended = within(client(), tool(gateway.clone()), arguments, time, auth).await;
        match sent {
            0 => assert_eq!(end(ended), "not begun, invalid_arguments", "{name}"),
            _ => assert_eq!(data(ended), json!({}), "{name}"),
        }
        assert_eq!(server.seen().len(), sent, "{name}");
    }
}

#[tokio::test]
async fn a_connection_that_lists_its_hosts_goes_to_no_other() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let broker = std::sync::Arc::new(rig::Fixed {
        presented: bearer("tok-123456"),
        hosts: vec!["api.example.com".into()],
        asked: parking_lot::Mutex::default(),
    });
    let auth = Some(rig::bound(broker, &["127.0.0.1"]));
    let gateway = json!({"method": "GET", "url": server.url("/")});
    let ended = within(client(), tool(gateway), json!({}), Duration::from_secs(5), auth).await;
    assert_eq!(end(ended), "not begun, auth");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_tool_that_needs_a_connection_does_not_go_without() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let mut tool = tool(json!({"method": "GET", "url": server.url("/")}));
    tool.contract.connection =
        serde_json::from_value(json!({"provider": "p", "hosts": ["127.0.0.1"]})).unwrap();
    let ended = within(client(), tool, json!({}), Duration::from_secs(5), None).await;
    let (how, error) = error(ended);
    assert_eq!((how, error.kind), ("not begun", ErrorKind::Auth));
    assert_eq!(error.message, "no connection to p is set up here");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn pages_are_read_until_their_end_or_the_limit() {
    let page = |n: usize, request: &str| match n {
        _ if request.contains("/link") && n == 0 => response(
            "200 OK",
            "link: </link?p=0>; rel=\"prev\", </link?p=2>; rel=\"next last\"\r\n",
            "[1,2]",
        ),
        _ if request.contains("/link") => says("200 OK", "[3]"),
        _ if request.contains("/evil") => {
            response("200 OK", "link: <https://evil.example/2>; rel=next\r\n", "[1]")
        }
        0 if request.contains("/cursor") => says("200 OK", r#"{"rows": [1], "next": "a b"}"#),
        _ if request.contains("/cursor") => says("200 OK", r#"{"rows": [2], "next": null}"#),
        _ if request.contains("page=3") || request.contains("from=4") => says("200 OK", "[]"),
        _ => says("200 OK", "[1,2]"),
    };
    let check = async |path: &str, pages: serde_json::Value, expected, last: &str| {
        let server = Server::new(page).await;
        let gateway = json!({"method": "GET", "url": server.url(path), "pages": pages});
        assert_eq!(data(call(gateway, json!({})).await), expected, "{path}");
        let seen = server.seen();
        let line = seen.last().unwrap().lines().next().unwrap();
        assert_eq!(line, format!("GET {last} HTTP/1.1"));
    };
    let all =
        |items: serde_json::Value, complete: bool| json!({"items": items, "complete": complete});
    check("/link", json!({"by": "link", "maxPages": 5}), all(json!([1, 2, 3]), true), "/link?p=2")
        .await;
    check("/link", json!({"by": "link", "maxPages": 1}), all(json!([1, 2]), false), "/link").await;
    check("/evil", json!({"by": "link", "maxPages": 5}), all(json!([1]), false), "/evil").await;
    let cursor =
        json!({"by": "cursor", "items": "/rows", "next": "/next", "query": "c", "maxPages": 9});
    check("/cursor", cursor, all(json!([1, 2]), true), "/cursor?c=a%20b").await;
    let page = json!({"by": "page", "query": "page", "maxPages": 9});
    check("/p", page, all(json!([1, 2, 1, 2]), true), "/p?page=3").await;
    let offset = json!({"by": "offset", "query": "from", "maxPages": 9});
    check("/o", offset, all(json!([1, 2, 1, 2]), true), "/o?from=4").await;
}
