//! The vectors of an import: what is known is taken over, the rest is asked for.
//!
//! Vectors cost time, and often money. So those of an import that failed are kept beside the index,
//! and the next one begins with them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use haft_core::Digest;

use super::super::base::KbError;
use super::super::embed::{Embed, Purpose, passages};
use super::super::record::Record;
use super::super::schema::key;
use super::super::vectors::{Mark, Vectors, mark};

/// Passages that are asked for at once.
const TOGETHER: usize = 256;
/// What a file of vectors that were left over begins with.
const LEFT: &str = "left-over-";

pub(super) struct Making {
    embed: Arc<dyn Embed>,
    before: Vectors,
    known: HashMap<Mark, usize>,
    left: Vectors,
    known_left: HashMap<Mark, usize>,
    made: Vectors,
    waiting: Vec<(u64, Mark, String)>,
    /// How many passages the model was asked for.
    pub(super) asked: u64,
    /// The model is not the one that made what is known.
    is_other: bool,
}

impl Making {
    /// Begins with the rows of records that stay.
    pub(super) fn new(
        embed: Arc<dyn Embed>,
        folder: &Path,
        before: Vectors,
        stays: impl Fn(u64) -> bool,
    ) -> Self {
        let mut made = Vectors::default();
        for (key, row) in before.keys.iter().zip(0..) {
            if stays(*key) {
                made.copy(*key, &before, row);
            }
        }
        // What cannot be read is asked for.
        let left = Vectors::load(folder, &left_over(embed.as_ref())).unwrap_or_default();
        let fits = before.rows() == 0 || left.length() == before.length();
        let left = if fits { left } else { Vectors::default() };
        Self {
            known: before.by_mark(),
            known_left: left.by_mark(),
            embed,
            before,
            left,
            made,
            waiting: Vec::new(),
            asked: 0,
            is_other: false,
        }
    }

    pub(super) fn add(&mut self, record: &Record) -> Result<(), KbError> {
        let key = key(&record.id);
        for passage in passages(record) {
            let mark = mark(&passage);
            match (self.known.get(&mark), self.known_left.get(&mark)) {
                (Some(row), _) => self.made.copy(key, &self.before, *row),
                (None, Some(row)) => self.made.copy(key, &self.left, *row),
                (None, None) => self.waiting.push((key, mark, passage)),
            }
        }
        if self.waiting.len() >= TOGETHER { self.ask() } else { Ok(()) }
    }

    /// Asks for what waits.
    pub(super) fn ask(&mut self) -> Result<(), KbError> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let mut marks = Vec::with_capacity(waiting.len());
        let mut texts = Vec::with_capacity(waiting.len());
        for (key, mark, text) in waiting {
            marks.push((key, mark));
            texts.push(text);
        }
        let vectors = self.embed.embed(&texts, Purpose::Import)?;
        self.asked += texts.len() as u64;
        for ((key, mark), vector) in marks.into_iter().zip(vectors) {
            self.made.push(key, mark, &vector).inspect_err(|_| self.is_other = true)?;
        }
        Ok(())
    }

    /// Writes them beside the index.
    pub(super) fn save(&self, folder: &Path, name: &str) -> Result<(), KbError> {
        self.made.save(folder, name)
    }

    /// Keeps what was made for the next import, because this one fails.
    pub(super) fn leave(mut self, folder: &Path) {
        if self.is_other {
            return Self::tidy(folder);
        }
        let name = left_over(self.embed.as_ref());
        for (key, row) in self.left.keys.iter().zip(0..) {
            self.made.copy(*key, &self.left, row);
        }
        if self.made.rows() > 0 {
            // Where it cannot be kept it is asked for again.
            let _ = self.made.save(folder, &name);
        }
    }

    /// Removes what was left, of every model: the import is done.
    pub(super) fn tidy(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(LEFT) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn left_over(embed: &dyn Embed) -> String {
    format!("{LEFT}{}.bin", Digest::of_bytes(embed.name().as_bytes()).short())
}
