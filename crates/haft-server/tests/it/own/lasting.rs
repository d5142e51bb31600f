//! What becomes of sessions, approvals and effects when a definition changes or goes, and after a
//! restart.

use std::sync::Arc;

use haft_server::Limits;
use haft_store::{Options, Sqlite};
use serde_json::{Value, json};

use super::{CALLS, FIND, Service, define, find, world};
use crate::admin::{check, delete, put};
use crate::client::{Reply, Served};

const ORDER: &str = "/v1/admin/definitions/crm__place_order";
const CANCEL: &str = "/v1/admin/definitions/crm__cancel_order";

async fn begin(served: &Served) -> String {
    let begun = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await.json();
    begun["id"].as_str().unwrap().to_owned()
}

async fn find_in(served: &Served, session: &str) -> Reply {
    let body = json!({"tool": "crm__find_customer", "arguments": {"name": "x"},
                      "session": session});
    served.post(&served.agent, CALLS, body).await
}

async fn order(served: &Served, token: Option<&str>) -> Reply {
    let body = json!({"tool": "crm__place_order", "arguments": {"name": "x"},
                      "idempotency_key": "k1", "confirmation": token});
    served.post(&served.agent, CALLS, body).await
}

/// The question that a call asks.
async fn question(served: &Served) -> String {
    let waits = order(served, None).await;
    assert_eq!(waits.status, 202, "{waits:?}");
    let id = waits.json()["error"]["details"]["confirmation"]["id"].clone();
    id.as_str().unwrap().to_owned()
}

async fn approve(served: &Served, id: &str) -> String {
    let path = format!("/v1/confirmations/{id}");
    let answer = served.post(&served.operator, &path, json!({"approve": true})).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["token"].as_str().unwrap().to_owned()
}

async fn undo(served: &Served, call: &str) -> Value {
    let body = json!({ "call": call });
    served.post(&served.operator, "/v1/effects/undo", body).await.json()
}

/// A tool that places orders and one that cancels them.
async fn orders(served: &Served, service: &Service) -> (Value, Value) {
    let cancel = json!({"contract": service.writing(
        "cancel_order", &json!({"requiresConfirmation": false, "idempotent": true}))});
    let undo = json!({"compensation": {"tool": "cancel_order",
                                       "arguments": {"name": {"from": "/arguments/name"}}}});
    let order = json!({"contract": service.writing("place_order", &undo)});
    check(&define(served, "crm__place_order", order.clone()).await, 422, "invalid_configuration");
    check(&define(served, "crm__cancel_order", cancel.clone()).await, 201, "");
    check(&define(served, "crm__place_order", order.clone()).await, 201, "");
    (order, cancel)
}

#[tokio::test]
async fn a_session_keeps_the_contract_that_it_began_with_and_not_a_tool_that_is_gone() {
    let (served, service) = world().await;
    let before = begin(&served).await;
    check(
        &define(&served, "crm__find_customer", json!({"contract": service.contract()})).await,
        201,
        "",
    );
    assert_eq!(find_in(&served, &before).await.status, 404, "it began without the tool");
    let session = begin(&served).await;
    assert_eq!(find_in(&served, &session).await.status, 200);
    let mut newer = service.contract();
    newer["version"] = json!("2.0.0");
    newer["gateway"]["query"] = json!({"who": "name"});
    check(&put(&served, &served.admin, FIND, "\"v1\"", json!({"contract": newer})).await, 200, "");
    let said = |reply: &Reply| {
        let reply = reply.json();
        (reply["data"]["found"].clone(), reply["meta"]["toolVersion"].clone())
    };
    let old = (json!("GET /customers?name=x HTTP/1.1"), json!("1.0.0"));
    let new = (json!("GET /customers?who=x HTTP/1.1"), json!("2.0.0"));
    assert_eq!(said(&find_in(&served, &session).await), old);
    let shown =
        served.get(&served.agent, &format!("/v1/agents/helper/tools?session={session}")).await;
    assert!(shown.body.contains("1.0.0") && !shown.body.contains("2.0.0"), "{shown:?}");
    assert_eq!(said(&find_in(&served, &begin(&served).await).await), new);
    assert_eq!(find(&served, "crm__find_customer").await.json()["meta"]["toolVersion"], "2.0.0");
    // Taken away, it is gone everywhere at once; back again, the session has what it had.
    check(&delete(&served, &served.admin, FIND, "*").await, 204, "");
    assert_eq!(find_in(&served, &session).await.status, 404);
    assert_eq!(find(&served, "crm__find_customer").await.status, 404);
    check(&put(&served, &served.admin, FIND, "", json!({"contract": newer})).await, 201, "");
    assert_eq!(said(&find_in(&served, &session).await), old);
    // Turned off is as good as gone.
    let off = json!({"contract": newer, "enabled": false});
    check(&put(&served, &served.admin, FIND, "*", off).await, 200, "");
    assert_eq!(find_in(&served, &session).await.status, 404);
    let silent = put(&served, &served.admin, FIND, "*", json!({"enabled": true})).await;
    check(&silent, 422, "invalid_configuration");
    assert!(silent.body.contains("would have no contract"), "{silent:?}");
}

#[tokio::test]
async fn an_open_question_outlives_its_definition_and_approves_what_was_asked() {
    let (served, service) = world().await;
    let (order_body, _) = orders(&served, &service).await;
    let id = question(&served).await;
    check(&delete(&served, &served.admin, ORDER, "*").await, 204, "");
    let open = served.get(&served.operator, "/v1/confirmations?status=pending").await;
    assert!(open.body.contains(&id), "{open:?}");
    // Nothing is approved while there is no tool, nor as another tool under the same name.
    let refused = async |why: &str| {
        let path = format!("/v1/confirmations/{id}");
        let answer = served.post(&served.operator, &path, json!({"approve": true})).await;
        check(&answer, 403, "confirmation_refused");
        assert_eq!(answer.json()["details"]["why"], why, "{answer:?}");
    };
    refused("tool_gone").await;
    let mut other = order_body.clone();
    other["contract"]["description"] = json!("Order a hundred of them.");
    check(&define(&served, "crm__place_order", other.clone()).await, 201, "");
    refused("tool_changed").await;
    // Put back as it was, it is. An approval does not count for the other one either.
    check(&put(&served, &served.admin, ORDER, "*", order_body.clone()).await, 200, "");
    let token = approve(&served, &id).await;
    check(&put(&served, &served.admin, ORDER, "*", other).await, 200, "");
    assert_ne!(order(&served, Some(&token)).await.status, 200);
    assert_eq!(service.heard().len(), 0);
    check(&put(&served, &served.admin, ORDER, "*", order_body).await, 200, "");
    let done = order(&served, Some(&token)).await;
    assert_eq!((done.status, service.heard().len()), (200, 1), "{done:?}");
}

#[tokio::test]
async fn an_effect_can_be_undone_after_its_definition_is_gone_and_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Arc::new(Sqlite::open(dir.path().join("haft.db"), Options::default()).unwrap());
    let (served, service) = (Served::on(open(), Limits::default()).await, Service::new().await);
    let allow = json!({"allow": ["crm__*"]});
    check(&put(&served, &served.admin, "/v1/admin/policies/own", "", allow).await, 201, "");
    let (_, cancel) = orders(&served, &service).await;
    let token = approve(&served, &question(&served).await).await;
    let done = order(&served, Some(&token)).await;
    assert_eq!(done.status, 200, "{done:?}");
    let call = done.json()["meta"]["callId"].as_str().unwrap().to_owned();
    // What undoes another tool cannot go before it.
    let refused = delete(&served, &served.admin, CANCEL, "*").await;
    check(&refused, 422, "invalid_configuration");
    assert!(refused.body.contains("crm__place_order"), "{refused:?}");
    check(&delete(&served, &served.admin, ORDER, "*").await, 204, "");
    check(&delete(&served, &served.admin, CANCEL, "*").await, 204, "");
    served.stop().await;
    let served = Served::on(open(), Limits::default()).await;
    let listed = served.get(&served.operator, "/v1/effects").await;
    assert!(listed.body.contains(&call), "{listed:?}");
    let stuck = undo(&served, &call).await;
    assert_eq!(stuck[0]["status"], "stuck", "{stuck}");
    assert_eq!(service.heard().len(), 1);
    check(&put(&served, &served.admin, CANCEL, "", cancel).await, 201, "");
    let undone = undo(&served, &call).await;
    assert_eq!(undone[0]["status"], "undone", "{undone}");
    let heard = service.heard();
    assert!(heard.len() == 2 && heard[1].starts_with("POST /cancel_order"), "{heard:?}");
    assert_eq!(undo(&served, &call).await[0]["status"], "already_undone");
}

#[tokio::test]
async fn a_restart_keeps_what_was_defined_and_the_sessions_that_use_it() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Arc::new(Sqlite::open(dir.path().join("haft.db"), Options::default()).unwrap());
    let (served, service) = (Served::on(open(), Limits::default()).await, Service::new().await);
    let allow = json!({"allow": ["crm__*"]});
    check(&put(&served, &served.admin, "/v1/admin/policies/own", "", allow).await, 201, "");
    check(
        &define(&served, "crm__find_customer", json!({"contract": service.contract()})).await,
        201,
        "",
    );
    let session = begin(&served).await;
    let version = served.get(&served.operator, "/v1/registry").await.json()["version"].clone();
    served.stop().await;
    let served = Served::on(open(), Limits::default()).await;
    assert_eq!(find(&served, "crm__find_customer").await.status, 200);
    assert_eq!(find_in(&served, &session).await.status, 200);
    assert_eq!(served.get(&served.operator, "/v1/registry").await.json()["version"], version);
    // Another process that defines something reaches this one.
    let other = Served::on(open(), Limits::default()).await;
    let mut more = service.contract();
    more["toolId"] = json!("look_up");
    check(&define(&other, "crm__look_up", json!({"contract": more})).await, 201, "");
    let mut tries = 0;
    while find(&served, "crm__look_up").await.status != 200 {
        tries += 1;
        assert!(tries < 200, "the other process's definition is not noticed");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // A session that began before another set was made, and a restart between: it is told.
    served.stop().await;
    let served = Served::on(open(), Limits::default()).await;
    let lost = find_in(&served, &session).await;
    assert!(lost.status == 404 && lost.body.contains("start a new session"), "{lost:?}");
}
