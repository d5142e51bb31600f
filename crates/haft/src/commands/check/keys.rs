//! Who may come in, and whose things are declared: keys, issuers, tenants and agents.

use haft_server::who::jwt::Issuers;
use haft_server::who::{BadKey, Keys};

use super::Inspection;
use super::models::section;
use crate::config::{Config, sections};

impl Inspection<'_> {
    /// Keys and issuers: each of them, though the first that is wrong keeps the server from starting.
    pub(super) fn keys(&mut self, config: &Config) {
        let now = jiff::Timestamp::now().as_millisecond();
        let mut good = Vec::new();
        for key in &config.server.keys {
            let faults = key.faults();
            for why in &faults {
                self.say("error", &format!("`keys`, `{}`: {why}", key.id));
            }
            if faults.is_empty() {
                good.push(key.clone());
                if let Err(why) = Keys::load(&good) {
                    good.pop();
                    self.say("error", &format!("`keys`, `{}`: {why}", key.id));
                }
            }
            if key.expires.is_some_and(|at| at.0 <= now) {
                let what = "it has ended and opens nothing; make another with `haft keys new`";
                self.say("warning", &format!("`keys`, `{}`: {what}", key.id));
            }
        }
        let mut good = Vec::new();
        for issuer in &config.server.issuers {
            let faults = issuer.faults();
            for why in &faults {
                self.say("error", &format!("`issuers`, `{}`: {why}", issuer.issuer));
            }
            if faults.is_empty() {
                good.push(issuer.clone());
                if let Err(why) = Issuers::load(&good) {
                    good.pop();
                    self.say("error", &format!("`issuers`, `{}`: {why}", issuer.issuer));
                }
            }
        }
    }

    /// What can be told of keys that could not be read as a whole.
    pub(super) fn unread_keys(&mut self, config: &Config) {
        let Some(whole) = sections::table(self.text) else { return };
        let text = |key: &toml::Value, name| key.get(name)?.as_str().map(str::to_owned);
        for key in whole.get("keys").and_then(toml::Value::as_array).into_iter().flatten() {
            let (Some(id), Some(sha256)) = (text(key, "id"), text(key, "sha256")) else { continue };
            let was_read = config.server.keys.iter().any(|one| one.id == id);
            if let Some(why) = BadKey::of_hash(&id, &sha256).filter(|_| !was_read) {
                self.say("error", &format!("`keys`, `{id}`: {why}"));
            }
        }
    }

    /// Agents and keys of tenants that there are not.
    pub(super) fn known(&mut self, config: &Config) {
        let records = config.records();
        let is = |tenant: &str| records.tenants.iter().any(|one| one.id == tenant);
        let accounts = config.outside.accounts.iter().map(|one| one.account());
        let mut named: Vec<(String, String)> = accounts
            .map(|one| (one.tenant, format!("`connections.accounts`, `{}`", one.id)))
            .collect();
        let keys = config.server.keys.iter();
        named.extend(keys.map(|one| (one.tenant.clone(), format!("`keys`, `{}`", one.id))));
        let rules = records.policies.iter();
        named.extend(rules.map(|one| (one.tenant.clone(), format!("`policies`, `{}`", one.id))));
        let shared = config.common_model().tenants.iter().flatten().filter(|one| *one != "*");
        named.extend(shared.map(|one| (one.clone(), "`model.tenants`".to_owned())));
        named.retain(|(tenant, _)| !is(tenant));
        for (tenant, what) in named {
            let help = "it may be one of the store; declare it under [[tenants]] where it is not";
            self.say("warning", &format!("{what}: no tenant `{tenant}` is declared; {help}"));
        }
        for (tenant, agent) in config.agents_with_models() {
            if !records.agents.iter().any(|one| one.tenant == *tenant && one.id == *agent) {
                let what = format!("no agent `{agent}` of tenant `{tenant}` is declared");
                let help =
                    "it may be one of the store; declare it under [[agents]] where it is not";
                self.say(
                    "warning",
                    &format!("{}: {what}; {help}", section(tenant, agent, self.text)),
                );
            }
        }
    }
}
