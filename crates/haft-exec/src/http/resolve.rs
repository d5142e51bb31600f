//! From a name to addresses that may be connected to.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use haft_core::port::Boxed;
use url::{Host, Url};

use super::address::{NEVER, Range, holds_credentials, is_loopback, may_reach};

/// A name server that takes longer is not waited for.
const SLOWEST: Duration = Duration::from_secs(2);
/// A name that stands for more is a trick.
const MOST: usize = 64;

/// Finds the addresses of a name.
pub trait Resolve: Send + Sync {
    /// Every address of a name.
    fn resolve<'a>(&'a self, name: &'a str) -> Boxed<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's own.
pub(super) struct System;

impl Resolve for System {
    fn resolve<'a>(&'a self, name: &'a str) -> Boxed<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Why a URL leads nowhere. The reasons are for the log: they tell of networks that a model has no
/// business with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nowhere {
    /// The name is not known now.
    Unknown(String),
    /// Calls may not go there, now or later.
    Refused(String),
}

/// Where a URL leads, every address of it judged.
pub(super) async fn addresses(
    url: &Url,
    resolver: &dyn Resolve,
    allowed: &[Range],
) -> Result<Vec<SocketAddr>, Nowhere> {
    let refused = |why: &str| Nowhere::Refused(why.to_owned());
    let port = url.port_or_known_default().ok_or_else(|| refused("the URL has no port"))?;
    let found = match url.host() {
        None => return Err(refused("the URL has no host")),
        Some(Host::Ipv4(address)) => vec![IpAddr::V4(address)],
        Some(Host::Ipv6(address)) => vec![IpAddr::V6(address)],
        Some(Host::Domain(name)) => {
            let asked = tokio::time::timeout(SLOWEST, resolver.resolve(name)).await;
            let late = |_| Nowhere::Unknown(format!("the name `{name}` was not resolved in time"));
            asked.map_err(late)?.map_err(|why| {
                Nowhere::Unknown(format!("the name `{name}` cannot be resolved: {why}"))
            })?
        }
    };
    match found.len() {
        0 => return Err(Nowhere::Unknown("the name stands for no address".to_owned())),
        1..=MOST => {}
        many => return Err(Nowhere::Refused(format!("the name stands for {many} addresses"))),
    }
    // One that may not be reached spoils the others: whoever mixes them is up to something.
    if let Some(bad) = found.iter().find(|address| !may_reach(**address, allowed)) {
        if holds_credentials(*bad) {
            return Err(Nowhere::Refused(format!("`{bad}`: {NEVER}, whatever is allowed")));
        }
        return Err(Nowhere::Refused(format!(
            "`{bad}` is not a public address; list its range in haft.toml where calls may go there: \
             as `http.allow`, for tools that tenants define as `definitions.allow`"
        )));
    }
    if url.scheme() != "https" && !found.iter().all(|address| is_loopback(*address)) {
        return Err(refused("what is not encrypted stays on this machine; use `https`"));
    }
    Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
}
