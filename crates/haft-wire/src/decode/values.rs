//! JSON objects one after the other, from bytes split anywhere: frames, lines, the elements of a
//! body that is an array, or one whole response.

use super::brackets::Nesting;
use super::input::BOM;

/// What is wrong with the bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// An object is larger than allowed.
    TooLarge,
    /// Something stands where an object should begin.
    NotJson,
}

/// The reader's state between two pieces.
#[derive(Debug, Default)]
pub(super) struct Values {
    limit: usize,
    object: Vec<u8>,
    nesting: Nesting,
    /// Inside of an array around all objects.
    open_array: bool,
    /// How much of a byte order mark was read, which may stand before everything else.
    mark: usize,
}

impl Values {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Whether the bytes end inside of something.
    pub(super) fn is_open(&self) -> bool {
        self.nesting.is_open() || self.open_array
    }

    /// Reads a piece and hands on every object that it completes.
    pub(super) fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), Bad> {
        let mut begin = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if !self.nesting.is_open() {
                begin = at;
                self.between(byte)?;
            } else if self.nesting.ends_with(byte) {
                let end = bytes.get(begin..=at).unwrap_or_default();
                self.keep(end)?;
                take(&self.object);
                self.object.clear();
                begin = at + 1;
            }
        }
        if self.nesting.is_open() {
            self.keep(bytes.get(begin..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Bad> {
        if self.object.len() + bytes.len() > self.limit {
            return Err(Bad::TooLarge);
        }
        self.object.extend_from_slice(bytes);
        Ok(())
    }

    fn between(&mut self, byte: u8) -> Result<(), Bad> {
        if BOM.get(self.mark) == Some(&byte) {
            self.mark += 1;
            return Ok(());
        }
        self.mark = BOM.len();
        match byte {
            b'{' => self.nesting.open(),
            b'[' if !self.open_array => self.open_array = true,
            b']' if self.open_array => self.open_array = false,
            b' ' | b'\t' | b'\r' | b'\n' | b',' => {}
            _ => return Err(Bad::NotJson),
        }
        Ok(())
    }
}
