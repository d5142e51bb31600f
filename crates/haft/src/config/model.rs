//! `[model]` and `[models.<agent>]`: which model an agent talks to, and how far it may go.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::anyhow;
use haft_agent::Settings;
use haft_agent::http::{Endpoint, Provider};
use haft_wire::Strictness;
use serde::Deserialize;

use crate::output::misuse;

/// As it is written: everything optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) provider: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) key_env: Option<String>,
    pub(crate) connection: Option<String>,
    pub(crate) max_rounds: Option<u32>,
    pub(crate) max_calls: Option<u32>,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) max_seconds: Option<u64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) retries: Option<u32>,
    pub(crate) idle_s: Option<u64>,
    pub(crate) strict: Option<bool>,
    pub(crate) tools_budget: Option<usize>,
    pub(crate) pinned: Option<Vec<String>>,
    pub(crate) describe: Option<bool>,
    pub(crate) documented: Option<Vec<String>>,
    pub(crate) mention_unavailable: Option<bool>,
    pub(crate) instructions: Option<String>,
    pub(crate) connections: Option<BTreeMap<String, String>>,
    /// Of the common one: which tenants' agents may talk to it beside those of the first.
    pub(crate) tenants: Option<Vec<String>>,
}

impl Model {
    /// The times, rounds and words that it is given: of none, nothing would be answered.
    pub(super) fn numbers(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("max_rounds", self.max_rounds.map(u64::from)),
            ("max_tokens", self.max_tokens),
            ("max_output_tokens", self.max_output_tokens),
            ("max_seconds", self.max_seconds),
            ("idle_s", self.idle_s),
        ]
    }
}

/// Models by tenant and agent. An agent is written `<tenant>/<agent>`, or by its name alone where only
/// one tenant has one of that name.
pub(super) fn by_agent(
    raw: BTreeMap<String, Model>,
    agents: &[(String, String)],
    home: &str,
    wrong: &mut Vec<anyhow::Error>,
) -> BTreeMap<(String, String), Model> {
    let mut all = BTreeMap::new();
    for (name, model) in raw {
        if model.tenants.is_some() {
            wrong.push(anyhow!(
                "`models.{name}.tenants`: whose agents share a model is said under [model] alone"
            ));
        }
        let key = match name.split_once('/') {
            Some((tenant, agent)) => (tenant.to_owned(), agent.to_owned()),
            None => {
                let mut named = agents.iter().filter(|(_, agent)| *agent == name);
                match (named.next(), named.next()) {
                    (Some((first, _)), Some((second, _))) => {
                        wrong.push(anyhow!(
                            "`models.{name}`: `{first}` and `{second}` have an agent of this name; \
                             write `models.\"{first}/{name}\"` or `models.\"{second}/{name}\"`"
                        ));
                        continue;
                    }
                    (Some((tenant, _)), None) => (tenant.clone(), name.clone()),
                    (None, _) => (home.to_owned(), name.clone()),
                }
            }
        };
        if all.insert(key, model).is_some() {
            wrong.push(anyhow!("`models`: the agent `{name}` is there twice"));
        }
    }
    all
}

impl Model {
    /// What is said here, and for the rest what is said there.
    pub(crate) fn or(self, there: &Self) -> Self {
        let there = there.clone();
        // A model of another provider has nothing to do with the common one's address and key.
        let same = self.provider.is_none() || self.provider == there.provider;
        let place = |here: Option<String>, there: Option<String>| here.or(there.filter(|_| same));
        // Whoever brings one kind of key does not mean the common one's other kind.
        let keyed = self.key_env.is_some() || self.connection.is_some();
        let key = |there: Option<String>| there.filter(|_| !keyed);
        Self {
            url: place(self.url, there.url),
            key_env: place(self.key_env, key(there.key_env)),
            connection: place(self.connection, key(there.connection)),
            name: place(self.name, there.name),
            provider: self.provider.or(there.provider),
            max_rounds: self.max_rounds.or(there.max_rounds),
            max_calls: self.max_calls.or(there.max_calls),
            max_tokens: self.max_tokens.or(there.max_tokens),
            max_seconds: self.max_seconds.or(there.max_seconds),
            max_output_tokens: self.max_output_tokens.or(there.max_output_tokens),
            retries: self.retries.or(there.retries),
            idle_s: self.idle_s.or(there.idle_s),
            strict: self.strict.or(there.strict),
            tools_budget: self.tools_budget.or(there.tools_budget),
            pinned: self.pinned.or(there.pinned),
            describe: self.describe.or(there.describe),
            documented: self.documented.or(there.documented),
            mention_unavailable: self.mention_unavailable.or(there.mention_unavailable),
            instructions: self.instructions.or(there.instructions),
            connections: self.connections.or(there.connections),
            tenants: None,
        }
    }

    /// Where the model is, with its key from the environment.
    pub(crate) fn endpoint(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Endpoint> {
        let mut wrong = Vec::new();
        let endpoint = self.endpoint_noting(variable, &mut wrong);
        super::sound(endpoint, wrong)
    }

    /// Everything beside its API and its address that keeps it from being reached, the first first.
    pub(crate) fn faults(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<anyhow::Error> {
        let mut wrong = Vec::new();
        let _ = self.endpoint_noting(variable, &mut wrong);
        // What is wrong with its API comes first.
        wrong.into_iter().skip(usize::from(self.api().is_err())).collect()
    }

    /// The API that it speaks, where one is named.
    pub(crate) fn api(&self) -> anyhow::Result<Option<Provider>> {
        let parse = |name: &String| name.parse().map_err(|why: String| anyhow!(why));
        self.provider.as_ref().map(parse).transpose()
    }

    fn endpoint_noting(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        wrong: &mut Vec<anyhow::Error>,
    ) -> Option<Endpoint> {
        if self.provider.is_none() {
            wrong.push(misuse(format!(
                "no model is set up; say which API it speaks with `--provider {}`, or in haft.toml:\n\n\
                 [model]\nprovider = \"openai\"\nname = \"<the model's name>\"\nkey_env = \"OPENAI_API_KEY\"",
                Provider::ALL.map(Provider::as_str).join("|")
            )));
            return None;
        }
        let provider = super::or_default(self.api(), wrong);
        let model = self.name.clone().filter(|name| !name.trim().is_empty());
        if model.is_none() {
            wrong.push(misuse(
                "no model is named; use `--model NAME`, or set `name` under [model] in haft.toml",
            ));
        }
        // A key is sent nowhere but to whom it belongs: an address of one's own gets one only when
        // its variable was named.
        let named = match (&self.key_env, &self.url) {
            // Whoever names a connection brings the key from there.
            (None, _) if self.connection.is_some() => None,
            (Some(name), _) => Some(name.as_str()),
            (None, None) => provider.map(Provider::default_key_env),
            (None, Some(_)) => None,
        };
        let key = named.and_then(|name| {
            // A line end from a file is no part of it, and would keep it from being found in texts.
            let key = variable(name).map(|key| key.trim().to_owned());
            let key = key.filter(|key| !key.is_empty());
            if key.is_none() {
                wrong.push(anyhow!(
                    "the key of the model is missing: set the environment variable `{name}`, or \
                     name another one with `--key-env VAR` or `key_env` under [model] in haft.toml"
                ));
            }
            key
        });
        Some(Endpoint { provider: provider?, url: self.url.clone(), model: model?, key })
    }

    /// Says what is wrong with its address, whether its key is at hand or not.
    pub(crate) fn place(&self) -> anyhow::Result<()> {
        let Ok(Some(provider)) = self.api() else { return Ok(()) };
        let keyed = self.key_env.is_some() || self.connection.is_some();
        let model = self.name.clone().unwrap_or_default();
        Ok(Endpoint { provider, url: self.url.clone(), model, key: None }.check(keyed)?)
    }

    /// How the loop runs.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        let limits = &mut settings.limits;
        limits.rounds = self.max_rounds.unwrap_or(limits.rounds);
        limits.calls = self.max_calls.unwrap_or(limits.calls);
        limits.tokens = self.max_tokens.unwrap_or(limits.tokens);
        limits.time = self.max_seconds.map_or(limits.time, Duration::from_secs);
        let patience = &mut settings.patience;
        patience.retries = self.retries.unwrap_or(patience.retries);
        patience.idle = self.idle_s.map_or(patience.idle, Duration::from_secs);
        if self.strict == Some(true) {
            settings.strictness = Strictness::Strict;
        }
        settings.tools_budget = self.tools_budget.unwrap_or(settings.tools_budget);
        settings.pinned = self.pinned.clone().unwrap_or_default();
        settings.describe = self.describe.unwrap_or(settings.describe);
        settings.documented = self.documented.clone().unwrap_or_default();
        settings.mention_unavailable = self.mention_unavailable.unwrap_or_default();
        settings.max_output_tokens = self.max_output_tokens;
        settings.instructions.clone_from(&self.instructions);
        settings
    }

    /// How far it may go, and nothing of where it is.
    pub(crate) fn limits(&self) -> Self {
        let own = self.clone();
        Self {
            max_rounds: own.max_rounds,
            max_calls: own.max_calls,
            max_tokens: own.max_tokens,
            max_seconds: own.max_seconds,
            max_output_tokens: own.max_output_tokens,
            retries: own.retries,
            idle_s: own.idle_s,
            strict: own.strict,
            tools_budget: own.tools_budget,
            describe: own.describe,
            ..Self::default()
        }
    }

    /// By provider, the connection that calls may use.
    pub(crate) fn connections(&self) -> BTreeMap<String, String> {
        self.connections.clone().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(text: &str) -> Model {
        toml::from_str(text).unwrap()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let variable = |name: &str| (name == "SET").then(|| " sk-1\n".to_owned());
        let found = match model(text).endpoint(variable) {
            Ok(endpoint) => format!(
                "{} {} {} {}.",
                endpoint.provider,
                endpoint.url.as_deref().unwrap_or("-"),
                endpoint.model,
                endpoint.key.as_deref().unwrap_or("-")
            ),
            Err(why) => why.to_string(),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn what_is_missing_is_named() {
        check("", "no model is set up; say which API it speaks with `--provider openai|");
        check("provider = 'gpt'", "`gpt` is not a provider; use one of openai, openai-responses");
        check("provider = 'openai'", "no model is named; use `--model NAME`");
        check("provider = 'openai'\nname = 'm'", "set the environment variable `OPENAI_API_KEY`");
        check("provider = 'gemini'\nname = 'm'\nkey_env = 'NOPE'", "environment variable `NOPE`");
        check("provider = 'anthropic'\nname = 'm'\nkey_env = 'SET'", "anthropic - m sk-1.");
        // A key goes to an address of one's own only when it was named for it.
        check("provider = 'openai'\nname = 'm'\nurl = 'http://x'", "openai http://x m -");
    }

    #[test]
    fn an_agents_model_comes_before_the_common_one() {
        let common = model("provider = 'openai'\nname = 'a'\nurl = 'http://x'\nmax_rounds = 3");
        let own = model("name = 'b'").or(&common);
        assert_eq!((own.name.as_deref(), own.url.as_deref()), (Some("b"), Some("http://x")));
        assert_eq!(own.settings().limits.rounds, 3);
        let other = model("provider = 'anthropic'\nname = 'c'").or(&common);
        assert_eq!((other.name.as_deref(), other.url.as_deref()), (Some("c"), None));
        assert_eq!(other.settings().limits.rounds, 3);
        let keyed = model("provider = 'openai'\nkey_env = 'OURS'");
        let theirs = model("connection = 'theirs'").or(&keyed);
        assert_eq!((theirs.key_env, theirs.connection.as_deref()), (None, Some("theirs")));
        assert_eq!(model("name = 'd'").or(&keyed).key_env.as_deref(), Some("OURS"));
    }

    #[test]
    fn an_unknown_key_is_refused() {
        assert!(toml::from_str::<Model>("key = 'sk-secret'").is_err());
    }
}
