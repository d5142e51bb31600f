//! `[mcp]`: what MCP clients find, and whose word counts as an approval.

use std::time::Duration;

use anyhow::bail;
use haft_server::mcp::{Approvals, Names, Settings};
use serde::Deserialize;
use url::Url;

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
    pub(super) fn resolve(self) -> anyhow::Result<Settings> {
        if let Some(url) = self.public_url.as_deref().filter(|url| !is_base(url)) {
            bail!(
                "`mcp.public_url`: `{url}` must be an address as others know it, \
                 `https://tools.example.org` say"
            );
        }
        let mut settings = Settings::default();
        settings.names = self.names;
        settings.approvals = self.approvals;
        settings.discovery_only = self.discovery_only;
        settings.sessions = self.max_sessions.unwrap_or(settings.sessions);
        settings.idle = self.session_idle_s.map_or(settings.idle, Duration::from_secs);
        settings.public_url = self.public_url;
        settings.authorization_servers = self.authorization_servers;
        settings.instructions = self.instructions;
        Ok(settings)
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
