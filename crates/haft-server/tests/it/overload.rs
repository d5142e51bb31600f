//! More work than there is room for, sent at a fixed rate whatever the answers.

use std::sync::Arc;
use std::time::Duration;

use haft_server::Limits;
use haft_server::who::jwt::Issuers;
use haft_store::Memory;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::client::{Reply, Served, resident_mib};

/// Places, and how long a call keeps one.
const PLACES: usize = 8;
const CALL_MS: u64 = 200;
/// How long the load lasts.
const LASTS: Duration = Duration::from_secs(3);

async fn call(served: &Served) -> Reply {
    let text = format!("wait {CALL_MS}");
    let call = json!({"tool": "echo", "arguments": {"text": text}});
    served.post(&served.agent, "/v1/agents/helper/calls", call).await
}

/// As many calls as can be made, by as many callers as there are places for one of two tenants.
async fn peak(served: &Arc<Served>) -> usize {
    let mut callers = JoinSet::new();
    let until = tokio::time::Instant::now() + LASTS;
    for _ in 0..PLACES / 2 {
        let served = served.clone();
        callers.spawn(async move {
            let mut done = 0_usize;
            while tokio::time::Instant::now() < until {
                assert_eq!(call(&served).await.status, 200);
                done += 1;
            }
            done
        });
    }
    callers.join_all().await.into_iter().sum()
}

/// Ten times as many, each sent when its time has come.
async fn flood(served: &Arc<Served>, peak: usize) -> Vec<Reply> {
    let mut calls = JoinSet::new();
    let total = u32::try_from(10 * peak).unwrap();
    let mut tick = tokio::time::interval(LASTS / total);
    for _ in 0..total {
        tick.tick().await;
        let served = served.clone();
        calls.spawn(async move { call(&served).await });
    }
    calls.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_times_too_much_is_refused_at_once_and_the_rest_is_done() {
    let limits = Limits { at_once: PLACES, ..Limits::default() };
    let served = Arc::new(Served::with(limits).await);
    let peak = peak(&served).await;
    let before = resident_mib();
    let replies = flood(&served, peak).await;
    let done = replies.iter().filter(|reply| reply.status == 200).count();
    let refused: Vec<_> = replies.iter().filter(|reply| reply.status != 200).collect();
    for reply in &refused {
        let told = (reply.status, reply.header("retry-after").is_some());
        assert!(matches!(told, (503 | 429, true)), "{reply:?}");
    }
    // Those that are refused cost next to nothing, so that the others are done as before.
    assert!(2 * done >= peak, "{done} were done where {peak} can be");
    assert!(!refused.is_empty(), "{} calls were not too many", replies.len());
    assert_eq!(served.runs(), peak + done, "nothing is done for whoever was refused");
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 200, "{grown} MiB more");
    // Nothing is left over.
    assert_eq!(call(&served).await.status, 200);
    let figures = served.get(&served.admin, "/metrics").await.body;
    assert!(figures.contains("\nhaft_http_requests_in_flight 0\n"), "{figures}");
}

#[tokio::test]
async fn whoever_watches_gets_in_when_there_is_no_room() {
    let served = Arc::new(Served::with(Limits { at_once: 1, ..Limits::default() }).await);
    let go = served.gate();
    let busy = tokio::spawn({
        let served = served.clone();
        async move {
            let call = json!({"tool": "echo", "arguments": {"text": "wait"}});
            served.post(&served.agent, "/v1/agents/helper/calls", call).await.status
        }
    });
    served.ran(1).await;
    assert_eq!(served.get(&served.operator, "/v1/calls").await.status, 503);
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(served.get(&served.admin, path).await.status, 200, "{path}");
    }
    go(1);
    assert_eq!(busy.await.unwrap(), 200);
}

#[tokio::test]
async fn no_tenant_takes_the_room_of_others() {
    let served = Served::with(Limits { at_once: PLACES, ..Limits::default() }).await;
    let call = json!({"tool": "echo", "arguments": {"text": "wait"}});
    let later = [("Prefer", "respond-async")];
    let mut accepted = 0;
    let refused = loop {
        let path = "/v1/agents/helper/calls";
        let reply = served.send(&served.agent, "POST", path, &later, Some(call.clone())).await;
        match reply.status {
            202 => accepted += 1,
            _ => break reply,
        }
    };
    // The request that began the last one has its share for as long as it takes to answer it.
    assert!((PLACES / 2 - 1..=PLACES / 2).contains(&accepted), "{accepted} of {PLACES}");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.header("retry-after").is_some() && refused.body.contains("the tenant"));
    // Others find what they need.
    let theirs = json!({"tool": "echo", "arguments": {"text": "hi"}});
    let reply = served.post(&served.stranger, "/v1/agents/spy/calls", theirs).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    served.gate()(accepted);
}

/// An agent that keeps all of the room busy is stopped by whoever may stop it, and by nobody else.
#[tokio::test]
async fn whoever_decides_does_not_wait_behind_calls() {
    let served = Served::with(Limits { at_once: PLACES, ..Limits::default() }).await;
    let served = Arc::new(served);
    let wanted = json!({"principal": "agent:helper", "roles": ["agent"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let (key, place) = (made.json()["key"].clone(), made.header("location").unwrap().to_owned());
    let key: Arc<str> = key.as_str().unwrap().into();
    let path = "/v1/agents/helper/calls";
    let asks = json!({"tool": "pay", "arguments": {"text": "x"}, "idempotency_key": "k"});
    assert_eq!(served.post(&key, path, asks).await.status, 202);
    let mut calls = JoinSet::new();
    for _ in 0..PLACES / 2 {
        let (served, key) = (served.clone(), key.clone());
        let call = json!({"tool": "echo", "arguments": {"text": "wait"}});
        calls.spawn(async move { served.post(&key, path, call).await.status });
    }
    served.ran(PLACES / 2).await;
    assert_eq!(served.get(&served.operator, "/v1/calls").await.status, 429, "that can wait");
    let asked = served.get(&served.operator, "/v1/confirmations").await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let question = format!("/v1/confirmations/{}", asked.json()[0]["id"].as_str().unwrap());
    let answered = served.post(&served.operator, &question, json!({"approve": false})).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    assert_eq!(served.get(&served.operator, "/v1/effects").await.status, 200);
    // The agent has no more room for asking about what it may not see.
    assert_eq!(served.get(&key, "/v1/effects").await.status, 429);
    let revoked = served.send(&served.admin, "DELETE", &place, &[], None).await;
    assert_eq!(revoked.status, 200, "{revoked:?}");
    served.gate()(PLACES / 2);
    assert_eq!(calls.join_all().await, [200; PLACES / 2], "what had begun goes on");
}

/// A token of an issuer whose keys nobody gets: only they would say that it is forged.
const FORGED: &str =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUifQ.c2ln";

/// Calls of both tenants that keep all of the room until they are let go.
async fn fill(served: &Arc<Served>) -> JoinSet<u16> {
    let mut calls = JoinSet::new();
    for _ in 0..PLACES / 2 {
        for (key, path) in [
            (served.agent.clone(), "/v1/agents/helper/calls"),
            (served.stranger.clone(), "/v1/agents/spy/calls"),
        ] {
            let served = served.clone();
            let call = json!({"tool": "echo", "arguments": {"text": "wait"}});
            calls.spawn(async move { served.post(&key, path, call).await.status });
        }
    }
    served.ran(PLACES).await;
    calls
}

/// A server whose issuer says nothing when it is asked for its keys.
async fn waiting_for_keys() -> (Arc<Served>, TcpListener) {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let issuer = json!({"issuer": "https://login.example", "audience": ["haft"],
        "jwks_url": url, "tenant": "ours"});
    let issuers = Issuers::load(&[serde_json::from_value(issuer).unwrap()]).unwrap();
    let limits = Limits { at_once: PLACES, ..Limits::default() };
    let memory = Arc::new(Memory::new());
    let served = Served::build(memory, limits, |builder| builder, |door| door.issuers(issuers));
    (Arc::new(served.await), silent)
}

/// A form that signs in.
fn signing_in(key: &str) -> String {
    let form = format!("key={key}");
    format!(
        "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nOrigin: http://localhost\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    )
}

/// A forged token may take as long as its issuer, and meanwhile others come in.
#[tokio::test]
async fn forged_tokens_of_a_slow_issuer_do_not_close_the_way_into_the_console() {
    let (served, silent) = waiting_for_keys().await;
    let mut strangers = Vec::new();
    for _ in 0..150 {
        let mut stream = served.connect().await;
        stream.write_all(signing_in(FORGED).as_bytes()).await.unwrap();
        strangers.push(stream);
    }
    let asked = silent.accept().await.unwrap();
    let entered = served.raw(signing_in(&served.operator).as_bytes()).await;
    assert_eq!(entered.status, 303, "{entered:?}");
    drop((asked, strangers));
}

/// What decides is known by its path, and whoever uses that has no place before they are known.
#[tokio::test]
async fn strangers_do_not_take_the_places_of_those_who_decide() {
    let (served, silent) = waiting_for_keys().await;
    let calls = fill(&served).await;
    let ask = format!(
        "GET /v1/effects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {FORGED}\r\n\r\n"
    );
    let mut strangers = Vec::new();
    for _ in 0..PLACES {
        let mut stream = served.connect().await;
        stream.write_all(ask.as_bytes()).await.unwrap();
        strangers.push(stream);
    }
    let asked = silent.accept().await.unwrap();
    for key in [&served.operator, &served.admin, &served.stranger] {
        let seen = served.get(key, "/v1/effects").await;
        assert_eq!(seen.status, 200, "{seen:?}");
    }
    served.gate()(PLACES);
    assert_eq!(calls.join_all().await, [200; PLACES]);
    drop((asked, strangers));
}

/// A request of a browser that is signed in.
async fn look(served: &Served, cookie: &str, path: &str) -> Reply {
    let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    served.raw(format!("{head}Cookie: {cookie}\r\n\r\n").as_bytes()).await
}

/// What people do in the console is their tenant's like everything else.
#[tokio::test]
async fn the_console_has_its_tenants_part_of_the_room() {
    let served = Served::with(Limits { at_once: PLACES, ..Limits::default() }).await;
    let served = Arc::new(served);
    let entered = served.raw(signing_in(&served.operator).as_bytes()).await;
    let cookie = entered.header("set-cookie").unwrap_or_else(|| panic!("{entered:?}"));
    let cookie = cookie.split(';').next().unwrap();
    let tool = "/console/tools/helper/shop__echo";
    assert_eq!(look(&served, cookie, tool).await.status, 200);
    let mut calls = JoinSet::new();
    for _ in 0..PLACES / 2 {
        let served = served.clone();
        let call = json!({"tool": "echo", "arguments": {"text": "wait"}});
        let path = "/v1/agents/helper/calls";
        calls.spawn(async move { served.post(&served.agent, path, call).await.status });
    }
    served.ran(PLACES / 2).await;
    let refused = look(&served, cookie, tool).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.header("retry-after").is_some() && refused.body.contains("<h1>"));
    let seen = look(&served, cookie, "/console/effects").await;
    assert_eq!(seen.status, 200, "those who decide have places aside: {seen:?}");
    served.gate()(PLACES / 2);
    assert_eq!(calls.join_all().await, [200; PLACES / 2]);
}
