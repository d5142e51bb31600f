//! Connections over HTTP: kept sealed, granted, used at once, and their secrets seen by nobody.

pub(crate) mod consent;

use std::sync::Arc;

use haft_exec::Broker;
use haft_exec::http::{self, Client};
use haft_server::Limits;
use haft_store::vault::KeyPlace;
use haft_store::{Options, Sqlite, Vault};
use serde_json::{Value, json};

use crate::admin::{check, delete, put};
use crate::client::{Reply, Served};
use crate::own::service::Service;

const SECRET: &str = "canary-5e1f0b7a9c3d/x";
const ALL: &str = "/v1/connections";
const WORK: &str = "/v1/connections/work";
const GRANTS: &str = "/v1/connections/work/grants";
const CALLS: &str = "/v1/agents/helper/calls";

struct World {
    served: Served,
    service: Service,
    folder: tempfile::TempDir,
}

/// What tenants may reach beside what is public.
enum Tenants {
    Here,
    PublicOnly,
}

impl World {
    async fn new(tenants: Tenants) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = KeyPlace::File(folder.path().join("connections.key"));
        Self::with(folder, key, tenants).await
    }

    async fn with(folder: tempfile::TempDir, key: KeyPlace, tenants: Tenants) -> Self {
        let path = folder.path().join("haft.db");
        let store = Arc::new(Sqlite::open(&path, Options::default()).unwrap());
        let vault = Arc::new(Vault::at(store.clone(), key).unwrap());
        let reach = |allow: &[&str]| {
            let allow = allow.iter().map(|range| range.parse().unwrap()).collect();
            Arc::new(Client::new(http::Settings { allow, ..http::Settings::default() }))
        };
        let apart = match tenants {
            Tenants::Here => reach(&["127.0.0.1"]),
            Tenants::PublicOnly => reach(&[]),
        };
        let broker = Broker::with_tenants(vault.clone(), reach(&["127.0.0.1"]), apart);
        let with = |builder: haft_runtime::runtime::Builder| {
            builder.connections(vault).broker(Arc::new(broker))
        };
        let served = Served::build(store, Limits::default(), with, |door| door).await;
        Self { served, service: Service::new().await, folder }
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        self.served.post(&self.served.admin, path, body).await
    }

    async fn get(&self, path: &str) -> Reply {
        self.served.get(&self.served.admin, path).await
    }

    /// A connection to our service.
    async fn add(&self) -> Reply {
        let hosts = ["127.0.0.1"];
        let body = json!({"id": "work", "provider": "crm", "kind": "bearer", "hosts": hosts,
                          "secret": SECRET});
        self.post(ALL, body).await
    }

    /// A tool of the tenant that uses it.
    async fn define(&self) {
        let admin = &self.served.admin;
        let allow = json!({"allow": ["crm__*"]});
        check(&put(&self.served, admin, "/v1/admin/policies/own", "", allow).await, 201, "");
        let mut contract = self.service.contract();
        contract["connection"] = json!({"provider": "crm", "hosts": ["127.0.0.1"]});
        let path = "/v1/admin/definitions/crm__find_customer";
        check(&put(&self.served, admin, path, "", json!({"contract": contract})).await, 201, "");
    }

    async fn call(&self) -> u16 {
        let body = json!({"tool": "crm__find_customer", "arguments": {"name": "x"},
                          "connection": "work"});
        let reply = self.served.post(&self.served.agent, CALLS, body).await;
        assert!(!reply.body.contains(SECRET), "{reply:?}");
        reply.status
    }

    fn heard(&self, text: &str) -> usize {
        self.service.heard().iter().filter(|one| one.contains(text)).count()
    }
}

#[tokio::test]
async fn a_connection_is_made_granted_used_changed_and_removed_at_once() {
    let world = World::new(Tenants::Here).await;
    world.define().await;
    assert_eq!(world.get(ALL).await.json(), json!({"items": []}));
    let made = world.add().await;
    check(&made, 201, "");
    assert_eq!(made.header("location"), Some(WORK));
    assert_eq!(world.call().await, 404, "nobody may use it yet");
    let to = json!({"principals": ["agent:helper"], "tools": ["crm__*"]});
    let given = world.post(GRANTS, to.clone()).await;
    check(&given, 201, "");
    assert_eq!(given.json()["warnings"], Value::Null, "{given:?}");
    assert_eq!((world.call().await, world.heard(SECRET)), (200, 1));
    let shown = world.get(WORK).await.json();
    assert_eq!((&shown["kind"], &shown["source"]), (&json!("bearer"), &json!("stored")));
    assert_eq!(shown["grants"][0]["principals"], json!(["agent:helper"]));
    let served = &world.served;
    let other = json!({"secret": "other-secret-71"});
    let path = "/v1/connections/work/secret";
    check(&served.send(&served.admin, "PUT", path, &[], Some(other)).await, 200, "");
    assert_eq!((world.call().await, world.heard("other-secret-71")), (200, 1));
    let revoked = delete(served, &served.admin, &format!("{GRANTS}/agent:helper"), "").await;
    assert_eq!(revoked.json(), json!({"revoked": 1, "declared": 0}));
    assert_eq!(world.call().await, 404, "in force at once");
    let again = delete(served, &served.admin, &format!("{GRANTS}/agent:helper"), "").await;
    check(&again, 404, "not_found");
    check(&world.post(GRANTS, to).await, 201, "");
    assert_eq!(world.call().await, 200);
    check(&delete(served, &served.admin, WORK, "").await, 204, "");
    assert_eq!(world.call().await, 404);
    check(&delete(served, &served.admin, WORK, "").await, 404, "not_found");
    check(&world.get(GRANTS).await, 404, "not_found");
    // A connection of the same name begins without what was granted of the old one.
    check(&world.add().await, 201, "");
    assert_eq!(world.call().await, 404);
}

#[tokio::test]
async fn nothing_that_is_said_or_kept_holds_the_secret() {
    let world = World::new(Tenants::Here).await;
    let served = &world.served;
    let mut said = world.add().await.body;
    for (body, status) in [
        (json!({"id": "work", "provider": "p", "kind": "bearer", "secret": SECRET}), 409),
        (json!({"id": "b", "provider": "p", "kind": "bearer", "secret": [SECRET]}), 400),
        (json!({"id": "b", "provider": "p", "kind": "odd", "secret": SECRET}), 400),
        (json!({"id": "b", "provider": "p", "kind": "bearer", "secret": SECRET, "x": 1}), 400),
        (json!({"id": "b", "provider": 5, "kind": "bearer", "secret": SECRET}), 400),
        (json!({"id": "b", "provider": "p", "kind": "header", "secret": SECRET}), 422),
        (
            json!({"id": "b", "provider": "p", "kind": "bearer",
                "secret": format!("{SECRET}\n{SECRET}")}),
            422,
        ),
    ] {
        let reply = world.post(ALL, body).await;
        assert_eq!(reply.status, status, "{reply:?}");
        said += &reply.body;
    }
    let number = r#"{"id":"b","provider":"p","kind":"bearer","secret":123456789012345678}"#;
    let head = format!(
        "POST {ALL} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{number}",
        served.admin,
        number.len()
    );
    let reply = served.raw(head.as_bytes()).await;
    assert!(reply.status == 400 && !reply.body.contains("123456789012345678"), "{reply:?}");
    let refuse = json!({"url": format!("http://127.0.0.1:{}/refuse", world.service.port)});
    said += &world.post("/v1/connections/work/test", refuse).await.body;
    assert_eq!(world.heard(SECRET), 1, "it was really sent");
    for path in [ALL, WORK, GRANTS, "/v1/audit", "/v1/calls"] {
        said += &world.get(path).await.body;
    }
    assert!(said.contains("work"));
    assert!(!said.contains(SECRET) && !said.contains("canary"), "{said}");
    for file in std::fs::read_dir(world.folder.path()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(6).any(|part| part == b"canary");
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn who_changed_what_is_in_the_trail() {
    let world = World::new(Tenants::Here).await;
    world.add().await;
    let to = json!({"principals": ["agent:*", "user:mara"], "tools": ["shop__*"]});
    let given = world.post(GRANTS, to).await.json();
    assert!(given["warnings"][0].as_str().unwrap().contains("uses a connection"), "{given}");
    let served = &world.served;
    delete(served, &served.admin, GRANTS, "").await;
    delete(served, &served.admin, WORK, "").await;
    let trail = world.get("/v1/audit?limit=100").await.body;
    for what in ["made", "granted", "revoked", "removed"] {
        let entry = format!(r#"\"what\":\"{what}\""#);
        let plain = format!(r#""what":"{what}""#);
        assert!(trail.contains(&entry) || trail.contains(&plain), "{what}: {trail}");
    }
    assert!(trail.matches("user:boss").count() >= 4, "{trail}");
}

#[tokio::test]
async fn only_the_tenants_own_administrators_see_or_change_anything() {
    let world = World::new(Tenants::Here).await;
    world.add().await;
    let served = &world.served;
    let to = json!({"principals": ["*"], "tools": ["*"]});
    for key in [&served.operator, &served.agent] {
        check(&served.get(key, ALL).await, 403, "forbidden");
        check(&served.get(key, WORK).await, 403, "forbidden");
        check(&served.get(key, GRANTS).await, 403, "forbidden");
        check(&served.post(key, GRANTS, to.clone()).await, 403, "forbidden");
        check(&served.post(key, ALL, json!({})).await, 403, "forbidden");
        check(&served.post(key, "/v1/connections/work/test", json!({})).await, 403, "forbidden");
        check(&delete(served, key, WORK, "").await, 403, "forbidden");
        check(&delete(served, key, GRANTS, "").await, 403, "forbidden");
    }
    let key = &served.stranger;
    assert_eq!(served.get(key, ALL).await.json(), json!({"items": []}));
    let secret = Some(json!({"secret": "other-secret-71"}));
    for reply in [
        served.get(key, WORK).await,
        served.get(key, GRANTS).await,
        served.post(key, GRANTS, to).await,
        served.post(key, "/v1/connections/work/test", json!({})).await,
        served.send(key, "PUT", "/v1/connections/work/secret", &[], secret).await,
        delete(served, key, GRANTS, "").await,
        delete(served, key, WORK, "").await,
    ] {
        check(&reply, 404, "not_found");
    }
    check(&served.get("", ALL).await, 401, "unauthenticated");
    assert_eq!(world.get(WORK).await.status, 200);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_by_the_name_of_its_field() {
    let world = World::new(Tenants::Here).await;
    let oauth = |url: &str| {
        json!({"id": "o", "provider": "p", "kind": "client-credentials", "client_id": "me",
               "token_url": url, "secret": SECRET})
    };
    for (body, field) in [
        (json!({"id": "a b", "provider": "p", "kind": "bearer", "secret": SECRET}), "`id`"),
        (json!({"id": "a", "provider": "", "kind": "bearer", "secret": SECRET}), "`provider`"),
        (json!({"id": "a", "provider": "p", "kind": "bearer"}), "`secret`"),
        (json!({"id": "a", "provider": "p", "kind": "bearer", "secret": "12345"}), "`secret`"),
        (
            json!({"id": "a", "provider": "p", "kind": "bearer", "secret": SECRET,
                   "hosts": ["*.example.com"]}),
            "`hosts`",
        ),
        (
            json!({"id": "a", "provider": "p", "kind": "header", "secret": SECRET, "name": "Host"}),
            "`name`",
        ),
        (oauth("http://auth.example.com/token"), "`token_url`"),
        (oauth("https://me:pw@auth.example.com/token"), "`token_url`"),
    ] {
        let reply = world.post(ALL, body).await;
        check(&reply, 422, "invalid_configuration");
        assert!(reply.json()["detail"].as_str().unwrap().starts_with(field), "{reply:?}");
    }
    world.add().await;
    for to in [
        json!({"principals": ["nobody"], "tools": ["*"]}),
        json!({"principals": ["agent:b*"], "tools": ["*"]}),
        json!({"principals": [], "tools": ["*"]}),
        json!({"principals": ["*"], "tools": ["a b"]}),
    ] {
        check(&world.post(GRANTS, to).await, 422, "invalid_configuration");
    }
}

#[tokio::test]
async fn a_test_says_whether_the_service_takes_them() {
    let world = World::new(Tenants::Here).await;
    world.add().await;
    let path = "/v1/connections/work/test";
    assert_eq!(world.post(path, json!({})).await.json()["result"], "found");
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", world.service.port);
    for (place, result, status) in
        [("/me", "accepted", 200), ("/refuse", "rejected", 401), ("/odd", "unclear", 418)]
    {
        let tested = world.post(path, json!({"url": url(place)})).await.json();
        assert_eq!((&tested["result"], &tested["status"]), (&json!(result), &json!(status)));
        assert_eq!(world.get(WORK).await.json()["lastTest"], tested);
    }
    for url in ["https://elsewhere.example/", "nonsense", "ftp://127.0.0.1/", ""] {
        check(&world.post(path, json!({"url": url})).await, 422, "invalid_configuration");
    }
    // A token is had first, through the tenants' own way out.
    let oauth = json!({"id": "o", "provider": "crm", "kind": "client-credentials",
        "hosts": ["127.0.0.1"], "client_id": "me", "secret": SECRET, "token_url": url("/token")});
    check(&world.post(ALL, oauth).await, 201, "");
    let tested = world.post("/v1/connections/o/test", json!({"url": url("/me")})).await;
    assert_eq!(tested.json()["result"], "accepted", "{tested:?}");
    assert_eq!((world.heard("POST /token"), world.heard("fresh-7c1d-token")), (1, 1));
}

#[tokio::test]
async fn a_tenant_reaches_nothing_through_a_connection_that_its_tools_do_not() {
    let world = World::new(Tenants::PublicOnly).await;
    world.add().await;
    let url = |path: &str| format!("http://127.0.0.1:{}{path}", world.service.port);
    let tested = world.post("/v1/connections/work/test", json!({"url": url("/me")})).await;
    assert_eq!(tested.json()["result"], "failed", "{tested:?}");
    let oauth = json!({"id": "o", "provider": "crm", "kind": "client-credentials",
                       "client_id": "me", "secret": SECRET, "token_url": url("/token")});
    check(&world.post(ALL, oauth).await, 201, "");
    let tested = world.post("/v1/connections/o/test", json!({})).await;
    assert_eq!(tested.json()["result"], "failed", "{tested:?}");
    assert_eq!(world.service.heard().len(), 0);
}

#[tokio::test]
async fn without_a_key_to_seal_with_nothing_is_kept_and_the_answer_says_what_to_set() {
    let folder = tempfile::tempdir().unwrap();
    // There is nothing to be read, and nothing can be written where a link leads nowhere.
    std::os::unix::fs::symlink(folder.path().join("nowhere"), folder.path().join("deeper"))
        .unwrap();
    let key = KeyPlace::File(folder.path().join("deeper").join("key"));
    let world = World::with(folder, key, Tenants::Here).await;
    let reply = world.add().await;
    check(&reply, 503, "no_sealing_key");
    let fix = reply.json()["suggestion"].as_str().unwrap().to_owned();
    assert!(fix.contains("connections.key_file"), "{fix}");
    assert!(!reply.body.contains("deeper") && !reply.body.contains(SECRET), "{reply:?}");
    assert_eq!(world.get(ALL).await.json(), json!({"items": []}));
}

#[tokio::test]
async fn a_tenant_with_connections_is_not_removed() {
    let world = World::new(Tenants::Here).await;
    let served = &world.served;
    let path = "/v1/admin/tenants/night";
    check(&put(served, &served.admin, path, "", json!({})).await, 201, "");
    let body = json!({"principal": "user:nora", "roles": ["administrator"]});
    let key = served.post(&served.admin, &format!("{path}/keys"), body).await.json();
    let key = key["key"].as_str().unwrap().to_owned();
    let body = json!({"id": "work", "provider": "p", "kind": "bearer", "secret": SECRET});
    check(&served.post(&key, ALL, body).await, 201, "");
    check(&delete(served, &served.admin, path, "*").await, 409, "not_empty");
    assert!(world.get(ALL).await.json()["items"].as_array().unwrap().is_empty(), "not ours");
}

/// What may be done with a connection, each with a body that would do it.
fn doings() -> [(&'static str, String, Option<Value>); 7] {
    let grant = json!({"principals": ["agent:*"], "tools": ["*"]});
    [
        ("PUT", format!("{WORK}/secret"), Some(json!({"secret": "the-secret-of-the-first"}))),
        ("POST", GRANTS.to_owned(), Some(grant)),
        ("POST", format!("{WORK}/test"), Some(json!({}))),
        ("POST", format!("{WORK}/consent"), Some(json!({}))),
        ("DELETE", format!("{GRANTS}/agent:helper"), None),
        ("DELETE", GRANTS.to_owned(), None),
        ("DELETE", WORK.to_owned(), None),
    ]
}

#[tokio::test]
async fn what_is_meant_for_another_version_of_a_connection_is_not_done() {
    let world = World::new(Tenants::Here).await;
    let (served, admin) = (&world.served, &world.served.admin);
    let made = world.add().await;
    let first = made.header("etag").unwrap().to_owned();
    assert_eq!(world.get(WORK).await.header("etag"), Some(&*first));
    check(&delete(served, admin, WORK, &first).await, 204, "");
    let made = world.add().await;
    let second = made.header("etag").unwrap().to_owned();
    assert_ne!(first, second, "another account, though it is its first version");
    let to = json!({"principals": ["agent:helper"], "tools": ["*"]});
    check(&world.post(GRANTS, to).await, 201, "");
    let before = world.get(WORK).await.json();
    for (method, path, body) in doings() {
        for tag in [&*first, "\"1\"", "W/\"x\", \"y\"", ""] {
            let only = [("If-Match", tag)];
            let reply = served.send(admin, method, &path, &only, body.clone()).await;
            check(&reply, 412, "precondition_failed");
        }
    }
    assert_eq!(world.get(WORK).await.json(), before);
    // Who names what there is, or whatever there is, is heard, and so is who names nothing.
    let (secret, last) = (format!("{WORK}/secret"), json!({"secret": "other-secret-71"}));
    let changed = put(served, admin, &secret, &second, last.clone()).await;
    check(&changed, 200, "");
    let third = changed.header("etag").unwrap();
    assert_ne!(second, third);
    check(&put(served, admin, &secret, &second, last.clone()).await, 412, "precondition_failed");
    let either = format!("{second}, {third}");
    check(&put(served, admin, &secret, &either, last.clone()).await, 200, "");
    check(&put(served, admin, &secret, "*", last.clone()).await, 200, "");
    check(&put(served, admin, &secret, "", last).await, 200, "");
    let stranger = delete(served, &served.stranger, WORK, &first).await;
    check(&stranger, 404, "not_found");
    let now = world.get(WORK).await.header("etag").unwrap().to_owned();
    check(&delete(served, admin, WORK, &now).await, 204, "");
    check(&delete(served, admin, WORK, &now).await, 404, "not_found");
}
