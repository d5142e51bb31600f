//! Escapes undone, with the way back: which part of the text each byte came from.
//!
//! A secret can be escaped in part and in either case, so its escaped spellings cannot be listed.
//! The text is unescaped instead and looked through once more.

use std::borrow::Cow;

use super::is_hidden;

/// The longest escape: two halves of a character, `\ud83d\ude00`.
pub(super) const LONGEST: usize = 12;

/// A text, or what it is without its escapes.
pub(super) struct Layer<'t> {
    pub(super) bytes: Cow<'t, [u8]>,
    /// For each byte where it begins and ends in the text; empty for the text itself.
    origin: Vec<(u32, u32)>,
}

/// A way of escaping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// `%2F`
    Percent,
    /// `a+b`, as forms write a space.
    Plus,
    /// `\u002f`, `\U0000002f`, `\/`, `\x2f`
    Backslash,
    /// `&amp;`, `&#47;`, `&#x2f;`
    Entity,
    /// `=2F`, and a line that goes on, as mails write them.
    Quoted,
    /// Line ends and tabs, which base64 in mails and keys is folded with, what a terminal obeys, and whatever else
    /// cannot be seen: texts of two bytes a letter that are read as one byte each have a NUL beside each letter.
    Fold,
}

impl Escape {
    pub(super) const ALL: [Self; 6] =
        [Self::Percent, Self::Plus, Self::Backslash, Self::Entity, Self::Quoted, Self::Fold];

    fn begins(self, byte: u8) -> bool {
        match self {
            Self::Percent => byte == b'%',
            Self::Plus => byte == b'+',
            Self::Backslash => byte == b'\\',
            Self::Entity => byte == b'&',
            Self::Quoted => byte == b'=',
            // What cannot be seen begins with one of these.
            Self::Fold => {
                matches!(byte, 0..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xee | 0xef | 0xf0 | 0xf3..)
            }
        }
    }

    /// What stands at the front of the bytes: how many of them, and what they mean.
    fn read(self, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        match self {
            Self::Percent if bytes.get(1) == Some(&b'u') => {
                Some((6, utf8(code(bytes.get(2..6)?, 16)?)?))
            }
            Self::Percent => Some((3, vec![u8::try_from(code(bytes.get(1..3)?, 16)?).ok()?])),
            Self::Plus => Some((1, vec![b' '])),
            Self::Backslash => backslash(bytes),
            Self::Entity => entity(bytes),
            Self::Quoted => quoted(bytes),
            Self::Fold => Some((unseen(bytes)?, Vec::new())),
        }
    }
}

impl<'t> Layer<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { bytes: Cow::Borrowed(text.as_bytes()), origin: Vec::new() }
    }

    /// Where a range of bytes came from.
    pub(super) fn origin(&self, start: usize, end: usize) -> (usize, usize) {
        let first = self.origin.get(start);
        let last = end.checked_sub(1).and_then(|last| self.origin.get(last));
        match (first, last) {
            (Some((start, _)), Some((_, end))) => (*start as usize, *end as usize),
            _ => (start, end),
        }
    }

    /// Where what ends an escape begins something that is looked for, with what comes next. (Of escapes that end in
    /// letters or digits: no secret begins with the `;` of another.)
    pub(super) fn inside(
        &self,
        escape: Escape,
        begins: impl Fn(&[u8]) -> bool,
    ) -> impl Iterator<Item = usize> {
        let coded = matches!(escape, Escape::Percent | Escape::Backslash | Escape::Quoted);
        let starts = if coded { self.bytes.len() } else { 0 };
        (0..starts)
            .filter(move |at| self.bytes.get(*at).is_some_and(|byte| escape.begins(*byte)))
            .flat_map(move |at| {
                let rest = self.bytes.get(at..).unwrap_or_default();
                let length = escape.read(rest).map_or(0, |(length, _)| length);
                let begun = |from: &usize| {
                    let next = rest.get(length..).unwrap_or_default().iter().take(2);
                    let plain = next.take_while(|byte| !escape.begins(**byte)).count();
                    rest.get(*from..length + plain).is_some_and(&begins)
                };
                (2..length).filter(begun).map(|from| at + from).collect::<Vec<_>>()
            })
    }

    /// So many bytes of it, from there on.
    pub(super) fn from(&self, at: usize, most: usize) -> Layer<'_> {
        let end = self.bytes.len().min(at.saturating_add(most));
        let origin = |at| {
            let (start, end) = self.origin(at, at + 1);
            (u32::try_from(start).unwrap_or(u32::MAX), u32::try_from(end).unwrap_or(u32::MAX))
        };
        let bytes = Cow::Borrowed(self.bytes.get(at..end).unwrap_or_default());
        Layer { bytes, origin: (at..end).map(origin).collect() }
    }

    /// The layer without one kind of escape, if there is any. Where `literal` says so of
    /// what follows the first byte of one, it is none.
    pub(super) fn undo(
        &self,
        escape: Escape,
        literal: impl Fn(&[u8]) -> bool,
    ) -> Option<Layer<'static>> {
        self.bytes.iter().any(|byte| escape.begins(*byte)).then_some(())?;
        let mut plain = Vec::with_capacity(self.bytes.len());
        let mut origins = Vec::with_capacity(self.bytes.len());
        let (mut at, mut changed) = (0, false);
        while let Some(byte) = self.bytes.get(at) {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let read = escape.begins(*byte).then(|| escape.read(rest)).flatten();
            let read = read.filter(|(length, _)| {
                !rest.get(1..*length).is_some_and(|after| !after.is_empty() && literal(after))
            });
            changed |= read.is_some();
            let (length, meant) = read.unwrap_or_else(|| (1, vec![*byte]));
            let (start, end) = self.origin(at, at + length);
            let origin = (u32::try_from(start).ok()?, u32::try_from(end).ok()?);
            origins.extend(meant.iter().map(|_| origin));
            plain.extend(meant);
            at += length;
        }
        changed.then_some(Layer { bytes: Cow::Owned(plain), origin: origins })
    }
}

fn code(digits: &[u8], radix: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    let all = text.chars().all(|digit| digit.is_digit(radix));
    all.then(|| u32::from_str_radix(text, radix).ok()).flatten()
}

fn quoted(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    match bytes.get(1..3) {
        Some(b"\r\n") => Some((3, Vec::new())),
        _ if bytes.get(1) == Some(&b'\n') => Some((2, Vec::new())),
        Some(digits) => Some((3, vec![u8::try_from(code(digits, 16)?).ok()?])),
        None => None,
    }
}

/// The length of a character that nobody sees, or of what a terminal obeys: it takes nothing away from what stands
/// around it.
fn unseen(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.first()? {
        0x1b => return Some(sequence(bytes)),
        ..0x80 => return Some(1),
        ..0xe0 => 2,
        ..0xf0 => 3,
        _ => 4,
    };
    let letter = std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()?;
    is_hidden(letter).then_some(length)
}

/// `ESC [ … letter`, `ESC ] … BEL`, `ESC ( B`, `ESC x`: what a terminal obeys. Of one without an end the sign alone, and
/// another sign begins another.
fn sequence(bytes: &[u8]) -> usize {
    const MOST: usize = 256;
    let rest = bytes.get(2..).unwrap_or_default();
    let until = |ends: fn(u8) -> bool| rest.iter().take(MOST).position(|byte| ends(*byte));
    let end = match bytes.get(1) {
        Some(b'[') => until(|byte| !matches!(byte, b'0'..=b'?' | b' '..=b'/')),
        Some(b']' | b'P' | b'^' | b'_' | b'X') => until(|byte| matches!(byte, 7 | 0x1b | b'\\')),
        Some(b' '..=b'/') => Some(0),
        Some(0x1b) | None => None,
        Some(_) => return 2,
    };
    match end.map(|end| (end, rest.get(end))) {
        Some((end, Some(0x1b))) => end + 2,
        Some((end, Some(_))) => end + 3,
        Some((_, None)) | None => 1,
    }
}

fn utf8(code: u32) -> Option<Vec<u8>> {
    char::from_u32(code).map(|letter| letter.to_string().into_bytes())
}

fn backslash(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let one = |byte: u8| Some((2, vec![byte]));
    match *bytes.get(1)? {
        same @ (b'"' | b'\\' | b'/' | b'\'') => one(same),
        b'b' => one(8),
        b'f' => one(12),
        b'n' => one(b'\n'),
        b'r' => one(b'\r'),
        b't' => one(b'\t'),
        b'x' => Some((4, vec![u8::try_from(code(bytes.get(2..4)?, 16)?).ok()?])),
        b'0'..=b'3' => Some((4, vec![u8::try_from(code(bytes.get(1..4)?, 8)?).ok()?])),
        b'U' => Some((10, utf8(code(bytes.get(2..10)?, 16)?)?)),
        b'u' if bytes.get(2) == Some(&b'{') => {
            let end = bytes.iter().take(LONGEST).position(|byte| *byte == b'}')?;
            Some((end + 1, utf8(code(bytes.get(3..end)?, 16)?)?))
        }
        b'u' => {
            let first = code(bytes.get(2..6)?, 16)?;
            let second = || {
                let pair = bytes.get(6..8)? == b"\\u";
                pair.then(|| code(bytes.get(8..12)?, 16)).flatten()
            };
            match (first, second()) {
                (0xd800..0xdc00, Some(second @ 0xdc00..0xe000)) => {
                    Some((12, utf8(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?))
                }
                (first, _) => Some((6, utf8(first)?)),
            }
        }
        _ => None,
    }
}

fn entity(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let Some(end) = bytes.iter().take(12).position(|byte| *byte == b';') else {
        return unended(bytes);
    };
    let name = bytes.get(1..end)?;
    let meant = match name {
        b"amp" => 38,
        b"lt" => 60,
        b"gt" => 62,
        b"quot" => 34,
        b"apos" => 39,
        b"nbsp" => 160,
        [b'#', b'x' | b'X', digits @ ..] if code(digits, 16).is_some() => code(digits, 16)?,
        [b'#', digits @ ..] if code(digits, 10).is_some() => code(digits, 10)?,
        _ => return unended(bytes),
    };
    Some((end + 1, utf8(meant)?))
}

/// `&#115`, whose end browsers do without.
fn unended(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let (from, radix) = match bytes {
        [b'&', b'#', b'x' | b'X', ..] => (3, 16),
        [b'&', b'#', ..] => (2, 10),
        _ => return None,
    };
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let count = bytes.get(from..)?.iter().take(7).take_while(is_digit).count();
    Some((from + count, utf8(code(bytes.get(from..from + count)?, radix)?)?))
}
