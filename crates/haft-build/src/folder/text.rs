//! Reading a file that anybody may have written.

use std::fs;
use std::io::{self, Read as _};

use super::{Binary, Entry, Found};
use crate::code;
use crate::diagnostic::{At, File, Findings};

/// How large a file may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(u64);

impl Limit {
    /// A contract: 256 KiB, a hundred times what a good one has.
    pub(crate) const CONTRACT: Self = Self(256 << 10);
    /// A summary: far above its 250 characters, so that a long one is reported as too long.
    pub(crate) const SUMMARY: Self = Self(64 << 10);
    /// A document, a handler's source, a test file: 1 MiB.
    pub(crate) const DOC: Self = Self(1 << 20);
    /// A component or an executable: 64 MiB.
    pub(crate) const BINARY: Self = Self(64 << 20);

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

/// The file's text, with line endings as LF and without a byte order mark.
pub(crate) fn read_text(
    found: &Found,
    file: &File,
    limit: Limit,
    findings: &mut Findings,
) -> Option<String> {
    let bytes = read_bytes(found, file, limit, findings)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let line = error.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
            findings
                .add(
                    &code::NOT_UTF8,
                    At::Whole(file.clone()),
                    format!("byte {at} (line {line}) is not UTF-8"),
                )
                .help("save the file as UTF-8");
            return None;
        }
    };
    if text.starts_with('\u{feff}') {
        findings
            .add(
                &code::BYTE_ORDER_MARK,
                At::Whole(file.clone()),
                "the file starts with a byte order mark",
            )
            .help("save the file as UTF-8 without a BOM");
    }
    if text.contains("\r\n") {
        findings
            .add(&code::CARRIAGE_RETURN, At::Whole(file.clone()), "lines end in CRLF")
            .help("they are read as LF, so the version does not change; save the file with LF");
    }
    Some(normalise(text))
}

/// The text as it is hashed, linted and shown.
pub(crate) fn normalise(text: String) -> String {
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    if text.contains("\r\n") { text.replace("\r\n", "\n") } else { text }
}

/// A handler that is not JavaScript.
pub(super) fn read_binary(found: &Found, findings: &mut Findings) -> Option<Binary> {
    let file = File::Named(found.name.clone());
    let bytes = read_bytes(found, &file, Limit::BINARY, findings)?;
    Some(Binary { file: found.name.clone(), path: found.path.clone(), bytes })
}

/// Reads with room for the size that was seen: the system need not be asked for it again, and a
/// file that grows meanwhile is not followed for ever.
fn read_up_to(found: &Found, limit: u64) -> io::Result<Vec<u8>> {
    let size = usize::try_from(found.stamp.size).unwrap_or_default();
    let mut bytes = Vec::with_capacity(size + 1);
    fs::File::open(&found.path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_bytes(
    found: &Found,
    file: &File,
    Limit(limit): Limit,
    findings: &mut Findings,
) -> Option<Vec<u8>> {
    let at = At::Whole(file.clone());
    match found.entry {
        Entry::File if found.stamp.size > limit => {
            let size = found.stamp.size;
            findings
                .add(
                    &code::TOO_LARGE,
                    at,
                    format!("the file has {size} bytes; at most {limit} are read"),
                )
                .help("say it in less, or move it out of the folder");
            None
        }
        Entry::File => match read_up_to(found, limit) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                findings.add(&code::UNREADABLE, at, format!("cannot be read: {error}"));
                None
            }
        },
        Entry::Outside => {
            findings
                .add(&code::OUTSIDE_LINK, at, "this link leaves the toolset or leads nowhere")
                .help("a toolset is built from its own files only; copy the file into the folder");
            None
        }
        Entry::Folder | Entry::Special => {
            findings.add(&code::NOT_A_FILE, at, "this is not a file").help("put a plain file here");
            None
        }
        Entry::Unreadable => {
            findings
                .add(&code::UNREADABLE, at, "cannot be looked at")
                .help("check its permissions");
            None
        }
    }
}
