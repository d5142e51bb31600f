//! What all structures have in common: three doors, one strict check behind them.

use serde::Deserializer;
use serde::de::Error as _;
use serde_json::Value;

use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::strict::{self, Limits, MAX_DEPTH};
use crate::{depth, gather, rule};

/// A structure that can be read from a JSON value.
pub(crate) trait Structure: Sized {
    /// Reads as much as can be read, and reports whatever is wrong on the way.
    fn read(value: Value, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported>;

    /// The name of the function that the place at `pointer` belongs to.
    fn function_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str>;
}

pub(crate) fn parse<T: Structure>(text: &str, limits: Limits) -> Result<T, Errors> {
    let mut report = Report::default();
    match strict::read(text, limits, &mut report) {
        Ok(value) => settle(value, report),
        Err(reported) => report.finish(Err(reported)),
    }
}

pub(crate) fn from_value<T: Structure>(value: Value) -> Result<T, Errors> {
    settle(value, Report::default())
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Structure,
    D: Deserializer<'de>,
{
    let mut report = Report::default();
    let value = gather::value(deserializer, &mut report)?;
    settle(value, report).map_err(D::Error::custom)
}

fn settle<T: Structure>(value: Value, mut report: Report) -> Result<T, Errors> {
    let too_deep = depth::first_below(&value, &Path::Root, MAX_DEPTH);
    if let Some(pointer) = too_deep {
        let kind = rule::Shape::TooDeep { limit: MAX_DEPTH }.into();
        let reported = report.push(pointer, kind, None);
        report.attribute(|pointer| T::function_at(&value, pointer));
        depth::dismantle(value);
        return report.finish(Err(reported));
    }
    report.attribute(|pointer| T::function_at(&value, pointer));
    let read = T::read(value, &Path::Root, &mut report);
    report.finish(read)
}

/// Gives a [`Structure`] its public doors.
macro_rules! doors {
    ($structure:ident) => {
        impl $structure {
            /// Reads JSON text, within the usual [limits](crate::strict::Limits).
            ///
            /// # Errors
            ///
            /// Everything that is wrong with the text and with what it says.
            pub fn parse(text: &str) -> Result<Self, $crate::Errors> {
                Self::parse_within(text, $crate::strict::Limits::default())
            }

            /// Reads JSON text within limits of your own.
            ///
            /// # Errors
            ///
            /// Everything that is wrong with the text and with what it says.
            pub fn parse_within(
                text: &str,
                limits: $crate::strict::Limits,
            ) -> Result<Self, $crate::Errors> {
                $crate::structure::parse(text, limits)
            }

            /// Reads a JSON value that is already in memory.
            ///
            /// # Errors
            ///
            /// Everything that is wrong with the value.
            pub fn from_value(value: ::serde_json::Value) -> Result<Self, $crate::Errors> {
                $crate::structure::from_value(value)
            }
        }

        /// As strict as `from_value`, with all errors in one message.
        ///
        /// Numbers arrive as the format's own reader took them; `parse` sees them as written.
        impl<'de> ::serde::Deserialize<'de> for $structure {
            fn deserialize<D: ::serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::structure::deserialize(from)
            }
        }
    };
}

pub(crate) use doors;
