//! `haft new`

use anyhow::bail;
use haft_build::scaffold;
use haft_core::contract::Category;
use haft_core::nearest::suggest;
use haft_tools::bundled;

use crate::assembly::plain;
use crate::cli::{CategoryName, New};
use crate::output::{Exit, Output, misuse};
use crate::source::{Place, prefix};

pub(crate) fn run(at: &Place, options: &New, out: &mut Output) -> anyhow::Result<Exit> {
    let root = at.toolset_or_here()?;
    let category = match options.category {
        CategoryName::Retrieval => Category::Retrieval,
        CategoryName::Action => Category::Action,
        CategoryName::Utility => Category::Utility,
    };
    let made = match (&options.from, &options.name) {
        (Some(from), name) => {
            let files = bundled::tool(from);
            if files.is_empty() {
                bail!(
                    "there is no bundled tool `{}`; {}",
                    plain(from),
                    suggest(from, &bundled::tools())
                );
            }
            scaffold::copy(&root, name.as_ref().unwrap_or(from), &files)?
        }
        (None, Some(name)) => scaffold::create(&root, name, category)?,
        (None, None) => return Err(misuse("name the tool: `haft new my-tool`")),
    };
    let folder = made.folder.display().to_string();
    let folder = folder.trim_start_matches("./");
    out.line(&format!("made {folder}: {}", made.files.join(", ")));
    if made.toolset {
        out.line(&format!("made {}toolset.toml", prefix(&root)));
    }
    out.line(match options.from {
        Some(_) => "next: change what differs, then `haft lint` and `haft test`",
        None => "next: fill them in, then `haft lint`",
    });
    Ok(Exit::Done)
}
