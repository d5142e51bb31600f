//! `haft keygen`

use std::fs::OpenOptions;
use std::io::Write as _;

use anyhow::{Context as _, anyhow};
use haft_core::registry::SigningKey;

use crate::cli::Keygen;
use crate::output::{Exit, Output};

pub(crate) fn run(options: &Keygen, out: &mut Output) -> anyhow::Result<Exit> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| anyhow!("no randomness to be had: {error}"))?;
    let key = SigningKey::from_seed(&seed);
    let mut open = OpenOptions::new();
    // Never over an existing file: a lost key cannot be had back.
    open.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    let mut file = open
        .open(&options.file)
        .with_context(|| format!("`{}` cannot be made", options.file.display()))?;
    file.write_all(key.to_pem()?.as_bytes())
        .with_context(|| format!("`{}` cannot be written", options.file.display()))?;
    out.line(&format!("wrote {} (keep it secret)", options.file.display()));
    out.line("pin its public half in haft.toml:\n");
    out.line(&format!("[registry]\nkey = \"{}\"", key.public()));
    Ok(Exit::Done)
}
