//! `haft serve`

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use haft_core::Principal;
use haft_core::port::Observe;
use haft_server::logs::Log;
use haft_server::traces::Traces;
use haft_server::who::jwt::Issuers;
use haft_server::who::{Key, Keys, Role, hash_of, mint};
use haft_server::{Door, Hub, Metrics};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::assembly::{Desk, block_on, make};
use crate::cli::Serve;
use crate::config::Config;
use crate::logs;
use crate::output::{Exit, Output};
use crate::source::Place;

const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7411);

pub(crate) fn run(at: &Place, options: &Serve, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        let hub = Hub::default();
        let publish = Arc::new(hub.clone());
        let metrics = Arc::new(Metrics::default());
        let mut observers: Vec<Arc<dyn Observe>> = vec![metrics.clone(), Arc::new(Log)];
        let collector = at.config()?.otlp.collector(|name| std::env::var(name).ok())?;
        let traces = collector.map(Traces::start).transpose().map_err(anyhow::Error::msg)?;
        let traces = traces.map(Arc::new);
        observers.extend(traces.clone().map(|one| one as Arc<dyn Observe>));
        let desk = Desk::open_observed(at, options.registry.as_deref(), publish, observers, out)?;
        logs::start(desk.config.server.log)?;
        desk.tend(out).await?;
        let listen = options.listen.or(desk.config.server.listen).unwrap_or(LISTEN);
        let hosts = hosts(&desk.config, listen)?;
        let admin = administrator(&desk.config)?;
        let mut keys = desk.config.server.keys.clone();
        keys.push(admin.key);
        let keys = Keys::load(&keys).context("`keys`")?;
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("`{listen}` cannot be listened on"))?;
        let at = listener.local_addr()?;
        let limits = desk.config.server.limits.clone();
        let door = Door::new(desk.runtime.clone(), hub, keys, hosts, limits).home(&admin.tenant);
        let issuers = Issuers::load(&desk.config.server.issuers).context("`issuers`")?;
        let door = Arc::new(door.issuers(issuers).metrics(metrics));
        greet(&desk, at, &admin.file, out);
        let left = haft_server::serve(listener, door, stopped()?).await;
        if left > 0 {
            out.note(&format!("{left} effects were still running; see `haft effects`"));
        }
        if let Some(traces) = &traces {
            traces.flush(Duration::from_secs(3)).await;
        }
        haft_core::port::Journal::flush(&*desk.store).await.context("the last records")?;
        Ok(Exit::Done)
    })
}

/// What the server is called. Beyond this machine its names must be declared, so that no foreign
/// page can reach it under another.
fn hosts(config: &Config, listen: SocketAddr) -> anyhow::Result<Vec<String>> {
    let declared = &config.server.hosts;
    if !listen.ip().is_loopback() && declared.is_empty() {
        bail!(
            "`{listen}` can be reached from other machines; list the names under which it is \
             reached as `server.hosts` in `haft.toml`"
        );
    }
    if let Some(odd) = declared.iter().find(|host| host.contains(['/', '[']) || is_with_port(host))
    {
        bail!("`server.hosts`: `{odd}` must be a name or an address, without scheme and port");
    }
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let named = listen.ip().to_string();
    Ok(own.into_iter().chain([named]).chain(declared.iter().cloned()).collect())
}

/// `host:7411`; an IPv6 address has more than one colon.
fn is_with_port(host: &str) -> bool {
    host.matches(':').count() == 1
}

struct Administrator {
    key: Key,
    tenant: String,
    file: String,
}

/// The administrator's key: made at the first start, kept where only its owner can read it.
fn administrator(config: &Config) -> anyhow::Result<Administrator> {
    let database = config.database();
    let folder = database.parent().map(Path::to_path_buf).unwrap_or_default();
    let path = folder.join("admin.key");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) if is_whole(text.trim()) => text.trim().to_owned(),
        Ok(_) => bail!(
            "`{}` does not hold a whole key; remove it, and a new one is made",
            path.display()
        ),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut random = [0; 32];
            getrandom::fill(&mut random).map_err(|why| anyhow!("no random numbers: {why}"))?;
            let (text, _) = mint("admin", &random);
            make(&folder)?;
            write_private(&path, &text)
                .with_context(|| format!("`{}` cannot be written", path.display()))?;
            text
        }
        Err(error) => {
            return Err(error).with_context(|| format!("`{}` cannot be read", path.display()));
        }
    };
    let key = Key {
        id: "admin".to_owned(),
        sha256: hash_of(&text),
        tenant: config
            .records()
            .tenants
            .first()
            .map_or_else(|| "default".into(), |one| one.id.clone()),
        principal: Principal::user("admin"),
        subject: None,
        roles: vec![Role::Administrator],
        agents: None,
    };
    let tenant = key.tenant.clone();
    Ok(Administrator { key, tenant, file: path.display().to_string() })
}

/// A key that was cut short would be easy to guess.
fn is_whole(text: &str) -> bool {
    let secret = text.strip_prefix("haft_admin_").unwrap_or_default();
    secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")
}

fn greet(desk: &Desk, at: SocketAddr, key: &str, out: &mut Output) {
    let registry = desk.runtime.current();
    let agent = desk
        .config
        .records()
        .agents
        .first()
        .map_or_else(|| "default".to_owned(), |agent| agent.id.clone());
    let tools = registry.tools.len();
    out.line(&format!("haft serves {tools} tools (registry {}) on http://{at}", registry.version));
    out.line(&format!("the administrator's key is in {key}\n"));
    let example = match registry.find("image_draft_prompt") {
        Some(_) => {
            r#"{"tool": "image_draft_prompt", "arguments": {"subject": "a paper lantern", "style": "watercolour"}}"#
                .to_owned()
        }
        None => {
            let first = registry.tools.first().map_or("a_tool", |tool| tool.id.as_str());
            format!(r#"{{"tool": "{first}", "arguments": {{}}}}"#)
        }
    };
    out.line("call a tool:");
    out.line(&format!(
        "  curl -s http://{at}/v1/agents/{agent}/calls -H \"Authorization: Bearer $(cat {key})\" \\\n    \
         -H 'Content-Type: application/json' -d '{example}'"
    ));
    out.line("\nthe API:");
    out.line(&format!("  curl -s http://{at}/v1/openapi.json"));
}

/// Until the process is told to stop.
fn stopped() -> anyhow::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
