//! The capability, for callers who may read different things.

use std::sync::Arc;

use haft_core::call::{Caller, Principal};
use haft_core::contract::Mode;
use haft_core::port::{Provide as _, Scope, SessionView};
use haft_core::{ErrorKind, ToolError};
use haft_tools::kb::Provider;
use haft_tools::kb::access::{Namespace, Namespaces};
use serde_json::{Value, json};

use crate::rig::Rig;

fn provider(rig: &Rig) -> Provider {
    let one = |id: &str, reader: &str| Namespace {
        id: id.into(),
        readers: vec![reader.into()],
        personal: false,
    };
    let own = Namespace { id: "personal".into(), personal: true, ..Namespace::default() };
    let all = vec![one("studio", "*"), one("board", "user:mara"), own];
    let namespaces = Namespaces::new(all, Some("default".to_owned())).unwrap();
    Provider::new(Arc::new(rig.base()), namespaces)
}

fn rig() -> Rig {
    let rig = Rig::new();
    rig.write(
        "kb/a.jsonl",
        r#"{"id": "doc:s", "title": "Lantern plan", "body": "the plan", "last_updated": "2026-01-01", "url": "https://a.example", "metadata": {"k": 1}}
{"id": "doc:b", "title": "Lantern budget", "namespace": "board"}
{"id": "doc:m", "title": "Lantern diary", "namespace": "personal/mara"}
{"id": "doc:r", "title": "Lantern diary", "namespace": "personal/radu"}
{"id": "doc:o", "title": "Lantern elsewhere", "namespace": "other"}
{"id": "doc:e", "title": "Lantern diary", "namespace": "personal/east/mara"}
"#,
    );
    rig.import();
    rig
}

async fn ask(
    provider: &Provider,
    actor: &str,
    method: &str,
    arguments: Value,
) -> Result<Value, ToolError> {
    ask_in("default", provider, actor, method, arguments).await
}

async fn ask_in(
    tenant: &str,
    provider: &Provider,
    actor: &str,
    method: &str,
    arguments: Value,
) -> Result<Value, ToolError> {
    let mut caller = Caller::agent(tenant, "default");
    caller.actor = Principal::parse(actor).unwrap();
    let scope = Scope {
        call: "c".into(),
        caller,
        mode: Mode::Text,
        session: SessionView::default(),
        connection: None,
        only: None,
        through: Vec::new(),
    };
    provider.provide(&scope, method, arguments).await
}

fn ids(answer: &Value) -> Vec<&str> {
    let mut ids: Vec<&str> = answer["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn callers_see_what_they_may_and_learn_nothing_of_the_rest() {
    let rig = rig();
    let provider = provider(&rig);
    let everything = json!({"ids": ["doc:s", "doc:b", "doc:m", "doc:r", "doc:o"]});
    for (actor, expected) in [
        ("user:mara", vec!["doc:b", "doc:m", "doc:s"]),
        ("user:radu", vec!["doc:r", "doc:s"]),
        ("agent:default", vec!["doc:s"]),
    ] {
        let found = ask(&provider, actor, "search", json!({"query": "lantern"})).await.unwrap();
        assert_eq!(ids(&found), expected, "{actor}");
        assert_eq!(found["total"], expected.len(), "{actor}");
        let read = ask(&provider, actor, "get", everything.clone()).await.unwrap();
        assert_eq!(ids(&read), expected, "{actor}");
    }
    for name in ["board", "other", "personal", "personal/mara"] {
        let asked = json!({"query": "lantern", "namespace": name});
        let error = ask(&provider, "agent:default", "search", asked).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Auth, "{name}");
    }
}

#[tokio::test]
async fn a_namesake_in_another_tenant_is_somebody_else() {
    let rig = rig();
    let provider = provider(&rig);
    let everything = json!({"ids": ["doc:s", "doc:b", "doc:m", "doc:r", "doc:o", "doc:e"]});
    for (tenant, actor, expected) in [
        ("other", "user:mara", &["doc:s"][..]),
        ("other", "user:radu", &["doc:s"]),
        ("other", "agent:default", &["doc:s"]),
        ("east", "user:mara", &["doc:e", "doc:s"]),
        ("default", "user:east/mara", &["doc:s"]),
    ] {
        let query = json!({"query": "lantern"});
        let found = ask_in(tenant, &provider, actor, "search", query).await.unwrap();
        assert_eq!(ids(&found), expected, "{tenant} {actor}");
        assert_eq!(found["total"], expected.len(), "{tenant} {actor}");
        let read = ask_in(tenant, &provider, actor, "get", everything.clone()).await.unwrap();
        assert_eq!(ids(&read), expected, "{tenant} {actor}");
    }
    let asked = json!({"query": "lantern", "namespace": "personal"});
    let found = ask_in("east", &provider, "user:mara", "search", asked).await.unwrap();
    assert_eq!(ids(&found), ["doc:e"]);
}

#[tokio::test]
async fn evidence_has_every_field_that_is_asked_for() {
    let rig = rig();
    let asked = json!({"query": "plan", "namespace": "studio", "topK": 3, "returnFields": ["snippet", "full_text", "metadata", "sources", "url"]});
    let found = ask(&provider(&rig), "user:mara", "search", asked).await.unwrap();
    let mut result = found["results"][0].clone();
    assert!(result["score"].as_f64().is_some_and(|score| score > 0.5 && score <= 1.0), "{result}");
    result.as_object_mut().unwrap().shift_remove("score");
    assert_eq!(
        result,
        json!({"id": "doc:s", "type": "doc", "title": "Lantern plan", "snippet": "the plan", "full_text": "the plan",
            "source_type": "jsonl", "last_updated": "2026-01-01T00:00:00Z", "url": "https://a.example", "metadata": {"k": 1},
            "sources": ["kb/a.jsonl"]})
    );
    let asked = json!({"query": "plan", "returnFields": []});
    let found = ask(&provider(&rig), "user:mara", "search", asked).await.unwrap();
    let names: Vec<&String> = found["results"][0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["id", "type", "title", "score", "source_type", "last_updated"]);
}

#[tokio::test]
async fn what_cannot_be_answered_is_said_without_places() {
    let empty = Rig::new();
    let error =
        ask(&provider(&empty), "user:mara", "search", json!({"query": "x"})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permanent);
    assert!(
        !error.message.contains('/') && error.suggestion.contains("haft kb import"),
        "{error:?}"
    );
    let rig = rig();
    for (arguments, kind) in [
        (json!({"query": "?!"}), ErrorKind::InvalidArguments),
        (
            json!({"query": "x", "filters": {"date_range": {"start": "soon"}}}),
            ErrorKind::InvalidArguments,
        ),
        (json!({"query": "x", "returnFields": ["secrets"]}), ErrorKind::InvalidArguments),
        (json!({"query": "x", "sql": "1"}), ErrorKind::InvalidArguments),
    ] {
        assert_eq!(
            ask(&provider(&rig), "user:mara", "search", arguments).await.unwrap_err().kind,
            kind
        );
    }
    assert_eq!(
        ask(&provider(&rig), "user:mara", "drop", json!({})).await.unwrap_err().kind,
        ErrorKind::Internal
    );
}
