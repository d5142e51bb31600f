//! Which ids are given, by what stays and by what this import has read.

use std::collections::HashSet;
use std::path::PathBuf;

use tantivy::Searcher;
use tantivy::schema::IndexRecordOption;

use super::super::base::KbError;
use super::super::bits::Bits;
use super::super::record::Record;
use super::super::schema::{Fields, KEY, key};
use super::before::Before;

/// The ids that are given.
pub(super) struct Taken {
    /// By files of this import.
    now: HashSet<u64>,
    searcher: Option<Searcher>,
    fields: Fields,
    /// Records of before that go, by segment.
    gone: Vec<Bits>,
    folder: PathBuf,
}

impl Taken {
    pub(super) fn new(before: &Before, files: &[String]) -> Result<Self, KbError> {
        let mut gone = Vec::new();
        let segments = before.searcher.iter().flat_map(|searcher| searcher.segment_readers());
        for segment in segments {
            let mut bits = Bits::none(segment.max_doc());
            let wrong = |error| KbError::engine(&before.folder, error);
            let index = segment.inverted_index(before.fields.file).map_err(wrong)?;
            for file in files {
                let term = before.fields.of_file(file);
                let blocks = index.read_block_postings(&term, IndexRecordOption::Basic);
                let blocks = blocks.map_err(|error| KbError::disk(&before.folder, error))?;
                let Some(mut blocks) = blocks else { continue };
                while !blocks.docs().is_empty() {
                    blocks.docs().iter().for_each(|document| bits.insert(*document));
                    blocks.advance();
                }
            }
            gone.push(bits);
        }
        Ok(Self {
            now: HashSet::new(),
            searcher: before.searcher.clone(),
            fields: before.fields,
            gone,
            folder: before.folder.clone(),
        })
    }

    /// Whether the record of a key goes.
    pub(super) fn goes(&self) -> Result<HashSet<u64>, KbError> {
        let mut keys = HashSet::new();
        let segments = self.searcher.iter().flat_map(|searcher| searcher.segment_readers());
        for (segment, gone) in segments.zip(&self.gone) {
            let column = segment
                .fast_fields()
                .u64(KEY)
                .map_err(|error| KbError::engine(&self.folder, error))?;
            keys.extend(gone.iter().filter_map(|document| column.first(document)));
        }
        Ok(keys)
    }

    /// Gives an id to a record, unless it is given to one that stays: then there is no key.
    pub(super) fn take(&mut self, record: &Record) -> Result<Option<u64>, KbError> {
        if self.is_given(&record.id).map_err(|error| KbError::engine(&self.folder, error))? {
            return Ok(None);
        }
        let key = key(&record.id);
        Ok(self.now.insert(key).then_some(key))
    }

    fn is_given(&self, id: &str) -> tantivy::Result<bool> {
        let Some(searcher) = &self.searcher else { return Ok(false) };
        let term = self.fields.of_id(id);
        for (segment, gone) in searcher.segment_readers().iter().zip(&self.gone) {
            let index = segment.inverted_index(self.fields.id)?;
            let Some(blocks) = index.read_block_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            let stays =
                |document: &u32| !segment.is_deleted(*document) && !gone.contains(*document);
            if blocks.docs().iter().any(stays) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
