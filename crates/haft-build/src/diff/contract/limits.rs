//! Caps on one call and on many.

use std::cmp::Ordering;

use haft_core::contract::{Limits, Rate};
use serde_json::{Number, Value, json};

use crate::diff::change::{Change, Impact};
use crate::diff::number;

pub(super) fn compare(old: &Limits, new: &Limits, out: &mut Vec<Change>) {
    let Limits { max_runtime_ms, max_result_bytes, rate, provider_key_window_ms } = old;
    let number = |n: Option<u64>| n.map(Number::from);
    out.extend(cap(
        "/limits/maxRuntimeMs",
        "limit `maxRuntimeMs`",
        number(*max_runtime_ms),
        number(new.max_runtime_ms),
    ));
    out.extend(cap(
        "/limits/maxResultBytes",
        "limit `maxResultBytes`",
        number(*max_result_bytes),
        number(new.max_result_bytes),
    ));
    out.extend(rates(*rate, new.rate));
    out.extend(window(*provider_key_window_ms, new.provider_key_window_ms));
}

/// How long a provider knows a key is between it and us.
fn window(old: Option<u64>, new: Option<u64>) -> Option<Change> {
    let said = |ms: Option<u64>| ms.unwrap_or(Limits::PROVIDER_KEY_WINDOW_MS);
    if old == new {
        return None;
    }
    let what = format!("limit `providerKeyWindowMs` changed from {} to {}", said(old), said(new));
    let value = |ms: Option<u64>| ms.map(|ms| json!(ms));
    let change = Change::new(Impact::Internal, "/limits/providerKeyWindowMs", what);
    Some(change.optional_values(value(old), value(new)))
}

/// An upper limit: none is the loosest.
pub(super) fn cap(
    pointer: impl Into<String>,
    name: &str,
    old: Option<Number>,
    new: Option<Number>,
) -> Option<Change> {
    let (impact, what) = match (&old, &new) {
        (None, None) => return None,
        (None, Some(new)) => (Impact::Breaking, format!("{name} of {new} added")),
        (Some(old), None) => (Impact::Compatible, format!("{name} of {old} removed")),
        (Some(old), Some(new)) => match number::order(new, old) {
            Ordering::Equal => return None,
            Ordering::Less => (Impact::Breaking, format!("{name} lowered from {old} to {new}")),
            Ordering::Greater => (Impact::Compatible, format!("{name} raised from {old} to {new}")),
        },
    };
    let value = |n: Option<Number>| n.map(Value::Number);
    Some(Change::new(impact, pointer, what).optional_values(value(old), value(new)))
}

fn rates(old: Option<Rate>, new: Option<Rate>) -> Option<Change> {
    let (impact, what) = match (old, new) {
        (None, None) => return None,
        (None, Some(new)) => (Impact::Breaking, format!("limit `rate` of {} added", said(new))),
        (Some(old), None) => (Impact::Compatible, format!("limit `rate` of {} removed", said(old))),
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) => {
            let step = format!("from {} to {}", said(old), said(new));
            // More calls in less time allows every rhythm that was allowed before.
            match (new.calls.cmp(&old.calls), new.window_ms.cmp(&old.window_ms)) {
                (Ordering::Greater | Ordering::Equal, Ordering::Less | Ordering::Equal) => {
                    (Impact::Compatible, format!("limit `rate` loosened {step}"))
                }
                (Ordering::Less | Ordering::Equal, Ordering::Greater | Ordering::Equal) => {
                    (Impact::Breaking, format!("limit `rate` tightened {step}"))
                }
                (Ordering::Less, Ordering::Less) | (Ordering::Greater, Ordering::Greater) => (
                    Impact::Breaking,
                    format!("limit `rate` changed {step}, which may refuse what was allowed"),
                ),
            }
        }
    };
    let value = |rate: Option<Rate>| rate.map(|rate| json!(rate));
    Some(Change::new(impact, "/limits/rate", what).optional_values(value(old), value(new)))
}

fn said(rate: Rate) -> String {
    format!("{} calls in {} ms", rate.calls, rate.window_ms)
}
