//! `[mcp]`: what MCP clients find, and whose word counts as an approval.

use std::time::Duration;

use anyhow::anyhow;
use haft_server::mcp::{Approvals, Names, Settings};
use serde::Deserialize;
use url::Url;

use super::number;

/// The section as it is written.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawMcp {
    names: Names,
    approvals: Approvals,
    discovery_only: bool,
    max_sessions: Option<usize>,
    session_idle_s: Option<u64>,
    public_url: Option<String>,
    authorization_servers: Vec<String>,
    instructions: Option<String>,
}

impl RawMcp {
    pub(super) fn resolve(self, wrong: &mut Vec<anyhow::Error>) -> Settings {
        if let Some(url) = self.public_url.as_deref().filter(|url| !is_base(url)) {
            wrong.push(anyhow!(
                "`mcp.public_url`: `{url}` must be an address as others know it, \
                 `https://tools.example.org` say"
            ));
        }
        for url in self.authorization_servers.iter().filter(|url| !is_base(url)) {
            wrong.push(anyhow!(
                "`mcp.authorization_servers`: `{url}` must be an address, `https://login.example.org` say"
            ));
        }
        let numbers =
            [("max_sessions", number(self.max_sessions)), ("session_idle_s", self.session_idle_s)];
        super::none_of("mcp", &numbers, wrong);
        let mut settings = Settings::default();
        settings.names = self.names;
        settings.approvals = self.approvals;
        settings.discovery_only = self.discovery_only;
        settings.sessions = self.max_sessions.unwrap_or(settings.sessions);
        settings.idle = self.session_idle_s.map_or(settings.idle, Duration::from_secs);
        settings.public_url = self.public_url;
        settings.authorization_servers = self.authorization_servers;
        settings.instructions = self.instructions;
        settings
    }
}

/// Whether paths can be put behind it.
pub(super) fn is_base(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
    })
}
