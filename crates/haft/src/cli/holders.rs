//! Commands about who may do what: keys, agents, activations.

use clap::{Args, Subcommand, ValueEnum};

use super::records::Operator;

#[derive(Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) what: KeysCommand,
}

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, print it once, and print what to put into `haft.toml`; or keep it in the store
    New(NewKey),
    /// List the keys, without what opens anything
    List {
        #[command(flatten)]
        operator: Operator,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key of the store; a running server notices within a second
    Revoke {
        /// Its id
        id: String,
        #[command(flatten)]
        operator: Operator,
    },
}

#[derive(Args)]
pub(crate) struct NewKey {
    /// Its name: lower-case letters, digits and `-`
    pub(crate) id: String,
    /// Who will hold it: `user:<id>`, `agent:<id>` or `service:<id>`
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) principal: String,
    /// What it allows; may be given more than once
    #[arg(long = "role", value_name = "ROLE", required = true)]
    pub(crate) roles: Vec<RoleName>,
    /// Whose tools and records; those of the first tenant of `haft.toml` when left out
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) tenant: String,
    /// Keep it in the store, so that it opens at once and can be revoked; its id is made up
    #[arg(long)]
    pub(crate) store: bool,
    /// When it ends, `2027-01-31T00:00:00Z`; never where left out
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// What is known about its user, as JSON: context.user in rules and conditions
    #[arg(long, value_name = "JSON")]
    pub(crate) user: Option<String>,
}

#[derive(Args)]
pub(crate) struct Agents {
    #[command(flatten)]
    pub(crate) operator: Operator,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Switch {
    /// The agent
    pub(crate) agent: String,
    /// The tool, by its id or its short name
    pub(crate) tool: String,
    #[command(flatten)]
    pub(crate) operator: Operator,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum RoleName {
    /// See an agent's tools and make its calls
    Agent,
    /// Answer confirmations
    Approver,
    /// Watch calls, and decide about effects
    Operator,
    /// Everything
    Administrator,
    /// Read the metrics, and nothing else
    Metrics,
}
