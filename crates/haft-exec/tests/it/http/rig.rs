//! Tools that are requests to a server on this machine, and what becomes of them.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use haft_core::connection::{Account, AuthKind, Lease, Origin, Presented};
use haft_core::contract::{Gateway, SideEffectPolicy, SideEffects};
use haft_core::error::ToolError;
use haft_core::port::{Auth, Boxed, Broker, Ended, Execute as _, Hidden, Hide, Job, Owner, Want};
use haft_core::registry::{Implementation, Tool};
use haft_core::secret::SecretText;
use haft_exec::Http;
use haft_exec::http::{Client, Resolve, Settings};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::rig::{Stubs, scope, tool_with};

/// A client that may reach this machine.
pub(crate) fn client() -> Arc<Client> {
    Arc::new(Client::new(local()))
}

pub(crate) fn local() -> Settings {
    Settings { allow: vec!["127.0.0.0/8".parse().unwrap()], ..Settings::default() }
}

/// A tool with a gateway, which writes where its method does.
pub(crate) fn tool(mut gateway: Value) -> Tool {
    let mut tool = tool_with(Implementation::Gateway, &json!([]));
    gateway["kind"] = json!("http");
    let gateway: Gateway = serde_json::from_value(gateway).unwrap();
    if gateway.may_write() {
        tool.contract.side_effects = SideEffects::Writes;
        tool.contract.side_effect_policy = SideEffectPolicy::Irreversible;
    }
    tool.contract.gateway = Some(gateway);
    tool
}

/// Makes a call, with this long for it.
pub(crate) async fn within(
    client: Arc<Client>,
    tool: Tool,
    arguments: Value,
    time: Duration,
    auth: Option<Arc<Auth>>,
) -> Ended {
    let host = Arc::new(Stubs::default());
    let key = Some("key-1".to_owned());
    let job = Job::new(Arc::new(tool), arguments, scope("call_1"), host, time, key).with_auth(auth);
    Http::new(client).execute(job).await
}

/// Makes a call of a tool that a tenant has defined.
pub(crate) async fn of_tenant(http: &Http, tool: Tool) -> Ended {
    let (host, time) = (Arc::new(Stubs::default()), Duration::from_secs(5));
    let job = Job::new(Arc::new(tool), json!({}), scope("call_1"), host, time, None);
    http.execute(job.of_tenant(true)).await
}

/// Makes a call.
pub(crate) async fn call(gateway: Value, arguments: Value) -> Ended {
    within(client(), tool(gateway), arguments, Duration::from_secs(5), None).await
}

/// Names that stand for what the test says.
pub(crate) struct Names(pub(crate) Vec<IpAddr>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, _: &'a str) -> Boxed<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(self.0.clone()) })
    }
}

/// Always the same credentials, counted.
pub(crate) struct Fixed {
    pub(crate) presented: Presented,
    pub(crate) hosts: Vec<String>,
    pub(crate) asked: Mutex<u32>,
}

impl Broker for Fixed {
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        Box::pin(async move {
            *self.asked.lock() += 1;
            let account = Account {
                tenant: want.tenant.clone(),
                id: want.connection.clone(),
                provider: want.provider.clone(),
                kind: AuthKind::Bearer,
                hosts: self.hosts.clone(),
                origin: Origin::Operator,
                revision: 1,
                made_ms: 0,
                changed_ms: 0,
            };
            Ok(Lease { account, presented: self.presented.clone(), secrets: Vec::new() })
        })
    }

    fn refused<'a>(&'a self, _: &'a Want, _: &'a Lease) -> Boxed<'a, bool> {
        Box::pin(async { false })
    }
}

pub(crate) struct Deaf;

impl Hide for Deaf {
    fn hide(&self, _: &Owner, _: &str, _: &SecretText) -> Result<Hidden, String> {
        Ok(Hidden::default())
    }
}

pub(crate) fn bearer(token: &str) -> Presented {
    Presented::Header {
        name: "authorization".to_owned(),
        value: SecretText::new(format!("Bearer {token}")),
    }
}

/// Credentials for some hosts.
pub(crate) fn auth(presented: Presented, hosts: &[&str]) -> Arc<Auth> {
    let broker = Fixed { presented, hosts: Vec::new(), asked: Mutex::default() };
    bound(Arc::new(broker), hosts)
}

pub(crate) fn bound(broker: Arc<dyn Broker>, hosts: &[&str]) -> Arc<Auth> {
    let want = Want { tenant: "t".into(), connection: "c".into(), provider: "p".into() };
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    Arc::new(Auth::bind(broker, Arc::new(Deaf), want, hosts))
}
