//! What differs from one agent to the next.

use std::time::Duration;

use haft_core::contract::Mode;
use haft_wire::Strictness;

/// How an agent's loop runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How model and user talk.
    pub mode: Mode,
    /// Whether the provider holds the model to the schemas.
    pub strictness: Strictness,
    /// The most that one message may take.
    pub limits: Limits,
    /// How long a model is waited for, and how often.
    pub patience: Patience,
    /// How large the tools of a request may be, in bytes of their JSON. A larger catalog is
    /// searched instead of shown.
    pub tools_budget: usize,
    /// The tools that are shown in any case, in this order, by id or short name.
    pub pinned: Vec<String>,
    /// Whether the model can ask for the documentation of its tools.
    pub describe: bool,
    /// Tools whose full documentation stands in the prompt from the start.
    pub documented: Vec<String>,
    /// Whether the prompt says what could be enabled, so that the agent can say so.
    pub mention_unavailable: bool,
    /// The most tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// So many calls that only read run at once.
    pub parallel: usize,
    /// What stands before the composed prompt.
    pub instructions: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::Text,
            strictness: Strictness::Plain,
            limits: Limits::default(),
            patience: Patience::default(),
            tools_budget: 64 * 1024,
            pinned: Vec::new(),
            describe: true,
            documented: Vec::new(),
            mention_unavailable: false,
            max_output_tokens: None,
            parallel: 8,
            instructions: None,
        }
    }
}

/// The most that one message of the user may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Answers of the model.
    pub rounds: u32,
    /// Calls.
    pub calls: u32,
    /// Tokens, in and out, as the provider counts them.
    pub tokens: u64,
    /// Time, without what a person takes to answer a question.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rounds: 20, calls: 50, tokens: 1_000_000, time: Duration::from_secs(600) }
    }
}

/// How long a model is waited for, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How long until the first byte.
    pub first_byte: Duration,
    /// How long between two bytes.
    pub idle: Duration,
    /// How often a request is sent again.
    pub retries: u32,
    /// The first pause before that; doubled for each further one.
    pub backoff: Duration,
    /// The longest pause, also when the provider asks for a longer one: then the loop ends.
    pub longest_pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            retries: 4,
            backoff: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
        }
    }
}
