//! What `haft.toml` declares: listed, in force, and changed nowhere else.

use std::sync::Arc;

use haft_agent::{Agent, Settings};
use haft_core::Principal;
use haft_core::connection::{AuthKind, Origin};
use haft_core::secret::SecretText;
use haft_exec::Broker;
use haft_exec::http::{self, Client};
use haft_runtime::config::PolicyText;
use haft_runtime::connections::{Proof, Wanted};
use haft_runtime::policy::{Grant, Instant};
use haft_runtime::runtime::Builder;
use haft_runtime::toolbox::{McpAccess, Records, TenantPolicy};
use haft_server::who::facts::Facts;
use haft_server::who::{Key, Keys, Role, mint};
use haft_store::vault::{Declared, Source};
use haft_store::{Accounts, Memory};
use serde_json::{Value, json};

use super::{check, delete, echo, put};
use crate::client::Served;

fn records() -> Records {
    let mut records = Records::of_one("ours", "helper");
    let theirs = Records::of_one("theirs", "spy");
    records.tenants.extend(theirs.tenants);
    records.agents.extend(theirs.agents);
    records
}

/// A server on which `ours` may not echo, by a policy that is declared.
async fn quiet() -> Served {
    let text = PolicyText { deny: vec!["shop__echo".into()], ..PolicyText::default() };
    let policy = TenantPolicy { tenant: "ours".into(), id: "quiet".into(), text };
    let mut records = records();
    records.policies.push(policy);
    Served::running(|builder| builder.records(records)).await
}

#[tokio::test]
async fn a_declared_policy_holds_for_its_tenant_and_is_read_only() {
    let served = quiet().await;
    let (key, path) = (&served.admin, "/v1/admin/policies/quiet");
    assert_eq!(echo(&served, key, "helper").await.status, 404, "from the first call on");
    assert_eq!(echo(&served, &served.stranger, "spy").await.status, 200, "others do not notice");
    let shown = served.get(key, path).await.json();
    assert_eq!(
        (&shown["source"], &shown["value"]["deny"]),
        (&json!("declared"), &json!(["shop__echo"]))
    );
    check(&put(&served, key, path, "", json!({})).await, 409, "declared");
    check(&delete(&served, key, path, "*").await, 409, "declared");
    check(&served.get(&served.stranger, path).await, 404, "not_found");
    // What is stored holds beside it.
    let other = json!({"deny": ["shop__send"]});
    let versions = served.get(key, &format!("{path}/versions")).await;
    assert_eq!(versions.json(), json!([served.get(key, path).await.json()]), "{versions:?}");
    check(&put(&served, key, "/v1/admin/policies/more", "", other).await, 201, "");
    assert_eq!(echo(&served, key, "helper").await.status, 404);
}

#[tokio::test]
async fn the_common_rules_are_listed_for_those_who_run_the_server() {
    let served = quiet().await;
    let ids = |reply: Value| -> Vec<String> {
        let items = reply["items"].as_array().unwrap().clone();
        items.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let listed = served.get(&served.admin, "/v1/admin/policies").await.json();
    assert_eq!(ids(listed.clone()), ["[policy]", "quiet"]);
    assert_eq!(listed["items"][0]["value"]["allow"], json!(["shop__*"]));
    let theirs = served.get(&served.stranger, "/v1/admin/policies").await.json();
    assert!(ids(theirs).is_empty());
    let named = put(&served, &served.admin, "/v1/admin/policies/%5Bpolicy%5D", "", json!({})).await;
    check(&named, 422, "invalid_configuration");
}

/// A server with a declared connection and a declared grant of one that is stored.
async fn connected() -> Served {
    let wanted = Wanted {
        id: "fixed".into(),
        provider: "crm".into(),
        kind: AuthKind::Bearer,
        hosts: Vec::new(),
        name: None,
        user: None,
        token_url: None,
        client_id: None,
        proof: Proof::Header,
        scopes: Vec::new(),
        audience: None,
    };
    let account = wanted.account("ours", Origin::Operator);
    let source: Source = Arc::new(move || {
        let secret = SecretText::new("declared-5e1f0b7a9c3d");
        wanted.credentials(Some(secret)).map_err(|why| why.to_string())
    });
    let accounts = Declared::over(Arc::new(Accounts::default()), vec![(account, source)]);
    let accounts: Arc<Declared> = Arc::new(accounts);
    let client = Arc::new(Client::new(http::Settings::default()));
    let broker = Arc::new(Broker::new(accounts.clone(), client));
    let mut records = records();
    records.grants.push(Grant {
        connection: "kept".into(),
        provider: "crm".into(),
        tenant: "ours".into(),
        principals: vec!["agent:helper".into()],
        tools: vec!["shop__*".into()],
    });
    let with =
        move |builder: Builder| builder.records(records).connections(accounts).broker(broker);
    Served::build(Arc::new(Memory::new()), haft_server::Limits::default(), with, |door| door).await
}

#[tokio::test]
async fn a_declared_connection_is_listed_tested_and_read_only() {
    let served = connected().await;
    let (key, path) = (&served.admin, "/v1/connections/fixed");
    let shown = served.get(key, path).await;
    assert_eq!(shown.json()["source"], "declared");
    assert!(!shown.body.contains("5e1f0b7a9c3d"), "{shown:?}");
    let tested = served.post(key, &format!("{path}/test"), json!({})).await.json();
    assert_eq!(tested["result"], "found", "{tested}");
    let grants = format!("{path}/grants");
    let to = json!({"principals": ["*"], "tools": ["*"]});
    check(&served.post(key, &grants, to).await, 409, "declared");
    let secret = Some(json!({"secret": "other-secret-71"}));
    check(&served.send(key, "PUT", &format!("{path}/secret"), &[], secret).await, 409, "declared");
    check(&delete(&served, key, path, "").await, 409, "declared");
    let same =
        json!({"id": "fixed", "provider": "p", "kind": "bearer", "secret": "other-secret-71"});
    check(&served.post(key, "/v1/connections", same).await, 409, "declared");
    check(&served.get(&served.stranger, path).await, 404, "not_found");
}

#[tokio::test]
async fn a_declared_grant_of_a_stored_connection_is_listed_and_stays() {
    let served = connected().await;
    let key = &served.admin;
    let body =
        json!({"id": "kept", "provider": "crm", "kind": "bearer", "secret": "kept-secret-71"});
    check(&served.post(key, "/v1/connections", body).await, 201, "");
    let grants = "/v1/connections/kept/grants";
    let listed = served.get(key, grants).await.json();
    let declared =
        json!({"source": "declared", "principals": ["agent:helper"], "tools": ["shop__*"]});
    assert_eq!(listed["items"], json!([declared]));
    check(&delete(&served, key, &format!("{grants}/agent:helper"), "").await, 409, "declared");
    let to = json!({"principals": ["agent:helper"], "tools": ["shop__echo"]});
    check(&served.post(key, grants, to).await, 201, "");
    let revoked = delete(&served, key, &format!("{grants}/agent:helper"), "").await.json();
    assert_eq!(revoked, json!({"revoked": 1, "declared": 1}), "one of them still holds");
}

#[tokio::test]
async fn a_declared_key_has_a_name_and_an_end() {
    let key = |id: &str, expires: &str| {
        let (text, sha256) = mint(id, &[7; 32]);
        let expires: Instant = serde_json::from_value(json!(expires)).unwrap();
        let key = Key {
            id: id.into(),
            sha256,
            tenant: "ours".into(),
            principal: Principal::user("ada"),
            subject: None,
            roles: vec![Role::Administrator],
            agents: None,
            name: Some("for the night".into()),
            expires: Some(expires),
            user: Facts::default(),
        };
        (text, key)
    };
    let (over, a) = key("over", "2001-01-01T00:00:00Z");
    let (good, b) = key("good", "2999-01-01T00:00:00Z");
    let served = Served::made(|mut door| {
        door.keys = Keys::load(&[a, b]).unwrap();
        door
    })
    .await;
    check(&served.get(&over, "/v1/admin/keys").await, 401, "unauthenticated");
    let listed = served.get(&good, "/v1/admin/keys").await.json();
    assert_eq!(listed["items"][0]["value"]["name"], "for the night", "{listed}");
    assert_eq!(listed["items"][0]["value"]["expires_at_ms"], 32_472_144_000_000_i64);
}

#[tokio::test]
async fn a_stored_tenant_says_how_mcp_may_use_it_and_who_administers_it() {
    let served = Served::new().await;
    let path = "/v1/admin/tenants/night";
    let said = json!({"mcp": "discovery", "administrators": ["user:nora"]});
    check(&put(&served, &served.admin, path, "", said).await, 201, "");
    let runtime = &served.door.runtime;
    assert_eq!(runtime.mcp_access("night"), McpAccess::Discovery);
    let night = runtime.configured();
    let night = night.records.tenants.iter().find(|one| one.id == "night").unwrap();
    assert_eq!(night.administrators, [Principal::user("nora")]);
    check(&put(&served, &served.admin, path, "\"v1\"", json!({"mcp": "off"})).await, 200, "");
    assert_eq!(runtime.mcp_access("night"), McpAccess::Off);
    let odd = put(&served, &served.admin, path, "\"v2\"", json!({"mcp": "some"})).await;
    check(&odd, 422, "invalid_configuration");
}

#[tokio::test]
async fn a_stored_agent_has_a_description_and_a_model_of_a_provider_that_is_known() {
    let served = Served::new().await;
    let (key, path) = (&served.admin, "/v1/admin/agents/night");
    let model = |provider: &str| {
        json!({"description": "At night.",
               "model": {"provider": provider, "name": "m", "connection": "key"}})
    };
    let refused = put(&served, key, path, "", model("gpt")).await;
    check(&refused, 422, "invalid_configuration");
    assert!(refused.body.contains("is not a provider"), "{refused:?}");
    let mut unnamed = model("openai");
    unnamed["model"]["connection"] = json!(" ");
    let refused = put(&served, key, path, "", unnamed).await;
    assert!(refused.status == 422 && refused.body.contains("`model.connection`"), "{refused:?}");
    // An address is not the tenant's to choose.
    let mut with_url = model("openai");
    with_url["model"]["url"] = json!("http://169.254.169.254/");
    check(&put(&served, key, path, "", with_url).await, 422, "invalid_configuration");
    check(&put(&served, key, path, "", model("openai")).await, 201, "");
    let configured = served.door.runtime.configured();
    let night = configured.records.agents.iter().find(|one| one.id == "night").unwrap();
    assert_eq!(night.description.as_deref(), Some("At night."));
    assert_eq!(night.model.as_ref().map(|model| model.connection.as_str()), Some("key"));
}

#[tokio::test]
async fn a_model_is_that_of_the_tenants_agent_and_not_of_a_namesake() {
    let served = Served::made(|door| {
        let runtime = door.runtime.clone();
        let endpoint = haft_agent::http::Endpoint {
            provider: "openai".parse().unwrap(),
            url: Some("http://127.0.0.1:1".to_owned()),
            model: "m".to_owned(),
            key: None,
        };
        let model = Arc::new(haft_agent::http::Http::new(endpoint).unwrap());
        let agent = Agent::new(runtime, model, Settings::default());
        door.with_models(Arc::new(move |tenant: &str, agent_name: &str| {
            match (tenant, agent_name) {
                ("ours", "helper") => Ok(agent.clone()),
                _ => Err(format!("`{tenant}` has none")),
            }
        }))
    })
    .await;
    check(&put(&served, &served.stranger, "/v1/admin/agents/helper", "", json!({})).await, 201, "");
    let ours = served.get(&served.admin, "/v1/models").await.json();
    assert_eq!(ours["data"][0]["id"], "helper");
    let theirs = served.get(&served.stranger, "/v1/models").await.json();
    assert_eq!(theirs["data"], json!([]));
    let body = json!({"model": "helper", "messages": [{"role": "user", "content": "hi"}]});
    let refused = served.post(&served.stranger, "/v1/chat/completions", body).await;
    assert!(refused.status == 404 && refused.body.contains("`theirs` has none"), "{refused:?}");
}

/// Declared delegations have no ids of their own: those that they are listed under are theirs.
#[tokio::test]
async fn nothing_stored_hides_behind_a_declared_delegation() {
    let served = Served::new().await;
    let key = &served.admin;
    let shown = served.get(key, "/v1/admin/delegations/declared-1").await.json();
    assert_eq!(shown["source"], "declared", "{shown}");
    let said = json!({"actor": "agent:helper", "subject": "user:eve", "tools": ["echo"],
                      "until": "2999-01-01T00:00:00Z"});
    let path = |id: &str| format!("/v1/admin/delegations/{id}");
    for tag in ["", "*", "\"v1\""] {
        check(&put(&served, key, &path("declared-1"), tag, said.clone()).await, 409, "declared");
        check(&delete(&served, key, &path("declared-1"), tag).await, 409, "declared");
    }
    // One may be declared tomorrow.
    let refused = put(&served, key, &path("declared-2"), "", said.clone()).await;
    check(&refused, 422, "invalid_configuration");
    assert!(refused.body.contains("choose another"), "{refused:?}");
    check(&put(&served, key, &path("declared"), "", said).await, 201, "");
}
