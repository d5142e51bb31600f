//! The command line.

pub(crate) mod calendar;
mod connections;
pub(crate) mod kb;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use haft_wire::Dialect;

/// Tools for AI agents, written as folders, compiled into a registry that can be trusted.
#[derive(Parser)]
#[command(
    name = "haft",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 errors found, 2 wrong usage, 3 could not do its work.\n\
                  Start with `haft new my-tool`, then `haft lint` and `haft build`."
)]
pub(crate) struct Arguments {
    /// The toolset's folder; else the one around the current folder, else the one in haft.toml
    #[arg(long, short = 't', global = true, value_name = "DIR")]
    pub(crate) toolset: Option<PathBuf>,
    /// The configuration; else the nearest haft.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// When to use colours
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Start a project: a toolset with one tool, `haft.toml` and a policy
    #[command(after_help = "Examples:\n  haft init my-tools\n  cd my-tools && haft serve --dev")]
    Init(Init),
    /// Make the folder of a new tool, ready to fill in
    #[command(
        after_help = "Examples:\n  haft new kb-search --category retrieval\n  haft new send-report --toolset toolsets/office\n  haft new my-search --from kb-search"
    )]
    New(New),
    /// Say everything that is wrong with a toolset
    #[command(
        after_help = "Examples:\n  haft lint\n  haft lint --format sarif > haft.sarif\n  haft lint --deny-warnings --toolset toolsets/studio"
    )]
    Lint(Lint),
    /// Lint, compile and write the registry
    #[command(
        after_help = "Examples:\n  haft build\n  haft build --out dist/tool_registry.json --sign release.pem"
    )]
    Build(Build),
    /// List the tools, or show one in full
    #[command(
        after_help = "Examples:\n  haft show\n  haft show kb_search\n  haft show --json | jq '.tools[].id'"
    )]
    Show(Show),
    /// Print a tool's full document
    #[command(after_help = "Example:\n  haft describe calendar_create_event")]
    Describe(Describe),
    /// Compose the system prompt for a mode
    #[command(after_help = "Example:\n  haft prompt --mode voice")]
    Prompt(Prompt),
    /// Say what changed between two registries or toolsets, and whether it breaks callers
    #[command(
        after_help = "Examples:\n  haft diff old.json new.json\n  haft diff release/tool_registry.json toolsets/studio --fail-on breaking"
    )]
    Diff(Diff),
    /// Turn definitions from elsewhere into tool folders
    #[command(
        after_help = "Examples:\n  haft import functions.json --toolset imported\n  haft import --format openapi petstore.yaml --report report.json"
    )]
    Import(Import),
    /// Show what is assembled from a model's recorded output, and why
    #[command(
        after_help = "Examples:\n  curl -sN https://…/chat/completions -d @request.json | haft decode --format openai\n  haft decode --format anthropic recorded.sse --json | jq .calls\n  haft decode --format gemini broken.sse --reset\n\nExit codes: 0 the output is whole and every call in it can be run; 1 it failed, was cut, or holds\nsomething that is no call; 3 the file cannot be read."
    )]
    Decode(Decode),
    /// Make one call through the one path
    #[command(
        after_help = "Examples:\n  haft call image_draft_prompt --args '{\"subject\": \"a paper lantern\", \"style\": \"watercolour\"}'\n  haft call kb_search --args @query.json --mode voice --dry-run\n  haft call image_draft_prompt --session new --args @draft.json --json"
    )]
    Call(Call),
    /// Serve the tools over HTTP, on this machine unless told otherwise
    #[command(
        after_help = "Examples:\n  haft serve\n  haft serve --listen 127.0.0.1:8080\n  haft serve --dev\n  haft serve --registry registry.json"
    )]
    Serve(Serve),
    /// Serve the tools to one MCP client, on standard input and output
    #[command(
        after_help = "Examples:\n  haft mcp\n  haft --config /path/to/project/haft.toml mcp --agent assistant\n\nMost clients start it themselves; docs/mcp.md has what to paste into theirs."
    )]
    Mcp(Mcp),
    /// Make, list and revoke API keys for `haft serve`
    #[command(
        after_help = "Examples:\n  haft keys list\n  haft keys revoke k3f0c…\n  haft keys new assistant --as agent:assistant --role agent\n  haft keys new mara --as user:mara --role operator --role approver"
    )]
    Keys(Keys),
    /// List the agents of a tenant, declared and stored
    #[command(after_help = "Example:\n  haft agents --tenant acme")]
    Agents(Agents),
    /// Turn a tool on for an agent; a running server notices within a second
    #[command(after_help = "Example:\n  haft activate assistant calendar_create_event")]
    Activate(Switch),
    /// Turn a tool off for an agent; a running server notices within a second
    #[command(after_help = "Example:\n  haft deactivate assistant calendar_create_event")]
    Deactivate(Switch),
    /// Accounts elsewhere that calls are made with: add, grant, test, rotate, remove
    #[command(
        after_help = "Examples:\n  gh auth token | haft connections add work-github --provider github --kind bearer\n  haft connections grant work-github --to 'agent:*' --tools 'core__repos_*'\n  haft connections test work-github --url https://api.github.com/user\n\nSecrets are read from standard input, a file or the environment, never from an argument."
    )]
    Connections(Connections),
    /// Talk with a model that uses the tools
    #[command(
        after_help = "Examples:\n  haft chat --provider anthropic --model claude-sonnet-4-5\n  haft chat \"what is on my calendar today?\" --provider openai --url http://localhost:11434/v1 --model qwen3\n  git log -5 | haft chat --json > events.jsonl\n\nThe model can stand in haft.toml instead:\n  [model]\n  provider = \"openai\"\n  name = \"gpt-5\"\n  key_env = \"OPENAI_API_KEY\""
    )]
    Chat(Chat),
    /// Fill, inspect and search the knowledge base
    Kb(kb::Kb),
    /// What is booked, proposed and free; cancel a meeting
    Calendar(calendar::Calendar),
    /// Run the tests of a toolset's tools
    #[command(after_help = "Examples:\n  haft test\n  haft test kb_search --watch")]
    Test(Test),
    /// Say whether an agent may use a tool, and what would change that
    #[command(after_help = "Example:\n  haft why default calendar_create_event --mode voice")]
    Why(Why),
    /// List calls, or figures per tool
    #[command(
        after_help = "Examples:\n  haft calls --error denied\n  haft calls --stats --since 24h"
    )]
    Calls(Calls),
    /// List side effects; settle those whose outcome is unknown
    #[command(
        after_help = "Examples:\n  haft effects --state unknown\n  haft effects probe call_3f…\n  haft effects settle call_3f… --happened no --note 'not in the bank statement'"
    )]
    Effects(Effects),
    /// Undo what a call, or a whole chain of turns, has done
    #[command(after_help = "Examples:\n  haft undo call_3f…\n  haft undo grp_9a…")]
    Undo(Undo),
    /// List what waits for approval; approve or deny it
    #[command(after_help = "Examples:\n  haft confirmations\n  haft confirmations approve cnf_51…")]
    Confirmations(Confirmations),
    /// Work with the audit trail
    #[command(after_help = "Example:\n  haft audit verify")]
    Audit(Audit),
    /// Write the tools in another format
    #[command(
        after_help = "Examples:\n  haft export --format openai --strict\n  haft export --format anthropic --report losses.json\n  haft export --format json-schema --registry tool_registry.json"
    )]
    Export(Export),
    /// Check that a registry is intact and trusted
    #[command(after_help = "Example:\n  haft verify tool_registry.json --key ed25519:…")]
    Verify(Verify),
    /// Make a key to sign registries with
    #[command(after_help = "Example:\n  haft keygen release.pem")]
    Keygen(Keygen),
    /// Explain a diagnostic's code
    #[command(after_help = "Examples:\n  haft explain H212\n  haft explain")]
    Explain(Explain),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  haft completions bash > ~/.local/share/bash-completion/completions/haft"
    )]
    Completions(Completions),
}

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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    /// How model and user talk
    #[arg(long, default_value = "text")]
    pub(crate) mode: ModeName,
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
    /// Which of several deliberate repetitions this is
    #[arg(long, default_value_t = 1, value_name = "N")]
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
    #[arg(long, value_name = "N")]
    pub(crate) max_rounds: Option<u32>,
    /// The most calls that one message may take
    #[arg(long, value_name = "N")]
    pub(crate) max_calls: Option<u32>,
    /// The most tokens that one message may take
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// The most seconds that one message may take
    #[arg(long, value_name = "N")]
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
pub(crate) struct Test {
    /// Only these tools, by id or short name
    pub(crate) tools: Vec<String>,
    /// Only tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Run again whenever a file of the toolset changes
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print JSON
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
    /// Arguments to decide with, as JSON
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Read this registry instead of compiling the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Calls {
    /// Whose calls
    #[arg(long, default_value = "default", value_name = "TENANT")]
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
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
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
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) operator: Operator,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// In whose name an operator's command acts.
#[derive(Args)]
pub(crate) struct Operator {
    /// Whose records
    #[arg(long, global = true, default_value = "default", value_name = "TENANT")]
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
    #[command(flatten)]
    pub(crate) operator: Operator,
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

#[derive(Args)]
pub(crate) struct Keygen {
    /// Where to write the private key; only its owner can read it
    pub(crate) file: PathBuf,
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
pub(crate) struct Init {
    /// Where; the current folder when left out
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Mcp {
    /// The agent whose tools are served; the first of `haft.toml` where left out
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// For whom the model acts, `user:mara` say: the person who is asked to approve
    #[arg(long, value_name = "PRINCIPAL")]
    pub(crate) subject: Option<String>,
    /// Serve this registry instead of the toolset
    #[arg(long, value_name = "FILE")]
    pub(crate) registry: Option<PathBuf>,
}

pub(crate) use connections::{
    AddConnection, Connections, ConnectionsCommand, GrantConnection, KindName, RotateConnection,
    SecretFrom, TestConnection,
};

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
    /// Whose tools and records
    #[arg(long, default_value = "default")]
    pub(crate) tenant: String,
    /// Keep it in the store, so that it opens at once and can be revoked; its id is made up
    #[arg(long)]
    pub(crate) store: bool,
    /// In the store: when it ends, `2027-01-31T00:00:00Z`; never where left out
    #[arg(long, value_name = "TIME", requires = "store")]
    pub(crate) expires: Option<String>,
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
