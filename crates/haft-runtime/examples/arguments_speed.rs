//! What reading a call's arguments costs, beside the bare crates that it is made of.
//!
//! `cargo run --release -p haft-runtime --example arguments_speed`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement, run by hand"
)]

use std::hint::black_box;
use std::time::Instant;

use haft_adm::strict::{Limits, parse};
use haft_core::call::RawArguments;
use haft_core::contract::{Arguments, Fraction, Leniency, Mode};
use haft_runtime::arguments::Reader;
use serde_json::Value;

const CONTRACT: &str = include_str!("../../../toolsets/studio/tools/kb-search/schema.json");
const TYPICAL: &str = r#"{"query": "harbour festival lighting budget", "namespace": "studio", "filters": {"type": "project", "tags": ["lighting", "active"]}, "top_k": 5}"#;
const FULL: &str = r#"{"query": "harbour festival lighting budget", "namespace": "studio", "filters": {"type": "project", "tags": ["lighting", "active"]}, "top_k": 5, "return_fields": ["snippet", "url"], "include_snippets": true}"#;
const BROKEN: &str = r#"{"query": "harbour festival lighting budget", "namespace": "Studio", "filters": "{\"type\": \"project\"}", "top_k": "5"}"#;

/// Microseconds of one run: the best of many rounds, since the machine is shared.
fn time(mut work: impl FnMut()) -> f64 {
    const ROUND: u32 = 2_000;
    let round = |work: &mut dyn FnMut()| {
        let started = Instant::now();
        (0..ROUND).for_each(|_| work());
        started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUND)
    };
    (0..60).map(|_| round(&mut work)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let contract: Value = serde_json::from_str(CONTRACT).unwrap();
    let schema = &contract["parameters"];
    let bare = jsonschema::validator_for(schema).unwrap();
    let rules = Arguments { mode: Leniency::Lenient, fraction: Fraction::Refuse };
    let modes = serde_json::from_value(contract["modes"].clone()).unwrap();
    let reader = Reader::new(schema, rules, &modes).unwrap();
    for (name, text) in [("two defaults to fill", TYPICAL), ("nothing to fill", FULL)] {
        let raw = RawArguments::from(text);
        let alone = time(|| {
            let value: Value = serde_json::from_str(black_box(text)).unwrap();
            assert!(bare.is_valid(&value));
        });
        let strict = time(|| drop(black_box(parse(black_box(text), Limits::default()))));
        let ours = time(|| drop(black_box(reader.read(black_box(&raw), Mode::Text)).unwrap()));
        let voice = time(|| drop(black_box(reader.read(black_box(&raw), Mode::Voice)).unwrap()));
        println!("{name}: serde_json + jsonschema {alone:.2} µs; strict parse {strict:.2} µs;");
        println!("  read {ours:.2} µs ({:.2}×); read in voice {voice:.2} µs", ours / alone);
    }
    let raw = RawArguments::from(BROKEN);
    let ours = time(|| drop(black_box(reader.read(black_box(&raw), Mode::Text)).unwrap()));
    println!("three repairs: read {ours:.2} µs");
}
