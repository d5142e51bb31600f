//! An event with all of its times by one clock: that of the place where it begins.

use std::collections::HashMap;

use calcard::common::PartialDateTime;
use calcard::icalendar::timezone::TzResolver;
use calcard::icalendar::{
    ICalendar, ICalendarComponent, ICalendarComponentType, ICalendarEntry, ICalendarParameterName,
    ICalendarPeriod, ICalendarProperty, ICalendarValue,
};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};

/// Takes the zones out of all events; gives the zone of each component. What goes on for ever is
/// followed to a moment, and a little further.
///
/// Numbers of revisions go too: the exception to a series has often a higher one than the series,
/// and it is an exception all the same.
pub(super) fn float(calendar: &mut ICalendar, here: &TimeZone, until_ms: i64) -> Vec<TimeZone> {
    let resolver = calendar.build_owned_tz_resolver();
    let zones = Zones { resolver, here: here.clone(), until: end(until_ms) };
    let of_each: Vec<TimeZone> = calendar.components.iter().map(|one| zones.of(one)).collect();
    let mut series = HashMap::new();
    for (component, zone) in calendar.components.iter().zip(&of_each) {
        if let (Some(uid), false) = (component.uid(), component.is_recurrence_override()) {
            series.insert(uid.to_owned(), zone.clone());
        }
    }
    for (component, zone) in calendar.components.iter_mut().zip(&of_each) {
        if component.component_type != ICalendarComponentType::VEvent {
            continue;
        }
        let series = component.uid().and_then(|uid| series.get(uid)).unwrap_or(zone);
        let timed = starts_at(component).is_some_and(PartialDateTime::has_time);
        component.entries.retain(|entry| entry.name != ICalendarProperty::Sequence);
        for entry in &mut component.entries {
            let target = match entry.name == ICalendarProperty::RecurrenceId {
                true => series,
                false => zone,
            };
            zones.float(entry, target, timed);
        }
    }
    of_each
}

/// When a component says that it starts.
pub(super) fn starts_at(component: &ICalendarComponent) -> Option<&PartialDateTime> {
    let entry = component.property(&ICalendarProperty::Dtstart)?;
    entry.values.first()?.as_partial_date_time()
}

struct Zones {
    resolver: TzResolver<String>,
    /// Of whoever the calendar belongs to: for times that name no zone.
    here: TimeZone,
    /// Nobody wants to know what comes later, by any clock.
    until: PartialDateTime,
}

impl Zones {
    fn of(&self, component: &ICalendarComponent) -> TimeZone {
        let Some(entry) = component.property(&ICalendarProperty::Dtstart) else {
            return self.here.clone();
        };
        let at = starts_at(component).and_then(offset);
        at.map_or_else(|| self.named(entry.tz_id()), TimeZone::fixed)
    }

    fn named(&self, id: Option<&str>) -> TimeZone {
        let find = || {
            let name = self.resolver.resolve(id?)?.name()?;
            TimeZoneDatabase::bundled().get(&name).ok()
        };
        find().unwrap_or_else(|| self.here.clone())
    }

    fn float(&self, entry: &mut ICalendarEntry, target: &TimeZone, timed: bool) {
        let own = entry.tz_id().map(|id| self.named(Some(id)));
        let own = own.as_ref().unwrap_or(target);
        for value in &mut entry.values {
            match value {
                ICalendarValue::PartialDateTime(at) => moved(at, own, target),
                ICalendarValue::Period(ICalendarPeriod::Range { start, end }) => {
                    moved(start, own, target);
                    moved(end, own, target);
                }
                ICalendarValue::Period(ICalendarPeriod::Duration { start, .. }) => {
                    moved(start, own, target);
                }
                ICalendarValue::RecurrenceRule(rule) => {
                    if let Some(until) = &mut rule.until {
                        moved(until, own, target);
                        // The last day counts as a whole.
                        if timed && !until.has_time() {
                            (until.hour, until.minute, until.second) =
                                (Some(23), Some(59), Some(59));
                        }
                    }
                    let later = |own: &PartialDateTime| wall(own) > wall(&self.until);
                    if rule.until.as_ref().is_none_or(later) {
                        rule.until = Some(self.until.clone());
                    }
                }
                ICalendarValue::Binary(_)
                | ICalendarValue::Boolean(_)
                | ICalendarValue::Uri(_)
                | ICalendarValue::Duration(_)
                | ICalendarValue::Float(_)
                | ICalendarValue::Integer(_)
                | ICalendarValue::Text(_)
                | ICalendarValue::CalendarScale(_)
                | ICalendarValue::Method(_)
                | ICalendarValue::Classification(_)
                | ICalendarValue::Status(_)
                | ICalendarValue::Transparency(_)
                | ICalendarValue::Action(_)
                | ICalendarValue::BusyType(_)
                | ICalendarValue::ParticipantType(_)
                | ICalendarValue::ResourceType(_)
                | ICalendarValue::Proximity(_) => {}
            }
        }
        entry.params.retain(|param| param.name != ICalendarParameterName::Tzid);
    }
}

/// A time that no clock shows before a moment.
fn end(ms: i64) -> PartialDateTime {
    const LATEST_MS: i64 = 26 * 60 * 60 * 1_000;
    let at = Timestamp::from_millisecond(ms.saturating_add(LATEST_MS)).unwrap_or(Timestamp::MAX);
    let mut end = PartialDateTime::default();
    show(&mut end, TimeZone::UTC.to_datetime(at));
    end
}

/// Sets what the clock on the wall shows.
fn show(at: &mut PartialDateTime, shown: DateTime) {
    let small = |part: i8| u8::try_from(part).ok();
    at.year = u16::try_from(shown.year()).ok();
    (at.month, at.day) = (small(shown.month()), small(shown.day()));
    (at.hour, at.minute, at.second) =
        (small(shown.hour()), small(shown.minute()), small(shown.second()));
}

/// The offset that a time carries itself.
fn offset(at: &PartialDateTime) -> Option<Offset> {
    let seconds = i32::from(at.tz_hour?) * 3600 + i32::from(at.tz_minute.unwrap_or(0)) * 60;
    Offset::from_seconds(if at.tz_minus { -seconds } else { seconds }).ok()
}

/// What the clock on the wall shows.
pub(super) fn wall(at: &PartialDateTime) -> Option<DateTime> {
    let small = |part: Option<u8>| i8::try_from(part.unwrap_or(0)).ok();
    // A leap second is as good as the one before it.
    let second = small(at.second)?.min(59);
    let (year, month) = (i16::try_from(at.year?).ok()?, small(at.month)?);
    DateTime::new(year, month, small(at.day)?, small(at.hour)?, small(at.minute)?, second, 0).ok()
}

/// The same moment by the clock of another zone, without a zone. A day stays the day it is.
fn moved(at: &mut PartialDateTime, own: &TimeZone, target: &TimeZone) {
    let there = || {
        let wall = wall(at)?;
        let own = offset(at).map_or_else(|| own.clone(), TimeZone::fixed);
        if own == *target {
            return Some(wall);
        }
        Some(target.to_datetime(own.to_ambiguous_timestamp(wall).compatible().ok()?))
    };
    if at.has_time()
        && let Some(there) = there()
    {
        show(at, there);
    }
    (at.tz_hour, at.tz_minute, at.tz_minus) = (None, None, false);
}
