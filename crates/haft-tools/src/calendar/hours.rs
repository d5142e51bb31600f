//! When somebody works: hours of some days of the week, by the clock where they are.

use haft_core::calendar::Span;
use jiff::Timestamp;
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;

/// The hours of a day, in minutes since midnight by the clock on the wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    start: u16,
    end: u16,
}

/// Days of the week.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days(u8);

impl Default for Hours {
    fn default() -> Self {
        Self { start: 9 * 60, end: 17 * 60 }
    }
}

impl Default for Days {
    /// Monday to Friday.
    fn default() -> Self {
        Self(0b001_1111)
    }
}

impl Hours {
    /// From and until, as `09:00` and `17:00`; a day ends at `24:00`.
    ///
    /// # Errors
    ///
    /// One of them is no time, or they run backwards.
    pub fn parse(start: &str, end: &str) -> Result<Self, String> {
        let hours = Self { start: minutes(start)?, end: minutes(end)? };
        match hours.start < hours.end {
            true => Ok(hours),
            false => Err(format!("working hours end at {end}, before they start at {start}")),
        }
    }
}

fn minutes(text: &str) -> Result<u16, String> {
    let read = || {
        let (hour, minute) = text.split_once(':')?;
        let number = |digits: &str| match digits.len() == 2 && !digits.contains(['+', '-']) {
            true => digits.parse::<u16>().ok(),
            false => None,
        };
        let (hour, minute) = (number(hour)?, number(minute)?);
        let all = hour * 60 + minute;
        (minute < 60 && all <= 24 * 60).then_some(all)
    };
    read().ok_or_else(|| format!("`{text}` is no time of day; write it as `09:00`"))
}

impl Days {
    /// All of them.
    pub const ALL: Self = Self(0b111_1111);

    /// Days by the first letters of their English names: `mon`, `tue`.
    ///
    /// # Errors
    ///
    /// One of them is no day, or there is none.
    pub fn parse(names: &[impl AsRef<str>]) -> Result<Self, String> {
        const NAMES: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        let mut days = 0;
        for name in names.iter().map(AsRef::as_ref) {
            let at =
                NAMES.iter().position(|one| one.eq_ignore_ascii_case(name)).ok_or_else(|| {
                    format!(
                        "`{name}` is no day; write {}",
                        NAMES.map(|one| format!("`{one}`")).join(", ")
                    )
                })?;
            days |= 1 << at;
        }
        match days {
            0 => Err("there is no day to work on".to_owned()),
            days => Ok(Self(days)),
        }
    }

    fn has(self, day: Weekday) -> bool {
        u32::try_from(day.to_monday_zero_offset()).is_ok_and(|at| self.0 & (1 << at) != 0)
    }
}

/// The working time between two moments. On the days when clocks change, a day has an hour more or
/// less, and hours that the clock skips or shows twice are what the zone makes of them.
pub(super) fn working(hours: Hours, days: Days, zone: &TimeZone, within: Span) -> Vec<Span> {
    let day_of =
        |ms: i64| Timestamp::from_millisecond(ms).ok().map(|at| zone.to_datetime(at).date());
    let (Some(first), Some(last)) = (day_of(within.start_ms), day_of(within.end_ms)) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let mut day = first;
    while day <= last {
        if days.has(day.weekday())
            && let (Some(start), Some(end)) =
                (moment(day, hours.start, zone), moment(day, hours.end, zone))
        {
            let span =
                Span { start_ms: start.max(within.start_ms), end_ms: end.min(within.end_ms) };
            if span.start_ms < span.end_ms {
                out.push(span);
            }
        }
        let Ok(next) = day.tomorrow() else { break };
        day = next;
    }
    out
}

fn moment(day: Date, minutes: u16, zone: &TimeZone) -> Option<i64> {
    let (day, minutes) = match minutes {
        1440.. => (day.tomorrow().ok()?, 0),
        minutes => (day, minutes),
    };
    let hour = i8::try_from(minutes / 60).ok()?;
    let minute = i8::try_from(minutes % 60).ok()?;
    let wall = day.to_datetime(Time::new(hour, minute, 0, 0).ok()?);
    Some(zone.to_ambiguous_timestamp(wall).compatible().ok()?.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        zone: &str,
        hours: (&str, &str),
        days: Days,
        within: (&str, &str),
        expected: &[(&str, &str)],
    ) {
        let zone = crate::time::zone(zone).unwrap();
        let ms = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let within = Span { start_ms: ms(within.0), end_ms: ms(within.1) };
        let found = working(Hours::parse(hours.0, hours.1).unwrap(), days, &zone, within);
        let expected: Vec<Span> = expected
            .iter()
            .map(|(start, end)| Span { start_ms: ms(start), end_ms: ms(end) })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn days_begin_and_end_where_people_are() {
        // Friday to Monday; it is Saturday in Tokyo while it is Friday in New York.
        let days = ("2026-01-16T00:00:00Z", "2026-01-20T00:00:00Z");
        check(
            "Asia/Tokyo",
            ("09:00", "17:00"),
            Days::default(),
            days,
            &[
                ("2026-01-16T00:00:00Z", "2026-01-16T08:00:00Z"),
                ("2026-01-19T00:00:00Z", "2026-01-19T08:00:00Z"),
            ],
        );
        check(
            "America/New_York",
            ("09:00", "17:00"),
            Days::default(),
            days,
            &[
                ("2026-01-16T14:00:00Z", "2026-01-16T22:00:00Z"),
                ("2026-01-19T14:00:00Z", "2026-01-19T22:00:00Z"),
            ],
        );
        check(
            "Asia/Jerusalem",
            ("09:00", "24:00"),
            Days::parse(&["sun"]).unwrap(),
            days,
            &[("2026-01-18T07:00:00Z", "2026-01-18T22:00:00Z")],
        );
    }

    #[test]
    fn the_days_when_clocks_change_are_shorter_and_longer() {
        let sunday = Days::parse(&["sun"]).unwrap();
        // 29 March 2026: 02:00 is followed by 03:00. 25 October 2026: 03:00 is followed by 02:00.
        let spring = ("2026-03-28T12:00:00Z", "2026-03-30T00:00:00Z");
        check(
            "Europe/Berlin",
            ("00:00", "06:00"),
            sunday,
            spring,
            &[("2026-03-28T23:00:00Z", "2026-03-29T04:00:00Z")],
        );
        check(
            "Europe/Berlin",
            ("09:00", "17:00"),
            sunday,
            spring,
            &[("2026-03-29T07:00:00Z", "2026-03-29T15:00:00Z")],
        );
        check(
            "Europe/Berlin",
            ("02:30", "04:00"),
            sunday,
            spring,
            &[("2026-03-29T01:30:00Z", "2026-03-29T02:00:00Z")],
        );
        let autumn = ("2026-10-24T12:00:00Z", "2026-10-26T00:00:00Z");
        check(
            "Europe/Berlin",
            ("00:00", "06:00"),
            sunday,
            autumn,
            &[("2026-10-24T22:00:00Z", "2026-10-25T05:00:00Z")],
        );
    }

    #[test]
    fn what_is_no_time_or_day_is_refused() {
        for (start, end) in [
            ("9:00", "17:00"),
            ("09:00", "25:00"),
            ("09:60", "17:00"),
            ("17:00", "09:00"),
            ("+9:00", "17:00"),
            ("09:00", "09:00"),
        ] {
            assert!(Hours::parse(start, end).is_err(), "{start} {end}");
        }
        assert!(Days::parse(&["monday"]).is_err());
        assert!(Days::parse(&[] as &[&str]).is_err());
    }
}
