//! An HTTP gateway beside its URL: what is sent, and what is made of the response.

use haft_core::ErrorKind;
use haft_core::contract::HttpMethod;
use haft_core::nearest;
use serde::Deserialize as _;
use serde_json::Value;

use super::{is_header, known_parameter, slots};
use crate::code;
use crate::diagnostic::{Findings, escape};

/// More requests than this are not one call.
const MOST_PAGES: u64 = 50;
/// As many redirects as anyone needs.
const MOST_REDIRECTS: u64 = 3;
/// The longest response that a contract may ask for.
const MOST_BYTES: u64 = 64 << 20;

pub(super) fn check(contract: &Value, gateway: &Value, out: &mut Findings) {
    writes(contract, gateway, out);
    slots::check(contract, gateway, out);
    body(contract, gateway, out);
    if let Some(pointer) = gateway.get("result") {
        is_pointer(pointer, "/gateway/result", out);
    }
    errors(gateway, out);
    pages(contract, gateway, out);
    bounds(gateway, out);
}

fn reads(gateway: &Value) -> bool {
    matches!(gateway.get("method").and_then(Value::as_str), Some("GET" | "HEAD"))
}

/// What only its method tells of the request of a tool that says that it does not write.
fn writes(contract: &Value, gateway: &Value, out: &mut Findings) {
    if !matches!(contract.get("sideEffects").and_then(Value::as_str), Some("none" | "read_only")) {
        return;
    }
    let method = gateway.get("method").and_then(|method| HttpMethod::deserialize(method).ok());
    match method {
        Some(method) if method.changes() => {
            let message =
                format!("a `{}` changes something, and this tool does not write", method.as_str());
            out.contract(&code::CHANGES_UNSAID, "/gateway/method", message)
                .help("say `\"sideEffects\": \"writes\"`");
        }
        Some(HttpMethod::Post) => {
            let message = "this tool does not write, and sends a POST";
            out.contract(&code::POST_OF_READER, "/gateway/method", message).help(
                "say `\"sideEffects\": \"writes\"`, or under `lint.allow` that it only looks \
                 something up",
            );
        }
        Some(_) | None => {}
    }
}

fn body(contract: &Value, gateway: &Value, out: &mut Findings) {
    let (members, whole) = (gateway.get("body").is_some(), gateway.get("bodyFrom").is_some());
    if members && whole {
        out.contract(&code::GATEWAY, "/gateway/bodyFrom", "`body` and `bodyFrom` are both there")
            .help("either name the members of the body, or the one parameter that is all of it");
    }
    if let Some(parameter) = gateway.get("bodyFrom").and_then(Value::as_str) {
        known_parameter(contract, parameter, "/gateway/bodyFrom", out);
    }
    if (members || whole) && reads(gateway) {
        let at = if members { "/gateway/body" } else { "/gateway/bodyFrom" };
        out.contract(&code::GATEWAY, at, "a request that reads has no body")
            .help("use `query`, or another method");
    }
    match gateway.get("encoding").and_then(Value::as_str) {
        Some("form") if whole => {
            out.contract(&code::GATEWAY, "/gateway/encoding", "a form is made of `body`")
                .help("name the form's fields in `body`");
        }
        Some("text" | "base64") if !whole => {
            out.contract(&code::GATEWAY, "/gateway/encoding", "this body is one parameter")
                .help("name the parameter that is sent as it is in `bodyFrom`");
        }
        Some(_) | None => {}
    }
}

fn is_pointer(pointer: &Value, at: &str, out: &mut Findings) {
    if !pointer.as_str().is_some_and(|text| text.is_empty() || text.starts_with('/')) {
        out.contract(&code::GATEWAY, at.to_owned(), "this is not a JSON pointer")
            .help("begin each step with `/`: `/data/items`");
    }
}

fn errors(gateway: &Value, out: &mut Findings) {
    let table = gateway.get("errors").and_then(Value::as_object);
    let words: Vec<&str> = ErrorKind::ALL
        .iter()
        .filter(|kind| kind.is_for_handlers())
        .map(|kind| kind.as_str())
        .collect();
    for (status, kind) in table.into_iter().flatten() {
        let at = format!("/gateway/errors/{}", escape(status));
        if !is_failure(status) {
            let message = format!("`{status}` is not the status of a failure");
            out.contract_key(&code::GATEWAY, at.clone(), message)
                .help("write `404`, or `4xx` for all that begin with 4");
        }
        if let Some(word) = kind.as_str().filter(|word| !words.contains(word)) {
            let message = format!("`{word}` is not an error that a service can cause");
            out.contract(&code::GATEWAY, at, message).help(nearest::suggest(word, &words));
        }
    }
}

fn is_failure(status: &str) -> bool {
    ["3xx", "4xx", "5xx"].contains(&status)
        || (status.len() == 3 && status.parse::<u16>().is_ok_and(|n| (300..600).contains(&n)))
}

fn pages(contract: &Value, gateway: &Value, out: &mut Findings) {
    let Some(pages) = gateway.get("pages").filter(|pages| pages.is_object()) else { return };
    let by = pages.get("by").and_then(Value::as_str).unwrap_or_default();
    let mut report = |at: &str, message: &str, help: &str| {
        out.contract(&code::GATEWAY, format!("/gateway/pages{at}"), message.to_owned()).help(help);
    };
    if gateway.get("method").and_then(Value::as_str) != Some("GET") {
        report("", "only a `GET` has pages", "remove `pages`");
    }
    if gateway.get("result").is_some() {
        report("", "`pages` and `result` are both there", "say where the list is with `items`");
    }
    let wants_query = matches!(by, "cursor" | "page" | "offset");
    match pages.get("query").and_then(Value::as_str) {
        None if wants_query => {
            report(
                "",
                "`query` is missing",
                "name the query parameter that leads to the next page",
            );
        }
        Some(name) if gateway.pointer(&format!("/query/{}", escape(name))).is_some() => {
            report("/query", "this query parameter is filled twice", "remove it from `query`");
        }
        Some(_) | None => {}
    }
    if by == "cursor" && pages.get("next").is_none() {
        report("", "`next` is missing", "say where the response holds the next cursor");
    }
    if pages.get("maxPages").and_then(Value::as_u64).is_some_and(|most| most > MOST_PAGES) {
        report("/maxPages", "these are too many requests for one call", "at most 50");
    }
    for (field, at) in [("items", "/gateway/pages/items"), ("next", "/gateway/pages/next")] {
        if let Some(pointer) = pages.get(field) {
            is_pointer(pointer, at, out);
        }
    }
    let Some(output) = contract.get("output") else { return };
    let has = |name: &str| output.pointer(&format!("/properties/{name}")).is_some();
    if !has("items") || !has("complete") {
        out.contract(&code::GATEWAY, "/output", "the answer has `items` and `complete`")
            .help("a list read in pages is answered as `{\"items\": […], \"complete\": true}`");
    }
}

fn bounds(gateway: &Value, out: &mut Findings) {
    let number = |field: &str| gateway.get(field).and_then(Value::as_u64).unwrap_or(0);
    let redirects = number("redirects");
    if redirects > MOST_REDIRECTS {
        out.contract(&code::GATEWAY, "/gateway/redirects", "at most 3 redirects are followed");
    }
    if redirects > 0 && !reads(gateway) {
        out.contract(
            &code::GATEWAY,
            "/gateway/redirects",
            "a request that writes is not redirected",
        )
        .help("an effect goes to the address that was approved and to no other");
    }
    if number("maxResponseBytes") > MOST_BYTES {
        out.contract(&code::GATEWAY, "/gateway/maxResponseBytes", "at most 64 MiB are read");
    }
    if let Some(name) = gateway.get("idempotencyHeader").and_then(Value::as_str)
        && (!is_header(name) || reads(gateway))
    {
        let at = "/gateway/idempotencyHeader";
        out.contract(&code::GATEWAY, at, "this header cannot carry the key of an effect")
            .help("name the header of a request that writes, `Idempotency-Key`, say");
    }
}
