//! A toolset on disk to try things on: one good tool, and whatever a case changes.

use std::fs;
use std::path::{Path, PathBuf};

use haft_build::build::{Checked, Reuse, check};
use haft_build::scaffold;
use haft_core::contract::Category;
use serde_json::Value;

pub(crate) struct Workshop {
    folder: tempfile::TempDir,
}

impl Workshop {
    /// A toolset with the tool `echo`, as `haft new` makes it, with its documents written.
    pub(crate) fn new() -> Self {
        let workshop = Self { folder: tempfile::tempdir().unwrap() };
        workshop.write("toolset.toml", "namespace = \"core\"\n");
        workshop.add("echo", Category::Utility);
        workshop
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn add(&self, name: &str, category: Category) {
        self.add_untouched(name, category);
        let folder = format!("tools/{}", name.replace('_', "-"));
        // What nobody has written yet is reported; a good tool has been written.
        let doc = self.read(&format!("{folder}/doc.md"));
        let written = |line: &str| match line.strip_suffix('.') {
            Some(line) => format!("{line}, in full.\n"),
            None => format!("{line}\n"),
        };
        self.write(&format!("{folder}/doc.md"), doc.lines().map(written).collect::<String>());
        self.replace(&format!("{folder}/doc_summary.md"), "use it.", "use it, in full.");
    }

    /// A tool exactly as `haft new` makes it.
    pub(crate) fn add_untouched(&self, name: &str, category: Category) {
        scaffold::create(self.root(), name, category).unwrap();
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root().join(file)
    }

    pub(crate) fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap()
    }

    pub(crate) fn remove(&self, file: &str) {
        let path = self.path(file);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap()
        } else {
            fs::remove_file(path).unwrap()
        }
    }

    /// Replaces text that must be there.
    pub(crate) fn replace(&self, file: &str, old: &str, new: &str) {
        let text = self.read(file);
        assert!(text.contains(old), "{file} does not contain {old:?}");
        self.write(file, text.replace(old, new));
    }

    /// Merges into the contract of `tool`; `null` takes a field away (RFC 7396).
    pub(crate) fn patch(&self, tool: &str, patch: Value) {
        let file = format!("tools/{tool}/schema.json");
        let mut contract: Value = serde_json::from_str(&self.read(&file)).unwrap();
        merge(&mut contract, patch);
        self.write(&file, serde_json::to_string_pretty(&contract).unwrap());
    }

    pub(crate) fn check(&self) -> Checked {
        check(self.root(), Reuse::Nothing, &|_, _| {}).unwrap()
    }

    /// One line per finding.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.check().diagnostics.iter().map(|diagnostic| diagnostic.one_line()).collect()
    }
}

fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Default::default());
    }
    let map = target.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            map.shift_remove(&name);
        } else {
            merge(map.entry(name).or_insert(Value::Null), value);
        }
    }
}
