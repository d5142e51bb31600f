//! Instants that are written almost as RFC 3339 asks.
//!
//! Only the spelling is changed: a space or lower-case letters for `T` and `Z`, seconds left out,
//! an offset without its colon. What is not said is not made up: a time without an offset could be
//! anywhere on earth, and a date is not an instant.

use std::sync::LazyLock;

use haft_core::validator::{self, Validator};
use serde_json::{Value, json};

static DATE_TIME: LazyLock<Option<Validator>> =
    LazyLock::new(|| validator::compile(&json!({"format": "date-time"})).ok());

/// Whether the schema's own check takes this text.
pub(super) fn is_valid(text: &Value) -> bool {
    DATE_TIME.as_ref().is_some_and(|validator| validator.is_valid(text))
}

/// The same instant as RFC 3339 writes it.
pub(super) fn normalise(text: &str) -> Option<String> {
    let text = text.trim();
    let (date, rest) = text.split_at_checked(10)?;
    if !digits_as(date, "0000-00-00") {
        return None;
    }
    let clock = rest.strip_prefix(['T', 't', ' '])?;
    let (time, zone) = split_zone(clock)?;
    let whole = format!("{date}T{}{}", seconds(time.trim_end())?, offset(zone)?);
    is_valid(&Value::String(whole.clone())).then_some(whole)
}

fn split_zone(clock: &str) -> Option<(&str, &str)> {
    let at = clock.find(['Z', 'z', '+', '-'])?;
    clock.split_at_checked(at)
}

/// `09:30` → `09:30:00`; a fraction stays.
fn seconds(time: &str) -> Option<String> {
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (time, None),
    };
    match fraction {
        None if digits_as(clock, "00:00") => Some(format!("{clock}:00")),
        None if digits_as(clock, "00:00:00") => Some(clock.to_owned()),
        Some(part) if digits_as(clock, "00:00:00") && digits(part) => {
            Some(format!("{clock}.{part}"))
        }
        _ => None,
    }
}

/// `z` → `Z`, `+0200` and `+02` → `+02:00`.
fn offset(zone: &str) -> Option<String> {
    if zone.eq_ignore_ascii_case("z") {
        return Some("Z".to_owned());
    }
    let (sign, rest) = zone.split_at_checked(1)?;
    if digits_as(rest, "00:00") {
        Some(format!("{sign}{rest}"))
    } else if digits_as(rest, "0000") {
        let (hours, minutes) = rest.split_at_checked(2)?;
        Some(format!("{sign}{hours}:{minutes}"))
    } else if digits_as(rest, "00") {
        Some(format!("{sign}{rest}:00"))
    } else {
        None
    }
}

/// Whether a text has digits where the pattern has zeros and the same signs elsewhere.
fn digits_as(text: &str, pattern: &str) -> bool {
    let fits = |(byte, like): (u8, u8)| match like {
        b'0' => byte.is_ascii_digit(),
        sign => byte == sign,
    };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
