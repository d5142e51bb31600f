//! Commands that run tools, and serve them.

use std::path::PathBuf;

use clap::Args;
use haft_core::call::MOST_OCCURRENCES;

use super::registry::ModeName;

/// In whose name a command acts.
#[derive(Clone, Args)]
pub(crate) struct Who {
    /// The agent
    #[arg(long, default_value = "default", value_name = "AGENT")]
    pub(crate) agent: String,
    /// The tenant; the agent's own when left out
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Who acts: user:…, agent:… or service:…
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) actor: Option<String>,
}

#[derive(Args)]
pub(crate) struct Call {
    /// The tool, by id or short name
    pub(crate) tool: String,
    /// The arguments as JSON; @FILE reads a file, - standard input
    #[arg(long, short, default_value = "{}", value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: String,
    /// How model and user talk: text when left out, or as the session has it
    #[arg(long)]
    pub(crate) mode: Option<ModeName>,
    /// A session's id; `new` begins one
    #[arg(long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Begin the next turn of the session first
    #[arg(long, requires = "session")]
    pub(crate) turn: bool,
    #[command(flatten)]
    pub(crate) who: Who,
    /// For whom, where someone acts for someone else
    #[arg(long = "for", value_name = "PRINCIPAL")]
    pub(crate) subject: Option<String>,
    /// What is known about the user, as JSON: context.user in conditions
    #[arg(long, value_name = "JSON")]
    pub(crate) user: Option<String>,
    /// The idempotency key; a fresh one when left out and there is no session
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The model's id of the call
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Which of several deliberate repetitions this is; the first is 1
    #[arg(long, default_value_t = 1, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_OCCURRENCES)))]
    pub(crate) occurrence: u32,
    /// The connection that it may use
    #[arg(long, value_name = "CONNECTION")]
    pub(crate) connection: Option<String>,
    /// An approval's token
    #[arg(long, value_name = "TOKEN")]
    pub(crate) confirm: Option<String>,
    /// Run although the same act has an unknown outcome under another key
    #[arg(long)]
    pub(crate) despite_unknown: bool,
    /// Show every decision and the effective arguments, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Print the envelope as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Chat {
    /// What to say; without it, a conversation on a terminal, else standard input
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) who: Who,
    /// How model and user talk
    #[arg(long, default_value = "text")]
    pub(crate) mode: ModeName,
    /// The model's name
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The API that it speaks: openai, openai-responses, anthropic or gemini
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Where it is; the provider's own address when left out
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "VAR")]
    pub(crate) key_env: Option<String>,
    /// The most requests to the model that one message may take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// The most calls that one message may take
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u32>,
    /// The most tokens that one message may take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// The most seconds that one message may take
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_seconds: Option<u64>,
    /// Who answers questions on this terminal
    #[arg(long, default_value = "user:operator", value_name = "PRINCIPAL")]
    pub(crate) approver: String,
    /// Show the model's reasoning, where the provider does
    #[arg(long)]
    pub(crate) reasoning: bool,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Why {
    /// The agent
    pub(crate) agent: String,
    /// The tool, by id or short name; all of them when left out
    pub(crate) tool: Option<String>,
    /// How model and user talk
    #[arg(long, default_value = "text")]
    pub(crate) mode: ModeName,
    /// Arguments to decide with, as JSON; @FILE reads a file, - standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true, requires = "tool")]
    pub(crate) args: Option<String>,
    /// The tenant; the agent's own when left out
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// Who acts: user:…, agent:… or service:…
    #[arg(long = "as", value_name = "PRINCIPAL")]
    pub(crate) actor: Option<String>,
    /// For whom, where someone acts for someone else
    #[arg(long = "for", value_name = "PRINCIPAL")]
    pub(crate) subject: Option<String>,
    /// What is known about the user, as JSON: context.user in conditions
    #[arg(long, value_name = "JSON")]
    pub(crate) user: Option<String>,
    /// The connection that the call would use
    #[arg(long, value_name = "CONNECTION", requires = "args")]
    pub(crate) connection: Option<String>,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Serve {
    /// Where to listen; else `server.listen` of `haft.toml`, else 127.0.0.1:7411
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// Serve this registry instead of the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Load tools that change, for new sessions
    #[arg(long, conflicts_with = "registry")]
    pub(crate) dev: bool,
}

#[derive(Args)]
pub(crate) struct Mcp {
    /// The agent whose tools are served; the first of `haft.toml` where left out
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// The tenant; the agent's own where left out
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// For whom the model acts, `user:mara` say: the person who is asked to approve
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) subject: Option<String>,
    /// What is known about the user, as JSON: context.user in conditions
    #[arg(long, value_name = "JSON")]
    pub(crate) user: Option<String>,
    /// The connection to a provider that calls use, as `github=work`; again for another provider
    #[arg(long = "connection", value_name = "PROVIDER=ID", value_parser = connection)]
    pub(crate) connections: Vec<(String, String)>,
    /// Serve this registry instead of the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
}

fn connection(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((provider, id)) if !provider.is_empty() && !id.is_empty() => {
            Ok((provider.to_owned(), id.to_owned()))
        }
        _ => Err("write the provider and the connection's id: `github=work`".to_owned()),
    }
}
