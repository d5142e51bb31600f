//! Where a call may go: hosts are literal, and every slot is a parameter.

use serde_json::Value;

use super::paths::{self, Found};
use crate::code;
use crate::diagnostic::{Findings, escape};
use haft_core::nearest;

/// Checks `connection.hosts` and an HTTP gateway.
pub(crate) fn check(contract: &Value, out: &mut Findings) {
    let hosts: Vec<&str> = contract
        .pointer("/connection/hosts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (index, host) in hosts.iter().enumerate() {
        if !is_host(host) {
            let message = format!("`{host}` is not the name of one host");
            out.contract(&code::HOST, format!("/connection/hosts/{index}"), message)
                .help("write it alone: `api.example.com`, without scheme, port, path or `*`");
        }
    }
    let Some(gateway) = contract.get("gateway") else { return };
    if gateway.get("kind").and_then(Value::as_str) == Some("http") {
        http(contract, gateway, &hosts, out);
    }
}

fn http(contract: &Value, gateway: &Value, hosts: &[&str], out: &mut Findings) {
    let Some(url) = gateway.get("url").and_then(Value::as_str) else { return };
    match split(url) {
        Ok((host, rest)) => {
            let local = ["localhost", "127.0.0.1"].contains(&host);
            if url.starts_with("http://") && (!local || !hosts.is_empty()) {
                out.contract(&code::GATEWAY, "/gateway/url", "this URL is not encrypted")
                    .help("use `https://`; plain `http://` is for a service on this machine");
            }
            if rest.matches('{').count() != slots(rest).count() {
                out.contract(&code::GATEWAY, "/gateway/url", "a `{` in this URL is never closed");
            }
            if !hosts.is_empty() && !hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
                let message = format!("`{host}` is not among the connection's hosts");
                out.contract(&code::GATEWAY, "/gateway/url", message)
                    .help("credentials are sent only to hosts that `connection.hosts` lists");
            }
            for slot in slots(rest) {
                known_parameter(contract, slot, "/gateway/url", out);
            }
        }
        Err(why) => {
            out.contract(&code::GATEWAY, "/gateway/url", why).help(
                "write `https://host/path/{parameter}`: scheme and host are literal, so that no \
                 argument can send a call elsewhere",
            );
        }
    }
    for section in ["query", "headers", "body"] {
        for (name, parameter) in
            gateway.get(section).and_then(Value::as_object).into_iter().flatten()
        {
            let at = format!("/gateway/{section}/{}", escape(name));
            if section == "headers" && !is_header(name) {
                let message = format!("`{name}` is not a header that a contract may set");
                out.contract_key(&code::GATEWAY, at.clone(), message)
                    .help("credentials and framing are the host's business");
            }
            if let Some(parameter) = parameter.as_str() {
                known_parameter(contract, parameter, &at, out);
            }
        }
    }
    if gateway.get("body").is_some() && gateway.get("bodyFrom").is_some() {
        out.contract(&code::GATEWAY, "/gateway/bodyFrom", "`body` and `bodyFrom` are both there")
            .help("either name the members of the body, or the one parameter that is all of it");
    }
    if let Some(parameter) = gateway.get("bodyFrom").and_then(Value::as_str) {
        known_parameter(contract, parameter, "/gateway/bodyFrom", out);
    }
}

fn known_parameter(contract: &Value, name: &str, at: &str, out: &mut Findings) {
    let Some(parameters) = contract.get("parameters") else { return };
    if let Found::Nothing(known) = paths::find(parameters, name) {
        let message = format!("`{name}` is not a parameter");
        out.contract(&code::GATEWAY, at.to_owned(), message).help(nearest::suggest(name, &known));
    }
}

/// Host and the rest of an absolute HTTP URL.
fn split(url: &str) -> Result<(&str, &str), String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .ok_or_else(|| format!("`{url}` is not an absolute `https://` URL"))?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let port = authority.get(host.len()..).unwrap_or_default().trim_start_matches(':');
    if !is_host(host) || authority.ends_with(':') || !port.chars().all(|c| c.is_ascii_digit()) {
        return Err(format!("`{authority}` is not the name of one host"));
    }
    Ok((host, path))
}

fn slots(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(slot, _)| slot))
}

fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host.len() <= 253
        && host.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        })
}

/// Headers that belong to the connection itself or carry its credentials.
const HOSTS_OWN: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "host",
    "proxy-authorization",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header is the host's to set, in whatever case it is written.
pub(crate) fn is_hosts_own(name: &str) -> bool {
    HOSTS_OWN.contains(&name.to_ascii_lowercase().as_str())
}

fn is_header(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        && !is_hosts_own(name)
}
