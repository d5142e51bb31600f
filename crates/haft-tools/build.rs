//! Takes the bundled toolset into the crate: every file of `toolsets/studio`.

#![expect(clippy::unwrap_used, reason = "a build without the toolset cannot go on")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../toolsets/studio");
    // Not the folder itself: what commands leave in it would count as a change.
    for entry in sources(&root) {
        println!("cargo::rerun-if-changed={}", entry.path().display());
    }
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut list = String::from("static FILES: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        writeln!(list, "    ({name:?}, include_str!({:?})),", file.canonicalize().unwrap())
            .unwrap();
    }
    list.push_str("];\n");
    fs::write(Path::new(&std::env::var("OUT_DIR").unwrap()).join("bundled.rs"), list).unwrap();
}

/// What an author wrote, and not what a build or an import has left there.
fn sources(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        !name.starts_with('.') && name != "tool_registry.json"
    })
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in sources(folder) {
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}
