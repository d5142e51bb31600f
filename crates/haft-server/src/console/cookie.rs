//! What a browser holds of its visit.

use axum::http::{HeaderMap, header};

/// Over TLS the name itself makes browsers refuse a cookie that another host or an unsafe page has
/// set.
const OVER_TLS: &str = "__Host-haft";
/// Followed by the port: browsers do not keep the cookies of two servers on one machine apart.
const ON_LOOPBACK: &str = "haft_";

/// Every text that could be ours.
pub(crate) fn read(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';')).filter_map(|pair| {
        let (name, text) = pair.trim().split_once('=')?;
        (name == OVER_TLS || name.starts_with(ON_LOOPBACK)).then_some(text)
    })
}

/// Whether the browser reached us over TLS, by its own word.
pub(crate) fn is_over_tls(headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok());
    origin.is_some_and(|origin| origin.starts_with("https://"))
}

/// Hands a text out. It ends with the browser, or here.
pub(crate) fn set(text: &str, headers: &HeaderMap) -> String {
    match is_over_tls(headers) {
        true => format!("{OVER_TLS}={text}; Path=/; HttpOnly; SameSite=Strict; Secure"),
        false => {
            let port = port(headers);
            format!("{ON_LOOPBACK}{port}={text}; Path=/; HttpOnly; SameSite=Strict")
        }
    }
}

fn port(headers: &HeaderMap) -> u16 {
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    host.and_then(|host| host.rsplit_once(':')?.1.parse().ok()).unwrap_or(80)
}

/// Takes it back.
pub(crate) fn clear(headers: &HeaderMap) -> String {
    format!("{}; Max-Age=0", set("", headers))
}
