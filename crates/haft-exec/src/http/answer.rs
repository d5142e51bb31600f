//! What a response, or its absence, means for a call.

use haft_core::contract::{HttpGateway, ResponseKind, may_have_acted};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::Ended;
use hyper::header::{HeaderMap, RETRY_AFTER};
use serde_json::{Value, json};

use super::client::{Fault, Response};
use crate::said::{MAX_TEXT, shortened};

/// What the response says, or how the call ended without.
pub(super) fn read(gateway: &HttpGateway, response: &Response) -> Result<Value, Ended> {
    if let Some(kind) = gateway.kind_of(response.status) {
        return Err(failed(kind, response));
    }
    let whole = parsed(gateway.response, response).map_err(|why| {
        // It may well have been done; what came of it cannot be read.
        let message = "the service's answer cannot be read";
        Ended::Lost(ToolError::new(ErrorKind::Permanent, message).caused_by(why))
    })?;
    Ok(whole)
}

/// The part that the contract asks for.
pub(super) fn part(gateway: &HttpGateway, whole: Value) -> Result<Value, Ended> {
    let Some(pointer) = gateway.result.as_deref().filter(|pointer| !pointer.is_empty()) else {
        return Ok(whole);
    };
    whole.pointer(pointer).cloned().ok_or_else(|| {
        let message = "the service's answer lacks what the tool is to return";
        let error = ToolError::new(ErrorKind::Permanent, message);
        Ended::Lost(error.caused_by(format!("nothing at `{pointer}`")))
    })
}

fn parsed(kind: ResponseKind, response: &Response) -> Result<Value, String> {
    match kind {
        _ if response.body.is_empty() => Ok(Value::Null),
        ResponseKind::Text => match std::str::from_utf8(&response.body) {
            Ok(text) => Ok(Value::String(text.to_owned())),
            Err(why) => Err(format!("the response is not text: {why}")),
        },
        ResponseKind::Json => serde_json::from_slice(&response.body)
            .map_err(|why| format!("the response is not JSON: {why}")),
    }
}

/// A refusal did nothing; a service that broke may have done something first, and one that points to
/// another place may be showing what it has done. What a contract calls it changes nothing about that.
fn failed(kind: ErrorKind, response: &Response) -> Ended {
    let status = response.status;
    if went_round(response) {
        let message = "the request goes round: it leads back to a server that it has come through";
        let error = ToolError::new(ErrorKind::Permanent, message)
            .suggest("the tool's address has to be mended; do without it")
            .with_details(json!({ "status": status }));
        return Ended::Failed(error);
    }
    let words = own_words(&response.body).map(|said| format!(": {said}")).unwrap_or_default();
    let what = match status {
        300..=399 => "sent the request elsewhere, which the tool does not follow",
        400..=499 if !may_have_acted(status) => "refused the request",
        _ => "failed",
    };
    let mut error = ToolError::new(kind, format!("the service {what} ({status}){words}"));
    if let Some(after) = retry_after(&response.headers) {
        error = error.suggest(format!("wait {after} s before you try again"));
    }
    error = error.with_details(json!({ "status": status }));
    if let Some(why) = &response.unread {
        error = error.caused_by(why);
    }
    match may_have_acted(status) {
        true => Ended::Lost(error),
        false => Ended::Failed(error),
    }
}

/// Whether another haft has found its own mark on the request, and done nothing with it.
fn went_round(response: &Response) -> bool {
    let loops = |body: Value| body.get("code").and_then(Value::as_str) == Some("loop");
    response.status == 508 && serde_json::from_slice(&response.body).is_ok_and(loops)
}

fn retry_after(headers: &HeaderMap) -> Option<u64> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().filter(|s| *s <= 86_400)
}

/// What the service says about it, where it says so in one of the usual places.
pub(crate) fn own_words(body: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(body.get(..body.len().min(64 << 10))?).ok()?;
    let places =
        ["/error/message", "/message", "/detail", "/error_description", "/title", "/error"];
    let text = places.iter().find_map(|at| value.pointer(at)?.as_str())?;
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    Some(shortened(clean.trim(), MAX_TEXT)).filter(|text| !text.is_empty())
}

/// How a call ended that has no response.
pub(super) fn fault(fault: Fault) -> Ended {
    match fault {
        Fault::Unsent { why, timeout } => {
            let kind = if timeout { ErrorKind::Timeout } else { ErrorKind::Transient };
            let error = ToolError::new(kind, "the service cannot be reached");
            Ended::NotBegun(error.suggest("nothing was sent; try again later").caused_by(why))
        }
        Fault::Refused { why } => Ended::NotBegun(refused(why)),
        // The service has said that it did it.
        Fault::TooLong { why, status: 200..=299 } => {
            let message = "the service's answer is longer than the tool takes";
            Ended::Unusable(
                ToolError::new(ErrorKind::InvalidOutput, message)
                    .suggest("ask for less: fewer results, fewer fields")
                    .caused_by(why),
            )
        }
        Fault::TooLong { why, .. } => {
            let message = "the service broke off";
            Ended::Lost(ToolError::new(ErrorKind::Transient, message).caused_by(why))
        }
        Fault::Lost { why, timeout, status } => {
            let (kind, message) = match (timeout, status) {
                (true, _) => (ErrorKind::Timeout, "the service did not answer in time"),
                (false, Some(200..=299)) => {
                    (ErrorKind::Permanent, "the service's answer cannot be read")
                }
                (false, _) => (ErrorKind::Transient, "the service broke off"),
            };
            Ended::Lost(ToolError::new(kind, message).caused_by(why))
        }
    }
}

/// How a request ended that was sent on to another place. The first one was made, and read something.
pub(super) fn fault_on_the_way(found: Fault) -> Ended {
    match fault(found) {
        Ended::NotBegun(error) => Ended::Failed(error),
        ended @ (Ended::Failed(_)
        | Ended::Lost(_)
        | Ended::Returned { .. }
        | Ended::Unusable(_)) => ended,
    }
}

/// An address that calls may not go to. It is the same a moment later, and no model's business.
pub(crate) fn refused(why: String) -> ToolError {
    ToolError::new(ErrorKind::Permanent, "the service cannot be reached")
        .suggest("do not try again; whoever runs haft has to allow its address first")
        .caused_by(why)
}
