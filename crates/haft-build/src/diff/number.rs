//! Numbers and values as JSON Schema compares them: `1` and `1.0` are the same.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Which number is larger. Whole numbers are compared exactly, whatever their size.
pub(super) fn order(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a
            .as_f64()
            .zip(b.as_f64())
            .and_then(|(a, b)| a.partial_cmp(&b))
            .unwrap_or(Ordering::Equal),
    }
}

/// Whether two values are the same to a validator.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => order(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// The number as a whole one, where it is one: `4.0` is 4.
pub(super) fn whole(number: &Number) -> Option<i128> {
    /// Beyond this, neighbouring floats are more than one apart.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_i128().or_else(|| {
        let float = number.as_f64().filter(|f| f.fract() == 0.0 && f.abs() < EXACT)?;
        format!("{float:.0}").parse().ok()
    })
}
