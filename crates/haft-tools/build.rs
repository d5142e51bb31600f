//! Takes the bundled toolset into the crate: every file of `toolsets/studio`.

#![expect(clippy::unwrap_used, reason = "a build without the toolset cannot go on")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root =
        Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../toolsets/studio");
    println!("cargo::rerun-if-changed={}", root.display());
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

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().to_string_lossy().into_owned();
        // What a build or an import has left there is nobody's source.
        if name.starts_with('.') || name == "tool_registry.json" {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), files),
            false => files.push(entry.path()),
        }
    }
}
