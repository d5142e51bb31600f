//! Search by meaning: every vector is compared with the query's.

use std::collections::{BinaryHeap, HashMap};

use tantivy::{DocAddress, Searcher};

use super::base::Open;
use super::embed::normal;
use super::filter::{Filter, Segment};
use super::rank::Scored;
use super::schema::KEY;
use super::vectors::{Asked, Vectors};

/// How far a query is moved towards what it found first.
const MOVED: f32 = 0.3;

/// The vectors of one state of the index, joined with its documents.
pub(super) struct Joined {
    vectors: Vectors,
    /// Rows, those of one record side by side.
    order: Vec<u32>,
    /// By segment: each document that has rows, with its part of `order`.
    segments: Vec<Vec<(u32, u32, u32)>>,
}

/// How alike the records of the base are to a query in general: what is above that means something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Background {
    mean: f32,
    deviation: f32,
}

impl Background {
    /// From 0, no more alike than others, to 1.
    pub(super) fn value(self, alike: f32) -> f32 {
        ((alike - self.mean) / (1.0 - self.mean).max(0.01)).clamp(0.0, 1.0)
    }

    /// Whether it stands out so far that it is a find without sharing a word.
    pub(super) fn stands_out(self, alike: f32) -> bool {
        alike > self.mean + 2.0 * self.deviation
    }
}

impl Joined {
    pub(super) fn new(vectors: Vectors, searcher: &Searcher) -> tantivy::Result<Self> {
        let mut order: Vec<u32> = (0..u32::try_from(vectors.rows()).unwrap_or(u32::MAX)).collect();
        order.sort_by_key(|row| vectors.keys.get(*row as usize));
        let mut parts: HashMap<u64, (u32, u32)> = HashMap::new();
        for (row, place) in order.iter().zip(0..) {
            if let Some(key) = vectors.keys.get(*row as usize) {
                parts.entry(*key).or_insert((place, place)).1 = place + 1;
            }
        }
        let mut segments = Vec::new();
        for segment in searcher.segment_readers() {
            let keys = segment.fast_fields().u64(KEY)?;
            let rows = (0..segment.max_doc())
                .filter(|document| !segment.is_deleted(*document))
                .filter_map(|document| {
                    let (from, to) = parts.get(&keys.first(document)?)?;
                    Some((document, *from, *to))
                })
                .collect();
            segments.push(rows);
        }
        Ok(Self { vectors, order, segments })
    }

    pub(super) fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    pub(super) fn fits(&self, asked: &Asked) -> bool {
        self.vectors.fits(asked)
    }

    fn best_of(&self, asked: &Asked, from: u32, to: u32) -> f32 {
        let rows = self.order.get(from as usize..to as usize).unwrap_or_default();
        rows.iter().map(|row| self.vectors.alike(asked, *row as usize)).fold(-1.0, f32::max)
    }

    /// The query, moved a little towards records: what they have in common, and it did not say.
    pub(super) fn toward(&self, asked: &Asked, records: &[Scored]) -> Option<Asked> {
        let mut middle = vec![0.0; asked.vector.len()];
        for Scored { at, .. } in records {
            let (from, to) = self.part(*at)?;
            let rows = self.order.get(from as usize..to as usize)?;
            let alike = |row: &u32| self.vectors.alike(asked, *row as usize);
            let best = rows.iter().max_by(|a, b| alike(a).total_cmp(&alike(b)))?;
            let vector = self.vectors.vector(*best as usize)?;
            middle.iter_mut().zip(vector).for_each(|(sum, part)| *sum += part);
        }
        let middle = normal(middle)?;
        let mixed = asked
            .vector
            .iter()
            .zip(middle)
            .map(|(own, theirs)| (1.0 - MOVED) * own + MOVED * theirs);
        Some(Asked::new(&normal(mixed.collect())?))
    }

    fn part(&self, at: DocAddress) -> Option<(u32, u32)> {
        let rows = self.segments.get(at.segment_ord as usize)?;
        let place = rows.binary_search_by_key(&at.doc_id, |(document, ..)| *document).ok()?;
        rows.get(place).map(|(_, from, to)| (*from, *to))
    }

    /// How alike a record is.
    pub(super) fn alike(&self, asked: &Asked, at: DocAddress) -> Option<f32> {
        let (from, to) = self.part(at)?;
        Some(self.best_of(asked, from, to))
    }

    /// The records that are most alike, best first, and what is usual.
    pub(super) fn best(
        &self,
        asked: &Asked,
        open: &Open,
        filter: &Filter,
        most: usize,
    ) -> tantivy::Result<(Vec<Scored>, Background)> {
        let mut heap = BinaryHeap::with_capacity(most + 1);
        let (mut count, mut sum, mut squares) = (0.0_f64, 0.0_f64, 0.0_f64);
        for ((reader, rows), ordinal) in
            open.searcher.segment_readers().iter().zip(&self.segments).zip(0..)
        {
            let segment = Segment { reader, ordinal, memory: &open.memory };
            let allowed = filter.allowed(segment, &open.fields)?;
            for (document, from, to) in rows {
                let value = self.best_of(asked, *from, *to);
                count += 1.0;
                sum += f64::from(value);
                squares += f64::from(value) * f64::from(value);
                if allowed.contains(*document) {
                    heap.push(Scored { value, at: DocAddress::new(ordinal, *document) });
                    if heap.len() > most {
                        heap.pop();
                    }
                }
            }
        }
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        let deviation =
            if count > 0.0 { (squares / count - mean * mean).max(0.0).sqrt() } else { 0.0 };
        let background = Background { mean: mean as f32, deviation: deviation as f32 };
        Ok((heap.into_sorted_vec(), background))
    }
}
