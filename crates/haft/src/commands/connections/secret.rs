//! Reading a secret: from the environment, a file or standard input; never from an argument, which
//! every process of the machine can see.

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use haft_core::secret::SecretText;

use crate::cli::SecretFrom;
use crate::output::Output;

/// No secret is longer.
const MOST: u64 = 64 << 10;

pub(super) fn read(from: &SecretFrom, what: &str, out: &Output) -> anyhow::Result<SecretText> {
    let text = match (&from.secret_env, &from.secret_file) {
        (Some(name), _) => std::env::var(name)
            .with_context(|| format!("the environment variable `{name}` is not set"))?,
        (None, Some(file)) => {
            let mut text = String::new();
            let open = std::fs::File::open(file)
                .with_context(|| format!("`{}` cannot be read", file.display()))?;
            open.take(MOST).read_to_string(&mut text).context("the secret is not text")?;
            text
        }
        (None, None) if std::io::stdin().is_terminal() => typed(what, out)?,
        (None, None) => {
            let mut text = String::new();
            let stdin = std::io::stdin();
            stdin.take(MOST).read_to_string(&mut text).context("the secret is not text")?;
            text
        }
    };
    // A line end belongs to the file, not to the secret.
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!("the secret is empty");
    }
    Ok(SecretText::new(text))
}

/// What is typed is not shown.
fn typed(what: &str, out: &Output) -> anyhow::Result<String> {
    let echo = |word: &str| {
        let done = Command::new("stty").arg(word).stdin(Stdio::inherit()).status();
        done.is_ok_and(|status| status.success())
    };
    if !echo("-echo") {
        bail!("this terminal would show what you type; pipe {what} in instead");
    }
    out.note(&format!("{what} (it is not shown):"));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    echo("echo");
    read.context("standard input cannot be read")?;
    Ok(line)
}
