//! haft's own calendar: nothing is set up but people.

use haft_core::ErrorKind;
use serde_json::json;

use super::*;
use crate::calendar::{Common, Days};

fn zones() -> Setup {
    let mut ken = person("Asia/Tokyo");
    ken.hours = Some(Hours::parse("10:00", "19:00").unwrap());
    Setup {
        people: people(&[
            (MARA, person("Europe/Bucharest")),
            (JO, person("Europe/London")),
            (KEN, ken),
        ]),
        ..Setup::default()
    }
}

#[tokio::test]
async fn people_meet_when_all_of_them_work() {
    let desk = Desk::new(zones());
    let check = async |asked: serde_json::Value, first: &[&str], count: usize| {
        let starts = desk.starts(asked.clone()).await;
        assert_eq!(starts.len(), count, "{asked} {starts:?}");
        let shown: Vec<&str> = starts.iter().take(first.len()).map(String::as_str).collect();
        assert_eq!(shown, first, "{asked}");
    };
    let asked = |emails: &[&str], more: serde_json::Value| {
        let attendees: Vec<_> = emails.iter().map(|email| json!({ "email": email })).collect();
        let mut asked = json!({
            "attendees": attendees, "durationMinutes": 60, "timezone": "Europe/Bucharest",
            "from": "2026-01-20T00:00:00+02:00", "until": "2026-01-21T00:00:00+02:00",
        });
        for (name, value) in more.as_object().unwrap() {
            asked[name] = value.clone();
        }
        asked
    };
    // Bucharest works 9 to 17, London 9 to 17, which is 11 to 19 in Bucharest: six hours together.
    check(
        asked(&[MARA, JO], json!({})),
        &["2026-01-20T11:00:00+02:00", "2026-01-20T11:15:00+02:00"],
        21,
    )
    .await;
    // Tokyo works 10 to 19 and is seven hours ahead: 3 to 12 in Bucharest; with London one hour is left.
    check(asked(&[MARA, KEN], json!({})), &["2026-01-20T09:00:00+02:00"], 9).await;
    check(asked(&[MARA, JO, KEN], json!({})), &["2026-01-20T11:00:00+02:00"], 1).await;
    // Hours for this meeting alone, in everybody's own zone.
    let early = json!({ "workingHours": { "start": "07:00", "end": "22:00" } });
    check(asked(&[MARA, JO, KEN], early), &["2026-01-20T09:00:00+02:00"], 21).await;
    // The nearest to a wish come first, and a wish need not fall on a quarter.
    let wish = json!({ "preferred": ["2026-01-20T14:10:00+02:00"], "limit": 3 });
    check(
        asked(&[MARA, JO], wish),
        &["2026-01-20T14:10:00+02:00", "2026-01-20T14:15:00+02:00", "2026-01-20T14:00:00+02:00"],
        3,
    )
    .await;
    // Nobody works on Saturday, unless they are asked to.
    let saturday =
        json!({ "from": "2026-01-24T00:00:00+02:00", "until": "2026-01-25T00:00:00+02:00" });
    check(asked(&[MARA], saturday.clone()), &[], 0).await;
    let mut both = saturday;
    both["weekends"] = json!(true);
    check(asked(&[MARA], both), &["2026-01-24T09:00:00+02:00"], 29).await;
}

#[tokio::test]
async fn the_clock_change_moves_what_is_shared() {
    let desk = Desk::new(zones());
    let first = async |day: &str| {
        let asked = json!({
            "attendees": [{ "email": MARA }, { "email": "ny@x.example", "timezone": "America/New_York" }],
            "durationMinutes": 30, "timezone": "Europe/Bucharest",
            "from": format!("{day}T00:00:00Z"), "until": format!("{day}T23:59:00Z"),
        });
        desk.starts(asked).await.into_iter().next()
    };
    // Seven hours apart, six for the weeks between both changes, then seven again.
    assert_eq!(first("2026-03-06").await.as_deref(), Some("2026-03-06T16:00:00+02:00"));
    assert_eq!(first("2026-03-09").await.as_deref(), Some("2026-03-09T15:00:00+02:00"));
    assert_eq!(first("2026-03-30").await.as_deref(), Some("2026-03-30T16:00:00+03:00"));
}

#[tokio::test]
async fn everybody_sees_the_time_by_their_own_clock() {
    let asked = json!({
        "attendees": [{ "email": "Mara@Northlight.example" }, { "email": KEN }, { "email": "new@x.example" }],
        "durationMinutes": 30, "timezone": "Europe/Bucharest", "limit": 1,
        "from": "2026-01-20T00:00:00Z", "until": "2026-01-21T00:00:00Z",
    });
    let answer = Desk::new(zones()).ask("freeSlots", asked).await.unwrap();
    assert_eq!(
        answer,
        json!({
            "slots": [{
                "start": "2026-01-20T09:00:00+02:00", "end": "2026-01-20T09:30:00+02:00",
                "localTimes": [
                    { "email": "Mara@Northlight.example", "start": "2026-01-20T09:00:00+02:00" },
                    { "email": KEN, "start": "2026-01-20T16:00:00+09:00" },
                ],
            }],
            "timezone": "Europe/Bucharest", "notChecked": ["new@x.example"], "notes": [],
        })
    );
}

#[tokio::test]
async fn with_nothing_set_up_it_works_all_the_same() {
    let asked = json!({
        "attendees": [{ "email": JO }], "durationMinutes": 480,
        "from": "2026-01-19T08:00:00Z", "until": "2026-01-21T00:00:00Z",
    });
    let answer = Desk::new(Setup::default()).ask("freeSlots", asked).await.unwrap();
    assert_eq!(answer["slots"][0]["start"], "2026-01-19T09:00:00+00:00");
    assert_eq!(answer["slots"].as_array().unwrap().len(), 2);
    assert_eq!(answer["notChecked"], json!([JO]), "nobody knows what else takes their time");
    let common = Common { days: Days::parse(&["tue"]).unwrap(), ..Common::default() };
    let tuesdays = Desk::new(Setup { common, ..Setup::default() });
    let asked = json!({
        "attendees": [{ "email": JO }], "durationMinutes": 480,
        "from": "2026-01-19T08:00:00Z", "until": "2026-01-30T00:00:00Z",
    });
    assert_eq!(
        tuesdays.starts(asked).await,
        ["2026-01-20T09:00:00+00:00", "2026-01-27T09:00:00+00:00"]
    );
}

#[tokio::test]
async fn a_draft_becomes_one_event_and_takes_the_time() {
    let setup =
        Setup { conference_url: Some("https://meet.example.com/{id}".to_owned()), ..zones() };
    let desk = Desk::new(setup);
    let (start, end) = ("2026-01-20T12:00:00+02:00", "2026-01-20T12:30:00+02:00");
    let draft = desk.draft(&["Mara@northlight.example", JO], start, end).await;
    let rival = desk.draft(&[JO], "2026-01-20T10:15:00Z", "2026-01-20T11:00:00Z").await;
    let shown = desk.ask("getDraft", json!({ "draftId": draft })).await.unwrap();
    assert_eq!((&shown["start"], &shown["attendees"]), (&json!(start), &json!([MARA, JO])));
    assert_eq!(desk.ask("findEvent", json!({ "draftId": draft })).await.unwrap(), json!(null));
    let event = desk.create(&draft).await.unwrap();
    assert_eq!(
        (&event["start"], &event["end"], &event["status"]),
        (&json!(start), &json!(end), &json!("confirmed"))
    );
    assert!(event["conferenceUrl"].as_str().unwrap().starts_with("https://meet.example.com/"));
    assert_eq!(desk.create(&draft).await.unwrap(), event, "twice is once");
    assert_eq!(desk.create(&rival).await.unwrap_err().kind, ErrorKind::Conflict);
    let mut found = desk.ask("findEvent", json!({ "draftId": draft })).await.unwrap();
    found["notes"] = event["notes"].clone();
    assert_eq!(found, event);
    let asked = json!({
        "attendees": [{ "email": JO }], "durationMinutes": 30, "timezone": "UTC", "limit": 100,
        "from": "2026-01-20T09:00:00Z", "until": "2026-01-20T11:00:00Z",
    });
    let around = [
        "2026-01-20T09:00:00+00:00",
        "2026-01-20T09:15:00+00:00",
        "2026-01-20T09:30:00+00:00",
        "2026-01-20T10:30:00+00:00",
    ];
    assert_eq!(desk.starts(asked.clone()).await, around);
    // Cancelled, the time is free; the draft is not booked again by mistake.
    let id = event["eventId"].clone();
    for _ in 0..2 {
        let off = json!({ "eventId": id, "reason": "rain" });
        assert_eq!(desk.ask("cancelEvent", off).await.unwrap(), json!(null));
    }
    assert_eq!(
        desk.ask("findEvent", json!({ "eventId": id })).await.unwrap()["status"],
        "cancelled"
    );
    assert_eq!(desk.starts(asked).await.len(), 7);
    assert_eq!(desk.create(&draft).await.unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(desk.create(&rival).await.unwrap()["status"], "confirmed");
}

#[tokio::test]
async fn what_cannot_be_booked_says_why() {
    let mut desk = Desk::new(zones());
    let kind = |answer: Result<serde_json::Value, ToolError>| answer.unwrap_err().kind;
    assert_eq!(kind(desk.create("draft_none").await), ErrorKind::NotFound);
    let past = desk.draft(&[JO], "2026-01-19T07:00:00Z", "2026-01-19T07:30:00Z").await;
    assert_eq!(kind(desk.create(&past).await), ErrorKind::Conflict);
    let draft = desk.draft(&[JO], "2026-01-20T12:00:00Z", "2026-01-20T12:30:00Z").await;
    desk.provider.now_ms = || monday() + 3_600_000;
    assert_eq!(kind(desk.create(&draft).await), ErrorKind::NotFound, "an hour later it is gone");
    assert_eq!(desk.ask("getDraft", json!({ "draftId": draft })).await.unwrap(), json!(null));
    let off = json!({ "eventId": "evt_none", "reason": "rain" });
    assert_eq!(kind(desk.ask("cancelEvent", off).await), ErrorKind::NotFound);
    let none = json!({ "title": "x", "attendees": ["nobody"], "start": "2026-01-20T12:00:00Z", "end": "2026-01-20T12:30:00Z" });
    assert_eq!(kind(desk.ask("saveDraft", none).await), ErrorKind::InvalidArguments);
    let zone = json!({
        "attendees": [{ "email": JO, "timezone": "Mars/Olympus" }], "durationMinutes": 30,
        "from": "2026-01-20T09:00:00Z", "until": "2026-01-20T11:00:00Z",
    });
    assert_eq!(kind(desk.ask("freeSlots", zone).await), ErrorKind::InvalidArguments);
    let long = json!({
        "attendees": [{ "email": JO }], "durationMinutes": 30,
        "from": "2026-01-20T09:00:00Z", "until": "2028-01-20T11:00:00Z",
    });
    assert_eq!(kind(desk.ask("freeSlots", long).await), ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn who_books_is_told_that_nobody_else_was() {
    let desk = Desk::new(Setup::default());
    let draft = desk.draft(&[MARA], "2026-01-20T12:00:00+02:00", "2026-01-20T12:30:00+02:00").await;
    let notes = json!([
        "the meeting stands in haft's own calendar; nobody was told of it",
        "there is no conference link, because conferences are not set up",
    ]);
    assert_eq!(desk.create(&draft).await.unwrap()["notes"], notes);
    assert_eq!(desk.create(&draft).await.unwrap()["notes"], notes, "and told again");
    let linked =
        Setup { conference_url: Some("https://meet.example/{id}".into()), ..Setup::default() };
    let desk = Desk::new(linked);
    let draft = desk.draft(&[MARA], "2026-01-20T12:00:00+02:00", "2026-01-20T12:30:00+02:00").await;
    assert_eq!(desk.create(&draft).await.unwrap()["notes"], json!([notes[0]]));
}
