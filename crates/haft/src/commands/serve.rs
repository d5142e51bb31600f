//! `haft serve`

mod administrator;
mod descriptors;
mod dev;
pub(super) mod ending;
mod greet;
pub(super) mod told;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use haft_core::port::Observe;
use haft_server::logs::Log;
use haft_server::traces::Traces;
use haft_server::who::Keys;
use haft_server::who::jwt::Issuers;
use haft_server::{Door, Hub, Metrics};
use tokio::net::TcpListener;

pub(crate) use administrator::quoted;

use super::lint::counted;
use crate::assembly::{Desk, block_on};
use crate::bundled;
use crate::cli::Serve;
use crate::config::{Config, Logging};
use crate::logs;
use crate::models::models;
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) const LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7411);

pub(crate) fn run(at: &Place, options: &Serve, out: &mut Output) -> anyhow::Result<Exit> {
    let at = &bundled::or_here(at, options.registry.as_deref(), out)?;
    let told = told::listen()?;
    block_on(async {
        let hub = Hub::default();
        let publish = Arc::new(hub.clone());
        let config = at.config()?;
        let metrics = Arc::new(Metrics::with_label_sets(config.server.label_sets));
        let mut observers: Vec<Arc<dyn Observe>> = vec![metrics.clone(), Arc::new(Log)];
        let collector = config.otlp.collector(|name| std::env::var(name).ok())?;
        let traces = collector.map(Traces::start).transpose().map_err(anyhow::Error::msg)?;
        let traces = traces.map(Arc::new);
        observers.extend(traces.clone().map(|one| one as Arc<dyn Observe>));
        let desk = Desk::open_observed(at, options.registry.as_deref(), publish, observers, out)?;
        desk.sound()?;
        logs::start(desk.config.server.log)?;
        take_over(&desk, out).await?;
        desk.reopen_sessions(out).await?;
        let listen = options.listen.or(desk.config.server.listen).unwrap_or(LISTEN);
        let hosts = hosts(&desk.config, listen)?;
        let admin = administrator::of(&desk.config).context("the administrator's key")?;
        let mut keys = desk.config.server.keys.clone();
        keys.extend(admin.made.clone());
        let keys = Keys::load(&keys).context("`keys`")?;
        let listener = TcpListener::bind(listen).await.map_err(|why| unheard(listen, why))?;
        let address = listener.local_addr()?;
        let limits = descriptors::within(desk.config.server.limits.clone(), out);
        let issuers = Issuers::load(&desk.config.server.issuers).context("`issuers`")?;
        let door = Door::new(desk.runtime.clone(), hub, keys, hosts, limits)
            .with_models(models(&desk)?)
            .with_mcp(desk.config.mcp.clone())
            .with_socket_approvals(desk.config.server.socket_approvals)
            .home(&desk.config.first_tenant())
            .issuers(issuers)
            .metrics(metrics);
        let door = Arc::new(door);
        let link = door.invite(&admin.id);
        let (told, again) = told.serving(ending::time(door.limits.leave));
        greet::greet(&desk, (at, options), address, &admin, link.as_deref(), out);
        let watching = match options.dev {
            true => Some(dev::watch(&desk, at, out)?),
            false => None,
        };
        let left = haft_server::serve(listener, door, told, again).await;
        drop(watching);
        if left.effects > 0 {
            let verb = if left.effects == 1 { "was" } else { "were" };
            let effects = counted(left.effects, "effect");
            out.note(&format!("{effects} {verb} still running; see `haft effects`"));
        }
        if left.requests > 0 {
            let verb = if left.requests == 1 { "was" } else { "were" };
            out.note(&format!("{} {verb} not answered", counted(left.requests, "request")));
        }
        let end = if left.effects + left.requests > 0 { Exit::Findings } else { Exit::Done };
        last(&desk, traces.as_deref()).await?;
        Ok(end)
    })
}

/// What is still to be written, in the time that there is for it.
pub(super) async fn last(desk: &Desk, traces: Option<&Traces>) -> anyhow::Result<()> {
    let told = async {
        if let Some(traces) = traces {
            traces.flush(ending::LAST).await;
        }
    };
    if desk.store.only_read().is_some() {
        told.await;
        return Ok(());
    }
    let kept = haft_core::port::Journal::flush(&*desk.store);
    let (kept, ()) = tokio::join!(tokio::time::timeout(ending::LAST, kept), told);
    match kept {
        Ok(kept) => kept.context("the last records"),
        Err(_) => bail!("the last records: the store took too long"),
    }
}

/// Takes over what processes that were killed have left, and says so in the log, where there is one;
/// and what is wrong with the audit trail.
async fn take_over(desk: &Desk, out: &Output) -> anyhow::Result<()> {
    desk.warn(out).await;
    if desk.config.server.log == Logging::Off {
        return desk.tend(out).await;
    }
    if let Some(why) = desk.store.only_read() {
        haft_server::logs::only_read(&why);
    }
    haft_server::logs::touched(&desk.distrusted().await);
    haft_server::logs::unknown(&desk.left().await?);
    Ok(())
}

/// Why nobody can be listened to there, and what helps.
fn unheard(listen: SocketAddr, why: std::io::Error) -> anyhow::Error {
    let taken = why.kind() == std::io::ErrorKind::AddrInUse;
    let error = anyhow::Error::new(why);
    match taken {
        true => error.context(format!(
            "`{listen}` is taken, perhaps by another `haft serve`; choose another port with \
             `--listen {}:<port>` (0 is any that is free) or `server.listen` in haft.toml",
            listen.ip()
        )),
        false => error.context(format!(
            "`{listen}` cannot be listened on; choose another address with `--listen` or \
             `server.listen` in haft.toml"
        )),
    }
}

/// What the server is called. Beyond this machine its names must be declared, so that no foreign
/// page can reach it under another.
pub(crate) fn hosts(config: &Config, listen: SocketAddr) -> anyhow::Result<Vec<String>> {
    let declared = &config.server.hosts;
    if let Some(first) = host_faults(config, listen).into_iter().next() {
        return Err(first);
    }
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let named = listen.ip().to_string();
    Ok(own.into_iter().chain([named]).chain(declared.iter().cloned()).collect())
}

/// Everything that is wrong with its names.
pub(crate) fn host_faults(config: &Config, listen: SocketAddr) -> Vec<anyhow::Error> {
    let declared = &config.server.hosts;
    let open = !listen.ip().is_loopback() && declared.is_empty();
    let open = open.then(|| {
        anyhow!(
            "`{listen}` can be reached from other machines; list the names under which it is \
             reached as `server.hosts` in `haft.toml`"
        )
    });
    let odd = declared.iter().filter(|host| !is_name(host)).map(|odd| {
        anyhow!(
            "`server.hosts`: `{odd}` must be a name or an address, `tools.example.org` say, without \
             scheme, port and `*`"
        )
    });
    open.into_iter().chain(odd).collect()
}

/// Whether a client could ask for it: a name as DNS has them, or an address. Names in other letters
/// are asked for in their ASCII form, which is the one that has to be written.
fn is_name(host: &str) -> bool {
    let label = |label: &str| {
        let fits = (1..=63).contains(&label.len());
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        fits && label.bytes().all(plain) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_dns = host.len() <= 253 && host.split('.').all(label);
    is_dns || host.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn a_host_is_what_a_client_can_ask_for() {
        let long = format!("{}.example", "a".repeat(64));
        for (host, expected) in [
            ("tools.example.org", true),
            ("localhost", true),
            ("haft_1", true),
            ("xn--bcher-kva.example", true),
            ("10.0.0.1", true),
            ("fe80::1", true),
            ("", false),
            ("*.example.org", false),
            ("tools example", false),
            ("https://tools.example.org", false),
            ("tools.example.org:7411", false),
            ("tools.example.org/", false),
            ("[::1]", false),
            ("b\u{fc}cher.example", false),
            ("a..b", false),
            ("-a.example", false),
            (long.as_str(), false),
        ] {
            assert_eq!(is_name(host), expected, "{host}");
        }
    }
}
