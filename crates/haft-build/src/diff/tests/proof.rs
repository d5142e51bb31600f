//! The rules about schemas, held against a validator.
//!
//! If no change of the parameters is breaking, every value that the old schema accepts is accepted
//! by the new one; if no change of the results is, every value of the new schema is one that a
//! reader of the old schema, who passes over unknown members, can read. Schemas are random
//! conjunctions of keywords over a small world of values, and each pair is a schema and a
//! mutation of it.

mod mutations;
mod schemas;
mod tape;
mod values;

use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

use self::tape::Tape;
use crate::diff::change::{Change, Impact};
use crate::diff::schema::{Side, compare};

/// What random cases have really shown, so that a test that shows nothing fails.
#[derive(Default)]
struct Shown {
    /// Pairs that differ and are called harmless.
    pairs: Cell<u32>,
    /// Values that were accepted on one side and had to be on the other.
    values: Cell<u32>,
    /// Among the pairs called breaking, those for which a value shows it.
    broken: Cell<u32>,
}

fn count(cell: &Cell<u32>) {
    cell.set(cell.get() + 1);
}

/// Runs the same cases each time; `PROPTEST_CASES` makes it more of them.
fn prove(side: Side) -> Shown {
    let config =
        Config { failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let config = Config { cases: config.cases.max(4_000), ..config };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let tapes = (vec(any::<u8>(), 0..160), vec(any::<u8>(), 0..60), vec(any::<u8>(), 0..400));
    let shown = Shown::default();
    let result = TestRunner::new_with_rng(config, rng).run(&tapes, |(schema, mutation, values)| {
        let old = schemas::root(&mut Tape::new(&schema));
        let mut new = old.clone();
        mutations::mutate(&mut new, &mut Tape::new(&mutation));
        judge(side, &old, &new, &mut Tape::new(&values), &shown)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
    shown
}

fn judge(
    side: Side,
    old: &Value,
    new: &Value,
    values: &mut Tape<'_>,
    shown: &Shown,
) -> Result<(), TestCaseError> {
    let mut changes = Vec::new();
    compare(old, new, side, &mut changes);
    let (sent, expected) = match side {
        Side::Arguments { .. } => (old.clone(), new.clone()),
        Side::Results => (new.clone(), schemas::opened(old)),
    };
    let (sent, expected) = (validator(&sent), validator(&expected));
    let breaking = changes.iter().any(Change::is_breaking);
    let differs = changes.iter().any(|change| change.impact != Impact::Wording);
    let mut refuted = None;
    for _ in 0..40 {
        let value = values::value(values, 0);
        if sent.is_valid(&value) {
            count(&shown.values);
            if !expected.is_valid(&value) {
                refuted = Some(value);
            }
        }
    }
    match (refuted, breaking) {
        (Some(_), true) => count(&shown.broken),
        (None, false) if differs => count(&shown.pairs),
        (None, _) => {}
        (Some(value), false) => {
            let told: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
            let message = format!("{value} shows that it breaks\nold {old}\nnew {new}\n{told:#?}");
            return Err(TestCaseError::fail(message));
        }
    }
    Ok(())
}

fn validator(schema: &Value) -> jsonschema::Validator {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap_or_else(|error| panic!("{error}: {schema}"))
}

#[test]
fn arguments_that_were_accepted_still_are() {
    let shown = prove(Side::Arguments { writes: false });
    let (pairs, values, broken) = (shown.pairs.get(), shown.values.get(), shown.broken.get());
    assert!(pairs > 200 && values > 20_000 && broken > 100, "{pairs} {values} {broken}");
}

#[test]
fn results_can_still_be_read() {
    let shown = prove(Side::Results);
    let (pairs, values, broken) = (shown.pairs.get(), shown.values.get(), shown.broken.get());
    assert!(pairs > 200 && values > 20_000 && broken > 100, "{pairs} {values} {broken}");
}

#[test]
fn a_schema_is_the_same_as_itself() {
    let config = Config { failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let result = TestRunner::new_with_rng(config, rng).run(&vec(any::<u8>(), 0..160), |tape| {
        let old = schemas::root(&mut Tape::new(&tape));
        // A title makes the two differ, so that the comparison is not cut short.
        let mut new = old.clone();
        new["title"] = "other".into();
        let mut changes = Vec::new();
        compare(&old, &new, Side::Results, &mut changes);
        let told: Vec<&str> = changes.iter().map(|change| change.what.as_str()).collect();
        proptest::prop_assert_eq!(told, ["result: title added"], "{}", old);
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}
