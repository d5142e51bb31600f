//! The knowledge base behind the `kb` capability: `search` and `get`, for whoever may read.

use std::sync::Arc;

use haft_core::call::Caller;
use haft_core::port::{Boxed, Provide, Scope};
use haft_core::{ErrorKind, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::access::Namespaces;
use super::base::{Base, KbError};
use super::record::{Record, moment};
use super::search::{Hit, Search};
use super::snippet;

/// Answers handlers.
pub struct Provider {
    base: Arc<Base>,
    namespaces: Namespaces,
}

impl Provider {
    /// Of a base, for those who may read its namespaces.
    #[must_use]
    pub fn new(base: Arc<Base>, namespaces: Namespaces) -> Self {
        Self { base, namespaces }
    }
}

/// `context.kb.search({…})`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    query: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    filters: Option<Filters>,
    #[serde(default = "five")]
    top_k: usize,
    #[serde(default)]
    return_fields: Option<Vec<String>>,
    #[serde(default = "yes")]
    include_snippets: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filters {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    date_range: DateRange,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DateRange {
    start: Option<String>,
    end: Option<String>,
}

/// `context.kb.get({…})`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Named {
    ids: Vec<String>,
    #[serde(default)]
    return_fields: Option<Vec<String>>,
}

fn five() -> usize {
    5
}

fn yes() -> bool {
    true
}

impl Provide for Provider {
    fn provide<'a>(
        &'a self,
        scope: &'a Scope,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            match method {
                "search" => self.search(&scope.caller, read(arguments)?).await,
                "get" => self.get(&scope.caller, read(arguments)?).await,
                other => {
                    let message =
                        format!("`kb` has no method `{other}`; it has `search` and `get`");
                    Err(ToolError::new(ErrorKind::Internal, message))
                }
            }
        })
    }

    fn reads_connection(&self) -> bool {
        false
    }

    fn writes(&self, _: &str) -> bool {
        false
    }
}

impl Provider {
    async fn search(&self, caller: &Caller, asked: Asked) -> Result<Value, ToolError> {
        let namespaces = match &asked.namespace {
            None => self.namespaces.readable(caller).namespaces(),
            Some(name) => match self.namespaces.named(name, caller) {
                stored if stored.is_empty() => return Err(not_readable(name)),
                stored => Some(stored),
            },
        };
        let filters = asked.filters.unwrap_or_default();
        let wanted = Wanted::of(asked.return_fields.as_deref(), &["snippet", "metadata", "url"])?;
        let search = Search {
            query: asked.query,
            namespaces,
            kind: filters.kind,
            tags: filters.tags,
            since: time("start", filters.date_range.start)?,
            until: time("end", filters.date_range.end)?,
            limit: asked.top_k,
            snippets: asked.include_snippets && wanted.snippet,
        };
        let base = self.base.clone();
        let found = blocking(move || base.search(&search)).await?;
        let results: Vec<Value> = found.hits.into_iter().map(|hit| wanted.show(hit)).collect();
        let took = (found.took.as_secs_f64() * 1_000_000.0).round() / 1_000.0;
        Ok(json!({ "results": results, "total": found.total, "query_time_ms": took }))
    }

    async fn get(&self, caller: &Caller, named: Named) -> Result<Value, ToolError> {
        let readable = self.namespaces.readable(caller).namespaces();
        let wanted = Wanted::of(named.return_fields.as_deref(), &["full_text", "metadata", "url"])?;
        let base = self.base.clone();
        let records = blocking(move || base.get(&named.ids, readable.as_deref())).await?;
        let results: Vec<Value> = records
            .into_iter()
            .map(|record| {
                let snippet = wanted.snippet.then(|| snippet::opening(&record.body));
                wanted.show(Hit { record, score: 1.0, snippet })
            })
            .collect();
        Ok(json!({ "results": results }))
    }
}

fn read<T: for<'de> Deserialize<'de>>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|why| {
        let message = format!("`kb` was not asked as it can be asked: {why}");
        ToolError::new(ErrorKind::InvalidArguments, message)
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KbError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(said),
        Err(why) => Err(ToolError::new(ErrorKind::Internal, "the search broke off").caused_by(why)),
    }
}

fn time(name: &str, text: Option<String>) -> Result<Option<jiff::Timestamp>, ToolError> {
    let Some(text) = text else { return Ok(None) };
    moment(&text).map(Some).ok_or_else(|| {
        let message = format!("`{name}` of the date range is no time");
        ToolError::new(ErrorKind::InvalidArguments, message)
    })
}

fn not_readable(name: &str) -> ToolError {
    let message = format!("the caller may not read the namespace `{name}`");
    ToolError::new(ErrorKind::Auth, message)
        .suggest("answer without it; do not try the others in turn")
}

/// For the model: what to do. Where things are is for the log.
fn said(error: KbError) -> ToolError {
    let (kind, message, suggestion) = match &error {
        KbError::Empty(_) => (
            ErrorKind::Permanent,
            "the knowledge base is empty: nothing has been imported yet".to_owned(),
            "tell the user that `haft kb import` fills it",
        ),
        KbError::Question(why) => {
            (ErrorKind::InvalidArguments, why.clone(), "name what to look for in a few words")
        }
        KbError::Busy(_) => {
            (ErrorKind::Transient, "the knowledge base is busy".to_owned(), "try again later")
        }
        KbError::Missing(_) | KbError::Disk(..) | KbError::Damaged(..) | KbError::Model(_) => (
            ErrorKind::Transient,
            "the knowledge base did not answer".to_owned(),
            "carry on without it",
        ),
    };
    ToolError::new(kind, message).suggest(suggestion).caused_by(error)
}

/// The optional fields of a result.
#[derive(Clone, Copy, Default)]
struct Wanted {
    snippet: bool,
    full_text: bool,
    metadata: bool,
    sources: bool,
    url: bool,
}

impl Wanted {
    fn of(names: Option<&[String]>, default: &[&str]) -> Result<Self, ToolError> {
        let mut wanted = Self::default();
        let given: Vec<&str> = match names {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => default.to_vec(),
        };
        for name in given {
            match name {
                "snippet" => wanted.snippet = true,
                "full_text" => wanted.full_text = true,
                "metadata" => wanted.metadata = true,
                "sources" => wanted.sources = true,
                "url" => wanted.url = true,
                other => {
                    let message = format!("`{other}` is no field of a result");
                    return Err(ToolError::new(ErrorKind::InvalidArguments, message));
                }
            }
        }
        Ok(wanted)
    }

    /// One record as evidence.
    fn show(self, hit: Hit) -> Value {
        let Hit { record, score, snippet } = hit;
        let Record {
            id, kind, title, body, source_type, last_updated, url, metadata, sources, ..
        } = record;
        let mut shown = Map::new();
        let mut put = |name: &str, value: Value| {
            shown.insert(name.to_owned(), value);
        };
        put("id", id.into());
        put("type", kind.into());
        put("title", title.into());
        if let Some(snippet) = snippet.filter(|snippet| !snippet.is_empty()) {
            put("snippet", snippet.into());
        }
        if self.full_text {
            put("full_text", body.into());
        }
        put("score", json!(score));
        put("source_type", source_type.into());
        put("last_updated", last_updated.to_string().into());
        if let Some(url) = url.filter(|_| self.url) {
            put("url", url.into());
        }
        if self.metadata {
            put("metadata", Value::Object(metadata));
        }
        if self.sources {
            put("sources", json!(sources));
        }
        Value::Object(shown)
    }
}
