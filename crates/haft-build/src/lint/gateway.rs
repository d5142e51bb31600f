//! Where a call may go: hosts are literal, and every slot is a parameter.

mod http;
mod slots;

use serde_json::{Map, Value};

use super::paths::{self, Found};
use crate::code;
use crate::diagnostic::{Findings, escape};
use haft_core::nearest;

/// Checks the hosts of a contract and an HTTP gateway.
pub(crate) fn check(contract: &Value, out: &mut Findings) {
    let hosts = texts(contract, "/connection/hosts");
    for (index, host) in hosts.iter().enumerate() {
        if !is_host(host) {
            let message = format!("`{host}` is not the name of one host");
            out.contract(&code::HOST, format!("/connection/hosts/{index}"), message)
                .help("write it alone: `api.example.com`, without scheme, port, path or `*`");
        }
    }
    reached(contract, &hosts, out);
    let Some(gateway) = contract.get("gateway") else { return };
    if gateway.get("kind").and_then(Value::as_str) == Some("http") {
        address(contract, gateway, &hosts, out);
        http::check(contract, gateway, out);
    }
}

fn texts<'a>(contract: &'a Value, pointer: &str) -> Vec<&'a str> {
    let list = contract.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The hosts that a handler may reach.
fn reached(contract: &Value, connected: &[&str], out: &mut Findings) {
    let hosts = texts(contract, "/hosts");
    for (index, host) in hosts.iter().enumerate() {
        let (name, port) = host.rsplit_once(':').unwrap_or((host, "443"));
        if !is_host(name) || !port.parse::<u16>().is_ok_and(|port| port > 0) {
            let message = format!("`{host}` is not the name of one host");
            out.contract(&code::HOST, format!("/hosts/{index}"), message)
                .help("write `api.example.com`, or `api.example.com:8443`");
        }
    }
    let uses = texts(contract, "/capabilities").contains(&"http");
    if uses && hosts.is_empty() && connected.is_empty() {
        out.contract(&code::NO_HOSTS, "/capabilities", "the `http` capability reaches no host")
            .help("list the hosts in `hosts`, or in `connection.hosts` where credentials are sent");
    }
    if !uses && !hosts.is_empty() {
        out.contract(&code::NO_HOSTS, "/hosts", "nothing uses these hosts")
            .help("list `http` among the capabilities, or remove `hosts`");
    }
}

fn address(contract: &Value, gateway: &Value, hosts: &[&str], out: &mut Findings) {
    let Some(url) = gateway.get("url").and_then(Value::as_str) else { return };
    match split(url) {
        Ok((host, rest)) => {
            let local = ["localhost", "127.0.0.1"].contains(&host);
            if url.starts_with("http://") && !local {
                out.contract(&code::GATEWAY, "/gateway/url", "this URL is not encrypted")
                    .help("use `https://`; plain `http://` is for a service on this machine");
            }
            if rest.matches('{').count() != slots_of(rest).count() {
                out.contract(&code::GATEWAY, "/gateway/url", "a `{` in this URL is never closed");
            }
            if !is_plain(rest) {
                out.contract(&code::GATEWAY, "/gateway/url", "this is not a plain path")
                    .help("leave out `?`, `#`, `\\`, spaces and `.` or `..` segments; use `query`");
            }
            if !hosts.is_empty() && !hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
                let message = format!("`{host}` is not among the connection's hosts");
                out.contract(&code::GATEWAY, "/gateway/url", message)
                    .help("credentials are sent only to hosts that `connection.hosts` lists");
            }
            for slot in slots_of(rest) {
                fills_path(contract, gateway, slot, out);
            }
            for slot in
                gateway.get("path").and_then(Value::as_object).into_iter().flat_map(Map::keys)
            {
                if !slots_of(rest).any(|known| known == slot) {
                    let known: Vec<&str> = slots_of(rest).collect();
                    let at = format!("/gateway/path/{}", escape(slot));
                    out.contract_key(&code::GATEWAY, at, format!("the URL has no slot `{slot}`"))
                        .help(nearest::suggest(slot, &known));
                }
            }
        }
        Err(why) => {
            out.contract(&code::GATEWAY, "/gateway/url", why).help(
                "write `https://host/path/{parameter}`: scheme and host are literal, so that no \
                 argument can send a call elsewhere",
            );
        }
    }
}

/// A path of segments that mean what they say.
fn is_plain(path: &str) -> bool {
    let odd = |c: char| matches!(c, '?' | '#' | '\\') || c.is_whitespace() || c.is_control();
    !path.contains(odd) && !path.split('/').any(|segment| segment == "." || segment == "..")
}

/// A slot of the path is filled by the parameter of its name, unless `path` says otherwise.
fn fills_path(contract: &Value, gateway: &Value, slot: &str, out: &mut Findings) {
    let said = gateway.get("path").and_then(|path| path.get(slot));
    let parameter = match said {
        None => slot,
        Some(Value::String(name)) => name,
        Some(how) => match how.get("from").and_then(Value::as_str) {
            Some(name) => return always_there(contract, name, Lists::Written, out),
            None => return,
        },
    };
    if said.is_none() {
        known_parameter(contract, parameter, "/gateway/url", out);
    }
    always_there(contract, parameter, Lists::Refused, out);
}

/// Whether it is said how a list is written.
#[derive(PartialEq)]
enum Lists {
    Written,
    Refused,
}

/// A path has no place for what is left out, and none for a list unless it is said how.
fn always_there(contract: &Value, slot: &str, lists: Lists, out: &mut Findings) {
    let Some(parameters) = contract.get("parameters") else { return };
    let Found::Schema(schema) = paths::find(parameters, slot) else { return };
    let required = parameters.get("required").and_then(Value::as_array);
    let required = required.is_some_and(|names| names.iter().any(|name| name == slot));
    if !required && schema.get("default").is_none() && !slot.contains('.') {
        let message = format!("`{slot}` is in the path and may be left out");
        out.contract(&code::GATEWAY, "/gateway/url", message)
            .help("make it required, or give it a default");
    }
    if lists == Lists::Refused && (paths::is(schema, "object") || paths::is(schema, "array")) {
        let message = format!("`{slot}` is in the path and is neither text nor a number");
        out.contract(&code::GATEWAY, "/gateway/url", message)
            .help("say how it is written: `path`, with `from` and `style`");
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

fn slots_of(path: &str) -> impl Iterator<Item = &str> {
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

/// Whether a header is the host's to set, in whatever case it is written.
pub(crate) fn is_hosts_own(name: &str) -> bool {
    HOSTS_OWN.contains(&name.to_ascii_lowercase().as_str())
}

fn is_header(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        && !is_hosts_own(name)
}
