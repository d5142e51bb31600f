//! Tools and callers to ask about.

use std::sync::Arc;

use haft_core::call::{Principal, Purpose};
use haft_core::contract::Mode;
use haft_core::names::{Namespace, SEPARATOR};
use haft_core::port::Ask;
use haft_core::registry::{Build, Entry, Implementation, Registry, Tool, version_of};
use haft_core::{Caller, Digest, parameters};
use haft_runtime::policy::{Policy, Source, Text};
use serde_json::{Map, Value, json};

pub(crate) const NOW: i64 = 1_767_225_600_000; // 2026-01-01T00:00:00Z

/// A tool that differs from a plain reading one in `changes`.
pub(crate) fn tool(id: &str, changes: Value) -> Tool {
    let (_, own) = id.rsplit_once(SEPARATOR).unwrap();
    let mut contract = json!({
        "toolId": own, "version": "1.0.0", "description": "d", "category": "retrieval",
        "sideEffects": "read_only", "effect": "read_only", "sideEffectPolicy": "pure",
        "idempotent": true, "requiresConfirmation": false, "allowedModes": ["text", "voice"],
        "latencyBudgetMs": 800,
        "parameters": {"type": "object", "additionalProperties": false, "properties": {}},
        "redaction": {"allow": []}, "arguments": {"mode": "lenient", "fraction": "refuse"},
    });
    for (name, value) in changes.as_object().unwrap() {
        contract[name] = value.clone();
    }
    let contract: haft_core::Contract = serde_json::from_value(contract).unwrap();
    let mut tool = Tool {
        id: id.into(),
        digest: Digest::of_bytes(b""),
        parameters: parameters::view(&contract.parameters),
        contract,
        summary: "s".into(),
        doc: "d".into(),
        handler: Implementation::Native,
    };
    tool.digest = Entry::seal(&tool).digest;
    tool
}

pub(crate) fn registry(namespace: &str, mut tools: Vec<Tool>) -> Registry {
    tools.sort_by(|one, other| one.id.cmp(&other.id));
    let ids: Vec<_> = tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let digest = Digest::of_json(&json!(ids));
    Registry {
        version: version_of(&digest),
        digest,
        namespace: Namespace::parse(namespace).unwrap(),
        prompts: Default::default(),
        tools,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "test".into(), commit: None },
    }
}

/// What the tests ask about: `shop` sells, `mcp__mail` needs a connection.
pub(crate) fn shop() -> Registry {
    let object = |properties: Value, required: Value| {
        json!({"type": "object", "additionalProperties": false,
               "properties": properties, "required": required})
    };
    let writes = json!({"category": "action", "sideEffects": "writes", "effect": "state_change",
                        "sideEffectPolicy": "irreversible", "idempotent": false});
    let with = |base: &Value, more: Value| {
        let mut all = base.clone();
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    registry(
        "shop",
        vec![
            tool("shop__find", json!({"tags": ["open"]})),
            tool("shop__secret", json!({})),
            tool(
                "shop__order",
                with(
                    &writes,
                    json!({"parameters": object(
                        json!({
                            "item": {"type": "string"},
                            "amount": {"type": "number"},
                            "count": {"type": "integer", "default": 1},
                            "gift": {"type": "boolean"},
                            "note": {"type": ["string", "null"]},
                            "tags": {"type": "array", "items": {"type": "string"}},
                            "to": object(json!({"city": {"type": "string"}}), json!(["city"])),
                            "any": {},
                        }),
                        json!(["item", "amount"]),
                    )}),
                ),
            ),
            tool(
                "shop__member",
                json!({"availability": {"condition":
                    "context.user.isAuthenticated && context.mode == \"text\""}}),
            ),
            tool(
                "shop__rush",
                json!({
                    "availability": {"condition": "context.arguments.hours < 3"},
                    "parameters": object(json!({"hours": {"type": "integer", "default": 1}}),
                                         json!([])),
                }),
            ),
        ],
    )
}

pub(crate) fn mail() -> Registry {
    let connection = |required| {
        json!({"effect": "external_side_effect", "sideEffects": "writes",
               "sideEffectPolicy": "irreversible", "idempotent": false, "category": "action",
               "connection": {"provider": "mailer", "hosts": ["mail.example.com"],
                              "required": required}})
    };
    registry(
        "mcp__mail",
        vec![
            tool("mcp__mail__send", connection(true)),
            tool("mcp__mail__look", connection(false)),
            tool("mcp__mail__find", json!({})),
        ],
    )
}

/// A question in the making.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) caller: Caller,
    pub(crate) mode: Mode,
    pub(crate) session: Option<String>,
    pub(crate) connection: Option<String>,
    pub(crate) arguments: Option<Value>,
    pub(crate) now_ms: i64,
}

impl Question {
    pub(crate) fn new() -> Self {
        Self {
            caller: Caller::agent("acme", "helper"),
            mode: Mode::Text,
            session: None,
            connection: None,
            arguments: Some(json!({})),
            now_ms: NOW,
        }
    }

    pub(crate) fn actor(mut self, text: &str) -> Self {
        self.caller.actor = Principal::parse(text).unwrap();
        self
    }

    pub(crate) fn subject(mut self, text: &str) -> Self {
        self.caller.subject = Some(Principal::parse(text).unwrap());
        self
    }

    pub(crate) fn tenant(mut self, text: &str) -> Self {
        self.caller.tenant = text.into();
        self
    }

    pub(crate) fn user(mut self, user: Value) -> Self {
        let user: Map<String, Value> = serde_json::from_value(user).unwrap();
        self.caller.user = Arc::new(user);
        self
    }

    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    pub(crate) fn session(mut self, id: &str) -> Self {
        self.session = Some(id.into());
        self
    }

    pub(crate) fn through(mut self, connection: &str) -> Self {
        self.connection = Some(connection.into());
        self
    }

    pub(crate) fn with(mut self, arguments: Value) -> Self {
        self.arguments = Some(arguments);
        self
    }

    pub(crate) fn at(mut self, now_ms: i64) -> Self {
        self.now_ms = now_ms;
        self
    }

    pub(crate) fn about<'a>(&'a self, tool: &'a Tool) -> Ask<'a> {
        Ask {
            caller: &self.caller,
            tool,
            mode: self.mode,
            arguments: self.arguments.as_ref(),
            session: self.session.as_deref(),
            connection: self.connection.as_deref(),
            now_ms: self.now_ms,
            purpose: Purpose::Asked,
        }
    }
}

/// A policy over shop and mail, from the JSON of a [`Source`] and one Cedar file.
pub(crate) fn load(source: Value, cedar: &str) -> Result<Policy, Vec<String>> {
    let mut source: Source = serde_json::from_value(source).unwrap();
    if !cedar.is_empty() {
        source.cedar.push(Text { file: "office.cedar".into(), text: cedar.into() });
    }
    Policy::load(&source, &[&shop(), &mail()])
        .map_err(|problems| problems.iter().map(ToString::to_string).collect())
}
