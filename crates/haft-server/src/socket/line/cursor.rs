//! Where a client goes on.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// Where a frame stands: on which line, and which frame of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Cursor {
    pub(super) line: u64,
    pub(super) frame: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.{}", self.line, self.frame)
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (line, frame) = text.split_once('.')?;
            Some(Self { line: u64::from_str_radix(line, 16).ok()?, frame: frame.parse().ok()? })
        };
        read().ok_or("`after` is the `cursor` of a frame")
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
