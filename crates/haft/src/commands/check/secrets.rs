//! What is needed beside the file: credentials and keys.

use haft_store::Sqlite;
use haft_store::vault::{KeyPlace, Keyring};

use super::Inspection;
use super::models::section;
use crate::config::Config;

impl Inspection<'_> {
    /// What is needed beside the file: it may be there where the server runs, and not here.
    pub(super) fn secrets(&mut self, config: &Config) {
        for one in &config.outside.accounts {
            let id = one.account().id;
            if let Err(why) = one.credentials() {
                self.say("warning", &format!("`connections.accounts`, `{id}`: {why}"));
            }
            if let Some(path) = one.exposed() {
                let path = path.display();
                let why =
                    format!("everybody on this machine can read `{path}`; `chmod 600 {path}`");
                self.say("warning", &format!("`connections.accounts`, `{id}`: {why}"));
            }
        }
        let place = config.outside.key_place(&config.database());
        if let Err(why) = place.read() {
            let (name, is_here) = match &place {
                KeyPlace::Env(name) => ("`connections.key_env`", std::env::var_os(name).is_some()),
                KeyPlace::File(path) => ("`connections`", path.exists()),
                KeyPlace::Named(path) => ("`connections.key_file`", path.exists()),
            };
            // Whoever checks may not be the one who may read it. But what is here and no key will not do.
            let hidden = why.kind() == std::io::ErrorKind::PermissionDenied;
            let severity = if is_here && !hidden { "error" } else { "warning" };
            self.say(severity, &format!("{name}: {why}"));
        } else if let Ok(keys) = place.read() {
            self.lost_keys(config, &keys);
        }
        let variable = |name: &str| std::env::var(name).ok();
        let common = config.common_model();
        if common.provider.is_some() {
            for why in common.faults(variable) {
                self.say("warning", &format!("`model.provider`: {why}"));
            }
        }
        for (tenant, agent) in config.agents_with_models() {
            for why in config.model(tenant, agent).faults(variable) {
                self.say("warning", &format!("{}: {why}", section(tenant, agent, self.text)));
            }
        }
    }

    /// Keys that something in the store was sealed with, and that are not here.
    pub(super) fn lost_keys(&mut self, config: &Config, keys: &Keyring) {
        let database = config.database();
        let sealed = match Sqlite::sealed_with(&database) {
            Ok(sealed) => sealed,
            // It may be of another version; whoever opens it says more.
            Err(_) => return,
        };
        for id in sealed.iter().filter(|id| !keys.knows(id)) {
            let what =
                format!("something in `{}` was sealed with the key {id}", database.display());
            let help = "it is not here, and without it the store does not open; put it back";
            self.say("error", &format!("`connections`: {what}; {help}"));
        }
    }
}
