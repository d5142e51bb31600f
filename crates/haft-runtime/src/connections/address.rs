//! Addresses that tokens and consent are asked for at. Where one leads is judged when it is asked; this says early
//! what could never be right.

use std::net::IpAddr;

use super::{LONGEST, Wrong, wrong};

/// Whether a secret may be sent to an address: encrypted, or on this machine.
pub(super) fn check(part: &'static str, url: &str) -> Result<(), Wrong> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if url.len() > LONGEST || url.chars().any(odd) {
        return wrong(part, "it is not a URL");
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return wrong(part, "it is not a URL; write it like `https://auth.example.com/token`");
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') || url.contains('#') {
        return wrong(part, "it has no host, or a password or fragment, which do not belong there");
    }
    match scheme.to_ascii_lowercase().as_str() {
        "https" => Ok(()),
        "http" if is_here(host(authority)) => Ok(()),
        "http" => wrong(part, "a secret is not sent unencrypted; use `https`"),
        _ => wrong(part, "only `https` addresses are asked"),
    }
}

/// Without its port.
fn host(authority: &str) -> &str {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((inside, _)) => inside,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_here(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
