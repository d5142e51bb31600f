//! Rows of three histories and what is wrong with them.

use super::*;

/// What is said about one key, and what the sink did: provider key (`own` is the key's), call.
struct Row {
    name: &'static str,
    act: Act,
    told: fn(&mut Told),
    acts: &'static [(&'static str, &'static str, u64)],
    booked: Option<(State, Option<u64>)>,
    /// Duplicated, lost, falsely failed.
    expected: [u64; 3],
}

fn done(told: &mut Told) {
    (told.word, told.receipt) = (Word::Done, Some(7));
}

fn failed(told: &mut Told) {
    (told.word, told.failed) = (Word::Failed, vec!["call_1".into()]);
}

fn failed_then_done(told: &mut Told) {
    failed(told);
    done(told);
}

fn unknown(told: &mut Told) {
    told.word = Word::Unknown;
}

fn denied(told: &mut Told) {
    done(told);
    told.denied = Some("a failure after a success");
}

fn undone(told: &mut Told) {
    done(told);
    told.undone = true;
}

const ONE: &[(&str, &str, u64)] = &[("own", "call_1", 7)];
const OTHER_CALL: &[(&str, &str, u64)] = &[("own", "call_2", 7)];
const TWO: &[(&str, &str, u64)] = &[("own", "call_1", 7), ("own", "call_2", 8)];
const TWO_KEYS: &[(&str, &str, u64)] = &[("own", "call_1", 7), ("haft-other", "call_2", 8)];
const UNDONE_ONCE: &[(&str, &str, u64)] = &[("own", "call_1", 7), ("undo:a", "call_2", 8)];
const UNDONE_TWICE: &[(&str, &str, u64)] =
    &[("own", "call_1", 7), ("undo:a", "call_2", 8), ("undo:b", "call_3", 9)];

#[test]
fn every_broken_promise_is_counted() {
    use State::{Compensated, Failed, NotHappened, Succeeded, Unknown};
    let row =
        |name, act, told, acts, booked, expected| Row { name, act, told, acts, booked, expected };
    let ok = Some((Succeeded, Some(7)));
    let nobody = Some((Unknown, None));
    for row in [
        row("as it should be", Act::Order, done, ONE, ok, [0, 0, 0]),
        row("unknown and done", Act::Order, unknown, ONE, nobody, [0, 0, 0]),
        row("unknown and not done", Act::Order, unknown, &[], nobody, [0, 0, 0]),
        row("failed and not done", Act::Order, failed, &[], Some((Failed, None)), [0, 0, 0]),
        row("failed, then done", Act::Order, failed_then_done, OTHER_CALL, ok, [0, 0, 0]),
        row("undone", Act::Book, undone, UNDONE_ONCE, Some((Compensated, Some(7))), [0, 0, 0]),
        row("done twice", Act::Order, done, TWO, ok, [1, 0, 0]),
        row("done twice, unknown", Act::Book, unknown, TWO, nobody, [1, 0, 0]),
        row("under two provider keys", Act::Put, done, TWO_KEYS, ok, [1, 0, 0]),
        row("undone twice", Act::Book, undone, UNDONE_TWICE, Some((Compensated, None)), [1, 0, 0]),
        row("told, not done", Act::Put, done, &[], ok, [0, 1, 0]),
        row("told another receipt", Act::Order, done, &[("own", "call_1", 6)], ok, [0, 1, 0]),
        row("not in the ledger", Act::Order, done, ONE, None, [0, 1, 0]),
        row("unknown to the ledger", Act::Order, done, ONE, nobody, [0, 1, 0]),
        row(
            "otherwise in the ledger",
            Act::Order,
            done,
            ONE,
            Some((Succeeded, Some(8))),
            [0, 1, 0],
        ),
        row("denied later", Act::Order, denied, ONE, ok, [0, 1, 0]),
        row("in the ledger alone", Act::Order, unknown, &[], ok, [0, 1, 0]),
        row("not undone", Act::Book, undone, ONE, Some((Compensated, Some(7))), [0, 1, 0]),
        row("undone, not on record", Act::Book, undone, UNDONE_ONCE, ok, [0, 1, 0]),
        row("failed, and done", Act::Order, failed, ONE, Some((Failed, None)), [0, 0, 1]),
        row("failed, and done before", Act::Put, failed_then_done, ONE, ok, [0, 0, 1]),
        row("settled wrongly", Act::Gift, unknown, ONE, Some((NotHappened, None)), [0, 0, 1]),
    ] {
        check_row(&row);
    }
}

#[track_caller]
fn check_row(row: &Row) {
    let mut told = Told::new(row.act, 0, 1);
    assert!(!told.twin(), "item 0 must stand alone");
    (row.told)(&mut told);
    let own = provider_key(&told);
    let acts: Vec<Acted> = row
        .acts
        .iter()
        .map(|(provider, call, receipt)| match provider.strip_prefix("undo:") {
            Some(key) => Acted::new("act", "unbook", "0", call, key, *receipt),
            None => {
                let provider = if *provider == "own" { own.as_str() } else { provider };
                Acted::new("act", row.act.as_str(), "0", call, provider, *receipt)
            }
        })
        .collect();
    let booked = row.booked.map(|(state, receipt)| Booked { state, receipt });
    let found = check(&[told], &acts, &[booked]);
    let counts = [found.duplicated, found.lost, found.falsely_failed];
    assert_eq!(counts, row.expected, "{}: {:?}", row.name, found.wrong);
    assert_eq!(found.is_clean(), row.expected == [0, 0, 0], "{}", row.name);
}

#[test]
fn a_key_without_a_word_and_a_provider_key_with_other_arguments_are_noticed() {
    let silent = check(&[Told::new(Act::Look, 0, 1)], &[], &[None]);
    assert!(!silent.is_clean());
    let mismatch = Acted::new("mismatch", "put", "0", "call_1", "haft-1", 0);
    assert_eq!(check(&[], &[mismatch], &[]).duplicated, 1);
}
