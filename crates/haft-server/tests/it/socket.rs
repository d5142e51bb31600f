//! Sessions over a WebSocket, with a real client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use haft_core::port::{EffectFilter, Ledger as _};
use haft_runtime::Settings;
use haft_server::Limits;
use haft_server::mcp::Approvals;
use haft_store::Memory;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::client::Served;

pub(crate) struct Line(WebSocketStream<TcpStream>);

impl Line {
    pub(crate) async fn open(served: &Served, key: &str, query: &str) -> Self {
        Self::try_open(served, key, query, |_| {}).await.unwrap()
    }

    pub(crate) async fn try_open(
        served: &Served,
        key: &str,
        query: &str,
        change: impl FnOnce(&mut Request),
    ) -> Result<Self, u16> {
        let url = format!("ws://localhost/v1/agents/helper/socket{query}");
        let mut request = url.into_client_request().unwrap();
        if !key.is_empty() {
            let bearer = format!("Bearer {key}").parse().unwrap();
            request.headers_mut().insert("authorization", bearer);
        }
        change(&mut request);
        match client_async(request, served.connect().await).await {
            Ok((stream, _)) => Ok(Self(stream)),
            Err(Error::Http(reply)) => Err(reply.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    async fn say(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// The next frame; none at the end, with its code.
    async fn hear(&mut self) -> Result<Value, u16> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map_or(0, |frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(0),
            }
        }
    }

    /// The code with which it is closed.
    pub(crate) async fn hear_end(&mut self) -> u16 {
        loop {
            if let Err(code) = self.hear().await {
                return code;
            }
        }
    }

    /// The next frame of a kind.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.hear().await.unwrap_or_else(|code| panic!("closed with {code}"));
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    pub(crate) async fn ask(&mut self, frame: Value) -> Value {
        let id = frame["id"].clone();
        self.say(frame).await;
        loop {
            let heard = self.hear().await.unwrap_or_else(|code| panic!("closed with {code}"));
            if heard["to"] == id {
                return heard;
            }
        }
    }
}

fn call(id: &str, tool: &str, text: &str) -> Value {
    json!({ "type": "call", "id": id, "call": { "tool": tool, "arguments": { "text": text } } })
}

#[tokio::test]
async fn calls_messages_and_signals_go_over_one_socket() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "?mode=voice").await;
    let ready = line.until("ready").await;
    assert_eq!((&ready["session"]["mode"], &ready["resumed"]), (&json!("voice"), &json!(false)));
    let answer = line.ask(call("1", "echo", "hi")).await;
    assert_eq!(answer["result"]["data"], json!({ "said": { "text": "hi" } }));
    // A session has a turn, so a call that writes needs no key.
    let answer = line.ask(call("2", "send", "hi")).await;
    assert_eq!(answer["result"]["ok"], true, "{answer}");
    let said = line.ask(json!({ "type": "message", "id": "3", "message": "and then?" })).await;
    assert_eq!(said["result"]["status"], "waits", "{said}");
    let signal = line.ask(json!({ "type": "signal", "id": "4", "signal": "turn_complete" })).await;
    assert_eq!(signal["result"]["messages"], json!(["and then?"]), "{signal}");
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "c",
        "type": "function", "function": { "name": "shop__echo", "arguments": "{\"text\":\"a\"}" } }] });
    let said = json!({ "type": "said", "id": "5", "format": "openai", "message": message });
    let answer = line.ask(said).await;
    assert_eq!(answer["result"]["messages"][0]["tool_call_id"], "c", "{answer}");
    line.say(json!({ "type": "close", "id": "6" })).await;
    assert_eq!(line.until("answer").await["result"]["phase"], "ended");
    assert_eq!(line.hear().await, Err(1000));
}

#[tokio::test]
async fn whoever_breaks_in_is_heard_while_calls_run_and_wait() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    line.until("ready").await;
    for at in 0..290 {
        line.say(call(&format!("c{at}"), "send", &format!("wait {}", 2_000 + at))).await;
    }
    for at in [288, 289] {
        let refused = line.until("error").await;
        assert_eq!(refused["to"], format!("c{at}"));
        let problem = &refused["problem"];
        assert_eq!(problem["code"], "rate_limited", "{problem}");
        let said = problem.to_string();
        assert!(said.contains("32 calls, and 256 that wait") && !said.contains("Retry-After"));
    }
    let said = line.ask(json!({ "type": "message", "id": "m", "message": "stop!" })).await;
    assert_eq!(said["result"]["status"], "waits", "{said}");
    let told = line.ask(json!({ "type": "signal", "id": "s", "signal": "turn_complete" })).await;
    assert_eq!(told["result"]["messages"], json!(["stop!"]), "{told}");
    let closed = line.ask(json!({ "type": "close", "id": "end" })).await;
    assert_eq!((&closed["result"]["phase"], served.runs()), (&json!("ended"), 32), "{closed}");
    // What was begun ends, and what waited is refused: each is answered, and then it is over.
    let mut answered = 0;
    let end = loop {
        match line.hear().await {
            Ok(frame) => answered += usize::from(frame["type"] == "answer"),
            Err(code) => break code,
        }
    };
    assert_eq!((answered, end, served.runs()), (288, 1000, 32));
}

#[tokio::test]
async fn what_does_not_fit_together_opens_nothing() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "?mode=voice").await;
    let id = line.until("ready").await["session"]["id"].as_str().unwrap().to_owned();
    drop(line);
    let open = async |query: &str| {
        Line::try_open(&served, &served.agent, query, |_| {}).await.err().unwrap_or_default()
    };
    let sessions = served.get(&served.operator, "/v1/sessions").await.json();
    assert_eq!(open(&format!("?session={id}&mode=text")).await, 400);
    assert_eq!(open("?after=0000000000000001.1").await, 400);
    assert_eq!(open("?mode=voice&after=0000000000000001.1").await, 400);
    assert_eq!(open(&format!("?session={id}&mode=voice")).await, 0, "as it is");
    assert_eq!(open(&format!("?session={id}&after=0000000000000001.1")).await, 0);
    assert_eq!(served.get(&served.operator, "/v1/sessions").await.json(), sessions);
    // Operators see whose it is, and not what was said.
    let path = format!("/v1/agents/helper/sessions/{id}");
    for key in [&served.operator, &served.admin] {
        let seen = served.get(key, &path).await;
        assert_eq!((seen.status, seen.json()), (200, sessions[0].clone()));
        let elsewhere = served.get(key, &path.replace("helper", "night")).await;
        assert_ne!(elsewhere.status, 200);
    }
    assert_eq!(served.get(&served.stranger, &path).await.status, 404);
}

#[tokio::test]
async fn a_call_that_names_another_session_is_not_made_in_this_one() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    let session = line.until("ready").await["session"]["id"].clone();
    let mut other = call("1", "send", "a");
    other["call"]["session"] = json!("other");
    let told = line.ask(other).await;
    assert_eq!((&told["type"], &told["problem"]["status"]), (&json!("error"), &json!(400)));
    assert_eq!(served.runs(), 0);
    let mut own = call("2", "send", "a");
    own["call"]["session"] = session;
    assert_eq!(line.ask(own).await["result"]["ok"], true);
}

#[tokio::test]
async fn what_a_broken_connection_lost_is_sent_again_and_not_run_again() {
    let served = Served::new().await;
    let mut first = Line::open(&served, &served.agent, "").await;
    let session = first.until("ready").await["session"]["id"].as_str().unwrap().to_owned();
    let cursor = first.ask(call("1", "echo", "a")).await["cursor"].as_str().unwrap().to_owned();
    first.say(call("2", "send", "b")).await;
    // It is done before the connection breaks, and nobody hears it.
    while served.runs() < 2 {
        tokio::task::yield_now().await;
    }
    drop(first);
    let query = format!("?session={session}&after={cursor}");
    let mut second = Line::open(&served, &served.agent, &query).await;
    assert_eq!(second.until("ready").await["resumed"], true);
    let answer = second.until("answer").await;
    assert_eq!((&answer["to"], &answer["result"]["ok"]), (&json!("2"), &json!(true)));
    // Sent again, for whoever did not wait for that: the same answer, and no second act.
    let again = second.ask(call("2", "send", "b")).await;
    assert_eq!(again["result"], answer["result"]);
    assert_eq!(served.runs(), 2);
}

/// Many clients number their frames anew on each connection.
#[tokio::test]
async fn an_id_that_another_frame_had_is_a_conflict_and_nothing_is_done() {
    let served = Served::new().await;
    let mut first = Line::open(&served, &served.agent, "").await;
    let session = first.until("ready").await["session"]["id"].as_str().unwrap().to_owned();
    let done = first.ask(call("1", "send", "first")).await;
    assert_eq!(done["result"]["ok"], true, "{done}");
    drop(first);
    let mut second = Line::open(&served, &served.agent, &format!("?session={session}")).await;
    for other in [
        call("1", "send", "second"),
        call("1", "echo", "first"),
        json!({ "type": "message", "id": "1", "message": "hello" }),
        json!({ "type": "close", "id": "1" }),
    ] {
        let told = second.ask(other.clone()).await;
        assert_eq!(
            (&told["type"], &told["problem"]["code"]),
            (&json!("error"), &json!("conflict"))
        );
        assert_eq!(told["problem"]["status"], 409, "{other}");
    }
    // The first one, in whatever order it is written, is what it was.
    let again = json!({ "call": { "arguments": { "text": "first" }, "tool": "send" },
        "type": "call", "id": "1" });
    assert_eq!(second.ask(again).await["result"], done["result"]);
    assert_eq!(served.runs(), 1);
    let said = second.ask(json!({ "type": "message", "id": "2", "message": "hello" })).await;
    let signal = json!({ "type": "signal", "id": "3", "signal": "turn_complete" });
    assert_eq!(said["result"]["status"], "waits", "{said}");
    assert_eq!(second.ask(signal).await["result"]["messages"], json!(["hello"]), "and no other");
}

#[tokio::test]
async fn a_frame_whose_answer_is_no_longer_kept_is_not_met_with_silence() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    line.ask(call("1", "send", "a")).await;
    for _ in 0..1_100 {
        line.say(json!({})).await;
        line.until("error").await;
    }
    let asked = line.ask(call("1", "send", "a"));
    let told = tokio::time::timeout(Duration::from_secs(30), asked).await.unwrap();
    assert_eq!(
        (&told["type"], &told["problem"]["code"]),
        (&json!("error"), &json!("result_expired"))
    );
    assert_eq!(served.runs(), 1);
}

/// Gemini's calls have no ids: two messages may be the same text, and their frames tell them apart.
#[tokio::test]
async fn a_frame_is_a_message_of_its_own_and_one_that_comes_again_is_not() {
    let store: Arc<dyn haft_core::port::Store> = Arc::new(haft_store::Memory::new());
    let limits = haft_server::Limits::default;
    let served = Served::on(store.clone(), limits()).await;
    let mut line = Line::open(&served, &served.agent, "").await;
    let session = line.until("ready").await["session"]["id"].as_str().unwrap().to_owned();
    let said = |id: &str, tool: &str| {
        let call = json!({ "functionCall": { "name": tool, "args": {} } });
        let message = json!({ "role": "model", "parts": [call] });
        json!({ "type": "said", "id": id, "format": "gemini", "message": message })
    };
    for (id, runs) in [("1", 1), ("2", 2), ("1", 2), ("2", 2)] {
        let answer = line.ask(said(id, "shop__echo")).await;
        assert_eq!(answer["result"]["outcomes"][0]["ok"], true, "{answer}");
        assert_eq!(served.runs(), runs, "frame {id}");
    }
    // What writes is one act of a turn, and another one in the next.
    for (turn, runs) in [("a", 3), ("b", 4)] {
        for again in 1..=2 {
            line.ask(said(&format!("{turn}{again}"), "shop__send")).await;
            assert_eq!(served.runs(), runs, "turn {turn}");
        }
        line.ask(json!({ "type": "signal", "id": format!("{turn}3"), "signal": "turn_complete" }))
            .await;
        line.ask(json!({ "type": "message", "id": format!("{turn}4"), "message": "next" })).await;
    }
    // After a restart and in another turn, a frame that is sent again is still the same.
    drop(line);
    served.stop().await;
    let served = Served::on(store, limits()).await;
    let mut line = Line::open(&served, &served.agent, &format!("?session={session}")).await;
    for frame in [said("2", "shop__echo"), said("a1", "shop__send"), said("b2", "shop__send")] {
        let answer = line.ask(frame).await;
        assert_eq!(answer["result"]["outcomes"][0]["ok"], true, "{answer}");
    }
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn the_newest_connection_holds_the_session() {
    let served = Served::new().await;
    let mut first = Line::open(&served, &served.agent, "").await;
    let session = first.until("ready").await["session"]["id"].as_str().unwrap().to_owned();
    let mut second = Line::open(&served, &served.agent, &format!("?session={session}")).await;
    second.until("ready").await;
    assert_eq!(first.hear().await, Err(4001));
    assert_eq!(second.ask(call("1", "echo", "a")).await["result"]["ok"], true);
}

#[tokio::test]
async fn a_number_that_becomes_a_text_is_written_as_it_came() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    let frame =
        r#"{"type": "call", "id": "1", "call": {"tool": "echo", "arguments": {"text": 1.10}}}"#;
    line.0.send(Message::text(frame)).await.unwrap();
    let answer = line.until("answer").await;
    assert_eq!(answer["result"]["data"], json!({"said": {"text": "1.10"}}), "{answer}");
}

#[tokio::test]
async fn a_person_is_asked_and_answers_over_the_socket() {
    let served = Served::new().await;
    let mut agent = Line::open(&served, &served.agent, "").await;
    let asked = agent.ask(call("1", "pay", "a")).await;
    assert_eq!(asked["result"]["error"]["kind"], "confirmation_required");
    let id = &asked["result"]["error"]["details"]["confirmation"]["id"];
    let confirm = json!({ "type": "confirm", "id": "2", "confirmation": id, "approve": true });
    // Not by the one who asks.
    let refused = agent.ask(confirm.clone()).await;
    assert_eq!((&refused["type"], &refused["problem"]["status"]), (&json!("error"), &json!(403)));
    let mut person = Line::open(&served, &served.operator, "").await;
    let decided = person.ask(confirm).await;
    assert_eq!(decided["result"]["confirmation"]["status"], "approved", "{decided}");
    let event = agent.until("event").await;
    assert_eq!(event["event"]["type"], "confirmation_decided", "{event}");
    assert_eq!(agent.ask(call("3", "pay", "a")).await["result"]["ok"], true);
    assert_eq!(served.runs(), 1);
}

/// The agent's program holds the same key as the front end would.
#[tokio::test]
async fn a_key_that_acts_for_a_user_does_not_answer_for_them() {
    let served = Served::new().await;
    let mut beside = Line::open(&served, &served.companion, "").await;
    let asked = beside.ask(call("1", "pay", "a")).await;
    let id = &asked["result"]["error"]["details"]["confirmation"]["id"];
    for (frame, approve) in [("2", true), ("3", false)] {
        let confirm =
            json!({ "type": "confirm", "id": frame, "confirmation": id, "approve": approve });
        let refused = beside.ask(confirm).await;
        assert_eq!(refused["problem"]["status"], 403, "{refused}");
        let how = refused["problem"]["suggestion"].as_str().unwrap();
        assert!(how.contains("server.socket_approvals"), "{how}");
    }
    let over_http = served
        .post(
            &served.companion,
            &format!("/v1/confirmations/{}", id.as_str().unwrap()),
            json!({"approve": true}),
        )
        .await;
    assert_eq!(over_http.status, 403);
    let again = beside.ask(call("4", "pay", "a")).await;
    assert_eq!(again["result"]["error"]["kind"], "confirmation_required", "{again}");
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn the_user_beside_the_client_answers_what_their_own_session_asks_where_that_is_said() {
    let served = Served::made(|door| door.with_socket_approvals(Approvals::Client)).await;
    let mut beside = Line::open(&served, &served.companion, "").await;
    let asked = beside.ask(call("1", "pay", "a")).await;
    let id = &asked["result"]["error"]["details"]["confirmation"]["id"];
    let confirm = json!({ "type": "confirm", "id": "2", "confirmation": id, "approve": true });
    // Another session of the same user, and one without a user, have no part in it.
    for key in [&served.companion, &served.agent] {
        let refused = Line::open(&served, key, "").await.ask(confirm.clone()).await;
        assert_eq!(refused["problem"]["status"], 403, "{refused}");
    }
    let decided = beside.ask(confirm).await;
    assert_eq!(decided["result"]["confirmation"]["decidedBy"], "user:ann", "{decided}");
    assert_eq!(beside.ask(call("3", "pay", "a")).await["result"]["ok"], true);
    assert_eq!(served.runs(), 1);
}

/// The same call waits for the same question, whoever has asked it first.
#[tokio::test]
async fn who_asks_what_another_session_asked_first_sees_and_answers_it_too() {
    let served = Served::made(|door| door.with_socket_approvals(Approvals::Client)).await;
    let mut first = Line::open(&served, &served.companion, "").await;
    let asked = first.ask(call("1", "pay", "a")).await;
    let id = &asked["result"]["error"]["details"]["confirmation"]["id"];
    let mut second = Line::open(&served, &served.companion, "").await;
    let confirm = json!({ "type": "confirm", "id": "9", "confirmation": id, "approve": true });
    let refused = second.ask(confirm).await;
    assert_eq!(refused["problem"]["status"], 403, "it has not asked: {refused}");
    let again = second.ask(call("1", "pay", "a")).await;
    assert_eq!(&again["result"]["error"]["details"]["confirmation"]["id"], id);
    let confirm = json!({ "type": "confirm", "id": "2", "confirmation": id, "approve": true });
    second.say(confirm).await;
    let (mut decided, mut answered) = (false, false);
    while !(decided && answered) {
        let heard = second.hear().await.unwrap();
        decided |= heard["event"]["type"] == "confirmation_decided";
        if heard["to"] == "2" {
            assert_eq!(heard["result"]["confirmation"]["decidedBy"], "user:ann", "{heard}");
            answered = true;
        }
    }
    assert_eq!(second.ask(call("3", "pay", "a")).await["result"]["ok"], true);
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn frames_that_make_no_sense_are_answered_and_strangers_are_not() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    for (frame, word) in [
        ("{", "the text ends"),
        ("[]", "a frame is an object"),
        (r#"{"type":"call"}"#, "an `id` of its own"),
        (r#"{"type":"call","id":"1"}"#, "missing field `call`"),
        (r#"{"type":"sing","id":"1"}"#, "unknown variant `sing`"),
        (r#"{"type":"close","id":"1","id":"2"}"#, "twice"),
    ] {
        line.0.send(Message::text(frame)).await.unwrap();
        let error = line.until("error").await;
        let detail = error["problem"]["detail"].as_str().unwrap();
        assert!(detail.contains(word), "{frame}: {detail}");
    }
    let session = |id: &str| format!("?session={id}");
    let check = async |key: &str, query: &str, expected: u16| {
        let found = Line::try_open(&served, key, query, |_| {}).await;
        assert_eq!(found.err(), Some(expected), "{query}");
    };
    check("", "", 401).await;
    check("haft_helper_00", "", 401).await;
    check(&served.stranger, "", 404).await;
    check(&served.agent, &session("nobody's"), 410).await;
    check(&served.agent, "?after=1", 400).await;
    check(&served.agent, "?cheese=1", 400).await;
    // A browser sends its key as a protocol, and its page's origin.
    let as_browser = |origin: &'static str| {
        let protocols = format!("haft.v1, haft.key.{}", served.agent);
        move |request: &mut Request| {
            let headers = request.headers_mut();
            headers.insert("sec-websocket-protocol", protocols.parse().unwrap());
            headers.insert("origin", origin.parse().unwrap());
        }
    };
    let ours = Line::try_open(&served, "", "", as_browser("http://localhost")).await;
    assert!(ours.is_ok());
    let theirs = Line::try_open(&served, "", "", as_browser("https://evil.example")).await;
    assert_eq!(theirs.err(), Some(403));
    // Of two keys nobody knows which is meant; one that is there twice is that one.
    let home = as_browser("http://localhost");
    let twice = Line::try_open(&served, &served.agent, "", home.clone()).await;
    assert!(twice.is_ok(), "{:?}", twice.err());
    let other = Line::try_open(&served, &served.operator, "", home).await;
    assert_eq!(other.err(), Some(400));
}

#[tokio::test]
async fn whoever_takes_their_own_session_over_needs_no_further_place() {
    let limits = Limits { watchers: 4, ..Limits::default() };
    let served = Served::with(limits).await;
    let mut first = Line::open(&served, &served.agent, "").await;
    let ready = first.until("ready").await;
    let session = format!("?session={}", ready["session"]["id"].as_str().unwrap());
    let mut last = Line::open(&served, &served.agent, &session).await;
    last.until("ready").await;
    assert_eq!(first.hear_end().await, 4001);
    let another = async || Line::try_open(&served, &served.agent, "", |_| {}).await.err();
    assert_eq!(another().await, Some(429), "a quarter is one, and the second holds it");
    let sessions = served.get(&served.operator, "/v1/sessions").await.json();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "none is begun for whoever is refused");
    drop(last);
    let mut tries = 0;
    while another().await.is_some() {
        tries += 1;
        assert!(tries < 2_000, "the place is never free again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// However many connections a client that reads nothing leaves behind.
#[tokio::test]
async fn a_connection_that_was_taken_over_ends_though_its_client_takes_nothing() {
    let served = Served::with(Limits { watchers: 4, ..Limits::default() }).await;
    let mut first = Line::open(&served, &served.agent, "").await;
    let ready = first.until("ready").await;
    let session = format!("?session={}", ready["session"]["id"].as_str().unwrap());
    let mut held = vec![first];
    for _ in 0..12 {
        let mut tries = 0;
        let next = loop {
            match Line::try_open(&served, &served.agent, &session, |_| {}).await {
                Ok(next) => break next,
                Err(status) => assert_eq!(status, 429, "only where too many still end"),
            }
            tries += 1;
            assert!(tries < 400, "those before it keep the place");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        held.push(next);
    }
}

#[tokio::test]
async fn told_to_stop_it_makes_all_calls_of_a_message_that_it_took() {
    let store = Arc::new(Memory::new());
    let mut served = Served::on(store.clone(), Limits::default()).await;
    let mut line = Line::open(&served, &served.agent, "").await;
    let call = |at: usize| {
        let arguments = json!({"text": format!("wait {at}0")}).to_string();
        json!({"id": format!("c{at}"), "type": "function",
               "function": {"name": "shop__send", "arguments": arguments}})
    };
    let calls: Vec<_> = (1..=4).map(call).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    line.say(json!({"type": "said", "id": "1", "format": "openai", "message": message})).await;
    served.ran(1).await;
    served.tell_to_stop();
    let left = served.stop().await;
    assert_eq!((left.effects, left.requests), (0, 0));
    let effects = EffectFilter { tenant: "ours".into(), limit: 10, ..EffectFilter::default() };
    let effects = store.effects(effects).await.unwrap();
    let ends: Vec<_> = effects.iter().map(|one| one.state.as_str()).collect();
    assert_eq!(ends, ["succeeded"; 4]);
}

#[tokio::test]
async fn a_key_that_is_revoked_ends_what_it_holds_open() {
    let served = Served::new().await;
    let wanted = json!({"principal": "agent:helper", "roles": ["agent"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let key = made.json()["key"].as_str().unwrap().to_owned();
    let mut line = Line::open(&served, &key, "").await;
    assert_eq!(line.ask(call("1", "echo", "a")).await["result"]["ok"], true);
    let mut other = Line::open(&served, &served.agent, "").await;
    let place = made.header("location").unwrap();
    served.send(&served.admin, "DELETE", place, &[], None).await;
    assert_eq!(line.hear_end().await, 1008);
    assert_eq!(other.ask(call("1", "echo", "a")).await["result"]["ok"], true, "others stay");
}

#[tokio::test]
async fn calls_that_wait_on_a_socket_do_not_begin_once_its_key_is_revoked() {
    let served = Served::new().await;
    let (key, place) = crate::revoked::made(&served).await;
    let mut line = Line::open(&served, &key, "").await;
    line.until("ready").await;
    for at in 0..60 {
        let ms = if at < 32 { 3_000 } else { 0 };
        line.say(call(&format!("c{at}"), "send", &format!("wait {}", ms + at))).await;
    }
    served.ran(32).await;
    served.send(&served.admin, "DELETE", &place, &[], None).await;
    assert_eq!(line.hear_end().await, 1008);
    // Each is on record: 32 that were done, and the others as refused.
    let ended = async || {
        let all = served.get(&served.operator, "/v1/calls?limit=100").await.json();
        let all = all.as_array().unwrap();
        let denied = all.iter().filter(|one| one["error"] == "denied").count();
        (all.len(), denied)
    };
    let mut asked = 0;
    while ended().await.0 < 60 {
        asked += 1;
        assert!(asked < 1_000, "they do not end: {:?}", ended().await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!((served.runs(), ended().await), (32, (60, 28)));
}

#[tokio::test]
async fn a_frame_that_is_too_long_ends_the_connection_with_its_code() {
    let limits = Limits { body_bytes: 1_000, ..Limits::default() };
    let served = Served::with(limits).await;
    let mut line = Line::open(&served, &served.agent, "").await;
    line.until("ready").await;
    line.say(call("1", "echo", &"x".repeat(2_000))).await;
    assert_eq!(line.hear_end().await, 1009);
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn a_server_that_stops_says_so() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    line.until("ready").await;
    let stopping = tokio::spawn(served.stop());
    assert_eq!(line.hear().await, Err(1001));
    assert_eq!(stopping.await.unwrap().effects, 0);
}

#[tokio::test]
async fn progress_comes_over_the_socket_in_order_and_before_the_answer() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    line.until("ready").await;
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function",
         "function": {"name": "shop__echo", "arguments": "{\"text\":\"steps 3\"}"}}]});
    for asked in [
        call("1", "echo", "steps 3"),
        json!({"type": "said", "id": "2", "format": "openai", "message": message}),
    ] {
        let id = asked["id"].clone();
        line.say(asked).await;
        let mut told = Vec::new();
        loop {
            let frame = line.hear().await.unwrap();
            match frame["type"].as_str().unwrap() {
                "progress" | "log" => {
                    assert_eq!(frame["of"], id, "{frame}");
                    told.push(frame["progress"].as_f64().map_or(0, |step| step as u64));
                }
                "answer" => break assert_eq!(frame["to"], id, "{frame}"),
                _ => {}
            }
        }
        assert_eq!(told, [1, 2, 3, 0], "of frame {id}");
    }
}

#[tokio::test]
async fn a_farewell_that_nobody_reports_ends_the_session_and_its_socket() {
    let intent_limit = Duration::from_millis(50);
    let settings = Settings { intent_limit, ..Settings::default() };
    let served = Served::running(|builder| builder.settings(settings)).await;
    let mut line = Line::open(&served, &served.agent, "?mode=voice").await;
    line.say(call("1", "echo", "bye")).await;
    let deferred = line.until("intents").await;
    assert_eq!(deferred["intents"][0]["status"], "deferred", "{deferred}");
    // Nobody touches the session from here on.
    let applied = line.until("intents").await;
    assert_eq!(applied["intents"][0]["status"], "applied", "{applied}");
    assert_eq!(applied["intents"][0]["type"], "END_VOICE_SESSION", "{applied}");
    assert_eq!(applied["session"]["phase"], "ended", "{applied}");
    assert_eq!(line.hear_end().await, 1000);
    let listed = served.get(&served.operator, "/v1/sessions").await.json();
    assert_eq!(listed[0]["phase"], "ended", "{listed}");
}

#[tokio::test]
async fn a_session_that_ends_elsewhere_ends_its_socket() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    let ready = line.until("ready").await;
    let id = ready["session"]["id"].as_str().unwrap();
    let path = format!("/v1/agents/helper/sessions/{id}");
    let closed = served.send(&served.agent, "DELETE", &path, &[], None).await;
    assert!(closed.status < 300, "{closed:?}");
    assert_eq!(line.hear_end().await, 1000);
    // One that has ended before is shown as it is, and that is all.
    let mut late = Line::open(&served, &served.agent, &format!("?session={id}")).await;
    assert_eq!(late.until("ready").await["session"]["phase"], "ended");
    assert_eq!(late.hear_end().await, 1000);
    let none = Line::try_open(&served, &served.agent, "?session=none", |_| {}).await;
    assert_eq!(none.err(), Some(410));
}
