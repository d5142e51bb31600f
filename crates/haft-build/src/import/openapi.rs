//! OpenAPI 3.0 and 3.1: one tool per operation, run by an HTTP gateway.
//!
//! What a call does is read off its method, as HTTP defines it: `GET` and `HEAD` only read, `PUT`
//! and `DELETE` can be repeated, `POST` and `PATCH` cannot. Credentials never become parameters:
//! a security scheme becomes a connection, whose credentials the host attaches.
//!
//! The parameters that the report's pointers lead into are the ones put together here, with the
//! schemas of the document as they came.

mod answers;
mod arguments;
mod body;
mod examples;
mod form;
mod media;
mod operation;
mod security;
mod server;
mod style;
mod yaml;

#[cfg(test)]
mod tests;

use haft_core::Digest;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::draft::{Read, assemble};
use super::function::seen;
use super::pointer::{self, step};
use super::report::{Part, ReportEntry, Severity};
use super::{Import, ImportError, read};

/// The methods that OpenAPI has; the last two have no use for a tool.
const METHODS: [&str; 8] = ["get", "head", "post", "put", "patch", "delete", "options", "trace"];

/// What is known of a service beside its document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given<'a> {
    /// Where calls go when the document names no server, or only a path on one.
    pub base_url: Option<&'a str>,
    /// Whose connection the tools use, whatever the document calls it.
    pub provider: Option<&'a str>,
}

/// Imports the operations of an OpenAPI document, in JSON or YAML.
///
/// # Errors
///
/// If the text cannot be read or is no OpenAPI 3 document. An operation that cannot become a tool
/// is an entry of the report.
pub fn openapi(text: &str, given: Given<'_>) -> Result<Import, ImportError> {
    read::check_size(text)?;
    let document = if text.trim_start().starts_with('{') {
        read::json(text).map_err(|why| ImportError::Unreadable { format: "JSON", why })?
    } else {
        yaml::read(text).map_err(|why| ImportError::Unreadable { format: "YAML", why })?
    };
    if document.get("swagger").is_some() {
        return Err(ImportError::Swagger);
    }
    let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !["3.0.", "3.1.", "3.2."].iter().any(|known| version.starts_with(known)) {
        return Err(ImportError::NotDefinitions { expected: "an OpenAPI 3 document" });
    }
    let source = Source { document: &document, given };
    let paths = document.get("paths").and_then(Value::as_object);
    let paths: Vec<(&String, &Value)> = paths.into_iter().flatten().collect();
    let read = paths.into_par_iter().flat_map_iter(|(path, item)| source.path(path, item));
    let mut import = assemble(read.collect());
    for field in ["webhooks", "externalDocs"] {
        if let Some(value) = document.get(field) {
            import.report.entries.push(not_read(field, value));
        }
    }
    if given.provider.is_none() && says_nothing_of_accounts(&document) {
        import.report.entries.push(no_accounts());
    }
    Ok(import)
}

fn says_nothing_of_accounts(document: &Value) -> bool {
    let schemes = document.pointer(SCHEMES).and_then(Value::as_object);
    schemes.is_none_or(Map::is_empty) && document.get("security").is_none()
}

/// Where a document describes accounts.
const SCHEMES: &str = "/components/securitySchemes";

/// Services that need an account and documents that do not say so are common.
fn no_accounts() -> ReportEntry {
    ReportEntry {
        tool: String::new(),
        source: "security".to_owned(),
        severity: Severity::Info,
        part: Part::Definition,
        pointer: SCHEMES.to_owned(),
        what:
            "the document names no security scheme, so no tool has a connection; `--provider NAME` \
               gives them one"
                .to_owned(),
        before: None,
        after: None,
    }
}

/// What the document as a whole says, and no tool.
fn not_read(field: &str, value: &Value) -> ReportEntry {
    ReportEntry {
        tool: String::new(),
        source: field.to_owned(),
        severity: Severity::Dropped,
        part: Part::Definition,
        pointer: step("", field),
        what: "not part of any operation; it was not read".to_owned(),
        before: Some(seen(value)),
        after: None,
    }
}

/// The document and where its operations are.
struct Source<'a> {
    document: &'a Value,
    given: Given<'a>,
}

/// One operation with everything around it.
struct Operation<'a> {
    source: &'a Source<'a>,
    path: &'a str,
    method: &'static str,
    /// What all operations of the path have in common.
    item: &'a Map<String, Value>,
    members: &'a Map<String, Value>,
}

impl<'a> Source<'a> {
    fn path(&'a self, path: &'a str, item: &'a Value) -> Vec<Read> {
        let item = match self.follow(item) {
            Ok(Value::Object(item)) => item,
            Ok(_) => return vec![self.broken(path, item, "it is not an object".to_owned())],
            Err(why) => return vec![self.broken(path, item, why)],
        };
        METHODS
            .into_iter()
            .filter_map(|method| Some((method, item.get(method)?)))
            .map(|(method, operation)| match operation.as_object() {
                Some(members) => {
                    operation::read(&Operation { source: self, path, method, item, members })
                }
                None => self.broken(path, operation, format!("`{method}` is not an object")),
            })
            .collect()
    }

    fn broken(&self, path: &str, found: &Value, why: String) -> Read {
        let digest = Digest::of_json(&json!([path, found]));
        Read::refused(path.to_owned(), digest, Part::Definition, &step("/paths", path), why)
    }

    /// What a local reference to a parameter, a body, a response or a path leads to.
    fn follow(&self, value: &'a Value) -> Result<&'a Value, String> {
        let mut here = value;
        // A chain longer than this goes round in a circle.
        for _ in 0..16 {
            let Some(target) = here.get("$ref").and_then(Value::as_str) else { return Ok(here) };
            let pointer = pointer::fragment(target);
            let found = pointer.and_then(|pointer| self.document.pointer(&pointer));
            here = found.ok_or_else(|| {
                format!("`{target}` is not in the document, and nothing is fetched; bundle it into one file")
            })?;
        }
        Err("its references go round in a circle".to_owned())
    }
}
