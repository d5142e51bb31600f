//! A tenant's own HTTP tools: defined over HTTP, called through the one path, and nobody else's
//! business.

mod hostile;
mod lasting;
pub(crate) mod service;

use std::sync::Arc;

use haft_core::Principal;
use haft_core::config::{Change, Kind};
use haft_runtime::toolbox::Records;
use haft_server::Limits;
use haft_store::Memory;
use serde_json::{Value, json};

use crate::admin::{check, delete, put};
use crate::client::{Reply, Served};
use crate::mcp::asked;
use service::{Accounts, Service, TOKEN};

const FIND: &str = "/v1/admin/definitions/crm__find_customer";
const CALLS: &str = "/v1/agents/helper/calls";

/// A server whose tenant `ours` may define things, and allows what it defines.
async fn world() -> (Served, Service) {
    let (served, service) = (Served::new().await, Service::new().await);
    let allow = json!({"allow": ["crm__*"]});
    check(&put(&served, &served.admin, "/v1/admin/policies/own", "", allow).await, 201, "");
    (served, service)
}

async fn define(served: &Served, id: &str, body: Value) -> Reply {
    put(served, &served.admin, &format!("/v1/admin/definitions/{id}"), "", body).await
}

async fn find(served: &Served, name: &str) -> Reply {
    let body = json!({"tool": name, "arguments": {"name": "Ann & Bo"}});
    served.post(&served.agent, CALLS, body).await
}

#[tokio::test]
async fn a_tool_is_defined_listed_and_called_at_once() {
    let (served, service) = world().await;
    assert_eq!(find(&served, "crm__find_customer").await.status, 404);
    let body = json!({"contract": service.contract(), "summary": "Looks customers up."});
    let made = define(&served, "crm__find_customer", body.clone()).await;
    check(&made, 201, "");
    assert_eq!(made.json()["value"], body, "as it was sent");
    for name in ["crm__find_customer", "find_customer"] {
        let found = find(&served, name).await;
        assert_eq!(found.status, 200, "{found:?}");
        assert_eq!(found.json()["data"]["found"], "GET /customers?name=Ann%20%26%20Bo HTTP/1.1");
        assert_eq!(found.json()["meta"]["tool"], "crm__find_customer");
    }
    let version = served.get(&served.operator, "/v1/registry").await.json();
    assert!(version["version"].as_str().unwrap().contains('+'), "{version}");
    assert_eq!(version["tools"][3]["id"], "crm__find_customer");
    for format in ["openai", "anthropic", "gemini", "mcp", "adm", ""] {
        let query = if format.is_empty() { String::new() } else { format!("?format={format}") };
        let path = format!("/v1/agents/helper/tools{query}");
        let listed = served.get(&served.agent, &path).await;
        assert!(listed.body.contains("crm__find_customer"), "{format}: {listed:?}");
    }
    let found = served.get(&served.agent, "/v1/agents/helper/tools?q=customers").await.json();
    assert_eq!(found["tools"][0]["id"], "crm__find_customer");
    assert_eq!(found["tools"][0]["own"], true);
    let listed = asked(&served, &served.agent, "tools/list", json!({}), &[]).await;
    assert!(listed.body.contains("crm__find_customer"), "{listed:?}");
    let call = json!({"name": "crm__find_customer", "arguments": {"name": "Cy"}});
    let called = asked(&served, &served.agent, "tools/call", call, &[]).await.json();
    let said = "GET /customers?name=Cy HTTP/1.1";
    assert_eq!(called["result"]["structuredContent"]["found"], said, "{called}");
    // On record like every other, and turned off like every other.
    let calls = served.get(&served.operator, "/v1/calls?tool=crm__find_customer").await;
    assert!(calls.body.contains("crm__find_customer"), "{calls:?}");
    let switch = "/v1/admin/agents/helper/tools/crm__find_customer";
    check(&served.post(&served.admin, switch, json!({"enabled": false})).await, 200, "");
    assert_eq!(find(&served, "crm__find_customer").await.status, 404);
    let why = served.get(&served.operator, "/v1/agents/helper/unavailable").await;
    assert!(why.body.contains("disabled_for_agent"), "{why:?}");
}

/// Its answer is as the document has it.
#[tokio::test]
async fn an_effect_whose_answer_was_lost_is_asked_for_by_its_probe() {
    let (served, service) = world().await;
    let mut lost = service.contract();
    let happened = json!({"type": "boolean", "description": "Whether it happened."});
    lost["toolId"] = json!("was_lost");
    lost["output"]["properties"] = json!({ "happened": happened });
    lost["redaction"]["allow"] = json!(["happened"]);
    lost["gateway"]["url"] = json!(format!("http://127.0.0.1:{}/lost", service.port));
    check(&define(&served, "crm__was_lost", json!({"contract": lost})).await, 201, "");
    let probe = json!({"requiresConfirmation": false, "probe": {
        "tool": "was_lost", "arguments": {"name": {"from": "/arguments/name"}},
        "happened": "/result/happened"}});
    let lose = json!({"contract": service.writing("lose", &probe)});
    check(&define(&served, "crm__lose", lose).await, 201, "");
    let body = json!({"tool": "lose", "arguments": {"name": "x"}, "idempotency_key": "k"});
    let reply = served.post(&served.agent, CALLS, body).await;
    assert_eq!(reply.status, 409, "{reply:?}");
    let call = reply.json()["meta"]["recordId"].as_str().unwrap().to_owned();
    let path = format!("/v1/effects/{call}/probe");
    let probed = served.send(&served.operator, "POST", &path, &[], None).await;
    check(&probed, 200, "");
    let said = probed.json();
    assert_eq!((&said["tool"], &said["effect"]["state"]), (&json!("was_lost"), &json!("happened")));
}

#[tokio::test]
async fn nobody_else_sees_it_calls_it_or_learns_of_it() {
    let (served, service) = world().await;
    let key = &served.stranger;
    let allow = json!({"allow": ["*"]});
    check(&put(&served, key, "/v1/admin/policies/all", "", allow).await, 201, "");
    let call = |tool: &str| json!({"tool": tool, "arguments": {"name": "x"}});
    let calls = "/v1/agents/spy/calls";
    // What a stranger is told before the tool is there is what they are told afterwards.
    let asks: &[(&str, &str, Option<Value>)] = &[
        ("POST", calls, Some(call("crm__find_customer"))),
        ("POST", calls, Some(call("find_customer"))),
        ("POST", calls, Some(call("crm__find_custome"))),
        ("GET", "/v1/agents/spy/tools?q=customer", None),
        ("GET", "/v1/agents/spy/tools?format=openai", None),
        ("GET", "/v1/agents/spy/tools/crm__find_customer", None),
        ("GET", "/v1/agents/spy/unavailable", None),
        ("GET", "/v1/admin/definitions", None),
        ("GET", FIND, None),
        ("GET", "/v1/registry", None),
        ("POST", "/v1/admin/agents/spy/tools/find_customer", Some(json!({"enabled": true}))),
        ("PUT", "/v1/admin/policies/p", Some(json!({"allow": ["crm__find_customer"]}))),
        ("PUT", "/v1/admin/policies/q", Some(json!({"deny": ["crm__find_custome"]}))),
        ("PUT", "/v1/admin/agents/other", Some(json!({"tools": ["crm__find_customer"]}))),
        ("PUT", FIND, Some(json!({"enabled": true}))),
    ];
    let mut before = Vec::new();
    for (method, path, body) in asks {
        before.push(served.send(key, method, path, &[], body.clone()).await);
    }
    let seen = asked(&served, key, "tools/list", json!({}), &[]).await;
    check(
        &define(&served, "crm__find_customer", json!({"contract": service.contract()})).await,
        201,
        "",
    );
    assert_eq!(find(&served, "crm__find_customer").await.status, 200);
    for ((method, path, body), before) in asks.iter().zip(before) {
        let after = served.send(key, method, path, &[], body.clone()).await;
        assert_eq!(after.status, before.status, "{method} {path}: {after:?}");
        assert_eq!(plain(&after), plain(&before), "{method} {path}");
        assert!(body.is_some() || !after.body.contains("crm__find"), "{path}: {after:?}");
    }
    let again = asked(&served, key, "tools/list", json!({}), &[]).await;
    assert_eq!(again.body, seen.body);
    for uri in ["haft://tools/tenant/ours/available", "haft://tools/agent/helper/enabled"] {
        let read = asked(&served, key, "resources/read", json!({"uri": uri}), &[]).await;
        assert!(!read.body.contains("find_customer"), "{uri}: {read:?}");
    }
    // What they asked for is known of no tool, and what ours counts is not theirs to read.
    let wishes = served.get(key, "/v1/admin/suggestions").await.json();
    let known: Vec<_> = wishes.as_array().unwrap().iter().map(|one| &one["known"]).collect();
    assert!(!known.is_empty() && known.iter().all(|known| **known == json!(false)), "{wishes}");
    let figures = served.get(key, "/metrics").await.body;
    assert!(!figures.contains("find_customer"), "{figures}");
    assert!(served.get(&served.admin, "/metrics").await.body.contains("crm__find_customer"));
    assert_eq!(service.heard().len(), 1);
}

/// What a client can tell answers apart by.
fn plain(reply: &Reply) -> Value {
    fn without(value: &mut Value) {
        match value {
            Value::Object(all) => {
                for name in ["callId", "recordId", "durationMs", "version", "instance"] {
                    all.remove(name);
                }
                all.values_mut().for_each(without);
            }
            Value::Array(all) => all.iter_mut().for_each(without),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut value = reply.json();
    without(&mut value);
    value
}

#[tokio::test]
async fn two_tenants_may_have_the_same_name_for_different_things() {
    let (served, service) = world().await;
    let theirs = Service::new().await;
    let allow = json!({"allow": ["crm__*"]});
    check(&put(&served, &served.stranger, "/v1/admin/policies/own", "", allow).await, 201, "");
    check(
        &define(&served, "crm__find_customer", json!({"contract": service.contract()})).await,
        201,
        "",
    );
    let mut other = theirs.contract();
    other["description"] = json!("Something else altogether.");
    check(&put(&served, &served.stranger, FIND, "", json!({"contract": other})).await, 201, "");
    assert_eq!(find(&served, "crm__find_customer").await.status, 200);
    let call = json!({"tool": "crm__find_customer", "arguments": {"name": "x"}});
    assert_eq!(served.post(&served.stranger, "/v1/agents/spy/calls", call).await.status, 200);
    assert_eq!((service.heard().len(), theirs.heard().len()), (1, 1));
    let shown = |body: &str| body.contains("Something else");
    let ours = served.get(&served.agent, "/v1/agents/helper/tools?format=openai").await;
    let spied = served.get(&served.stranger, "/v1/agents/spy/tools?format=openai").await;
    assert!(!shown(&ours.body) && shown(&spied.body));
}

#[tokio::test]
async fn what_is_wrong_is_listed_with_its_place_and_nothing_is_saved() {
    let (served, service) = world().await;
    let changed = |pointer: &str, value: Value| {
        let mut contract = service.contract();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        contract.pointer_mut(parent).unwrap()[name] = value;
        json!({ "contract": contract })
    };
    let without_gateway = {
        let mut contract = service.contract();
        contract.as_object_mut().unwrap().remove("gateway");
        json!({ "contract": contract })
    };
    let id = "crm__find_customer";
    let native = json!({"kind": "native", "crate": "x", "revision": 1});
    for (id, body, place, word) in [
        (id, changed("/toolId", json!("other")), "/contract/toolId", "H105"),
        (id, changed("/category", json!("magic")), "/contract/category", "H104"),
        (id, changed("/colour", json!("red")), "/contract/colour", "H102"),
        (id, changed("/gateway/url", json!("https://{name}/x")), "/contract/gateway/url", "H120"),
        (
            id,
            changed("/parameters/$defs", json!({"a": {"$ref": "#/$defs/a"}})),
            "/contract/parameters/$defs/a/$ref",
            "H306",
        ),
        (id, changed("/gateway/url", json!("http://10.0.0.8/x")), "/contract/gateway/url", "https"),
        (id, changed("/gateway/method", json!("DELETE")), "/contract/gateway/method", "H126"),
        (
            id,
            changed("/gateway/query", json!({"q": "nobody"})),
            "/contract/gateway/query/q",
            "nobody",
        ),
        (id, changed("/handler", native), "/contract/handler", "only HTTP requests"),
        (
            id,
            changed("/gateway", json!({"kind": "mcp", "server": "x", "tool": "y"})),
            "/contract/gateway/kind",
            "only HTTP requests",
        ),
        (id, without_gateway, "/contract/gateway", "nothing runs this tool"),
        (id, json!({"contract": service.contract(), "summary": " "}), "/summary", "H202"),
        (id, json!({"contract": service.contract(), "doc": "# No sections"}), "/doc", "H203"),
        (
            id,
            json!({"contract": service.contract(), "version": "^1"}),
            "/version",
            "stands in its contract",
        ),
        (id, json!({"contract": "text"}), "/contract", "JSON object"),
        (
            "shop__find_customer",
            json!({"contract": service.contract()}),
            "request",
            "not for tools of a tenant",
        ),
        (
            "haft__find_customer",
            json!({"contract": service.contract()}),
            "request",
            "not for tools of a tenant",
        ),
        ("crm__echo", changed("/toolId", json!("echo")), "request", "short name of `shop__echo`"),
        ("shop__echo", changed("/toolId", json!("echo")), "request", ""),
        (
            "find_customer",
            json!({"contract": service.contract()}),
            "request",
            "is not the id of a tool",
        ),
        (
            "crm__x",
            json!({"enabled": true, "doc": "x"}),
            "/doc",
            "only a definition with a `contract`",
        ),
    ] {
        let refused = define(&served, id, body.clone()).await;
        check(&refused, 422, "invalid_configuration");
        let problems = refused.json()["details"]["problems"].clone();
        let problems = problems.as_array().unwrap();
        let meant = problems.iter().find(|one| one["place"] == place);
        let meant = meant.unwrap_or_else(|| panic!("{place}: {refused:?}"));
        assert!(problems.iter().any(|one| one.to_string().contains(word)), "{word}: {meant}");
    }
    let listed = served.get(&served.admin, "/v1/admin/definitions").await.json();
    assert_eq!(listed, json!({"items": []}));
    // Not for everybody.
    let body = json!({"contract": service.contract()});
    check(&put(&served, &served.operator, FIND, "", body.clone()).await, 403, "");
    check(&put(&served, &served.agent, FIND, "", body).await, 403, "");
}

#[tokio::test]
async fn what_a_tenant_brings_along_is_limited() {
    let settings = haft_runtime::Settings {
        max_own_tools: 1,
        max_definition_bytes: 2_000,
        ..haft_runtime::Settings::default()
    };
    let served = Served::running(|builder| builder.settings(settings)).await;
    let service = Service::new().await;
    let mut long = json!({"contract": service.contract()});
    long["contract"]["tags"] = json!(vec!["x".repeat(60); 30]);
    let refused = define(&served, "crm__find_customer", long).await;
    assert!(refused.status == 422 && refused.body.contains("at most 2000"), "{refused:?}");
    let body = json!({"contract": service.contract()});
    check(&define(&served, "crm__find_customer", body.clone()).await, 201, "");
    let mut second = body.clone();
    second["contract"]["toolId"] = json!("look_up");
    let refused = define(&served, "crm__look_up", second).await;
    assert!(refused.status == 422 && refused.body.contains("at most 1"), "{refused:?}");
    check(&put(&served, &served.admin, FIND, "*", body).await, 200, "");
}

/// A server whose only account lists these hosts, granted for our own tools.
async fn connected(hosts: &[&str]) -> Served {
    connected_with(hosts, None).await
}

async fn connected_with(hosts: &[&str], records: Option<Records>) -> Served {
    let broker = Arc::new(Accounts(hosts.iter().map(|host| (*host).to_owned()).collect()));
    let store = Arc::new(Memory::new());
    let with = |builder: haft_runtime::runtime::Builder| match records {
        Some(records) => builder.broker(broker).records(records),
        None => builder.broker(broker),
    };
    let served = Served::build(store, Limits::default(), with, |door| door).await;
    let allow = json!({"allow": ["crm__*"]});
    check(&put(&served, &served.admin, "/v1/admin/policies/own", "", allow).await, 201, "");
    served
}

async fn grant(served: &Served) {
    let to = json!({"connection": "crm-1", "provider": "crm", "principals": ["agent:helper"],
                    "tools": ["crm__find_customer"]});
    let (tenant, id, by) = ("ours".to_owned(), "g".to_owned(), Principal::user("boss"));
    let change = Change { kind: Kind::Grant, tenant, id, from: 0, to: Some(to), by };
    served.door.runtime.change(change).await.unwrap();
}

#[tokio::test]
async fn a_connection_is_attached_where_it_is_granted_and_lists_the_host() {
    let service = Service::new().await;
    let mut contract = service.contract();
    contract["connection"] = json!({"provider": "crm", "hosts": ["127.0.0.1"]});
    let call = json!({"tool": "crm__find_customer", "arguments": {"name": "x"},
                      "connection": "crm-1"});
    let with_token =
        |service: &Service| service.heard().iter().filter(|one| one.contains(TOKEN)).count();
    let served = connected(&["127.0.0.1"]).await;
    check(&define(&served, "crm__find_customer", json!({"contract": contract})).await, 201, "");
    let refused = served.post(&served.agent, CALLS, call.clone()).await;
    assert_eq!((refused.status, service.heard().len()), (404, 0), "{refused:?}");
    assert!(refused.body.contains("connection"), "{refused:?}");
    grant(&served).await;
    let called = served.post(&served.agent, CALLS, call.clone()).await;
    assert_eq!((called.status, with_token(&service)), (200, 1), "{called:?}");
    assert!(!called.body.contains(TOKEN));
    // Whoever writes a contract does not thereby read a secret: an account that lists no hosts, or
    // others, goes nowhere with it.
    for hosts in [&[][..], &["crm.example.com"]] {
        let served = connected(hosts).await;
        check(&define(&served, "crm__find_customer", json!({"contract": contract})).await, 201, "");
        grant(&served).await;
        let called = served.post(&served.agent, CALLS, call.clone()).await;
        assert_eq!(with_token(&service), 1, "{hosts:?}: {called:?}");
        assert_eq!(called.json()["error"]["kind"], "auth", "{called:?}");
    }
}

#[tokio::test]
async fn without_policy_it_is_there_and_may_not_be_used() {
    let (served, service) = (Served::new().await, Service::new().await);
    check(
        &define(&served, "crm__find_customer", json!({"contract": service.contract()})).await,
        201,
        "",
    );
    let refused = find(&served, "crm__find_customer").await;
    assert_eq!((refused.status, service.heard().len()), (404, 0), "{refused:?}");
    let why = served.get(&served.operator, "/v1/agents/helper/unavailable").await.json();
    assert_eq!(why[0]["id"], "crm__find_customer");
    assert_eq!(why[0]["why"], "policy");
    // In lists and rules it has its whole name.
    let short = json!({"allow": ["find_customer"]});
    let refused = put(&served, &served.admin, "/v1/admin/policies/p", "", short).await;
    check(&refused, 422, "invalid_configuration");
    let whole = json!({"allow": ["crm__find_customer"], "cedar":
        r#"forbid (principal, action == Haft::Action::"crm__find_customer", resource)
           when { context.arguments.name like "Z*" };"#});
    check(&put(&served, &served.admin, "/v1/admin/policies/p", "", whole).await, 201, "");
    assert_eq!(find(&served, "crm__find_customer").await.status, 200);
    // A change that the rule does not fit is refused, and so is taking the tool away.
    let mut other = service.contract();
    other["parameters"]["properties"] = json!({"who": {"type": "string", "description": "Whom."}});
    other["parameters"]["required"] = json!(["who"]);
    other["redaction"]["allowArgs"] = json!(["who"]);
    other["gateway"]["query"] = json!({"name": "who"});
    let refused = put(&served, &served.admin, FIND, "*", json!({"contract": other})).await;
    check(&refused, 422, "invalid_configuration");
    check(&delete(&served, &served.admin, FIND, "*").await, 422, "invalid_configuration");
    assert_eq!(find(&served, "crm__find_customer").await.status, 200);
}

#[tokio::test]
async fn a_posted_message_uses_the_connection_that_is_named_or_the_only_one_that_is_granted() {
    let service = Service::new().await;
    let mut contract = service.contract();
    contract["connection"] = json!({"provider": "crm", "hosts": ["127.0.0.1"]});
    let served = connected(&["127.0.0.1"]).await;
    check(&define(&served, "crm__find_customer", json!({"contract": contract})).await, 201, "");
    grant(&served).await;
    let message = json!({"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "crm__find_customer", "arguments": "{\"name\": \"x\"}"}}]});
    let with_token = || service.heard().iter().filter(|one| one.contains(TOKEN)).count();
    for (more, ok, used) in [
        ("", true, 1),
        ("&connection=crm-1", true, 2),
        ("&connection=other,crm-1", true, 3),
        ("&connection=other", false, 3),
        ("&dry_run=true", true, 3),
    ] {
        let place = format!("{CALLS}?format=openai{more}");
        let answered = served.post(&served.agent, &place, message.clone()).await;
        let outcome = &answered.json()["outcomes"][0];
        assert_eq!((&outcome["ok"], with_token()), (&json!(ok), used), "{more}: {answered:?}");
    }
}

#[tokio::test]
async fn a_posted_message_uses_the_agents_own_connection_and_no_other() {
    let service = Service::new().await;
    let mut contract = service.contract();
    contract["connection"] = json!({"provider": "crm", "hosts": ["127.0.0.1"]});
    let message = json!({"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "crm__find_customer", "arguments": "{\"name\": \"x\"}"}}]});
    for (own, ok) in [("crm-1", true), ("crm-2", false)] {
        let mut records = Records::of_one("ours", "helper");
        records.agents[0].connections.insert("crm".to_owned(), own.to_owned());
        let served = connected_with(&["127.0.0.1"], Some(records)).await;
        check(&define(&served, "crm__find_customer", json!({"contract": contract})).await, 201, "");
        grant(&served).await;
        let place = format!("{CALLS}?format=openai");
        let answered = served.post(&served.agent, &place, message.clone()).await;
        assert_eq!(answered.json()["outcomes"][0]["ok"], ok, "{own}: {answered:?}");
    }
    assert_eq!(service.heard().iter().filter(|one| one.contains(TOKEN)).count(), 1);
}

#[tokio::test]
async fn whoever_looks_after_an_agent_sees_what_that_has_and_not_what_they_have() {
    let service = Service::new().await;
    let mut contract = service.contract();
    contract["connection"] = json!({"provider": "crm", "hosts": ["127.0.0.1"]});
    let served = connected(&["127.0.0.1"]).await;
    check(&define(&served, "crm__find_customer", json!({"contract": contract})).await, 201, "");
    for granted in [false, true] {
        if granted {
            grant(&served).await;
        }
        for key in [&served.operator, &served.admin, &served.agent] {
            let missing = served.get(key, "/v1/agents/helper/unavailable").await;
            assert_eq!(missing.body.contains("crm__find_customer"), !granted, "{missing:?}");
            let tool = served.get(key, "/v1/tools/find_customer").await.json();
            let seen = (&tool["tier"], &tool["why"]);
            match granted {
                true => assert_eq!(seen, (&json!(3), &json!(null)), "{tool}"),
                false => assert_eq!(seen, (&json!(2), &json!("connection_missing")), "{tool}"),
            }
        }
    }
}
