//! OAuth 2.1: what a client that was refused needs to know to get a token for this server (RFC 9728).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use crate::door::Door;
use crate::problem::Problem;

pub(crate) const PLACE: &str = "/.well-known/oauth-protected-resource";

/// This server's address as the client knows it. The host has been checked against our names.
pub(crate) fn base(door: &Door, headers: &HeaderMap) -> String {
    if let Some(url) = &door.mcp.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    format!("http://{}", host.unwrap_or("localhost"))
}

/// The metadata of `/mcp`, and of what is below it.
pub(crate) async fn root(
    State(door): State<Arc<Door>>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    described(&door, &headers, "/mcp")
}

/// The same, where the path of the resource follows.
pub(crate) async fn below(
    State(door): State<Arc<Door>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, Problem> {
    match path.as_str() == "mcp" || path.starts_with("mcp/") {
        true => described(&door, &headers, &format!("/{path}")),
        false => Err(Problem::missing("resource")),
    }
}

fn described(door: &Door, headers: &HeaderMap, path: &str) -> Result<Json<Value>, Problem> {
    if door.mcp.authorization_servers.is_empty() {
        return Err(Problem::missing("authorization server"));
    }
    Ok(Json(json!({
        "resource": format!("{}{path}", base(door, headers)),
        "authorization_servers": door.mcp.authorization_servers,
        "bearer_methods_supported": ["header"],
        "resource_name": "haft",
    })))
}

/// Where whoever came to `/mcp` without a valid key may ask for one.
pub(crate) fn challenge(door: &Door, request: &Request) -> Option<HeaderValue> {
    let path = request.uri().path();
    let ours =
        path.strip_prefix("/mcp").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if !ours || door.mcp.authorization_servers.is_empty() {
        return None;
    }
    let place = format!("{}{PLACE}{path}", base(door, request.headers()));
    HeaderValue::from_str(&format!("Bearer realm=\"haft\", resource_metadata=\"{place}\"")).ok()
}
