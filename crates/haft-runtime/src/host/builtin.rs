//! The capabilities that the runtime itself provides.

use haft_core::contract::Mode;
use haft_core::port::Scope;
use haft_core::record::{Event, EventKind};
use haft_core::{ErrorKind, ToolError};
use serde_json::{Value, json};

use crate::runtime::{Inner, rfc3339};

pub(super) fn unknown(capability: &str, method: &str) -> ToolError {
    let method = crate::path::shown(method);
    ToolError::new(ErrorKind::Internal, format!("`{capability}` has no method `{method}`"))
}

/// `clock.now() → {iso, epochMs}`.
pub(super) fn clock(inner: &Inner, method: &str) -> Result<Value, ToolError> {
    match method {
        "now" => {
            let now = inner.store.now_ms();
            Ok(json!({ "iso": rfc3339(now), "epochMs": now }))
        }
        _ => Err(unknown("clock", method)),
    }
}

/// `audit.log(event, data)`: durable before it returns.
pub(super) async fn audit(
    inner: &Inner,
    scope: &Scope,
    method: &str,
    note: Value,
) -> Result<Value, ToolError> {
    if method != "log" {
        return Err(unknown("audit", method));
    }
    let tool = scope.through.last();
    let body = json!({
        "call": scope.call, "tool": tool, "note": note,
        "agent": scope.caller.agent, "session": scope.session.id,
    });
    let written = inner.store.note(&scope.caller.tenant, "note", body).await;
    written.map_err(|error| {
        ToolError::new(ErrorKind::StoreUnavailable, "the audit trail cannot be written")
            .caused_by(error)
    })?;
    // That there is one: what it says is in the trail alone.
    if inner.publish.is_listening() {
        publish(inner, scope, EventKind::AuditNote, json!({}));
    }
    Ok(Value::Null)
}

/// `messaging.send(message)` to the session's client.
pub(super) fn messaging(
    inner: &Inner,
    scope: &Scope,
    method: &str,
    payload: Value,
) -> Result<Value, ToolError> {
    if method != "send" {
        return Err(unknown("messaging", method));
    }
    if scope.session.id.is_none() || !inner.publish.is_listening() {
        return Err(ToolError::new(ErrorKind::Transient, "the client is not connected"));
    }
    publish(inner, scope, EventKind::Message, payload);
    Ok(Value::Null)
}

fn publish(inner: &Inner, scope: &Scope, kind: EventKind, payload: Value) {
    inner.publish.publish(&Event {
        kind,
        tenant: scope.caller.tenant.to_string(),
        agent: scope.caller.agent.to_string(),
        session: scope.session.id.clone(),
        turn: scope.session.turn,
        call: scope.call.as_ref().to_owned(),
        model_call: None,
        tool: scope.through.last().map(ToString::to_string).unwrap_or_default(),
        at_ms: inner.store.now_ms(),
        payload,
        by: Some((scope.caller.actor.clone(), scope.caller.subject.clone())),
    });
}

/// `voice.isActive()`.
pub(super) fn voice(scope: &Scope, method: &str) -> Result<Value, ToolError> {
    match method {
        "isActive" => Ok(json!(scope.mode == Mode::Voice && scope.session.active)),
        _ => Err(unknown("voice", method)),
    }
}

/// `moderation.block({seconds, reason}) → {until, extended}`: blocks whom the session serves.
pub(super) async fn moderation(
    inner: &Inner,
    scope: &Scope,
    method: &str,
    arguments: &Value,
) -> Result<Value, ToolError> {
    if method != "block" {
        return Err(unknown("moderation", method));
    }
    let seconds =
        arguments.get("seconds").and_then(Value::as_u64).filter(|s| (1..=31_536_000).contains(s));
    let Some(seconds) = seconds else {
        return Err(ToolError::new(
            ErrorKind::Internal,
            "`moderation.block` takes `seconds` from 1 to a year",
        ));
    };
    let reason = arguments.get("reason").and_then(Value::as_str).unwrap_or("unspecified");
    let principal = scope.caller.principal();
    let blocked = inner.store.block(&scope.caller.tenant, principal, seconds * 1000, reason).await;
    let (block, extended) = blocked.map_err(|error| {
        ToolError::new(ErrorKind::StoreUnavailable, "the block could not be recorded")
            .caused_by(error)
    })?;
    Ok(json!({ "until": rfc3339(block.until_ms), "extended": extended }))
}
