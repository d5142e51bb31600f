//! The policy: what `haft.toml` and its files of rules say, checked against the tools.

use haft_core::Registry;
use haft_runtime::policy::{Policy, Problem, Source, Text};

use super::{Config, FILE};

impl Config {
    /// The policy, checked against the tools that there are.
    pub(crate) fn policy(&self, registry: &Registry) -> Result<Policy, Vec<Problem>> {
        self.policy_of(&self.source()?, registry)
    }

    /// The same, of what it is made from.
    pub(crate) fn policy_of(
        &self,
        source: &Source,
        registry: &Registry,
    ) -> Result<Policy, Vec<Problem>> {
        // Tools that tenants bring along are named by nobody's mistake.
        let own = self.records.tenants.iter().flat_map(|one| &one.definitions);
        let own: Vec<String> = own.filter(|one| one.is_own()).map(|one| one.tool.clone()).collect();
        Policy::load_among(source, &[registry], &own)
    }

    /// What the policy is made from.
    pub(crate) fn source(&self) -> Result<Source, Vec<Problem>> {
        match self.readable_source() {
            (source, missing) if missing.is_empty() => Ok(source),
            (_, missing) => Err(missing),
        }
    }

    /// The same as far as it can be read, and what cannot.
    pub(crate) fn readable_source(&self) -> (Source, Vec<Problem>) {
        let folder = self.folder.clone().unwrap_or_default();
        let (mut cedar, mut missing) = (Vec::new(), Vec::new());
        for file in &self.rules.cedar {
            match std::fs::read_to_string(folder.join(file)) {
                Ok(text) => cedar.push(Text { file: file.clone(), text }),
                Err(error) => {
                    let why = crate::output::in_words(&error);
                    let message = format!("`policy.cedar`: `{file}` cannot be read: {why}");
                    missing.push(Problem::error(&self.file, message));
                }
            }
        }
        let mut rules = self.rules.clone();
        rules.cedar.retain(|file| cedar.iter().any(|one| one.file == *file));
        let source = Source {
            file: match self.folder {
                Some(_) => self.file.clone(),
                None => format!("{FILE} (there is none)"),
            },
            rules,
            cedar,
            delegations: self.records.delegations.clone(),
            grants: self.records.grants.clone(),
        };
        (source, missing)
    }
}
