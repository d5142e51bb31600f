//! The one tool, the one call and the one answer that every subject is given.

use std::path::Path;
use std::sync::Arc;

use haft_core::contract::SideEffectPolicy;
use haft_core::names::Namespace;
use haft_core::port::Store;
use haft_core::registry::{Build, Implementation, Tool};
use haft_core::{Call, Caller, Digest, Registry, ToolError};
use haft_exec::Native;
use haft_runtime::Runtime;
use haft_runtime::runtime::Builder;
use haft_runtime::policy::{Policy, Rules, Source};
use serde_json::{Value, json};

pub struct Fixture {
    pub schema: Value,
    pub arguments: String,
    pub answer: String,
}

/// What the tool gives back.
#[derive(Clone, Copy, PartialEq)]
pub enum Answer {
    /// The text that the others' functions return.
    Text,
    /// The same as JSON, which is checked against an output schema and of which UI sees a part.
    Checked,
}

impl Fixture {
    pub fn read(folder: &Path) -> Self {
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        Self {
            schema: serde_json::from_str(&read("schema.json")).unwrap(),
            arguments: read("args.json"),
            answer: read("result.json"),
        }
    }

    pub fn call(&self, caller: &Caller) -> Call {
        Call::new(caller.clone(), "kb_search", self.arguments.as_str())
    }

    fn tool(&self, name: &str, class: SideEffectPolicy, answer: Answer) -> Tool {
        let pure = class == SideEffectPolicy::Pure;
        let mut contract = json!({
            "toolId": name, "version": "1.0.0", "description": "searches the knowledge base",
            "category": "retrieval", "idempotent": pure, "requiresConfirmation": false,
            "sideEffects": if pure { "read_only" } else { "writes" },
            "effect": if pure { "read_only" } else { "external_side_effect" },
            "sideEffectPolicy": class, "allowedModes": ["text"], "latencyBudgetMs": 1000,
            "parameters": self.schema, "capabilities": [], "limits": {},
            "arguments": { "mode": "lenient", "fraction": "refuse" },
            "redaction": {
                "allow": ["hits[].title", "total"],
                "allowArgs": [
                    "namespace", "filters.date_range", "top_k", "return_fields", "include_snippets",
                ],
            },
        });
        if answer == Answer::Checked {
            let text = json!({ "type": "string" });
            let hit = json!({
                "type": "object", "additionalProperties": false, "required": ["title", "url"],
                "properties": { "title": text, "url": text, "snippet": text },
            });
            contract["output"] = json!({
                "type": "object", "additionalProperties": false, "required": ["hits", "total"],
                "properties": {
                    "hits": { "type": "array", "items": hit },
                    "total": { "type": "integer" },
                },
            });
        }
        Tool {
            id: format!("bench__{name}"),
            digest: Digest::of_bytes(name.as_bytes()),
            contract: serde_json::from_value(contract).unwrap(),
            parameters: Vec::new(),
            summary: String::new(),
            doc: String::new(),
            handler: Implementation::Native,
        }
    }

    /// A runtime in which `kb_search` is one of so many tools.
    pub fn runtime(
        &self,
        tools: usize,
        class: SideEffectPolicy,
        answer: Answer,
        store: Arc<dyn Store>,
    ) -> Runtime {
        self.builder(tools, class, answer, store).build().unwrap()
    }

    /// The same, for whoever has more to add.
    pub fn builder(
        &self,
        tools: usize,
        class: SideEffectPolicy,
        answer: Answer,
        store: Arc<dyn Store>,
    ) -> Builder {
        let digest = Digest::of_bytes(b"bench");
        let others = (1..tools).map(|at| self.tool(&format!("other_{at:05}"), class, answer));
        let tools = std::iter::once(self.tool("kb_search", class, answer)).chain(others);
        let registry = Registry {
            version: haft_core::registry::version_of(&digest),
            digest,
            namespace: Namespace::parse("bench").unwrap(),
            prompts: Default::default(),
            tools: tools.collect(),
            build: Build { at: "2026-01-01T00:00:00Z".into(), by: "bench".into(), commit: None },
        };
        let given = match answer {
            Answer::Text => Value::String(self.answer.clone()),
            Answer::Checked => serde_json::from_str(&self.answer).unwrap(),
        };
        let native = Native::new().raw("bench__kb_search", move |_, _| {
            let given = given.clone();
            async move { Ok::<_, ToolError>(given) }
        });
        let rules =
            Rules { allow: vec!["bench__*".into()], approve: Vec::new(), ..Rules::default() };
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        Runtime::builder(registry, store, Arc::new(native))
            .policy(Arc::new(policy))
            .rules(rules)
    }
}
