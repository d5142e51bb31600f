//! Records of calls, and the audit trail.

use haft_core::call::Principal;
use haft_core::error::ErrorKind;
use haft_core::ledger::State;
use haft_core::port::{CallFilter, CallStats, Resolve, Slice, TrailFilter, tool_meant};
use haft_core::record::{AuditEntry, Confirmation, InvocationRecord};
use serde_json::json;

use crate::bed::{START, ask, call_record, claim, confirmation, contract, ending, fresh, kinds};

fn acme() -> CallFilter {
    CallFilter { tenant: "acme".into(), ..CallFilter::default() }
}

fn entries() -> TrailFilter {
    TrailFilter { tenant: "acme".into(), ..TrailFilter::default() }
}

/// The filter with one of its fields set.
fn about(field: &str, value: &str) -> TrailFilter {
    let (value, mut filter) = (Some(value.to_owned()), entries());
    match field {
        "agent" => filter.agent = value,
        "tool" => filter.tool = value,
        "session" => filter.session = value,
        "call" => filter.call = value,
        _ => filter.kinds = value.unwrap_or_default().split(' ').map(str::to_owned).collect(),
    }
    filter
}

contract! {
    entries_of_the_trail_are_found_by_what_they_are_about(bed) {
        let store = bed.open();
        let record = |call: &str, tool: &str| InvocationRecord {
            session: (tool == "core__pay").then(|| "s1".to_owned()), ..call_record(call, tool, 1)
        };
        store.record(record("c1", "core__find").into());
        store.flush().await.unwrap();
        bed.clock.advance(10);
        let ticket = fresh(&*store, claim("k")).await;
        let unknown = ending(State::Unknown, None);
        store.settle(&ticket, unknown, Some(record("call of k", "core__pay"))).await.unwrap();
        let said = Resolve { happened: true, by: "user:ines".into(), note: "n".into(), result: None };
        store.resolve("acme", "call of k", said).await.unwrap();
        bed.clock.advance(10);
        let asked = Confirmation { session: Some("s2".into()), ..confirmation("q", "b") };
        ask(&*store, asked).await.unwrap();
        store.decide("acme", "q", true, &Principal::user("ines")).await.unwrap();
        store.note("acme", "note", json!({"tool": "core__find", "call": "c1"})).await.unwrap();
        store.note("acme", "note", json!("about nothing")).await.unwrap();
        store.note("other", "note", json!({"tool": "core__pay", "session": "s1"})).await.unwrap();
        let all = ["call", "begin", "settle", "resolve", "confirmation", "note", "note", "note"];
        assert_eq!(kinds(&*store).await, all);
        let begin = store.audit(1, 1).await.unwrap()[0].at_ms;
        // That it has begun is for comparing with the ledger; by what it is about, its end is found.
        for (filter, numbers) in [
            (entries(), vec![7, 6, 5, 4, 3, 2, 1]),
            (about("kind", "note"), vec![7, 6]),
            (about("kind", "begin"), vec![2]),
            (about("kind", "call settle"), vec![3, 1]),
            (about("kind", "call note"), vec![7, 6, 1]),
            (about("tool", "core__pay"), vec![5, 4, 3]),
            (about("tool", "core__find"), vec![6, 1]),
            (about("tool", "core__none"), vec![]),
            (about("agent", "assistant"), vec![5, 4, 3, 1]),
            (about("session", "s1"), vec![4, 3]),
            (about("session", "s2"), vec![5]),
            (about("call", "call of k"), vec![4, 3]),
            (about("call", "c1"), vec![6, 1]),
            (TrailFilter { kinds: vec!["settle".into()], ..about("tool", "core__pay") }, vec![3]),
            (TrailFilter { kinds: vec!["resolve".into()], ..about("tool", "core__pay") }, vec![4]),
            (TrailFilter { or_tool: Some("core__find".into()), ..about("tool", "core__pay") }, vec![6, 5, 4, 3, 1]),
            (TrailFilter { or_tool: Some("pay".into()), ..about("tool", "core__pay") }, vec![5, 4, 3]),
            (TrailFilter { before: Some(5), ..about("tool", "core__pay") }, vec![4, 3]),
            (TrailFilter { limit: 1, before: Some(5), ..about("tool", "core__pay") }, vec![4]),
            (TrailFilter { since_ms: Some(begin + 5), ..entries() }, vec![7, 6, 5, 4, 3, 2]),
            (TrailFilter { until_ms: Some(begin + 15), ..entries() }, vec![4, 3, 2, 1]),
            (TrailFilter { since_ms: Some(begin + 5), until_ms: Some(begin + 15), ..entries() }, vec![4, 3, 2]),
            (TrailFilter { until_ms: Some(begin + 15), ..about("tool", "core__pay") }, vec![4, 3]),
            (TrailFilter { since_ms: Some(begin + 15), ..about("tool", "core__pay") }, vec![5]),
            (TrailFilter { since_ms: Some(begin + 15), limit: 1, ..about("kind", "note") }, vec![7]),
        ] {
            let found = store.trail(filter.clone()).await.unwrap();
            let found: Vec<u64> = found.iter().map(|one| one.number).collect();
            assert_eq!(found, numbers, "{filter:?}");
        }
    }

    calls_are_found_by_when_they_began(bed) {
        let store = bed.open();
        for (call, at) in [("c1", 0), ("c2", 10), ("c3", 20)] {
            store.record(InvocationRecord { started_at_ms: START + at, ..call_record(call, "a", 1) }.into());
        }
        store.flush().await.unwrap();
        for (since, until, calls) in [
            (None, Some(10), vec!["c2", "c1"]),
            (Some(10), Some(10), vec!["c2"]),
            (Some(5), None, vec!["c3", "c2"]),
            (None, Some(-1), vec![]),
        ] {
            let at = |ms: Option<i64>| ms.map(|ms| START + ms);
            let filter = CallFilter { since_ms: at(since), until_ms: at(until), ..acme() };
            let found = store.calls(filter).await.unwrap();
            let found: Vec<&str> = found.iter().map(|one| &*one.call).collect();
            assert_eq!(found, calls, "{since:?} {until:?}");
        }
    }

    a_recorded_call_is_found_as_it_was(bed) {
        let store = bed.open();
        let record = call_record("c1", "core__kb_search", 10);
        store.record(record.clone().into());
        store.flush().await.unwrap();
        assert_eq!(store.calls(acme()).await.unwrap(), [record]);
        assert_eq!(kinds(&*store).await, ["call"]);
    }

    calls_are_counted_by_the_time_at_which_they_began(bed) {
        let store = bed.open();
        for (call, at, took, error) in [
            ("c1", 0, 10, None),
            ("c2", 900, 30, Some(ErrorKind::Denied)),
            ("c3", 999, 20, Some(ErrorKind::Denied)),
            ("c4", 3_000, 7, Some(ErrorKind::Timeout)),
        ] {
            let started_at_ms = START + at;
            let record = call_record(call, "a", took);
            store.record(InvocationRecord { error, started_at_ms, ..record }.into());
        }
        store.flush().await.unwrap();
        let slices = store.series(acme(), 1_000).await.unwrap();
        let begin = START - START.rem_euclid(1_000);
        assert_eq!(begin, START, "the test begins at a whole second");
        let slice = |at_ms, calls, errors: &[(&str, u64)], p50_us, p99_us| Slice {
            at_ms,
            calls,
            errors: errors.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect(),
            p50_us,
            p99_us,
        };
        assert_eq!(
            slices,
            [slice(START, 3, &[("denied", 2)], 20, 30), slice(START + 3_000, 1, &[("timeout", 1)], 7, 7)]
        );
        let newest = store.series(CallFilter { limit: 1, ..acme() }, 1_000).await.unwrap();
        assert_eq!(newest.len(), 1);
        assert_eq!(newest[0].at_ms, START + 3_000);
    }

    a_tenants_part_of_the_trail_is_read_backwards(bed) {
        let store = bed.open();
        for (tenant, note) in [("acme", 1), ("other", 2), ("acme", 3), ("acme", 4)] {
            store.note(tenant, "note", json!(note)).await.unwrap();
        }
        let numbers = |found: Vec<AuditEntry>| found.iter().map(|one| one.number).collect::<Vec<_>>();
        let two = TrailFilter { limit: 2, ..entries() };
        assert_eq!(numbers(store.trail(two.clone()).await.unwrap()), [4, 3]);
        let older = TrailFilter { before: Some(3), ..two };
        assert_eq!(numbers(store.trail(older).await.unwrap()), [1]);
        let checked = store.verify().await.unwrap();
        assert_eq!((checked.entries, &checked.broken), (4, &None));
        let last = store.trail(TrailFilter { limit: 1, ..entries() }).await.unwrap();
        assert_eq!(checked.head.as_ref(), last.first().map(|entry| &entry.hash));
    }

    calls_are_found_by_what_they_are_newest_first(bed) {
        let store = bed.open();
        store.record(call_record("c1", "a", 10).into());
        store.record(InvocationRecord {
            error: Some(ErrorKind::Denied),
            session: None,
            started_at_ms: START + 5,
            ..call_record("c2", "b", 20)
        }.into());
        store.record(InvocationRecord {
            agent: "other".into(),
            started_at_ms: START - 5,
            ..call_record("c3", "a", 30)
        }.into());
        store.record(InvocationRecord { tenant: "other".into(), ..call_record("c4", "a", 40) }.into());
        store.record(call_record("c5", "a", 50).into());
        store.flush().await.unwrap();
        let by = |change: &dyn Fn(&mut CallFilter)| {
            let mut filter = acme();
            change(&mut filter);
            filter
        };
        let table: [(CallFilter, &[&str]); 11] = [
            (acme(), &["c2", "c5", "c1", "c3"]),
            (by(&|f| f.limit = 2), &["c2", "c5"]),
            (by(&|f| f.agent = Some("other".into())), &["c3"]),
            (by(&|f| f.tool = Some("a".into())), &["c5", "c1", "c3"]),
            (by(&|f| (f.tool, f.or_tool) = (Some("b".into()), Some("a".into()))), &["c2", "c5", "c1", "c3"]),
            (by(&|f| f.session = Some("s1".into())), &["c5", "c1", "c3"]),
            (by(&|f| f.error = Some(ErrorKind::Denied)), &["c2"]),
            (by(&|f| f.ok = Some(true)), &["c5", "c1", "c3"]),
            (by(&|f| f.ok = Some(false)), &["c2"]),
            (by(&|f| f.since_ms = Some(START)), &["c2", "c5", "c1"]),
            (by(&|f| f.call = Some("c1".into())), &["c1"]),
        ];
        for (filter, expected) in table {
            let found = store.calls(filter.clone()).await.unwrap();
            let calls: Vec<_> = found.iter().map(|one| &*one.call).collect();
            assert_eq!(calls, expected, "{filter:?}");
        }
    }

    figures_are_exact_and_over_every_call_that_is_meant(bed) {
        let store = bed.open();
        for n in 1..=200 {
            store.record(call_record(&format!("c{n}"), "a", 201 - n).into());
        }
        store.record(InvocationRecord {
            error: Some(ErrorKind::Timeout),
            ..call_record("d", "b", 7)
        }.into());
        store.flush().await.unwrap();
        let a = CallStats { tool: "a".into(), calls: 200, errors: 0, p50_us: 100, p99_us: 198 };
        let b = CallStats { tool: "b".into(), calls: 1, errors: 1, p50_us: 7, p99_us: 7 };
        let narrow = CallFilter { limit: 1, ..acme() };
        assert_eq!(store.stats(narrow).await.unwrap(), [a, b.clone()]);
        let failed = CallFilter { ok: Some(false), ..acme() };
        assert_eq!(store.stats(failed).await.unwrap(), [b]);
    }

    the_tools_that_were_called_are_named_once_each(bed) {
        let store = bed.open();
        for (n, tool) in ["core__get", "core__send", "core__get"].into_iter().enumerate() {
            store.record(call_record(&format!("c{n}"), tool, 1).into());
        }
        store.flush().await.unwrap();
        assert_eq!(store.tools("acme").await.unwrap(), ["core__get", "core__send"]);
        assert_eq!(store.tools("other").await.unwrap(), Vec::<String>::new());
    }

    a_tool_whose_call_was_cut_off_is_meant_by_its_name(bed) {
        let store = bed.open();
        let of = |key: &str, tool: &str| {
            let mut claim = claim(key);
            claim.effect.tool = tool.to_owned();
            claim
        };
        for (key, tool) in [("a", "core__pay"), ("b", "core__pay"), ("c", "core__get")] {
            fresh(&*store, of(key, tool)).await;
        }
        assert_eq!(store.caused_with("acme").await.unwrap(), ["core__get", "core__pay"]);
        assert_eq!(store.caused_with("other").await.unwrap(), Vec::<String>::new());
        store.record(call_record("d", "hub__get", 1).into());
        store.record(call_record("e", "hub__send", 1).into());
        store.flush().await.unwrap();
        for (name, meant) in [
            ("pay", Ok("core__pay")),
            ("core__pay", Ok("core__pay")),
            ("send", Ok("hub__send")),
            ("hub__get", Ok("hub__get")),
            ("get", Err(["core__get", "hub__get"])),
            ("nothing", Ok("nothing")),
        ] {
            let meant = meant.map(str::to_owned).map_err(|all| all.map(str::to_owned).to_vec());
            assert_eq!(tool_meant(&*store, "acme", name).await.unwrap(), meant, "{name}");
        }
    }

    calls_are_listed_a_page_at_a_time(bed) {
        let store = bed.open();
        for n in 1..=7 {
            // Some begin together: the one that was recorded later comes first.
            let started_at_ms = START + n / 3;
            store.record(InvocationRecord { started_at_ms, ..call_record(&format!("c{n}"), "a", 1) }.into());
        }
        store.flush().await.unwrap();
        let page = async |after: Option<&str>| {
            let filter = CallFilter { after: after.map(str::to_owned), limit: 3, ..acme() };
            let found = store.calls(filter).await.unwrap();
            found.iter().map(|one| one.call.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(page(None).await, ["c7", "c6", "c5"]);
        assert_eq!(page(Some("c5")).await, ["c4", "c3", "c2"]);
        assert_eq!(page(Some("c2")).await, ["c1"]);
        assert_eq!(page(Some("c1")).await, Vec::<String>::new());
        assert_eq!(page(Some("nobody's")).await, Vec::<String>::new());
        let theirs = CallFilter { tenant: "other".into(), after: Some("c7".into()), ..acme() };
        assert_eq!(store.calls(theirs).await.unwrap(), []);
    }

    the_trail_is_a_chain(bed) {
        let store = bed.open();
        for n in 0..5 {
            store.note("acme", "note", json!({ "n": n, "text": "é\n" })).await.unwrap();
            bed.clock.advance(10);
        }
        let trail = store.audit(1, 0).await.unwrap();
        assert_eq!(trail.len(), 5);
        for (at, entry) in trail.iter().enumerate() {
            assert_eq!(entry.number, at as u64 + 1);
            assert_eq!(entry.at_ms, START + 10 * at as i64);
            if at > 0 {
                assert_eq!(entry.previous, trail[at - 1].hash);
            }
        }
        let checked = store.verify().await.unwrap();
        assert_eq!((checked.entries, checked.broken), (5, None));
        assert_eq!(checked.head.as_ref(), trail.last().map(|entry| &entry.hash));
        let body: serde_json::Value = serde_json::from_str(&trail[3].body).unwrap();
        assert_eq!(body, json!({ "n": 3, "text": "é\n" }));
        assert_eq!(store.audit(3, 2).await.unwrap(), trail[2..4]);
        assert!(store.audit(6, 0).await.unwrap().is_empty());
    }

    two_processes_write_one_chain(bed) {
        let (one, two) = (bed.open(), bed.open());
        for n in 0..10 {
            one.note("acme", "note", json!(n)).await.unwrap();
            two.note("acme", "note", json!(n)).await.unwrap();
        }
        let trail = one.audit(1, 100).await.unwrap();
        assert_eq!(trail.len(), 20);
        assert!(trail.windows(2).all(|pair| pair[1].previous == pair[0].hash));
    }
}
