//! `extract_contacts`: what a text holds of names, addresses, numbers, links and handles.
//!
//! Kinds are looked for from the surest to the least sure, and what one has found the next leaves
//! alone: an address is not also a handle, and its domain is not also a link.

mod email;
mod given;
mod handle;
mod link;
mod name;
mod phone;

use std::ops::Range;

use haft_core::{ErrorKind, ToolError};
use serde::{Deserialize, Serialize};

/// What is asked.
#[derive(Deserialize)]
pub(crate) struct Asked {
    text: String,
    kinds: Vec<Kind>,
    #[serde(default)]
    default_region: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Name,
    Email,
    Phone,
    Url,
    Handle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Confidence {
    Exact,
    Likely,
}

/// One find, at its place in bytes.
#[derive(Clone, Debug)]
struct Find {
    kind: Kind,
    place: Range<usize>,
    value: String,
    confidence: Confidence,
    region: Option<String>,
    extension: Option<String>,
}

impl Find {
    fn new(kind: Kind, place: Range<usize>, value: String, confidence: Confidence) -> Self {
        Self { kind, place, value, confidence, region: None, extension: None }
    }
}

/// What was found, in no order, and never twice at one place.
#[derive(Default)]
struct Finds(Vec<Find>);

impl Finds {
    fn is_free(&self, place: &Range<usize>) -> bool {
        self.0.iter().all(|find| find.place.end <= place.start || place.end <= find.place.start)
    }

    fn take(&mut self, find: Find) {
        if self.is_free(&find.place) {
            self.0.push(find);
        }
    }
}

/// One find as it is shown.
#[derive(Debug, Serialize)]
pub(crate) struct Contact {
    kind: Kind,
    text: String,
    value: String,
    start: usize,
    end: usize,
    confidence: Confidence,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extension: Option<String>,
}

/// The answer.
#[derive(Debug, Serialize)]
pub(crate) struct Contacts {
    contacts: Vec<Contact>,
}

/// Reads a text.
pub(crate) fn extract(asked: Asked) -> Result<Contacts, ToolError> {
    let region = match &asked.default_region {
        None => None,
        Some(given) => Some(phone::region(given).ok_or_else(|| {
            let message = format!("`{}` is not a country", given.escape_debug());
            ToolError::new(ErrorKind::InvalidArguments, message)
                .suggest("pass two capital letters, such as `GB`, or leave `default_region` out")
        })?),
    };
    let text = asked.text.as_str();
    let mut finds = Finds::default();
    link::find(text, &mut finds);
    email::find(text, &mut finds);
    phone::find(text, region, &mut finds);
    handle::find(text, &mut finds);
    link::find_bare(text, &mut finds);
    if asked.kinds.contains(&Kind::Name) {
        name::find(text, &mut finds);
    }
    let mut finds = finds.0;
    finds.retain(|find| asked.kinds.contains(&find.kind));
    finds.sort_by_key(|find| find.place.start);
    Ok(Contacts { contacts: shown(text, finds) })
}

/// With places in characters.
fn shown(text: &str, finds: Vec<Find>) -> Vec<Contact> {
    let mut at = (0, 0);
    finds
        .into_iter()
        .map(|find| {
            let found = text.get(find.place.clone()).unwrap_or_default();
            let before = text.get(at.0..find.place.start).unwrap_or_default();
            let start = at.1 + before.chars().count();
            let end = start + found.chars().count();
            at = (find.place.end, end);
            Contact {
                kind: find.kind,
                text: found.to_owned(),
                value: find.value,
                start,
                end,
                confidence: find.confidence,
                region: find.region,
                extension: find.extension,
            }
        })
        .collect()
}

/// A pattern of ours.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and every one is used in tests")]
fn pattern(text: &str) -> regex::Regex {
    regex::Regex::new(text).expect("a pattern that is one")
}

#[cfg(test)]
mod tests;
