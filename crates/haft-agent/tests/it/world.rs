//! A runtime whose tools count what they did, an agent on a scripted provider, and what it told.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::http::{Endpoint, Http, Provider as Api};
use haft_agent::{Agent, Cancel, Chat, Done, Event, Limits, Patience, Settings};
use haft_core::names::Namespace;
use haft_core::port::{Boxed, Ended, Execute, Job};
use haft_core::registry::{Build, Entry, Implementation, Registry, Tool, version_of};
use haft_core::{Caller, Digest, parameters};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_store::Memory;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::provider::{Provider, Reply};

/// A tool has begun; it may go on.
type Gate = (Arc<Notify>, Arc<Notify>);

/// Counts what was done; a gated tool says that it has begun and waits to be let go.
#[derive(Default)]
pub(crate) struct Hands {
    done: Mutex<Vec<(String, Value)>>,
    gates: Mutex<HashMap<String, Gate>>,
    running: Mutex<(usize, usize)>,
}

impl Hands {
    /// How often a tool really acted.
    pub(crate) fn acts(&self, tool: &str) -> usize {
        let id = format!("shop__{tool}");
        self.done.lock().iter().filter(|(one, _)| *one == id).count()
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.done
            .lock()
            .iter()
            .map(|(tool, arguments)| {
                format!("{tool} {}", arguments["item"].as_str().unwrap_or("?"))
            })
            .collect()
    }

    /// The most that ran at once.
    pub(crate) fn most(&self) -> usize {
        self.running.lock().1
    }

    pub(crate) fn gate(&self, tool: &str) -> Gate {
        let gate = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        self.gates.lock().insert(format!("shop__{tool}"), gate.clone());
        gate
    }

    async fn run(&self, job: Job) -> Ended {
        {
            let mut running = self.running.lock();
            running.0 += 1;
            running.1 = running.1.max(running.0);
        }
        let gate = self.gates.lock().get(&job.tool.id).cloned();
        if let Some((begun, go)) = gate {
            begun.notify_one();
            go.notified().await;
        }
        tokio::task::yield_now().await;
        self.running.lock().0 -= 1;
        self.done.lock().push((job.tool.id.clone(), Value::clone(&job.arguments)));
        Ended::Returned { data: json!({ "did": job.arguments["item"] }), intents: Vec::new() }
    }
}

struct Shared(Arc<Hands>);

impl Execute for Shared {
    fn can_run(&self, _: &Tool) -> bool {
        true
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        Box::pin(self.0.run(job))
    }
}

pub(crate) fn tool(id: &str, description: &str, changes: Value) -> Tool {
    let (_, own) = id.rsplit_once("__").unwrap();
    let mut contract = json!({
        "toolId": own, "version": "1.0.0", "description": description, "category": "utility",
        "sideEffects": "read_only", "effect": "read_only", "sideEffectPolicy": "pure",
        "idempotent": true, "requiresConfirmation": false, "allowedModes": ["text", "voice"],
        "latencyBudgetMs": 800,
        "parameters": {
            "type": "object", "additionalProperties": false, "required": ["item"],
            "properties": { "item": { "type": "string" }, "secret": { "type": "string" } },
        },
        "redaction": { "allow": ["did"], "allowArgs": ["item"] },
        "arguments": { "mode": "lenient", "fraction": "refuse" },
    });
    contract.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let contract: haft_core::Contract = serde_json::from_value(contract).unwrap();
    let mut tool = Tool {
        id: id.into(),
        digest: Digest::of_bytes(b""),
        parameters: parameters::view(&contract.parameters),
        contract,
        summary: format!("{description} (summary)"),
        doc: format!("# {own}\n\nHow to use {own}."),
        handler: Implementation::Native,
    };
    tool.digest = Entry::seal(&tool).digest;
    tool
}

pub(crate) fn registry(mut tools: Vec<Tool>) -> Registry {
    tools.sort_by(|one, other| one.id.cmp(&other.id));
    let ids: Vec<_> = tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let digest = Digest::of_json(&json!(ids));
    Registry {
        version: version_of(&digest),
        digest,
        namespace: Namespace::parse("shop").unwrap(),
        prompts: [("core".to_owned(), "# Title\n\nYou sell lamps.".to_owned())].into(),
        tools,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "test".into(), commit: None },
    }
}

fn shop() -> Registry {
    let writes = json!({
        "category": "action", "sideEffects": "writes", "effect": "state_change",
        "sideEffectPolicy": "irreversible", "idempotent": false,
        "arguments": { "mode": "strict", "fraction": "refuse" },
    });
    let mut asks = writes.clone();
    asks["requiresConfirmation"] = json!(true);
    asks["confirmation"] = json!({ "prompt": "Give {item} away?" });
    registry(vec![
        tool("shop__find", "Find things.", json!({})),
        tool("shop__look", "Look at things.", json!({})),
        tool("shop__order", "Order a thing.", writes),
        tool("shop__gift", "Give a thing away.", asks),
    ])
}

pub(crate) struct World {
    pub(crate) provider: Provider,
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<Memory>,
    pub(crate) hands: Arc<Hands>,
    pub(crate) agent: Agent,
}

/// Everything that was told.
pub(crate) type Heard = Vec<Event>;

pub(crate) fn settings() -> Settings {
    Settings {
        patience: Patience {
            first_byte: Duration::from_secs(5),
            idle: Duration::from_secs(5),
            retries: 3,
            backoff: Duration::from_millis(1),
            longest_pause: Duration::from_secs(2),
        },
        limits: Limits { time: Duration::from_secs(30), ..Limits::default() },
        ..Settings::default()
    }
}

pub(crate) fn caller() -> Caller {
    Caller::agent("default", "default")
}

impl World {
    pub(crate) async fn new(api: Api, replies: Vec<Reply>) -> Self {
        Self::with(api, replies, shop(), Rules::default(), settings()).await
    }

    pub(crate) async fn set(api: Api, replies: Vec<Reply>, settings: Settings) -> Self {
        Self::with(api, replies, shop(), Rules::default(), settings).await
    }

    pub(crate) async fn ruled(api: Api, replies: Vec<Reply>, rules: Rules) -> Self {
        Self::with(api, replies, shop(), rules, settings()).await
    }

    pub(crate) async fn with(
        api: Api,
        replies: Vec<Reply>,
        registry: Registry,
        mut rules: Rules,
        settings: Settings,
    ) -> Self {
        rules.allow = vec!["shop__*".into()];
        let provider = Provider::listen(replies).await;
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let store = Arc::new(Memory::new());
        let hands = Arc::new(Hands::default());
        let runtime = Runtime::builder(registry, store.clone(), Arc::new(Shared(hands.clone())))
            .policy(Arc::new(policy))
            .rules(rules)
            .guide()
            .build()
            .unwrap();
        let endpoint = Endpoint {
            provider: api,
            url: Some(provider.url()),
            model: "test-model".into(),
            key: Some("sk-very-secret".into()),
        };
        let agent = Agent::new(runtime.clone(), Arc::new(Http::new(endpoint).unwrap()), settings);
        Self { provider, runtime, store, hands, agent }
    }

    pub(crate) async fn chat(&self) -> Chat {
        self.agent.chat(caller()).await.unwrap()
    }

    /// Says one thing in a conversation of its own.
    pub(crate) async fn say(&self, text: &str) -> (Done, Heard, Chat) {
        let mut chat = self.chat().await;
        let (done, heard) = say(&mut chat, text).await;
        (done, heard, chat)
    }
}

/// Says one thing, and checks what holds of every run: one end and no more, as many results as
/// starts, with the same ids, each once.
pub(crate) async fn say(chat: &mut Chat, text: &str) -> (Done, Heard) {
    say_until(chat, text, &Cancel::new()).await
}

pub(crate) async fn say_until(chat: &mut Chat, text: &str, cancel: &Cancel) -> (Done, Heard) {
    let mut heard = Vec::new();
    let done = chat.say(text, &mut |event| heard.push(event), cancel).await;
    let ends = heard.iter().filter(|event| matches!(event, Event::Done(_))).count();
    assert_eq!(ends, 1, "{heard:#?}");
    assert_eq!(heard.last(), Some(&Event::Done(done.clone())));
    let ids = |start: bool| {
        let mut ids: Vec<String> = heard
            .iter()
            .filter_map(|event| {
                if let Event::ToolCallStart { id, .. } = event {
                    return start.then(|| id.clone());
                }
                let Event::ToolCallResult { id, .. } = event else { return None };
                (!start).then(|| id.clone())
            })
            .collect();
        ids.sort();
        ids
    };
    let (starts, results) = (ids(true), ids(false));
    assert_eq!(starts, results, "{heard:#?}");
    let mut once = starts.clone();
    once.dedup();
    assert_eq!(once, starts, "an id was used twice");
    (done, heard)
}

/// The text that was shown, put together.
pub(crate) fn text(heard: &Heard) -> String {
    heard
        .iter()
        .filter_map(|event| {
            let Event::Text { delta } = event else { return None };
            Some(delta.as_str())
        })
        .collect()
}

/// How the calls ended: tool and kind of error, in the order of their ends.
pub(crate) fn ends(heard: &Heard) -> Vec<String> {
    heard
        .iter()
        .filter_map(|event| {
            let Event::ToolCallResult { tool, error, .. } = event else { return None };
            Some(format!("{tool} {}", error.map_or("ok", |kind| kind.as_str())))
        })
        .collect()
}
