//! Connections through the one path: sealed in a file, leased for a call, and seen by nobody.

mod keys;
mod oracle;
mod renewal;
mod reversed;
mod unprintable;
mod world;

use std::sync::Arc;
use std::time::Duration;

use haft_core::connection::{Credentials, Origin};
use haft_core::port::{
    Broker as _, Connections as _, Expect, Invoke as _, Journal as _, Store as _, StoreError, Want,
};
use haft_core::registry::Implementation;
use haft_core::secret::SecretText;
use haft_core::{Call, Caller, ErrorKind, Principal};
use haft_exec::{Broker, Executors, Http};
use haft_runtime::effects::{UndoTarget, UndoneStatus};
use haft_store::vault::{Key, Keyring};
use haft_store::{Accounts, Vault};
use serde_json::json;

use crate::http::client;
use crate::http::server::{Does, Server, json as says, response, waiting};
use crate::rig::{js, pool, tool_with};
use world::{World, account, oauth, writing};

const SECRET: &str = "canary-5e1f0b7a9c3d/token+x";

fn echo(request: &str) -> String {
    json!({ "said": request, "message": format!("no: {request}") }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_at_its_service_and_nowhere_else() {
    let server = Server::new(|n, request| match n {
        0 => says("200 OK", &echo(request)),
        1 => says("422 No", &echo(request)),
        _ => says("500 Broken", &echo(request)),
    })
    .await;
    let world = World::new(&server.url("/x")).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    for (key, expected) in [
        ("a", None),
        ("b", Some(ErrorKind::InvalidArguments)),
        ("c", Some(ErrorKind::UnknownOutcome)),
    ] {
        let envelope = world.call("work", key).await;
        assert_eq!(envelope.result.as_ref().err().map(|error| error.kind), expected);
        let shown = format!("{} {:?}", serde_json::to_string(&envelope).unwrap(), envelope.result);
        assert!(shown.contains("[secret]"), "{shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert!(
        seen.iter().all(|request| request.contains(&format!("authorization: Bearer {SECRET}")))
    );
    assert!(!world.events().contains("canary"), "{}", world.events());
    world.store.flush().await.unwrap();
    let files = world.files();
    assert!(files.len() > 10_000, "the store was written");
    for spelling in [SECRET.to_owned(), SECRET.replace('/', "%2F"), "canary-5e1f".to_owned()] {
        let at = files.windows(spelling.len()).position(|bytes| bytes == spelling.as_bytes());
        assert_eq!(at, None, "{spelling}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_tenant_uses_is_hidden_however_much_others_use() {
    let go = Arc::new(tokio::sync::Notify::new());
    let server = Server::new({
        let go = go.clone();
        move |_, request| {
            let does = says("200 OK", &echo(request));
            if request.contains("of-tenant-00") { waiting(&go, does) } else { does }
        }
    })
    .await;
    let tenants: Vec<String> = (0..30).map(|n| format!("t{n:02}")).collect();
    let world = World::of(&server.url("/x"), &tenants).await;
    for tenant in &tenants {
        let secret = SecretText::new(format!("canary-of-tenant-{}", &tenant[1..]));
        world.add(tenant, "work", Credentials::Bearer(secret)).await;
    }
    let slow = tokio::spawn({
        let (runtime, call) = (world.runtime.clone(), world.request_of("t00", "work", "slow"));
        async move { haft_core::port::Invoke::invoke(&runtime, call).await }
    });
    let end = std::time::Instant::now() + Duration::from_secs(5);
    while server.seen().is_empty() && std::time::Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for tenant in &tenants[1..] {
        let call = world.request_of(tenant, "work", "k");
        let said = haft_core::port::Invoke::invoke(&world.runtime, call).await;
        assert!(said.is_ok(), "{said:?}");
        assert!(!format!("{said:?}").contains("canary"), "{said:?}");
    }
    go.notify_one();
    let said = slow.await.unwrap();
    assert!(said.is_ok(), "{said:?}");
    let said = format!("{said:?}");
    assert!(said.contains("[secret]") && !said.contains("canary"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_service_leaves_doubt_and_is_not_asked_again() {
    let server = Server::saying(response("500 Broken", "", "{}")).await;
    let world = World::new(&server.url("/x")).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    for _ in 0..3 {
        let error = world.call("work", "same").await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnknownOutcome);
    }
    assert_eq!(server.seen().len(), 1, "never repeated");
}

/// How services answer that have done it, and show where it is now.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_after_a_request_that_writes_is_in_doubt_and_it_is_not_made_again() {
    for (status, times) in [("301", 1), ("302", 1), ("303", 1), ("600", 1), ("307", 3), ("404", 3)]
    {
        let does = response(&format!("{status} Word"), "location: /made/7\r\n", "{}");
        let server = Server::saying(does).await;
        let world = World::new(&server.url("/x")).await;
        world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
        for _ in 0..3 {
            let error = world.call("work", "same").await.result.unwrap_err();
            assert_eq!(error.kind == ErrorKind::UnknownOutcome, times == 1, "{status}: {error:?}");
        }
        assert_eq!(server.seen().len(), times, "{status}");
    }
}

/// Nobody would know its request again: there is no key and no entry in the ledger.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_does_not_write_changes_nothing_and_posts_nothing_twice() {
    let unsent = "127.0.0.1:9";
    // What it sends, what comes back, how often it is sent, and how often the tool is run.
    for (method, status, sent, attempts) in [
        ("GET", "503 Busy", 2, 2),
        ("POST", "503 Busy", 1, 1),
        // That one has certainly not been done, and neither has what never left.
        ("POST", "425 Early", 2, 2),
        ("POST", unsent, 0, 2),
        ("PUT", "503 Busy", 0, 0),
        ("PATCH", "503 Busy", 0, 0),
        ("DELETE", "503 Busy", 0, 0),
    ] {
        let server = Server::saying(response(status, "", "{}")).await;
        let url = if status == unsent { format!("http://{unsent}/") } else { server.url("/x") };
        let mut tool = tool_with(Implementation::Gateway, &json!([]));
        let gateway = json!({"kind": "http", "method": method, "url": url});
        tool.contract.gateway = Some(serde_json::from_value(gateway).unwrap());
        let executors = Executors::new().with(Http::new(client()));
        let world = World::running(tool, executors, &["acme".to_owned()]).await;
        let call = Call::new(Caller::agent("acme", "bot"), "core__probe", json!({}));
        let ended = world.runtime.invoke(call).await;
        let found = (server.seen().len(), ended.meta.attempts);
        assert_eq!(found, (sent, attempts), "{method} {status}: {ended:?}");
        let error = ended.result.unwrap_err();
        let told = error.message.contains("say `\"sideEffects\": \"writes\"`");
        assert_eq!(told, attempts == 0, "{method} {status}: {error:?}");
    }
}

/// Whatever the handler makes of it: its host has seen an answer, and not that nothing was done.
#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_posts_and_is_redirected_has_written() {
    let handler = r#"export async function execute({ context }) {
      const { status } = await context.http.post({ url: "URL", json: {} });
      return { ok: false, error: { kind: "not_found", message: `it said ${status}` } };
    }"#;
    for status in [301, 303, 999] {
        let does = response(&format!("{status} Word"), "location: /made/7\r\n", "{}");
        let server = Server::saying(does).await;
        let source = handler.replace("URL", &server.url("/x"));
        let mut tool = writing(js(&source), &json!(["http"]));
        tool.contract.hosts = vec![server.at.to_string()];
        let executors = Executors::new().with(pool(1));
        let world = World::running(tool, executors, &["acme".to_owned()]).await;
        world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
        for words in [&format!("it said {status}"), "the earlier attempt"] {
            let error = world.call("work", "same").await.result.unwrap_err();
            assert_eq!(error.kind, ErrorKind::UnknownOutcome, "{error:?}");
            assert!(error.message.contains(words), "{error:?}");
        }
        assert_eq!(server.seen().len(), 1, "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_reached_has_certainly_failed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let world = World::new(&url).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    let error = world.call("work", "k").await.result.unwrap_err();
    assert_eq!((error.kind, error.partial_side_effects), (ErrorKind::Transient, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_not_ones_own_is_refused_before_the_broker_is_asked() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let world = World::new(&server.url("/x")).await;
    for (tenant, id) in [("acme", "work"), ("acme", "other"), ("globex", "theirs")] {
        world.add(tenant, id, Credentials::Bearer(SecretText::new(SECRET))).await;
    }
    for id in ["other", "theirs", "gone", "mail"] {
        let error = world.call(id, id).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{id}");
    }
    // Granted, but not given to this request.
    let mut call = world.request("work", "x");
    call.connections = vec!["other".to_owned()];
    let error = haft_core::port::Invoke::invoke(&world.runtime, call).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert_eq!(world.leases(), 0);
    assert!(server.seen().is_empty());
    assert!(world.call("work", "y").await.is_ok());
    assert_eq!(world.leases(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rotated_or_removed_counts_from_the_next_call_on() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let world = World::new(&server.url("/x")).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new("first-secret"))).await;
    assert!(world.call("work", "1").await.is_ok());
    let (account, _) = world.vault.open("acme", "work").await.unwrap();
    let second = Credentials::Bearer(SecretText::new("second-secret"));
    world.vault.put(account, &second, Expect::Revision(1), None).await.unwrap();
    assert!(world.call("work", "2").await.is_ok());
    world.vault.remove("acme", "work", &Principal::user("boss")).await.unwrap();
    let error = world.call("work", "3").await.result.unwrap_err();
    assert_eq!((error.kind, error.partial_side_effects), (ErrorKind::Auth, false));
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[0].contains("first-secret") && seen[1].contains("second-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_granted_by_a_command_counts_from_the_next_look_on() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let world = World::new(&server.url("/x")).await;
    for id in ["late", "work", "mail"] {
        world.add("acme", id, Credentials::Bearer(SecretText::new(SECRET))).await;
    }
    let grant = |connection: &str, tools: &str| haft_core::connection::Grant {
        tenant: "acme".to_owned(),
        connection: connection.to_owned(),
        principals: vec!["agent:bot".to_owned()],
        tools: vec![tools.to_owned()],
    };
    let refused = async |key: &str| {
        let error = world.call("late", key).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{key}");
        error.suggestion.clone()
    };
    let help = refused("1").await;
    let command = "haft connections grant <id> --to agent:bot --tools core__probe --tenant acme";
    assert!(help.contains(command), "{help}");
    assert!(!world.runtime.refresh().await.unwrap());
    // A tool that is not there is granted to nobody, and that is said.
    world.vault.grant(grant("late", "core__gone"), &Principal::user("boss")).await.unwrap();
    assert!(world.runtime.refresh().await.unwrap());
    refused("2").await;
    let problems = format!("{:?}", world.runtime.configured().problems);
    assert!(problems.contains("there is no tool `core__gone` now"), "{problems}");
    // What contradicts a declaration does not count, and breaks nothing else.
    world.vault.grant(grant("mail", "core__*"), &Principal::user("boss")).await.unwrap();
    world.vault.grant(grant("late", "core__*"), &Principal::user("boss")).await.unwrap();
    assert!(world.runtime.refresh().await.unwrap());
    assert!(!world.runtime.refresh().await.unwrap());
    assert!(world.call("late", "3").await.is_ok());
    assert!(world.call("work", "4").await.is_ok());
    let error = world.call("mail", "5").await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    world.vault.revoke("acme", "late", None, &Principal::user("boss")).await.unwrap();
    assert!(world.runtime.refresh().await.unwrap());
    refused("6").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_calls_at_once_renew_a_token_once() {
    let server = Server::new(|n, _| {
        std::thread::sleep(Duration::from_millis(20));
        let body = format!(r#"{{"access_token": "fresh-{n}-token", "expires_in": "3600", "refresh_token": "next-refresh"}}"#);
        says("200 OK", &body)
    })
    .await;
    let accounts = Arc::new(Accounts::default());
    let credentials = Credentials::OAuth(Box::new(oauth(&server.url("/token"))));
    accounts.put(account("t", "c"), &credentials, Expect::Nothing, None).await.unwrap();
    let broker = Arc::new(Broker::new(accounts.clone(), client()));
    let want = Want { tenant: "t".into(), connection: "c".into(), provider: "p".into() };
    let asked: Vec<_> = (0..50)
        .map(|_| {
            let (broker, want) = (broker.clone(), want.clone());
            tokio::spawn(
                async move { broker.lease(&want).await.map(|lease| lease.account.revision) },
            )
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap().unwrap(), 2);
    }
    let [request] = &server.seen()[..] else { panic!("{} renewals", server.seen().len()) };
    assert!(request.contains("grant_type=refresh_token&refresh_token=old%2Frefresh"), "{request}");
    assert!(request.contains("authorization: Basic aWQ6czNjcmV0LXNlY3JldA=="), "{request}");
    let (_, kept) = accounts.open("t", "c").await.unwrap();
    let Credentials::OAuth(kept) = kept else { panic!("another kind") };
    assert_eq!(kept.refresh.unwrap().expose(), "next-refresh");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_a_tenant_chose_is_not_reached_as_the_operators_are() {
    let token = r#"{"access_token": "fresh-token", "expires_in": 3600}"#;
    let server = Server::saying(says("200 OK", token)).await;
    let accounts = Arc::new(Accounts::default());
    let credentials = Credentials::OAuth(Box::new(oauth(&server.url("/token"))));
    for (id, origin) in [("operators", Origin::Operator), ("tenants", Origin::Tenant)] {
        let mut one = account("t", id);
        one.origin = origin;
        one.hosts = vec!["127.0.0.1".to_owned()];
        accounts.put(one, &credentials, Expect::Nothing, None).await.unwrap();
    }
    let broker = Broker::new(accounts.clone(), client());
    let want = |id: &str| Want { tenant: "t".into(), connection: id.into(), provider: "p".into() };
    let error = broker.lease(&want("tenants")).await.err().unwrap();
    assert!(error.source.clone().unwrap().contains("is not a public address"), "{}", error.message);
    assert_eq!(server.seen().len(), 0);
    let lease = broker.lease(&want("operators")).await.unwrap();
    assert_eq!(server.seen().len(), 1);
    // To try an address is the tenant's wish, whoever made the connection.
    assert!(broker.ask(&lease, &server.url("/me")).await.is_err());
    assert_eq!(server.seen().len(), 1);
    // Where the operator lets tenants reach it, they do.
    let broker = Broker::with_tenants(accounts, client(), client());
    let lease = broker.lease(&want("tenants")).await.unwrap();
    assert_eq!(broker.ask(&lease, &server.url("/me")).await.unwrap(), 200);
    assert!(broker.ask(&lease, "https://elsewhere.example/").await.is_err());
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_fails_is_not_tried_by_everyone() {
    let server = Server::saying(says("400 Bad", r#"{"error": "invalid_grant"}"#)).await;
    let accounts = Arc::new(Accounts::default());
    let credentials = Credentials::OAuth(Box::new(oauth(&server.url("/token"))));
    accounts.put(account("t", "c"), &credentials, Expect::Nothing, None).await.unwrap();
    let broker = Arc::new(Broker::new(accounts, client()));
    let want = Want { tenant: "t".into(), connection: "c".into(), provider: "p".into() };
    for _ in 0..20 {
        let error = broker.lease(&want).await.err().unwrap();
        assert_eq!(error.kind, ErrorKind::Auth);
        assert_eq!(error.source.as_deref(), Some("status 400: invalid_grant"));
        assert_eq!(error.message, "the provider refused a new token (`invalid_grant`)");
    }
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_service_refuses_is_renewed_once() {
    let server = Server::new(|n, request| match n {
        _ if request.starts_with("POST /token") => {
            says("200 OK", r#"{"access_token": "renewed-token"}"#)
        }
        _ if request.contains("renewed-token") => says("200 OK", "{}"),
        _ => says("401 Who", "{}"),
    })
    .await;
    let world = World::new(&server.url("/x")).await;
    let mut oauth = oauth(&server.url("/token"));
    oauth.access = Some(haft_core::connection::Access {
        token: SecretText::new("revoked-token"),
        until_ms: None,
    });
    world.add("acme", "work", Credentials::OAuth(Box::new(oauth))).await;
    assert!(world.call("work", "1").await.is_ok());
    let lines: Vec<_> =
        server.seen().iter().map(|one| one.lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["POST /x HTTP/1.1", "POST /token HTTP/1.1", "POST /x HTTP/1.1"]);
}

/// Some providers give the token that they have for as long as it lasts. Asking again for each call
/// would help nobody.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_comes_back_from_its_renewal_is_not_renewed_for_every_call() {
    let server = Server::new(|n, request| match n {
        _ if request.starts_with("POST /token") => {
            says("200 OK", r#"{"access_token": "same-token"}"#)
        }
        0 => says("401 Who", "{}"),
        _ => says("200 OK", "{}"),
    })
    .await;
    let world = World::new(&server.url("/x")).await;
    let mut oauth = oauth(&server.url("/token"));
    oauth.access = Some(haft_core::connection::Access {
        token: SecretText::new("same-token"),
        until_ms: None,
    });
    world.add("acme", "work", Credentials::OAuth(Box::new(oauth))).await;
    for key in ["1", "2", "3"] {
        assert!(world.call("work", key).await.is_ok(), "{key}");
    }
    let renewals = server.seen().iter().filter(|one| one.starts_with("POST /token")).count();
    assert_eq!(renewals, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_key_opens_nothing_and_loses_nothing() {
    let server = Server::saying(Does::Closes).await;
    let world = World::new(&server.url("/x")).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    let wrong = Vault::new(world.store.clone(), Keyring::new(vec![Key::random().unwrap()]));
    let Err(StoreError::WrongState(why)) = wrong.open("acme", "work").await else {
        panic!("the wrong key opened it")
    };
    assert!(why.contains("the connection `work`: it was sealed with the key "), "{why}");
    assert!(why.contains("nothing is lost"), "{why}");
    let none = Vault::new(world.store.clone(), Keyring::default());
    assert!(none.open("acme", "work").await.is_err());
    assert!(wrong.reseal().await.is_err(), "a key that opens nothing seals nothing anew");
    let (_, kept) = world.vault.open("acme", "work").await.unwrap();
    assert_eq!(kept.secrets()[0].expose(), SECRET);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_takes_over_and_the_old_one_can_go() {
    let server = Server::saying(Does::Closes).await;
    let world = World::new(&server.url("/x")).await;
    for id in ["one", "two"] {
        world.add("acme", id, Credentials::Bearer(SecretText::new(SECRET))).await;
    }
    let new = Key::random().unwrap();
    let both = world.keys.led_by(new.clone());
    assert_eq!(
        Vault::new(world.store.clone(), both.clone()).reseal().await.unwrap().connections,
        2
    );
    let alone = Vault::new(world.store.clone(), both.first_only());
    for id in ["one", "two"] {
        assert_eq!(alone.open("acme", id).await.unwrap().1.secrets()[0].expose(), SECRET);
    }
    assert!(world.vault.open("acme", "one").await.is_err(), "the old key is of no use any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_bound_to_its_account() {
    let server = Server::saying(Does::Closes).await;
    let world = World::new(&server.url("/x")).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    world.tamper(r#""hosts":[]"#, r#""hosts":["evil.example"]"#);
    let touched = world.vault.open("acme", "work").await;
    assert!(matches!(touched, Err(StoreError::Tampered(_))));
}

/// Another connection that was made under the name of the one that it went through may be another account.
#[tokio::test(flavor = "multi_thread")]
async fn what_went_to_one_account_is_not_asked_sent_again_or_taken_back_at_another() {
    let server = Server::new(|n, _| match n {
        // In text mode it is sent once more by itself.
        1 | 2 => says("502 Bad", "{}"),
        _ => says("200 OK", r#"{"found": false}"#),
    })
    .await;
    let world = World::told(&server.url("/x")).await;
    let secret = |text: &str| Credentials::Bearer(SecretText::new(text));
    world.add("acme", "work", secret(SECRET)).await;
    let done = world.call("work", "done").await.meta.record_id;
    let lost = world.call("work", "lost").await;
    assert_eq!(lost.result.unwrap_err().kind, ErrorKind::UnknownOutcome);
    world.vault.remove("acme", "work", &Principal::user("ann")).await.unwrap();
    let then = world.store.now_ms();
    while world.store.now_ms() == then {
        tokio::task::yield_now().await;
    }
    world.add("acme", "work", secret("another-account-0123456789")).await;
    let asked = server.seen().len();
    let again = world.call("work", "lost").await;
    assert_eq!(again.result.unwrap_err().kind, ErrorKind::UnknownOutcome);
    let operator = Caller { actor: Principal::user("ann"), ..Caller::agent("acme", "bot") };
    let probed = world.runtime.probe(&operator, &lost.meta.record_id).await.unwrap_err();
    assert!(probed.message.contains("made anew"), "{probed:?}");
    let undone = world.runtime.undo(&operator, &UndoTarget::Call(done.to_string())).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::CannotBeUndone, "{undone:?}");
    assert!(undone[0].message.contains("made anew"), "{undone:?}");
    assert_eq!(server.seen().len(), asked, "nobody has asked the other account");
}

/// An answer that policy lets stand for a while is that of an account as it is.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_before_is_not_given_once_the_secret_is_another() {
    let server = Server::new(|n, _| says("200 OK", &json!({ "found": n }).to_string())).await;
    let world = World::told(&server.url("/x")).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    let find = async || {
        let mut call = world.request("work", "unused");
        (call.tool, call.key) = ("core__found".to_owned(), None);
        let answer = world.runtime.invoke(call).await;
        (answer.result.unwrap()["found"].clone(), answer.meta.cached)
    };
    assert_eq!(find().await, (json!(0), false));
    assert_eq!(find().await, (json!(0), true));
    let (account, _) = world.vault.open("acme", "work").await.unwrap();
    let (by, expect) = (Principal::user("ann"), Expect::Revision(account.revision));
    let other = Credentials::Bearer(SecretText::new("another-account-0123456789"));
    world.vault.put(account, &other, expect, Some(&by)).await.unwrap();
    assert_eq!(find().await, (json!(1), false));
}
