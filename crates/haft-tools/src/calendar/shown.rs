//! Times and people as handlers write and read them.

use haft_core::calendar::{Booking, BookingStatus, Draft, Meeting};
use haft_core::{Digest, ErrorKind, ToolError};
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde_json::{Value, json};

/// A moment, in milliseconds.
pub(super) fn moment(name: &str, text: &str) -> Result<i64, ToolError> {
    let at: Timestamp = text.parse().map_err(|why: jiff::Error| {
        let message = format!("`{name}` is no moment; write it as `2026-01-20T10:00:00+02:00`");
        ToolError::new(ErrorKind::InvalidArguments, message).caused_by(why)
    })?;
    Ok(at.as_millisecond())
}

/// An address as people are told apart by.
pub(super) fn email(text: &str) -> Result<String, ToolError> {
    let plain = text.trim().to_lowercase();
    let odd =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ',' | ';' | ':');
    match plain.split_once('@') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() && !plain.contains(odd) => {
            Ok(plain)
        }
        Some(_) | None => {
            let message = "an attendee has no e-mail address that can be used";
            Err(ToolError::new(ErrorKind::InvalidArguments, message)
                .suggest("write addresses alone, such as `mara@northlight.example`"))
        }
    }
}

/// A moment by the clock of a zone, with its offset.
pub(super) fn rfc3339(at: Timestamp, zone: &TimeZone) -> String {
    at.display_with_offset(zone.to_offset(at)).to_string()
}

fn by_clock(ms: i64, zone: &str) -> String {
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap_or(TimeZone::UTC);
    Timestamp::from_millisecond(ms).map(|at| rfc3339(at, &zone)).unwrap_or_default()
}

pub(super) fn expires(draft: &Draft) -> String {
    Timestamp::from_millisecond(draft.expires_ms).map(|at| at.to_string()).unwrap_or_default()
}

pub(super) fn draft(id: &str, meeting: &Meeting) -> Value {
    json!({
        "draftId": id, "title": meeting.title, "attendees": meeting.attendees,
        "start": by_clock(meeting.span.start_ms, &meeting.zone),
        "end": by_clock(meeting.span.end_ms, &meeting.zone),
    })
}

/// A booking; one that is only held has not happened yet for anybody who asks.
pub(super) fn event(booking: &Booking) -> Value {
    let meeting = &booking.meeting;
    let status = match booking.status {
        BookingStatus::Held | BookingStatus::Confirmed => "confirmed",
        BookingStatus::Cancelled => "cancelled",
    };
    let mut shown = json!({
        "eventId": booking.event, "title": meeting.title, "attendees": meeting.attendees,
        "start": by_clock(meeting.span.start_ms, &meeting.zone),
        "end": by_clock(meeting.span.end_ms, &meeting.zone), "status": status,
    });
    if let (Some(url), Value::Object(shown)) = (&booking.conference_url, &mut shown) {
        shown.insert("conferenceUrl".to_owned(), json!(url));
    }
    shown
}

/// What a draft's own things are named by: the same for the same draft, everywhere.
pub(super) fn mark(what: &str, tenant: &str, draft: &str) -> String {
    let digest = Digest::of_json(&json!(["haft calendar", what, tenant, draft]));
    digest.hex().get(..32).unwrap_or_default().to_owned()
}
