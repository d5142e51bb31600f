//! Where calls go: one literal host, decided at import.

use serde_json::{Map, Value};

use super::super::log::Log;
use super::super::report::Severity;
use super::Operation;

/// A server's address without a slash at its end, and its host.
#[derive(Debug, PartialEq)]
pub(super) struct Server {
    pub(super) url: String,
    pub(super) host: String,
}

/// The first server of the operation, of its path, or of the document.
pub(super) fn of(operation: &Operation<'_>, log: &mut Log) -> Result<Server, String> {
    let document = operation.source.document.as_object();
    let others = [Some(operation.members), Some(operation.item), document]
        .into_iter()
        .flatten()
        .find_map(|holder| holder.get("servers")?.as_array().filter(|list| !list.is_empty()))
        .map(Vec::as_slice)
        .unwrap_or_default();
    let first = others.first();
    let written = first.and_then(|server| server.get("url")).and_then(Value::as_str).unwrap_or("/");
    let variables = first.and_then(|server| server.get("variables")).and_then(Value::as_object);
    let url = fill(written, variables, log)?;
    let server = absolute(&url, operation.source.given.base_url)?;
    log.note(Severity::Info, "/servers", format!("calls go to `{}`", server.host));
    if server.url.starts_with("http://")
        && !["localhost", "127.0.0.1"].contains(&server.host.as_str())
    {
        return Err("its server is not encrypted (`http`); give a base URL with `https`".to_owned());
    }
    for (index, other) in others.iter().enumerate().skip(1) {
        let url = other.get("url").and_then(Value::as_str).unwrap_or_default();
        let what = format!("calls go to one server, and `{url}` is another");
        log.note(Severity::Dropped, &format!("/servers/{index}"), what);
    }
    Ok(server)
}

/// Variables stand for their defaults: where a call goes is not for a model to choose.
fn fill(
    url: &str,
    variables: Option<&Map<String, Value>>,
    log: &mut Log,
) -> Result<String, String> {
    let mut filled = url.to_owned();
    for (name, variable) in variables.into_iter().flatten() {
        let slot = format!("{{{name}}}");
        if !filled.contains(&slot) {
            continue;
        }
        let Some(default) = variable.get("default").and_then(Value::as_str) else {
            return Err(format!("the server's variable `{name}` has no default; give it one"));
        };
        filled = filled.replace(&slot, default);
        let what = format!("the server's variable `{name}` is always `{default}`");
        log.note(Severity::Changed, "/servers", what);
    }
    Ok(filled)
}

fn absolute(url: &str, base: Option<&str>) -> Result<Server, String> {
    let is_absolute = |url: &str| url.starts_with("https://") || url.starts_with("http://");
    if is_absolute(url) && !(url.starts_with("http://") && base.is_some()) {
        return parse(url);
    }
    // A base URL stands in for a server that is not encrypted; its path stays.
    let url = match url.strip_prefix("http://") {
        Some(rest) => rest.split_once('/').map_or("/", |(_, path)| path),
        None => url,
    };
    if url.contains("://") || url.starts_with("//") {
        return Err(format!("`{url}` is no HTTP server; name one with `https://`"));
    }
    let Some(base) = base else {
        return Err("the document names no host; give a base URL".to_owned());
    };
    parse(&format!("{}/{}", base.trim_end_matches('/'), url.trim_start_matches('/')))
}

fn parse(url: &str) -> Result<Server, String> {
    let wrong = || format!("`{url}` is not `https://host/path`; correct the server's URL");
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    let good_port = port.bytes().all(|b| b.is_ascii_digit()) && port.len() <= 5;
    let good_path = !path.contains(['?', '#', '{', '}', ' ', '\\']) && path.is_ascii();
    if !matches!(scheme, "http" | "https") || !is_host(host) || !good_port || !good_path {
        return Err(wrong());
    }
    let authority = authority.trim_end_matches(':').to_ascii_lowercase();
    let address = format!("{scheme}://{authority}/{path}");
    let url = address.trim_end_matches('/').to_owned();
    Ok(Server { url, host: host.to_ascii_lowercase() })
}

fn is_host(host: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    host.len() <= 253 && host.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_one_literal_host() {
        for (url, base, expected) in [
            (
                "https://api.example.com/v1/",
                None,
                Some(("https://api.example.com/v1", "api.example.com")),
            ),
            ("https://API.example.com", None, Some(("https://api.example.com", "api.example.com"))),
            ("http://localhost:8080/x", None, Some(("http://localhost:8080/x", "localhost"))),
            ("/v2", Some("https://h.example"), Some(("https://h.example/v2", "h.example"))),
            ("/", Some("https://h.example/api/"), Some(("https://h.example/api", "h.example"))),
            ("/v2", None, None),
            ("https://{tenant}.example.com", None, None),
            ("https://user:secret@example.com", None, None),
            ("https://example.com@evil.example/", None, None),
            ("https://example.com/a?x=1", None, None),
            ("//evil.example", Some("https://h.example"), None),
            ("file:///etc/passwd", Some("https://h.example"), None),
            ("https://[::1]/", None, None),
            ("https://", None, None),
        ] {
            let found = absolute(url, base).ok();
            let found = found.as_ref().map(|s| (s.url.as_str(), s.host.as_str()));
            assert_eq!(found, expected, "{url}");
        }
    }
}
