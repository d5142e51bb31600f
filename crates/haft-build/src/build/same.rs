//! Whether a registry file is there already.

use std::fs;
use std::io::Read as _;
use std::path::Path;

/// How a registry file starts; the build time follows.
const START: &[u8] = b"{\"build\":{\"at\":\"";

/// How much of the file is looked at at once: a registry of thousands of tools need not be held
/// twice to be compared.
const PIECE: usize = 1 << 16;

/// Whether the file at `path` differs from `text` in nothing but `build.at`.
pub(super) fn holds(path: &Path, text: &str) -> bool {
    let Ok(mut file) = fs::File::open(path) else { return false };
    let same_size =
        file.metadata().is_ok_and(|found| found.is_file() && found.len() == text.len() as u64);
    same_size && compare(&mut file, text.as_bytes()).unwrap_or(false)
}

fn compare(file: &mut fs::File, mut text: &[u8]) -> Option<bool> {
    let mut piece = vec![0; PIECE];
    // Times are written with the same number of digits, so all else stands at the same places.
    let time = time_of(text)?;
    let mut first = true;
    while !text.is_empty() {
        let (wanted, rest) = text.split_at(text.len().min(PIECE));
        let found = piece.get_mut(..wanted.len())?;
        file.read_exact(found).ok()?;
        let same = match first {
            true => {
                found.get(..time.start) == wanted.get(..time.start)
                    && time_of(found)? == time
                    && found.get(time.end..) == wanted.get(time.end..)
            }
            false => found == wanted,
        };
        if !same {
            return Some(false);
        }
        first = false;
        text = rest;
    }
    Some(true)
}

/// Where the build time stands.
fn time_of(text: &[u8]) -> Option<std::ops::Range<usize>> {
    let rest = text.strip_prefix(START)?;
    Some(START.len()..START.len() + rest.iter().position(|byte| *byte == b'"')?)
}
