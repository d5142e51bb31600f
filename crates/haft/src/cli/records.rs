//! Commands about what was done.

use clap::{Args, Subcommand, ValueEnum};

/// How many are listed. Nobody who asks for none means it.
fn most(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("say how many: 1 or more".to_owned()),
        Ok(most) => Ok(most),
    }
}

#[derive(Args)]
pub(crate) struct Calls {
    /// Whose calls; those of the first tenant of `haft.toml` when left out
    #[arg(long, default_value = "", hide_default_value = true, value_name = "TENANT")]
    pub(crate) tenant: String,
    /// Of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Of this tool, by canonical id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Of this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// That ended in this error
    #[arg(long, value_name = "KIND")]
    pub(crate) error: Option<String>,
    /// This one, in full
    #[arg(long, value_name = "CALL")]
    pub(crate) call: Option<String>,
    /// Not older than this: 90s, 15m, 24h, 7d
    #[arg(long, value_name = "AGE")]
    pub(crate) since: Option<String>,
    /// Figures per tool: calls, errors, p50, p99
    #[arg(long)]
    pub(crate) stats: bool,
    /// At most so many, the newest
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = most)]
    pub(crate) limit: usize,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Effects {
    #[command(subcommand)]
    pub(crate) action: Option<EffectsAction>,
    /// In this state: started, succeeded, failed, unknown …
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Of this tool, by canonical id
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Of this session
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// At most so many, the newest
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = most)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) operator: Operator,
    /// Print JSON, without arguments and answers
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// As JSON, the whole record: also what the contract's redaction strips elsewhere
    #[arg(long, global = true, requires = "json")]
    pub(crate) full: bool,
}

/// In whose name an operator's command acts.
#[derive(Args)]
pub(crate) struct Operator {
    /// Whose records; those of the first tenant of `haft.toml` when left out
    #[arg(
        long,
        global = true,
        default_value = "",
        hide_default_value = true,
        value_name = "TENANT"
    )]
    pub(crate) tenant: String,
    /// Who decides: user:… or service:…
    #[arg(long = "as", global = true, default_value = "user:operator", value_name = "PRINCIPAL")]
    pub(crate) actor: String,
}

#[derive(Subcommand)]
pub(crate) enum EffectsAction {
    /// Ask the contract's probe whether an unknown effect happened, and settle it
    Probe {
        /// The call that asked for it
        call: String,
    },
    /// Record what became of an unknown effect
    Settle {
        /// The call that asked for it
        call: String,
        /// Whether it happened
        #[arg(long)]
        happened: YesNo,
        /// How you know
        #[arg(long, value_name = "TEXT")]
        note: String,
        /// What it answered, as JSON, where you know it and it happened: what undoes it may need that. @FILE reads a
        /// file, - standard input. Can be said later, too
        #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
        answer: Option<String>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// It happened
    Yes,
    /// It did not
    No,
}

#[derive(Args)]
pub(crate) struct Undo {
    /// A call, or a chain of turns (grp_…)
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) operator: Operator,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Confirmations {
    #[command(subcommand)]
    pub(crate) action: Option<ConfirmationsAction>,
    /// All of them, not only those that wait
    #[arg(long)]
    pub(crate) all: bool,
    /// Whose records; those of the first tenant of `haft.toml` when left out
    #[arg(
        long,
        global = true,
        default_value = "",
        hide_default_value = true,
        value_name = "TENANT"
    )]
    pub(crate) tenant: String,
    /// Who answers: a person, user:…, and not whoever asked
    #[arg(long = "as", global = true, default_value = "user:operator", value_name = "PRINCIPAL")]
    pub(crate) actor: String,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum ConfirmationsAction {
    /// Approve: the same call may be made once
    Approve {
        /// The confirmation
        id: String,
    },
    /// Decline
    Deny {
        /// The confirmation
        id: String,
    },
}

#[derive(Args)]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) action: AuditAction,
}

#[derive(Subcommand)]
pub(crate) enum AuditAction {
    /// Check that no entry was changed, removed or cut off
    Verify {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a signed checkpoint of the trail's head now
    Checkpoint,
    /// Accept that the trail was touched, so that side effects are taken again
    Acknowledge {
        /// Who has looked into it: user:… or service:…
        #[arg(long = "as", default_value = "user:operator", value_name = "PRINCIPAL")]
        actor: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
}
