//! A runtime with tools that do what a test tells them, and a sink that counts what was done.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use haft_core::contract::Capability;
use haft_core::port::{Boxed, Ended, Execute, Invoke as _, Job, Publish, Store};
use haft_core::record::Event;
use haft_core::registry::{Entry, Registry, Tool};
use haft_core::{Call, Caller, Envelope, ErrorKind, ToolError};
use haft_runtime::policy::{Policy, Rules, Source};
use haft_runtime::runtime::Builder;
use haft_runtime::{Runtime, Settings};
use haft_store::{Manual, Memory};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::policy::world::{registry, tool};

pub(crate) const NOW: i64 = 1_767_225_600_000;

/// What a handler does the next time.
pub(crate) enum Does {
    /// Acts and returns.
    Returns(Value),
    /// Acts and ends like this.
    ActsThen(Ended),
    /// Ends like this without having acted.
    Ends(Ended),
    /// Says that it has begun, waits to be let go, then acts and returns.
    Waits(Arc<Notify>, Arc<Notify>),
    /// Says that it has begun, waits to be let go, then acts and ends like this.
    WaitsThen(Arc<Notify>, Arc<Notify>, Ended),
    /// Holds the whole thread up for so long, and ends like this without having acted.
    HoldsUp(Duration, Ended),
    /// Holds the whole thread up for so long, and blocks the user with these words after that.
    HoldsUpThenUses(Duration, Value),
    /// Never ends.
    /// As an executor does that has few places.
    WaitsForAPlace(Arc<Notify>, Arc<Notify>),
    Hangs,
    /// Acts, and takes its task with it.
    Panics,
    /// Calls a capability, then fails for good.
    UsesThenFails(Capability, &'static str, Value),
    /// Calls a capability, whatever comes of it, then ends like this.
    UsesThenEnds(Capability, &'static str, Value, Ended),
    /// Calls capabilities one after the other, then ends like this.
    UsesAll(Vec<(Capability, &'static str, Value)>, Ended),
    /// Says that it has begun, waits to be let go, then calls a capability and returns what that gave.
    WaitsThenUses(Arc<Notify>, Arc<Notify>, (Capability, &'static str, Value)),
    /// Calls tools one after the other and lets pass what the last one was refused with, as executors tell it.
    LetsPass(Vec<(&'static str, Value)>),
    /// Calls a capability, then returns what that gave.
    Uses(Capability, &'static str, Value),
}

#[derive(Default)]
pub(crate) struct Script {
    next: Mutex<HashMap<String, VecDeque<Does>>>,
    pub(crate) acts: Mutex<Vec<(String, Value)>>,
    pub(crate) keys: Mutex<Vec<Option<String>>>,
    /// Done once, after a call has been looked up and before anything is decided about it.
    pub(crate) meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Script {
    /// From now on the tool simply works.
    pub(crate) fn forget(&self, tool: &str) {
        self.next.lock().remove(&format!("shop__{tool}"));
    }

    async fn run(&self, job: Job) -> Ended {
        let id = job.tool.id.clone();
        self.keys.lock().push(job.provider_key.clone());
        let does = self.next.lock().get_mut(&id).and_then(VecDeque::pop_front);
        let act = || self.acts.lock().push((id.clone(), Value::clone(&job.arguments)));
        let done = |data: Value| Ended::Returned { data, intents: Vec::new() };
        match does {
            None => {
                act();
                done(json!({ "did": *job.arguments }))
            }
            Some(Does::Returns(data)) => {
                act();
                done(data)
            }
            Some(Does::ActsThen(ended)) => {
                act();
                ended
            }
            Some(Does::Ends(ended)) => ended,
            Some(Does::HoldsUp(time, ended)) => {
                std::thread::sleep(time);
                ended
            }
            Some(Does::HoldsUpThenUses(time, words)) => {
                std::thread::sleep(time);
                match job.host.call(Capability::Moderation, "block", words).await {
                    Ok(data) => done(json!({ "got": data })),
                    Err(error) => Ended::Failed(error),
                }
            }
            Some(Does::Waits(begun, go)) => {
                begun.notify_one();
                go.notified().await;
                act();
                done(json!({ "did": *job.arguments }))
            }
            Some(Does::WaitsThen(begun, go, ended)) => {
                begun.notify_one();
                go.notified().await;
                act();
                ended
            }
            Some(Does::WaitsForAPlace(begun, go)) => {
                begun.notify_one();
                go.notified().await;
                if let Some(why) = job.host.withdrawn() {
                    return Ended::NotBegun(why);
                }
                act();
                done(json!({ "did": *job.arguments }))
            }
            Some(Does::Hangs) => {
                act();
                std::future::pending().await
            }
            Some(Does::Panics) => {
                act();
                panic!("the handler's task goes")
            }
            Some(Does::UsesThenFails(capability, method, arguments)) => {
                let _ = job.host.call(capability, method, arguments).await;
                failed(ErrorKind::Permanent)
            }
            Some(Does::UsesThenEnds(capability, method, arguments, ended)) => {
                let _ = job.host.call(capability, method, arguments).await;
                ended
            }
            Some(Does::UsesAll(all, ended)) => {
                for (capability, method, arguments) in all {
                    job.host.call(capability, method, arguments).await.unwrap();
                }
                ended
            }
            Some(Does::WaitsThenUses(begun, go, (capability, method, arguments))) => {
                begun.notify_one();
                go.notified().await;
                match job.host.call(capability, method, arguments).await {
                    Ok(data) => done(json!({ "got": data })),
                    Err(error) => Ended::Failed(error),
                }
            }
            Some(Does::LetsPass(all)) => {
                let mut ended = failed(ErrorKind::Permanent);
                for (tool, arguments) in all {
                    if let Err(error) = job.host.call(Capability::CallTool, tool, arguments).await {
                        ended = let_pass(&error);
                    }
                }
                ended
            }
            Some(Does::Uses(capability, method, arguments)) => {
                match job.host.call(capability, method, arguments).await {
                    Ok(data) => done(json!({ "got": data })),
                    Err(error) => Ended::Failed(error),
                }
            }
        }
    }
}

/// The same script for whoever asks.
struct Shared(Arc<Script>);

impl Execute for Shared {
    fn can_run(&self, _: &Tool) -> bool {
        let meanwhile = self.0.meanwhile.lock().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        true
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        Box::pin(self.0.run(job))
    }
}

/// Everything that was published.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) Mutex<Vec<Event>>);

impl Publish for Heard {
    fn publish(&self, event: &Event) {
        self.0.lock().push(event.clone());
    }
}

pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<Memory>,
    pub(crate) script: Arc<Script>,
    pub(crate) clock: Arc<Manual>,
    pub(crate) heard: Arc<Heard>,
}

/// A tool of each class, and some with rules of their own.
pub(crate) fn tools() -> Registry {
    let parameters = json!({
        "type": "object", "additionalProperties": false, "required": ["item"],
        "properties": {
            "item": {"type": "string", "maxLength": 100},
            "count": {"type": "integer", "minimum": 1, "maximum": 10, "default": 1},
            "secret": {"type": "string"},
        },
    });
    let with = |more: Value| {
        let mut all = json!({
            "parameters": parameters, "redaction": {"allow": ["did.item"], "allowArgs": ["item"]},
        });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let writes = |class: &str, more: Value| {
        let mut all = with(json!({
            "category": "action", "sideEffects": "writes", "effect": "state_change",
            "sideEffectPolicy": class, "idempotent": class == "idempotent",
            "arguments": {"mode": "strict", "fraction": "refuse"},
        }));
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    registry(
        "shop",
        vec![
            tool("shop__find", with(json!({"tags": ["search"]}))),
            tool("shop__get", with(json!({}))),
            tool(
                "shop__compute",
                with(json!({
                    "category": "utility",
                    "capabilities": ["call_tool", "clock", "http", "moderation"],
                })),
            ),
            tool("shop__put", writes("idempotent", json!({}))),
            tool(
                "shop__brief",
                writes("idempotent", json!({"limits": {"providerKeyWindowMs": 60_000}})),
            ),
            tool("shop__order", writes("irreversible", json!({}))),
            tool("shop__charge", writes("irreversible", json!({"idempotencyKeyFields": ["item"]}))),
            tool(
                "shop__ship",
                writes(
                    "irreversible",
                    json!({
                        "idempotencyKeyFields": ["order.number", "order.lines[].sku"],
                        "parameters": {"type": "object", "properties": {"order": {"type": "object"}}},
                    }),
                ),
            ),
            tool(
                "shop__relay",
                writes(
                    "irreversible",
                    json!({"capabilities": ["call_tool", "moderation", "messaging", "audit"]}),
                ),
            ),
            tool("shop__again", writes("idempotent", json!({"capabilities": ["call_tool"]}))),
            tool("shop__asked", with(json!({"requiresConfirmation": true}))),
            tool("shop__wanted", writes("idempotent", json!({"requiresConfirmation": true}))),
            tool(
                "shop__gift",
                writes(
                    "irreversible",
                    json!({
                        "requiresConfirmation": true, "confirmation": {"prompt": "Give {item} {count} times?"},
                    }),
                ),
            ),
            tool(
                "shop__bulk",
                writes(
                    "irreversible",
                    json!({
                        "requiresConfirmation": {"when": "context.arguments.count > 3"},
                    }),
                ),
            ),
            tool(
                "shop__typed",
                writes(
                    "irreversible",
                    json!({
                        "output": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
                    }),
                ),
            ),
            tool(
                "shop__book",
                writes(
                    "compensatable",
                    json!({
                        "compensation": {"tool": "unbook", "arguments": {
                            "item": {"from": "/arguments/item"},
                        }},
                        "probe": {"tool": "booked", "arguments": {"item": {"from": "/arguments/item"}},
                                  "happened": "/result/found", "settledAfterMs": 0},
                    }),
                ),
            ),
            tool(
                "shop__reserve",
                writes(
                    "idempotent",
                    json!({"compensation": {"tool": "unbook", "arguments": {
                        "item": {"from": "/arguments/item"},
                    }}}),
                ),
            ),
            tool(
                "shop__hire",
                writes(
                    "compensatable",
                    json!({"compensation": {"tool": "unbook", "arguments": {
                        "item": {"from": "/arguments/item"}, "secret": {"from": "/arguments/secret"},
                    }}}),
                ),
            ),
            tool(
                "shop__borrow",
                writes(
                    "compensatable",
                    json!({
                        "output": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
                        "compensation": {"tool": "unbook", "arguments": {
                            "item": {"from": "/result/id"},
                        }},
                        "probe": {"tool": "booked", "arguments": {"item": {"from": "/arguments/item"}},
                                  "happened": "/result/found", "result": "/result/lent", "settledAfterMs": 0},
                    }),
                ),
            ),
            tool("shop__unbook", writes("idempotent", json!({"requiresConfirmation": true}))),
            tool("shop__booked", with(json!({}))),
            tool(
                "shop__rent",
                writes(
                    "compensatable",
                    json!({
                        "compensation": {"tool": "unrent", "arguments": {
                            "item": {"from": "/arguments/item"},
                            "count": {"from": "/arguments/count"},
                        }},
                        "probe": {"tool": "rented", "arguments": {"item": {"from": "/arguments/item"}},
                                  "happened": "/result/found", "settledAfterMs": 0},
                    }),
                ),
            ),
            tool(
                "shop__unrent",
                writes(
                    "idempotent",
                    json!({"allowedModes": ["text"], "capabilities": ["call_tool"]}),
                ),
            ),
            tool("shop__rented", with(json!({"allowedModes": ["text"]}))),
            tool(
                "shop__lease",
                writes(
                    "compensatable",
                    json!({
                        "compensation": {"tool": "unlease", "arguments": {
                            "item": {"from": "/arguments/item"},
                        }},
                        "probe": {"tool": "leased", "arguments": {"item": {"from": "/arguments/item"}},
                                  "happened": "/result/found", "settledAfterMs": 0},
                    }),
                ),
            ),
            tool(
                "shop__unlease",
                writes(
                    "idempotent",
                    json!({"availability": {"condition": "context.mode == \"voice\""}}),
                ),
            ),
            tool(
                "shop__leased",
                with(json!({"availability": {"condition": "context.arguments.item == \"no\""}})),
            ),
            tool(
                "shop__furnish",
                writes(
                    "compensatable",
                    json!({
                        "capabilities": ["call_tool"],
                        "compensation": {"tool": "unfurnish", "arguments": {
                            "item": {"from": "/arguments/item"},
                        }},
                    }),
                ),
            ),
            tool("shop__unfurnish", writes("idempotent", json!({"capabilities": ["call_tool"]}))),
            tool("shop__rare", with(json!({"limits": {"rate": {"calls": 2, "windowMs": 1000}}}))),
            tool(
                "shop__seated",
                with(json!({"availability": {"condition": "context has session"}})),
            ),
            tool("shop__slow", with(json!({"limits": {"maxRuntimeMs": 50}}))),
        ],
    )
}

/// The same tools, of which one is changed and sealed anew.
pub(crate) fn tools_with(name: &str, change: impl FnOnce(&mut Tool)) -> Registry {
    let mut all = tools().tools;
    let tool = all.iter_mut().find(|tool| tool.contract.tool_id == name).unwrap();
    change(tool);
    tool.digest = Entry::seal(tool).digest;
    registry("shop", all)
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(Rules { allow: vec!["shop__*".into()], ..Rules::default() }, |builder| builder)
    }

    pub(crate) fn with(rules: Rules, change: impl FnOnce(Builder) -> Builder) -> Self {
        let clock = Manual::at(NOW);
        let store = Arc::new(Memory::with_clock(clock.clone()));
        let script = Arc::new(Script::default());
        let heard = Arc::new(Heard::default());
        let registry = tools();
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let builder = Runtime::builder(registry, store.clone(), Arc::new(Shared(script.clone())))
            .policy(Arc::new(policy))
            .rules(rules)
            .settings(Settings {
                attach_for: Duration::from_secs(2),
                backoff: Duration::from_millis(1),
                ..Settings::default()
            })
            .publish(heard.clone())
            .secret([7; 32]);
        let runtime = change(builder).build().unwrap();
        Self { runtime, store, script, clock, heard }
    }

    /// A second process on the same store, with the same tools.
    pub(crate) fn twin(&self) -> Runtime {
        self.on(Arc::new(self.store.join()))
    }

    /// The same tools on another store.
    pub(crate) fn on(&self, store: Arc<dyn Store>) -> Runtime {
        self.running(tools(), store)
    }

    /// Another process on the same store, with other tools.
    pub(crate) fn with_tools(&self, registry: Registry) -> Runtime {
        self.running(registry, Arc::new(self.store.join()))
    }

    fn running(&self, registry: Registry, store: Arc<dyn Store>) -> Runtime {
        let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        Runtime::builder(registry, store, Arc::new(Shared(self.script.clone())))
            .policy(Arc::new(policy))
            .rules(rules)
            .publish(self.heard.clone())
            .secret([7; 32])
            .build()
            .unwrap()
    }

    /// Waits until the twin is gone.
    pub(crate) async fn left(&self) {
        while self.store.handles() > 1 {
            tokio::task::yield_now().await;
        }
    }

    /// What a tool does the next time.
    pub(crate) fn next(&self, tool: &str, does: Does) {
        self.script.next.lock().entry(format!("shop__{tool}")).or_default().push_back(does);
    }

    pub(crate) async fn call(&self, call: Call) -> Envelope {
        self.runtime.invoke(call).await
    }

    /// How often a tool really acted.
    pub(crate) fn acts(&self, tool: &str) -> usize {
        let id = format!("shop__{tool}");
        self.script.acts.lock().iter().filter(|(one, _)| *one == id).count()
    }
}

/// A call of the default agent with a key.
pub(crate) fn call(tool: &str, key: &str) -> Call {
    let mut call = Call::new(caller(), tool, json!({ "item": "lamp" }));
    call.key = Some(key.to_owned());
    call
}

pub(crate) fn caller() -> Caller {
    Caller::agent("default", "default")
}

/// The kind of error that a call ended in.
#[track_caller]
pub(crate) fn kind(envelope: &Envelope) -> ErrorKind {
    match &envelope.result {
        Ok(data) => panic!("it went well: {data}"),
        Err(error) => error.kind,
    }
}

pub(crate) fn lost() -> Ended {
    Ended::Lost(ToolError::new(ErrorKind::Timeout, "no answer"))
}

pub(crate) fn failed(kind: ErrorKind) -> Ended {
    Ended::Failed(ToolError::new(kind, "it did not work"))
}

/// What executors make of an error of the path's own that a handler lets pass.
pub(crate) fn let_pass(error: &ToolError) -> Ended {
    let said = format!("the handler said `{}`", error.kind);
    Ended::Failed(ToolError::new(ErrorKind::Internal, error.message.clone()).caused_by(said))
}

pub(crate) fn not_begun() -> Ended {
    Ended::NotBegun(ToolError::new(ErrorKind::Transient, "connection refused"))
}
