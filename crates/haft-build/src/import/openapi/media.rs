//! Media types: which of those that a document offers a request can carry and a tool can read.

use serde_json::{Map, Value};

use super::Source;

/// How a body is written or read, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Json,
    /// JSON under a name of its own.
    NamedJson,
    Form,
    Text,
    /// Bytes, which an argument holds in base64.
    Bytes,
}

/// The media type that is used.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    pub(super) kind: Kind,
    /// Its name, without parameters.
    pub(super) media: &'a str,
    pub(super) content: &'a Value,
}

/// The best of the media types of a body or a response, and the names of the others.
pub(super) fn choose<'a>(
    source: &Source<'a>,
    holder: &'a Value,
) -> (Option<Chosen<'a>>, Vec<&'a str>) {
    let all = holder.get("content").and_then(Value::as_object);
    let all: Vec<(&str, &Value)> =
        all.into_iter().flatten().map(|(media, content)| (media.as_str(), content)).collect();
    let known = all.iter().filter_map(|(media, content)| {
        let kind = kind(source, media, content)?;
        Some(Chosen { kind, media, content })
    });
    // Of two that are as good, the first counts.
    let best = known.min_by_key(|chosen| chosen.kind);
    let used = best.as_ref().map(|chosen| chosen.media);
    let others = all.into_iter().map(|(media, _)| media).filter(|media| Some(*media) != used);
    let others = others.collect();
    (best.map(|chosen| Chosen { media: essence(chosen.media), ..chosen }), others)
}

fn essence(media: &str) -> &str {
    media.split(';').next().unwrap_or_default().trim()
}

fn kind(source: &Source<'_>, media: &str, content: &Value) -> Option<Kind> {
    let name = essence(media).to_ascii_lowercase();
    match name.as_str() {
        "application/json" => return Some(Kind::Json),
        "application/x-www-form-urlencoded" => return Some(Kind::Form),
        name if name.ends_with("+json") => return Some(Kind::NamedJson),
        name if name.starts_with("multipart/") => return None,
        _ => {}
    }
    let nothing = Map::new();
    let schema = content.get("schema").and_then(|schema| source.follow(schema).ok());
    let schema = schema.and_then(Value::as_object).unwrap_or(&nothing);
    let is_text = name.starts_with("text/") || name.ends_with("xml");
    match schema.get("type").and_then(Value::as_str) {
        Some("string") if is_binary(schema) => Some(Kind::Bytes),
        Some("string") => Some(Kind::Text),
        None if schema.is_empty() && is_text => Some(Kind::Text),
        None if schema.is_empty() => Some(Kind::Bytes),
        // Nobody writes XML or CSV of an object here; under any name, JSON will do.
        Some(_) | None => (name == "*/*").then_some(Kind::Json),
    }
}

fn is_binary(schema: &Map<String, Value>) -> bool {
    let says = |field: &str| schema.get(field).and_then(Value::as_str);
    says("format") == Some("binary")
        || says("contentEncoding").is_some_and(|name| name != "identity")
        || says("contentMediaType").is_some_and(|name| !name.starts_with("text/"))
}
