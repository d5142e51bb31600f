//! When a JSON number is an INTEGER.

use serde_json::{Number, Value};

use crate::strict::EXACT_BELOW;

/// The end of the 64-bit range, as the double that comes first beyond it.
const END: f64 = 9_223_372_036_854_775_808.0;

pub(crate) enum Integer {
    Exact(i64),
    Fraction,
    OutOfRange,
    /// Whole and within range, but floating: the digits that were written may have been others.
    Inexact,
}

pub(crate) fn of(number: &Number) -> Integer {
    if let Some(integer) = number.as_i64() {
        return Integer::Exact(integer);
    }
    if number.is_u64() {
        return Integer::OutOfRange;
    }
    match number.as_f64() {
        Some(float) if float.fract() != 0.0 => Integer::Fraction,
        Some(float) if float.abs() < EXACT_BELOW => Integer::Exact(float as i64),
        Some(float) if (-END..END).contains(&float) => Integer::Inexact,
        Some(_) | None => Integer::OutOfRange,
    }
}

/// The number that an INTEGER argument stands for, whichever way it was written.
///
/// `Value::as_i64` does not see that `3.0` is one; models whose numbers are all doubles write
/// it so.
///
/// ```
/// use haft_adm::integer_value;
/// use serde_json::json;
///
/// assert_eq!(integer_value(&json!(3)), Some(3));
/// assert_eq!(integer_value(&json!(3.0)), Some(3));
/// assert_eq!(integer_value(&json!(3.5)), None);
/// assert_eq!(integer_value(&json!(1e18)), None);
/// assert_eq!(integer_value(&json!(9_223_372_036_854_775_808_u64)), None);
/// ```
pub fn integer_value(value: &Value) -> Option<i64> {
    match of(value.as_number()?) {
        Integer::Exact(integer) => Some(integer),
        Integer::Fraction | Integer::OutOfRange | Integer::Inexact => None,
    }
}
