//! A server with tools that echo, ask, book, cancel and get lost, and people with keys to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_core::contract::Contract;
use haft_core::names::Namespace;
use haft_core::port::{Boxed, Ended, Execute, Job, Store};
use haft_core::registry::{Build, Entry, Implementation, Registry, Tool, version_of};
use haft_core::{Digest, ErrorKind, Principal, ToolError, parameters};
use haft_exec::Broker;
use haft_exec::http::{self, Client};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_runtime::toolbox::Records;
use haft_server::who::facts::Facts;
use haft_server::who::{Key, Keys, Role, mint};
use haft_server::{Door, Hub, Limits};
use haft_store::{Accounts, Memory};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::client::{Reply, send};

/// What must stay text wherever it is shown.
pub(crate) const HOSTILE: &str =
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";

const DOC: &str = "# Echo\n\nSays it again. <script>document.title='owned'</script>\n\n\
                   [a link](javascript:document.title='owned') and ![a picture](x)\n\n\
                   | a | b |\n|---|---|\n| 1 | <b>2</b> |\n\n```json\n{ \"text\": \"x\" }\n```\n";

fn tool(own: &str, about: &str, changes: Value) -> Tool {
    let mut contract = json!({
        "toolId": own, "version": "1.0.0", "description": about, "category": "retrieval",
        "sideEffects": "read_only", "effect": "read_only", "sideEffectPolicy": "pure",
        "idempotent": true, "requiresConfirmation": false, "allowedModes": ["text", "voice"],
        "latencyBudgetMs": 800,
        "parameters": {"type": "object", "additionalProperties": false, "required": ["text"],
            "properties": {
                "text": {"type": "string", "description": "What it is about.", "examples": ["tea"]},
                "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1, "description": "How often."},
                "size": {"type": "string", "enum": ["small", "large"], "description": "How much."},
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Words about it."}}},
        "redaction": {"allow": ["said"], "allowArgs": ["text", "count"]},
        "arguments": {"mode": "lenient", "fraction": "refuse"},
    });
    for (name, value) in changes.as_object().unwrap() {
        contract[name] = value.clone();
    }
    let contract: Contract = serde_json::from_value(contract).unwrap();
    let mut tool = Tool {
        id: format!("shop__{own}"),
        digest: Digest::of_bytes(b""),
        parameters: parameters::view(&contract.parameters),
        contract,
        summary: "s".into(),
        doc: DOC.into(),
        handler: Implementation::Native,
    };
    tool.digest = Entry::seal(&tool).digest;
    tool
}

fn registry() -> Registry {
    let writes = |policy: &str, more: Value| {
        let mut all = json!({"category": "action", "sideEffects": "writes", "effect": "state_change",
            "sideEffectPolicy": policy, "idempotent": policy == "idempotent",
            "arguments": {"mode": "strict", "fraction": "refuse"}});
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let undo = json!({"compensation": {"tool": "shop__cancel",
        "arguments": {"text": {"from": "/arguments/text"}}}});
    let give_back = json!({"compensation": {"tool": "shop__cancel",
        "arguments": {"text": {"from": "/result/said"}}}});
    let prompt = json!({"requiresConfirmation": true,
        "confirmation": {"prompt": "Pay for {text}?"}});
    let tools = vec![
        tool("book", "Books a table.", writes("compensatable", undo)),
        tool("cancel", "Cancels a booking.", writes("idempotent", json!({}))),
        tool("echo", HOSTILE, json!({})),
        tool("hire", "Hires, and does not say what.", writes("compensatable", give_back)),
        tool("lose", "Sends something into the dark.", writes("irreversible", json!({}))),
        tool("pay", "Pays for something.", writes("irreversible", prompt)),
        tool("secret", "Nobody may use this.", json!({})),
        tool("speak", "Says it aloud.", json!({"allowedModes": ["voice"]})),
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

/// Answers with its arguments, counts, and gets lost where it is asked to.
struct Shop(Arc<AtomicUsize>);

impl Execute for Shop {
    fn can_run(&self, _: &Tool) -> bool {
        true
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let said = job.arguments.get("text").cloned().unwrap_or_default();
        let ended = match job.tool.id.rsplit("__").next() {
            Some("hire" | "lose") => {
                Ended::Lost(ToolError::new(ErrorKind::Timeout, "no answer came"))
            }
            Some("cancel") if said == "for good" => Ended::Failed(ToolError::new(
                ErrorKind::Permanent,
                "the host does not take it back",
            )),
            Some(_) | None => {
                Ended::Returned { data: json!({ "said": said }), intents: Vec::new() }
            }
        };
        Box::pin(async move { ended })
    }
}

/// The server, and the keys to it.
pub(crate) struct World {
    pub(crate) port: u16,
    pub(crate) door: Arc<Door>,
    pub(crate) admin: String,
    pub(crate) approver: String,
    pub(crate) operator: String,
    pub(crate) agent: String,
    pub(crate) stranger: String,
    ran: Arc<AtomicUsize>,
    _stop: oneshot::Sender<()>,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(Memory::new())).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        let registry = registry();
        let rules = Rules {
            allow: vec!["shop__*".into()],
            deny: vec!["shop__secret".into()],
            ..Rules::default()
        };
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let (hub, ran) = (Hub::default(), Arc::new(AtomicUsize::new(0)));
        let accounts = Arc::new(Accounts::default());
        let allow = vec!["127.0.0.1".parse().unwrap()];
        let reach = Arc::new(Client::new(http::Settings { allow, ..http::Settings::default() }));
        let runtime = Runtime::builder(registry, store, Arc::new(Shop(ran.clone())))
            .policy(Arc::new(policy))
            .source(source)
            .rules(rules)
            .records(records())
            .publish(Arc::new(hub.clone()))
            .connections(accounts.clone())
            .broker(Arc::new(Broker::with_tenants(accounts.clone(), reach.clone(), reach)))
            .build()
            .unwrap();
        let (admin, a) = key("admin", "ours", Principal::user("ada"), Role::Administrator);
        let (approver, b) = key("approver", "ours", Principal::user("ben"), Role::Approver);
        let (operator, c) = key("operator", "ours", Principal::user("eve"), Role::Operator);
        let (agent, d) = key("helper", "ours", Principal::agent("helper"), Role::Agent);
        let (stranger, e) = key("spy", "theirs", Principal::user("spy"), Role::Administrator);
        let keys = Keys::load(&[a, b, c, d, e]).unwrap();
        let hosts = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "far.example".to_owned()];
        let door = Arc::new(Door::new(runtime, hub, keys, hosts, Limits::default()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stop, told) = oneshot::channel::<()>();
        let told = async move { drop(told.await) };
        tokio::spawn(haft_server::serve(listener, door.clone(), told, std::future::pending()));
        Self { port, door, admin, approver, operator, agent, stranger, ran, _stop: stop }
    }

    /// How often a handler was run.
    pub(crate) fn runs(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Another registry, in which a tool takes other parameters, in this order.
    pub(crate) fn retype(&self, own: &str, properties: &Value) {
        self.change(own, |contract| contract.parameters["properties"] = properties.clone());
    }

    /// Another registry, in which a tool is another.
    pub(crate) fn change(&self, own: &str, change: impl FnOnce(&mut Contract)) {
        let mut registry = (*self.door.runtime.current()).clone();
        let is_it = |tool: &&mut Tool| tool.id == format!("shop__{own}");
        let tool = registry.tools.iter_mut().find(is_it).unwrap();
        change(&mut tool.contract);
        tool.parameters = parameters::view(&tool.contract.parameters);
        tool.digest = Entry::seal(tool).digest;
        let ids: Vec<_> = registry.tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
        registry.digest = Digest::of_json(&json!(ids));
        registry.version = version_of(&registry.digest);
        self.door.runtime.load(registry).unwrap();
    }

    /// A call of the agent over the API.
    pub(crate) async fn called(&self, tool: &str, arguments: Value, key: &str) -> Value {
        let body = json!({"tool": tool, "arguments": arguments, "idempotency_key": key});
        self.api(&self.agent, "/v1/agents/helper/calls", body).await
    }

    pub(crate) async fn api(&self, key: &str, path: &str, body: Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        send(self.port, request.as_bytes()).await.json()
    }

    /// A browser that nobody has signed in with.
    pub(crate) fn stranger(&self) -> Visit<'_> {
        Visit { world: self, cookie: String::new(), host: format!("127.0.0.1:{}", self.port) }
    }

    /// A browser in which a key was shown.
    pub(crate) async fn signed_in(&self, key: &str) -> Visit<'_> {
        let mut visit = self.stranger();
        let reply = visit.post("/console/sign-in", &[("key", key)]).await;
        assert_eq!(reply.status, 303, "{reply:?}");
        let set = reply.header("set-cookie").unwrap();
        visit.cookie = set.split(';').next().unwrap().to_owned();
        visit
    }
}

/// Lets time go by.
pub(crate) async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

/// Two tenants that know nothing of each other.
fn records() -> Records {
    let mut records = Records::of_one("ours", "helper");
    let theirs = Records::of_one("theirs", "spy");
    records.tenants.extend(theirs.tenants);
    records.agents.extend(theirs.agents);
    records
}

fn key(id: &str, tenant: &str, principal: Principal, role: Role) -> (String, Key) {
    let (text, sha256) = mint(id, &[id.len() as u8; 32]);
    let (subject, agents) = (None, None);
    let (id, tenant, roles) = (id.to_owned(), tenant.to_owned(), vec![role]);
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

/// What a browser does, without one.
pub(crate) struct Visit<'a> {
    world: &'a World,
    pub(crate) cookie: String,
    pub(crate) host: String,
}

impl Visit<'_> {
    /// What its forms carry.
    pub(crate) async fn csrf(&self) -> String {
        field(&self.get("/console/confirmations").await.body, "csrf")
    }

    /// Presses a button of a page that was there for a while.
    pub(crate) async fn click(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let page = self.get(page).await.body;
        let (csrf, word) = (field(&page, "csrf"), field(&page, "word"));
        later(2).await;
        let all = [&[("csrf", csrf.as_str()), ("word", &word)], fields].concat();
        self.post(path, &all).await
    }

    /// Fills in the form of a tool and sends it, with what its page puts into it.
    pub(crate) async fn call(&self, tool: &str, fields: &[(&str, &str)]) -> Reply {
        let place = format!("/console/tools/helper/shop__{tool}");
        let page = self.get(&place).await.body;
        let kept: Vec<_> =
            ["csrf", "made-for", "key"].map(|name| (name, field(&page, name))).into();
        // What a test fills in itself counts first.
        let kept = kept.iter().map(|(name, value)| (*name, value.as_str()));
        let all: Vec<_> = fields.iter().copied().chain(kept).collect();
        self.post(&place, &all).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], "").await
    }

    /// Looks, and takes nothing.
    pub(crate) async fn head(&self, path: &str) -> Reply {
        self.send("HEAD", path, &[], "").await
    }

    /// Fills a form in and sends it, as a page of this server would.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let origin = format!("http://{}", self.host);
        self.post_from(&origin, path, fields).await
    }

    pub(crate) async fn post_from(
        &self,
        origin: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Reply {
        let body = form(fields);
        let length = body.len().to_string();
        let mut headers = vec![
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Content-Length", length.as_str()),
        ];
        if !origin.is_empty() {
            headers.push(("Origin", origin));
        }
        self.send("POST", path, &headers, &body).await
    }

    /// A stream of the console's, and the beginning of its answer.
    pub(crate) async fn listen(&self, path: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.world.port)).await.unwrap();
        let (host, cookie) = (&self.host, &self.cookie);
        let ask = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
        stream.write_all(ask.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        (stream, String::from_utf8(head).unwrap())
    }

    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut text =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.host);
        if !self.cookie.is_empty() {
            text += &format!("Cookie: other=1; {}\r\n", self.cookie);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        send(self.world.port, format!("{text}\r\n{body}").as_bytes()).await
    }
}

/// The value of the first hidden field of a name.
#[track_caller]
pub(crate) fn field(page: &str, name: &str) -> String {
    let from = page
        .split_once(&format!("name=\"{name}\" value=\""))
        .unwrap_or_else(|| panic!("no {name}: {page}"));
    from.1.split('"').next().unwrap().to_owned()
}

fn form(fields: &[(&str, &str)]) -> String {
    let mut all = form_urlencoded::Serializer::new(String::new());
    all.extend_pairs(fields);
    all.finish()
}
