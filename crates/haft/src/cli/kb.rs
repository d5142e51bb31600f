//! `haft kb …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args)]
pub(crate) struct Kb {
    #[command(subcommand)]
    pub(crate) what: KbCommand,
}

#[derive(Subcommand)]
pub(crate) enum KbCommand {
    /// Bring the knowledge base up to date with its files
    #[command(
        after_help = "Examples:\n  haft kb import knowledge\n  haft kb import people.csv notes.jsonl\n  haft kb import --watch\n\nExit codes: 0 all was imported; 1 something in the files is wrong, the rest was imported; 3 nothing\nwas changed."
    )]
    Import(KbImport),
    /// Read everything anew and replace the index when that is done
    Reindex(KbReindex),
    /// Say what is in the knowledge base
    Stats(KbStats),
    /// Search it, as an operator or as somebody else would
    #[command(
        after_help = "Examples:\n  haft kb search harbour lighting --type project --tag active\n  haft kb search budget --since 2026-01-01 --as agent:default"
    )]
    Search(KbSearch),
}

#[derive(Args)]
pub(crate) struct KbImport {
    /// Files (.md, .jsonl, .csv) and folders; else `kb.sources` of haft.toml, else what was imported
    /// before, else the toolset's own `knowledge`
    pub(crate) sources: Vec<PathBuf>,
    /// Import again whenever a file changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct KbReindex {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct KbStats {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct KbSearch {
    /// What to look for; nothing in it is syntax
    #[arg(required = true)]
    pub(crate) query: Vec<String>,
    /// Only records of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only records with this tag; may be given more than once
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// Only in this namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Only what was last updated then or later: 2026-01-31, or a full time
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only what was last updated then or earlier
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// How many to show
    #[arg(long, short = 'n', default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Only what this principal may read: user:mara, agent:default
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) actor: Option<String>,
    /// The tenant of that principal; the only one, or `kb.tenant`, when left out
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
