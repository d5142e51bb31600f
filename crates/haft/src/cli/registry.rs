//! Commands about registries: what is in one, and in which words it goes out and comes in.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use haft_wire::Dialect;

#[derive(Args)]
pub(crate) struct Show {
    /// A tool, by id or short name
    pub(crate) tool: Option<String>,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Describe {
    /// A tool, by id or short name
    pub(crate) tool: String,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ModeName {
    /// In writing
    Text,
    /// Aloud
    Voice,
}

#[derive(Args)]
pub(crate) struct Prompt {
    /// Which mode the agent runs in
    #[arg(long)]
    pub(crate) mode: ModeName,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Changes that break callers
    Breaking,
    /// Tools whose version was not raised enough
    Bump,
    /// Any change
    Any,
}

#[derive(Args)]
pub(crate) struct Diff {
    /// A registry file or a toolset's folder
    pub(crate) old: PathBuf,
    /// A registry file or a toolset's folder
    pub(crate) new: PathBuf,
    /// End with exit code 1 on these
    #[arg(long, value_name = "WHAT")]
    pub(crate) fail_on: Option<FailOn>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// Function definitions: plain, OpenAI, Anthropic or MCP style
    Functions,
    /// Tools of the ALTAR data model
    Adm,
    /// OpenAPI 3 operations
    Openapi,
}

#[derive(Args)]
pub(crate) struct Import {
    /// The file to read; `-` is standard input
    pub(crate) file: PathBuf,
    /// What it holds; told from its content when left out
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
    /// Where an OpenAPI document's relative servers are
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Whose connection the tools of an OpenAPI document use, whatever the document calls it
    #[arg(long, value_name = "NAME", value_parser = provider)]
    pub(crate) provider: Option<String>,
    /// Replace folders that are there already
    #[arg(long)]
    pub(crate) replace: bool,
    /// Write what could not be carried over, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Write nothing; only say what would happen
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// As security schemes are named.
fn provider(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("use up to 64 letters, digits, `-`, `_` and `.`".to_owned()),
    }
}

#[derive(Args)]
pub(crate) struct Decode {
    /// The recorded bytes: events, one JSON frame per line, or a whole response; standard input when
    /// left out
    pub(crate) file: Option<PathBuf>,
    /// Whose format it is
    #[arg(long, value_parser = dialect())]
    pub(crate) format: Dialect,
    /// The recording ends where the connection broke, not where the provider closed it
    #[arg(long)]
    pub(crate) reset: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print what was said as it was said, one JSON object a line
    #[arg(long, conflicts_with = "json")]
    pub(crate) events: bool,
}

fn dialect() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::as_str))
        .try_map(|word| word.parse::<Dialect>())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// OpenAI Chat Completions
    Openai,
    /// OpenAI Responses
    OpenaiResponses,
    /// OpenAI Realtime
    OpenaiRealtime,
    /// Anthropic Messages
    Anthropic,
    /// Gemini generateContent
    Gemini,
    /// Gemini Live
    GeminiLive,
    /// The Model Context Protocol's tools/list
    Mcp,
    /// The ALTAR data model 1.0
    Adm,
    /// Name, description and JSON Schema of each tool
    JsonSchema,
}

#[derive(Args)]
pub(crate) struct Export {
    /// Which format to write
    #[arg(long)]
    pub(crate) format: ExportFormat,
    /// For a provider's strict mode: it holds the model to the schema
    #[arg(long)]
    pub(crate) strict: bool,
    /// For Gemini: parametersJsonSchema instead of parameters
    #[arg(long)]
    pub(crate) json_schema: bool,
    /// Only the tools that are allowed in this mode
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeName>,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Where to write it; standard output when left out
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write what the format cannot say, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Verify {
    /// The registry
    pub(crate) registry: PathBuf,
    /// The key that must have signed it; overrides haft.toml
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The version or digest that it must have; overrides haft.toml
    #[arg(long, value_name = "VERSION")]
    pub(crate) pin: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Keygen {
    /// Where to write the private key; only its owner can read it
    pub(crate) file: PathBuf,
}
