//! Clients that take their time: heads and bodies that drip in, answers that nobody takes. Each is
//! let go at its limit, and meanwhile others are served.

use std::sync::Arc;
use std::time::Duration;

use haft_server::Limits;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::{Served, resident_mib};

/// How many of each kind.
const SLOW: usize = 150;
/// Longer than any limit of these tests, whatever else the machine does.
const AT_MOST: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// Sends the beginning, then a byte at a time, and gives what the server said when it had enough.
async fn drip(mut stream: TcpStream, begin: String) -> String {
    stream.write_all(begin.as_bytes()).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let dripping = async move {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(PAUSE).await;
        }
        // Only the server ends this.
        std::future::pending::<()>().await;
    };
    let mut said = Vec::new();
    let reading = async {
        let _ = read.read_to_end(&mut said).await;
    };
    tokio::select! {
        () = dripping => {}
        () = reading => {}
    }
    String::from_utf8_lossy(&said).into_owned()
}

/// Waits until all of them are done with.
async fn ends(mut slow: JoinSet<String>) -> Vec<String> {
    let mut said = Vec::new();
    let all = async {
        while let Some(one) = slow.join_next().await {
            said.push(one.unwrap());
        }
    };
    let waited = tokio::time::timeout(AT_MOST, all).await;
    assert!(waited.is_ok(), "{} of them are still held", slow.len());
    said
}

#[tokio::test]
async fn whoever_drips_holds_nobody_up_and_is_let_go() {
    let limits =
        Limits { head: Duration::from_secs(1), body: Duration::from_secs(2), ..Limits::default() };
    let served = Served::with(limits).await;
    let before = resident_mib();
    let (mut heads, mut bodies) = (JoinSet::new(), JoinSet::new());
    let body = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{",
        served.agent
    );
    for _ in 0..SLOW {
        let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".to_owned();
        heads.spawn(drip(served.connect().await, head));
        bodies.spawn(drip(served.connect().await, body.clone()));
    }
    let mut calls = 0;
    while calls < 50 || !(heads.is_empty() || bodies.is_empty()) {
        let call = json!({"tool": "echo", "arguments": {"text": "x"}});
        let reply = served.post(&served.agent, "/v1/agents/helper/calls", call).await;
        assert_eq!(reply.status, 200, "call {calls}: {reply:?}");
        calls += 1;
        assert!(calls < 100_000, "they are held for ever");
        while heads.try_join_next().is_some() {}
        while let Some(said) = bodies.try_join_next() {
            let said = said.unwrap();
            assert!(said.starts_with("HTTP/1.1 408"), "{said}");
        }
    }
    ends(heads).await;
    for said in ends(bodies).await {
        assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    }
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 300, "{grown} MiB more for {} slow clients", 2 * SLOW);
    assert_eq!(served.get("", "/healthz").await.status, 200);
}

/// A request whose body the server has begun to wait for.
async fn awaited(served: &Served, body: &str) -> TcpStream {
    let head = format!(
        "POST /v1/agents/helper/calls HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        served.agent,
        body.len()
    );
    begun(served, &head).await
}

/// The same with another head.
async fn begun(served: &Served, head: &str) -> TcpStream {
    let mut stream = served.connect().await;
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut told = [0; 25];
    stream.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

/// Sends what was awaited, and gives the status of the answer.
async fn sent(mut stream: TcpStream, body: &str) -> String {
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut status = [0; 12];
    stream.read_exact(&mut status).await.unwrap();
    String::from_utf8_lossy(&status).into_owned()
}

#[tokio::test]
async fn bodies_that_are_awaited_keep_nobody_out() {
    let served = Arc::new(Served::with(Limits { at_once: 8, ..Limits::default() }).await);
    let body = json!({"tool": "echo", "arguments": {"text": "slow"}}).to_string();
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(awaited(&served, &body).await);
    }
    for (key, agent) in [(&served.agent, "helper"), (&served.stranger, "spy")] {
        let call = json!({"tool": "echo", "arguments": {"text": "x"}});
        let reply = served.post(key, &format!("/v1/agents/{agent}/calls"), call).await;
        assert_eq!(reply.status, 200, "{agent}: {reply:?}");
    }
    let figures = served.get(&served.admin, "/metrics").await.body;
    assert!(figures.contains("\nhaft_http_requests_in_flight 0\n"), "{figures}");
    let (last, before) = (slow.pop().unwrap(), slow.pop().unwrap());
    assert_eq!(sent(last, &body).await, "HTTP/1.1 200");
    // Whoever has no place when the body is there is told so, and nothing is done for them.
    let wait = json!({"tool": "echo", "arguments": {"text": "wait"}});
    let (mut busy, ran) = (JoinSet::new(), served.runs());
    for _ in 0..4 {
        let (served, wait) = (served.clone(), wait.clone());
        busy.spawn(async move {
            served.post(&served.agent, "/v1/agents/helper/calls", wait).await.status
        });
    }
    served.ran(ran + 4).await;
    assert_eq!(
        sent(before, &body).await,
        "HTTP/1.1 429",
        "half of the room for one of two tenants"
    );
    let reply =
        served.post(&served.stranger, "/v1/agents/spy/calls", json!({"tool": "echo"})).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(served.runs(), ran + 5, "nothing is done for whoever was refused");
    served.gate()(4);
    assert_eq!(busy.join_all().await, [200; 4]);
}

/// A form that signs in, up to its key.
fn signing_in(key: &str) -> String {
    let form = format!("key={key}");
    format!(
        "POST /console/sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
         Connection: close\r\nExpect: 100-continue\r\n\r\n",
        form.len()
    )
}

/// Whoever has no key keeps nobody from showing theirs.
#[tokio::test]
async fn forms_that_are_awaited_do_not_close_the_way_into_the_console() {
    let served = Served::with(Limits { at_once: 8, ..Limits::default() }).await;
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(begun(&served, &signing_in(&served.operator)).await);
    }
    for file in ["console.css", "console.js", "icon.svg"] {
        let got = served.get("", &format!("/console/assets/{file}")).await;
        assert_eq!(got.status, 200, "{file}: {got:?}");
    }
    let asked = served.get("", "/console/sign-in").await;
    assert_eq!(asked.status, 200, "{asked:?}");
    // The last of them shows a key after all.
    let form = format!("key={}", served.operator);
    assert_eq!(sent(slow.pop().unwrap(), &form).await, "HTTP/1.1 303");
}

#[tokio::test]
async fn whoever_takes_no_answer_is_let_go() {
    let limits = Limits { write: Duration::from_millis(300), ..Limits::default() };
    let served = Served::with(limits).await;
    let document = served.get("", "/v1/openapi.json").await;
    // Far more than the system keeps for a connection.
    let times = (64 << 20) / document.body.len();
    let ask = "GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(times);
    let stream = served.connect().await;
    let (mut read, mut write) = stream.into_split();
    let asking = tokio::spawn(async move {
        let _ = write.write_all(ask.as_bytes()).await;
        write
    });
    // Nothing is taken. Others are served all the while.
    for _ in 0..20 {
        assert_eq!(served.get("", "/healthz").await.status, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (mut got, mut piece) = (0, vec![0; 1 << 16]);
    let taking = async {
        while let Ok(count @ 1..) = read.read(&mut piece).await {
            got += count;
        }
    };
    let ended = tokio::time::timeout(AT_MOST, taking).await;
    assert!(ended.is_ok(), "the connection is still open");
    assert!(got < times * document.body.len(), "it waited until everything was taken");
    asking.abort();
}
