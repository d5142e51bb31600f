//! Whether the store can be opened or made.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};

use crate::output::in_words;

/// The longest name that a file has anywhere.
const LONGEST: usize = 255;

/// Whether the database can be opened or made, without doing so: its folders and an empty file beside it
/// are made, and taken away at once. Some folders look as if they could be written and cannot.
pub(super) fn writable(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if path.is_dir() {
        bail!("`{shown}` is a folder; name a file in it, `{shown}/haft.db` say");
    }
    let failed = |what: &Path, why: std::io::Error| {
        anyhow!("`{}` cannot be written: {}", what.display(), in_words(&why))
    };
    if path.exists() {
        // A device takes everything and keeps nothing.
        if !path.is_file() {
            bail!("`{shown}` is no file");
        }
        return OpenOptions::new()
            .append(true)
            .open(path)
            .map(drop)
            .map_err(|why| failed(path, why));
    }
    if path.file_name().map_or(0, OsStr::len) > LONGEST {
        bail!("`{shown}` cannot be made: its name has more than {LONGEST} bytes");
    }
    let existing = path.ancestors().find(|one| one.exists());
    let place = existing.filter(|one| !one.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !place.is_dir() {
        bail!("`{shown}` cannot be made: `{}` is no folder", place.display());
    }
    let made = Made::folders(path, place).map_err(|(what, why)| failed(&what, why))?;
    let folder = path.parent().filter(|one| !one.as_os_str().is_empty()).unwrap_or(place);
    let probe = folder.join(format!(".haft-check-{}", std::process::id()));
    let tried = OpenOptions::new().write(true).create_new(true).open(&probe);
    let tried = tried.and_then(|_| std::fs::remove_file(&probe));
    drop(made);
    tried.map_err(|why| failed(folder, why))
}

/// Folders that were made to see whether they can be; those that are still empty go again.
struct Made(Vec<PathBuf>);

impl Made {
    /// The folders between a place and a file.
    fn folders(path: &Path, place: &Path) -> Result<Self, (PathBuf, std::io::Error)> {
        let missing = path.ancestors().skip(1).take_while(|one| *one != place);
        let missing: Vec<_> = missing.filter(|one| !one.exists()).collect();
        let mut made = Self(Vec::new());
        for folder in missing.into_iter().rev().filter(|one| !one.as_os_str().is_empty()) {
            // What keeps it from being made is about what it would be made in.
            let above = folder.parent().unwrap_or(folder);
            std::fs::create_dir(folder).map_err(|why| (above.to_owned(), why))?;
            made.0.push(folder.to_owned());
        }
        Ok(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // Somebody may have put something in by now.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_be_made_is_told_from_one_that_can() {
        let dir = std::env::temp_dir().join(format!("haft-store-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("there.db"), "").unwrap();
        let long = "x".repeat(300);
        for (path, expected) in [
            ("haft.db", ""),
            ("there.db", ""),
            ("a/b/haft.db", ""),
            (".", "is a folder"),
            ("there.db/haft.db", "is no folder"),
            (&format!("{long}/haft.db"), "cannot be written"),
            (&format!("{long}.db"), "has more than 255 bytes"),
            ("/proc/haft.db", "`/proc` cannot be written"),
            ("/proc/x/haft.db", "`/proc` cannot be written"),
            ("/dev/null", "is no file"),
        ] {
            let found = writable(&dir.join(path)).err();
            let found = found.map(|why| why.to_string()).unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
        }
        let left: Vec<_> = std::fs::read_dir(&dir).unwrap().flatten().collect();
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(left.len(), 1, "nothing is left of it: {left:?}");
    }
}
