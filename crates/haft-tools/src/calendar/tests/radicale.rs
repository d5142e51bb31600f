//! With a CalDAV server: Debian's radicale, or whichever `radicale` is installed.

use std::sync::atomic::Ordering;

use haft_core::ErrorKind;
use haft_store::{Manual, Options, Sqlite};
use serde_json::json;

use super::proxy::{Loss, line};
use super::server::{PASSWORD, Radicale};
use super::*;

const START: &str = "2026-01-20T12:00:00+02:00";
const END: &str = "2026-01-20T12:30:00+02:00";

fn setup(server: &Radicale, port: u16) -> Setup {
    let at = |name: &str| server.url(name).replace(&server.port.to_string(), &port.to_string());
    let with = |zone: &str, name: &str| Person { calendars: vec![at(name)], ..person(zone) };
    Setup {
        people: people(&[
            (MARA, with("Europe/Bucharest", "mara")),
            (JO, with("Europe/London", "jo")),
        ]),
        book_in: Some(at("all")),
        organizer: Some("studio@northlight.example".to_owned()),
        conference_url: Some("https://meet.example.com/{id}".to_owned()),
        ..Setup::default()
    }
}

fn desk(server: &Radicale, port: u16) -> Desk {
    Desk::new(setup(server, port)).connected(PASSWORD, &["127.0.0.1"])
}

#[tokio::test]
async fn whatever_stands_in_calendars_takes_time() {
    let Some(server) = Radicale::start() else { return };
    // Tuesday in Bucharest, nine to five; London begins at eleven of that.
    server.put("mara", "standup", "DTSTART;TZID=Europe/Bucharest:20251201T130000\nDURATION:PT30M\nRRULE:FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR\nSUMMARY:Standup");
    server.put(
        "mara",
        "off",
        "DTSTART:20260120T140000Z\nDTEND:20260120T150000Z\nSTATUS:CANCELLED\nSUMMARY:Off",
    );
    server.put(
        "mara",
        "birthday",
        "DTSTART;VALUE=DATE:20260120\nTRANSP:TRANSPARENT\nSUMMARY:Birthday",
    );
    server.put("jo", "tokyo", "DTSTART;TZID=Asia/Tokyo:20260120T193000\nDTEND;TZID=Asia/Tokyo:20260120T203000\nSUMMARY:Call");
    server.put(
        "jo",
        "away",
        "DTSTART;VALUE=DATE:20260121\nDTEND;VALUE=DATE:20260122\nSUMMARY:Away",
    );
    server.put("all", "other", "DTSTART:20260120T120000Z\nDTEND:20260120T123000Z\nATTENDEE:mailto:jo@client.example\nSUMMARY:Other");
    server.put("all", "foreign", "DTSTART:20260120T090000Z\nDTEND:20260120T150000Z\nATTENDEE:mailto:somebody@else.example\nSUMMARY:Foreign");
    let desk = desk(&server, server.port);
    let asked = |until: &str| {
        json!({
            "attendees": [{ "email": MARA }, { "email": JO }, { "email": "new@x.example" }],
            "durationMinutes": 30, "timezone": "Europe/Bucharest", "limit": 100,
            "from": "2026-01-20T00:00:00+02:00", "until": until,
        })
    };
    let starts = desk.starts(asked("2026-01-21T00:00:00+02:00")).await;
    // 13:00 standup, 12:30 to 13:30 Tokyo, 14:00 to 14:30 the other meeting.
    let expected: Vec<String> = [
        "11:00", "11:15", "11:30", "11:45", "12:00", "13:30", "14:30", "14:45", "15:00", "15:15",
        "15:30", "15:45", "16:00", "16:15", "16:30",
    ]
    .iter()
    .map(|time| format!("2026-01-20T{time}:00+02:00"))
    .collect();
    assert_eq!(starts, expected);
    // Jo is away on Wednesday.
    assert_eq!(desk.starts(asked("2026-01-22T00:00:00+02:00")).await.len(), expected.len());
    let answer = desk.ask("freeSlots", asked("2026-01-21T00:00:00+02:00")).await.unwrap();
    assert_eq!(answer["notChecked"], json!(["new@x.example"]));
}

#[tokio::test]
async fn a_meeting_is_written_found_changed_and_cancelled() {
    let Some(server) = Radicale::start() else { return };
    let mut desk = desk(&server, server.port);
    let draft = desk.draft(&[MARA, JO], START, END).await;
    let event = desk.create(&draft).await.unwrap();
    assert_eq!((&event["start"], &event["status"]), (&json!(START), &json!("confirmed")));
    let written = server.events("all");
    assert_eq!(written.len(), 1);
    for part in [
        "SUMMARY:Budget",
        "DTSTART:20260120T100000Z",
        "mailto:jo@client.example",
        "mailto:studio@northlight.example",
        "https://meet.example.com/",
    ] {
        assert!(written[0].replace("\r\n ", "").contains(part), "{part}: {}", written[0]);
    }
    assert_eq!(desk.create(&draft).await.unwrap(), event, "twice is once");
    assert_eq!(server.events("all").len(), 1);
    // A stranger's event in between is seen, though haft has no record of it.
    let rival = desk.draft(&[JO], "2026-01-20T14:00:00Z", "2026-01-20T14:30:00Z").await;
    server.put(
        "jo",
        "dentist",
        "DTSTART:20260120T141500Z\nDTEND:20260120T150000Z\nSUMMARY:Dentist",
    );
    assert_eq!(desk.create(&rival).await.unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(server.events("all").len(), 1, "nothing was written for it");
    server.raw("DELETE", "jo/dentist.ics", "");
    assert_eq!(desk.create(&rival).await.unwrap()["status"], "confirmed", "the draft still holds");
    // Somebody moves it in their own program.
    let id = event["eventId"].as_str().unwrap().to_owned();
    server.put_as(
        "all",
        &id,
        &format!("{id}@haft"),
        "SUMMARY:Budget\\, again\nDTSTART:20260122T100000Z\nDTEND:20260122T110000Z",
    );
    let found = desk.ask("findEvent", json!({ "eventId": id })).await.unwrap();
    assert_eq!(
        (&found["title"], &found["start"]),
        (&json!("Budget, again"), &json!("2026-01-22T12:00:00+02:00"))
    );
    // Cancelled once, and once more.
    for _ in 0..2 {
        let off = json!({ "eventId": id, "reason": "rain" });
        assert_eq!(desk.ask("cancelEvent", off).await.unwrap(), json!(null));
        assert_eq!(server.raw("GET", &format!("all/{id}.ics"), "").0, 404);
    }
    let found = desk.ask("findEvent", json!({ "draftId": draft })).await.unwrap();
    assert_eq!(found["status"], "cancelled");
    assert_eq!(desk.create(&draft).await.unwrap_err().kind, ErrorKind::Conflict);
    // Deleted by hand is cancelled too, and its time is free.
    let second = desk.ask("findEvent", json!({ "draftId": rival })).await.unwrap();
    let id = second["eventId"].as_str().unwrap();
    server.raw("DELETE", &format!("all/{id}.ics"), "");
    let found = desk.ask("findEvent", json!({ "eventId": id })).await.unwrap();
    assert_eq!(found["status"], "cancelled");
    let again = desk.draft(&[JO], "2026-01-20T14:00:00Z", "2026-01-20T14:30:00Z").await;
    assert_eq!(desk.create(&again).await.unwrap()["status"], "confirmed");
    // What is booked long ago is known after its draft has gone.
    desk.provider.now_ms = || monday() + 86_400_000 / 2;
    assert_eq!(desk.create(&again).await.unwrap()["status"], "confirmed");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_one_gets_the_time() {
    let Some(server) = Radicale::start() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    // Two processes on one store, and two machines with stores of their own.
    for round in 0..4 {
        let shared = round % 2 == 0;
        let desks: Vec<Arc<Desk>> = (0..4)
            .map(|_| {
                let store: Arc<dyn Calendar> = match shared {
                    true => {
                        let options = Options { clock: Manual::at(monday()), ..Options::default() };
                        Arc::new(Sqlite::open(&path, options).unwrap())
                    }
                    false => Arc::new(Appointments::default()),
                };
                let desk = Desk::over(store, setup(&server, server.port));
                Arc::new(desk.connected(PASSWORD, &["127.0.0.1"]))
            })
            .collect();
        let day = 20 + round;
        let (start, end) = (format!("2026-01-{day}T12:00:00Z"), format!("2026-01-{day}T13:00:00Z"));
        let mut drafts = Vec::new();
        for desk in &desks {
            drafts.push(desk.draft(&[JO], &start, &end).await);
        }
        let tasks: Vec<_> = desks
            .iter()
            .zip(drafts)
            .map(|(desk, draft)| {
                let desk = desk.clone();
                tokio::spawn(async move { desk.create(&draft).await })
            })
            .collect();
        let mut won = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(_) => won += 1,
                Err(error) => assert_eq!(error.kind, ErrorKind::Conflict, "{error:?}"),
            }
        }
        assert_eq!(won, 1, "one gets it");
        let stands = server
            .events("all")
            .iter()
            .filter(|one| one.contains(&format!("DTSTART:202601{day}")))
            .count();
        assert_eq!(stands, won, "what stands is what was promised");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_makes_no_second_event() {
    let Some(server) = Radicale::start() else { return };
    // Once: the same is asked again, and the server says that it has it.
    let once = line(server.port, "PUT", Loss::Answer, 1);
    let first = desk(&server, once.port);
    let draft = first.draft(&[MARA], START, END).await;
    assert_eq!(first.create(&draft).await.unwrap()["status"], "confirmed");
    assert_eq!((once.spoilt.load(Ordering::SeqCst), server.events("all").len()), (1, 1));
    // For good: nobody says yes or no, until somebody looks.
    let never = line(server.port, "PUT", Loss::Answer, 99);
    let mut second = desk(&server, never.port);
    let draft = second.draft(&[JO], START, END).await;
    let error = second.create(&draft).await.unwrap_err();
    assert_eq!((error.kind, error.partial_side_effects), (ErrorKind::UnknownOutcome, true));
    let found = second.ask("findEvent", json!({ "draftId": draft })).await.unwrap();
    assert_eq!((&found["status"], server.events("all").len()), (&json!("confirmed"), 2));
    // It never arrived: for a while nobody can say so.
    let deaf = line(server.port, "PUT", Loss::Request, 99);
    second.provider.setup = setup(&server, deaf.port);
    let draft = second.draft(&[JO], "2026-01-21T12:00:00Z", "2026-01-21T12:30:00Z").await;
    assert_eq!(second.create(&draft).await.unwrap_err().kind, ErrorKind::UnknownOutcome);
    let soon = second.ask("findEvent", json!({ "draftId": draft })).await.unwrap_err();
    assert_eq!(soon.kind, ErrorKind::Transient);
    second.provider.now_ms = later;
    assert_eq!(second.ask("findEvent", json!({ "draftId": draft })).await.unwrap(), json!(null));
    // And then it can be booked, by the same draft.
    second.provider.setup = setup(&server, server.port);
    assert_eq!(second.create(&draft).await.unwrap()["status"], "confirmed");
    // A cancellation whose answer is lost is one all the same.
    let off = line(server.port, "DELETE", Loss::Answer, 1);
    let mut third = desk(&server, off.port);
    let draft = third.draft(&[MARA], "2026-01-22T12:00:00Z", "2026-01-22T12:30:00Z").await;
    let event = third.create(&draft).await.unwrap();
    let gone = json!({ "eventId": event["eventId"], "reason": "rain" });
    assert_eq!(third.ask("cancelEvent", gone).await.unwrap(), json!(null));
    assert_eq!(off.spoilt.load(Ordering::SeqCst), 1);
    third.provider.now_ms = later;
    assert_eq!(
        third.ask("findEvent", json!({ "draftId": draft })).await.unwrap()["status"],
        "cancelled"
    );
}

/// A redirect after a request that writes is often the answer of who has done it.
#[tokio::test]
async fn a_redirect_is_no_word_that_an_event_was_not_written_or_removed() {
    let Some(server) = Radicale::start() else { return };
    let once = line(server.port, "PUT", Loss::Elsewhere, 1);
    let first = desk(&server, once.port);
    let draft = first.draft(&[MARA], START, END).await;
    assert_eq!(first.create(&draft).await.unwrap()["status"], "confirmed");
    assert_eq!((once.spoilt.load(Ordering::SeqCst), server.events("all").len()), (1, 1));
    let always = line(server.port, "PUT", Loss::Elsewhere, 99);
    let second = desk(&server, always.port);
    let draft = second.draft(&[JO], START, END).await;
    let error = second.create(&draft).await.unwrap_err();
    assert_eq!((error.kind, error.partial_side_effects), (ErrorKind::UnknownOutcome, true));
    let found = second.ask("findEvent", json!({ "draftId": draft })).await.unwrap();
    assert_eq!((&found["status"], server.events("all").len()), (&json!("confirmed"), 2));
    let off = line(server.port, "DELETE", Loss::Elsewhere, 1);
    let third = desk(&server, off.port);
    let draft = third.draft(&[MARA], "2026-01-22T12:00:00Z", "2026-01-22T12:30:00Z").await;
    let event = third.create(&draft).await.unwrap();
    let gone = json!({ "eventId": event["eventId"], "reason": "rain" });
    assert_eq!(third.ask("cancelEvent", gone).await.unwrap(), json!(null));
    assert_eq!((off.spoilt.load(Ordering::SeqCst), server.events("all").len()), (1, 2));
}

#[tokio::test]
async fn who_may_not_learns_what_to_set_up() {
    let Some(server) = Radicale::start() else { return };
    let asked = json!({
        "attendees": [{ "email": MARA }], "durationMinutes": 30,
        "from": "2026-01-20T00:00:00Z", "until": "2026-01-21T00:00:00Z",
    });
    let check = async |desk: Desk, part: &str| {
        let error = desk.ask("freeSlots", asked.clone()).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Auth, "{error:?}");
        let said = format!("{} {}", error.message, error.suggestion);
        assert!(said.contains(part), "{said}");
        let draft = desk.draft(&[MARA], START, END).await;
        let error = desk.create(&draft).await.unwrap_err();
        assert_eq!((error.kind, error.partial_side_effects), (ErrorKind::Auth, false));
        assert_eq!(server.events("all").len(), 0);
    };
    let plain = || Desk::new(setup(&server, server.port));
    check(plain(), "haft connections add calendar --provider caldav").await;
    check(plain().connected("guessed", &["127.0.0.1"]), "refused the connection's credentials")
        .await;
    check(plain().connected(PASSWORD, &["elsewhere.example"]), "`--host`").await;
    // Nobody there, and nothing there.
    let mut wrong = setup(&server, server.port);
    wrong.book_in = Some(server.url("none"));
    let desk = Desk::new(wrong).connected(PASSWORD, &["127.0.0.1"]);
    let error = desk.ask("freeSlots", asked.clone()).await.unwrap_err();
    assert!(error.suggestion.contains("haft.toml"), "{error:?}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let desk = Desk::new(setup(&server, closed)).connected(PASSWORD, &["127.0.0.1"]);
    assert_eq!(desk.ask("freeSlots", asked).await.unwrap_err().kind, ErrorKind::Transient);
}
