//! The `http` capability: what a handler asks for, made by the host.
//!
//! A handler says what it wants; it holds neither a socket nor a secret. Requests go to the hosts
//! that its contract lists, and the credentials of the call's connection are attached on the way
//! out, to the connection's hosts alone.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haft_core::Contract;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Binding, Boxed, Provide, Scope};
use hyper::Method;
use hyper::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use url::Url;

use super::answer::refused;
use super::attach::Signer;
use super::client::{Client, Fault, Request, Response};
use super::template::encoded;
use crate::end::sooner;

/// The path stops a handler at its deadline; this ends what nobody waits for.
const LONGEST: Duration = Duration::from_secs(120);

/// Headers of a response that a handler gets to see.
const SHOWN: [&str; 8] = [
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "x-ratelimit-remaining",
    "x-request-id",
];

/// Headers that are the host's to set.
const OURS: [&str; 14] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Provides `http` to handlers.
pub struct Fetch {
    client: Arc<Client>,
}

impl Fetch {
    /// With a client.
    #[must_use]
    pub fn new(client: Arc<Client>) -> Self {
        Self { client }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    url: String,
    #[serde(default)]
    query: Map<String, Value>,
    #[serde(default)]
    headers: Map<String, Value>,
    json: Option<Value>,
    text: Option<String>,
    form: Option<Map<String, Value>>,
}

impl Provide for Fetch {
    fn provide<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a str,
        _: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async { Err(fault("`http` is used within a call")) })
    }

    fn provide_bound<'a>(
        &'a self,
        binding: Binding<'a>,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(self.fetch(binding, method, arguments))
    }

    fn reads_connection(&self) -> bool {
        false
    }

    fn writes(&self, method: &str) -> bool {
        !matches!(method, "get" | "head")
    }
}

impl Fetch {
    async fn fetch(
        &self,
        binding: Binding<'_>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let method = verb(method)?;
        let mut request =
            request(method, asked(arguments)?, self.client.settings().response_bytes)?;
        request.via = binding.scope.caller.via.clone();
        if !is_declared(&binding.tool.contract, &request.url) {
            return Err(fault("the contract does not list this host")
                .caused_by(format!("`{}`", request.url.origin().ascii_serialization())));
        }
        let mut signer = Signer::with(binding.auth);
        let again = request.copy();
        signer.sign(&mut request).await?;
        let end = sooner(Instant::now() + LONGEST, binding.until);
        let mut response = self.client.send(request, end).await.map_err(unanswered)?;
        if response.status == 401 && signer.renew().await {
            let mut request = again;
            signer.sign(&mut request).await?;
            response = self.client.send(request, end).await.map_err(unanswered)?;
        }
        match &response.unread {
            Some(why) => Err(unread(response.status, why)),
            None => Ok(shown(&response)),
        }
    }
}

fn verb(method: &str) -> Result<Method, ToolError> {
    Ok(match method {
        "get" => Method::GET,
        "head" => Method::HEAD,
        "post" => Method::POST,
        "put" => Method::PUT,
        "patch" => Method::PATCH,
        "delete" => Method::DELETE,
        _ => return Err(fault("`http` has `get`, `head`, `post`, `put`, `patch` and `delete`")),
    })
}

/// A URL, or an object with one.
fn asked(arguments: Value) -> Result<Asked, ToolError> {
    let object = match arguments {
        Value::String(url) => json!({ "url": url }),
        Value::Array(list) => match <[Value; 2]>::try_from(list) {
            Ok([url, Value::Object(mut options)]) => {
                options.insert("url".to_owned(), url);
                Value::Object(options)
            }
            Ok(_) | Err(_) => Value::Null,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => arguments,
    };
    serde_json::from_value(object).map_err(|why| {
        fault("`http` takes `{url, query, headers, json | text | form}`").caused_by(why)
    })
}

fn request(method: Method, asked: Asked, most: u64) -> Result<Request, ToolError> {
    let mut url = Url::parse(&asked.url).map_err(|why| fault("this is no URL").caused_by(why))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("a URL has no name and password; use a connection"));
    }
    url.set_fragment(None);
    if !asked.query.is_empty() {
        let more = pairs(&asked.query)?;
        let query = url.query().map_or(more.clone(), |own| format!("{own}&{more}"));
        url.set_query(Some(&query));
    }
    let mut headers = headers(&asked.headers)?;
    let (kind, body) = match (asked.json, asked.text, asked.form) {
        (None, None, None) => (None, String::new()),
        (Some(json), None, None) => (Some("application/json"), json.to_string()),
        (None, Some(text), None) => (Some("text/plain; charset=utf-8"), text),
        (None, None, Some(form)) => (Some("application/x-www-form-urlencoded"), pairs(&form)?),
        (_, _, _) => return Err(fault("a request has one of `json`, `text` and `form`")),
    };
    if let Some(kind) = kind {
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
    }
    Ok(Request::new(method, url, headers, Bytes::from(body), most))
}

fn pairs(map: &Map<String, Value>) -> Result<String, ToolError> {
    let mut out = Vec::with_capacity(map.len());
    for (name, value) in map {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let text = match value {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::Array(_) | Value::Object(_) => {
                    return Err(fault("a query holds texts and numbers, and lists of them"));
                }
            };
            out.push(format!("{}={}", encoded(name), encoded(&text)));
        }
    }
    Ok(out.join("&"))
}

fn headers(given: &Map<String, Value>) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let plain = value.as_str().filter(|text| !text.chars().any(char::is_control));
        let name = HeaderName::from_bytes(name.as_bytes()).ok();
        let value = plain.and_then(|text| HeaderValue::from_str(text).ok());
        let name = name.filter(|name| !OURS.contains(&name.as_str()));
        let (Some(name), Some(value)) = (name, value) else {
            return Err(fault("a header has a name and one line of text, and is not the host's"));
        };
        headers.insert(name, value);
    }
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(headers)
}

/// Whether the contract lists the host, with the port where it is not the usual one.
fn is_declared(contract: &Contract, url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let port = url.port_or_known_default();
    let usual = if url.scheme() == "http" { 80 } else { 443 };
    let listed = |entry: &String| {
        let (name, at) = match entry.rsplit_once(':') {
            Some((name, at)) => (name, at.parse::<u16>().ok()),
            None => (entry.as_str(), Some(usual)),
        };
        name.eq_ignore_ascii_case(host) && at == port
    };
    let connected = contract.connection.iter().flat_map(|one| &one.hosts);
    contract.hosts.iter().chain(connected).any(listed)
}

fn shown(response: &Response) -> Value {
    let mut headers = Map::new();
    for name in SHOWN {
        if let Some(text) = response.headers.get(name).and_then(|value| value.to_str().ok()) {
            headers.insert(name.to_owned(), json!(text));
        }
    }
    let mut answer = json!({ "status": response.status, "headers": headers });
    let is_json = headers_say_json(&response.headers);
    if let Value::Object(answer) = &mut answer {
        match serde_json::from_slice::<Value>(&response.body) {
            Ok(value) if is_json => answer.insert("json".to_owned(), value),
            Ok(_) | Err(_) => {
                let text = String::from_utf8_lossy(&response.body).into_owned();
                answer.insert("text".to_owned(), json!(text))
            }
        };
    }
    answer
}

fn headers_say_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn fault(message: &str) -> ToolError {
    ToolError::new(ErrorKind::Internal, message)
}

/// A refusal that says more than can be read. It has a status, so it counts as one that can.
fn unread(status: u16, why: &str) -> ToolError {
    let message = format!("the service refused the request ({status}), and why cannot be read");
    let mut error = ToolError::new(ErrorKind::Permanent, message).caused_by(why);
    error.partial_side_effects = true;
    error
}

/// A handler learns whether what it asked for may have been done.
fn unanswered(fault: Fault) -> ToolError {
    match fault {
        Fault::Unsent { why, .. } => {
            ToolError::new(ErrorKind::Transient, "the service cannot be reached").caused_by(why)
        }
        Fault::Refused { why } => refused(why),
        Fault::TooLong { why, .. } => {
            let message = "the service's answer is longer than it may be";
            let mut error = ToolError::new(ErrorKind::Permanent, message).caused_by(why);
            error.partial_side_effects = true;
            error
        }
        Fault::Lost { why, timeout, .. } => {
            let (kind, message) = match timeout {
                true => (ErrorKind::Timeout, "the service did not answer in time"),
                false => (ErrorKind::Transient, "the service broke off"),
            };
            let mut error = ToolError::new(kind, message).caused_by(why);
            error.partial_side_effects = true;
            error
        }
    }
}
