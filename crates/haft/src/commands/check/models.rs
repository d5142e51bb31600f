//! The models that agents talk to.

use super::Inspection;
use crate::config::{Config, Model};

impl Inspection<'_> {
    /// Which APIs the models speak that agents talk to, and where they are.
    pub(super) fn models(&mut self, config: &Config) {
        for (name, model, _) in self.every_model(config) {
            let own = name == "`model" || model.provider != config.common_model().provider;
            if let Err(why) = model.api()
                && own
            {
                self.say("error", &format!("{name}.provider`: {why}"));
            }
            // One that is not its own is said once, where it stands.
            let own = name == "`model" || model.url != config.common_model().url;
            if let Err(why) = model.place()
                && own
            {
                self.say("error", &format!("{name}.url`: {why}"));
            }
        }
    }

    /// Where each stands, what it is, and whose connection has its key.
    fn every_model(&self, config: &Config) -> Vec<(String, Model, String)> {
        let home = config.first_tenant();
        let mut all = vec![("`model".to_owned(), config.common_model().clone(), home)];
        for (tenant, agent) in config.agents_with_models() {
            let name = section(tenant, agent, self.text);
            let own = config.model(tenant, agent);
            all.push((name.trim_end_matches('`').to_owned(), own, config.pays(tenant, agent)));
        }
        all
    }

    /// The connections that have the keys of models.
    pub(super) fn connected(&mut self, config: &Config) {
        for (name, model, tenant) in self.every_model(config) {
            let missing =
                model.connection.as_ref().filter(|id| !config.declares(&tenant, id.as_str()));
            if let Some(id) = missing {
                self.unconnected(&format!("{name}.connection`"), &tenant, id);
            }
        }
        for agent in &config.records.agents {
            let Some(model) = &agent.model else { continue };
            if !config.declares(&agent.tenant, &model.connection) {
                let name = format!("`agents`, `{}`: `model`", agent.id);
                self.unconnected(&name, &agent.tenant, &model.connection);
            }
        }
    }

    pub(super) fn unconnected(&mut self, what: &str, tenant: &str, id: &str) {
        let help = "it may be one of the store (`haft connections list`); declare it under \
                    [[connections.accounts]] where it is not";
        let why = format!("no connection `{id}` of tenant `{tenant}` is declared");
        self.say("warning", &format!("{what}: {why}; {help}"));
    }
}

/// The section of an agent's model, as the file has it.
pub(super) fn section(tenant: &str, agent: &str, text: &str) -> String {
    let whole = format!("models.\"{tenant}/{agent}\"");
    match text.contains(&whole) {
        true => format!("`{whole}`"),
        false => format!("`models.{agent}`"),
    }
}
