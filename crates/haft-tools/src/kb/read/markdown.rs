//! Markdown: front matter in YAML between two lines of `---`, then the text.

use std::fs::File;
use std::io::{self, Read as _};

use serde_json::{Map, Value};
use serde_saphyr::options::DuplicateKeyPolicy;

use super::{Defaults, Item, finish};

const MOST: u64 = 4 << 20;

pub(super) fn read(
    file: File,
    inside: &str,
    mut defaults: Defaults,
    take: &mut dyn FnMut(Item),
) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        take(Err((0, format!("has more than {MOST} bytes; split it into several records"))));
        return Ok(());
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = error.as_bytes().get(..error.utf8_error().valid_up_to());
            take(Err((line_after(before.unwrap_or_default()), "not UTF-8".to_owned())));
            return Ok(());
        }
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut fields, body) = match divide(text) {
        Ok((matter, body)) => match front_matter(matter) {
            Ok(fields) => (fields, body),
            Err((line, what)) => {
                take(Err((line, what)));
                return Ok(());
            }
        },
        Err(what) => {
            take(Err((1, what)));
            return Ok(());
        }
    };
    let stem = inside.rsplit_once('.').map_or(inside, |(stem, _)| stem);
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("doc");
    defaults.id = Some(format!("{kind}:{}", stem.replace('\\', "/")));
    let (heading, body) = heading(body);
    let name = stem.rsplit(['/', '\\']).next().unwrap_or(stem).replace(['-', '_'], " ");
    defaults.title = Some(heading.unwrap_or(name));
    fields.entry("body").or_insert_with(|| Value::from(body.trim()));
    finish(1, fields, &defaults, take);
    Ok(())
}

fn line_after(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// The front matter, where there is one, and the rest.
fn divide(text: &str) -> Result<(&str, &str), String> {
    let Some(rest) = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n")) else {
        return Ok(("", text));
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let matter = rest.get(..at).unwrap_or_default();
            return Ok((matter, rest.get(at + line.len()..).unwrap_or_default()));
        }
        at += line.len();
    }
    Err("the front matter is not closed; end it with a line of `---`".to_owned())
}

fn front_matter(text: &str) -> Result<Map<String, Value>, (u64, String)> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_documents: 1,
            max_nodes: 10_000,
            max_events: 30_000,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 10_000,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 100,
        },
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options(text, options) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err((2, "the front matter must be names with values".to_owned())),
        Err(error) => {
            let line = error.location().map_or(1, |place| place.line());
            Err((line + 1, format!("the front matter is not YAML: {error}")))
        }
    }
}

/// A first heading is the title, not a part of the text.
fn heading(body: &str) -> (Option<String>, &str) {
    let start = body.trim_start();
    let line = start.lines().next().unwrap_or_default();
    match line.strip_prefix("# ").map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => {
            let title = title.trim_end_matches('#').trim_end();
            (Some(title.to_owned()), start.get(line.len()..).unwrap_or_default())
        }
        None => (None, body),
    }
}
