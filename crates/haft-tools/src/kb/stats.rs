//! What is in a knowledge base.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;
use tantivy::schema::{Field, IndexRecordOption};

use super::base::{Base, KbError, Open};
use super::manifest::Manifest;
use super::read::Problem;
use super::words::Language;

/// Figures of a knowledge base.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// How many records there are.
    pub records: u64,
    /// How many files they are from.
    pub files: usize,
    /// What was imported.
    pub sources: Vec<String>,
    /// Records by namespace.
    pub namespaces: BTreeMap<String, u64>,
    /// Records by type.
    pub types: BTreeMap<String, u64>,
    /// The bytes of the index.
    pub bytes: u64,
    /// The language of the words.
    pub language: Language,
    /// The vectors, where there are some.
    pub vectors: Option<VectorStats>,
    /// What was wrong in the files when they were read.
    pub problems: Vec<Problem>,
}

/// Figures of the vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VectorStats {
    /// What made them.
    pub model: String,
    /// How many numbers each has.
    pub dimensions: usize,
    /// How many passages have one.
    pub passages: usize,
}

impl Base {
    /// Counts.
    ///
    /// # Errors
    ///
    /// The index does not answer.
    pub fn stats(&self) -> Result<Stats, KbError> {
        let open = self.now()?;
        let manifest = Manifest::load(&open.folder, &open.commit.manifest)?;
        Ok(Stats {
            records: open.searcher.num_docs(),
            files: manifest.files.len(),
            sources: manifest.sources,
            namespaces: counts(&open, open.fields.namespace).map_err(|error| open.wrong(error))?,
            types: counts(&open, open.fields.kind).map_err(|error| open.wrong(error))?,
            bytes: size(&open.folder),
            language: open.commit.language,
            vectors: open.joined.as_ref().map(|joined| VectorStats {
                model: open.commit.embedder.clone().unwrap_or_default(),
                dimensions: joined.vectors().length(),
                passages: joined.vectors().rows(),
            }),
            problems: manifest.files.into_values().flat_map(|entry| entry.problems).collect(),
        })
    }
}

/// How many records have each value.
fn counts(open: &Open, field: Field) -> tantivy::Result<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    for segment in open.searcher.segment_readers() {
        let index = segment.inverted_index(field)?;
        let mut terms = index.terms().stream()?;
        while let Some((value, info)) = terms.next() {
            let mut blocks =
                index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            let mut count = 0;
            while !blocks.docs().is_empty() {
                count +=
                    blocks.docs().iter().filter(|document| !segment.is_deleted(**document)).count()
                        as u64;
                blocks.advance();
            }
            if count > 0 {
                *counts.entry(String::from_utf8_lossy(value).into_owned()).or_default() += count;
            }
        }
    }
    Ok(counts)
}

fn size(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}
