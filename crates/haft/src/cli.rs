//! The command line.

mod author;
pub(crate) mod calendar;
mod connections;
mod holders;
pub(crate) mod kb;
mod records;
mod registry;
mod run;

use std::path::PathBuf;

use clap::{ColorChoice, Parser, Subcommand};

pub(crate) use author::{
    Build, CategoryName, Check, Completions, Explain, Format, Init, Lint, New, Test,
};
pub(crate) use connections::{
    AddConnection, Connections, ConnectionsCommand, GrantConnection, KindName, RotateConnection,
    SecretFrom, TestConnection,
};
pub(crate) use holders::{Agents, Keys, KeysCommand, NewKey, RoleName, Switch};
pub(crate) use records::{
    Audit, AuditAction, Calls, Confirmations, ConfirmationsAction, Effects, EffectsAction,
    Operator, Undo, YesNo,
};
pub(crate) use registry::{
    Decode, Describe, Diff, Export, ExportFormat, FailOn, Import, ImportFormat, Keygen, ModeName,
    Prompt, Show, Verify,
};
pub(crate) use run::{Call, Chat, Mcp, Serve, Who, Why};

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
    /// Say what is wrong with `haft.toml`, without serving
    #[command(
        after_help = "Examples:\n  haft check\n  haft --config deploy/haft.toml check --json\n\nExit codes: 0 nothing is wrong (there may be warnings), 2 something is."
    )]
    Check(Check),
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

impl Command {
    /// Whose records a command of an operator is about; empty where nobody is named.
    #[expect(clippy::wildcard_enum_match_arm, reason = "most commands are about no records")]
    pub(crate) fn tenant(&mut self) -> Option<&mut String> {
        Some(match self {
            Self::Calls(options) => &mut options.tenant,
            Self::Effects(options) => &mut options.operator.tenant,
            Self::Undo(options) => &mut options.operator.tenant,
            Self::Confirmations(options) => &mut options.tenant,
            Self::Connections(options) => &mut options.operator.tenant,
            Self::Agents(options) => &mut options.operator.tenant,
            Self::Activate(options) | Self::Deactivate(options) => &mut options.operator.tenant,
            Self::Keys(options) => match &mut options.what {
                KeysCommand::New(options) => &mut options.tenant,
                KeysCommand::List { operator, .. } | KeysCommand::Revoke { operator, .. } => {
                    &mut operator.tenant
                }
            },
            Self::Calendar(options) => match &mut options.what {
                calendar::CalendarCommand::List(options) => &mut options.shown.tenant,
                calendar::CalendarCommand::Drafts(options) => &mut options.shown.tenant,
                calendar::CalendarCommand::Show(options) => &mut options.shown.tenant,
                calendar::CalendarCommand::Free(options) => &mut options.shown.tenant,
                calendar::CalendarCommand::Cancel(_) => return None,
            },
            _ => return None,
        })
    }
}
