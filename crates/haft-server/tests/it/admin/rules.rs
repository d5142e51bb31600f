//! Policies and delegations: checked before they are saved, for one tenant alone.

use serde_json::json;

use super::{check, delete, echo, put};
use crate::client::Served;

const POLICY: &str = "/v1/admin/policies/nights";

#[tokio::test]
async fn a_policy_is_checked_before_it_is_saved() {
    let served = Served::new().await;
    let key = &served.admin;
    for (cedar, word) in [
        ("forbid (principal, action", "unexpected"),
        (r#"forbid (principal, action == Haft::Action::"shop__ecko", resource);"#, "shop__ecko"),
        ("forbid (principal, action, resource) when { context.moon == \"full\" };", "moon"),
    ] {
        let refused = put(&served, key, POLICY, "", json!({"cedar": cedar})).await;
        check(&refused, 422, "invalid_configuration");
        assert!(refused.body.contains(word), "{refused:?}");
        let problem = &refused.json()["details"]["problems"][0];
        assert!(problem["place"].as_str().unwrap().contains("nights"), "{problem}");
    }
    check(&served.get(key, POLICY).await, 404, "not_found");
}

#[tokio::test]
async fn a_policy_holds_for_its_tenant_alone_and_its_versions_stay() {
    let served = Served::new().await;
    let (key, their) = (&served.admin, &served.stranger);
    assert_eq!(echo(&served, key, "helper").await.status, 200);
    let forbid =
        r#"@id("quiet") forbid (principal, action == Haft::Action::"shop__echo", resource);"#;
    check(&put(&served, key, POLICY, "", json!({"cedar": forbid})).await, 201, "");
    assert_eq!(echo(&served, key, "helper").await.status, 404, "the catalog hides it");
    assert_eq!(echo(&served, their, "spy").await.status, 200, "others do not notice");
    check(&put(&served, key, POLICY, "\"v1\"", json!({"deny": ["pay"]})).await, 200, "");
    assert_eq!(echo(&served, key, "helper").await.status, 200);
    check(&delete(&served, key, POLICY, "\"v2\"").await, 204, "");
    let versions = served.get(key, &format!("{POLICY}/versions")).await.json();
    assert_eq!(versions[0]["value"]["deny"], json!(["pay"]));
    assert_eq!(versions[1]["value"]["cedar"], forbid);
    check(&served.get(their, &format!("{POLICY}/versions")).await, 404, "not_found");
    let beyond = served.get(key, &format!("{POLICY}/versions?before=1")).await;
    assert_eq!((beyond.status, beyond.json()), (200, json!([])));
    check(&served.get(their, &format!("{POLICY}/versions?before=1")).await, 404, "not_found");
}

#[tokio::test]
async fn another_tenants_change_does_not_void_an_approval() {
    let served = Served::new().await;
    let body = json!({"tool": "pay", "arguments": {"text": "7"}, "idempotency_key": "k"});
    let calls = "/v1/agents/helper/calls";
    let asked = served.post(&served.agent, calls, body.clone()).await.json();
    let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/confirmations/{id}");
    check(&served.post(&served.operator, &path, json!({"approve": true})).await, 200, "");
    let theirs = put(&served, &served.stranger, POLICY, "", json!({"deny": ["send"]})).await;
    check(&theirs, 201, "");
    // Our own change does: what was approved was approved under other rules.
    let done = served.post(&served.agent, calls, body).await;
    assert_eq!((done.status, served.runs()), (200, 1), "{done:?}");
    let body = json!({"tool": "pay", "arguments": {"text": "8"}, "idempotency_key": "k2"});
    let asked = served.post(&served.agent, calls, body.clone()).await.json();
    let id = asked["error"]["details"]["confirmation"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/confirmations/{id}");
    check(&served.post(&served.operator, &path, json!({"approve": true})).await, 200, "");
    check(&put(&served, &served.admin, POLICY, "", json!({"deny": ["send"]})).await, 201, "");
    let asked = served.post(&served.agent, calls, body).await;
    assert_eq!((asked.status, served.runs()), (202, 1), "{asked:?}");
}

#[tokio::test]
async fn a_delegation_lets_an_agent_act_for_somebody() {
    let served = Served::new().await;
    let wanted = json!({"principal": "agent:helper", "subject": "user:mara", "roles": ["agent"]});
    let key = served.post(&served.admin, "/v1/admin/keys", wanted).await.json();
    let key = key["key"].as_str().unwrap();
    let before = echo(&served, key, "helper").await;
    assert_ne!(before.status, 200, "nothing is on record: {before:?}");
    let path = "/v1/admin/delegations/mara-helper";
    let said = json!({"actor": "agent:helper", "subject": "user:mara", "tools": ["echo"],
                      "until": "2999-01-01T00:00:00Z"});
    check(&put(&served, &served.admin, path, "", said).await, 201, "");
    assert_eq!(echo(&served, key, "helper").await.status, 200);
    check(&delete(&served, &served.admin, path, "*").await, 204, "");
    assert_ne!(echo(&served, key, "helper").await.status, 200);
}

#[tokio::test]
async fn a_definition_leaves_a_tool_and_takes_it_back() {
    let served = Served::new().await;
    let path = "/v1/admin/definitions/shop__echo";
    check(&put(&served, &served.admin, path, "", json!({"enabled": false})).await, 201, "");
    let gone = echo(&served, &served.agent, "helper").await;
    assert_eq!(gone.status, 404);
    assert!(gone.body.contains("there is no tool `echo` here"), "{gone:?}");
    assert_eq!(echo(&served, &served.stranger, "spy").await.status, 200);
    let other = put(&served, &served.admin, path, "\"v1\"", json!({"version": "^2"})).await;
    check(&other, 200, "");
    assert!(other.json()["warnings"][0].as_str().unwrap().contains("outside of"), "{other:?}");
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 404);
    check(&delete(&served, &served.admin, path, "\"v2\"").await, 204, "");
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 200);
}
