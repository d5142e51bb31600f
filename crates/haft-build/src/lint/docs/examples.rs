//! The JSON examples of a document against the contract's schemas.

use serde_json::Value;

use super::markdown::{Block, Document};
use crate::code::{self, Code};
use crate::diagnostic::{At, File, Findings, Part, json_hint, spans_of};
use haft_core::validator;

/// What a block of JSON shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// The arguments of a call.
    Call,
    /// What came back.
    Response,
    /// Something else: the fence says ```` ```json ignore ````.
    Other,
}

/// Checks every block. Returns the arguments of the first example that fits.
pub(super) fn check(document: &Document, contract: &Value, out: &mut Findings) -> Option<Value> {
    if document.blocks.is_empty() {
        return None;
    }
    let parameters = contract.get("parameters").and_then(|schema| validator::compile(schema).ok());
    let output = contract.get("output").and_then(|schema| validator::compile(schema).ok());
    let mut first = None;
    for (index, block) in document.blocks.iter().enumerate() {
        let number = index + 1;
        if block.info.contains("ignore") {
            continue;
        }
        let Some(value) = parse(block, number, out) else { continue };
        match shows(block, &value, contract) {
            Shows::Call => {
                let Some(validator) = &parameters else { continue };
                let good = judge(block, number, "", &value, validator, &code::EXAMPLE_DRIFT, out);
                if good && first.is_none() {
                    first = Some(value);
                }
            }
            Shows::Response => response(block, number, &value, output.as_ref(), out),
            Shows::Other => {}
        }
    }
    first
}

fn parse(block: &Block, number: usize, out: &mut Findings) -> Option<Value> {
    let errors = match haft_adm::strict::parse(&block.text, haft_adm::strict::Limits::default()) {
        Ok(value) => return Some(value),
        Err(errors) => errors,
    };
    for error in errors.iter() {
        let place = error.position.map_or_else(
            || block.fence(),
            |position| block.place(position.offset..position.offset + 1),
        );
        let message = format!("example {number} is not JSON: {}", error.kind);
        let hint = error.position.and_then(|place| json_hint(&block.text, place.offset));
        out.add(&code::EXAMPLE_NOT_JSON, At::Bytes(File::Doc, place), message)
            .help(hint.unwrap_or("mark a block that is not meant to be read with ```json ignore"));
    }
    None
}

fn shows(block: &Block, value: &Value, contract: &Value) -> Shows {
    let intro = block.intro.to_lowercase();
    let sentence = intro.rsplit(['.', ';', '!', '?']).find(|part| !part.trim().is_empty());
    let words: Vec<&str> = sentence
        .unwrap_or_default()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    let named = ["response", "result", "returns", "output", "answer"];
    // `Response:`, `The response:` and `Returns what was found:` announce a response; a longer
    // sentence that happens to speak of results does not.
    let said = named.iter().any(|word| {
        words.first() == Some(word)
            || (words.len() <= 3 && words.contains(word))
            || block.info.contains(word)
    });
    let envelope = value.get("ok").is_some_and(Value::is_boolean)
        && contract.pointer("/parameters/properties/ok").is_none();
    match (said || envelope, value) {
        (true, _) => Shows::Response,
        (false, Value::Object(_)) => Shows::Call,
        // A bare list or word is an excerpt of something.
        (false, _) => Shows::Other,
    }
}

fn response(
    block: &Block,
    number: usize,
    value: &Value,
    output: Option<&validator::Validator>,
    out: &mut Findings,
) {
    match (value.get("ok"), output) {
        (Some(Value::Bool(false)), _) => {
            let error = value.get("error");
            if error.and_then(|error| error.get("message")).is_none() {
                let message =
                    format!("example {number} fails without an `error` that has a `message`");
                out.add(&code::RESPONSE_DRIFT, At::Bytes(File::Doc, block.fence()), message);
            }
        }
        (Some(Value::Bool(true)), output) => match (value.get("data"), output) {
            (Some(data), Some(output)) => {
                judge(block, number, "/data", data, output, &code::RESPONSE_DRIFT, out);
            }
            (Some(_), None) => {}
            (None, _) => {
                let message = format!("example {number} succeeds without `data`");
                out.add(&code::RESPONSE_DRIFT, At::Bytes(File::Doc, block.fence()), message);
            }
        },
        (_, Some(output)) => {
            judge(block, number, "", value, output, &code::RESPONSE_DRIFT, out);
        }
        (_, None) => {}
    }
}

/// Whether the value at `prefix` of the block fits.
fn judge(
    block: &Block,
    number: usize,
    prefix: &str,
    value: &Value,
    validator: &validator::Validator,
    code: &'static Code,
    out: &mut Findings,
) -> bool {
    let mut errors = validator::errors(validator, value);
    let good = errors.is_empty();
    let more = errors.len().saturating_sub(ENOUGH);
    errors.truncate(ENOUGH);
    if good {
        return true;
    }
    let spans = spans_of(&block.text);
    let against = if code == &code::EXAMPLE_DRIFT { "schema" } else { "output" };
    for (pointer, why) in &errors {
        let span = spans.find(&block.text, &format!("{prefix}{pointer}"), Part::Value);
        let place = span.map_or_else(|| block.fence(), |span| block.place(span));
        let message = format!("example {number} does not match the {against}: {why}");
        out.add(code, At::Bytes(File::Doc, place), message)
            .help("mend the example, or the contract if the example is right");
    }
    if more > 0 {
        let message = format!("example {number} has {more} more such mistakes");
        out.add(code, At::Bytes(File::Doc, block.fence()), message);
    }
    false
}

/// Mistakes that one example is reported with.
const ENOUGH: usize = 20;
