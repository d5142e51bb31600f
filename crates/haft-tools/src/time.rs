//! `get_current_time` and `format_datetime`: moments, zones by name, and how people write them.

mod locale;
mod zone;

use haft_core::contract::Capability;
use haft_core::{ErrorKind, ToolError};
use haft_exec::native::Context;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use locale::Locale;
pub(crate) use zone::find as zone;

/// What `get_current_time` is asked.
#[derive(Deserialize)]
pub(crate) struct Now {
    timezone: String,
}

/// What it answers.
#[derive(Serialize)]
pub(crate) struct Told {
    iso: String,
    date: String,
    time: String,
    weekday: &'static str,
    timezone: String,
    utc_offset: String,
    epoch_ms: i64,
}

/// Tells the time of the clock that the call was handed.
pub(crate) async fn now(asked: Now, context: Context) -> Result<Told, ToolError> {
    let zone = zone::find(&asked.timezone)?;
    let clock = context.call(Capability::Clock, "now", json!({})).await?;
    let epoch_ms = clock.get("epochMs").and_then(Value::as_i64);
    let moment = epoch_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let (Some(epoch_ms), Some(moment)) = (epoch_ms, moment) else {
        return Err(ToolError::new(ErrorKind::Internal, "the clock does not tell the time"));
    };
    let there = moment.to_zoned(zone);
    Ok(Told {
        iso: iso(&there),
        date: there.strftime("%Y-%m-%d").to_string(),
        time: there.strftime("%H:%M:%S").to_string(),
        weekday: Locale::EnGb.weekday(there.weekday()),
        timezone: zone::name(&there),
        utc_offset: offset(&there),
        epoch_ms,
    })
}

/// What `format_datetime` is asked.
#[derive(Deserialize)]
pub(crate) struct Format {
    datetime: String,
    timezone: String,
    locale: Locale,
    style: Style,
    parts: Parts,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Style {
    Long,
    Short,
    Iso,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Parts {
    DateTime,
    Date,
    Time,
}

/// What it answers.
#[derive(Serialize)]
pub(crate) struct Written {
    text: String,
    iso: String,
    timezone: String,
    utc_offset: String,
}

/// Writes a moment.
pub(crate) async fn format(asked: Format, _: Context) -> Result<Written, ToolError> {
    let zone = zone::find(&asked.timezone)?;
    let moment: Timestamp = asked.datetime.parse().map_err(|_| {
        let message = format!("`{}` is not a moment with an offset", asked.datetime);
        ToolError::new(ErrorKind::InvalidArguments, message)
            .suggest("write it as 2026-01-15T12:05:09Z")
    })?;
    let there = moment.to_zoned(zone);
    let text = match (asked.style, asked.parts) {
        (Style::Iso, Parts::DateTime) => iso(&there),
        (Style::Iso, Parts::Date) => there.strftime("%Y-%m-%d").to_string(),
        (Style::Iso, Parts::Time) => format!("{}{}", there.strftime("%H:%M:%S"), offset(&there)),
        (Style::Long, Parts::Date) => asked.locale.long_date(&there),
        (Style::Short, Parts::Date) => asked.locale.short_date(&there),
        (Style::Long | Style::Short, Parts::Time) => asked.locale.time(&there),
        (Style::Long, Parts::DateTime) => asked.locale.long(&there),
        (Style::Short, Parts::DateTime) => {
            format!("{}, {}", asked.locale.short_date(&there), asked.locale.time(&there))
        }
    };
    Ok(Written { text, iso: iso(&there), timezone: zone::name(&there), utc_offset: offset(&there) })
}

/// To the second, with the offset in digits, also for UTC.
fn iso(there: &Zoned) -> String {
    format!("{}{}", there.strftime("%Y-%m-%dT%H:%M:%S"), offset(there))
}

/// Hours and minutes. Before there were zones, clocks differed by seconds; those are cut off.
fn offset(there: &Zoned) -> String {
    let seconds = there.offset().seconds();
    let sign = if seconds < 0 { '-' } else { '+' };
    let minutes = seconds.abs() / 60;
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}
