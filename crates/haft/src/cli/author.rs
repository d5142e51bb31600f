//! Commands for whoever writes tools.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args)]
pub(crate) struct New {
    /// The tool's name, as its folder is called: kb-search
    #[arg(required_unless_present = "from")]
    pub(crate) name: Option<String>,
    /// Copy a bundled tool to start from: kb-search, rank-results, …
    #[arg(long, value_name = "TOOL", conflicts_with = "category")]
    pub(crate) from: Option<String>,
    /// What kind of tool to start from
    #[arg(long, default_value = "utility")]
    pub(crate) category: CategoryName,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CategoryName {
    /// Finds things out
    Retrieval,
    /// Does things
    Action,
    /// Transforms what it is given
    Utility,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For scripts
    Json,
    /// SARIF 2.1.0
    Sarif,
    /// GitHub Actions annotations
    Github,
}

/// How findings are printed and judged.
#[derive(Args)]
pub(crate) struct Reporting {
    /// How to print what was found
    #[arg(long, default_value = "text")]
    pub(crate) format: Format,
    /// Fail on warnings too
    #[arg(long)]
    pub(crate) deny_warnings: bool,
    /// Show every finding, however many there are of one code
    #[arg(long)]
    pub(crate) all: bool,
    /// Check every tool again, changed or not
    #[arg(long)]
    pub(crate) fresh: bool,
}

#[derive(Args)]
pub(crate) struct Check {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Lint {
    /// Also report what these providers cannot be told: all, or some of openai, anthropic, gemini, mcp, adm
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) providers: Vec<String>,
    #[command(flatten)]
    pub(crate) reporting: Reporting,
}

#[derive(Args)]
pub(crate) struct Build {
    /// Where to write the registry [default: tool_registry.json in the toolset]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Sign it with this private key
    #[arg(long, value_name = "KEY")]
    pub(crate) sign: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) reporting: Reporting,
}

#[derive(Args)]
pub(crate) struct Test {
    /// Only these tools, by id or short name
    pub(crate) tools: Vec<String>,
    /// Only tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Also run programs that write: they do so in earnest, without approval and without a record
    #[arg(long)]
    pub(crate) run_programs: bool,
    /// Run again whenever a file of the toolset changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// A code such as H212; all of them when left out
    pub(crate) code: Option<String>,
}

#[derive(Args)]
pub(crate) struct Completions {
    /// For which shell
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
pub(crate) struct Init {
    /// Where; the current folder when left out
    pub(crate) folder: Option<PathBuf>,
}
