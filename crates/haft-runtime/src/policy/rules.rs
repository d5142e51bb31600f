//! The rules as they are written: lists, budgets, and what happens to calls that newer messages
//! overtake.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::Tool;
use haft_core::contract::{self, Mode, SideEffectPolicy};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cedar::types::Type;
use super::glob::fits;
use super::problem::{Problem, suggest};

/// Whoever wants an answer kept for longer wants a store.
const LONGEST_RECALL: u64 = 24 * 60 * 60;

/// The rules of one installation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Tools that may be used: ids, short names, patterns. Nothing else may.
    pub allow: Vec<String>,
    /// Tools that may not be used, whatever else is said.
    pub deny: Vec<String>,
    /// What a person must approve: effects, tools, patterns.
    pub approve: Vec<String>,
    /// Whether tools that need approval are kept out of catalogs.
    pub hide_approval: bool,
    /// What may be spent, by mode.
    pub modes: BTreeMap<Mode, Spending>,
    /// What becomes of a call that a newer message overtakes, by class, in every mode.
    pub supersede: BTreeMap<SideEffectPolicy, Supersede>,
    /// Answers of tools without effects that are given again for a while, without asking the tool.
    pub recall: Vec<Recall>,
    /// What doors say about users: the members of `context.user` and their types.
    pub user: BTreeMap<String, UserType>,
    /// The files with Cedar policies, in order.
    pub cedar: Vec<String>,
}

/// What may be spent in one mode; what is left out has the mode's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spending {
    /// How many retrieval calls a turn may make.
    pub retrieval_calls: Option<u32>,
    /// Whether a turn may search after it has searched.
    pub repeat_search: Option<bool>,
    /// How often a transient failure of an idempotent tool is tried again.
    pub retries: Option<u32>,
    /// What a latency budget is.
    pub deadline: Option<Deadline>,
    /// A call is stopped after this long, whatever its contract says.
    pub max_runtime_ms: Option<u64>,
    /// A larger result is refused, whatever the contract says.
    pub max_result_bytes: Option<u64>,
    /// How many calls a turn may make.
    pub calls_per_turn: Option<u32>,
    /// How often any one tool may be called.
    pub rate: Option<Rate>,
    /// What becomes of an irreversible call that a newer message overtakes.
    pub supersede: Option<Supersede>,
}

/// Answers that are given again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recall {
    /// Of these tools: ids, short names, patterns. Tools with effects are never among them.
    pub tools: Vec<String>,
    /// For so long.
    pub seconds: u64,
}

/// What a latency budget is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deadline {
    /// The call is stopped.
    Enforce,
    /// The answer carries a warning.
    Warn,
}

/// So many calls in so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// How many.
    pub calls: u64,
    /// In how long.
    pub window_ms: u64,
}

/// What becomes of a call when a newer message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Supersede {
    /// It does not run, and the turn ends; the next turn keeps the group.
    Abort,
    /// It does not run now; the waiting messages join, and the model is asked again.
    Absorb,
    /// It runs; the waiting message starts a new group afterwards.
    Queue,
    /// It and the rest of the turn run; the waiting messages come next, in the same group.
    Finish,
}

/// The type of a member of `context.user`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserType {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A number with at most four decimal places.
    Number,
    /// Text.
    String,
    /// A list of texts.
    Strings,
}

impl UserType {
    /// Whether a value is of this type. `null` is: it counts as absent.
    #[must_use]
    pub fn takes(self, value: &Value) -> bool {
        value.is_null() || Type::from(self).takes(value)
    }

    /// What a value of this type is.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Integer => "a whole number",
            Self::Number => "a number with at most four decimal places",
            Self::String => "a text",
            Self::Strings => "a list of texts",
        }
    }
}

/// What may be spent in one mode, every question answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// How many retrieval calls a turn may make.
    pub retrieval_calls: u32,
    /// Whether a turn may search after it has searched.
    pub repeat_search: bool,
    /// How often a transient failure of an idempotent tool is tried again.
    pub retries: u32,
    /// What a latency budget is.
    pub deadline: Deadline,
    /// A call is stopped after this long.
    pub max_runtime_ms: Option<u64>,
    /// A larger result is refused.
    pub max_result_bytes: Option<u64>,
    /// How many calls a turn may make.
    pub calls_per_turn: Option<u32>,
    /// How often any one tool may be called.
    pub rate: Option<contract::Rate>,
}

impl Rules {
    /// Reads rules from JSON.
    ///
    /// # Errors
    ///
    /// What is wrong, with the nearest key or word that is known.
    ///
    /// ```
    /// use haft_runtime::policy::Rules;
    /// let wrong = Rules::read("haft.json", r#"{"alow": ["core__*"]}"#).unwrap_err();
    /// assert!(wrong.message.contains("did you mean `allow`?"));
    /// ```
    pub fn read(file: &str, text: &str) -> Result<Self, Box<Problem>> {
        serde_json::from_str(text).map_err(|error| {
            let line = Some(error.line()).filter(|line| *line > 0);
            Box::new(Problem::error(file, suggest(&error.to_string())).at(line))
        })
    }

    /// What may be spent in a mode.
    ///
    /// ```
    /// use haft_core::contract::Mode;
    /// use haft_runtime::policy::Rules;
    /// assert_eq!(Rules::default().budget(Mode::Voice).retrieval_calls, 2);
    /// ```
    #[must_use]
    pub fn budget(&self, mode: Mode) -> Budget {
        let said = self.modes.get(&mode).cloned().unwrap_or_default();
        let (calls, again, retries, deadline) = match mode {
            Mode::Voice => (2, false, 0, Deadline::Enforce),
            Mode::Text => (5, true, 1, Deadline::Warn),
        };
        Budget {
            retrieval_calls: said.retrieval_calls.unwrap_or(calls),
            repeat_search: said.repeat_search.unwrap_or(again),
            retries: said.retries.unwrap_or(retries),
            deadline: said.deadline.unwrap_or(deadline),
            max_runtime_ms: said.max_runtime_ms,
            max_result_bytes: said.max_result_bytes,
            calls_per_turn: said.calls_per_turn,
            rate: said
                .rate
                .map(|rate| contract::Rate { calls: rate.calls, window_ms: rate.window_ms }),
        }
    }

    /// What becomes of a call of this class when a newer message waits. Where nothing is said, what
    /// cannot be undone is not done any more, and nobody is asked about anything else: it runs.
    #[must_use]
    pub fn supersede(&self, class: SideEffectPolicy, mode: Mode) -> Option<Supersede> {
        let of_class = self.supersede.get(&class).copied();
        let of_mode = || self.modes.get(&mode).and_then(|said| said.supersede);
        let default = match mode {
            Mode::Voice => Supersede::Abort,
            Mode::Text => Supersede::Absorb,
        };
        match class {
            SideEffectPolicy::Irreversible => of_class.or_else(of_mode).or(Some(default)),
            SideEffectPolicy::Compensatable | SideEffectPolicy::Idempotent => of_class,
            SideEffectPolicy::Pure => None,
        }
    }

    /// For how long an answer of a tool may be given again: what the first rule that names it says.
    #[must_use]
    pub fn recall_for(&self, tool: &Tool) -> Option<Duration> {
        let (id, own) = (&tool.id, &tool.contract.tool_id);
        let names = |rule: &&Recall| rule.tools.iter().any(|one| fits(one, id) || fits(one, own));
        let lasts = self.recall.iter().find(names).map(|rule| Duration::from_secs(rule.seconds));
        lasts.filter(|lasts| !lasts.is_zero())
    }

    /// What cannot be meant.
    pub(crate) fn check(&self, file: &str, problems: &mut Vec<Problem>) {
        for (mode, said) in &self.modes {
            if said.rate.is_some_and(|rate| rate.window_ms == 0) {
                let message = format!("modes.{}.rate: a window of 0 ms is none", mode.as_str());
                problems.push(Problem::error(file, message).help("leave `rate` out for no limit"));
            }
            if said.max_runtime_ms == Some(0) {
                let message =
                    format!("modes.{}.max_runtime_ms: nothing runs in 0 ms", mode.as_str());
                problems.push(Problem::error(file, message).help("leave it out for no limit"));
            }
        }
        self.check_supersede(file, problems);
        if self.user.get("isAuthenticated").is_some_and(|ty| *ty != UserType::Boolean) {
            let message =
                "user.isAuthenticated: it is a boolean at every door, and rules read it as one";
            problems.push(Problem::error(file, message).help("take it out, or write \"boolean\""));
        }
        if let Some(long) = self.recall.iter().find(|rule| rule.seconds > LONGEST_RECALL) {
            let message = format!("recall: {} s is longer than a day", long.seconds);
            problems.push(Problem::error(file, message).help("write 86400 or less"));
        }
        if self.allow.is_empty() {
            let message = "`allow` is empty, so every call is refused";
            problems.push(Problem::warning(file, message).help("list the tools that may be used"));
        }
    }

    /// Rules that would never be asked.
    fn check_supersede(&self, file: &str, problems: &mut Vec<Problem>) {
        if self.supersede.contains_key(&SideEffectPolicy::Pure) {
            let message = "supersede.pure: what changes nothing gives way to no message";
            let help = "take it out; the classes are `idempotent`, `compensatable`, `irreversible`";
            problems.push(Problem::error(file, message).help(help));
        }
        if !self.supersede.contains_key(&SideEffectPolicy::Irreversible) {
            return;
        }
        for (mode, _) in self.modes.iter().filter(|(_, said)| said.supersede.is_some()) {
            let message = format!(
                "modes.{}.supersede: `supersede.irreversible` holds in every mode, so this never does",
                mode.as_str()
            );
            problems.push(Problem::error(file, message).help("take one of the two out"));
        }
    }
}
