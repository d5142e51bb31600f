//! Which records a search may find: those that the caller may read, and of those what was asked for.

use std::ops::RangeInclusive;
use std::sync::Arc;

use tantivy::columnar::Column;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, Term};

use super::bits::Bits;
use super::memory::Memory;
use super::schema::{Fields, UPDATED};

/// A value that more than this part of the documents have is remembered: there can be only few of
/// those, and they are the ones that take time.
const COMMON: u32 = 32;

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

/// The documents of a segment that may be found.
pub(super) struct Allowed {
    set: Option<Arc<Bits>>,
    /// Looked at last, and only for documents that match: a day says little about most of them.
    updated: Option<(Column<i64>, RangeInclusive<i64>)>,
}

impl Allowed {
    /// The documents by everything but their time; all of them where there is no such condition.
    pub(super) fn set(&self) -> Option<&Bits> {
        self.set.as_deref()
    }

    /// Whether a document's time is one that was asked for.
    pub(super) fn is_timely(&self, document: u32) -> bool {
        let timely = |(column, range): &(Column<i64>, RangeInclusive<i64>)| {
            column.first(document).is_some_and(|time| range.contains(&time))
        };
        self.updated.as_ref().is_none_or(timely)
    }

    /// Whether a document may be found.
    pub(super) fn contains(&self, document: u32) -> bool {
        self.set().is_none_or(|set| set.contains(document)) && self.is_timely(document)
    }
}

/// A segment of the index, by its place among the others.
#[derive(Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) reader: &'a SegmentReader,
    pub(super) ordinal: u32,
    pub(super) memory: &'a Memory,
}

impl Filter {
    /// The documents that may be found.
    pub(super) fn allowed(
        &self,
        segment: Segment<'_>,
        fields: &Fields,
    ) -> tantivy::Result<Allowed> {
        let mut set: Option<Arc<Bits>> = None;
        let mut keep = |bits: Arc<Bits>| match &mut set {
            Some(before) => Arc::make_mut(before).keep(&bits),
            None => set = Some(bits),
        };
        if let Some(namespaces) = &self.namespaces {
            keep(segment.any(fields.namespace, namespaces)?);
        }
        if let Some(kind) = &self.kind {
            keep(segment.having(fields.kind, kind)?);
        }
        for tag in &self.tags {
            keep(segment.having(fields.tag, tag)?);
        }
        let updated = match &self.updated {
            Some(range) => Some((segment.reader.fast_fields().i64(UPDATED)?, range.clone())),
            None => None,
        };
        Ok(Allowed { set, updated })
    }
}

impl Segment<'_> {
    /// Documents with any of the values.
    fn any(self, field: Field, values: &[String]) -> tantivy::Result<Arc<Bits>> {
        if let [one] = values {
            return self.having(field, one);
        }
        let mut bits = Bits::none(self.reader.max_doc());
        for value in values {
            let having = self.having(field, value)?;
            bits.add(&having);
        }
        Ok(Arc::new(bits))
    }

    /// Documents with a value.
    fn having(self, field: Field, value: &str) -> tantivy::Result<Arc<Bits>> {
        let place = (self.ordinal, field.field_id());
        if let Some(known) = self.memory.set(place, value) {
            return Ok(known);
        }
        let mut bits = Bits::none(self.reader.max_doc());
        let index = self.reader.inverted_index(field)?;
        let Some(info) = index.get_term_info(&Term::from_field_text(field, value))? else {
            return Ok(Arc::new(bits));
        };
        let mut blocks =
            index.read_block_postings_from_terminfo(&info, IndexRecordOption::Basic)?;
        while !blocks.docs().is_empty() {
            blocks.docs().iter().for_each(|document| bits.insert(*document));
            blocks.advance();
        }
        let bits = Arc::new(bits);
        if info.doc_freq > self.reader.max_doc() / COMMON {
            self.memory.keep_set(place, value, &bits);
        }
        Ok(bits)
    }
}
