//! Where requests may go: addresses, names, redirects.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::port::{Boxed, Ended};
use haft_exec::Http;
use haft_exec::http::{Client, Resolve, Settings};
use serde_json::{Value, json};

use super::end;
use super::rig::{Names, auth, bearer, client, local, of_tenant, tool, within};
use super::server::{Server, json as says, response};
use crate::rig::{data, error};

const TIME: Duration = Duration::from_secs(5);

async fn get(client: Client, url: &str) -> Ended {
    within(Arc::new(client), tool(json!({"method": "GET", "url": url})), json!({}), TIME, None)
        .await
}

#[tokio::test]
async fn what_the_toolset_may_reach_tools_of_tenants_may_not() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let get = || tool(json!({"method": "GET", "url": server.url("/")}));
    let http = Http::new(client());
    let (how, refused) = error(of_tenant(&http, get()).await);
    assert_eq!((how, refused.kind), ("not begun", haft_core::ErrorKind::Permanent));
    assert!(server.seen().is_empty(), "{:?}", server.seen());
    data(within(client(), get(), json!({}), TIME, None).await);
    assert_eq!(server.seen().len(), 1);
    // Unless whoever runs haft allows it.
    data(of_tenant(&http.for_tenants(client()), get()).await);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_tool_of_a_tenant_takes_no_larger_answers_than_others_without_a_word() {
    let long = format!("\"{}\"", "x".repeat(2_000));
    let server = Server::saying(says("200 OK", &long)).await;
    let get = |most: u64| {
        tool(json!({"method": "GET", "url": server.url("/"), "maxResponseBytes": most}))
    };
    let small = Arc::new(Client::new(Settings { response_bytes: 1_000, ..local() }));
    let http = Http::new(small.clone()).for_tenants(small.clone());
    error(of_tenant(&http, get(1 << 30)).await);
    data(within(small, get(1 << 30), json!({}), TIME, None).await);
    // Less than usual is less.
    let usual = Http::new(client()).for_tenants(client());
    error(of_tenant(&usual, get(1_000)).await);
    data(of_tenant(&usual, get(4_000)).await);
}

#[tokio::test]
async fn this_machine_and_its_network_are_not_reached() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let port = server.at.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "0",
        "0177.0.0.1",
        "2130706433",
        "0x7f.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "100.100.100.200",
        "[fd00:ec2::254]",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "localhost",
        "localhost.",
        "１２７.0.0.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
    ] {
        let ended = get(Client::new(Settings::default()), &format!("http://{host}:{port}/")).await;
        let (how, error) = error(ended);
        assert_eq!(how, "not begun", "{host}");
        // What may not be reached now may not be in a moment: nobody is to try again. Not every
        // machine knows a name by its last dot.
        if host != "localhost." {
            assert_eq!(error.kind, haft_core::ErrorKind::Permanent, "{host}");
        }
    }
    assert!(server.seen().is_empty(), "{:?}", server.seen());
}

#[tokio::test]
async fn a_name_is_what_it_stands_for() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let url = format!("http://api.example.com:{}/", server.at.port());
    let named = |settings: Settings, addresses: &[&str]| {
        let names = addresses.iter().map(|one| one.parse().unwrap()).collect();
        Client::resolving(settings, Arc::new(Names(names)))
    };
    for addresses in
        [&["127.0.0.1"][..], &["93.184.216.34", "10.0.0.1"], &["::ffff:127.0.0.1"], &[]]
    {
        let (how, error) = error(get(named(Settings::default(), addresses), &url).await);
        assert_eq!(how, "not begun", "{addresses:?}");
        // The model learns nothing about networks.
        assert_eq!(error.message, "the service cannot be reached");
    }
    let many = vec!["93.184.216.34"; 65];
    assert_eq!(end(get(named(local(), &many), &url).await), "not begun, permanent");
    assert!(server.seen().is_empty());
    // Where it is allowed, the name is kept for whoever answers under it.
    data(get(named(local(), &["127.0.0.1"]), &url).await);
    assert!(server.seen()[0].contains(&format!("host: api.example.com:{}\r\n", server.at.port())));
}

/// A name that stands for something else each time, and how often it was asked for.
struct Rebinding(AtomicUsize, Vec<Vec<IpAddr>>);

impl Resolve for Rebinding {
    fn resolve<'a>(&'a self, _: &'a str) -> Boxed<'a, std::io::Result<Vec<IpAddr>>> {
        let turn = self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(self.1[turn.min(self.1.len() - 1)].clone()) })
    }
}

fn rebinding(settings: Settings, answers: &[&[&str]]) -> (Arc<Client>, Arc<Rebinding>) {
    let one = |set: &&[&str]| set.iter().map(|text| text.parse().unwrap()).collect();
    let names = Arc::new(Rebinding(AtomicUsize::new(0), answers.iter().map(one).collect()));
    (Arc::new(Client::resolving(settings, names.clone())), names)
}

/// What was judged is what is connected to: nobody asks the name server a second time in between. The
/// next request asks anew, and what it finds is judged anew.
#[tokio::test]
async fn a_name_is_asked_for_once_and_again_for_the_next_request() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let url = format!("http://api.example.com:{}/", server.at.port());
    let get = || tool(json!({"method": "GET", "url": url.clone()}));
    let call = |client: &Arc<Client>| within(client.clone(), get(), json!({}), TIME, None);
    let (client, names) =
        rebinding(local(), &[&["127.0.0.1"], &["10.0.0.1"], &["169.254.169.254"]]);
    data(call(&client).await);
    assert_eq!((names.0.load(Ordering::SeqCst), server.seen().len()), (1, 1));
    // It stands for something inside now; and then for where credentials are to be had.
    for asked in [2, 3] {
        assert_eq!(end(call(&client).await), "not begun, permanent");
        assert_eq!((names.0.load(Ordering::SeqCst), server.seen().len()), (asked, 1));
    }
    // A public address first does not make the next one public; nor does one among many.
    let (client, _) = rebinding(Settings::default(), &[&["127.0.0.1"]]);
    assert_eq!(end(call(&client).await), "not begun, permanent");
    let (client, _) = rebinding(Settings::default(), &[&["93.184.216.34", "127.0.0.1"]]);
    assert_eq!(end(call(&client).await), "not begun, permanent");
    let many = vec!["127.0.0.1"; 10_000];
    let (client, _) = rebinding(local(), &[&many]);
    assert_eq!(end(call(&client).await), "not begun, permanent");
    assert_eq!(server.seen().len(), 1);
}

/// Never answers.
struct Silent;

impl Resolve for Silent {
    fn resolve<'a>(&'a self, _: &'a str) -> Boxed<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

/// The clock stands still but for what is waited for, so that nobody waits.
#[tokio::test(start_paused = true)]
async fn a_slow_name_server_is_not_waited_for() {
    let client = Client::resolving(local(), Arc::new(Silent));
    let (how, error) = error(get(client, "http://api.example.com/").await);
    assert_eq!((how, error.message.as_str()), ("not begun", "the service cannot be reached"));
    assert!(error.source.clone().unwrap().contains("was not resolved in time"));
}

#[tokio::test]
async fn what_is_sent_carries_the_mark_of_its_sender() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let own =
        json!({"method": "GET", "url": server.url("/"), "headers": {"haft-hop": {"value": "x"}}});
    data(within(client(), tool(own), json!({}), TIME, None).await);
    let mark = format!("haft-hop: {}\r\n", haft_core::hop::own());
    let seen = server.seen();
    assert!(seen[0].contains(&mark) && seen[0].matches("haft-hop").count() == 1, "{seen:?}");
}

/// Each request has a connection of its own, whoever makes it, and knows nothing of those before.
#[tokio::test]
async fn no_connection_and_no_cookie_is_shared() {
    let headers = "set-cookie: session=of-the-first\r\nconnection: keep-alive\r\n\
                   www-authenticate: Basic\r\n";
    let server = Server::new(move |_, _| response("200 OK", headers, "{}")).await;
    let shared = client();
    let get = || tool(json!({"method": "GET", "url": server.url("/")}));
    for token in ["tok-of-acme", "tok-of-other"] {
        let auth = Some(auth(bearer(token), &["127.0.0.1"]));
        data(within(shared.clone(), get(), json!({}), TIME, auth).await);
    }
    data(within(shared, get(), json!({}), TIME, None).await);
    let seen = server.seen();
    // The server takes one request from each connection.
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|one| one.contains("connection: close\r\n")), "{seen:?}");
    assert!(seen.iter().all(|one| !one.contains("cookie")), "{seen:?}");
    assert!(!seen[1].contains("tok-of-acme") && !seen[2].contains("authorization"), "{seen:?}");
}

#[tokio::test]
async fn what_is_not_encrypted_stays_on_this_machine() {
    let client =
        Client::resolving(Settings::default(), Arc::new(Names(vec!["1.1.1.1".parse().unwrap()])));
    let (how, error) = error(get(client, "http://api.example.com/").await);
    assert_eq!(how, "not begun");
    assert!(error.source.clone().unwrap().contains("not encrypted"));
}

async fn redirected(method: &str, redirects: u8, target: &str) -> (Ended, Server, Server) {
    let other = Server::saying(says("200 OK", r#"{"at": "other"}"#)).await;
    let target = target.replace("OTHER", &format!("{}", other.at));
    let first = Server::new(move |n, request| match n {
        0 => response("302 There", &format!("location: {target}\r\n"), ""),
        _ if request.contains("/loop") => response("302 There", "location: /loop\r\n", ""),
        _ => says("200 OK", r#"{"at": "first"}"#),
    })
    .await;
    let mut gateway =
        json!({"method": method, "url": first.url("/start"), "headers": {"x-a": {"value": "own"}}});
    if redirects > 0 {
        gateway["redirects"] = json!(redirects);
    }
    let auth = Some(auth(bearer("tok-secret"), &["127.0.0.1"]));
    (within(client(), tool(gateway), json!({}), TIME, auth).await, first, other)
}

#[tokio::test]
async fn redirects_are_followed_only_where_the_contract_says() {
    let (ended, first, other) = redirected("GET", 0, "http://OTHER/").await;
    // What that means for a tool that writes nothing, the path knows.
    assert_eq!(end(ended), "lost, permanent");
    assert_eq!((first.seen().len(), other.seen().len()), (1, 0));
    let (ended, first, _) = redirected("GET", 2, "/next").await;
    assert_eq!(data(ended), json!({"at": "first"}));
    assert!(first.seen()[1].contains("tok-secret"), "the same host gets the credentials");
    let (ended, first, _) = redirected("GET", 3, "/loop").await;
    assert_eq!(end(ended), "lost, permanent");
    assert_eq!(first.seen().len(), 4);
    let (ended, first, _) = redirected("POST", 3, "/next").await;
    assert_eq!(end(ended), "lost, permanent");
    assert_eq!(first.seen().len(), 1, "an effect is never redirected");
}

#[tokio::test]
async fn credentials_do_not_follow_to_another_origin() {
    let (ended, _, other) = redirected("GET", 1, "http://OTHER/x").await;
    // Another port of the same machine is another origin, and not one of the usual ports.
    assert_eq!(end(ended), "failed, permanent");
    assert!(other.seen().is_empty());
    for target in ["file:///etc/passwd", "gopher://OTHER/", "http://a:b@OTHER/", "https://"] {
        let (ended, _, other) = redirected("GET", 3, target).await;
        assert_ne!(error(ended).0, "lost", "{target}");
        assert!(other.seen().is_empty(), "{target}");
    }
}

#[tokio::test]
async fn a_redirect_into_the_network_is_judged_like_any_address() {
    let inside = Server::saying(says("200 OK", "{}")).await;
    let at = inside.at.port();
    let first = Server::saying(response("302 There", "location: http://127.0.0.2/x\r\n", "")).await;
    let settings = Settings { allow: vec!["127.0.0.1".parse().unwrap()], ..Settings::default() };
    let gateway: Value = json!({"method": "GET", "url": first.url("/"), "redirects": 3});
    let ended = within(Arc::new(Client::new(settings)), tool(gateway), json!({}), TIME, None).await;
    assert_eq!(end(ended), "failed, permanent");
    assert_eq!((first.seen().len(), inside.seen().len()), (1, 0), "{at}");
}
