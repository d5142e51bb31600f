//! Who may administer whom: every route, from the document that is served.

use serde_json::{Value, json};

use super::{check, delete, echo, put};
use crate::client::Served;

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
