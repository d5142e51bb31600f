//! Text that arrives in pieces, also where a piece ends between the two halves of a character.
//!
//! JSON can write half of a character above U+FFFF as an escape, and providers that cut strings by
//! UTF-16 do so: one delta ends in `\ud83d`, the next begins with `\ude00`. Such a half has no UTF-8;
//! it is kept in the three bytes that it would have (WTF-8) until the other half comes.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A JSON string in which lone halves are allowed.
#[derive(Debug, Default)]
pub(super) struct Piece<'a>(pub(super) Cow<'a, [u8]>);

impl<'de: 'a, 'a> Deserialize<'de> for Piece<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Cow<'de, [u8]>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_bytes<E: Error>(self, text: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }
            fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_vec()))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.as_bytes().to_vec()))
            }
        }
        deserializer.deserialize_bytes(Read).map(Self)
    }
}

/// Text put together from pieces.
#[derive(Debug, Default)]
pub(super) struct Pieces(Vec<u8>);

impl Pieces {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        if let (Some(high), Some((low, rest))) = (last_half(&self.0), first_half(piece)) {
            self.0.truncate(self.0.len() - 3);
            self.0.extend_from_slice(join(high, low).encode_utf8(&mut [0; 4]).as_bytes());
            self.0.extend_from_slice(rest);
        } else {
            self.0.extend_from_slice(piece);
        }
    }

    /// The text; halves that stayed alone are written as escapes, which inside of JSON say the same.
    pub(super) fn into_text(self) -> String {
        String::from_utf8(self.0).unwrap_or_else(|error| spell(error.as_bytes(), escape))
    }
}

/// Turns pieces into pieces that are text each: a half waits for the next piece.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    half: Option<u16>,
}

impl Deltas {
    pub(super) fn next(&mut self, piece: &[u8]) -> String {
        match (self.half, std::str::from_utf8(piece)) {
            (None, Ok(text)) => text.to_owned(),
            (Some(_), _) | (None, Err(_)) => self.mend(piece),
        }
    }

    fn mend(&mut self, piece: &[u8]) -> String {
        if piece.is_empty() {
            return String::new();
        }
        let mut whole = Pieces::default();
        if let Some(half) = self.half.take() {
            whole.push(&bytes_of(half));
        }
        whole.push(piece);
        if let Some(high) = last_half(&whole.0) {
            whole.0.truncate(whole.0.len() - 3);
            self.half = Some(high);
        }
        spell(&whole.0, replace)
    }
}

/// The high half at the end, if there is one.
fn last_half(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [.., 0xED, second @ 0xA0..=0xAF, third] => Some(half(*second, *third)),
        _ => None,
    }
}

/// The low half at the beginning, if there is one, and what follows it.
fn first_half(bytes: &[u8]) -> Option<(u16, &[u8])> {
    match bytes {
        [0xED, second @ 0xB0..=0xBF, third, rest @ ..] => Some((half(*second, *third), rest)),
        _ => None,
    }
}

fn half(second: u8, third: u8) -> u16 {
    0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F)
}

fn bytes_of(half: u16) -> [u8; 3] {
    let [high, low] = half.to_be_bytes();
    [0xED, 0x80 | ((high & 0x0F) << 2) | (low >> 6), 0x80 | (low & 0x3F)]
}

fn join(high: u16, low: u16) -> char {
    let code = 0x1_0000 + ((u32::from(high) & 0x3FF) << 10) + (u32::from(low) & 0x3FF);
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// UTF-8 with halves → text.
fn spell(bytes: &[u8], lone: fn(u16, &mut String)) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    loop {
        let valid = match std::str::from_utf8(rest) {
            Ok(all) => {
                text.push_str(all);
                return text;
            }
            Err(error) => error.valid_up_to(),
        };
        let (good, bad) = rest.split_at(valid);
        text.push_str(&String::from_utf8_lossy(good));
        rest = match bad {
            [0xED, second @ 0xA0..=0xBF, third, after @ ..] => {
                lone(half(*second, *third), &mut text);
                after
            }
            // Not reached: pieces come from text, and only halves are added to it.
            _ => {
                text.push(char::REPLACEMENT_CHARACTER);
                bad.get(1..).unwrap_or_default()
            }
        };
    }
}

fn escape(half: u16, text: &mut String) {
    text.push_str(&format!("\\u{half:04x}"));
}

fn replace(_: u16, text: &mut String) {
    text.push(char::REPLACEMENT_CHARACTER);
}
