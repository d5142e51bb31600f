//! What fills the places of a request: each is a parameter, a parameter written in a style that its
//! place has, or a value that never changes.

use serde_json::Value;

use super::{is_header, known_parameter};
use crate::code;
use crate::diagnostic::{Findings, escape};
use haft_core::nearest;

pub(super) fn check(contract: &Value, gateway: &Value, out: &mut Findings) {
    for section in ["path", "query", "headers", "body"] {
        let slots = gateway.get(section).and_then(Value::as_object);
        for (name, slot) in slots.into_iter().flatten() {
            let at = format!("/gateway/{section}/{}", escape(name));
            if section == "headers" && !is_header(name) {
                let message = format!("`{name}` is not a header that a contract may set");
                out.contract_key(&code::GATEWAY, at.clone(), message)
                    .help("credentials and framing are the host's business");
            }
            match (slot.as_str(), slot.get("value"), slot.get("from").and_then(Value::as_str)) {
                (Some(parameter), _, _) => known_parameter(contract, parameter, &at, out),
                (None, Some(value), None) if slot.get("style").is_none() => {
                    fixed(section, value, &at, out);
                }
                (None, None, Some(parameter)) => {
                    known_parameter(contract, parameter, &format!("{at}/from"), out);
                    written(place(section, gateway), slot, &at, out);
                }
                (None, _, _) => neither(slot, &at, out),
            }
        }
    }
}

fn neither(slot: &Value, at: &str, out: &mut Findings) {
    // What is not an object is the business of the table of shapes.
    if slot.is_object() {
        out.contract(&code::GATEWAY, at.to_owned(), "this fills nothing").help(
            "write a parameter's name, `{\"from\": …, \"style\": …}`, or `{\"value\": …}` for what \
             is always the same",
        );
    }
}

/// Where a slot is, as far as that says how it can be written.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Path,
    Query,
    Header,
    Json,
}

fn place(section: &str, gateway: &Value) -> Place {
    let is_form = gateway.get("encoding").and_then(Value::as_str) == Some("form");
    match section {
        "path" => Place::Path,
        "headers" => Place::Header,
        "body" if !is_form => Place::Json,
        _ => Place::Query,
    }
}

fn written(place: Place, slot: &Value, at: &str, out: &mut Findings) {
    let (styles, words): (&[&str], &str) = match place {
        Place::Path => (&["simple", "label", "matrix", "json"], "a path"),
        Place::Query => (
            &["form", "spaceDelimited", "pipeDelimited", "deepObject", "json"],
            "a query or a form",
        ),
        Place::Header => (&["simple", "json"], "a header"),
        Place::Json => {
            out.contract(&code::GATEWAY, at.to_owned(), "a JSON body holds values as they are")
                .help("name the parameter alone");
            return;
        }
    };
    let style = slot.get("style").and_then(Value::as_str);
    match style {
        None if slot.get("style").is_none() => {
            out.contract(&code::GATEWAY, at.to_owned(), "`style` is missing")
                .help(format!("use one of {}", nearest::list(styles)));
        }
        Some(style) if !styles.contains(&style) => {
            let message = format!("`{style}` is no style of {words}");
            out.contract(&code::GATEWAY, format!("{at}/style"), message)
                .help(format!("use one of {}", nearest::list(styles)));
        }
        Some(_) | None => {}
    }
    let explodes = matches!(style, Some("form" | "simple" | "label" | "matrix"));
    if slot.get("explode").is_some() && !explodes {
        let message = "`explode` says nothing with this style";
        out.contract(&code::GATEWAY, format!("{at}/explode"), message).help("leave it out");
    }
    if slot.get("allowReserved").is_some() && place != Place::Query {
        let message = "`allowReserved` is for a query or a form";
        out.contract(&code::GATEWAY, format!("{at}/allowReserved"), message).help("leave it out");
    }
}

/// A value that never changes can be checked now.
fn fixed(section: &str, value: &Value, at: &str, out: &mut Findings) {
    let plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
    let good = match (section, value) {
        ("body", _) | ("query", Value::String(_)) => true,
        ("headers" | "path", Value::String(text)) => plain(text),
        (_, value) => value.is_number() || value.is_boolean(),
    };
    let one = match section {
        "headers" => "a header",
        "path" => "a path",
        _ => "a query",
    };
    if !good {
        let message = format!("this value cannot stand in {one}");
        out.contract(&code::GATEWAY, format!("{at}/value"), message)
            .help("use text without control characters, a number or a boolean");
    }
}
