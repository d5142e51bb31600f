//! Whether answers look as the OpenAPI document says.

use haft_core::validator;
use serde_json::{Value, json};

use crate::client::{Reply, Served};

/// The document, held against a server.
struct Said {
    document: Value,
    served: Served,
    /// The operations whose answers were held against it.
    tried: Vec<String>,
}

impl Said {
    async fn new() -> Self {
        let document = serde_json::to_value(haft_server::openapi()).unwrap();
        Self { document, served: Served::new().await, tried: Vec::new() }
    }

    /// The schema of an answer. `route` is the path as the document has it.
    fn schema(&self, method: &str, route: &str, reply: &Reply) -> Value {
        let kind = reply.header("content-type").unwrap().split(';').next().unwrap();
        let operation = &self.document["paths"][route][method.to_lowercase()];
        let content = &operation["responses"][reply.status.to_string()]["content"];
        let schema = &content[kind]["schema"];
        assert!(schema.is_object(), "{method} {route} {} {kind}: {content}", reply.status);
        let mut whole = json!({"allOf": [schema], "components": self.document["components"]});
        plain(&mut whole);
        whole
    }

    #[track_caller]
    fn check(&mut self, method: &str, route: &str, reply: &Reply) -> Value {
        let schema = self.schema(method, route, reply);
        let body = reply.json();
        let compiled = validator::compile(&schema).unwrap_or_else(|why| panic!("{route}: {why}"));
        assert!(compiled.is_valid(&body), "{method} {route} {}: {body}", reply.status);
        self.tried.push(format!("{method} {route} {}", reply.status));
        body
    }

    /// Sends a request, and gives what came back, as the document says.
    async fn send(
        &mut self,
        (method, route): (&str, &str),
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Value {
        let key = match route.starts_with("/v1/agents/{agent}") {
            true => self.served.agent.clone(),
            false => self.served.operator.clone(),
        };
        let reply = self.served.send(&key, method, path, headers, body).await;
        self.check(method, route, &reply)
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

/// Whoever makes a client from the document is told nothing by a bare `object`.
#[test]
fn no_answer_is_an_object_of_which_nothing_is_said() {
    let document: Value = serde_json::to_value(haft_server::openapi()).unwrap();
    let mut bare = Vec::new();
    for (route, methods) in document["paths"].as_object().unwrap() {
        // These are others' shapes, and what administrators read is described by its own routes.
        if route.contains("/chat/") || route == "/v1/models" || route.starts_with("/v1/admin") {
            continue;
        }
        for (method, operation) in methods.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                for (kind, content) in response["content"].as_object().into_iter().flatten() {
                    let schema = &content["schema"];
                    let item = schema.get("items").unwrap_or(schema);
                    if item == &json!({"type": "object"}) {
                        bare.push(format!("{method} {route} {status} {kind}"));
                    }
                }
            }
        }
    }
    assert_eq!(bare, Vec::<String>::new());
}
