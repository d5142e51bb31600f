//! Puts the bundled toolset into the binary, so that it has something to serve wherever it is run.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default())
        .join("../../toolsets/studio")
        .canonicalize()?;
    // Not the folder itself: what commands leave in it would count as a change.
    for entry in fs::read_dir(&root)? {
        let entry = entry?;
        if is_source(&entry) {
            say(&format!("cargo::rerun-if-changed={}", entry.path().display()));
        }
    }
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut code = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let name = name.to_string_lossy().replace('\\', "/");
        let _ = writeln!(
            code,
            "({name:?}, include_bytes!({:?}).as_slice()),",
            file.display().to_string()
        );
    }
    code.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("bundled.rs"), code)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            _ if !is_source(&entry) => {}
            kind if kind.is_dir() => list(&entry.path(), files)?,
            _ => files.push(entry.path()),
        }
    }
    Ok(())
}

/// What an author wrote, and not what a build or an import has left there.
fn is_source(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    !name.starts_with('.') && name != "tool_registry.json"
}

/// This is how cargo is told.
fn say(line: &str) {
    println!("{line}");
}
