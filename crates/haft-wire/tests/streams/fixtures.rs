//! 180 recorded streams, each in several splits, against what the official SDKs assemble.

mod expected;
mod file;
mod mutated;
mod posted;
mod quirks;

use std::collections::BTreeMap;

use haft_wire::{Close, Limits, Turn};

use self::expected::compare;
use self::file::Fixture;
use crate::feed::{check_promises, joined, run};

/// Decodes a stream in every split and returns what is the same for all of them.
fn decode(fixture: &Fixture) -> Turn {
    let how = if fixture.aborted { Close::Reset } else { Close::Eof };
    let mut first = None;
    for (name, pieces) in fixture.splits() {
        let (said, turn) = run(fixture.dialect, Limits::default(), pieces, how);
        check_promises(&said, &turn);
        let said = joined(&said);
        match &first {
            None => first = Some((said, turn)),
            Some((seen, same)) => {
                assert_eq!(seen, &said, "{}: split `{name}` says something else", fixture.id);
                assert_eq!(same, &turn, "{}: split `{name}`", fixture.id);
            }
        }
    }
    first.unwrap().1
}

#[test]
fn recorded_streams_decode_to_what_the_sdks_assemble() {
    let Some(fixtures) = file::all() else { return };
    let mut counts = BTreeMap::<String, usize>::new();
    let mut wrong = Vec::new();
    for fixture in &fixtures {
        let turn = decode(fixture);
        let verdict = match fixture.class.as_str() {
            "wellformed" | "tolerant" => compare(fixture, &turn),
            "error" if turn.calls.is_empty() => Ok(()),
            "error" => Err(format!("would run {:?}", turn.calls)),
            "quirk" => Ok(()),
            other => panic!("{}: class {other}", fixture.id),
        };
        match verdict {
            Ok(()) => *counts.entry(fixture.class.clone()).or_default() += 1,
            Err(why) => {
                wrong.push(format!("{} ({}): {why}\n  {turn:?}", fixture.id, fixture.class))
            }
        }
    }
    eprintln!("{} streams decoded as they should: {counts:?}", counts.values().sum::<usize>());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    // A class that lost its streams would pass all the same.
    let counts: Vec<(&str, usize)> = counts.iter().map(|(class, n)| (class.as_str(), *n)).collect();
    assert_eq!(counts, [("error", 36), ("quirk", 23), ("tolerant", 39), ("wellformed", 82)]);
}
