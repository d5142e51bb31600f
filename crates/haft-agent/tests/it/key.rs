//! A server that repeats the key: nobody else is shown it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_agent::http::{Endpoint, Http, Keys, Provider as Api};
use haft_agent::{Model as _, Reason};
use haft_core::port::Boxed;
use haft_core::port::Journal as _;
use haft_core::secret::SecretText;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::provider::{Provider, Reply, says};
use crate::world::World;

const KEY: &str = "sk-very-secret";

/// The key as it is, behind escapes, and in base64 and hexadecimal.
const SPELLINGS: [&str; 5] = [
    KEY,
    "sk%2Dvery%2Dsecret",
    "sk&#45;very-secret",
    "c2stdmVyeS1zZWNyZXQ=",
    "736b2d766572792d736563726574",
];

fn error(spelling: &str, code: &str) -> Value {
    let message = format!("invalid key {spelling}, sent as Bearer {spelling}");
    json!({ "error": { "message": message, "type": code, "code": code } })
}

/// An error in mid-stream, as the API reports it.
fn mid_stream(api: Api, spelling: &str, code: &str) -> Reply {
    let mut error = error(spelling, code);
    let event = match api {
        Api::OpenAi | Api::Gemini => format!("data: {error}\n\n"),
        Api::Anthropic => {
            error["type"] = json!("error");
            format!("event: error\ndata: {error}\n\n")
        }
        Api::OpenAiResponses => {
            let failed = json!({ "id": "r", "status": "failed", "error": error["error"] });
            let data = json!({ "type": "response.failed", "response": failed });
            format!("event: response.failed\ndata: {data}\n\n")
        }
    };
    let first = says(api, "", &[]).remove(0);
    Reply::Stream(vec![first, event])
}

/// Everything that anyone gets to see of one message.
async fn seen(world: &World) -> (String, Reason) {
    let (done, heard, chat) = world.say("hi").await;
    let notes: Vec<String> =
        world.store.audit(0, 100).await.unwrap().into_iter().map(|entry| entry.body).collect();
    assert!(notes.iter().any(|note| note.contains("invalid key")), "{notes:?}");
    let all = format!(
        "{heard:?} {} {done:?} {} {:?} {notes:?}",
        json!(heard),
        json!(done),
        chat.messages()
    );
    (all, done.reason)
}

#[tokio::test]
async fn what_a_server_repeats_of_the_key_is_not_passed_on() {
    for api in Api::ALL {
        for spelling in SPELLINGS {
            let refused = |code| Reply::Status(code, "", error(spelling, "bad_key").to_string());
            for replies in [
                vec![refused(401)],
                // Asked again: the reason for it is told as well.
                vec![refused(503), refused(401)],
                vec![mid_stream(api, spelling, "bad_key")],
                vec![mid_stream(api, spelling, "server_error"), refused(400)],
                vec![mid_stream(api, "nothing", spelling)],
            ] {
                let world = World::new(api, replies).await;
                let (all, reason) = seen(&world).await;
                assert!(!all.contains(spelling), "{api} {spelling}: {all}");
                assert_eq!(world.provider.left(), 0);
                let Reason::ModelFailed { message, .. } = reason else { panic!("{reason:?}") };
                assert!(message.contains("invalid key"), "{message}");
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_is_clean_before_the_loop_sees_it() {
    let replies = vec![Reply::Status(401, "", error(KEY, "bad_key").to_string())];
    let world = World::new(Api::OpenAi, replies).await;
    let endpoint = haft_agent::http::Endpoint {
        provider: Api::OpenAi,
        url: Some(world.provider.url()),
        model: "m".into(),
        key: Some(format!("{KEY}\n")),
    };
    let http = haft_agent::http::Http::new(endpoint).unwrap();
    let Err(refusal) = http.ask("{}".into()).await else { panic!("it was refused") };
    assert!(!format!("{refusal:?} {refusal}").contains(KEY), "{refusal:?}");
    assert!(refusal.message.contains("invalid key [secret:model-key]"), "{refusal:?}");
}

#[test]
fn a_key_that_cannot_be_told_from_text_is_refused() {
    let endpoint = haft_agent::http::Endpoint {
        provider: Api::OpenAi,
        url: None,
        model: "m".into(),
        key: Some("abc".into()),
    };
    let why = haft_agent::http::Http::new(endpoint).err().unwrap().to_string();
    assert!(why.contains("fewer than 6 characters"), "{why}");
}

/// A key for each request, until there is none.
struct Rotated(Mutex<Vec<&'static str>>);

impl Keys for Rotated {
    fn key<'a>(&'a self) -> Boxed<'a, Result<SecretText, String>> {
        let key = self.0.lock().pop().map(SecretText::new);
        Box::pin(async move { key.ok_or_else(|| "the connection is gone".to_owned()) })
    }
}

#[tokio::test]
async fn a_key_that_changes_is_asked_for_each_time_and_none_of_them_shown() {
    let repeats = || {
        let said = json!({ "error": { "message": "sk-first-one, then sk-second-one" } });
        Reply::Status(401, "", said.to_string())
    };
    let provider = Provider::listen(vec![repeats(), repeats()]).await;
    let endpoint = |url: String| Endpoint {
        provider: Api::OpenAi,
        url: Some(url),
        model: "m".into(),
        key: None,
    };
    let keys = Arc::new(Rotated(Mutex::new(vec!["sk-second-one", "sk-first-one"])));
    let model = Http::keyed(endpoint(provider.url()), keys.clone()).unwrap();
    let mut said = Vec::new();
    for _ in 0..3 {
        said.push(model.ask("{}".into()).await.err().unwrap().message);
    }
    // Before it is used, a key is no secret that anyone could know of.
    assert!(said[0].contains("[secret:model-key], then sk-second-one"), "{said:?}");
    assert!(said[1].contains("[secret:model-key], then [secret:model-key]"), "{said:?}");
    assert_eq!(said[2], "the connection is gone");
    let sent: Vec<String> = provider.requests().into_iter().map(|seen| seen.head).collect();
    assert!(sent[0].contains("sk-first-one") && sent[1].contains("sk-second-one"), "{sent:?}");
    assert_eq!(sent.len(), 2);
    let clear = Http::keyed(endpoint("http://models.example".into()), keys).err().unwrap();
    assert!(clear.to_string().contains("in the clear"), "{clear}");
}

/// Another key for each request.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Keys for Counted {
    fn key<'a>(&'a self) -> Boxed<'a, Result<SecretText, String>> {
        let key =
            SecretText::new(format!("sk-number-{:04}", self.0.fetch_add(1, Ordering::SeqCst)));
        Box::pin(async move { Ok(key) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_of_many_requests_at_once_is_sent_with_its_own_key() {
    const SENDERS: usize = 4;
    const EACH: usize = 40;
    let refused = || Reply::Status(401, "", "{}".to_owned());
    let provider = Provider::listen((0..SENDERS * EACH).map(|_| refused()).collect()).await;
    let endpoint =
        Endpoint { provider: Api::OpenAi, url: Some(provider.url()), model: "m".into(), key: None };
    let model = Arc::new(Http::keyed(endpoint, Arc::new(Counted::default())).unwrap());
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let model = model.clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    let refusal = model.ask("{}".into()).await.err().unwrap();
                    assert_eq!(refusal.status, Some(401), "{refusal:?}");
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
    let sent = provider.requests();
    let keys: HashSet<&str> =
        sent.iter().filter_map(|seen| seen.head.split("sk-number-").nth(1)?.get(..4)).collect();
    assert_eq!((sent.len(), keys.len()), (SENDERS * EACH, SENDERS * EACH), "a key was sent twice");
}
