//! A runtime over a store in a file, with one tool that posts to a service.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft_core::connection::{
    Account, AuthKind, ClientAuth, Credentials, Lease, OAuth, OAuthGrant, Origin,
};
use haft_core::contract::Capability;
use haft_core::names::Namespace;
use haft_core::port::{
    Boxed, Broker as Port, Connections as _, Expect, Invoke as _, Publish, Want,
};
use haft_core::record::Event;
use haft_core::registry::{Build, Implementation, Tool};
use haft_core::secret::SecretText;
use haft_core::{Call, Caller, Digest, Envelope, Registry, ToolError};
use haft_exec::http::Fetch;
use haft_exec::{Broker, Executors, Http};
use haft_runtime::Runtime;
use haft_runtime::policy::{Grant, Policy, Recall, Source};
use haft_runtime::toolbox::Records;
use haft_store::vault::{Key, Keyring};
use haft_store::{Options, Sqlite, Vault};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::http::client;
use crate::rig::tool_with;

#[derive(Default)]
struct Heard(Mutex<String>);

impl Publish for Heard {
    fn publish(&self, event: &Event) {
        self.0.lock().push_str(&format!("{event:?}\n"));
    }
}

struct Counted(Broker, AtomicU32);

impl Port for Counted {
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.lease(want)
    }

    fn refused<'a>(&'a self, want: &'a Want, lease: &'a Lease) -> Boxed<'a, bool> {
        self.0.refused(want, lease)
    }

    fn rest<'a>(&'a self) -> Boxed<'a, ()> {
        self.0.rest()
    }
}

pub(crate) struct World {
    pub(crate) runtime: Runtime,
    pub(crate) store: Arc<Sqlite>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) keys: Keyring,
    broker: Arc<Counted>,
    heard: Arc<Heard>,
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new(url: &str) -> Self {
        Self::of(url, &["acme".to_owned()]).await
    }

    /// Of several tenants, with an agent each.
    pub(crate) async fn of(url: &str, tenants: &[String]) -> Self {
        Self::running(posting(url), Executors::new().with(Http::new(client())), tenants).await
    }

    /// With a tool that may be sent again, one that tells what became of it, and one that takes it back.
    pub(crate) async fn told(url: &str) -> Self {
        let changed = |tool: Tool, id: &str, changes: Value| {
            let mut written = json!(tool.contract);
            written.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            written["toolId"] = json!(id);
            let contract = serde_json::from_value(written).unwrap();
            Tool { id: format!("core__{id}"), contract, ..tool }
        };
        let happened = json!({"tool": "found", "happened": "/result/found"});
        let both = json!({"probe": happened, "compensation": {"tool": "back"}});
        let class = json!({"sideEffectPolicy": "idempotent", "idempotent": true});
        let mut whole = both;
        whole.as_object_mut().unwrap().extend(class.as_object().unwrap().clone());
        let reads = json!({
            "sideEffects": "read_only", "effect": "read_only", "sideEffectPolicy": "pure",
            "idempotent": true,
        });
        let tools = vec![
            changed(posting(url), "back", json!({})),
            changed(posting(url), "found", reads),
            changed(posting(url), "probe", whole),
        ];
        Self::having(tools, Executors::new().with(Http::new(client())), &["acme".to_owned()]).await
    }

    /// With another tool than one that posts.
    pub(crate) async fn running(tool: Tool, executors: Executors, tenants: &[String]) -> Self {
        Self::having(vec![tool], executors, tenants).await
    }

    async fn having(tools: Vec<Tool>, executors: Executors, tenants: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Arc::new(Sqlite::open(folder.path().join("haft.db"), Options::default()).unwrap());
        let keys = Keyring::new(vec![Key::random().unwrap()]);
        let vault = Arc::new(Vault::new(store.clone(), keys.clone()));
        let broker = Arc::new(Counted(Broker::new(vault.clone(), client()), AtomicU32::new(0)));
        let heard = Arc::new(Heard::default());
        let recalled = tools.iter().find(|tool| tool.contract.tool_id == "found");
        let recall = recalled.map(|tool| Recall { tools: vec![tool.id.clone()], seconds: 3_600 });
        let registry = registry(tools);
        let mut source = Source { grants: records(tenants).grants, ..source() };
        source.rules.recall.extend(recall);
        let policy = Policy::load(&source, &[&registry]).unwrap();
        let runtime = Runtime::builder(registry, store.clone(), Arc::new(executors))
            .provide(Capability::Http, Arc::new(Fetch::new(client())))
            .policy(Arc::new(policy))
            .rules(source.rules.clone())
            .source(source)
            .records(records(tenants))
            .publish(heard.clone())
            .broker(broker.clone())
            .connections(vault.clone())
            .build()
            .unwrap();
        Self { runtime, store, vault, keys, broker, heard, folder }
    }

    pub(crate) async fn add(&self, tenant: &str, id: &str, credentials: Credentials) {
        let mut account = account(tenant, id);
        account.kind = credentials.kind();
        self.vault.put(account, &credentials, Expect::Nothing, None).await.unwrap();
    }

    pub(crate) fn request(&self, connection: &str, key: &str) -> Call {
        self.request_of("acme", connection, key)
    }

    pub(crate) fn request_of(&self, tenant: &str, connection: &str, key: &str) -> Call {
        let mut call = Call::new(Caller::agent(tenant, "bot"), "core__probe", json!({}));
        call.key = Some(key.to_owned());
        call.connection = Some(connection.to_owned());
        call.connections = vec![connection.to_owned()];
        call
    }

    pub(crate) async fn call(&self, connection: &str, key: &str) -> Envelope {
        self.runtime.invoke(self.request(connection, key)).await
    }

    pub(crate) fn leases(&self) -> u32 {
        self.broker.1.load(Ordering::SeqCst)
    }

    pub(crate) fn events(&self) -> String {
        self.heard.0.lock().clone()
    }

    /// Every byte of the store.
    pub(crate) fn files(&self) -> Vec<u8> {
        let mut all = Vec::new();
        let mut folders: Vec<PathBuf> = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    all.extend(std::fs::read(path).unwrap());
                }
            }
        }
        all
    }

    /// Changes what is kept of the accounts, behind the store's back.
    pub(crate) fn tamper(&self, from: &str, to: &str) {
        let conn = rusqlite::Connection::open(self.folder.path().join("haft.db")).unwrap();
        let sql = "UPDATE connections SET account = replace(account, ?1, ?2)";
        assert_eq!(conn.execute(sql, (from, to)).unwrap(), 1);
    }
}

/// A tool that posts to an address.
fn posting(url: &str) -> Tool {
    let mut tool = writing(Implementation::Gateway, &json!([]));
    let mut written = json!(tool.contract);
    written["gateway"] =
        json!({"kind": "http", "method": "POST", "url": url, "body": {"a": {"value": 1}}});
    tool.contract = serde_json::from_value(written).unwrap();
    tool
}

/// A tool with effects and a connection.
pub(crate) fn writing(handler: Implementation, capabilities: &Value) -> Tool {
    let mut tool = tool_with(handler, capabilities);
    let contract = &mut tool.contract;
    let mut written = json!(contract);
    written["sideEffects"] = json!("writes");
    written["effect"] = json!("external_side_effect");
    written["sideEffectPolicy"] = json!("irreversible");
    written["idempotent"] = json!(false);
    written["connection"] = json!({"provider": "p", "hosts": ["127.0.0.1"]});
    *contract = serde_json::from_value(written).unwrap();
    tool
}

fn registry(tools: Vec<Tool>) -> Registry {
    Registry {
        version: "1.0.00000000".to_owned(),
        digest: Digest::of_bytes(b"world"),
        namespace: Namespace::parse("core").unwrap(),
        prompts: BTreeMap::new(),
        tools,
        build: Build {
            at: "2026-01-01T00:00:00Z".to_owned(),
            by: "a test".to_owned(),
            commit: None,
        },
    }
}

fn records(tenants: &[String]) -> Records {
    let mut all = Records::default();
    for tenant in tenants {
        let one = Records::of_one(tenant, "bot");
        all.tenants.extend(one.tenants);
        all.agents.extend(one.agents);
        all.grants.extend(grants(tenant));
    }
    all
}

fn grants(tenant: &str) -> Vec<Grant> {
    let grant = |connection: &str, provider: &str, principal: &str| Grant {
        connection: connection.to_owned(),
        provider: provider.to_owned(),
        tenant: tenant.to_owned(),
        principals: vec![principal.to_owned()],
        tools: vec!["core__*".to_owned()],
    };
    vec![grant("work", "p", "agent:*"), grant("other", "p", "user:mara"), grant("mail", "q", "*")]
}

fn source() -> Source {
    Source {
        file: "haft.toml".to_owned(),
        rules: serde_json::from_value(json!({"allow": ["core__*"]})).unwrap(),
        cedar: Vec::new(),
        delegations: Vec::new(),
        grants: Vec::new(),
    }
}

pub(crate) fn account(tenant: &str, id: &str) -> Account {
    Account {
        tenant: tenant.to_owned(),
        id: id.to_owned(),
        provider: "p".to_owned(),
        kind: AuthKind::AuthorizationCode,
        hosts: Vec::new(),
        origin: Origin::Operator,
        revision: 0,
        made_ms: 0,
        changed_ms: 0,
    }
}

pub(crate) fn oauth(token_url: &str) -> OAuth {
    OAuth {
        grant: OAuthGrant::AuthorizationCode,
        authorize_url: None,
        token_url: token_url.to_owned(),
        client_id: "id".to_owned(),
        client_secret: Some(SecretText::new("s3cret-secret")),
        client_auth: ClientAuth::Basic,
        scopes: Vec::new(),
        audience: None,
        refresh: Some(SecretText::new("old/refresh")),
        access: None,
    }
}
