//! `haft new`

use haft_build::scaffold;
use haft_core::contract::Category;

use crate::cli::{CategoryName, New};
use crate::output::{Exit, Output};
use crate::source::{Place, prefix};

pub(crate) fn run(at: &Place, options: &New, out: &mut Output) -> anyhow::Result<Exit> {
    let root = at.toolset_or_here()?;
    let category = match options.category {
        CategoryName::Retrieval => Category::Retrieval,
        CategoryName::Action => Category::Action,
        CategoryName::Utility => Category::Utility,
    };
    let made = scaffold::create(&root, &options.name, category)?;
    let folder = made.folder.display().to_string();
    let folder = folder.trim_start_matches("./");
    out.line(&format!("made {folder}: {}", made.files.join(", ")));
    if made.toolset {
        out.line(&format!("made {}toolset.toml", prefix(&root)));
    }
    out.line("next: fill them in, then `haft lint`");
    Ok(Exit::Done)
}
