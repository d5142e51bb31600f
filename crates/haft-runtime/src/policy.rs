//! Policy: who may use which tool, decided from data. Deny by default.
//!
//! Lists, budgets and approvals are [`Rules`]; finer rules are Cedar policies, validated against a
//! schema that is generated from the registries. [`Policy::load`] reports every problem at once; a
//! policy that has any is not used, and [`Policy::deny_all`] stands in for it.
//!
//! ```
//! use haft_core::port::Decide as _;
//! use haft_runtime::policy::{Policy, Source};
//!
//! let nothing = Policy::load(&Source::default(), &[]).unwrap();
//! assert_ne!(nothing.version(), Policy::deny_all("the file is gone").version());
//! ```

mod by_tenant;
mod cache;
mod cedar;
mod condition;
pub(crate) mod decision;
mod evaluate;
mod glob;
mod grants;
mod problem;
mod rules;

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_core::contract::{Effect, Mode, SideEffectPolicy};
use haft_core::port::{Ask, Decide, Decision, Standing};
use haft_core::registry::Registry;
use haft_core::{Caller, Digest, Tool};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::guide;
use cache::{Cache, Reach};
use cedar::Cedar;
use condition::Conditions;
use evaluate::Before;
use grants::Delegations;

pub use by_tenant::ByTenant;
pub use cedar::Text;
pub use glob::{Glob, Globs};
pub use grants::{Delegation, Grant, Instant};
pub use problem::{Problem, Severity, suggest};
pub use rules::{Budget, Deadline, Rate, Recall, Rules, Spending, Supersede, UserType};

pub(crate) use glob::Known;
pub(crate) use grants::Grants;
pub(crate) use problem::divide;

/// Everything that a policy is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Source {
    /// The file that the rules stand in, for messages.
    pub file: String,
    /// The rules.
    pub rules: Rules,
    /// The Cedar files that the rules name, read.
    pub cedar: Vec<Text>,
    /// Who may act for whom.
    pub delegations: Vec<Delegation>,
    /// Who may use which connection.
    pub grants: Vec<Grant>,
}

impl Default for Source {
    fn default() -> Self {
        Self {
            file: "haft.toml".into(),
            rules: Rules::default(),
            cedar: Vec::new(),
            delegations: Vec::new(),
            grants: Vec::new(),
        }
    }
}

/// Whoever wants answers of a tool with effects given again wants an idempotency key.
fn warn_of_effects(named: &Globs, all: &[&Registry], file: &str, problems: &mut Vec<Problem>) {
    let exact = |tool: &&Tool| named.iter().any(|one| one.is_exact() && one.matches(&tool.id));
    let tools = all.iter().flat_map(|registry| &registry.tools).filter(exact);
    for tool in tools.filter(|tool| tool.contract.side_effect_policy != SideEffectPolicy::Pure) {
        let message = format!("recall: `{}` has effects, so it is run each time", tool.id);
        problems.push(Problem::warning(file, message).help("take it out of `recall`"));
    }
}

/// A policy, ready to decide.
#[derive(Debug)]
pub struct Policy {
    version: Digest,
    /// Why everything is denied, where it is.
    broken: Option<String>,
    rules: Rules,
    allow: Globs,
    deny: Globs,
    approve: Globs,
    approve_effects: BTreeSet<Effect>,
    cedar: Option<Cedar>,
    delegations: Delegations,
    grants: Grants,
    conditions: Conditions,
    kept: Cache<Before>,
    warnings: Vec<Problem>,
}

impl Policy {
    /// Reads a policy. All registries that are in use are handed in: names are read against them.
    ///
    /// # Errors
    ///
    /// Every problem that was found, warnings among them.
    pub fn load(source: &Source, registries: &[&Registry]) -> Result<Self, Vec<Problem>> {
        Self::load_among(source, registries, &[])
    }

    /// The same, where lists may name tools that only other tenants have: those are no mistake.
    ///
    /// # Errors
    ///
    /// Every problem that was found, warnings among them.
    pub fn load_among(
        source: &Source,
        registries: &[&Registry],
        elsewhere: &[String],
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let known = known(registries, elsewhere);
        let (rules, file) = (&source.rules, source.file.as_str());
        rules.check(file, &mut problems);
        check_files(source, &mut problems);
        let Lists { allow, deny, approve, approve_effects } =
            Lists::read(rules, file, &known, &mut problems);
        for rule in &rules.recall {
            let named = known.globs(file, "recall", &rule.tools, &mut problems);
            warn_of_effects(&named, registries, file, &mut problems);
        }
        let delegations = Delegations::read(&source.delegations, &known, file, &mut problems);
        let grants = Grants::read(&source.grants, &known, file, &mut problems);
        let user = cedar::types::of_user(&rules.user);
        let cedar = cedar::load(&source.cedar, user.clone(), registries, &known, &mut problems);
        let warnings = divide(problems)?;
        Ok(Self {
            version: version(source),
            broken: None,
            rules: rules.clone(),
            allow,
            deny,
            approve,
            approve_effects,
            cedar,
            delegations,
            grants,
            conditions: Conditions::new(user),
            kept: Cache::new(),
            warnings,
        })
    }

    /// The policy that stands in for a broken or missing one.
    #[must_use]
    pub fn deny_all(reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self {
            version: Digest::of_json(&json!({ "deny_all": reason })),
            broken: Some(reason),
            rules: Rules::default(),
            allow: Globs::default(),
            deny: Globs::default(),
            approve: Globs::default(),
            approve_effects: BTreeSet::new(),
            cedar: None,
            delegations: Delegations::default(),
            grants: Grants::default(),
            conditions: Conditions::new(cedar::types::Record::default()),
            kept: Cache::new(),
            warnings: Vec::new(),
        }
    }

    /// What is probably not what was meant.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// What may be spent in a mode.
    #[must_use]
    pub fn budget(&self, mode: Mode) -> Budget {
        self.rules.budget(mode)
    }

    /// What becomes of a call of this class when a newer message waits.
    #[must_use]
    pub fn supersede(&self, class: SideEffectPolicy, mode: Mode) -> Option<Supersede> {
        self.rules.supersede(class, mode)
    }

    /// Whether tools that need approval are kept out of catalogs.
    #[must_use]
    pub fn hides_approval(&self) -> bool {
        self.rules.hide_approval
    }

    /// The connections that a caller may use with a tool, in stable order: what is granted, without
    /// regard to what a request was given.
    #[must_use]
    pub fn connections(&self, caller: &Caller, tool: &Tool) -> Vec<&str> {
        let Some(needed) = &tool.contract.connection else { return Vec::new() };
        self.grants.usable(&caller.tenant, caller.principal(), &needed.provider, &tool.id)
    }

    /// The connection that a call uses: the one that it names, or else the only one that it could
    /// mean. Always out of what is granted *and* what the request was given; nobody has been asked
    /// for a credential yet.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub fn choose(
        &self,
        caller: &Caller,
        tool: &Tool,
        named: Option<&str>,
        given: &[String],
    ) -> Result<Option<String>, Arc<Decision>> {
        let Some(needed) = &tool.contract.connection else { return Ok(None) };
        let refuse = |rule: &str, why: &str, enable: String| Err(decision::deny(rule, why, enable));
        if let Some(id) = named {
            if given.iter().any(|one| one == id) {
                return Ok(Some(id.to_owned()));
            }
            let why = "the request was not given the connection that the call names";
            return refuse("connection:not-requested", why, "choose another connection".into());
        }
        let usable = self.connections(caller, tool);
        let mut both = usable.into_iter().filter(|id| given.iter().any(|one| one == id));
        match (both.next(), both.next()) {
            (Some(id), None) => Ok(Some(id.to_owned())),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => refuse(
                "connection:several",
                "the request was given several connections that would do",
                format!("say which {} connection to use", needed.provider),
            ),
        }
    }

    /// The answer without arguments, remembered where nothing that passes can change it.
    fn known(&self, ask: &Ask<'_>) -> Before {
        if let Some(reason) = &self.broken {
            let enable = "an administrator has to mend the policy";
            return Before::Settled(decision::deny("policy:broken", reason.as_str(), enable));
        }
        let reach = self.reach(ask.tool);
        // What is done about effects afterwards is seldom, and is decided by less.
        match reach.time || ask.purpose.is_after_the_fact() {
            false => self.kept.get(ask, reach, || self.before(ask)),
            true => self.before(ask).0,
        }
    }

    /// What of a question its answer depends on.
    fn reach(&self, tool: &Tool) -> Reach {
        let mut reach = Reach::default();
        if let Some(cedar) = &self.cedar {
            let mentions = &cedar.slice(&tool.id).free_mentions;
            let (user, session, time) = (mentions.user, mentions.session, mentions.now);
            reach = Reach { user, session, time };
        }
        if let Some(available) = &tool.contract.availability
            && let Ok(condition) = self.conditions.read(&available.condition)
            && !condition.mentions.arguments
        {
            reach.user |= condition.mentions.user;
            reach.session |= condition.mentions.session;
            reach.time |= condition.mentions.now;
        }
        reach
    }
}

impl Decide for Policy {
    fn version(&self) -> Digest {
        self.version.clone()
    }

    fn standing(&self, ask: &Ask<'_>) -> Standing {
        match self.known(ask) {
            Before::Settled(decision) => Standing::Settled(decision),
            Before::Open(_) => Standing::Open,
        }
    }

    fn differs_by_session(&self, ask: &Ask<'_>) -> bool {
        self.broken.is_none() && self.reach(ask.tool).session
    }

    fn decide(&self, ask: &Ask<'_>) -> Arc<Decision> {
        match self.known(ask) {
            Before::Settled(decision) => decision,
            Before::Open(open) => self.after(ask, open),
        }
    }

    fn holds(&self, condition: &str, ask: &Ask<'_>) -> Result<bool, String> {
        match &self.broken {
            Some(reason) => Err(format!("there is no policy: {reason}")),
            None => self.conditions.holds(condition, ask),
        }
    }
}

/// Every file that the rules name was read, and no other. A rule that is missing forbids nothing.
fn check_files(source: &Source, problems: &mut Vec<Problem>) {
    let mut read = BTreeSet::new();
    for text in &source.cedar {
        if !read.insert(text.file.as_str()) {
            problems.push(Problem::error(&text.file, "the file is listed twice"));
        }
    }
    for name in source.rules.cedar.iter().filter(|name| !read.contains(name.as_str())) {
        let message = format!("cedar: `{name}` was not read");
        problems.push(Problem::error(&source.file, message).help("put the file back"));
    }
}

/// The names that rules may use. A deny list may name the tools that tell about tools, whether they are there
/// or not.
fn known<'a>(registries: &[&'a Registry], elsewhere: &'a [String]) -> Known<'a> {
    let all: Vec<&Registry> = registries.iter().copied().chain(guide::registry().ok()).collect();
    Known::of(&all).elsewhere(elsewhere.iter().map(String::as_str))
}

/// What rules list.
struct Lists {
    allow: Globs,
    deny: Globs,
    approve: Globs,
    approve_effects: BTreeSet<Effect>,
}

impl Lists {
    fn read(rules: &Rules, file: &str, known: &Known<'_>, problems: &mut Vec<Problem>) -> Self {
        let (approve_effects, tools) = divide_approvals(&rules.approve);
        let words = Effect::ALL.map(Effect::as_str);
        Self {
            allow: known.globs(file, "allow", &rules.allow, problems),
            deny: known.globs(file, "deny", &rules.deny, problems),
            approve: known.globs_beside(file, "approve", &tools, &words, problems),
            approve_effects,
        }
    }
}

/// What is wrong with the lists of some rules, whatever they are put together with.
pub(crate) fn problems_of_lists(
    rules: &Rules,
    file: &str,
    registries: &[&Registry],
    elsewhere: &[String],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    Lists::read(rules, file, &known(registries, elsewhere), &mut problems);
    problems
}

/// Effects and tools that need approval stand in one list.
fn divide_approvals(written: &[String]) -> (BTreeSet<Effect>, Vec<String>) {
    let effect = |word: &str| Effect::ALL.into_iter().find(|effect| effect.as_str() == word);
    let effects = written.iter().filter_map(|word| effect(word)).collect();
    let tools = written.iter().filter(|word| effect(word).is_none()).cloned().collect();
    (effects, tools)
}

/// Over everything that a decision is made from.
fn version(source: &Source) -> Digest {
    let texts: Vec<_> = source.cedar.iter().map(|text| json!([text.file, text.text])).collect();
    Digest::of_json(&json!({
        "rules": source.rules,
        "cedar": texts,
        "delegations": source.delegations,
        "grants": source.grants,
    }))
}
