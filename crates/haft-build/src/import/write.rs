//! Putting imported tools on disk: each folder whole or not at all, and never outside of the
//! toolset.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::names::{id_of_folder, is_tool_id};
use rayon::prelude::*;

use super::{Import, ImportedTool};
use crate::build::write_whole;
use crate::toolset::{FILE, TOOLS};

/// What becomes of folders that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// They stay, and nothing is written at all.
    Refuse,
    /// Their contract and documents are replaced; a handler or tests beside them stay.
    Replace,
}

/// What was written, by folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Folders that are new.
    pub created: Vec<String>,
    /// Folders that were there and differed.
    pub replaced: Vec<String>,
    /// Folders that were there and were the same.
    pub unchanged: Vec<String>,
}

/// Why the tools were not written.
#[derive(Debug)]
pub enum WriteError {
    /// These folders exist and differ, or differ from one only in case.
    Exists(Vec<String>),
    /// This path leads out of the toolset, or is no folder.
    Outside(PathBuf),
    /// The file system said no.
    Io(PathBuf, io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists(folders) => {
                let shown: Vec<String> = folders.iter().take(5).map(|n| format!("`{n}`")).collect();
                let more = folders.len().saturating_sub(shown.len());
                let and = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "there already, and different: {}{and}; remove them, or replace them (`--replace`)",
                    shown.join(", ")
                )
            }
            Self::Outside(path) => write!(
                f,
                "`{}` is not a folder of the toolset itself; replace the link by a folder",
                path.display()
            ),
            Self::Io(path, error) => write!(f, "`{}` cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for WriteError {}

/// Writes the folders of an import under `tools/` of a toolset, which is made where there is none.
///
/// # Errors
///
/// If a folder exists and may not be replaced (then nothing was written), if a path leads out of
/// the toolset, or if the file system refuses.
pub fn write(import: &Import, toolset: &Path, overwrite: Overwrite) -> Result<Written, WriteError> {
    let tools = prepare(toolset)?;
    let plan = plan(import, &tools, overwrite)?;
    let staging = tools.join(format!(".import-{}", std::process::id()));
    fs::create_dir(&staging).map_err(|error| WriteError::Io(staging.clone(), error))?;
    let outcome = plan.par_iter().try_for_each(|(tool, state)| match state {
        State::Missing => create(tool, &staging, &tools),
        State::Differs => replace(tool, &tools),
        State::Same => Ok(()),
    });
    // What is left in there is ours alone; the outcome says whether something went wrong.
    let _ = fs::remove_dir_all(&staging);
    outcome?;
    let in_state = |wanted: State| {
        let found = plan.iter().filter(|(_, state)| *state == wanted);
        found.map(|(tool, _)| tool.folder.clone()).collect()
    };
    Ok(Written {
        created: in_state(State::Missing),
        replaced: in_state(State::Differs),
        unchanged: in_state(State::Same),
    })
}

/// What stands where a tool is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Missing,
    Same,
    Differs,
}

/// Makes the toolset where there is none. Returns its `tools` folder.
fn prepare(toolset: &Path) -> Result<PathBuf, WriteError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| WriteError::Io(path, error)
    };
    fs::create_dir_all(toolset).map_err(failed(toolset))?;
    let root = fs::canonicalize(toolset).map_err(failed(toolset))?;
    let tools = root.join(TOOLS);
    fs::create_dir_all(&tools).map_err(failed(&tools))?;
    let real = fs::canonicalize(&tools).map_err(failed(&tools))?;
    if !real.starts_with(&root) {
        return Err(WriteError::Outside(tools));
    }
    let file = root.join(FILE);
    // A link counts as there, wherever it leads: it is not ours to write through.
    if fs::symlink_metadata(&file).is_err() {
        write_whole(&file, "namespace = \"imported\"\n").map_err(failed(&file))?;
    }
    Ok(real)
}

fn plan<'a>(
    import: &'a Import,
    tools: &Path,
    overwrite: Overwrite,
) -> Result<Vec<(&'a ImportedTool, State)>, WriteError> {
    let present = names_in(tools)?;
    let mut plan = Vec::with_capacity(import.tools.len());
    let mut taken = Vec::new();
    for tool in &import.tools {
        let path = tools.join(&tool.folder);
        if !is_tool_id(&id_of_folder(&tool.folder)) || !tool.files.iter().all(|(n, _)| is_file(n)) {
            return Err(WriteError::Outside(path));
        }
        let state = match present.get(&tool.folder.to_lowercase()) {
            None => State::Missing,
            Some(name) if *name != tool.folder => {
                taken.push(name.clone());
                continue;
            }
            Some(_) => state_of(tool, &path)?,
        };
        if state == State::Differs && overwrite == Overwrite::Refuse {
            taken.push(tool.folder.clone());
        }
        plan.push((tool, state));
    }
    if taken.is_empty() { Ok(plan) } else { Err(WriteError::Exists(taken)) }
}

/// The names under `tools`, by their lower case.
fn names_in(tools: &Path) -> Result<HashMap<String, String>, WriteError> {
    let failed = |error| WriteError::Io(tools.to_owned(), error);
    let mut names = HashMap::new();
    for entry in fs::read_dir(tools).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        names.insert(name.to_lowercase(), name);
    }
    Ok(names)
}

/// A plain file name: no step up, no step down.
fn is_file(name: &str) -> bool {
    matches!(name, "schema.json" | "doc_summary.md" | "doc.md")
}

fn state_of(tool: &ImportedTool, path: &Path) -> Result<State, WriteError> {
    let metadata = fs::symlink_metadata(path);
    let metadata = metadata.map_err(|error| WriteError::Io(path.to_owned(), error))?;
    if !metadata.is_dir() {
        return Err(WriteError::Outside(path.to_owned()));
    }
    let same = |(name, content): &(String, String)| {
        fs::read(path.join(name)).is_ok_and(|found| found == content.as_bytes())
    };
    Ok(if tool.files.iter().all(same) { State::Same } else { State::Differs })
}

/// A new folder is filled where nobody looks and then moved into place.
fn create(tool: &ImportedTool, staging: &Path, tools: &Path) -> Result<(), WriteError> {
    let (fresh, place) = (staging.join(&tool.folder), tools.join(&tool.folder));
    let filled = fs::create_dir(&fresh).and_then(|()| {
        tool.files.iter().try_for_each(|(name, content)| fs::write(fresh.join(name), content))
    });
    filled
        .and_then(|()| fs::rename(&fresh, &place))
        .map_err(|error| WriteError::Io(place.clone(), error))
}

fn replace(tool: &ImportedTool, tools: &Path) -> Result<(), WriteError> {
    let place = tools.join(&tool.folder);
    tool.files.iter().try_for_each(|(name, content)| {
        let path = place.join(name);
        write_whole(&path, content).map_err(|error| WriteError::Io(path.clone(), error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::functions;

    fn import(description: &str) -> Import {
        let one = format!(r#"{{"name": "math.sum", "description": "{description}"}}"#);
        functions(&one).unwrap()
    }

    #[test]
    fn a_toolset_is_made_where_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("new");
        let written = write(&import("Adds."), &root, Overwrite::Refuse).unwrap();
        assert_eq!(written.created, ["math-sum"]);
        assert!(root.join("tools/math-sum/schema.json").is_file());
        assert_eq!(fs::read_to_string(root.join(FILE)).unwrap(), "namespace = \"imported\"\n");
        let listed = fs::read_dir(root.join(TOOLS)).unwrap().count();
        assert_eq!(listed, 1, "nothing else is left behind");
    }

    #[test]
    fn what_exists_is_replaced_only_when_told() {
        let dir = tempfile::tempdir().unwrap();
        write(&import("Adds."), dir.path(), Overwrite::Refuse).unwrap();
        let again = write(&import("Adds."), dir.path(), Overwrite::Refuse).unwrap();
        assert_eq!(again.unchanged, ["math-sum"]);
        let handler = dir.path().join("tools/math-sum/handler.js");
        fs::write(&handler, "export const execute = 1").unwrap();
        let refused = write(&import("Sums."), dir.path(), Overwrite::Refuse).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "there already, and different: `math-sum`; remove them, or replace them (`--replace`)"
        );
        let told = write(&import("Sums."), dir.path(), Overwrite::Replace).unwrap();
        assert_eq!(told.replaced, ["math-sum"]);
        assert!(handler.is_file(), "what the import does not write stays");
    }

    #[test]
    fn another_case_is_the_same_folder_to_some() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("tools/Math-Sum")).unwrap();
        let refused = write(&import("Adds."), dir.path(), Overwrite::Replace).unwrap_err();
        assert!(matches!(refused, WriteError::Exists(names) if names == ["Math-Sum"]));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed_out() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), dir.path().join(TOOLS)).unwrap();
        let refused = write(&import("Adds."), dir.path(), Overwrite::Replace).unwrap_err();
        assert!(matches!(refused, WriteError::Outside(_)));

        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(TOOLS)).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("tools/math-sum")).unwrap();
        let refused = write(&import("Adds."), dir.path(), Overwrite::Replace).unwrap_err();
        assert!(matches!(refused, WriteError::Outside(_)));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_cannot_be_named_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["..", "a/b", "../../x", ""] {
            let mut import = import("Adds.");
            import.tools[0].folder = folder.to_owned();
            let refused = write(&import, dir.path(), Overwrite::Replace).unwrap_err();
            assert!(matches!(refused, WriteError::Outside(_)), "{folder}");
        }
    }
}
