//! `[server]`, `[[keys]]` and `[[issuers]]`: where `haft serve` listens, and who may come in.

use std::net::SocketAddr;
use std::time::Duration;

use haft_server::Limits;
use haft_server::who::Key;
use haft_server::who::jwt::Issuer;
use serde::Deserialize;

/// So many seconds a server that is told to stop says so before it closes its door.
const LEAVE_S: u64 = 1;

/// The section as it is written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawServer {
    listen: Option<SocketAddr>,
    hosts: Vec<String>,
    max_body_bytes: Option<usize>,
    max_requests: Option<usize>,
    max_connections: Option<usize>,
    max_streams: Option<usize>,
    tend_s: Option<u64>,
    leave_s: Option<u64>,
    log: Logging,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Logging {
    /// Warnings alone: as text on a terminal, as JSON elsewhere.
    #[default]
    Auto,
    /// Every event, one JSON object per line.
    Json,
    /// Every event, one line of text each.
    Text,
    /// None.
    Off,
}

impl RawServer {
    pub(super) fn resolve(self, keys: Vec<Key>, issuers: Vec<Issuer>) -> Serving {
        let mut limits = Limits::default();
        limits.body_bytes = self.max_body_bytes.unwrap_or(limits.body_bytes);
        limits.at_once = self.max_requests.unwrap_or(limits.at_once);
        limits.connections = self.max_connections.unwrap_or(limits.connections);
        limits.watchers = self.max_streams.unwrap_or(limits.watchers);
        // Never without a pause.
        limits.tend = self.tend_s.map_or(limits.tend, |s| Duration::from_secs(s.max(1)));
        limits.leave = Duration::from_secs(self.leave_s.unwrap_or(LEAVE_S));
        Serving { listen: self.listen, hosts: self.hosts, limits, keys, issuers, log: self.log }
    }
}

/// What `haft serve` reads.
#[derive(Debug, Default)]
pub(crate) struct Serving {
    /// Where to listen.
    pub(crate) listen: Option<SocketAddr>,
    /// Names of the server beside those of this machine's loopback.
    pub(crate) hosts: Vec<String>,
    /// The numbers.
    pub(crate) limits: Limits,
    /// Who may come in.
    pub(crate) keys: Vec<Key>,
    /// Whose tokens open it.
    pub(crate) issuers: Vec<Issuer>,
    /// How the log is written.
    pub(crate) log: Logging,
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    #[track_caller]
    fn check(text: &str, home: &str) {
        let folder = std::env::temp_dir();
        let file = folder.join(format!("haft-home-{}.toml", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let config = Config::find(Some(&file), &folder);
        std::fs::remove_file(&file).unwrap();
        let config = config.unwrap();
        assert_eq!(config.first_tenant(), home, "{text}");
    }

    #[test]
    fn the_home_tenant_is_the_first_that_is_declared_whoever_holds_the_first_key() {
        let key = "[[keys]]\nid = \"eve\"\nsha256 = \"00\"\ntenant = \"guest\"\n\
                   principal = \"user:eve\"\nroles = [\"administrator\"]\n";
        let tenants = "[[tenants]]\nid = \"house\"\n[[tenants]]\nid = \"guest\"\n";
        check("", "default");
        check(key, "default");
        check(&format!("{key}{tenants}"), "house");
        check(&format!("{tenants}{key}"), "house");
    }
}
