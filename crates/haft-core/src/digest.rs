//! Content digests: SHA-256 over canonical JSON (RFC 8785) or over bytes.

mod canonical;

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A full SHA-256, written `sha256:<64 hex digits>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of raw bytes.
    ///
    /// ```
    /// let digest = haft_core::Digest::of_bytes(b"haft");
    /// assert!(digest.to_string().starts_with("sha256:"));
    /// assert_eq!(digest.hex().len(), 64);
    /// ```
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_raw(&Sha256::digest(bytes).into())
    }

    /// The digest of a value as JSON, whatever the order of its keys.
    ///
    /// ```
    /// use haft_core::Digest;
    /// use serde_json::json;
    /// assert_eq!(Digest::of_json(&json!({"a": 1, "b": 2})), Digest::of_json(&json!({"b": 2, "a": 1.0})));
    /// // A tuple is a list.
    /// let none: Option<String> = None;
    /// assert_eq!(Digest::of_json(&("a", 1, none)), Digest::of_json(&json!(["a", 1, null])));
    /// ```
    #[must_use]
    pub fn of_json(value: &(impl Serialize + ?Sized)) -> Self {
        Self::of_bytes(canonical(value).as_bytes())
    }

    /// A digest from its 32 bytes.
    #[must_use]
    pub fn from_raw(bytes: &[u8; 32]) -> Self {
        let mut text = String::with_capacity(PREFIX.len() + 64);
        text.push_str(PREFIX);
        push_hex(&mut text, bytes);
        Self(text)
    }

    /// Its 32 bytes: what stores keep.
    ///
    /// ```
    /// use haft_core::Digest;
    /// let digest = Digest::of_bytes(b"haft");
    /// assert_eq!(Digest::from_raw(&digest.raw()), digest);
    /// ```
    #[must_use]
    pub fn raw(&self) -> [u8; 32] {
        raw(self.hex())
    }

    /// The 64 hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        self.0.get(PREFIX.len()..).unwrap_or_default()
    }

    /// The first eight digits: what people compare by eye.
    #[must_use]
    pub fn short(&self) -> &str {
        self.hex().get(..8).unwrap_or_default()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hex = text.strip_prefix(PREFIX).unwrap_or_default();
        if is_hex(hex) {
            Ok(Self(text))
        } else {
            Err(format!("`{text}` is not a digest; write `sha256:` and 64 lowercase hex digits"))
        }
    }
}

/// The digest of raw bytes, as bytes: for whoever compares very many.
#[must_use]
pub fn raw_of(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The bytes of a digest's text, if it is one.
///
/// ```
/// use haft_core::digest::{Digest, parse_raw};
/// let digest = Digest::of_bytes(b"haft");
/// assert_eq!(parse_raw(&digest.to_string()), Some(digest.raw()));
/// assert_eq!(parse_raw(&digest.to_string().to_uppercase()), None);
/// ```
#[must_use]
pub fn parse_raw(text: &str) -> Option<[u8; 32]> {
    let hex = text.strip_prefix(PREFIX)?;
    is_hex(hex).then(|| raw(hex))
}

fn is_hex(hex: &str) -> bool {
    hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn raw(hex: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = pair.iter().fold(0, |value, digit| value << 4 | nibble(*digit));
    }
    bytes
}

/// Canonical JSON (RFC 8785): the one spelling of a value that digests are taken over.
///
/// ```
/// use serde_json::json;
/// assert_eq!(haft_core::digest::canonical(&json!({"b": 1.0, "a": "é"})), r#"{"a":"é","b":1}"#);
/// ```
#[must_use]
pub fn canonical(value: &(impl Serialize + ?Sized)) -> String {
    let mut text = Vec::with_capacity(256);
    // A `Value`, and a list of such as keys are made of, cannot fail to be written. What can (a map whose
    // names are no texts) has no place here: the empty text would fail every digest check.
    let written = write_canonical(&mut text, value).ok();
    written.and_then(|()| String::from_utf8(text).ok()).unwrap_or_default()
}

/// The same, put behind what was written before.
///
/// # Errors
///
/// It cannot be written as JSON.
pub fn write_canonical(
    text: &mut Vec<u8>,
    value: &(impl Serialize + ?Sized),
) -> Result<(), serde_json::Error> {
    canonical::write(text, value)
}

/// Lowercase hexadecimal.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push_hex(&mut text, bytes);
    text
}

/// Lowercase hexadecimal, put behind a text. Eight bytes at a time: every call writes some hundred
/// digits.
pub fn push_hex(text: &mut String, bytes: &[u8]) {
    for some in bytes.chunks(8) {
        let mut digits = [0; 16];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(some) {
            if let [high, low] = pair {
                (*high, *low) = (digit(byte >> 4), digit(byte & 0xf));
            }
        }
        let written = digits.get(..2 * some.len()).unwrap_or_default();
        text.push_str(std::str::from_utf8(written).unwrap_or_default());
    }
}

/// The digit of a number below sixteen, without a branch.
fn digit(nibble: u8) -> u8 {
    let letter = u8::from(nibble > 9) * (b'a' - b'9' - 1);
    b'0' + nibble + letter
}

/// The value of a digit that was checked when the digest was made.
fn nibble(digit: u8) -> u8 {
    match digit {
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.wrapping_sub(b'0'),
    }
}
