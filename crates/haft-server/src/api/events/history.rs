//! Events that are on record: what the audit trail has of them, in the shape in which they were told.

use axum::http::Uri;
use axum::response::Response;
use haft_core::port::TrailFilter;
use haft_core::record::{AuditEntry, Event, EventKind};
use serde_json::{Map, Value, json};

use super::Filter;
use crate::api::audit::{ordered, said};
use crate::api::confirmations::unreadable;
use crate::api::paging::{Paging, no_place};
use crate::api::records::named;
use crate::door::Door;
use crate::problem::Problem;
use crate::who::Who;

/// A page of them, newest first.
pub(super) async fn page(
    door: &Door,
    who: &Who,
    filter: Filter,
    uri: &Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(filter.limit)?;
    let mut kinds: Vec<&str> = Vec::new();
    for kind in filter.kinds()? {
        match on_record(kind) {
            [] => return Err(not_kept(kind)),
            of => kinds.extend(of),
        }
    }
    if kinds.is_empty() {
        kinds.extend(EventKind::ALL.into_iter().flat_map(on_record));
    }
    ordered(filter.since_ms, filter.until_ms)?;
    let after = placed(door, who, filter.after.as_deref()).await?;
    let wanted = TrailFilter {
        tenant: who.tenant.to_string(),
        kinds: kinds.into_iter().map(str::to_owned).collect(),
        agent: filter.agent,
        or_tool: filter.tool.clone(),
        tool: named(door, who, filter.tool).await?,
        session: filter.session,
        call: filter.call,
        since_ms: filter.since_ms,
        until_ms: filter.until_ms,
        before: after,
        limit: page.wanted(),
    };
    let found = door.runtime.store().trail(wanted).await.map_err(unreadable)?;
    let place = |one: &AuditEntry| door.runtime.place_of(&who.tenant, one.number);
    Ok(page.respond(uri, "after", found, place, |one| told(one, place(one))))
}

/// The entry of the event after which a page is to come. Numbers are in order, so a page after one that
/// the tenant does not have would look like any other.
async fn placed(door: &Door, who: &Who, place: Option<&str>) -> Result<Option<u64>, Problem> {
    let Some(place) = place else { return Ok(None) };
    let after = door.runtime.entry_at(&who.tenant, place).ok_or_else(|| no_place(place))?;
    let wanted = TrailFilter {
        tenant: who.tenant.to_string(),
        kinds: EventKind::ALL
            .into_iter()
            .flat_map(on_record)
            .map(|&kind| kind.to_owned())
            .collect(),
        before: after.checked_add(1),
        limit: 1,
        ..TrailFilter::default()
    };
    let found = door.runtime.store().trail(wanted).await.map_err(unreadable)?;
    match found.first().is_some_and(|one| one.number == after) {
        true => Ok(Some(after)),
        false => Err(no_place(place)),
    }
}

/// The entries of the trail that tell of events of a kind.
fn on_record(kind: EventKind) -> &'static [&'static str] {
    match kind {
        EventKind::ToolCallResult => &["call", "settle", "late"],
        EventKind::EffectChanged => &["unknown", "resolve", "undo"],
        EventKind::ConfirmationDecided => &["confirmation"],
        EventKind::AuditNote => &["note"],
        EventKind::ToolCallStart
        | EventKind::ToolSideEffectStarted
        | EventKind::ToolSideEffectCompleted
        | EventKind::ToolSideEffectFailed
        | EventKind::ConfirmationRequested
        | EventKind::SessionChanged
        | EventKind::Message => &[],
    }
}

fn not_kept(kind: EventKind) -> Problem {
    let kept = EventKind::ALL.into_iter().filter(|kind| !on_record(*kind).is_empty());
    let kept: Vec<_> = kept.map(EventKind::as_str).collect();
    let kind = kind.as_str();
    let why = format!("`kind`: events of the kind `{kind}` are told as they happen and not kept");
    let kept = kept.join(", ");
    Problem::malformed(why)
        .advise(&format!("ask for {kept}, or for a stream with `Accept: text/event-stream`"))
}

/// An entry as the event that it tells of. What somebody has touched may say nothing.
fn told(entry: &AuditEntry, place: String) -> Value {
    let body = said(entry);
    let of_call = EventKind::ALL.into_iter().find(|kind| on_record(*kind).contains(&&*entry.kind));
    let kind = of_call.unwrap_or(EventKind::AuditNote);
    let about = body.get("record").unwrap_or(&body);
    let text = |name: &str| about.get(name).and_then(Value::as_str).map(str::to_owned);
    let event = Event {
        kind,
        tenant: entry.tenant.clone(),
        agent: text("agent").unwrap_or_default(),
        session: text("session"),
        turn: about.get("turn").and_then(Value::as_u64).unwrap_or_default(),
        call: text("call").unwrap_or_default(),
        model_call: text("modelCall"),
        tool: text("tool").unwrap_or_default(),
        at_ms: entry.at_ms,
        payload: payload(kind, entry, &body),
        by: None,
    };
    let mut told = json!(event);
    if let Value::Object(told) = &mut told {
        told.insert("id".to_owned(), json!(place));
    }
    told
}

/// What else is known: of calls, what redaction has allowed.
fn payload(kind: EventKind, entry: &AuditEntry, body: &Value) -> Value {
    if kind == EventKind::ToolCallResult {
        let record = body.get("record").unwrap_or(body);
        let names = ["arguments", "result", "error", "message", "cached", "stage", "durationUs"];
        let mut said = parts(record, &names);
        let ok = record.get("error").is_none_or(Value::is_null);
        said.insert("ok".to_owned(), json!(ok));
        said.extend(body.get("state").map(|state| ("effect".to_owned(), state.clone())));
        return Value::Object(said);
    }
    match entry.kind.as_str() {
        // What it says is in the trail alone.
        "note" => json!({}),
        // In the words of the event that is told as it happens, and in the trail's.
        "confirmation" => {
            let mut said = parts(body, &["id", "status", "by"]);
            said.extend(said.get("by").cloned().map(|by| ("decidedBy".to_owned(), by)));
            said.into()
        }
        _ => parts(body, &["id", "status", "state", "by", "note", "why", "lost"]).into(),
    }
}

/// Those members that say something.
fn parts(of: &Value, names: &[&str]) -> Map<String, Value> {
    let found = names.iter().filter_map(|name| Some(((*name).to_owned(), of.get(*name)?.clone())));
    found.filter(|(_, value)| !value.is_null()).collect()
}
