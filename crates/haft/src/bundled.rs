//! The toolset in the binary: what is served where there is no project.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use haft_core::Digest;
use serde_json::json;

use crate::assembly::make;
use crate::output::Output;
use crate::source::Place;

/// The place that was meant: where there is no project and nothing is named, the bundled example.
pub(crate) fn or_here(at: &Place, registry: Option<&Path>, out: &Output) -> anyhow::Result<Place> {
    if registry.is_some() || !at.is_nowhere()? {
        return Ok(at.clone());
    }
    out.note("there is no project here: using the bundled example (`haft init` starts yours)");
    place()
}

/// A project around the bundled toolset, in `.haft` of the current folder.
pub(crate) fn place() -> anyhow::Result<Place> {
    let here = std::env::current_dir().context("the current folder cannot be found")?;
    let home = here.join(".haft");
    if !home.exists() {
        make(&home).with_context(|| format!("`{}` cannot be made", home.display()))?;
    }
    let config = unpack(&home).with_context(|| {
        format!("the bundled toolset cannot be written to `{}`", home.display())
    })?;
    Ok(Place { toolset: None, config: Some(config) })
}

/// Under a name that follows from the content: another version's files are not taken for ours, and
/// a file that somebody changed is put right.
fn unpack(home: &Path) -> std::io::Result<PathBuf> {
    let files = haft_tools::bundled::files();
    let digest = |text: &str| Digest::of_bytes(text.as_bytes());
    let named: Vec<_> = files.iter().map(|(name, text)| json!([name, digest(text)])).collect();
    let digest = Digest::of_json(&json!(named));
    let root = home.join("bundled").join(digest.hex().get(..12).unwrap_or("toolset"));
    for (name, text) in files {
        put(&root.join("studio").join(name), text.as_bytes())?;
    }
    // What is remembered is where commands look that need no toolset.
    let below = |name: &str| toml::Value::String(home.join(name).display().to_string());
    let (store, kb) = (below("haft.db"), below("kb"));
    let config = format!(
        "toolset = \"studio\"\n\n[store]\npath = {store}\n\n[kb]\npath = {kb}\n\n\
         [policy]\nallow = [\"core__*\"]\n"
    );
    let file = root.join("haft.toml");
    put(&file, config.as_bytes())?;
    Ok(file)
}

fn put(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if std::fs::read(file).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, bytes)
}
