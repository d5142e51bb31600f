//! Times as people write and read them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::assembly::plain;
use crate::output::misuse;

/// The zones that times are read and shown in.
pub(super) struct Clock {
    /// Of everybody who has none.
    pub(super) common: TimeZone,
    /// What was asked for.
    pub(super) wanted: Option<TimeZone>,
}

impl Clock {
    /// A moment; a day or a time without an offset is by this clock.
    pub(super) fn read(&self, option: &str, text: Option<&str>) -> anyhow::Result<Option<i64>> {
        let Some(text) = text else { return Ok(None) };
        if let Ok(moment) = text.parse::<Timestamp>() {
            return Ok(Some(moment.as_millisecond()));
        }
        let civil = text
            .parse::<DateTime>()
            .or_else(|_| text.parse::<Date>().map(|day| day.at(0, 0, 0, 0)))
            .and_then(|civil| self.wanted.as_ref().unwrap_or(&self.common).to_timestamp(civil));
        civil.map(|at| Some(at.as_millisecond())).map_err(|_| {
            misuse(format!(
                "{option}: `{}` is no time; write 2026-01-31, 2026-01-31T14:05 or 2026-01-31T14:05:00+02:00",
                plain(text)
            ))
        })
    }

    /// The zone to show a meeting in.
    fn zone(&self, meeting: &str) -> TimeZone {
        let own = || TimeZoneDatabase::bundled().get(meeting).unwrap_or(TimeZone::UTC);
        self.wanted.clone().unwrap_or_else(own)
    }

    /// `Tue 2026-01-20 11:00 +02:00`
    pub(super) fn show(&self, ms: i64, zone: &str) -> String {
        shown(ms, &self.zone(zone))
    }

    /// RFC 3339.
    pub(super) fn write(&self, ms: i64, zone: &str) -> String {
        written(ms, &self.zone(zone))
    }
}

pub(super) fn shown(ms: i64, zone: &TimeZone) -> String {
    let Ok(at) = Timestamp::from_millisecond(ms) else { return ms.to_string() };
    at.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %:z").to_string()
}

pub(super) fn written(ms: i64, zone: &TimeZone) -> String {
    let Ok(at) = Timestamp::from_millisecond(ms) else { return ms.to_string() };
    at.display_with_offset(zone.to_offset(at)).to_string()
}

/// `45 min`, `1 h 30 min`
pub(super) fn length(ms: i64) -> String {
    let minutes = ms / 60_000;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(wanted: Option<&str>) -> Clock {
        let zone = |name: &str| TimeZoneDatabase::bundled().get(name).unwrap();
        Clock { common: zone("Europe/Bucharest"), wanted: wanted.map(zone) }
    }

    #[test]
    fn times_are_by_the_clock_that_was_asked_for() {
        let check = |wanted, text: &str, expected: Option<&str>| {
            let read = clock(wanted).read("--from", Some(text)).ok().flatten();
            let read = read.map(|ms| Timestamp::from_millisecond(ms).unwrap().to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check(None, "2026-01-20", Some("2026-01-19T22:00:00Z"));
        check(None, "2026-01-20T09:30", Some("2026-01-20T07:30:00Z"));
        check(Some("Asia/Tokyo"), "2026-01-20", Some("2026-01-19T15:00:00Z"));
        check(Some("Asia/Tokyo"), "2026-01-20T00:00:00Z", Some("2026-01-20T00:00:00Z"));
        check(None, "tomorrow", None);
        check(None, "2026-02-30", None);
    }

    #[test]
    fn times_are_shown_in_the_meetings_own_zone() {
        let nine = 1_768_892_400_000;
        assert_eq!(clock(None).show(nine, "Asia/Tokyo"), "Tue 2026-01-20 16:00 +09:00");
        assert_eq!(clock(None).show(nine, "Nowhere/Else"), "Tue 2026-01-20 07:00 +00:00");
        assert_eq!(
            clock(Some("Europe/London")).write(nine, "Asia/Tokyo"),
            "2026-01-20T07:00:00+00:00"
        );
        assert_eq!(clock(None).show(i64::MAX, "UTC"), i64::MAX.to_string());
        assert_eq!(
            [45, 60, 90].map(|minutes| length(minutes * 60_000)),
            ["45 min", "1 h", "1 h 30 min"]
        );
    }
}
