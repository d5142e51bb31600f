//! A tool's folder on disk: which files it has, and their texts.
//!
//! Looking ([`scan`]) costs one directory listing and a few `stat`s; reading ([`read`]) happens
//! only when something changed since the last build.

mod scan;
mod text;

use std::collections::HashMap;
use std::path::PathBuf;

use crate::code;
use crate::diagnostic::{At, File, Findings, Texts};

pub(crate) use scan::{Entry, Found, Scan, Stamp, Unlisted, find, scan, stamp};
pub(crate) use text::{Limit, normalise, read_text};

/// The texts of a tool's folder, as far as they could be read.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Its name.
    pub(crate) name: String,
    texts: HashMap<File, String>,
    /// A handler that is not JavaScript.
    pub(crate) binary: Option<Binary>,
}

/// A handler that is not JavaScript.
#[derive(Debug)]
pub(crate) struct Binary {
    pub(crate) file: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Texts for Folder {
    fn text(&self, file: &File) -> Option<&str> {
        self.texts.get(file).map(String::as_str)
    }
}

impl Folder {
    /// The names of all handler files.
    pub(crate) fn handlers(scan: &Scan) -> Vec<&str> {
        scan.files.iter().map(|found| found.name.as_str()).filter(|n| is_handler(n)).collect()
    }

    /// `handler.js`.
    pub(crate) fn js() -> File {
        File::Named("handler.js".into())
    }
}

/// Reads what [`scan`] saw. Whatever cannot be read is a finding.
pub(crate) fn read(scan: &Scan, findings: &mut Findings) -> Folder {
    let mut folder = Folder { name: scan.name.clone(), texts: HashMap::new(), binary: None };
    for found in &scan.files {
        match role(&found.name) {
            Role::Text(file, limit) => {
                if let Some(text) = read_text(found, &file, limit, findings) {
                    folder.texts.insert(file, text);
                }
            }
            Role::Binary => folder.binary = text::read_binary(found, findings),
            Role::Ignored => {}
            Role::Stray => report_stray(found, findings),
        }
    }
    for file in [File::Contract, File::Summary, File::Doc] {
        let there = scan.files.iter().any(|found| found.name == file.name());
        if !there {
            let name = file.name();
            findings
                .add(&code::MISSING_FILE, At::Whole(File::Folder), format!("`{name}` is missing"))
                .help(match file {
                    File::Contract => "every tool has a contract; `haft new` writes one to start from",
                    File::Summary => "write what the model should always know of this tool, in at most 250 characters",
                    File::Doc | File::Folder | File::Tests | File::Named(_) => {
                        "write the full document; `haft new` shows its seven sections"
                    }
                });
        }
    }
    folder
}

enum Role {
    Text(File, Limit),
    Binary,
    Ignored,
    Stray,
}

fn role(name: &str) -> Role {
    match name {
        "schema.json" => Role::Text(File::Contract, Limit::CONTRACT),
        "doc_summary.md" => Role::Text(File::Summary, Limit::SUMMARY),
        "doc.md" => Role::Text(File::Doc, Limit::DOC),
        "tests.json" => Role::Text(File::Tests, Limit::DOC),
        "handler.js" => Role::Text(Folder::js(), Limit::DOC),
        "README.md" => Role::Ignored,
        name if name.starts_with('.') => Role::Ignored,
        name if is_handler(name) => Role::Binary,
        _ => Role::Stray,
    }
}

/// `handler`, or `handler.` and one extension that is not an editor's or a document's.
fn is_handler(name: &str) -> bool {
    let other = ["bak", "orig", "tmp", "swp", "map", "md", "txt", "ts"];
    match name.strip_prefix("handler") {
        Some("") => true,
        Some(rest) => rest.strip_prefix('.').is_some_and(|extension| {
            !extension.is_empty()
                && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
                && !other.contains(&extension)
        }),
        None => false,
    }
}

fn report_stray(found: &Found, findings: &mut Findings) {
    let known =
        ["schema.json", "doc_summary.md", "doc.md", "tests.json", "handler.js", "handler.wasm"];
    let kind = if found.entry == Entry::Folder { "folder" } else { "file" };
    let finding = findings.add(
        &code::STRAY_FILE,
        At::Whole(File::Named(found.name.clone())),
        format!("nothing reads the {kind} `{}`", found.name),
    );
    match haft_core::nearest::find(&found.name, known) {
        Some(name) => finding.help(format!("did you mean `{name}`?")),
        None => finding.help("a tool is its contract, its documents, one handler and `tests.json`; move the rest elsewhere"),
    };
}
