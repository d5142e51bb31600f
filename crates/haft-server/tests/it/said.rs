//! Whether answers look as the OpenAPI document says.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use haft_core::validator;
use serde_json::{Value, json};

use crate::client::{Reply, Served};

/// The document as the server has it, and what was compiled of it.
struct Document {
    whole: Value,
    compiled: Mutex<HashMap<String, Arc<validator::Validator>>>,
}

static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let mut whole = serde_json::to_value(haft_server::openapi()).unwrap();
    plain(&mut whole);
    Document { whole, compiled: Mutex::default() }
});

impl Document {
    /// The route of a path, as the document has it: the one with the fewest parameters.
    fn route(&self, path: &str) -> Option<&str> {
        let path = path.split('?').next().unwrap();
        let fits = |route: &&String| {
            let (mut theirs, mut ours) = (path.split('/'), route.split('/'));
            let all = theirs.by_ref().zip(ours.by_ref()).all(|(a, b)| a == b || b.starts_with('{'));
            all && path.split('/').count() == route.split('/').count()
        };
        let routes = self.whole["paths"].as_object().unwrap().keys().filter(fits);
        routes.min_by_key(|route| route.matches('{').count()).map(String::as_str)
    }

    fn holds(&self, method: &str, route: &str, reply: &Reply) {
        let operation = &self.whole["paths"][route][method.to_lowercase()];
        if operation.is_null() {
            return;
        }
        let content = &operation["responses"][reply.status.to_string()];
        assert!(content.is_object(), "{method} {route}: nothing is said of {reply:?}");
        let Some(kind) = reply.header("content-type") else { return };
        let kind = kind.split(';').next().unwrap();
        let schema = &content["content"][kind]["schema"];
        assert!(schema.is_object(), "{method} {route} {} {kind}: {content}", reply.status);
        if !kind.ends_with("json") {
            return;
        }
        let name = format!("{method} {route} {} {kind}", reply.status);
        let compiled = self.compiled.lock().unwrap().get(&name).cloned();
        let compiled = compiled.unwrap_or_else(|| {
            let whole = json!({"allOf": [schema], "components": self.whole["components"]});
            let made = validator::compile(&whole).unwrap_or_else(|why| panic!("{name}: {why}"));
            let made = Arc::new(made);
            self.compiled.lock().unwrap().insert(name.clone(), made.clone());
            made
        });
        assert!(compiled.is_valid(&reply.json()), "{name}: {}", reply.body);
    }
}

/// Holds an answer against the document, where that speaks of the address.
#[track_caller]
pub(crate) fn hold(method: &str, path: &str, reply: &Reply) {
    if let Some(route) = DOCUMENT.route(path) {
        DOCUMENT.holds(method, route, reply);
    }
}

/// A server, and the operations that were tried on it.
struct Said {
    served: Served,
    tried: Vec<String>,
}

impl Said {
    async fn new() -> Self {
        Self { served: Served::new().await, tried: Vec::new() }
    }

    /// Sends a request, and gives what came back, which is as the document says.
    async fn send(
        &mut self,
        (method, route): (&str, &str),
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Value {
        let key = match route.starts_with("/v1/agents/{agent}") {
            true => self.served.agent.clone(),
            false if route.starts_with("/v1/admin") => self.served.admin.clone(),
            false => self.served.operator.clone(),
        };
        assert_eq!(DOCUMENT.route(path), Some(route), "{path} is another route");
        let reply = self.served.send(&key, method, path, headers, body).await;
        self.tried.push(format!("{method} {route} {}", reply.status));
        match reply.body.is_empty() {
            true => Value::Null,
            false => reply.json(),
        }
    }

    async fn get(&mut self, route: &str, path: &str) -> Value {
        self.send(("GET", route), path, &[], None).await
    }

    async fn post(&mut self, route: &str, path: &str, body: Value) -> Value {
        self.send(("POST", route), path, &[], Some(body)).await
    }
}

/// Takes the widths of numbers out, which JSON Schema does not know.
fn plain(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.shift_remove("format");
            members.values_mut().for_each(plain);
        }
        Value::Array(all) => all.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const CALLS: &str = "/v1/agents/{agent}/calls";
const OURS: &str = "/v1/agents/helper/calls";

#[tokio::test]
async fn calls_are_answered_as_the_document_says() {
    let mut said = Said::new().await;
    let echo = json!({"tool": "echo", "arguments": {"text": "a"}});
    let keyed = [("Idempotency-Key", "k")];
    said.post(CALLS, OURS, echo.clone()).await;
    said.post(CALLS, OURS, json!({"tool": "echo", "arguments": {"text": 7}})).await;
    said.post(CALLS, OURS, json!({"tool": "none"})).await;
    said.post(CALLS, OURS, json!({"tool": "send", "arguments": {"text": "a"}})).await;
    said.post(CALLS, OURS, json!({"tool": "echo", "arguments": {"colour": 1}})).await;
    said.post(CALLS, OURS, json!({"colour": "red"})).await;
    let none = json!({"tool": "echo"});
    said.post(CALLS, "/v1/agents/nobody/calls", none).await;
    let pay = json!({"tool": "pay", "arguments": {"text": "rent"}});
    said.send(("POST", CALLS), OURS, &keyed, Some(pay)).await;
    let send = json!({"tool": "send", "arguments": {"text": "a"}});
    said.send(("POST", CALLS), OURS, &[("Idempotency-Key", "s")], Some(send)).await;
    let other = json!({"tool": "send", "arguments": {"text": "b"}});
    said.send(("POST", CALLS), OURS, &[("Idempotency-Key", "s")], Some(other)).await;
    said.post(CALLS, OURS, json!({"calls": [echo, {"tool": "none"}, echo]})).await;
    said.post(CALLS, OURS, json!({"calls": vec![echo.clone(); 11]})).await;
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "shop__echo", "arguments": "{}"}}]});
    said.post(CALLS, "/v1/agents/helper/calls?format=openai", message).await;
    let later = [("Prefer", "respond-async")];
    let accepted = said.send(("POST", CALLS), OURS, &later, Some(echo)).await;
    let place = format!("{OURS}/{}", accepted["id"].as_str().unwrap());
    loop {
        let answer = said.get("/v1/agents/{agent}/calls/{call}", &place).await;
        if answer["status"] != "running" {
            break;
        }
    }
    for status in [200, 202, 400, 404, 409, 422] {
        let tried = format!("POST {CALLS} {status}");
        assert!(said.tried.contains(&tried), "{tried} is not among {:?}", said.tried);
    }
}

#[tokio::test]
async fn sessions_are_answered_as_the_document_says() {
    let mut said = Said::new().await;
    let sessions = "/v1/agents/{agent}/sessions";
    let begun = said.post(sessions, "/v1/agents/helper/sessions", json!({"mode": "voice"})).await;
    let place = format!("/v1/agents/helper/sessions/{}", begun["id"].as_str().unwrap());
    let call =
        json!({"tool": "send", "arguments": {"text": "a"}, "id": "c", "session": begun["id"]});
    said.post(CALLS, OURS, call).await;
    let (messages, signals) = (format!("{place}/messages"), format!("{place}/signals"));
    let one = "/v1/agents/{agent}/sessions/{session}";
    said.post(&format!("{one}/messages"), &messages, json!({"message": {"text": "hi"}})).await;
    said.get(one, &place).await;
    said.post(&format!("{one}/signals"), &signals, json!({"signal": "turn_complete"})).await;
    said.post(&format!("{one}/messages"), &messages, json!({"message": {"text": "again"}})).await;
    said.get("/v1/sessions", "/v1/sessions").await;
    said.send(("DELETE", one), &place, &[], None).await;
}

#[tokio::test]
async fn what_is_on_record_is_answered_as_the_document_says() {
    let mut said = Said::new().await;
    for (tool, key) in [("echo", "1"), ("send", "2"), ("pay", "3"), ("none", "4")] {
        let body = json!({"tool": tool, "arguments": {"text": "a"}});
        said.send(("POST", CALLS), OURS, &[("Idempotency-Key", key)], Some(body)).await;
    }
    let asked = said.get("/v1/confirmations", "/v1/confirmations").await;
    let place = format!("/v1/confirmations/{}", asked[0]["id"].as_str().unwrap());
    said.get("/v1/confirmations/{id}", &place).await;
    said.post("/v1/confirmations/{id}", &place, json!({"approve": true})).await;
    let effects = said.get("/v1/effects", "/v1/effects").await;
    let undo = json!({"call": effects[0]["call"]});
    said.post("/v1/effects/undo", "/v1/effects/undo", undo).await;
    for route in ["/v1/calls", "/v1/stats", "/v1/series", "/v1/events", "/v1/audit"] {
        let list = said.get(route, route).await;
        assert!(!list.as_array().unwrap().is_empty(), "{route}: nothing was tried");
    }
    let check = "/v1/audit/verify";
    said.send(("POST", check), check, &[], None).await;
    said.get("/v1/tools", "/v1/tools").await;
    said.get("/v1/tools/{tool}", "/v1/tools/echo").await;
    said.get("/v1/agents/{agent}/tools/{tool}", "/v1/agents/helper/tools/echo").await;
    said.get("/v1/registry", "/v1/registry").await;
}

#[tokio::test]
async fn what_is_configured_is_answered_as_the_document_says() {
    let mut said = Said::new().await;
    let any = [("If-Match", "*")];
    let things = [
        ("agents", "night", json!({"tools": ["echo"], "modes": {"voice": ["echo"]}})),
        ("definitions", "shop__echo", json!({"version": "^1", "enabled": true})),
        (
            "delegations",
            "d",
            json!({"actor": "agent:helper", "subject": "user:ann",
            "tools": ["echo"], "until": "2030-01-01T00:00:00Z"}),
        ),
        ("policies", "p", json!({"deny": ["pay"], "cedar": ""})),
        ("tenants", "third", json!({"mcp": "off", "tokens": {"most": 9}})),
    ];
    for (kind, id, body) in things {
        let (all, one) = (format!("/v1/admin/{kind}"), format!("/v1/admin/{kind}/{{id}}"));
        let path = format!("/v1/admin/{kind}/{id}");
        said.send(("PUT", &one), &path, &[], Some(body.clone())).await;
        said.send(("PUT", &one), &path, &any, Some(body)).await;
        said.send(("PUT", &one), &path, &any, Some(json!({"colour": "red"}))).await;
        let listed = said.get(&all, &all).await;
        assert!(!listed["items"].as_array().unwrap().is_empty(), "{kind}");
        said.get(&one, &path).await;
        if kind == "policies" {
            said.get(&format!("{one}/versions"), &format!("{path}/versions")).await;
        }
        if kind == "tenants" {
            let first = json!({"principal": "user:zoe", "roles": ["administrator"]});
            let made = said.post(&format!("{one}/keys"), &format!("{path}/keys"), first).await;
            assert!(made["key"].is_string(), "{made}");
            continue;
        }
        said.send(("DELETE", &one), &path, &any, None).await;
    }
    said.get("/v1/admin/agents/{id}", "/v1/admin/agents/helper").await;
    said.send(("DELETE", "/v1/admin/tenants/{id}"), "/v1/admin/tenants/third", &any, None).await;
    tools_and_keys(&mut said).await;
    let document = &DOCUMENT.whole["paths"];
    let operations = document.as_object().unwrap().iter().flat_map(|(route, methods)| {
        methods
            .as_object()
            .unwrap()
            .keys()
            .map(move |one| format!("{} {route} ", one.to_uppercase()))
    });
    let missed: Vec<_> = operations
        .filter(|one| one.contains("/v1/admin"))
        .filter(|one| !said.tried.iter().any(|tried| tried.starts_with(&format!("{one}2"))))
        .filter(|one| !one.starts_with("DELETE /v1/admin/tenants/"))
        .collect();
    assert_eq!(missed, Vec::<String>::new(), "of {:?}", said.tried);
}

/// What is said of single tools, what was wished for, and keys.
async fn tools_and_keys(said: &mut Said) {
    let any = [("If-Match", "*")];
    let all = "/v1/admin/agents/{agent}/activations";
    let (one, path) = (format!("{all}/{{tool}}"), "/v1/admin/agents/helper/activations/echo");
    let body = json!({"enabled": true, "approve": true, "overrides": {"max_runtime_ms": 90_000,
        "allowed_modes": ["text"], "rate": {"calls": 1, "window_ms": 2}, "arguments": "strict"}});
    said.send(("PUT", &one), path, &[], Some(body)).await;
    said.get(&one, path).await;
    said.get(all, "/v1/admin/agents/helper/activations").await;
    said.send(("DELETE", &one), path, &any, None).await;
    let switch = "/v1/admin/agents/{agent}/tools/{tool}";
    let off = json!({"enabled": false});
    said.post(switch, "/v1/admin/agents/helper/tools/echo", off).await;
    said.post(CALLS, OURS, json!({"tool": "echo", "arguments": {"text": "a"}})).await;
    let wishes = said.get("/v1/admin/suggestions", "/v1/admin/suggestions").await;
    let wish = json!({"agent": wishes[0]["agent"], "tool": wishes[0]["tool"]});
    let accept = "/v1/admin/suggestions/accept";
    said.post(accept, accept, wish).await;
    let keys = "/v1/admin/keys";
    let new = json!({"principal": "user:eve", "roles": ["operator"], "agents": ["helper"],
        "name": "eve's", "expires": "2030-01-01T00:00:00Z"});
    let made = said.post(keys, keys, new).await;
    let path = format!("{keys}/{}", made["entry"]["id"].as_str().unwrap());
    said.get(&format!("{keys}/{{id}}"), &path).await;
    said.send(("DELETE", &format!("{keys}/{{id}}")), &path, &[], None).await;
    said.get(keys, keys).await;
}

/// Whoever makes a client from the document is told nothing by a bare `object`.
#[test]
fn nothing_is_an_object_of_which_nothing_is_said() {
    fn bare(schema: &Value, place: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(members) => {
                let says = ["properties", "additionalProperties", "allOf", "oneOf"];
                if schema["type"] == "object" && !says.iter().any(|one| members.contains_key(*one))
                {
                    found.push(place.to_owned());
                }
                members.iter().for_each(|(name, one)| bare(one, &format!("{place}/{name}"), found));
            }
            Value::Array(all) => {
                all.iter().for_each(|one| bare(one, &format!("{place}/[]"), found));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    bare(&DOCUMENT.whole, "", &mut found);
    assert_eq!(found, Vec::<String>::new());
}
