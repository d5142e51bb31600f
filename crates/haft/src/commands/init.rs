//! `haft init`

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use haft_core::names::Namespace;

use crate::cli::Init;
use crate::output::{Exit, Output};

/// Every file of a new project, by its path in it.
const FILES: [(&str, &str); 8] = [
    ("haft.toml", include_str!("init/haft.toml")),
    ("policy.cedar", include_str!("init/policy.cedar")),
    ("toolset/toolset.toml", include_str!("init/toolset.toml")),
    ("toolset/tools/count-words/schema.json", include_str!("init/schema.json")),
    ("toolset/tools/count-words/doc_summary.md", include_str!("init/doc_summary.md")),
    ("toolset/tools/count-words/doc.md", include_str!("init/doc.md")),
    ("toolset/tools/count-words/handler.js", include_str!("init/handler.js")),
    ("toolset/tools/count-words/tests.json", include_str!("init/tests.json")),
];

/// Writes a project that `haft serve` runs. Nothing that is there is touched.
pub(crate) fn run(options: &Init, out: &mut Output) -> anyhow::Result<Exit> {
    let root = options.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let taken = ["haft.toml", "policy.cedar", "toolset", "toolset.toml"];
    if let Some(name) = taken.iter().find(|name| root.join(name).symlink_metadata().is_ok()) {
        bail!("`{}` is there already; choose an empty folder", root.join(name).display());
    }
    std::fs::create_dir_all(&root)
        .with_context(|| format!("`{}` cannot be made", root.display()))?;
    let namespace = namespace(&root);
    for (name, text) in FILES {
        write(&root.join(name), &text.replace("{{namespace}}", &namespace))?;
        out.line(&format!(
            "made {}",
            root.join(name).display().to_string().trim_start_matches("./")
        ));
    }
    let there = match options.folder.as_deref() {
        Some(folder) => format!("cd {} && ", super::serve::quoted(&folder.display().to_string())),
        None => String::new(),
    };
    out.line(&format!("next: {there}haft serve --dev"));
    Ok(Exit::Done)
}

/// The folder's name where that can be one.
fn namespace(root: &Path) -> String {
    let named = std::fs::canonicalize(root).ok();
    let named = named.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    let plain = named.map(|name| name.to_lowercase().replace(['-', ' ', '.'], "_"));
    let fits = |name: &String| name.len() <= 14 && Namespace::parse(name).is_ok() && name != "haft";
    plain.filter(fits).unwrap_or_else(|| "mine".to_owned())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    use std::io::Write as _;
    let written = || -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut made = std::fs::OpenOptions::new().write(true).create_new(true).open(file)?;
        made.write_all(text.as_bytes())
    };
    written().with_context(|| format!("`{}` cannot be written", file.display()))
}
