//! Meetings, proposals and free time, as text and as JSON.

use haft_core::calendar::{Booking, BookingStatus, Draft, Meeting};
use haft_tools::calendar::Free;
use serde_json::{Map, Value, json};

use super::clock::{Clock, length, shown, written};
use crate::assembly::plain;
use crate::output::{Output, table};

pub(super) fn bookings(
    found: &[Booking],
    clock: &Clock,
    as_json: bool,
    out: &mut Output,
) -> anyhow::Result<()> {
    if as_json {
        let all: Vec<Value> = found.iter().map(|one| event(one, clock)).collect();
        return out.json(&all);
    }
    if found.is_empty() {
        out.line("no meetings");
        return Ok(());
    }
    let row = |one: &Booking| {
        let Meeting { title, attendees, .. } = &one.meeting;
        let mut row = when(&one.meeting, clock);
        row.extend([one.event.clone(), one.status.as_str().to_owned()]);
        row.push(plain(&format!("{title} ({})", attendees.join(", "))));
        row
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    out.table(&["START", "LENGTH", "EVENT", "STATUS", "MEETING"], 4, &rows);
    Ok(())
}

pub(super) fn drafts(
    found: &[Draft],
    clock: &Clock,
    now_ms: i64,
    as_json: bool,
    out: &mut Output,
) -> anyhow::Result<()> {
    if as_json {
        let all: Vec<Value> = found.iter().map(|one| proposal(one, clock, now_ms)).collect();
        return out.json(&all);
    }
    if found.is_empty() {
        out.line("no proposals");
        return Ok(());
    }
    let row = |one: &Draft| {
        let Meeting { title, attendees, .. } = &one.meeting;
        let mut row = when(&one.meeting, clock);
        row.extend([one.id.clone(), until(one, now_ms)]);
        row.push(plain(&format!("{title} ({})", attendees.join(", "))));
        row
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    out.table(&["START", "LENGTH", "DRAFT", "CAN BE BOOKED", "MEETING"], 4, &rows);
    Ok(())
}

fn when(meeting: &Meeting, clock: &Clock) -> Vec<String> {
    let span = meeting.span;
    vec![clock.show(span.start_ms, &meeting.zone), length(span.end_ms - span.start_ms)]
}

fn until(draft: &Draft, now_ms: i64) -> String {
    match draft.expires_ms > now_ms {
        true => format!("for {}", length((draft.expires_ms - now_ms).max(60_000))),
        false => "expired".to_owned(),
    }
}

/// Of one that was to be cancelled and is: as a call would answer.
pub(super) fn cancelled(booking: &Booking, as_json: bool, out: &mut Output) -> anyhow::Result<()> {
    if as_json {
        return out.json(&json!({ "ok": true, "data": {
            "event_id": booking.event, "status": booking.status.as_str(), "already_cancelled": true,
        } }));
    }
    let why = booking.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    out.line(&plain(&format!("`{}` is cancelled already{why}", booking.event)));
    Ok(())
}

pub(super) fn booking(
    booking: &Booking,
    clock: &Clock,
    as_json: bool,
    out: &mut Output,
) -> anyhow::Result<()> {
    if as_json {
        return out.json(&event(booking, clock));
    }
    out.line(&plain(&format!("{}  {}", booking.event, booking.meeting.title)));
    meeting(&booking.meeting, clock, out);
    let status = match (booking.status, &booking.reason) {
        (BookingStatus::Cancelled, Some(reason)) => format!("cancelled: {reason}"),
        (BookingStatus::Held, _) => "held: the calendar's server has not confirmed it".to_owned(),
        (status, _) => status.as_str().to_owned(),
    };
    line(out, "status", &status);
    line(out, "draft", &booking.draft);
    if let Some(url) = &booking.conference_url {
        line(out, "link", url);
    }
    if let Some(place) = &booking.place {
        line(out, "stands at", place);
        out.note(
            "it may have been changed there since: `haft call calendar_find_event --connection NAME` looks",
        );
    }
    Ok(())
}

pub(super) fn draft(
    draft: &Draft,
    clock: &Clock,
    now_ms: i64,
    as_json: bool,
    out: &mut Output,
) -> anyhow::Result<()> {
    if as_json {
        return out.json(&proposal(draft, clock, now_ms));
    }
    out.line(&plain(&format!("{}  {}", draft.id, draft.meeting.title)));
    meeting(&draft.meeting, clock, out);
    line(out, "can be booked", &until(draft, now_ms));
    Ok(())
}

fn meeting(meeting: &Meeting, clock: &Clock, out: &mut Output) {
    let [start, end] =
        [meeting.span.start_ms, meeting.span.end_ms].map(|ms| clock.show(ms, &meeting.zone));
    line(out, "from", &start);
    line(out, "to", &end);
    line(out, "with", &meeting.attendees.join(", "));
    if let Some(location) = &meeting.location {
        line(out, "where", location);
    }
    if let Some(notes) = &meeting.notes {
        line(out, "notes", notes);
    }
}

fn line(out: &mut Output, name: &str, value: &str) {
    out.line(&format!("  {name:14} {}", plain(value)));
}

fn about(meeting: &Meeting, clock: &Clock) -> Map<String, Value> {
    let at = |ms| clock.write(ms, &meeting.zone);
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| all.insert(name.to_owned(), value);
    put("title", json!(meeting.title));
    put("attendees", json!(meeting.attendees));
    put("start", json!(at(meeting.span.start_ms)));
    put("end", json!(at(meeting.span.end_ms)));
    put("zone", json!(meeting.zone));
    put("conference", json!(meeting.conference));
    if let Some(location) = &meeting.location {
        put("location", json!(location));
    }
    if let Some(notes) = &meeting.notes {
        put("notes", json!(notes));
    }
    all
}

fn event(booking: &Booking, clock: &Clock) -> Value {
    let mut all = about(&booking.meeting, clock);
    let mut put = |name: &str, value: Value| all.insert(name.to_owned(), value);
    put("event", json!(booking.event));
    put("draft", json!(booking.draft));
    put("status", json!(booking.status));
    put("asked", json!(clock.write(booking.made_ms, &booking.meeting.zone)));
    let more = [
        ("conferenceUrl", &booking.conference_url),
        ("place", &booking.place),
        ("reason", &booking.reason),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            put(name, json!(value));
        }
    }
    Value::Object(all)
}

fn proposal(draft: &Draft, clock: &Clock, now_ms: i64) -> Value {
    let mut all = about(&draft.meeting, clock);
    let mut put = |name: &str, value: Value| all.insert(name.to_owned(), value);
    put("draft", json!(draft.id));
    put("expires", json!(clock.write(draft.expires_ms, &draft.meeting.zone)));
    put("expired", json!(draft.expires_ms <= now_ms));
    Value::Object(all)
}

pub(super) fn free(free: &Free, as_json: bool, out: &mut Output) -> anyhow::Result<()> {
    if as_json {
        let spans: Vec<Value> = free
            .spans
            .iter()
            .map(|one| json!({ "start": written(one.start_ms, &free.zone), "end": written(one.end_ms, &free.zone) }))
            .collect();
        let zone = free.zone.iana_name().unwrap_or("UTC");
        return out.json(&json!({
            "free": spans, "zone": zone, "notChecked": free.not_checked, "notes": free.notes,
        }));
    }
    let mut head = vec!["FROM", "TO", "LENGTH"];
    head.extend(free.zones.iter().map(|(email, _)| email.as_str()));
    let rows: Vec<Vec<String>> = free
        .spans
        .iter()
        .map(|one| {
            let mut row = vec![shown(one.start_ms, &free.zone), shown(one.end_ms, &free.zone)];
            row.push(length(one.end_ms - one.start_ms));
            row.extend(free.zones.iter().map(|(_, zone)| shown(one.start_ms, zone)));
            row
        })
        .collect();
    match rows.is_empty() {
        true => out.line("no time when all of them are free and at work"),
        false => out.result(&plain(&table(&head, &rows))),
    }
    for note in &free.notes {
        out.note(&plain(note));
    }
    if !free.not_checked.is_empty() {
        let who = free.not_checked.join(", ");
        out.note(&plain(&format!(
            "nothing is set up for {who}: only meetings of haft's own are known"
        )));
    }
    Ok(())
}
