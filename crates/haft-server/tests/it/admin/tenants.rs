//! Who may administer whom: every route, from the document that is served.

use std::sync::Arc;

use haft_core::port::Store;
use haft_server::Limits;
use haft_store::{Memory, Options, Sqlite};
use serde_json::{Value, json};

use super::{check, delete, echo, put};
use crate::client::Served;
use crate::events::Stream;

/// Every route of the administration: method and path.
fn routes() -> Vec<(String, String)> {
    let document: Value = serde_json::to_value(haft_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap().clone();
    let ours = paths.into_iter().filter(|(path, _)| path.starts_with("/v1/admin/"));
    let all: Vec<_> = ours
        .flat_map(|(path, methods)| {
            let methods: Vec<String> = methods.as_object().unwrap().keys().cloned().collect();
            methods.into_iter().map(move |method| (method.to_uppercase(), path.clone()))
        })
        .collect();
    assert!(all.len() > 25, "{all:?}");
    all
}

#[tokio::test]
async fn every_route_is_for_administrators() {
    let served = Served::new().await;
    for (method, path) in routes() {
        let path = path.replace("{agent}", "helper").replace("{tool}", "echo").replace("{id}", "x");
        let body = (method == "PUT" || method == "POST").then(|| json!({}));
        for key in [&served.agent, &served.operator] {
            let reply = served.send(key, &method, &path, &[], body.clone()).await;
            assert_eq!(reply.status, 403, "{method} {path}: {reply:?}");
        }
        let reply = served.send("", &method, &path, &[], body).await;
        assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
    }
}

/// What a tenant's agent is shown: its version and its `ETag`.
async fn shown(served: &Served) -> (String, Option<String>) {
    let tools = served.get(&served.agent, "/v1/agents/helper/tools").await;
    (tools.json()["version"].to_string(), tools.header("etag").map(str::to_owned))
}

#[tokio::test]
async fn nobody_notices_what_another_tenant_changes() {
    let served = Served::new().await;
    let before = shown(&served).await;
    let theirs = &served.stranger;
    let said = json!({"actor": "agent:spy", "subject": "user:mara", "tools": ["*"],
                      "until": "2999-01-01T00:00:00Z"});
    for (path, body) in [
        ("/v1/admin/agents/x", json!({})),
        ("/v1/admin/delegations/x", said),
        ("/v1/admin/agents/spy/activations/echo", json!({"enabled": false})),
    ] {
        check(&put(&served, theirs, path, "", body).await, 201, "");
        assert_eq!(shown(&served).await, before, "{path}");
    }
    let path = "/v1/admin/agents/helper/activations/echo";
    check(&put(&served, &served.admin, path, "", json!({"enabled": false})).await, 201, "");
    assert_ne!(shown(&served).await, before, "one's own is noticed");
    let entries = served.get(theirs, "/v1/audit").await.json();
    let told = entries.as_array().unwrap();
    assert!(!told.is_empty() && told.iter().all(|one| one.get("previous").is_none()), "{entries}");
    let home = served.get(&served.admin, "/v1/audit").await.json();
    assert!(home[0]["previous"].is_string(), "{home}");
}

#[tokio::test]
async fn an_administrator_never_sees_another_tenants_things() {
    let served = Served::new().await;
    let key = &served.admin;
    let until = "2999-01-01T00:00:00Z";
    let said =
        json!({"actor": "agent:helper", "subject": "user:mara", "tools": ["*"], "until": until});
    for (path, body) in [
        ("/v1/admin/agents/x", json!({})),
        ("/v1/admin/definitions/shop__echo", json!({})),
        ("/v1/admin/policies/x", json!({"deny": ["pay"]})),
        ("/v1/admin/delegations/x", said),
        ("/v1/admin/agents/helper/activations/echo", json!({"enabled": true})),
    ] {
        check(&put(&served, key, path, "", body).await, 201, "");
    }
    let made = json!({"principal": "user:ann", "roles": ["operator"]});
    let made = served.post(key, "/v1/admin/keys", made).await.json();
    let id = made["entry"]["id"].as_str().unwrap();
    for (method, path) in routes() {
        let id = if path.contains("keys/{id}") { id } else { "x" };
        let id = if path.contains("definitions") { "shop__echo" } else { id };
        let id = if path.contains("tenants") { "ours" } else { id };
        let path = path.replace("{agent}", "helper").replace("{tool}", "echo").replace("{id}", id);
        if method == "GET" && !path.contains("/x") && !path.contains(id) && !path.contains("helper")
        {
            let seen = served.get(&served.stranger, &path).await;
            let text = seen.body.replace("\"spy\"", "").replace("\"theirs\"", "");
            for word in ["helper", "boss", "mara", "ours", "\"x\"", id] {
                assert!(!text.contains(word), "{path} tells of `{word}`: {seen:?}");
            }
            continue;
        }
        if path.ends_with("/accept")
            || path == "/v1/admin/keys"
            || method == "PUT" && !path.contains("helper") && !path.contains("tenants")
        {
            // Writes into their own tenant, whatever it is called.
            continue;
        }
        let body = (method == "PUT" || method == "POST").then(|| json!({"enabled": true}));
        let any = [("If-Match", "*")];
        let reply = served.send(&served.stranger, &method, &path, &any, body).await;
        assert_eq!(reply.status, 404, "{method} {path}: {reply:?}");
    }
    // The same name in another tenant is another thing.
    check(&put(&served, &served.stranger, "/v1/admin/agents/x", "", json!({})).await, 201, "");
    check(&delete(&served, &served.stranger, "/v1/admin/agents/x", "*").await, 204, "");
    check(&served.get(key, "/v1/admin/agents/x").await, 200, "");
    let wish = json!({"agent": "helper", "tool": "echo"});
    check(
        &served.post(&served.stranger, "/v1/admin/suggestions/accept", wish).await,
        404,
        "not_found",
    );
}

/// Tenants are made by programs, too; who approves in them is not.
#[tokio::test]
async fn a_program_sets_a_tenant_up_and_a_person_lets_the_first_one_in() {
    let served = Served::new().await;
    let portal = json!({"principal": "service:portal", "roles": ["administrator"]});
    let portal = served.post(&served.admin, "/v1/admin/keys", portal).await.json();
    let portal = portal["key"].as_str().unwrap();
    check(&put(&served, portal, "/v1/admin/tenants/new", "", json!({})).await, 201, "");
    let place = "/v1/admin/tenants/new/keys";
    let person = json!({"principal": "user:eve", "roles": ["administrator"]});
    let refused = served.post(portal, place, person.clone()).await;
    check(&refused, 403, "forbidden");
    assert!(refused.body.contains("service:"), "{refused:?}");
    let service = json!({"principal": "service:setup", "roles": ["administrator"]});
    let made = served.post(portal, place, service.clone()).await;
    check(&made, 201, "");
    let setup = made.json()["key"].as_str().unwrap().to_owned();
    check(&put(&served, &setup, "/v1/admin/agents/first", "", json!({})).await, 201, "");
    let own = served.post(&setup, "/v1/admin/keys", person.clone()).await;
    check(&own, 403, "forbidden");
    for key in [portal, &served.admin] {
        check(&served.post(key, place, service.clone()).await, 409, "administered");
    }
    check(&served.post(&served.admin, place, person.clone()).await, 201, "");
    check(&served.post(&served.admin, place, person).await, 409, "administered");
}

#[tokio::test]
async fn the_home_tenant_makes_others_and_does_not_see_into_them() {
    let served = Served::new().await;
    let key = &served.admin;
    let path = "/v1/admin/tenants/new";
    check(&put(&served, &served.stranger, path, "", json!({})).await, 404, "not_found");
    check(&put(&served, key, path, "", json!({"description": "the newest"})).await, 201, "");
    let listed = served.get(key, "/v1/admin/tenants").await.json();
    let ids: Vec<_> =
        listed["items"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, ["new", "ours", "theirs"]);
    let theirs = served.get(&served.stranger, "/v1/admin/tenants").await.json();
    assert_eq!(theirs["items"].as_array().unwrap().len(), 1, "{theirs}");
    let wanted = json!({"principal": "user:eve", "roles": ["administrator"]});
    let place = format!("{path}/keys");
    check(&served.post(&served.stranger, &place, wanted.clone()).await, 404, "not_found");
    let nowhere = served.post(key, "/v1/admin/tenants/none/keys", wanted.clone()).await;
    check(&nowhere, 404, "not_found");
    let helper = json!({"principal": "agent:first", "roles": ["agent"]});
    check(&served.post(key, &place, helper).await, 422, "invalid_configuration");
    let made = served.post(key, &place, wanted.clone()).await;
    check(&made, 201, "");
    let eve = made.json()["key"].as_str().unwrap().to_owned();
    // From then on nobody else lets anybody in, themselves least of all.
    check(&served.post(key, &place, wanted.clone()).await, 409, "administered");
    let own = served.post(key, "/v1/admin/tenants/ours/keys", wanted.clone()).await;
    check(&own, 409, "administered");
    check(&put(&served, &eve, "/v1/admin/agents/first", "", json!({})).await, 201, "");
    assert_eq!(echo(&served, &eve, "first").await.status, 200);
    assert_eq!(echo(&served, key, "first").await.status, 404);
    check(&served.get(key, "/v1/admin/agents/first").await, 404, "not_found");
    check(&delete(&served, &eve, path, "*").await, 403, "forbidden");
    check(&delete(&served, key, path, "*").await, 409, "not_empty");
    let calls = served.get(&eve, "/v1/calls").await.json();
    assert_eq!(calls.as_array().unwrap().len(), 1);
    assert_eq!(calls[0]["agent"], "first"); // Who has thrown their own key away is let in again.
    check(&delete(&served, &eve, made.header("location").unwrap(), "").await, 200, "");
    let again = served.post(key, &place, wanted).await;
    check(&again, 201, "");
    // A tenant whose keys are all revoked can go, though they stay on the list.
    let eve = again.json()["key"].as_str().unwrap().to_owned();
    check(&delete(&served, &eve, "/v1/admin/agents/first", "*").await, 204, "");
    check(&delete(&served, key, path, "*").await, 409, "not_empty");
    check(&delete(&served, &eve, again.header("location").unwrap(), "").await, 200, "");
    check(&delete(&served, key, path, "*").await, 204, "");
}

/// Makes a tenant with an administrator, whose key this is.
async fn founded(served: &Served, path: &str) -> String {
    let said = json!({"tokens": {"most": 100}});
    check(&put(served, &served.admin, path, "", said).await, 201, "");
    let first = json!({"principal": "user:eve", "roles": ["administrator"]});
    let made = served.post(&served.admin, &format!("{path}/keys"), first).await;
    made.json()["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_tenant_of_an_old_name_knows_nothing_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Sqlite::open(folder.path().join("haft.db"), Options::default()).unwrap();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(Memory::new()), Arc::new(sqlite)];
    for store in stores {
        let served = Served::on(store.clone(), Limits::default()).await;
        let path = "/v1/admin/tenants/acme";
        let eve = founded(&served, path).await;
        let spent = async |eve: &str, tokens: u64| {
            let said = json!({"inputTokens": tokens, "outputTokens": 1});
            store.note("acme", "model_request", said).await.unwrap();
            served.get(eve, "/v1/usage").await.json()["tokens"]["used"].clone()
        };
        assert_eq!(spent(&eve, 40).await, 41);
        assert_eq!(spent(&eve, 40).await, 82);
        check(&put(&served, &eve, "/v1/admin/agents/elder", "", json!({})).await, 201, "");
        assert_eq!(echo(&served, &eve, "elder").await.status, 200);
        let send = json!({"tool": "send", "arguments": {"text": "x"}, "idempotency_key": "k"});
        let sent = served.post(&eve, "/v1/agents/elder/calls", send.clone()).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        let wish = json!({"tool": "elder_wish", "arguments": {}});
        served.post(&eve, "/v1/agents/elder/calls", wish).await;
        let house = "/v1/admin/policies/house";
        let rules = json!({"description": "elder rules", "deny": ["shop__pay"]});
        check(&put(&served, &eve, house, "", rules).await, 201, "");
        let carol = json!({"principal": "user:elder.carol", "roles": ["operator"]});
        let carol = served.post(&eve, "/v1/admin/keys", carol).await;
        let lists = [
            "/v1/calls",
            "/v1/effects",
            "/v1/events",
            "/v1/audit",
            "/v1/stats",
            "/v1/admin/suggestions",
            "/v1/admin/keys",
            "/v1/admin/policies/house/versions",
            "/metrics",
        ];
        for list in lists {
            let found = served.get(&eve, list).await;
            assert!(found.body.contains("shop__send") || found.body.contains("elder"), "{found:?}");
        }
        check(&delete(&served, &eve, "/v1/admin/agents/elder", "*").await, 204, "");
        check(&delete(&served, &eve, house, "*").await, 204, "");
        check(&delete(&served, &eve, carol.header("location").unwrap(), "").await, 200, "");
        let key = served.get(&eve, "/v1/admin/keys").await.json();
        let mut keys = key["items"].as_array().unwrap().iter();
        let own = keys.find(|one| one["value"]["principal"] == "user:eve").unwrap();
        let key = format!("/v1/admin/keys/{}", own["id"].as_str().unwrap());
        check(&delete(&served, &eve, &key, "").await, 200, "");
        check(&delete(&served, &served.admin, path, "*").await, 204, "");
        let old = [eve, carol.json()["key"].as_str().unwrap().to_owned()];
        let eve = founded(&served, path).await;
        for key in &old {
            assert_eq!(served.get(key, "/v1/calls").await.status, 401, "an old key opens nothing");
        }
        let none = served.get(&eve, "/v1/admin/policies/house/versions").await;
        check(&none, 404, "not_found");
        for list in lists {
            let found = served.get(&eve, list).await;
            assert!(found.status == 200 || list.ends_with("versions"), "{list}: {found:?}");
            for old in ["elder", "shop__", "\"shred\""] {
                assert!(!found.body.contains(old), "{list} has `{old}`: {}", found.body);
            }
        }
        assert_eq!(spent(&eve, 2).await, 3, "what others used is not counted");
        // Its keys are free again.
        check(&put(&served, &eve, "/v1/admin/agents/elder", "", json!({})).await, 201, "");
        let runs = served.runs();
        let again = served.post(&eve, "/v1/agents/elder/calls", send).await;
        assert_eq!((again.status, served.runs()), (200, runs + 1), "{again:?}");
        let verified = served.post(&served.admin, "/v1/audit/verify", json!({})).await.json();
        assert_eq!(verified["broken"], Value::Null, "{verified}");
    }
}

/// Removes a tenant with its agent, by its administrator, who goes with it.
async fn dissolved(served: &Served, path: &str, eve: &str) {
    check(&delete(served, eve, "/v1/admin/agents/elder", "*").await, 204, "");
    let keys = served.get(eve, "/v1/admin/keys").await.json();
    let key = format!("/v1/admin/keys/{}", keys["items"][0]["id"].as_str().unwrap());
    check(&delete(served, eve, &key, "").await, 200, "");
    check(&delete(served, &served.admin, path, "*").await, 204, "");
}

#[tokio::test]
async fn what_is_in_memory_of_a_tenant_is_for_no_other_of_its_name() {
    let served = Served::new().await;
    let (path, calls) = ("/v1/admin/tenants/acme", "/v1/agents/elder/calls");
    let found = async || {
        let eve = founded(&served, path).await;
        check(&put(&served, &eve, "/v1/admin/agents/elder", "", json!({})).await, 201, "");
        eve
    };
    let later = async |eve: &str, key: &str, text: &str| {
        let headers = [("Prefer", "respond-async"), ("Idempotency-Key", key)];
        let call = json!({"tool": "echo", "arguments": {"text": text}});
        let reply = served.send(eve, "POST", calls, &headers, Some(call)).await;
        check(&reply, 202, "");
        reply.header("location").unwrap().to_owned()
    };
    let eve = found().await;
    let mut stream = Stream::open_by(&served, &eve, "", "").await;
    let ended = later(&eve, "a", "elder words").await;
    while served.get(&eve, &ended).await.status == 202 {}
    let (_, _, last) = stream.next().await;
    let running = later(&eve, "b", "wait").await;
    served.ran(2).await;
    dissolved(&served, path, &eve).await;
    let eve = found().await;
    for old in [&ended, &running] {
        check(&served.get(&eve, old).await, 404, "not_found");
        check(&delete(&served, &eve, old, "").await, 404, "not_found");
    }
    // The same person asks the same under the same key, and gets an answer of their own.
    let own = later(&eve, "b", "wait").await;
    assert_ne!(own, running);
    served.ran(3).await;
    let last = format!("Last-Event-ID: {last}\r\n");
    let mut stream = Stream::open_by(&served, &eve, "", &last).await;
    assert_eq!(stream.next().await.0, "lost", "what others did is not told");
    served.gate()(2);
    while served.get(&eve, &own).await.status == 202 {}
    let answer = served.get(&eve, &own).await.json();
    let (name, said, _) = stream.next().await;
    assert_eq!((name.as_str(), &said["call"]), ("tool_call_result", &answer["meta"]["recordId"]));
    let listed = served.get(&eve, "/v1/calls").await.json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "one's own alone: {listed}");
}

#[tokio::test]
async fn what_a_tenant_sees_of_the_trail_tells_nothing_of_how_much_others_do() {
    let served = Served::new().await;
    let eve = founded(&served, "/v1/admin/tenants/acme").await;
    check(&put(&served, &eve, "/v1/admin/agents/first", "", json!({})).await, 201, "");
    for _ in 0..3 {
        echo(&served, &served.agent, "helper").await;
        echo(&served, &eve, "first").await;
    }
    let ids = async |path: &str| {
        let found = served.get(&eve, path).await.json();
        let found = found.as_array().unwrap().clone();
        assert!(found.iter().all(|one| one.get("number").is_none()), "{found:?}");
        found.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for list in ["/v1/events", "/v1/audit?kind=call"] {
        let all = ids(list).await;
        assert_eq!(all.len(), 3, "{list}");
        assert!(all.iter().all(|id| id.len() == 17 && id.starts_with('e')), "{all:?}");
        let (mark, by) = if list.contains('?') { ('&', "before") } else { ('?', "after") };
        assert_eq!(ids(&format!("{list}{mark}{by}={}", all[0])).await, all[1..], "{list}");
        for odd in ["1", "e0000000000000001", "nonsense"] {
            let reply = served.get(&eve, &format!("/v1/events?after={odd}")).await;
            check(&reply, 400, "malformed_request");
        }
    }
    check(&served.get(&eve, "/v1/audit?before=3").await, 400, "malformed_request");
    // An id of one tenant is none of another's.
    let own = served.get(&served.admin, "/v1/events").await.json();
    let place = format!("/v1/events?after={}", own[0]["id"].as_str().unwrap());
    assert_eq!(served.get(&served.admin, &place).await.status, 200);
    check(&served.get(&eve, &place).await, 400, "malformed_request");
    assert_eq!(served.post(&eve, "/v1/audit/verify", json!({})).await.json(), json!({}));
    let whole = served.post(&served.admin, "/v1/audit/verify", json!({})).await.json();
    assert!(whole["entries"].as_u64().unwrap() > 6, "{whole}");
    let numbered = served.get(&served.admin, "/v1/audit").await.json();
    let before = format!("/v1/audit?before={}", numbered[0]["number"]);
    assert_eq!(served.get(&served.admin, &before).await.status, 200);
}
