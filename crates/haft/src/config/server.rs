//! `[server]`, `[[keys]]` and `[[issuers]]`: where `haft serve` listens, and who may come in.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::anyhow;
use haft_server::Limits;
use haft_server::mcp::Approvals;
use haft_server::metrics::MOST_LABEL_SETS;
use haft_server::who::Key;
use haft_server::who::jwt::Issuer;
use serde::Deserialize;

/// So many seconds a server that is told to stop says so before it closes its door.
const LEAVE_S: u64 = 1;

/// And so many at most: whoever tells it to stop waits for that, and would take a longer time for an end
/// that does not come.
const MOST_LEAVE_S: u64 = 60;

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
    keep_alive_s: Option<u64>,
    leave_s: Option<u64>,
    max_label_sets: Option<usize>,
    socket_approvals: Option<Approvals>,
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
    pub(super) fn resolve(
        self,
        keys: Vec<Key>,
        issuers: Vec<Issuer>,
        wrong: &mut Vec<anyhow::Error>,
    ) -> Serving {
        let counted = [
            ("max_body_bytes", self.max_body_bytes),
            ("max_requests", self.max_requests),
            ("max_connections", self.max_connections),
            ("max_streams", self.max_streams),
            ("max_label_sets", self.max_label_sets),
        ];
        for (name, _) in counted.iter().filter(|(_, most)| *most == Some(0)) {
            wrong.push(anyhow!(
                "`server.{name}` must be at least 1: with 0, nothing would be answered or counted"
            ));
        }
        super::none_of("server", &[("keep_alive_s", self.keep_alive_s)], wrong);
        if self.tend_s == Some(0) {
            wrong.push(anyhow!("`server.tend_s` must be at least 1: never without a pause"));
        }
        if self.leave_s.is_some_and(|seconds| seconds > MOST_LEAVE_S) {
            wrong.push(anyhow!(
                "`server.leave_s` must be at most {MOST_LEAVE_S}: a server that is told to stop \
                 goes on for so long"
            ));
        }
        let mut limits = Limits::default();
        limits.body_bytes = self.max_body_bytes.unwrap_or(limits.body_bytes);
        limits.at_once = self.max_requests.unwrap_or(limits.at_once);
        limits.connections = self.max_connections.unwrap_or(limits.connections);
        limits.watchers = self.max_streams.unwrap_or(limits.watchers);
        limits.tend = self.tend_s.map_or(limits.tend, Duration::from_secs);
        let keep_alive = self.keep_alive_s.map(Duration::from_secs);
        limits.keep_alive = keep_alive.unwrap_or(limits.keep_alive);
        limits.leave = Duration::from_secs(self.leave_s.unwrap_or(LEAVE_S));
        let (listen, hosts, log) = (self.listen, self.hosts, self.log);
        let label_sets = self.max_label_sets.unwrap_or(MOST_LABEL_SETS);
        let socket_approvals = self.socket_approvals.unwrap_or(Approvals::Approvers);
        Serving { listen, hosts, limits, keys, issuers, label_sets, socket_approvals, log }
    }
}

/// What `haft serve` reads.
#[derive(Debug)]
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
    /// How many sets of labels a metric has before the rest is counted together.
    pub(crate) label_sets: usize,
    /// Whose word counts as an approval over a session's socket.
    pub(crate) socket_approvals: Approvals,
    /// How the log is written.
    pub(crate) log: Logging,
}

impl Default for Serving {
    fn default() -> Self {
        Self {
            listen: None,
            hosts: Vec::new(),
            limits: Limits::default(),
            keys: Vec::new(),
            issuers: Vec::new(),
            label_sets: MOST_LABEL_SETS,
            socket_approvals: Approvals::Approvers,
            log: Logging::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::Approvals;

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

    #[track_caller]
    fn refuses(text: &str, expected: &str) {
        let file = std::env::temp_dir().join(format!("haft-refused-{}.toml", std::process::id()));
        std::fs::write(&file, text).unwrap();
        let read = Config::find(Some(&file), &std::env::temp_dir());
        std::fs::remove_file(&file).unwrap();
        let why = format!("{:#}", read.unwrap_err());
        assert!(why.contains(expected), "{why}");
    }

    #[test]
    fn a_server_that_could_answer_nobody_is_refused() {
        for name in
            ["max_body_bytes", "max_requests", "max_connections", "max_streams", "max_label_sets"]
                .into_iter()
                .chain(["tend_s"])
        {
            refuses(&format!("[server]\n{name} = 0\n"), &format!("`server.{name}` must be"));
        }
        for url in ["not a url", "tools.example.org", "ftp://x", "https://x/?a=b", "file:///x"] {
            refuses(&format!("[mcp]\npublic_url = \"{url}\"\n"), "`mcp.public_url`");
        }
        check("[mcp]\npublic_url = \"https://tools.example.org/haft\"\n", "default");
    }

    #[test]
    fn a_server_that_would_not_end_is_refused() {
        for seconds in ["61", "100000", "9223372036854775807"] {
            let text = format!("[server]\nleave_s = {seconds}\n");
            refuses(&text, "`server.leave_s` must be at most 60");
        }
        check("[server]\nleave_s = 60\n", "default");
    }

    #[test]
    fn the_word_of_a_sockets_client_counts_only_where_that_is_said() {
        for (text, expected) in [
            ("", Approvals::Approvers),
            ("[server]\nsocket_approvals = \"approvers\"\n", Approvals::Approvers),
            ("[server]\nsocket_approvals = \"client\"\n", Approvals::Client),
        ] {
            let file = std::env::temp_dir().join(format!("haft-word-{}.toml", std::process::id()));
            std::fs::write(&file, text).unwrap();
            let config = Config::find(Some(&file), &std::env::temp_dir());
            std::fs::remove_file(&file).unwrap();
            assert_eq!(config.unwrap().server.socket_approvals, expected, "{text}");
        }
        refuses("[server]\nsocket_approvals = \"anybody\"\n", "anybody");
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
