//! A service on this machine that remembers what it was asked.

use std::sync::{Arc, Mutex};

use haft_core::ToolError;
use haft_core::connection::{Account, AuthKind, Lease, Origin, Presented};
use haft_core::port::{Boxed, Broker, Want};
use haft_core::secret::SecretText;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// What proves who the tenant is.
pub(crate) const TOKEN: &str = "tok-4f1b7c9e2d8a6053";

/// Answers every request with its own line, and keeps all of it.
pub(crate) struct Service {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Service {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<String>>> = Arc::default();
        let all = heard.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = vec![0; 16 << 10];
                let size = stream.read(&mut bytes).await.unwrap_or(0);
                let text = String::from_utf8_lossy(&bytes[..size]).into_owned();
                let line = text.lines().next().unwrap_or_default().to_owned();
                all.lock().unwrap().push(text);
                // What came of it nobody hears.
                if line.contains(" /lose") {
                    continue;
                }
                let (status, body) = answer(&line);
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { port, heard }
    }

    /// Every request, whole.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    /// A tool that asks it something.
    pub(crate) fn contract(&self) -> Value {
        json!({
            "toolId": "find_customer", "version": "1.0.0",
            "description": "Find a customer of ours by name.",
            "category": "retrieval", "sideEffects": "read_only", "idempotent": true,
            "requiresConfirmation": false, "allowedModes": ["text"], "latencyBudgetMs": 2000,
            "parameters": {
                "type": "object", "additionalProperties": false, "required": ["name"],
                "properties": {"name": {"type": "string", "description": "Whom to look for."}}},
            "output": {
                "type": "object", "additionalProperties": false,
                "properties": {"found": {"type": "string", "description": "What was asked."}}},
            "redaction": {"allow": ["found"], "allowArgs": ["name"]},
            "gateway": {
                "kind": "http", "method": "GET", "query": {"name": "name"},
                "url": format!("http://127.0.0.1:{}/customers", self.port)},
        })
    }

    /// A tool that changes something there, is asked about first, and can be undone.
    pub(crate) fn writing(&self, own: &str, more: &Value) -> Value {
        let mut contract = self.contract();
        let changes = json!({
            "toolId": own, "category": "action", "sideEffects": "writes", "idempotent": false,
            "requiresConfirmation": true,
            "gateway": {
                "kind": "http", "method": "POST", "body": {"name": "name"},
                "url": format!("http://127.0.0.1:{}/{own}", self.port)},
        });
        for (name, value) in changes.as_object().unwrap().iter().chain(more.as_object().unwrap()) {
            contract[name] = value.clone();
        }
        contract
    }
}

/// What is said to a request: tokens, a refusal, or its own line.
fn answer(line: &str) -> (&'static str, String) {
    match line.split(' ').nth(1) {
        Some("/token") => {
            let body = json!({ "access_token": "fresh-7c1d-token", "expires_in": 3600 });
            ("200 OK", body.to_string())
        }
        Some("/refuse") => ("401 Unauthorized", "{}".to_owned()),
        Some("/lost?name=x") => ("200 OK", json!({ "happened": true }).to_string()),
        Some("/odd") => ("418 Teapot", "{}".to_owned()),
        Some(_) | None => ("200 OK", json!({ "found": line }).to_string()),
    }
}

/// Has one account, which lists these hosts.
pub(crate) struct Accounts(pub(crate) Vec<String>);

impl Broker for Accounts {
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        let account = Account {
            tenant: want.tenant.clone(),
            id: want.connection.clone(),
            provider: want.provider.clone(),
            kind: AuthKind::Bearer,
            hosts: self.0.clone(),
            origin: Origin::Operator,
            revision: 1,
            made_ms: 0,
            changed_ms: 0,
        };
        let value = SecretText::new(format!("Bearer {TOKEN}"));
        let presented = Presented::Header { name: "authorization".into(), value };
        let secrets = vec![SecretText::new(TOKEN)];
        Box::pin(async move { Ok(Lease { account, presented, secrets }) })
    }

    fn refused<'a>(&'a self, _: &'a Want, _: &'a Lease) -> Boxed<'a, bool> {
        Box::pin(async { false })
    }
}
