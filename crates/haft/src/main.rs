//! The `haft` command: reads the configuration, puts the parts together, and shows the results.
//!
//! **Knows** arguments, files named on the command line, and the terminal. **Holds no logic** of
//! its own: what a command does is done by the library crates.

mod assembly;
mod bundled;
mod cli;
mod commands;
mod config;
mod facts;
mod links;
mod logs;
mod models;
mod named;
mod output;
mod patience;
mod registries;
mod signals;
mod source;
mod watch;

use std::process::ExitCode;

use clap::Parser as _;

use cli::Command;
use output::{Exit, Output};

/// With the system's allocator, a quarter of the samples of a cold build were in `malloc` and `free`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is in memory when something goes wrong is nobody's to keep: there may be secrets in it. Whoever
/// looks for a fault raises the limit of the process that runs.
#[cfg(unix)]
fn leave_no_dump() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_CORE) {
        // Where it may not, it runs as it was told to.
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, most);
    }
}

fn main() -> ExitCode {
    // The sandbox is this program, started anew.
    haft_exec::js::serve_if_asked();
    #[cfg(unix)]
    leave_no_dump();
    let arguments = cli::Arguments::parse();
    let mut out = Output::new(arguments.color);
    let at = source::Place { toolset: arguments.toolset, config: arguments.config };
    let mut command = arguments.command;
    // Nobody named a tenant: the first. Where `haft.toml` cannot be read, the command says so.
    if let Some(tenant) = command.tenant().filter(|tenant| tenant.is_empty()) {
        let first = at.config().map(|config| config.first_tenant());
        *tenant = first.unwrap_or_else(|_| "default".to_owned());
    }
    let result = match command {
        Command::Init(options) => commands::init::run(&options, &mut out),
        Command::New(options) => commands::new::run(&at, &options, &mut out),
        Command::Check(options) => commands::check::run(&at, &options, &mut out),
        Command::Lint(options) => commands::lint::run(&at, &options, &mut out),
        Command::Build(options) => commands::build::run(&at, &options, &mut out),
        Command::Show(options) => commands::show::run(&at, &options, &mut out),
        Command::Describe(options) => commands::describe::run(&at, &options, &mut out),
        Command::Prompt(options) => commands::prompt::run(&at, &options, &mut out),
        Command::Diff(options) => commands::diff::run(&options, &mut out),
        Command::Export(options) => commands::export::run(&at, &options, &mut out),
        Command::Import(options) => commands::import::run(&at, &options, &mut out),
        Command::Decode(options) => commands::decode::run(&options, &mut out),
        Command::Call(options) => commands::call::run(&at, &options, &mut out),
        Command::Serve(options) => commands::serve::run(&at, &options, &mut out),
        Command::Connections(options) => commands::connections::run(&at, &options, &mut out),
        Command::Mcp(options) => commands::mcp::run(&at, &options, &mut out),
        Command::Keys(options) => commands::keys::run(&at, &options, &mut out),
        Command::Agents(options) => commands::agents::run(&at, &options, &mut out),
        Command::Activate(options) => commands::activate::run(&at, &options, true, &mut out),
        Command::Deactivate(options) => commands::activate::run(&at, &options, false, &mut out),
        Command::Chat(options) => commands::chat::run(&at, &options, &mut out),
        Command::Kb(options) => commands::kb::run(&at, &options, &mut out),
        Command::Calendar(options) => commands::calendar::run(&at, &options, &mut out),
        Command::Test(options) => commands::test::run(&at, &options, &mut out),
        Command::Why(options) => commands::why::run(&at, &options, &mut out),
        Command::Calls(options) => commands::calls::run(&at, &options, &mut out),
        Command::Effects(options) => commands::effects::run(&at, &options, &mut out),
        Command::Undo(options) => commands::undo::run(&at, &options, &mut out),
        Command::Confirmations(options) => commands::confirmations::run(&at, &options, &mut out),
        Command::Audit(options) => commands::audit::run(&at, &options, &mut out),
        Command::Verify(options) => commands::verify::run(&at, &options, &mut out),
        Command::Keygen(options) => commands::keygen::run(&options, &mut out),
        Command::Explain(options) => commands::explain::run(&options, &mut out),
        Command::Completions(options) => commands::completions::run(&options, &mut out),
    };
    let exit = result.unwrap_or_else(|error| {
        out.error(&format!("{error:#}"));
        Exit::of(&error)
    });
    out.finish(exit)
}
