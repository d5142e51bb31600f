//! Names of functions.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::fields;
use crate::path::Path;
use crate::report::{Errors, Report, Reported};
use crate::rule::Declaration;
use crate::words::excerpt;

/// The longest name; all its characters are ASCII.
const LONGEST: usize = 64;

/// The pattern in the notation of JSON Schema.
pub(crate) const PATTERN: &str = "^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$";

/// The name of a function: a letter or `_`, then up to 63 letters, digits, `_` and `-`, all ASCII.
///
/// Names that differ in case differ.
///
/// ```
/// use haft_adm::FunctionName;
///
/// let name: FunctionName = "send-email_2".parse()?;
/// assert_eq!(name.as_str(), "send-email_2");
/// assert!("2send".parse::<FunctionName>().is_err());
/// # Ok::<(), haft_adm::Errors>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionName(pub(crate) String);

impl FunctionName {
    /// Takes a name that follows the pattern.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn new(name: impl Into<String>) -> Result<Self, Errors> {
        let mut report = Report::default();
        let read = Self::check(name.into(), &Path::Root, &mut report);
        report.finish(read)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn read(
        value: Value,
        path: &Path<'_>,
        report: &mut Report,
    ) -> Result<Self, Reported> {
        Self::check(fields::text(value, path, report)?, path, report)
    }

    fn check(name: String, path: &Path<'_>, report: &mut Report) -> Result<Self, Reported> {
        let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match starts && name.len() <= LONGEST && name.bytes().all(goes_on) {
            true => Ok(FunctionName(name)),
            false => Err(report.add(path, Declaration::NameMalformed { name: excerpt(&name) })),
        }
    }
}

impl FromStr for FunctionName {
    type Err = Errors;

    fn from_str(name: &str) -> Result<Self, Errors> {
        Self::new(name)
    }
}

impl AsRef<str> for FunctionName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FunctionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for FunctionName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FunctionName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(from)?).map_err(D::Error::custom)
    }
}
