//! Numbers, decided on from what is written rather than from what it rounds to.

use serde_json::Number;

use super::Problem;
use super::cursor::Cursor;
use crate::path::Path;
use crate::report::Reported;
use crate::words::excerpt;

/// Below this every whole number is a double, and every double that is whole has a shortest
/// spelling that is exact; from here on neither holds.
pub(crate) const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// As many significant digits every double keeps, however they are read.
const ALWAYS_KEPT: usize = 15;

/// More significant digits no double has.
const MOST_DIGITS: usize = 767;

/// Reads a number; a minus or a digit is next.
///
/// A number that is well-formed but cannot be kept is reported and read as zero.
pub(super) fn read(cursor: &mut Cursor<'_, '_>, path: &Path<'_>) -> Result<Number, Reported> {
    let start = cursor.at();
    let is_float = skip(cursor, path)?;
    let text = cursor.since(start);
    let number = if is_float { float(text) } else { integer(text) };
    Ok(number.unwrap_or_else(|problem| {
        cursor.problem(path, start, problem);
        Number::from(0)
    }))
}

/// Steps over a number; says whether it has a point or an exponent.
fn skip(cursor: &mut Cursor<'_, '_>, path: &Path<'_>) -> Result<bool, Reported> {
    cursor.eat(b'-');
    if !cursor.eat(b'0') {
        digits(cursor, path)?;
    } else if cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return Err(cursor.unexpected(path, "no digit after a leading zero"));
    }
    let point = cursor.eat(b'.');
    if point {
        digits(cursor, path)?;
    }
    let exponent = cursor.eat(b'e') || cursor.eat(b'E');
    if exponent {
        let _sign = cursor.eat(b'+') || cursor.eat(b'-');
        digits(cursor, path)?;
    }
    Ok(point || exponent)
}

fn digits(cursor: &mut Cursor<'_, '_>, path: &Path<'_>) -> Result<(), Reported> {
    match cursor.eat_while(|byte| byte.is_ascii_digit()) {
        0 => Err(cursor.unexpected(path, "a digit")),
        _ => Ok(()),
    }
}

fn integer(text: &str) -> Result<Number, Problem> {
    if text == "-0" {
        return float(text);
    }
    let signed = text.parse::<i64>().map(Number::from);
    signed
        .or_else(|_| text.parse::<u64>().map(Number::from))
        .map_err(|_| Problem::IntegerTooLarge { number: excerpt(text) })
}

fn float(text: &str) -> Result<Number, Problem> {
    let too_large = || Problem::NumberTooLarge { number: excerpt(text) };
    // The grammar that we just checked is part of what `f64` reads.
    let nearest = text.parse::<f64>().map_err(|_| too_large())?;
    let number = Number::from_f64(nearest).ok_or_else(too_large)?;
    let whole = nearest.fract() == 0.0 && nearest.abs() < EXACT_BELOW;
    let is_other = whole && whole_magnitude(text) != Some(nearest.abs() as u64);
    // With a point or an exponent, a text of one byte more has no more digits than are always kept.
    if is_other || text.len() > ALWAYS_KEPT + 1 && !is_kept(text, nearest) {
        let (number, nearest) = (excerpt(text), number.to_string());
        return Err(Problem::NumberInexact { number, nearest });
    }
    Ok(number)
}

/// Whether the double says what is written: rounded to as many digits, or in its shortest spelling, which
/// is nearly always the same. So what programs write of their doubles is kept, however many digits they give.
fn is_kept(text: &str, nearest: f64) -> bool {
    let written = significant(text);
    let others = written.len().saturating_sub(1);
    written.len() <= ALWAYS_KEPT
        || significant(&format!("{nearest:e}")) == written
        || written.len() <= MOST_DIGITS && significant(&format!("{nearest:.others$e}")) == written
}

/// The digits of a number without the zeros around them. Two that are nearly alike and have the same digits are
/// the same number.
fn significant(text: &str) -> String {
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// The magnitude of a written number if it is exactly whole and fits.
fn whole_magnitude(text: &str) -> Option<u64> {
    let unsigned = text.trim_start_matches('-');
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{after}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    let trailing = digits.len() - digits.trim_end_matches('0').len();
    let places = i64::try_from(after.len()).ok()? - i64::try_from(trailing).ok()?;
    let zeros = u32::try_from(exponent.parse::<i64>().ok()?.checked_sub(places)?).ok()?;
    significant.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(zeros)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_number_is_whole_or_it_is_not() {
        for (text, whole) in [
            ("1.0", Some(1)),
            ("-1.0", Some(1)),
            ("1e3", Some(1000)),
            ("1.50e1", Some(15)),
            ("1500e-2", Some(15)),
            ("0.00", Some(0)),
            ("0e99999999999999999999", Some(0)),
            ("100.00e-2", Some(1)),
            ("0.0001e4", Some(1)),
            ("1.5", None),
            ("1e-1", None),
            ("1e-99999999999999999999", None),
            ("1.00000000000000000001", None),
            ("9007199254740991.0", Some(9_007_199_254_740_991)),
            ("1e30", None),
        ] {
            assert_eq!(whole_magnitude(text), whole, "{text}");
        }
    }
}
