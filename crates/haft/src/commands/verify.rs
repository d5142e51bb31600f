//! `haft verify`

use std::path::Path;

use haft_build::accept;
use haft_core::Digest;
use haft_core::registry::{Pin, PublicKey};
use serde_json::json;

use crate::cli::Verify;
use crate::output::{Exit, Given as _, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Verify, out: &mut Output) -> anyhow::Result<Exit> {
    let config = at.config()?;
    let mut trust = config.trust.clone();
    if let Some(key) = &options.key {
        trust.key = Some(PublicKey::try_from(key.clone()).given("--key")?);
    }
    if let Some(pin) = &options.pin {
        trust.pin = Some(match pin.starts_with("sha256:") {
            true => Pin::Digest(Digest::try_from(pin.clone()).map_err(anyhow::Error::msg)?),
            false => Pin::Version(pin.clone()),
        });
    }
    let proved = match (&trust.key, &trust.pin) {
        (None, None) => "intact; nothing is pinned, so it could have been rebuilt by anyone",
        (Some(_), None) => "intact and signed by the pinned key",
        (None, Some(_)) => "intact and the pinned one",
        (Some(_), Some(_)) => "intact, signed by the pinned key and the pinned one",
    };
    let mark = config.mark();
    let registry = accept::load(&options.registry, trust, mark.as_deref())?;
    let folder = options.registry.parent().map(Path::to_path_buf).unwrap_or_default();
    let unchecked = accept::check_files(&registry, &folder)?;
    if options.json {
        out.json(&json!({
            "version": registry.version,
            "digest": registry.digest,
            "build": registry.build,
            "tools": registry.tools.len(),
            "proved": proved,
            "handlerFilesNotChecked": unchecked,
        }))?;
    } else {
        out.line(&format!(
            "{}: version {}, {} tools, built {}: {proved}",
            options.registry.display(),
            registry.version,
            registry.tools.len(),
            registry.build.at
        ));
        if unchecked > 0 {
            out.note(&format!(
                "{} not beside the registry and could not be checked",
                if unchecked == 1 {
                    "1 handler file is".to_owned()
                } else {
                    format!("{unchecked} handler files are")
                }
            ));
        }
    }
    Ok(Exit::Done)
}
