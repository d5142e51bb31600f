//! A meeting as iCalendar.

use calcard::common::PartialDateTime;
use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarParameter,
    ICalendarParticipationRole, ICalendarParticipationStatus, ICalendarProperty, ICalendarStatus,
    ICalendarTransparency, ICalendarValue,
};
use haft_core::calendar::Booking;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The calendar object of a booking. Times are in UTC, which every calendar shows by its own clock.
pub(in crate::calendar) fn written(booking: &Booking, uid: &str, organizer: &str) -> String {
    let meeting = &booking.meeting;
    let mut event = ICalendarComponent::new(ICalendarComponentType::VEvent);
    event.add_uid(uid);
    event.add_dtstamp(utc(booking.made_ms));
    event.add_property(ICalendarProperty::Dtstart, date(meeting.span.start_ms));
    event.add_property(ICalendarProperty::Dtend, date(meeting.span.end_ms));
    event.add_property(ICalendarProperty::Summary, text(&meeting.title));
    let link = booking.conference_url.as_deref();
    let about: Vec<&str> = [meeting.notes.as_deref(), link].into_iter().flatten().collect();
    if !about.is_empty() {
        event.add_property(ICalendarProperty::Description, text(&about.join("\n\n")));
    }
    // Where somebody joins is shown as the place where there is no other.
    if let Some(place) = meeting.location.as_deref().or(link) {
        event.add_property(ICalendarProperty::Location, text(place));
    }
    event.add_property(ICalendarProperty::Organizer, address(organizer));
    for who in &meeting.attendees {
        let accepted = who.eq_ignore_ascii_case(organizer);
        let status = match accepted {
            true => ICalendarParticipationStatus::Accepted,
            false => ICalendarParticipationStatus::NeedsAction,
        };
        let mut params = vec![
            ICalendarParameter::role(ICalendarParticipationRole::ReqParticipant),
            ICalendarParameter::partstat(status),
        ];
        if !accepted {
            params.push(ICalendarParameter::rsvp(true));
        }
        event.add_property_with_params(ICalendarProperty::Attendee, params, address(who));
    }
    event.add_property(
        ICalendarProperty::Status,
        ICalendarValue::Status(ICalendarStatus::Confirmed),
    );
    event.add_property(
        ICalendarProperty::Transp,
        ICalendarValue::Transparency(ICalendarTransparency::Opaque),
    );
    event.add_sequence(0);
    let mut calendar = ICalendarComponent::new(ICalendarComponentType::VCalendar);
    calendar.add_property(ICalendarProperty::Version, text("2.0"));
    calendar.add_property(ICalendarProperty::Prodid, text("-//haft//calendar//EN"));
    calendar.component_ids = vec![1];
    ICalendar { components: vec![calendar, event] }.to_string()
}

/// Lines may end; nothing else that is no character gets in.
fn text(words: &str) -> ICalendarValue {
    ICalendarValue::Text(words.chars().filter(|c| *c == '\n' || !c.is_control()).collect())
}

fn address(email: &str) -> ICalendarValue {
    let plain: String = email.chars().filter(|c| !c.is_control() && !c.is_whitespace()).collect();
    ICalendarValue::Text(format!("mailto:{plain}"))
}

fn date(ms: i64) -> ICalendarValue {
    ICalendarValue::PartialDateTime(Box::new(utc(ms)))
}

fn utc(ms: i64) -> PartialDateTime {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    let at = TimeZone::UTC.to_datetime(at);
    let small = |part: i8| u8::try_from(part).ok();
    PartialDateTime {
        year: u16::try_from(at.year()).ok(),
        month: small(at.month()),
        day: small(at.day()),
        hour: small(at.hour()),
        minute: small(at.minute()),
        second: small(at.second()),
        tz_hour: Some(0),
        tz_minute: Some(0),
        tz_minus: false,
    }
}
