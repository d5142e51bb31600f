//! The vectors of an index: a file beside it, named by the commit that it belongs to.
//!
//! ```text
//! "haftvec1"  length (u32)  rows (u64)
//! per row:    key of the record (u64)  digest of the passage (16 bytes)  scale (f32)  length × i8
//! ```
//!
//! Eight bits a number are enough to compare directions and a quarter of the size. All of them are
//! looked at for each search, which is fine for some hundred thousand.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use haft_core::Digest;

use super::base::KbError;
use super::folder::write_whole;

const MAGIC: &[u8; 8] = b"haftvec1";
const HEAD: usize = 8 + 4 + 8;
const ROW_HEAD: usize = 8 + 16 + 4;

/// What a passage is known by.
pub(super) type Mark = [u8; 16];

pub(super) fn mark(passage: &str) -> Mark {
    let raw = Digest::of_bytes(passage.as_bytes()).raw();
    raw.first_chunk::<16>().copied().unwrap_or_default()
}

/// All vectors, by rows.
#[derive(Default)]
pub(super) struct Vectors {
    length: usize,
    pub(super) keys: Vec<u64>,
    marks: Vec<Mark>,
    scales: Vec<f32>,
    parts: Vec<i8>,
}

impl Vectors {
    pub(super) fn rows(&self) -> usize {
        self.keys.len()
    }

    /// How many numbers a vector has.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Adds a vector of length one.
    pub(super) fn push(&mut self, key: u64, mark: Mark, vector: &[f32]) -> Result<(), KbError> {
        if self.keys.is_empty() {
            self.length = vector.len();
        }
        if vector.len() != self.length || vector.is_empty() {
            let what = format!(
                "it gives {} numbers for a text and gave {} for others, so it is another model under \
                 the same name; `haft kb reindex` makes all vectors anew",
                vector.len(),
                self.length
            );
            return Err(KbError::Model(what));
        }
        let largest = vector.iter().fold(f32::MIN_POSITIVE, |most, part| most.max(part.abs()));
        let scale = largest / 127.0;
        self.keys.push(key);
        self.marks.push(mark);
        self.scales.push(scale);
        self.parts
            .extend(vector.iter().map(|part| (part / scale).round().clamp(-127.0, 127.0) as i8));
        Ok(())
    }

    /// Takes over a row of another file.
    pub(super) fn copy(&mut self, key: u64, other: &Self, row: usize) {
        if self.keys.is_empty() {
            self.length = other.length;
        }
        if let (Some(parts), Some(scale), Some(mark)) =
            (other.row(row), other.scales.get(row), other.marks.get(row))
            && self.length == other.length
        {
            self.keys.push(key);
            self.marks.push(*mark);
            self.scales.push(*scale);
            self.parts.extend_from_slice(parts);
        }
    }

    fn row(&self, row: usize) -> Option<&[i8]> {
        self.parts.get(row.checked_mul(self.length)?..row.checked_add(1)?.checked_mul(self.length)?)
    }

    /// The rows by the passages that they stand for.
    pub(super) fn by_mark(&self) -> HashMap<Mark, usize> {
        self.marks.iter().copied().zip(0..).collect()
    }

    /// How alike a vector of length one and a row are: 1 is the same direction.
    pub(super) fn alike(&self, asked: &Asked, row: usize) -> f32 {
        let (Some(parts), Some(scale)) = (self.row(row), self.scales.get(row)) else { return 0.0 };
        let sum: i32 =
            parts.iter().zip(&asked.parts).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        sum as f32 * scale * asked.scale
    }

    /// A row as numbers again.
    pub(super) fn vector(&self, row: usize) -> Option<Vec<f32>> {
        let scale = *self.scales.get(row)?;
        Some(self.row(row)?.iter().map(|part| f32::from(*part) * scale).collect())
    }

    /// Whether a vector of that length can be compared.
    pub(super) fn fits(&self, asked: &Asked) -> bool {
        asked.parts.len() == self.length
    }

    pub(super) fn save(&self, folder: &Path, name: &str) -> Result<(), KbError> {
        let mut bytes = Vec::with_capacity(HEAD + self.rows() * (ROW_HEAD + self.length));
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&u32::try_from(self.length).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&(self.rows() as u64).to_le_bytes());
        for (row, ((key, mark), scale)) in
            self.keys.iter().zip(&self.marks).zip(&self.scales).enumerate()
        {
            bytes.extend_from_slice(&key.to_le_bytes());
            bytes.extend_from_slice(mark);
            bytes.extend_from_slice(&scale.to_le_bytes());
            bytes.extend(self.row(row).unwrap_or_default().iter().map(|part| part.cast_unsigned()));
        }
        write_whole(&folder.join(name), &bytes).map_err(|error| KbError::disk(folder, error))
    }

    pub(super) fn load(folder: &Path, name: &str) -> Result<Self, KbError> {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(|error| KbError::disk(&path, error))?;
        Self::read(&bytes).ok_or_else(|| KbError::damaged(folder, "its vectors cannot be read"))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (rows, mut rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let rows = usize::try_from(u64::from_le_bytes(*rows)).ok()?;
        if rest.len() != rows.checked_mul(ROW_HEAD.checked_add(length)?)? {
            return None;
        }
        let mut vectors = Self { length, ..Self::default() };
        vectors.parts.reserve(rows * length);
        for _ in 0..rows {
            let (key, after) = rest.split_first_chunk::<8>()?;
            let (mark, after) = after.split_first_chunk::<16>()?;
            let (scale, after) = after.split_first_chunk::<4>()?;
            let (parts, after) = after.split_at_checked(length)?;
            vectors.keys.push(u64::from_le_bytes(*key));
            vectors.marks.push(*mark);
            vectors.scales.push(f32::from_le_bytes(*scale));
            vectors.parts.extend(parts.iter().map(|part| part.cast_signed()));
            rest = after;
        }
        Some(vectors)
    }
}

/// The vector of a query.
pub(super) struct Asked {
    pub(super) vector: Vec<f32>,
    parts: Vec<i8>,
    scale: f32,
}

impl Asked {
    pub(super) fn new(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(f32::MIN_POSITIVE, |most, part| most.max(part.abs()));
        let scale = largest / 127.0;
        let parts =
            vector.iter().map(|part| (part / scale).round().clamp(-127.0, 127.0) as i8).collect();
        Self { vector: vector.to_vec(), parts, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::embed::normal;

    #[test]
    fn what_is_written_is_read_and_compares_as_before() {
        let folder = tempfile::tempdir().unwrap();
        let directions =
            [vec![1.0, 2.0, -3.0, 0.5], vec![-1.0, 0.1, 0.2, 4.0]].map(|one| normal(one).unwrap());
        let mut vectors = Vectors::default();
        for (direction, key) in directions.iter().zip(7..) {
            vectors.push(key, mark("text"), direction).unwrap();
        }
        assert!(vectors.push(9, mark("x"), &[1.0]).is_err());
        vectors.save(folder.path(), "vectors-1.bin").unwrap();
        let read = Vectors::load(folder.path(), "vectors-1.bin").unwrap();
        assert_eq!((read.keys.clone(), read.rows()), (vec![7, 8], 2));
        let asked = Asked::new(&directions[0]);
        let exact: f32 = directions[0].iter().zip(&directions[1]).map(|(a, b)| a * b).sum();
        assert!((read.alike(&asked, 0) - 1.0).abs() < 0.01);
        assert!((read.alike(&asked, 1) - exact).abs() < 0.02);
        assert_eq!(read.alike(&asked, 99), 0.0);
        // Cut anywhere, it is damaged, never wrong.
        let bytes = fs::read(folder.path().join("vectors-1.bin")).unwrap();
        for end in 0..bytes.len() {
            assert!(Vectors::read(&bytes[..end]).is_none());
        }
    }
}
