//! Which records a search may find: those that the caller may read, and of those what was asked for.

use std::ops::RangeInclusive;

use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, Term};

use super::bits::Bits;
use super::schema::{Fields, UPDATED};

/// Conditions that all have to hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    /// One of these namespaces; any where nothing is said.
    pub(super) namespaces: Option<Vec<String>>,
    pub(super) kind: Option<String>,
    /// Every one of these tags.
    pub(super) tags: Vec<String>,
    /// Last updated in these seconds.
    pub(super) updated: Option<RangeInclusive<i64>>,
}

impl Filter {
    /// The documents that may be found; all of them where there is no condition.
    pub(super) fn allowed(
        &self,
        segment: &SegmentReader,
        fields: &Fields,
    ) -> tantivy::Result<Option<Bits>> {
        let mut allowed: Option<Bits> = None;
        let mut keep = |bits: Bits| match &mut allowed {
            Some(before) => before.keep(&bits),
            None => allowed = Some(bits),
        };
        if let Some(namespaces) = &self.namespaces {
            keep(any(segment, fields.namespace, namespaces)?);
        }
        if let Some(kind) = &self.kind {
            keep(any(segment, fields.kind, std::slice::from_ref(kind))?);
        }
        for tag in &self.tags {
            keep(any(segment, fields.tag, std::slice::from_ref(tag))?);
        }
        if let Some(range) = &self.updated {
            keep(updated(segment, range)?);
        }
        Ok(allowed)
    }
}

/// Documents with any of the values.
fn any(segment: &SegmentReader, field: Field, values: &[String]) -> tantivy::Result<Bits> {
    let mut bits = Bits::none(segment.max_doc());
    let index = segment.inverted_index(field)?;
    for value in values {
        let term = Term::from_field_text(field, value);
        let Some(mut blocks) = index.read_block_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while !blocks.docs().is_empty() {
            blocks.docs().iter().for_each(|document| bits.insert(*document));
            blocks.advance();
        }
    }
    Ok(bits)
}

fn updated(segment: &SegmentReader, range: &RangeInclusive<i64>) -> tantivy::Result<Bits> {
    let mut bits = Bits::none(segment.max_doc());
    if range.is_empty() {
        return Ok(bits);
    }
    let column = segment.fast_fields().i64(UPDATED)?;
    let mut documents = Vec::new();
    column.get_docids_for_value_range(range.clone(), 0..segment.max_doc(), &mut documents);
    documents.into_iter().for_each(|document| bits.insert(document));
    Ok(bits)
}
