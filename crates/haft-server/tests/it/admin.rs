//! Administration: who may, what is refused, and that a change holds at once and after a restart.

mod declared;
mod keys;
mod rules;
mod tenants;

use std::sync::Arc;

use haft_server::Limits;
use haft_store::{Memory, Options, Sqlite};
use serde_json::{Value, json};

use crate::client::{Reply, Served};

pub(crate) async fn put(served: &Served, key: &str, path: &str, tag: &str, body: Value) -> Reply {
    let headers: &[_] = if tag.is_empty() { &[] } else { &[("If-Match", tag)] };
    served.send(key, "PUT", path, headers, Some(body)).await
}

pub(crate) async fn delete(served: &Served, key: &str, path: &str, tag: &str) -> Reply {
    let headers: &[_] = if tag.is_empty() { &[] } else { &[("If-Match", tag)] };
    served.send(key, "DELETE", path, headers, None).await
}

pub(crate) async fn echo(served: &Served, key: &str, agent: &str) -> Reply {
    let body = json!({"tool": "echo", "arguments": {"text": "x"}});
    served.post(key, &format!("/v1/agents/{agent}/calls"), body).await
}

#[track_caller]
pub(crate) fn check(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    if !code.is_empty() {
        assert_eq!(reply.json()["code"], code, "{reply:?}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
    }
}

#[tokio::test]
async fn a_tool_that_an_agent_lacks_is_turned_off_as_often_as_is_said() {
    let served = Served::new().await;
    put(&served, &served.admin, "/v1/admin/agents/night", "", json!({"tools": ["echo"]})).await;
    let path = "/v1/admin/agents/night/tools/send";
    for enabled in [false, false, true, true, false] {
        let told = served.post(&served.admin, path, json!({"enabled": enabled})).await;
        check(&told, 200, "");
        assert_eq!(told.json()["enabled"], enabled, "{told:?}");
        let kept = served.get(&served.admin, "/v1/admin/agents/night/activations/send").await;
        assert_eq!(kept.json()["value"]["enabled"], enabled, "{kept:?}");
    }
}

#[tokio::test]
async fn an_agent_is_made_changed_and_removed_on_what_was_read() {
    let served = Served::new().await;
    let (key, path) = (&served.admin, "/v1/admin/agents/night");
    check(&served.get(key, path).await, 404, "not_found");
    check(&echo(&served, key, "night").await, 404, "not_found");
    let made = put(&served, key, path, "", json!({"tools": ["echo"]})).await;
    check(&made, 201, "");
    assert_eq!(made.header("etag"), Some("\"v1\""));
    assert_eq!(made.json()["value"], json!({"tools": ["echo"]}));
    assert_eq!(made.json()["changedBy"], "user:boss");
    assert_eq!(echo(&served, key, "night").await.status, 200);
    check(&put(&served, key, path, "", json!({})).await, 428, "precondition_required");
    check(&put(&served, key, path, "\"v7\"", json!({})).await, 412, "precondition_failed");
    let only_new = [("If-None-Match", "*")];
    let again = served.send(key, "PUT", path, &only_new, Some(json!({}))).await;
    check(&again, 412, "precondition_failed");
    check(&put(&served, key, path, "\"v1\"", json!({"tools": ["pay"]})).await, 200, "");
    assert_eq!(echo(&served, key, "night").await.status, 404, "in force at once");
    check(&delete(&served, key, path, "").await, 428, "precondition_required");
    check(&delete(&served, key, path, "\"v1\"").await, 412, "precondition_failed");
    check(&delete(&served, key, path, "\"v2\"").await, 204, "");
    check(&delete(&served, key, path, "*").await, 404, "not_found");
    check(&echo(&served, key, "night").await, 404, "not_found");
    // Under the same name it is another one: an old tag does not fit.
    assert_eq!(put(&served, key, path, "", json!({})).await.header("etag"), Some("\"v4\""));
}

#[tokio::test]
async fn what_is_declared_is_listed_and_read_only() {
    let served = Served::new().await;
    let key = &served.admin;
    let listed = served.get(key, "/v1/admin/agents").await.json();
    assert_eq!(listed, json!({"items": [{"id": "helper", "source": "declared", "value": {}}]}));
    let path = "/v1/admin/agents/helper";
    assert_eq!(served.get(key, path).await.header("etag"), None);
    check(&put(&served, key, path, "", json!({})).await, 409, "declared");
    check(&put(&served, key, path, "\"v1\"", json!({})).await, 409, "declared");
    check(&delete(&served, key, path, "").await, 409, "declared");
    check(&delete(&served, key, "/v1/admin/keys/helper", "").await, 409, "declared");
    check(&put(&served, key, "/v1/admin/tenants/ours", "", json!({})).await, 409, "declared");
}

#[tokio::test]
async fn a_list_comes_in_pages() {
    let served = Served::new().await;
    for name in ["a1", "a2", "a3"] {
        let path = format!("/v1/admin/agents/{name}");
        check(&put(&served, &served.admin, &path, "", json!({})).await, 201, "");
    }
    let ids = |reply: &Reply| {
        let items = reply.json()["items"].as_array().unwrap().clone();
        items.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = served.get(&served.admin, "/v1/admin/agents?limit=3").await;
    assert_eq!(
        (ids(&first), &first.json()["next"]),
        (vec!["a1".into(), "a2".into(), "a3".into()], &json!("a3"))
    );
    let rest = served.get(&served.admin, "/v1/admin/agents?limit=3&after=a3").await;
    assert_eq!(ids(&rest), ["helper"]);
    assert_eq!(rest.json().get("next"), None);
}

#[tokio::test]
async fn a_tool_that_is_turned_off_is_refused_at_once() {
    let served = Served::new().await;
    let path = "/v1/admin/agents/helper/tools/echo";
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 200);
    let off = served.post(&served.admin, path, json!({"enabled": false})).await;
    check(&off, 200, "");
    assert_eq!(off.json()["tool"], "shop__echo");
    assert_eq!(
        (&off.json()["available"], &off.json()["why"]),
        (&json!(false), &json!("disabled_for_agent"))
    );
    let refused = echo(&served, &served.agent, "helper").await;
    assert_eq!((refused.status, served.runs()), (404, 1), "{refused:?}");
    let tools = served.get(&served.agent, "/v1/agents/helper/tools").await.json();
    assert!(!tools.to_string().contains("shop__echo"));
    let on = served.post(&served.admin, path, json!({"enabled": true})).await.json();
    assert_eq!((&on["available"], &on["enabled"]), (&json!(true), &json!(true)));
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 200);
    let twice = served.post(&served.admin, path, json!({"enabled": true})).await;
    check(&twice, 200, "");
    let entry = served.get(&served.admin, "/v1/admin/agents/helper/activations/echo").await;
    assert_eq!(entry.json()["id"], "shop__echo", "as in the list");
    assert_eq!(entry.header("etag"), Some("\"v2\""), "nothing new is nothing written");
    let list = served.get(&served.admin, "/v1/admin/agents/helper/activations").await.json();
    assert_eq!(list["items"][0]["id"], "shop__echo");
    let none = served
        .post(&served.admin, "/v1/admin/agents/helper/tools/none", json!({"enabled": true}))
        .await;
    check(&none, 404, "not_found");
}

#[tokio::test]
async fn what_was_changed_holds_after_a_restart_and_for_other_processes() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Arc::new(Sqlite::open(dir.path().join("haft.db"), Options::default()).unwrap());
    let served = Served::on(open(), Limits::default()).await;
    let off = json!({"enabled": false});
    let path = "/v1/admin/agents/helper/tools/echo";
    check(&served.post(&served.admin, path, off).await, 200, "");
    check(&put(&served, &served.admin, "/v1/admin/agents/night", "", json!({})).await, 201, "");
    let made = json!({"principal": "user:ann", "roles": ["operator"]});
    let key = served.post(&served.admin, "/v1/admin/keys", made).await.json();
    let key = key["key"].as_str().unwrap().to_owned();
    served.stop().await;
    let served = Served::on(open(), Limits::default()).await;
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 404);
    assert_eq!(echo(&served, &key, "night").await.status, 200);
    // Another process on the same store: what it writes is in force here within moments.
    let other = Served::on(open(), Limits::default()).await;
    check(&other.post(&other.admin, path, json!({"enabled": true})).await, 200, "");
    let mut tries = 0;
    while echo(&served, &served.agent, "helper").await.status != 200 {
        tries += 1;
        assert!(tries < 200, "the other process's change is not noticed");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn looser_rules_are_somebodys_decision() {
    let served = Served::new().await;
    let (key, path) = (&served.admin, "/v1/admin/agents/helper/activations/pay");
    let loose = json!({"enabled": true, "overrides": {"requires_confirmation": false}});
    let refused = put(&served, key, path, "", loose.clone()).await;
    check(&refused, 422, "looser_than_contract");
    assert!(refused.body.contains("requires_confirmation"), "{refused:?}");
    let mut taken = loose.clone();
    taken["approve"] = json!(true);
    let made = put(&served, key, path, "", taken).await;
    check(&made, 201, "");
    assert_eq!(made.json()["value"]["approved_by"], "user:boss");
    let body = json!({"tool": "pay", "arguments": {"text": "x"}, "idempotency_key": "k1"});
    let paid = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert_eq!((paid.status, served.runs()), (200, 1), "nobody is asked: {paid:?}");
    // Turned off and on again, it is as it was approved.
    let switch = "/v1/admin/agents/helper/tools/pay";
    for enabled in [false, true] {
        check(&served.post(key, switch, json!({"enabled": enabled})).await, 200, "");
    }
    let entry = served.get(key, path).await;
    assert_eq!(entry.json()["value"]["approved_by"], "user:boss");
    // Tighter is free, and takes the approval with it.
    let tag = entry.header("etag").unwrap().to_owned();
    let tight = json!({"enabled": true, "overrides": {"max_runtime_ms": 10}});
    let made = put(&served, key, path, &tag, tight).await;
    check(&made, 200, "");
    assert_eq!(made.json()["value"].get("approved_by"), None);
    let forged = json!({"enabled": true, "approved_by": "user:mara"});
    check(&put(&served, key, path, "*", forged).await, 400, "malformed_request");
}

#[tokio::test]
async fn mistakes_are_named_and_change_nothing() {
    let served = Served::new().await;
    let key = &served.admin;
    for (path, body, status, word) in [
        ("/v1/admin/agents/night", json!({"tols": []}), 422, "did you mean `tools`?"),
        ("/v1/admin/agents/night", json!({"tools": ["ecko"]}), 422, "there is no tool `ecko`"),
        ("/v1/admin/agents/night", json!([]), 400, "must be a JSON object"),
        ("/v1/admin/agents/no%2Fslash", json!({}), 422, "an id has 1 to 64"),
        ("/v1/admin/agents/%F0%9F%8C%99", json!({}), 422, "an id has 1 to 64"),
        ("/v1/admin/definitions/shop__none", json!({"enabled": true}), 422, "there is no tool"),
        ("/v1/admin/definitions/shop__echo", json!({"version": "many"}), 422, ""),
        ("/v1/admin/agents/none/activations/echo", json!({"enabled": true}), 404, ""),
        (
            "/v1/admin/delegations/over",
            json!({"actor": "agent:helper", "subject": "user:mara", "tools": ["*"],
                   "until": "2001-01-01T00:00:00Z"}),
            422,
            "invalid_configuration",
        ),
        (
            "/v1/admin/delegations/d1",
            json!({"actor": "agent:helper", "subject": "mara", "tools": ["*"], "until": "2030-01-01T00:00:00Z"}),
            422,
            "`mara` is not a principal",
        ),
    ] {
        let reply = put(&served, key, path, "", body).await;
        assert_eq!(reply.status, status, "{path}: {reply:?}");
        assert!(reply.body.contains(word), "{path}: {reply:?}");
    }
    for list in ["agents", "definitions", "delegations", "policies", "keys"] {
        let items = served.get(key, &format!("/v1/admin/{list}")).await.json();
        let stored =
            items["items"].as_array().unwrap().iter().filter(|one| one["source"] == "stored");
        assert_eq!(stored.count(), 0, "{list}");
    }
}

#[tokio::test]
async fn an_agent_that_comes_back_starts_anew() {
    let served = Served::on(Arc::new(Memory::new()), Limits::default()).await;
    let key = &served.admin;
    let (agent, tool) = ("/v1/admin/agents/night", "/v1/admin/agents/night/tools/echo");
    check(&put(&served, key, agent, "", json!({})).await, 201, "");
    check(&served.post(key, tool, json!({"enabled": false})).await, 200, "");
    check(&delete(&served, key, agent, "*").await, 204, "");
    check(&put(&served, key, agent, "", json!({})).await, 201, "");
    assert_eq!(echo(&served, key, "night").await.status, 200);
}

#[tokio::test]
async fn what_agents_want_is_counted_and_granted() {
    let served = Served::new().await;
    let key = &served.admin;
    let switch = "/v1/admin/agents/helper/tools/echo";
    check(&served.post(key, switch, json!({"enabled": false})).await, 200, "");
    for _ in 0..3 {
        echo(&served, &served.agent, "helper").await;
    }
    let dream = json!({"tool": "fly", "arguments": {}});
    served.post(&served.agent, "/v1/agents/helper/calls", dream).await;
    let wishes = served.get(key, "/v1/admin/suggestions").await.json();
    assert_eq!(
        wishes[0],
        json!({"agent": "helper", "tool": "shop__echo", "calls": 3, "known": true,
               "why": "disabled_for_agent",
               "enable": "the administrator has to enable `shop__echo` for this agent"})
    );
    assert_eq!(wishes[1], json!({"agent": "helper", "tool": "fly", "calls": 1, "known": false}));
    assert_eq!(served.get(&served.stranger, "/v1/admin/suggestions").await.json(), json!([]));
    for wrong in ["3", "x:y:z", "1:fly"] {
        let path = format!("/v1/admin/suggestions?after={wrong}");
        check(&served.get(key, &path).await, 400, "malformed_request");
    }
    let accept = "/v1/admin/suggestions/accept";
    let one = json!({"agent": "helper", "tool": "shop__echo"});
    let done = served.post(key, accept, one).await;
    assert_eq!(done.json()["available"], true, "{done:?}");
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 200);
    let left = served.get(key, "/v1/admin/suggestions").await.json();
    assert_eq!(left.as_array().unwrap().len(), 1, "{left}");
    let none = served.post(key, accept, json!({"agent": "helper", "tool": "fly"})).await;
    check(&none, 404, "not_found");
}

/// Whether it was asked for by its short name or by the whole one.
#[tokio::test]
async fn one_tool_is_one_wish_however_it_was_called() {
    let served = Served::new().await;
    let (key, tool) = (&served.admin, "/v1/admin/definitions/shop__echo");
    let ask = async |name: &str| {
        let call = json!({"tool": name, "arguments": {"text": "x"}});
        served.post(&served.agent, "/v1/agents/helper/calls", call).await.status
    };
    let switch = "/v1/admin/agents/helper/tools/shop__echo";
    check(&served.post(key, switch, json!({"enabled": false})).await, 200, "");
    assert_eq!(ask("echo").await, 404);
    // A tool that the tenant has not taken is known to its agents by no name.
    check(&put(&served, key, tool, "", json!({"enabled": false})).await, 201, "");
    assert_eq!((ask("echo").await, ask("shop__echo").await), (404, 404));
    check(&delete(&served, key, tool, "*").await, 204, "");
    let wishes = async || served.get(key, "/v1/admin/suggestions").await.json();
    let listed = wishes().await;
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    assert_eq!((&listed[0]["tool"], &listed[0]["calls"]), (&json!("shop__echo"), &json!(3)));
    let one = json!({"agent": "helper", "tool": "shop__echo"});
    check(&served.post(key, "/v1/admin/suggestions/accept", one).await, 200, "");
    check(&served.post(key, switch, json!({"enabled": false})).await, 200, "");
    assert_eq!(wishes().await, json!([]), "nobody has asked for it since");
}

#[tokio::test]
async fn what_an_agent_has_got_meanwhile_is_not_suggested_for_it() {
    let served = Served::new().await;
    let (key, switch) = (&served.admin, "/v1/admin/agents/helper/tools/echo");
    check(&served.post(key, switch, json!({"enabled": false})).await, 200, "");
    assert_eq!(echo(&served, &served.agent, "helper").await.status, 404);
    let wanted = async || {
        let wishes = served.get(key, "/v1/admin/suggestions").await.json();
        wishes.as_array().unwrap().iter().map(|one| one["tool"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(wanted().await, [json!("shop__echo")]);
    check(&served.post(key, switch, json!({"enabled": true})).await, 200, "");
    assert_eq!(wanted().await, Vec::<Value>::new());
}

/// RFC 9110, 13.2.2: where both are said, both have to hold.
#[tokio::test]
async fn who_wants_a_new_one_or_nothing_changes_nothing_that_is_there() {
    let served = Served::new().await;
    let (key, path) = (&served.admin, "/v1/admin/agents/night");
    check(&put(&served, key, path, "", json!({})).await, 201, "");
    for tag in ["*", "\"v1\""] {
        let both = [("If-Match", tag), ("If-None-Match", "*")];
        let changed = json!({"tools": ["echo"]});
        let reply = served.send(key, "PUT", path, &both, Some(changed)).await;
        check(&reply, 412, "precondition_failed");
    }
    assert_eq!(served.get(key, path).await.header("etag"), Some("\"v1\""));
}
