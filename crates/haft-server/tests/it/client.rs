//! A server with three tools, and a client that sends exactly what it is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::contract::{Capability, Contract};
use haft_core::names::{Namespace, SEPARATOR};
use haft_core::outcome::{After, Intent};
use haft_core::port::{Boxed, Ended, Execute, Job, Observe, Store};
use haft_core::registry::{Build, Entry, Implementation, Registry, Tool, version_of};
use haft_core::{Digest, Principal, parameters};
use haft_exec::Http;
use haft_exec::http::{self, Client};
use haft_runtime::Runtime;
use haft_runtime::policy::{Delegation, Instant, Policy, Rules, Source};
use haft_runtime::runtime::Builder;
use haft_runtime::toolbox::Records;
use haft_server::who::facts::Facts;
use haft_server::who::jwt::Issuers;
use haft_server::who::{Key, Keys, Role, mint};
use haft_server::{Door, Hub, Left, Limits, Metrics};
use haft_store::Memory;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

fn tool(id: &str, changes: Value) -> Tool {
    let (_, own) = id.rsplit_once(SEPARATOR).unwrap();
    let mut contract = json!({
        "toolId": own, "version": "1.0.0", "description": "d", "category": "retrieval",
        "sideEffects": "read_only", "effect": "read_only", "sideEffectPolicy": "pure",
        "idempotent": true, "requiresConfirmation": false, "allowedModes": ["text", "voice"],
        "latencyBudgetMs": 800,
        "parameters": {"type": "object", "additionalProperties": false,
                       "properties": {"text": {"type": "string"}}},
        "redaction": {"allow": [], "allowArgs": ["text"]},
        "arguments": {"mode": "lenient", "fraction": "refuse"},
    });
    for (name, value) in changes.as_object().unwrap() {
        contract[name] = value.clone();
    }
    let contract: Contract = serde_json::from_value(contract).unwrap();
    let mut tool = Tool {
        id: id.into(),
        digest: Digest::of_bytes(b""),
        parameters: parameters::view(&contract.parameters),
        contract,
        summary: "s".into(),
        doc: "# How to use it\n".into(),
        handler: Implementation::Native,
    };
    tool.digest = Entry::seal(&tool).digest;
    tool
}

fn registry() -> Registry {
    let writes = json!({"category": "action", "sideEffects": "writes", "effect": "state_change",
                        "sideEffectPolicy": "irreversible", "idempotent": false,
                        "arguments": {"mode": "strict", "fraction": "refuse"}});
    let mut asks = writes.clone();
    asks["requiresConfirmation"] = json!(true);
    asks["capabilities"] = json!(["client"]);
    let tools = vec![
        tool("shop__echo", json!({"capabilities": ["client"]})),
        tool("shop__pay", asks),
        tool("shop__send", writes),
    ];
    let ids: Vec<_> = tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let digest = Digest::of_json(&json!(ids));
    Registry {
        version: version_of(&digest),
        digest,
        namespace: Namespace::parse("shop").unwrap(),
        prompts: Default::default(),
        tools,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "test".into(), commit: None },
    }
}

/// Answers with its arguments, and counts.
struct Counting {
    runs: AtomicUsize,
    /// Whoever says `wait` is answered when there is a place, and `wait 7` after 7 milliseconds;
    /// `steps 7` is told of seven steps first, and `ask` is asked something. `bye` ends a voice session
    /// after the farewell.
    gate: Semaphore,
}

/// Requests to services are really made, to this machine.
struct Shared(Arc<Counting>, Http);

impl Execute for Shared {
    fn can_run(&self, _: &Tool) -> bool {
        true
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        self.0.runs.fetch_add(1, Ordering::SeqCst);
        if self.1.can_run(&job.tool) {
            return self.1.execute(job);
        }
        let data = json!({ "said": *job.arguments });
        Box::pin(async move {
            let text = job.arguments["text"].as_str().unwrap_or_default();
            if text == "wait" {
                self.0.gate.acquire().await.unwrap().forget();
            } else if let Some(ms) = text.strip_prefix("wait ") {
                tokio::time::sleep(Duration::from_millis(ms.parse().unwrap())).await;
            } else if let Some(steps) = text.strip_prefix("steps ") {
                report(&job, steps.parse().unwrap()).await;
            } else if text == "ask" {
                let schema = json!({"type": "object", "properties": {"who": {"type": "string"}}});
                let asked = json!({"who": {"elicit": {"message": "For whom?", "schema": schema}}});
                if let Err(error) = job.host.call(Capability::Client, "ask", asked).await {
                    return Ended::Failed(error);
                }
            }
            let farewell = Intent::EndVoiceSession { after: After::FarewellSpoken };
            let intents = if text == "bye" { vec![farewell] } else { Vec::new() };
            Ended::Returned { data, intents }
        })
    }
}

/// Says how far it is, so many times, and one line for the log.
async fn report(job: &Job, steps: usize) {
    for step in 1..=steps {
        let said = json!({"progress": step, "total": steps, "message": format!("step {step}")});
        // There is an end to how often a handler may speak.
        let _ = job.host.call(Capability::Client, "progress", said).await;
    }
    let said = json!({"level": "warning", "data": {"steps": steps}});
    let _ = job.host.call(Capability::Client, "log", said).await;
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The events of a stream, each with what it says.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<(String, Value)> {
        events(&self.body)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A server on a port of its own, and the keys to it.
pub(crate) struct Served {
    pub(crate) port: u16,
    pub(crate) door: Arc<Door>,
    ran: Arc<Counting>,
    stop: Option<oneshot::Sender<()>>,
    hurry: Option<oneshot::Sender<()>>,
    stopped: tokio::task::JoinHandle<Left>,
    pub(crate) agent: String,
    pub(crate) operator: String,
    pub(crate) stranger: String,
    pub(crate) admin: String,
    /// The agent's too, and always for `user:ann`, who sits beside it.
    pub(crate) companion: String,
}

impl Served {
    pub(crate) async fn new() -> Self {
        Self::with(Limits::default()).await
    }

    pub(crate) async fn with(limits: Limits) -> Self {
        Self::on(Arc::new(Memory::new()), limits).await
    }

    /// With something added to its door.
    pub(crate) async fn made(add: impl FnOnce(Door) -> Door) -> Self {
        Self::build(Arc::new(Memory::new()), Limits::default(), |builder| builder, add).await
    }

    /// With issuers whose tokens open it.
    pub(crate) async fn trusting(issuers: Issuers) -> Self {
        Self::made(|door| door.issuers(issuers)).await
    }

    /// With somebody who watches every call.
    pub(crate) async fn watched(observer: Arc<dyn Observe>) -> Self {
        Self::running(|builder| builder.observe(observer)).await
    }

    /// On a runtime with something added to it.
    pub(crate) async fn running(with: impl FnOnce(Builder) -> Builder) -> Self {
        let store = Arc::new(Memory::new());
        Self::build(store, Limits::default(), with, |door| door).await
    }

    /// On a store that may hold something already.
    pub(crate) async fn on(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self::build(store, limits, |builder| builder, |door| door).await
    }

    pub(crate) async fn build(
        store: Arc<dyn Store>,
        limits: Limits,
        with: impl FnOnce(Builder) -> Builder,
        add: impl FnOnce(Door) -> Door,
    ) -> Self {
        let registry = registry();
        let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
        let delegations = vec![delegation()];
        let source = Source { rules: rules.clone(), delegations, ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let metrics = Arc::new(Metrics::with_label_sets(20));
        let (runs, gate) = (AtomicUsize::default(), Semaphore::new(0));
        let (hub, ran) = (Hub::default(), Arc::new(Counting { runs, gate }));
        let mut records = Records::of_one("ours", "helper");
        let theirs = Records::of_one("theirs", "spy");
        records.tenants.extend(theirs.tenants);
        records.agents.extend(theirs.agents);
        records.delegations.push(delegation());
        let allow = vec!["127.0.0.1".parse().unwrap()];
        let reach = http::Settings { allow, ..http::Settings::default() };
        let client = Arc::new(Client::new(reach));
        let http = Http::new(client.clone()).for_tenants(client);
        let executor = Arc::new(Shared(ran.clone(), http));
        let builder = Runtime::builder(registry, store, executor)
            .policy(Arc::new(policy))
            .source(source)
            .rules(rules)
            .records(records)
            .publish(Arc::new(hub.clone()))
            .observe(metrics.clone())
            .define(Arc::new(haft_build::Drafts));
        let runtime = with(builder).build().unwrap();
        runtime.refresh().await.unwrap();
        let (agent, a) = key("helper", "ours", Principal::agent("helper"), &[Role::Agent]);
        let roles = [Role::Operator, Role::Approver];
        let (operator, o) = key("mara", "ours", Principal::user("mara"), &roles);
        let (stranger, s) = key("spy", "theirs", Principal::user("spy"), &[Role::Administrator]);
        let (admin, d) = key("boss", "ours", Principal::user("boss"), &[Role::Administrator]);
        let (companion, mut c) =
            key("companion", "ours", Principal::agent("helper"), &[Role::Agent]);
        c.subject = Some(Principal::user("ann"));
        let keys = Keys::load(&[a, o, s, d, c]).unwrap();
        let hosts = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let door = Door::new(runtime, hub, keys, hosts, limits).home("ours").metrics(metrics);
        let door = Arc::new(add(door));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, told) = oneshot::channel::<()>();
        let told = async move { drop(told.await) };
        let (hurry, hurried) = oneshot::channel::<()>();
        let hurried = async move { drop(hurried.await) };
        let stopped = tokio::spawn(haft_server::serve(listener, door.clone(), told, hurried));
        Self {
            port,
            door,
            ran,
            stop: Some(stop),
            hurry: Some(hurry),
            stopped,
            agent,
            operator,
            stranger,
            admin,
            companion,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How often a handler was run.
    pub(crate) fn runs(&self) -> usize {
        self.ran.runs.load(Ordering::SeqCst)
    }

    /// Returns when so many handlers have been run in all.
    pub(crate) async fn ran(&self, runs: usize) {
        for _ in 0..20_000 {
            if self.runs() >= runs {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("{runs} handlers were to run, {} did", self.runs());
    }

    /// Lets handlers go on that were told to wait.
    pub(crate) fn gate(&self) -> impl Fn(usize) + use<> {
        let ran = self.ran.clone();
        move |places| ran.gate.add_permits(places)
    }

    /// Tells the server to stop, and does not wait.
    pub(crate) fn tell_to_stop(&mut self) {
        drop(self.stop.take());
    }

    /// Tells it a second time, and waits until it has stopped.
    pub(crate) async fn hurry(mut self) -> Left {
        drop(self.hurry.take());
        self.stopped.await.unwrap()
    }

    /// Tells the server to stop, and waits until it has.
    pub(crate) async fn stop(mut self) -> Left {
        drop(self.stop.take());
        self.stopped.await.unwrap()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).await.unwrap()
    }

    /// Sends these very bytes.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Reply {
        send(self.port, bytes).await
    }

    pub(crate) async fn get(&self, key: &str, path: &str) -> Reply {
        self.send(key, "GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, key: &str, path: &str, body: Value) -> Reply {
        self.send(key, "POST", path, &[], Some(body)).await
    }

    pub(crate) async fn send(
        &self,
        key: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Reply {
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        if !key.is_empty() {
            text += &format!("Authorization: Bearer {key}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        if !body.is_empty() {
            text += "Content-Type: application/json\r\n";
            text += &format!("Content-Length: {}\r\n", body.len());
        }
        let reply = self.raw(format!("{text}\r\n{body}").as_bytes()).await;
        crate::said::hold(method, path, &reply);
        reply
    }
}

/// Sends these very bytes to a port, and reads to the end.
pub(crate) async fn send(port: u16, bytes: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await;
    read(&all)
}

/// The events in the text of a stream: names, and what they say.
#[track_caller]
pub(crate) fn events(text: &str) -> Vec<(String, Value)> {
    let field = |block: &str, name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
    };
    let blocks = text.split("\n\n").filter_map(|block| {
        let data = field(block, "data: ")?;
        Some((field(block, "event: ")?, serde_json::from_str(&data).unwrap()))
    });
    blocks.collect()
}

/// How much of this process is in memory, where the system says so.
pub(crate) fn resident_mib() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    resident.unwrap_or_default() * 4 / 1024
}

/// The agent may act for the person who sits beside it.
fn delegation() -> Delegation {
    Delegation {
        tenant: "ours".into(),
        actor: Principal::agent("helper"),
        subject: Principal::user("ann"),
        tools: vec!["shop__*".into()],
        connections: Vec::new(),
        until: Instant(32_503_680_000_000),
    }
}

fn key(id: &str, tenant: &str, principal: Principal, roles: &[Role]) -> (String, Key) {
    let (text, sha256) = mint(id, &[id.len() as u8; 32]);
    let (subject, agents) = (None, None);
    let (id, tenant, roles) = (id.to_owned(), tenant.to_owned(), roles.to_vec());
    let (name, expires) = (None, None);
    (
        text,
        Key {
            id,
            sha256,
            tenant,
            principal,
            subject,
            roles,
            agents,
            name,
            expires,
            user: Facts::default(),
        },
    )
}

fn read(bytes: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    Reply { status, head: head.to_owned(), body: unchunked(head, body) }
}

fn unchunked(head: &str, body: &str) -> String {
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut rest, mut all) = (body, String::new());
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        if size == 0 || after.len() < size {
            break;
        }
        all += &after[..size];
        rest = after[size..].trim_start_matches("\r\n");
    }
    all
}
