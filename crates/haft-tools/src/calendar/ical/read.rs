//! From iCalendar text to times that are taken.

use std::panic::{AssertUnwindSafe, catch_unwind};

use calcard::common::timezone::Tz;
use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarFreeBusyType,
    ICalendarParameterName, ICalendarParameterValue, ICalendarParticipationStatus, ICalendarPeriod,
    ICalendarProperty, ICalendarStatus, ICalendarTransparency, ICalendarValue,
};
use calcard::{Entry as Parsed, Parser};
use haft_core::calendar::Span;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::floating::{float, starts_at, wall};

/// A series is followed through this many occurrences: every hour for eleven years.
const MOST: usize = 100_000;

/// Whose time is looked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::calendar) enum Whose<'a> {
    /// The calendar is this person's: everything in it counts.
    Own(&'a str),
    /// The calendar is shared: what this person was asked to counts.
    Asked(&'a str),
}

/// One time that is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::calendar) struct Entry {
    /// The event's own id.
    pub(in crate::calendar) uid: String,
    /// When.
    pub(in crate::calendar) span: Span,
}

/// The taken times of a calendar object between two moments, in a zone for times that name none.
///
/// # Errors
///
/// A part of it cannot be understood. The times of the others are given all the same.
pub(in crate::calendar) fn entries(
    text: &str,
    whose: Whose<'_>,
    here: &TimeZone,
    within: Span,
) -> (Vec<Entry>, Result<(), String>) {
    // The text is a stranger's and the parser is not ours: what breaks it must not break us.
    let read = catch_unwind(AssertUnwindSafe(|| all(text, whose, here, within)));
    read.unwrap_or_else(|_| (Vec::new(), Err("the calendar object broke its parser".to_owned())))
}

fn all(
    text: &str,
    whose: Whose<'_>,
    here: &TimeZone,
    within: Span,
) -> (Vec<Entry>, Result<(), String>) {
    let (mut found, mut trouble) = (Vec::new(), Ok(()));
    let (calendars, whole) = parsed(text);
    if !whole {
        trouble = Err("the calendar object is cut off or not iCalendar".to_owned());
    }
    for mut calendar in calendars {
        let zones = float(&mut calendar, here, within.end_ms);
        if let Err(why) = times(&calendar, &zones, whose, within, &mut found) {
            trouble = Err(why);
        }
    }
    (found, trouble)
}

/// What of a text is iCalendar, and whether it was whole.
fn parsed(text: &str) -> (Vec<ICalendar>, bool) {
    let (mut found, mut whole) = (Vec::new(), true);
    let mut parser = Parser::new(text);
    loop {
        match parser.entry() {
            Parsed::ICalendar(calendar) => found.push(calendar),
            Parsed::Eof => break,
            Parsed::VCard(_) | Parsed::InvalidLine(_) => {}
            Parsed::UnexpectedComponentEnd { .. } => whole = false,
            // The list is not closed: new kinds of trouble may be added.
            Parsed::UnterminatedComponent(_) | Parsed::TooManyComponents | _ => {
                whole = false;
                break;
            }
        }
    }
    let whole = whole && !found.is_empty();
    (found, whole)
}

fn times(
    calendar: &ICalendar,
    zones: &[TimeZone],
    whose: Whose<'_>,
    within: Span,
    found: &mut Vec<Entry>,
) -> Result<(), String> {
    let expanded = calendar.expand_dates(Tz::Floating, MOST);
    let mut trouble = Ok(());
    for error in &expanded.errors {
        // A series that begins after everything that is asked for ends before it begins.
        if !begins_later(calendar, zones, error.comp_id as usize, within) {
            trouble = Err(format!("an event cannot be understood: {}", error.error));
        }
    }
    if expanded.events.len() >= MOST {
        trouble = Err("a series has too many occurrences".to_owned());
    }
    for event in &expanded.events {
        let at = event.comp_id as usize;
        let (Some(component), Some(zone)) = (calendar.components.get(at), zones.get(at)) else {
            continue;
        };
        if !takes_time(component, whose) {
            continue;
        }
        let (start, end) = event.timestamps();
        let Some(span) = span(start, end, zone) else { continue };
        if span.overlaps(within) {
            let uid = component.uid().unwrap_or_default().to_owned();
            found.push(Entry { uid, span });
        }
    }
    told_busy(calendar, within, found);
    trouble
}

fn begins_later(calendar: &ICalendar, zones: &[TimeZone], at: usize, within: Span) -> bool {
    let begins = || {
        let start = wall(starts_at(calendar.components.get(at)?)?)?;
        instant(start, zones.get(at)?)
    };
    begins().is_some_and(|start| start >= within.end_ms)
}

/// Whether an event keeps somebody from meeting others.
fn takes_time(component: &ICalendarComponent, whose: Whose<'_>) -> bool {
    component.component_type == ICalendarComponentType::VEvent
        && component.status() != Some(&ICalendarStatus::Cancelled)
        && component.transparency() != Some(&ICalendarTransparency::Transparent)
        && has_length(component)
        && attends(component, whose)
}

/// An event with a time and no end takes none.
fn has_length(component: &ICalendarComponent) -> bool {
    component.has_property(&ICalendarProperty::Dtend)
        || component.has_property(&ICalendarProperty::Duration)
        || starts_at(component).is_some_and(|at| !at.has_time())
}

fn attends(component: &ICalendarComponent, whose: Whose<'_>) -> bool {
    let (who, own) = match whose {
        Whose::Own(who) => (who, true),
        Whose::Asked(who) => (who, false),
    };
    let is = |address: Option<&str>| address.is_some_and(|one| one.eq_ignore_ascii_case(who));
    let declined = ICalendarParameterValue::Partstat(ICalendarParticipationStatus::Declined);
    let mut asked = component.properties(&ICalendarProperty::Attendee);
    match asked.find(|entry| is(entry.calendar_address())) {
        Some(entry) => entry.parameter(&ICalendarParameterName::Partstat) != Some(&declined),
        None => {
            let organizer = component.property(&ICalendarProperty::Organizer);
            own || organizer.is_some_and(|entry| is(entry.calendar_address()))
        }
    }
}

/// Seconds since 1970 of clocks that stand where the event is, as moments.
fn span(start: i64, end: i64, zone: &TimeZone) -> Option<Span> {
    let moment = |seconds: i64| {
        let shown = TimeZone::UTC.to_datetime(Timestamp::from_second(seconds).ok()?);
        instant(shown, zone)
    };
    let span = Span { start_ms: moment(start)?, end_ms: moment(end)? };
    (span.start_ms < span.end_ms).then_some(span)
}

fn instant(shown: DateTime, zone: &TimeZone) -> Option<i64> {
    Some(zone.to_ambiguous_timestamp(shown).compatible().ok()?.as_millisecond())
}

/// What servers say of calendars whose events they do not show. Such times are in UTC.
fn told_busy(calendar: &ICalendar, within: Span, found: &mut Vec<Entry>) {
    let told =
        calendar.components.iter().flat_map(|one| one.properties(&ICalendarProperty::Freebusy));
    let free = ICalendarParameterValue::Fbtype(ICalendarFreeBusyType::Free);
    for entry in
        told.filter(|entry| entry.parameter(&ICalendarParameterName::Fbtype) != Some(&free))
    {
        for value in &entry.values {
            let ICalendarValue::Period(period) = value else { continue };
            if let Some(span) = period_span(period).filter(|span| span.overlaps(within)) {
                found.push(Entry { uid: String::new(), span });
            }
        }
    }
}

fn period_span(period: &ICalendarPeriod) -> Option<Span> {
    let utc = |at| instant(wall(at)?, &TimeZone::UTC);
    match period {
        ICalendarPeriod::Range { start, end } => {
            Some(Span { start_ms: utc(start)?, end_ms: utc(end)? })
        }
        ICalendarPeriod::Duration { start, duration } => {
            let start_ms = utc(start)?;
            Some(Span { start_ms, end_ms: start_ms.checked_add(duration.as_seconds() * 1_000)? })
        }
    }
}

/// How one event stands in a calendar elsewhere by now: people move and rename there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::calendar) struct Standing {
    /// What it is called.
    pub(in crate::calendar) title: Option<String>,
    /// When it takes place.
    pub(in crate::calendar) span: Option<Span>,
    /// Whether it does.
    pub(in crate::calendar) cancelled: bool,
}

/// The first event of an object.
pub(in crate::calendar) fn standing(text: &str, here: &TimeZone) -> Option<Standing> {
    let read = || {
        let mut calendar = parsed(text).0.into_iter().next()?;
        let zones = float(&mut calendar, here, i64::MAX);
        let expanded = calendar.expand_dates(Tz::Floating, 1);
        let first = expanded.events.first()?;
        let at = first.comp_id as usize;
        let component = calendar.components.get(at)?;
        let title = component.property(&ICalendarProperty::Summary);
        let (start, end) = first.timestamps();
        Some(Standing {
            title: title.and_then(|entry| entry.values.first()?.as_text()).map(str::to_owned),
            span: span(start, end, zones.get(at)?),
            cancelled: component.status() == Some(&ICalendarStatus::Cancelled),
        })
    };
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}
