//! The vectors of an import: what is known is taken over, the rest is asked for.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::super::base::KbError;
use super::super::embed::{Embed, Purpose, passages};
use super::super::record::Record;
use super::super::schema::key;
use super::super::vectors::{Mark, Vectors, mark};

/// Passages that are asked for at once.
const TOGETHER: usize = 256;

pub(super) struct Making {
    embed: Arc<dyn Embed>,
    before: Vectors,
    known: HashMap<Mark, usize>,
    made: Vectors,
    waiting: Vec<(u64, Mark, String)>,
}

impl Making {
    /// Begins with the rows of records that stay.
    pub(super) fn new(embed: Arc<dyn Embed>, before: Vectors, stays: impl Fn(u64) -> bool) -> Self {
        let mut made = Vectors::default();
        for (key, row) in before.keys.iter().zip(0..) {
            if stays(*key) {
                made.copy(*key, &before, row);
            }
        }
        Self { embed, known: before.by_mark(), before, made, waiting: Vec::new() }
    }

    pub(super) fn add(&mut self, record: &Record) -> Result<(), KbError> {
        let key = key(&record.id);
        for passage in passages(record) {
            let mark = mark(&passage);
            match self.known.get(&mark) {
                Some(row) => self.made.copy(key, &self.before, *row),
                None => self.waiting.push((key, mark, passage)),
            }
        }
        if self.waiting.len() >= TOGETHER { self.ask() } else { Ok(()) }
    }

    fn ask(&mut self) -> Result<(), KbError> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut marks = Vec::with_capacity(waiting.len());
        let mut texts = Vec::with_capacity(waiting.len());
        for (key, mark, text) in waiting {
            marks.push((key, mark));
            texts.push(text);
        }
        let vectors = self.embed.embed(&texts, Purpose::Import)?;
        for ((key, mark), vector) in marks.into_iter().zip(vectors) {
            self.made.push(key, mark, &vector)?;
        }
        Ok(())
    }

    /// Writes them beside the index.
    pub(super) fn save(mut self, folder: &Path, name: &str) -> Result<(), KbError> {
        if !self.waiting.is_empty() {
            self.ask()?;
        }
        self.made.save(folder, name)
    }
}
