//! `haft completions`

use clap::CommandFactory as _;

use crate::cli::{Arguments, Completions};
use crate::output::{Exit, Output};

pub(crate) fn run(options: &Completions, out: &mut Output) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Arguments::command(), "haft", &mut script);
    out.result(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
