//! What is counted, who may read it, and that the dashboard asks for nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use haft_runtime::Settings;
use serde_json::{Value, json};

use crate::client::Served;

/// The figures: name with labels, and value.
async fn figures(served: &Served, key: &str) -> BTreeMap<String, f64> {
    let reply = served.get(key, "/metrics").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let lines = reply.body.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

fn sum(figures: &BTreeMap<String, f64>, name: &str) -> f64 {
    figures.iter().filter(|(one, _)| one.starts_with(name)).map(|(_, value)| value).sum()
}

async fn call(served: &Served, tool: &str, key: &str) -> u16 {
    let body = json!({"tool": tool, "arguments": {"text": "x"}, "idempotency_key": key});
    served.post(&served.agent, "/v1/agents/helper/calls", body).await.status
}

#[tokio::test]
async fn what_is_counted_is_what_is_on_record() {
    let served = Served::new().await;
    assert_eq!(call(&served, "echo", "a").await, 200);
    assert_eq!(call(&served, "send", "b").await, 200);
    assert_eq!(call(&served, "send", "b").await, 200, "answered from memory");
    assert_eq!(call(&served, "pay", "c").await, 202);
    assert_eq!(call(&served, "made_up", "d").await, 404);
    let figures = figures(&served, &served.admin).await;
    let labels =
        |tool: &str| format!("tenant_id=\"ours\",agent_id=\"helper\",tool_name=\"{tool}\"");
    for (name, value) in [
        (format!("tool_execution_total{{{},status=\"success\"}}", labels("shop__echo")), 1.0),
        (format!("tool_execution_total{{{},status=\"success\"}}", labels("shop__send")), 1.0),
        (format!("tool_execution_total{{{},status=\"cached\"}}", labels("shop__send")), 1.0),
        (format!("tool_execution_total{{{},status=\"refused\"}}", labels("shop__pay")), 1.0),
        (format!("tool_execution_total{{{},status=\"refused\"}}", labels("unknown")), 1.0),
        ("tool_idempotency_cache_hits_total{tenant_id=\"ours\",tool_name=\"shop__send\"}".into(), 1.0),
        ("tool_side_effect_total{tenant_id=\"ours\",agent_id=\"helper\",policy=\"irreversible\"}".into(), 1.0),
        (
            format!("tool_execution_duration_seconds_count{{{},gateway=\"internal\"}}", labels("shop__send")),
            1.0,
        ),
        (
            "haft_calls_not_done_total{tenant_id=\"ours\",agent_id=\"helper\",stage=\"confirm\",error=\"confirmation_required\"}".into(),
            1.0,
        ),
        ("haft_ready".into(), 1.0),
        ("haft_registry_tools".into(), 3.0),
    ] {
        assert_eq!(figures.get(&name), Some(&value), "{name}: {figures:#?}");
    }
    let records = served.get(&served.operator, "/v1/calls").await.json();
    let records = records.as_array().unwrap().len() as f64;
    assert_eq!(sum(&figures, "tool_execution_total"), records);
    let infinite = figures.iter().filter(|(name, _)| name.contains("le=\"+Inf\""));
    assert_eq!(
        infinite.map(|(_, value)| value).sum::<f64>(),
        sum(&figures, "tool_execution_duration_seconds_count")
    );
    assert!(figures["haft_http_requests_total{code=\"2xx\"}"] >= 4.0);
}

#[tokio::test]
async fn a_tenant_reads_its_own_figures_and_the_home_tenant_all() {
    let served = Served::new().await;
    call(&served, "echo", "a").await;
    let body = json!({"tool": "echo", "arguments": {"text": "x"}});
    served.post(&served.stranger, "/v1/agents/spy/calls", body).await;
    let theirs = served.get(&served.stranger, "/metrics").await.body;
    assert!(theirs.contains("agent_id=\"spy\"") && !theirs.contains("ours"), "{theirs}");
    assert!(!theirs.contains("haft_ready"), "{theirs}");
    let ours = served.get(&served.operator, "/metrics").await.body;
    assert!(ours.contains("agent_id=\"spy\"") && ours.contains("agent_id=\"helper\""));
    assert_eq!(served.get(&served.agent, "/metrics").await.status, 403);
    assert_eq!(served.get("", "/metrics").await.status, 401);
    let wanted = json!({"principal": "service:prometheus", "roles": ["metrics"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await.json();
    let key = made["key"].as_str().unwrap();
    assert_eq!(served.get(key, "/metrics").await.status, 200);
    for closed in ["/v1/calls", "/v1/registry", "/v1/admin/agents", "/v1/agents/helper/tools"] {
        assert_ne!(served.get(key, closed).await.status, 200, "{closed}");
    }
}

#[tokio::test]
async fn beyond_the_bound_everything_is_the_tenants_rest() {
    // The bound of this server is 20.
    let served = Served::new().await;
    for at in 0..30 {
        let path = format!("/v1/admin/agents/a{at}");
        served.send(&served.admin, "PUT", &path, &[], Some(json!({}))).await;
        let body = json!({"tool": "echo", "arguments": {"text": "x"}});
        let calls = format!("/v1/agents/a{at}/calls");
        assert_eq!(served.post(&served.admin, &calls, body).await.status, 200);
    }
    let figures = figures(&served, &served.admin).await;
    let sets = figures.keys().filter(|name| name.starts_with("tool_execution_total")).count();
    assert_eq!(sets, 11, "one tenant takes no more than half");
    let other = "tool_execution_total{tenant_id=\"ours\",agent_id=\"other\",tool_name=\"other\",status=\"other\"}";
    assert_eq!(figures[other], 20.0);
    assert_eq!(sum(&figures, "tool_execution_total"), 30.0, "none is lost");
    let body = json!({"tool": "echo", "arguments": {"text": "x"}});
    served.post(&served.stranger, "/v1/agents/spy/calls", body).await;
    let theirs = served.get(&served.stranger, "/metrics").await.body;
    assert!(theirs.contains("agent_id=\"spy\""), "another tenant has its own: {theirs}");
}

#[tokio::test]
async fn effects_that_wait_for_somebody_are_counted_until_somebody_has_looked() {
    let settings = Settings { default_timeout: Duration::from_millis(50), ..Settings::default() };
    let served = Served::running(|builder| builder.settings(settings)).await;
    let count = async |key: &str, state: &str| {
        let name = format!("haft_effects{{state=\"{state}\"}}");
        figures(&served, key).await.get(&name).copied()
    };
    assert_eq!(count(&served.admin, "unknown").await, Some(0.0));
    let before = figures(&served, &served.admin).await;
    let body = json!({"tool": "send", "arguments": {"text": "wait"}, "idempotency_key": "k"});
    let reply = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    let call = reply.json()["meta"]["recordId"].as_str().unwrap().to_owned();
    let after = figures(&served, &served.admin).await;
    for (name, more) in [("haft_call_errors_total", 1.0), ("haft_calls_not_done_total", 0.0)] {
        assert_eq!(sum(&after, name) - sum(&before, name), more, "{name}: nobody knows");
    }
    for (key, state, expected) in [
        (&served.admin, "unknown", Some(1.0)),
        (&served.admin, "stuck", Some(0.0)),
        (&served.admin, "started", Some(0.0)),
        (&served.stranger, "unknown", Some(0.0)),
        (&served.stranger, "started", None),
    ] {
        assert_eq!(count(key, state).await, expected, "{state}");
    }
    let body = json!({"happened": false, "note": "not in the books"});
    let reply = served.post(&served.operator, &format!("/v1/effects/{call}/settle"), body).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(count(&served.admin, "unknown").await, Some(0.0));
}

/// Every name and label of the dashboard's questions.
fn asked(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            if let Some(question) = object.get("expr").and_then(Value::as_str) {
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let words = question.split(|c| !word(c)).filter(|one| one.contains('_'));
                names.extend(words.map(str::to_owned));
            }
            object.values().for_each(|one| asked(one, names));
        }
        Value::Array(all) => all.iter().for_each(|one| asked(one, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn the_dashboard_asks_for_what_there_is() {
    let served = Served::new().await;
    call(&served, "echo", "a").await;
    call(&served, "send", "b").await;
    call(&served, "send", "b").await;
    call(&served, "pay", "c").await;
    let text = include_str!("../../../../deploy/grafana-dashboard.json");
    let dashboard: Value = serde_json::from_str(text).unwrap();
    let mut names = BTreeSet::new();
    asked(&dashboard, &mut names);
    let seen = served.get(&served.admin, "/metrics").await.body;
    // Words of the language of questions, and of Grafana.
    let own = ["histogram_quantile", "__rate_interval", "label_values"];
    let names: Vec<_> = names.iter().filter(|one| !own.contains(&one.as_str())).collect();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        assert!(
            seen.contains(name.as_str()),
            "the dashboard asks for `{name}`, which is not there"
        );
    }
}
