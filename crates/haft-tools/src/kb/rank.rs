//! BM25, as a share of what a query asks for.
//!
//! A record's value is `Σ share(t) · tf / (tf + K)` over the words `t` of the query, where
//! `share(t)` is the word's part of the query's inverse document frequency and `K` grows with the
//! record's length. It is BM25 divided by the most that any record could get for this query: 0 when
//! nothing matches, towards 1 when every word is all over a short record. A word that no record has
//! keeps its share, so a query that is mostly unknown has low values throughout.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings as _, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, DocSet as _, InvertedIndexReader, Searcher, SegmentReader, Term};

use super::bits::Bits;
use super::filter::{Filter, Segment};
use super::memory::{Memory, Slate};
use super::schema::Fields;

/// How soon a repetition stops counting: the usual value.
const K1: f32 = 1.2;
/// How much length counts: the usual value.
const B: f32 = 0.75;

/// A value on the scale of scores. A record of usual length that has every word of the query once has
/// a value of 1 / (k1 + 1); that is a good match and should look like one, so the scale is bent there.
pub(super) fn bent(value: f32) -> f32 {
    let usual = 1.0 / (K1 + 1.0);
    value * (1.0 + usual) / (value + usual)
}

/// A word and its part of the whole.
pub(super) struct Share {
    pub(super) term: Term,
    pub(super) share: f32,
}

/// A record and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) value: f32,
    pub(super) at: DocAddress,
}

impl Eq for Scored {}

impl Ord for Scored {
    /// The worst is the greatest, so that a heap gives it up first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.value.total_cmp(&self.value).then(self.at.cmp(&other.at))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best records, best first, and how many there are in all.
pub(super) struct Ranked {
    pub(super) best: Vec<Scored>,
    pub(super) total: usize,
}

/// Ranks the records of one state of the index.
pub(super) struct Scorer<'a> {
    pub(super) searcher: &'a Searcher,
    pub(super) fields: &'a Fields,
    memory: &'a Memory,
    documents: f32,
    /// `K` by the length's code.
    lengths: [f32; 256],
}

impl<'a> Scorer<'a> {
    pub(super) fn new(
        searcher: &'a Searcher,
        fields: &'a Fields,
        memory: &'a Memory,
    ) -> tantivy::Result<Self> {
        let (mut documents, mut words) = (0_u64, 0_u64);
        for segment in searcher.segment_readers() {
            documents += u64::from(segment.max_doc());
            words += segment.inverted_index(fields.text)?.total_num_tokens();
        }
        let average = (words as f32 / documents.max(1) as f32).max(1.0);
        let mut lengths = [0.0; 256];
        for (code, place) in (0..=u8::MAX).zip(&mut lengths) {
            let length = FieldNormReader::id_to_fieldnorm(code) as f32;
            *place = K1 * (1.0 - B + B * length / average);
        }
        Ok(Self { searcher, fields, memory, documents: documents as f32, lengths })
    }

    /// How much a word says: more, the fewer records have it.
    pub(super) fn weight(&self, word: &str, term: &Term) -> tantivy::Result<(f32, u64)> {
        let having = self.memory.having(word, || self.searcher.doc_freq(term))?;
        let n = having as f32;
        Ok(((1.0 + (self.documents - n + 0.5) / (n + 0.5)).ln(), having))
    }

    /// The words of a query with their shares.
    pub(super) fn shares(&self, words: &[(String, f32)]) -> tantivy::Result<Vec<Share>> {
        let mut shares = Vec::with_capacity(words.len());
        for (word, times) in words {
            let term = Term::from_field_text(self.fields.text, word);
            let (weight, _) = self.weight(word, &term)?;
            shares.push(Share { term, share: weight * times });
        }
        let whole: f32 = shares.iter().map(|one| one.share).sum();
        shares.iter_mut().for_each(|one| one.share /= whole.max(f32::MIN_POSITIVE));
        Ok(shares)
    }

    /// The best of all records that the filter lets through.
    pub(super) fn best(
        &self,
        shares: &[Share],
        filter: &Filter,
        most: usize,
    ) -> tantivy::Result<Ranked> {
        let mut heap = BinaryHeap::with_capacity(most + 1);
        let mut total = 0;
        for (reader, ordinal) in self.searcher.segment_readers().iter().zip(0..) {
            let segment = Segment { reader, ordinal, memory: self.memory };
            let allowed = filter.allowed(segment, self.fields)?;
            let mut slate = self.memory.slate(reader.max_doc());
            self.fill(reader, shares, allowed.set(), &mut slate)?;
            let alive = reader.alive_bitset();
            slate.wipe(|document, value| {
                let deleted = alive.is_some_and(|alive| alive.is_deleted(document));
                if deleted || !allowed.is_timely(document) {
                    return;
                }
                total += 1;
                let one = Scored { value, at: DocAddress::new(ordinal, document) };
                if heap.len() < most {
                    heap.push(one);
                } else if let Some(mut worst) = heap.peek_mut()
                    && one < *worst
                {
                    *worst = one;
                }
            });
            self.memory.give_back(slate);
        }
        Ok(Ranked { best: heap.into_sorted_vec(), total })
    }

    /// Writes down the values of all documents of a segment that are in the set.
    fn fill(
        &self,
        segment: &SegmentReader,
        shares: &[Share],
        set: Option<&Bits>,
        slate: &mut Slate,
    ) -> tantivy::Result<()> {
        let index = segment.inverted_index(self.fields.text)?;
        let lengths = segment.get_fieldnorms_reader(self.fields.text)?;
        let count = set.map(Bits::count);
        for Share { term, share } in shares {
            let Some(info) = index.get_term_info(term)? else { continue };
            let mut add = |document: u32, times: u32| {
                let length = lengths.fieldnorm_id(document);
                slate.add(document, share * self.saturated(times, length));
            };
            match (set, count) {
                // Few records: look each of them up rather than read all that have the word.
                (Some(set), Some(count)) if count < info.doc_freq / 16 => {
                    let mut postings =
                        index.read_postings_from_terminfo(&info, IndexRecordOption::WithFreqs)?;
                    for document in set.iter() {
                        if postings.doc() < document {
                            postings.seek(document);
                        }
                        if postings.doc() == document {
                            add(document, postings.term_freq());
                        }
                    }
                }
                (Some(set), _) => self.each(&index, &info, |document, times| {
                    if set.contains(document) {
                        add(document, times);
                    }
                })?,
                (None, _) => self.each(&index, &info, add)?,
            }
        }
        Ok(())
    }

    /// Every document that has a word, with how often.
    fn each(
        &self,
        index: &InvertedIndexReader,
        info: &TermInfo,
        mut take: impl FnMut(u32, u32),
    ) -> tantivy::Result<()> {
        let mut blocks =
            index.read_block_postings_from_terminfo(info, IndexRecordOption::WithFreqs)?;
        while !blocks.docs().is_empty() {
            for (document, times) in blocks.docs().iter().zip(blocks.freqs()) {
                take(*document, *times);
            }
            blocks.advance();
        }
        Ok(())
    }

    /// The values of some records, in their order.
    pub(super) fn some(&self, shares: &[Share], records: &[Scored]) -> tantivy::Result<Vec<f32>> {
        let mut order: Vec<usize> = (0..records.len()).collect();
        order.sort_by_key(|place| records.get(*place).map(|one| one.at));
        let mut values = vec![0.0; records.len()];
        for (segment, ordinal) in self.searcher.segment_readers().iter().zip(0..) {
            let here: Vec<(usize, u32)> = order
                .iter()
                .filter_map(|place| records.get(*place).map(|one| (*place, one.at)))
                .filter(|(_, at)| at.segment_ord == ordinal)
                .map(|(place, at)| (place, at.doc_id))
                .collect();
            if here.is_empty() {
                continue;
            }
            let index = segment.inverted_index(self.fields.text)?;
            let lengths = segment.get_fieldnorms_reader(self.fields.text)?;
            for Share { term, share } in shares {
                let Some(mut postings) = index.read_postings(term, IndexRecordOption::WithFreqs)?
                else {
                    continue;
                };
                for (place, document) in &here {
                    if postings.doc() < *document {
                        postings.seek(*document);
                    }
                    if postings.doc() == *document
                        && let Some(value) = values.get_mut(*place)
                    {
                        *value += share
                            * self.saturated(postings.term_freq(), lengths.fieldnorm_id(*document));
                    }
                }
            }
        }
        Ok(values)
    }

    fn saturated(&self, times: u32, length: u8) -> f32 {
        let times = times as f32;
        times / (times + self.lengths.get(usize::from(length)).copied().unwrap_or(K1))
    }

    pub(super) fn text(&self) -> Field {
        self.fields.text
    }
}
