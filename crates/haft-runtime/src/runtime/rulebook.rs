//! The rules that are in force, with what they are about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::port::{Ask, Decide, Decision, Standing};
use haft_core::{Digest, Tool};

use crate::policy::{Budget, Rules, Supersede};
use crate::toolbox::Directory;

/// What may be done: decisions, budgets and what becomes of superseded calls.
pub(crate) struct Rulebook {
    /// No two have the same: whoever decided by this one can see that it is no longer in force.
    pub(crate) number: u64,
    pub(super) decide: Arc<dyn Decide>,
    pub(super) rules: Rules,
    text: Budget,
    voice: Budget,
    /// Tenants and agents: swapped together with the rules, so that nobody sees half of a change.
    pub(super) directory: Arc<Directory>,
}

impl Rulebook {
    pub(super) fn new(decide: Arc<dyn Decide>, rules: Rules, directory: Arc<Directory>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            text: rules.budget(Mode::Text),
            voice: rules.budget(Mode::Voice),
            decide,
            rules,
            directory,
        }
    }

    pub(crate) fn budget(&self, mode: Mode) -> &Budget {
        match mode {
            Mode::Text => &self.text,
            Mode::Voice => &self.voice,
        }
    }

    /// Whether any answer is given again without asking its tool.
    pub(crate) fn recalls(&self) -> bool {
        !self.rules.recall.is_empty()
    }

    /// For how long an answer of this tool is good.
    pub(crate) fn recall_for(&self, tool: &Tool) -> Option<Duration> {
        self.rules.recall_for(tool)
    }

    pub(crate) fn supersede(&self, class: SideEffectPolicy, mode: Mode) -> Option<Supersede> {
        self.rules.supersede(class, mode)
    }

    pub(crate) fn version_for(&self, tenant: &str) -> Digest {
        self.decide.version_for(tenant)
    }

    pub(crate) fn standing(&self, ask: &Ask<'_>) -> Standing {
        self.decide.standing(ask)
    }

    pub(crate) fn decide(&self, ask: &Ask<'_>) -> Arc<Decision> {
        self.decide.decide(ask)
    }

    pub(crate) fn holds(&self, condition: &str, ask: &Ask<'_>) -> Result<bool, String> {
        self.decide.holds(condition, ask)
    }
}
