//! What every store of meetings does, in memory and in SQLite; and who wins a race.

use std::sync::Arc;

use haft_core::calendar::{Booked, Booking, BookingStatus, Draft, Meeting, Span, Which};
use haft_core::port::Calendar;
use haft_store::{Appointments, Options, Sqlite};

const NOW: i64 = 1_800_000_000_000;
const HOLD: i64 = 1_000;

pub(crate) fn meeting(people: &[&str], start_ms: i64, end_ms: i64) -> Meeting {
    Meeting {
        title: "Budget".to_owned(),
        attendees: people.iter().map(|one| (*one).to_owned()).collect(),
        span: Span { start_ms, end_ms },
        zone: "UTC".to_owned(),
        conference: false,
        location: None,
        notes: None,
    }
}

pub(crate) fn draft(id: &str, meeting: &Meeting) -> Draft {
    let (tenant, id) = ("a".to_owned(), id.to_owned());
    Draft { tenant, id, meeting: meeting.clone(), expires_ms: NOW + 10_000 }
}

pub(crate) fn booking(draft: &Draft, status: BookingStatus) -> Booking {
    Booking {
        tenant: draft.tenant.clone(),
        event: format!("evt_{}", draft.id),
        draft: draft.id.clone(),
        meeting: draft.meeting.clone(),
        status,
        conference_url: None,
        place: None,
        reason: None,
        made_ms: NOW,
    }
}

/// Keeps a draft of a meeting and books it.
async fn book(
    store: &dyn Calendar,
    id: &str,
    meeting: &Meeting,
    status: BookingStatus,
    now_ms: i64,
) -> Booked {
    let draft = draft(id, meeting);
    store.keep(draft.clone()).await.unwrap();
    store.book(booking(&draft, status), now_ms, HOLD).await.unwrap()
}

fn is_fresh(booked: &Booked) -> bool {
    matches!(booked, Booked::Fresh(_))
}

async fn contract(store: &dyn Calendar) {
    use BookingStatus::{Cancelled, Confirmed, Held};
    let nine = meeting(&["mara@x", "jo@x"], NOW + 100, NOW + 200);
    assert!(is_fresh(&book(store, "one", &nine, Confirmed, NOW).await));
    // The same draft again is the same event.
    let again = book(store, "one", &nine, Confirmed, NOW).await;
    assert!(matches!(again, Booked::Before(ref one) if one.event == "evt_one"), "{again:?}");
    // Whoever has a meeting has no other; what touches it is no clash, nor are other people.
    let cases = [
        ("clash", meeting(&["jo@x"], NOW + 199, NOW + 300), false),
        ("around", meeting(&["jo@x"], NOW, NOW + 900), false),
        ("after", meeting(&["jo@x"], NOW + 200, NOW + 300), true),
        ("before", meeting(&["mara@x"], NOW, NOW + 100), true),
        ("others", meeting(&["ken@x"], NOW + 100, NOW + 200), true),
    ];
    for (id, wanted, expected) in cases {
        let got = book(store, id, &wanted, Confirmed, NOW).await;
        assert_eq!(is_fresh(&got), expected, "{id}: {got:?}");
        assert!(expected || got == Booked::Taken, "{id}: {got:?}");
    }
    // Drafts end, and belong to their tenant.
    let late = draft("late", &meeting(&["zoe@x"], NOW, NOW + 1));
    store.keep(late.clone()).await.unwrap();
    assert!(store.draft("a", "late", NOW).await.unwrap().is_some());
    assert_eq!(store.draft("b", "late", NOW).await.unwrap(), None);
    assert_eq!(store.draft("a", "late", NOW + 10_000).await.unwrap(), None);
    let got = store.book(booking(&late, Confirmed), NOW + 10_000, HOLD).await.unwrap();
    assert_eq!(got, Booked::NoDraft);
    // What is held counts for a while.
    let ten = meeting(&["ida@x"], NOW + 1_000, NOW + 2_000);
    assert!(is_fresh(&book(store, "held", &ten, Held, NOW).await));
    assert!(is_fresh(&book(store, "held", &ten, Held, NOW).await), "the same draft goes on");
    assert_eq!(book(store, "rival", &ten, Held, NOW + HOLD - 1).await, Booked::Taken);
    assert!(is_fresh(&book(store, "rival", &ten, Held, NOW + HOLD).await));
    store.release("a", "evt_rival").await.unwrap();
    assert_eq!(store.booking("a", Which::Event("evt_rival")).await.unwrap(), None);
    assert_eq!(store.confirm("a", "evt_none").await.unwrap(), None);
    let sure = store.confirm("a", "evt_held").await.unwrap().unwrap();
    assert_eq!(sure.status, Confirmed);
    store.release("a", "evt_held").await.unwrap();
    assert_eq!(book(store, "rival", &ten, Held, NOW + 9_000).await, Booked::Taken);
    // What stands elsewhere is told there.
    let away = draft("away", &meeting(&["una@x"], NOW + 1_000, NOW + 2_000));
    store.keep(away.clone()).await.unwrap();
    let mut placed = booking(&away, Held);
    placed.place = Some("https://dav.example/away.ics".to_owned());
    assert!(is_fresh(&store.book(placed, NOW, HOLD).await.unwrap()));
    let una = ["una@x".to_owned()];
    let all = Span { start_ms: NOW, end_ms: NOW + 5_000 };
    assert_eq!(store.taken("a", &una, all, NOW).await.unwrap().len(), 1);
    store.confirm("a", "evt_away").await.unwrap();
    assert_eq!(store.taken("a", &una, all, NOW).await.unwrap(), []);
    // Looking.
    let people = ["ida@x".to_owned(), "jo@x".to_owned()];
    let busy = store.taken("a", &people, all, NOW + 9_000).await.unwrap();
    let span = |start, end| Span { start_ms: NOW + start, end_ms: NOW + end };
    let expected = [
        ("jo@x".to_owned(), span(100, 200)),
        ("jo@x".to_owned(), span(200, 300)),
        ("ida@x".to_owned(), span(1_000, 2_000)),
    ];
    assert_eq!(busy, expected);
    assert_eq!(store.taken("b", &people, all, NOW).await.unwrap(), []);
    // Cancelling frees the time, once, and the first reason stays.
    let before = store.cancel("a", "evt_held", "rain").await.unwrap().unwrap();
    assert_eq!(before.status, Confirmed);
    let before = store.cancel("a", "evt_held", "snow").await.unwrap().unwrap();
    assert_eq!((before.status, before.reason.as_deref()), (Cancelled, Some("rain")));
    assert_eq!(store.cancel("b", "evt_held", "rain").await.unwrap(), None);
    assert!(is_fresh(&book(store, "rival", &ten, Confirmed, NOW + 9_000).await));
    let gone = store.booking("a", Which::Draft("held")).await.unwrap().unwrap();
    assert_eq!(gone.status, Cancelled);
    let again = book(store, "held", &ten, Confirmed, NOW).await;
    assert!(matches!(again, Booked::Before(ref one) if one.status == Cancelled), "{again:?}");
    lists(store).await;
}

/// What is listed of all that, for people.
async fn lists(store: &dyn Calendar) {
    let names = async |tenant: &str, within: Span, person: Option<&str>, limit| {
        let found = store.bookings(tenant, within, person, limit).await.unwrap();
        found.into_iter().map(|one| one.event).collect::<Vec<_>>()
    };
    let day = Span { start_ms: NOW, end_ms: NOW + 5_000 };
    let all = ["before", "one", "others", "after", "away", "held", "rival"];
    let all = all.map(|id| format!("evt_{id}"));
    assert_eq!(names("a", day, None, 100).await, all);
    assert_eq!(names("a", day, None, 2).await, all[..2]);
    assert_eq!(names("a", day, Some("jo@x"), 100).await, ["evt_one", "evt_after"]);
    assert_eq!(
        names("a", Span { start_ms: NOW + 200, end_ms: NOW + 1_000 }, None, 9).await,
        ["evt_after"]
    );
    assert_eq!(names("b", day, None, 100).await, [""; 0]);
    let drafts = store.drafts("a", None, 100).await.unwrap();
    let ids: Vec<&str> = drafts.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["around", "clash", "late"], "what was booked is no draft any more");
    assert_eq!(store.drafts("a", None, 1).await.unwrap().len(), 1);
    assert_eq!(store.drafts("b", None, 100).await.unwrap(), []);
    // However many have expired, those that have not are found.
    let past = meeting(&["zoe@x"], NOW, NOW + 1);
    for number in 0..5 {
        let gone = Draft { expires_ms: NOW - 1, ..draft(&format!("gone_{number}"), &past) };
        store.keep(Draft { tenant: "c".to_owned(), ..gone }).await.unwrap();
    }
    store.keep(Draft { tenant: "c".to_owned(), ..draft("open", &past) }).await.unwrap();
    let listed = async |open_at_ms, limit| {
        let found = store.drafts("c", open_at_ms, limit).await.unwrap();
        found.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(Some(NOW), 5).await, ["open"]);
    assert_eq!(listed(Some(NOW + 10_000), 5).await, [""; 0]);
    assert_eq!(listed(None, 3).await, ["gone_3", "gone_4", "open"], "of all, the last ones");
}

#[tokio::test]
async fn meetings_in_memory() {
    contract(&Appointments::default()).await;
}

#[tokio::test]
async fn meetings_in_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    contract(&Sqlite::open(&path, Options::default()).unwrap()).await;
    // They are there after a restart.
    let again = Sqlite::open(&path, Options::default()).unwrap();
    let kept = again.booking("a", Which::Event("evt_one")).await.unwrap();
    assert_eq!(kept.unwrap().status, BookingStatus::Confirmed);
}

/// Eight handles on one file, as eight processes have them, all after the same hour of one person.
#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_want_the_same_hour_one_gets_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    let stores: Vec<Arc<Sqlite>> =
        (0..8).map(|_| Arc::new(Sqlite::open(&path, Options::default()).unwrap())).collect();
    for round in 0..20 {
        let start = NOW + round * 1_000;
        let tasks: Vec<_> = stores
            .iter()
            .enumerate()
            .map(|(index, store)| {
                let (store, id) = (store.clone(), format!("{round}_{index}"));
                // No two are quite the same hour.
                let wanted = meeting(&["mara@x"], start + index as i64, start + 500);
                tokio::spawn(async move {
                    book(&*store, &id, &wanted, BookingStatus::Confirmed, NOW).await
                })
            })
            .collect();
        let mut won = 0;
        for task in tasks {
            won += usize::from(is_fresh(&task.await.unwrap()));
        }
        assert_eq!(won, 1, "round {round}");
    }
}
