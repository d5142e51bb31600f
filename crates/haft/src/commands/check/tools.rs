//! The tools, and what is said about them.

use std::sync::Arc;

use haft_core::Registry;
use haft_runtime::policy::{Policy, Problem, Source};
use haft_runtime::toolbox::Records;
use haft_runtime::{BuildError, Runtime};
use haft_store::Memory;

use super::{Finding, Inspection};
use crate::assembly::block_on;
use crate::config::{Config, FILE, LeftOut, sections};
use crate::output::Output;
use crate::source::{Place, compiled};

impl Inspection<'_> {
    /// The tools, and what is said about them.
    pub(super) fn tools(&mut self, at: &Place, config: &Config, left_out: &LeftOut, out: &Output) {
        let (mut source, missing) = config.readable_source();
        missing.iter().for_each(|one| self.problem(one));
        let toolset = at.toolset_beside(config.toolset.clone()).ok().flatten();
        // Where none is left, it may be what could not be read.
        if toolset.is_none() && left_out.has_any(&["toolset"]) {
            return;
        }
        let registry = toolset.map_or_else(|| at.registry(None, out), |one| compiled(&one, out));
        let registry = match registry {
            Ok(registry) => registry,
            Err(why) => return self.say("error", &format!("`toolset`: {why:#}")),
        };
        let names = ["tenants", "agents", "delegations", "grants"];
        let are_known = !left_out.has_any(&names);
        // Rules may name tools that tenants bring along, and those may be what could not be read.
        if !are_known && sections::has_definitions(self.text) {
            return;
        }
        if left_out.is_of("policy.user") {
            // What rules say of users cannot be told from what they may not.
            source.cedar.clear();
            source.rules.cedar.clear();
        }
        // What is wrong with the common rules hides nothing that is wrong with a tenant's, and a file
        // that is not there nothing that is wrong with the others.
        let policy = config.policy_of(&source, &registry).unwrap_or_else(|problems| {
            problems.iter().for_each(|one| self.problem(one));
            Policy::deny_all("the policy is broken")
        });
        // Of rules that are not all here, nothing can be said to be missing.
        if !left_out.is_of("policy") {
            policy.warnings().iter().for_each(|one| self.problem(one));
        }
        if are_known {
            self.put_together(config, &registry, Arc::new(policy), &source);
        }
    }

    /// What is wrong with all of it together, as it would be served.
    fn put_together(
        &mut self,
        config: &Config,
        registry: &Registry,
        policy: Arc<Policy>,
        source: &Source,
    ) {
        let build = |records: Records| {
            let store = Arc::new(Memory::new());
            let executors = Arc::new(haft_exec::Executors::new());
            Runtime::builder(registry.clone(), store, executors)
                .policy(policy.clone())
                .rules(config.rules.clone())
                .records(records)
                .settings(config.settings.clone())
                .define(Arc::new(haft_build::Drafts))
                .source(source.clone())
                .guide()
                .build()
        };
        let records = config.records();
        let made = match build(records.clone()) {
            Err(BuildError::Problems(problems)) => {
                problems.iter().for_each(|one| self.problem(one));
                // What is wrong with agents hides nothing that is wrong with a tenant's rules.
                build(Records { agents: Vec::new(), ..records })
            }
            made => made,
        };
        let runtime = match made {
            Ok(runtime) => runtime,
            Err(BuildError::Problems(problems)) => {
                return problems.iter().for_each(|one| self.problem(one));
            }
            Err(why) => return self.say("error", &why.to_string()),
        };
        let refreshed = block_on(async { Ok(runtime.refresh().await?) });
        match refreshed {
            Ok(_) => runtime.configured().problems.iter().for_each(|one| self.problem(one)),
            Err(why) => self.say("error", &format!("{why:#}")),
        }
    }

    /// A problem of the policy or of who has what. Where it names no line of its own, what it names in
    /// this file is looked for.
    pub(super) fn problem(&mut self, one: &Problem) {
        let help = one.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let mut message = format!("{}{help}", one.message);
        let severity = if one.is_error() { "error" } else { "warning" };
        // A tool of a tenant's own.
        if let Some(what) = one.file.strip_prefix("haft.toml: ") {
            return self.say(severity, &format!("{what}: {message}"));
        }
        // Rules of a tenant: their Cedar texts count their own lines.
        if let Some(id) = one.file.strip_prefix("haft.toml:") {
            message = match one.line {
                Some(line) => {
                    format!("`policies`, `{id}`: line {line} of its Cedar rules: {message}")
                }
                None => format!("`policies`, `{id}`: {message}"),
            };
            return self.say(severity, &message);
        }
        let ours = ["", "store", FILE];
        let own = one.file == self.file || ours.contains(&one.file.as_str());
        let place = self.place(&message).filter(|_| own && one.line.is_none());
        self.add(Finding {
            file: if own { self.file.to_owned() } else { one.file.clone() },
            line: one.line.or(place.map(|(line, _)| line)),
            column: place.map(|(_, column)| column),
            severity,
            message,
        });
    }
}
