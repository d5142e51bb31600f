//! Calendars as real programs write them, and the times that they take.

use haft_core::calendar::{Booking, BookingStatus, Meeting, Span};
use jiff::Timestamp;

use super::read::{Whose, entries, standing};
use super::write::written;

const MARA: &str = "mara@northlight.example";

fn ms(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

fn calendar(events: &[&str]) -> String {
    let inside: String = events
        .iter()
        .map(|event| format!("BEGIN:VEVENT\nUID:one\n{event}\nEND:VEVENT\n"))
        .collect();
    format!("BEGIN:VCALENDAR\nVERSION:2.0\n{inside}END:VCALENDAR\n").replace('\n', "\r\n")
}

/// The times that Mara's calendar takes in a zone, from the first of a month for so many days.
#[track_caller]
fn check(zone: &str, from: &str, days: i64, events: &[&str], expected: &[&str]) {
    check_whose(Whose::Own(MARA), zone, from, days, events, expected);
}

#[track_caller]
fn check_whose(
    whose: Whose<'_>,
    zone: &str,
    from: &str,
    days: i64,
    events: &[&str],
    expected: &[&str],
) {
    let start_ms = ms(&format!("{from}T00:00:00Z"));
    let within = Span { start_ms, end_ms: start_ms + days * 86_400_000 };
    let zone = crate::time::zone(zone).unwrap();
    let (found, trouble) = entries(&calendar(events), whose, &zone, within);
    assert_eq!(trouble, Ok(()));
    let mut shown: Vec<String> = found
        .iter()
        .map(|entry| {
            let at = |ms: i64| Timestamp::from_millisecond(ms).unwrap();
            let (start, end) = (at(entry.span.start_ms), at(entry.span.end_ms));
            format!("{}/{}", start.strftime("%m-%dT%H:%M"), end.strftime("%m-%dT%H:%M"))
        })
        .collect();
    shown.sort();
    assert_eq!(shown, expected);
}

#[test]
fn times_are_read_in_their_zone() {
    let berlin = |event: &str, expected: &[&str]| {
        check("Europe/Berlin", "2026-01-01", 31, &[event], expected)
    };
    berlin("DTSTART:20260120T100000Z\nDTEND:20260120T110000Z", &["01-20T10:00/01-20T11:00"]);
    berlin(
        "DTSTART;TZID=America/New_York:20260120T100000\nDURATION:PT45M",
        &["01-20T15:00/01-20T15:45"],
    );
    // Without a zone it is the calendar owner's.
    berlin("DTSTART:20260120T100000\nDTEND:20260120T110000", &["01-20T09:00/01-20T10:00"]);
    // As Outlook names zones.
    berlin(
        "DTSTART;TZID=Tokyo Standard Time:20260120T100000\nDURATION:PT1H",
        &["01-20T01:00/01-20T02:00"],
    );
    // Its end stands elsewhere: a flight.
    berlin(
        "DTSTART;TZID=Europe/Berlin:20260120T100000\nDTEND;TZID=America/New_York:20260120T130000",
        &["01-20T09:00/01-20T18:00"],
    );
    // No end, no time.
    berlin("DTSTART:20260120T100000Z", &[]);
}

#[test]
fn whole_days_are_days_where_their_owner_is() {
    check(
        "Asia/Tokyo",
        "2026-01-01",
        31,
        &["DTSTART;VALUE=DATE:20260120"],
        &["01-19T15:00/01-20T15:00"],
    );
    check(
        "America/New_York",
        "2026-01-01",
        31,
        &["DTSTART;VALUE=DATE:20260120\nDTEND;VALUE=DATE:20260122"],
        &["01-20T05:00/01-22T05:00"],
    );
    // The day when clocks go back has 25 hours.
    check(
        "Europe/Berlin",
        "2026-10-01",
        31,
        &["DTSTART;VALUE=DATE:20261025"],
        &["10-24T22:00/10-25T23:00"],
    );
    check(
        "Europe/Berlin",
        "2026-01-01",
        31,
        &["DTSTART;VALUE=DATE:20260120\nTRANSP:TRANSPARENT"],
        &[],
    );
}

#[test]
fn what_does_not_take_place_takes_no_time() {
    let day = "DTSTART:20260120T100000Z\nDTEND:20260120T110000Z";
    let with = |more: &str| format!("{day}\n{more}");
    let none = |more: &str| check("UTC", "2026-01-01", 31, &[&with(more)], &[]);
    let some =
        |more: &str| check("UTC", "2026-01-01", 31, &[&with(more)], &["01-20T10:00/01-20T11:00"]);
    none("STATUS:CANCELLED");
    none("TRANSP:TRANSPARENT");
    none("ATTENDEE;PARTSTAT=DECLINED:mailto:Mara@northlight.example");
    some("ATTENDEE;PARTSTAT=ACCEPTED:mailto:mara@northlight.example");
    some("ATTENDEE;PARTSTAT=DECLINED:mailto:jo@client.example");
    some("STATUS:TENTATIVE");
}

#[test]
fn in_a_shared_calendar_only_those_are_busy_who_were_asked() {
    let event = "DTSTART:20260120T100000Z\nDTEND:20260120T110000Z\nORGANIZER:mailto:studio@northlight.example\nATTENDEE:mailto:mara@northlight.example";
    let asked = |who: &str, expected: &[&str]| {
        check_whose(Whose::Asked(who), "UTC", "2026-01-01", 31, &[event], expected);
    };
    asked(MARA, &["01-20T10:00/01-20T11:00"]);
    asked("studio@northlight.example", &["01-20T10:00/01-20T11:00"]);
    asked("jo@client.example", &[]);
}

#[test]
fn a_series_keeps_its_hour_when_clocks_change() {
    check(
        "UTC",
        "2026-03-26",
        6,
        &["DTSTART;TZID=Europe/Berlin:20260101T090000\nDURATION:PT30M\nRRULE:FREQ=DAILY"],
        &[
            "03-26T08:00/03-26T08:30",
            "03-27T08:00/03-27T08:30",
            "03-28T08:00/03-28T08:30",
            "03-29T07:00/03-29T07:30",
            "03-30T07:00/03-30T07:30",
            "03-31T07:00/03-31T07:30",
        ],
    );
    // 02:30 does not exist on 29 March, and is there twice on 25 October.
    let night = "DTSTART;TZID=Europe/Berlin:20260101T023000\nDURATION:PT15M\nRRULE:FREQ=DAILY";
    check("UTC", "2026-03-29", 1, &[night], &["03-29T01:30/03-29T01:45"]);
    check("UTC", "2026-10-25", 1, &[night], &["10-25T00:30/10-25T00:45"]);
    let once = "DTSTART;TZID=Europe/Berlin:20261025T023000\nDURATION:PT15M";
    check("UTC", "2026-10-25", 1, &[once], &["10-25T00:30/10-25T00:45"]);
}

#[test]
fn a_series_ends_when_it_says() {
    // The last one is at the very moment of its end, which is a day before in UTC.
    check(
        "UTC",
        "2026-01-01",
        31,
        &[
            "DTSTART;TZID=Asia/Tokyo:20260108T080000\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=20260109T230000Z",
        ],
        &["01-07T23:00/01-08T00:00", "01-08T23:00/01-09T00:00", "01-09T23:00/01-10T00:00"],
    );
    check(
        "UTC",
        "2026-01-01",
        31,
        &["DTSTART:20260108T080000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;UNTIL=20260109"],
        &["01-08T08:00/01-08T09:00", "01-09T08:00/01-09T09:00"],
    );
    check(
        "UTC",
        "2026-01-01",
        31,
        &["DTSTART:20260105T080000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=2;BYDAY=MO"],
        &["01-05T08:00/01-05T09:00", "01-12T08:00/01-12T09:00"],
    );
    // It begins later than anybody asks.
    let later = "DTSTART:20280105T080000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY";
    check("UTC", "2026-01-01", 31, &[later], &[]);
    // The second Tuesday of a month, for years.
    check(
        "UTC",
        "2026-01-01",
        31,
        &["DTSTART:20200114T080000Z\nDURATION:PT1H\nRRULE:FREQ=MONTHLY;BYDAY=2TU"],
        &["01-13T08:00/01-13T09:00"],
    );
}

#[test]
fn a_series_has_exceptions() {
    let series =
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY\nSEQUENCE:1";
    let all = &["01-05T08:00/01-05T09:00", "01-12T08:00/01-12T09:00", "01-19T08:00/01-19T09:00"];
    check("UTC", "2026-01-01", 21, &[series], all);
    // Left out, in its own zone or in UTC.
    for left in ["EXDATE;TZID=Europe/Berlin:20260112T090000", "EXDATE:20260112T080000Z"] {
        let series = format!("{series}\n{left}");
        check("UTC", "2026-01-01", 21, &[&series], &[all[0], all[2]]);
    }
    // Moved: what stood there before is free, though the exception was revised more often.
    for named in
        ["RECURRENCE-ID;TZID=Europe/Berlin:20260112T090000", "RECURRENCE-ID:20260112T080000Z"]
    {
        let moved =
            format!("{named}\nDTSTART;TZID=Asia/Tokyo:20260113T230000\nDURATION:PT1H\nSEQUENCE:4");
        check(
            "UTC",
            "2026-01-01",
            21,
            &[series, &moved],
            &[all[0], "01-13T14:00/01-13T15:00", all[2]],
        );
    }
    // Cancelled by itself.
    let off = "RECURRENCE-ID;TZID=Europe/Berlin:20260112T090000\nDTSTART;TZID=Europe/Berlin:20260112T090000\nDURATION:PT1H\nSTATUS:CANCELLED";
    check("UTC", "2026-01-01", 21, &[series, off], &[all[0], all[2]]);
    // Days of its own.
    let series = format!("{series}\nRDATE;TZID=Europe/Berlin:20260107T150000");
    check("UTC", "2026-01-01", 10, &[&series], &[all[0], "01-07T14:00/01-07T15:00"]);
}

#[test]
fn servers_that_show_no_events_tell_when_somebody_is_busy() {
    let text = "BEGIN:VCALENDAR\r\nBEGIN:VFREEBUSY\r\nFREEBUSY:20260120T100000Z/20260120T110000Z,20260121T090000Z/PT30M\r\nFREEBUSY;FBTYPE=FREE:20260122T100000Z/20260122T110000Z\r\nFREEBUSY;FBTYPE=BUSY-UNAVAILABLE:20260123T100000Z/20260123T110000Z\r\nEND:VFREEBUSY\r\nEND:VCALENDAR\r\n";
    let within = Span { start_ms: ms("2026-01-01T00:00:00Z"), end_ms: ms("2026-02-01T00:00:00Z") };
    let (found, trouble) = entries(text, Whose::Own(MARA), &jiff::tz::TimeZone::UTC, within);
    let starts: Vec<i64> = found.iter().map(|entry| entry.span.start_ms).collect();
    let expected = ["2026-01-20T10:00:00Z", "2026-01-21T09:00:00Z", "2026-01-23T10:00:00Z"];
    assert_eq!(trouble, Ok(()));
    assert_eq!(starts, expected.map(ms));
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_counts() {
    let within = Span { start_ms: ms("2026-01-01T00:00:00Z"), end_ms: ms("2027-01-01T00:00:00Z") };
    let check = |text: &str, count: usize| {
        let (found, trouble) = entries(text, Whose::Own(MARA), &jiff::tz::TimeZone::UTC, within);
        assert!(trouble.is_err(), "{text}");
        assert_eq!(found.len(), count, "{text}");
    };
    check("", 0);
    check("<html>not found</html>", 0);
    check("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:2026", 0);
    let good = "DTSTART:20260120T100000Z\nDTEND:20260120T110000Z";
    check(&calendar(&["DTSTART:yesterday", good]), 1);
    check(&calendar(&["DTSTART:20260101T000000Z\nDURATION:PT1S\nRRULE:FREQ=SECONDLY"]), 100_000);
}

/// Whatever stands there, nothing breaks.
#[test]
fn noise_breaks_nothing() {
    let whole = calendar(&[
        "DTSTART;TZID=Europe/Berlin:20260105T090000\nDTEND;TZID=Asia/Tokyo:20260105T190000\nRRULE:FREQ=YEARLY;INTERVAL=2;BYDAY=-1SU;BYMONTH=10;BYSETPOS=1;COUNT=9\nEXDATE:20260112T080000Z\nRDATE;VALUE=PERIOD:20260107T150000Z/PT5H",
        "RECURRENCE-ID;RANGE=THISANDFUTURE:20260112T080000Z\nDTSTART;VALUE=DATE:20260113\nATTENDEE;PARTSTAT=DECLINED:x",
    ]);
    let within = Span { start_ms: ms("2026-01-01T00:00:00Z"), end_ms: ms("2027-01-01T00:00:00Z") };
    let zone = crate::time::zone("Europe/Berlin").unwrap();
    let mut seed = 7_u64;
    for _ in 0..600 {
        let mut bytes = whole.clone().into_bytes();
        for _ in 0..3 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (seed >> 33) as usize % bytes.len();
            match seed % 3 {
                0 => bytes[at] = b"0123456789-;:=,TZ\n"[(seed >> 20) as usize % 18],
                1 => {
                    bytes.remove(at);
                }
                _ => bytes.truncate(bytes.len() - (seed >> 40) as usize % 20),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let (found, _) = entries(&text, Whose::Own(MARA), &zone, within);
        assert!(found.iter().all(|entry| entry.span.start_ms < entry.span.end_ms));
    }
}

fn booking(title: &str, notes: &str) -> Booking {
    Booking {
        tenant: "a".to_owned(),
        event: "evt_1".to_owned(),
        draft: "draft_1".to_owned(),
        meeting: Meeting {
            title: title.to_owned(),
            attendees: vec![MARA.to_owned(), "jo@client.example".to_owned()],
            span: Span { start_ms: ms("2026-01-20T10:00:00Z"), end_ms: ms("2026-01-20T10:30:00Z") },
            zone: "Europe/Bucharest".to_owned(),
            conference: true,
            location: Some("North quay; gate 2".to_owned()),
            notes: Some(notes.to_owned()),
        },
        status: BookingStatus::Held,
        conference_url: Some("https://meet.example.com/x".to_owned()),
        place: None,
        reason: None,
        made_ms: ms("2026-01-19T08:00:00Z"),
    }
}

#[test]
fn what_is_written_is_read_again() {
    let odd = "Budget; \"review\", part 2\\3 \u{2014} \u{9752}\u{5c71} and words so many that no line holds them all";
    let text = written(&booking(odd, "one\ntwo\r\u{7}BEGIN:VEVENT"), "evt_1@haft", MARA);
    assert!(text.lines().all(|line| line.len() <= 76), "{text}");
    assert_eq!(text.matches("\nBEGIN:VEVENT").count(), 1, "{text}");
    let found = standing(&text, &jiff::tz::TimeZone::UTC).unwrap();
    assert_eq!(found.title.as_deref(), Some(odd));
    let span = Span { start_ms: ms("2026-01-20T10:00:00Z"), end_ms: ms("2026-01-20T10:30:00Z") };
    assert_eq!((found.span, found.cancelled), (Some(span), false));
    let within = Span { start_ms: 0, end_ms: ms("2027-01-01T00:00:00Z") };
    let (found, trouble) =
        entries(&text, Whose::Asked("jo@client.example"), &jiff::tz::TimeZone::UTC, within);
    assert_eq!((found.len(), trouble), (1, Ok(())));
    assert_eq!(found[0].uid, "evt_1@haft");
}

#[test]
fn an_event_is_written_as_calendars_expect_it() {
    let text = written(&booking("Budget", "Agenda"), "evt_1@haft", MARA).replace("\r\n", "\n");
    let expected = "BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//haft//calendar//EN
BEGIN:VEVENT
UID:evt_1@haft
DTSTAMP:20260119T080000Z
DTSTART:20260120T100000Z
DTEND:20260120T103000Z
SUMMARY:Budget
DESCRIPTION:Agenda\\n\\nhttps://meet.example.com/x
LOCATION:North quay\\; gate 2
ORGANIZER:mailto:mara@northlight.example
ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED:mailto:mara@northlight.exam
 ple
ATTENDEE;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:jo@cli
 ent.example
STATUS:CONFIRMED
TRANSP:OPAQUE
SEQUENCE:0
END:VEVENT
END:VCALENDAR
";
    assert_eq!(text, expected);
}
