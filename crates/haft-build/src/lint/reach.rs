//! Fields of the contract that name parameters or results: do they exist, and do they fit?

use serde_json::{Map, Value};

use super::paths::{self, Found};
use crate::code::{self, Code};
use crate::diagnostic::{Findings, escape};
use haft_core::nearest;

/// Checks redaction, key fields, the confirmation prompt and the clamps.
pub(crate) fn check(contract: &Value, out: &mut Findings) {
    let parameters = contract.get("parameters").filter(|schema| schema.is_object());
    let output = contract.get("output").filter(|schema| schema.is_object());
    redaction(contract, output, parameters, out);
    if let Some(parameters) = parameters {
        listed(contract, "/idempotencyKeyFields", parameters, &code::KEY_FIELD, out);
        key_fields(contract, parameters, out);
        prompt(contract, parameters, out);
        clamps(contract, parameters, out);
    }
}

fn redaction(
    contract: &Value,
    output: Option<&Value>,
    parameters: Option<&Value>,
    out: &mut Findings,
) {
    if contract.pointer("/redaction/allow").is_none() {
        out.contract(&code::NO_REDACTION, "/redaction", "`redaction.allow` is missing").help(
            "list the fields of the result that UI, events and telemetry may see; `[]` shows none",
        );
    }
    match output {
        Some(output) => listed(contract, "/redaction/allow", output, &code::REDACTION_PATH, out),
        None => {
            for (index, path) in elements(contract, "/redaction/allow").enumerate() {
                let message =
                    format!("`{path}` names a field of the result, but there is no `output`");
                out.contract(&code::REDACTION_PATH, format!("/redaction/allow/{index}"), message)
                    .help("describe the result in `output`");
            }
        }
    }
    if let Some(parameters) = parameters {
        listed(contract, "/redaction/allowArgs", parameters, &code::REDACTION_PATH, out);
    }
}

fn elements<'a>(contract: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    contract
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn listed(
    contract: &Value,
    pointer: &str,
    schema: &Value,
    code: &'static Code,
    out: &mut Findings,
) {
    for (index, path) in elements(contract, pointer).enumerate() {
        if let Found::Nothing(known) = paths::find(schema, path) {
            let at = format!("{pointer}/{index}");
            out.contract(code, at, format!("`{path}` leads nowhere")).help(advice(path, &known));
        }
    }
}

/// A call without any key field is told apart by everything that it says.
fn key_fields(contract: &Value, parameters: &Value, out: &mut Findings) {
    let at = "/idempotencyKeyFields";
    let mut fields = elements(contract, at).peekable();
    let missing = |path: &str| {
        // Of the elements of a list that is there, each says something.
        let certain = path.split("[]").next().unwrap_or(path);
        let pointer = format!("/{}", certain.trim_end_matches('.').replace('.', "/"));
        paths::may_be_missing(parameters, &pointer, true)
    };
    if fields.peek().is_some() && fields.all(missing) {
        let message =
            "a call may leave out every one of these, and be told apart by all of its arguments";
        out.contract(&code::KEY_MAY_BE_MISSING, at, message)
            .help("require one of them, or give it a default");
    }
}

fn advice(path: &str, known: &[&str]) -> String {
    let last = path.rsplit('.').next().unwrap_or(path).trim_end_matches("[]");
    match known {
        [] => "elements of a list are written `results[].id`".to_owned(),
        known => nearest::suggest(last, known),
    }
}

fn prompt(contract: &Value, parameters: &Value, out: &mut Findings) {
    let Some(text) = contract.pointer("/confirmation/prompt").and_then(Value::as_str) else {
        return;
    };
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('{') {
        let Some((slot, tail)) = after.split_once('}') else {
            out.contract(&code::PROMPT_SLOT, "/confirmation/prompt", "a `{` is never closed");
            return;
        };
        if let Found::Nothing(known) = paths::find(parameters, slot) {
            out.contract(
                &code::PROMPT_SLOT,
                "/confirmation/prompt",
                format!("`{{{slot}}}` is not a parameter"),
            )
            .help(advice(slot, &known));
        }
        rest = tail;
    }
}

fn clamps(contract: &Value, parameters: &Value, out: &mut Findings) {
    for (mode, rules) in contract.get("modes").and_then(Value::as_object).into_iter().flatten() {
        for (path, clamp) in rules.get("clamp").and_then(Value::as_object).into_iter().flatten() {
            let at = format!("/modes/{}/clamp/{}", escape(mode), escape(path));
            match (paths::find(parameters, path), clamp.as_object()) {
                (Found::Nothing(known), _) => {
                    let message = format!("`{path}` is not a parameter");
                    out.contract_key(&code::CLAMP, at, message).help(advice(path, &known));
                }
                (Found::Schema(schema), Some(clamp)) => {
                    let whole = paths::standing(parameters, schema);
                    fits(&whole, clamp, &at, required(parameters, path), out);
                }
                (Found::Open, _) | (Found::Schema(_), None) => {}
            }
        }
    }
}

fn required(parameters: &Value, path: &str) -> bool {
    let names = parameters.get("required").and_then(Value::as_array);
    names.is_some_and(|names| names.iter().any(|name| name == path))
}

fn fits(schema: &Value, clamp: &Map<String, Value>, at: &str, required: bool, out: &mut Findings) {
    if clamp.is_empty() {
        out.contract(&code::CLAMP, at.to_owned(), "this clamp reduces nothing")
            .help("use `max`, `min`, `maxItems`, `maxLength`, `without`, `value` or `remove`");
    }
    for (what, value) in clamp {
        let place = format!("{at}/{what}");
        let good = match what.as_str() {
            "max" | "min" => paths::is(schema, "number") || paths::is(schema, "integer"),
            "maxItems" | "without" => paths::is(schema, "array"),
            "maxLength" => paths::is(schema, "string"),
            "remove" => !required || value == &Value::Bool(false),
            "value" => {
                let compiled = haft_core::validator::compile(schema);
                compiled.map_or(true, |validator| validator.is_valid(value))
            }
            // A name that is not known has been reported with the shape.
            _ => true,
        };
        if !good {
            let message = match what.as_str() {
                "remove" => "a required parameter cannot be removed".to_owned(),
                "value" => "this value does not fit the parameter's own schema".to_owned(),
                what => format!("`{what}` does not apply to a parameter of this type"),
            };
            out.contract(&code::CLAMP, place, message);
        }
    }
    emptied(schema, clamp, at, out);
}

/// A clamp that leaves nothing which the schema accepts would refuse every call.
fn emptied(schema: &Value, clamp: &Map<String, Value>, at: &str, out: &mut Findings) {
    for (what, bound, above) in [
        ("max", "minimum", false),
        ("min", "maximum", true),
        ("maxItems", "minItems", false),
        ("maxLength", "minLength", false),
    ] {
        let number = |value: Option<&Value>| value.and_then(Value::as_f64);
        if let (Some(to), Some(limit)) = (number(clamp.get(what)), number(schema.get(bound)))
            && (if above { to > limit } else { to < limit })
        {
            let message = format!("`{what}` {to} contradicts the schema's `{bound}` {limit}");
            out.contract(&code::CLAMP, format!("{at}/{what}"), message);
        }
    }
}
