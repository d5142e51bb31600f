//! A call without effects through the whole path, with the store in memory, beside bare validation.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use haft_core::Caller;
use haft_core::contract::SideEffectPolicy;
use haft_core::port::Invoke as _;
use haft_store::Memory;
use serde_json::Value;

use haft_bench::fixture::{Answer, Fixture};
use crate::report::repeat;

pub fn schema(fixture: &Fixture, time: Duration) {
    let validator = jsonschema::validator_for(&fixture.schema).unwrap();
    let value: Value = serde_json::from_str(&fixture.arguments).unwrap();
    let alone = async || assert!(validator.is_valid(black_box(&value)));
    looped(repeat("jsonschema crate, validate", time, alone));
    let read = async || {
        let value: Value = serde_json::from_str(black_box(&fixture.arguments)).unwrap();
        assert!(validator.is_valid(&value));
    };
    looped(repeat("jsonschema crate, parse and validate", time, read));
}

pub fn ten_tools(fixture: &Fixture, time: Duration) {
    path("haft, pure, 10 tools", 10, Answer::Text, fixture, time);
}

pub fn ten_thousand_tools(fixture: &Fixture, time: Duration) {
    path("haft, pure, 10,000 tools", 10_000, Answer::Text, fixture, time);
}

pub fn checked(fixture: &Fixture, time: Duration) {
    path("haft, pure, JSON answer checked", 10, Answer::Checked, fixture, time);
}

fn path(name: &str, tools: usize, answer: Answer, fixture: &Fixture, time: Duration) {
    let store = Arc::new(Memory::new());
    let runtime = fixture.runtime(tools, SideEffectPolicy::Pure, answer, store);
    let caller = Caller::agent("default", "default");
    let once = async || runtime.invoke(fixture.call(&caller)).await;
    looped(async {
        let first = once().await;
        assert!(first.result.is_ok(), "{first:?}");
        repeat(name, time, async || drop(black_box(once().await))).await;
    });
}

/// A program has a runtime already: entering one is not part of a call.
fn looped(what: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(what);
}
