//! A compiled tool as its entry in the registry.
//!
//! [`Entry::seal`] says what an entry is; here the same bytes are written in one pass, because
//! writing entries is the largest single part of building thousands of tools.

use haft_core::Digest;
use haft_core::registry::{Entry, Tool};
use serde::Serialize;

/// The entry of a tool, byte for byte as [`Entry::seal`] writes it.
pub(super) fn entry(tool: &Tool) -> Entry {
    written(tool).unwrap_or_else(|| Entry::seal(tool))
}

fn written(tool: &Tool) -> Option<Entry> {
    let mut text = Vec::with_capacity(4096);
    member(&mut text, "{\"contract\":", &tool.contract)?;
    let digest_at = text.len();
    member(&mut text, ",\"doc\":", &tool.doc)?;
    member(&mut text, ",\"handler\":", &tool.handler)?;
    member(&mut text, ",\"id\":", &tool.id)?;
    member(&mut text, ",\"parameters\":", &tool.parameters)?;
    member(&mut text, ",\"summary\":", &tool.summary)?;
    text.push(b'}');
    let digest = Digest::of_bytes(&text);
    let mut json = String::from_utf8(text).ok()?;
    json.insert_str(digest_at, &format!(",\"digest\":\"{digest}\""));
    // Entries are kept until the registry is written; thousands of them with room to grow add up.
    json.shrink_to_fit();
    Some(Entry { id: tool.id.clone(), digest, json })
}

fn member(text: &mut Vec<u8>, name: &str, value: &impl Serialize) -> Option<()> {
    text.extend_from_slice(name.as_bytes());
    haft_core::digest::write_canonical(text, value).ok()
}
