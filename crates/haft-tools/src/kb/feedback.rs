//! A second look: what the best records have in common tells which of the others mean the same.
//!
//! The words that are typical of the first finds make a second query, and the candidates are put in
//! a new order by both (a relevance model, mixed with the query). Its numbers are the customary
//! ones, and were held against both halves of a split before they were kept.

use std::collections::HashMap;

use tantivy::Term;

use super::rank::{Scored, Scorer, Share};
use super::record::Record;
use super::words::{Reader, is_small};

/// How many records are looked at.
const RECORDS: usize = 10;
/// Never more than this part of what matches: in a small base the first ten finds are half of it.
const PART: usize = 10;
/// How many words are taken from them.
const WORDS: usize = 20;
/// Of so many of the most frequent ones the weight is looked up.
const LOOKED_UP: usize = 120;
/// Of long records the beginning says what they are about.
const READ: usize = 2_000;
/// How much the second query counts.
const COUNTS: f32 = 0.4;

/// How many of the finds to look at.
pub(super) fn wanted(total: usize) -> usize {
    (total / PART).min(RECORDS)
}

/// Mixes what the second query gives into the values of candidates.
pub(super) fn mix(
    scorer: &Scorer<'_>,
    typical: &[Share],
    candidates: &mut [Scored],
) -> tantivy::Result<()> {
    if typical.is_empty() {
        return Ok(());
    }
    let values = scorer.some(typical, candidates)?;
    for (one, second) in candidates.iter_mut().zip(values) {
        one.value = (1.0 - COUNTS) * one.value + COUNTS * second;
    }
    Ok(())
}

/// The words that stand for what was found first.
pub(super) fn typical(
    scorer: &Scorer<'_>,
    reader: &mut Reader,
    seen: &[(f32, Record)],
) -> tantivy::Result<Vec<Share>> {
    let whole: f32 = seen.iter().map(|(value, _)| value).sum();
    let mut found: HashMap<String, f32> = HashMap::new();
    for (value, record) in seen {
        let mut here: HashMap<String, f32> = HashMap::new();
        let mut length = 0_usize;
        for text in record.searched() {
            reader.each(text, |word| {
                length += 1;
                if length > READ || is_small(word.plain) || word.stem.len() <= 1 {
                    return;
                }
                match here.get_mut(word.stem) {
                    Some(times) => *times += 1.0,
                    None => {
                        here.insert(word.stem.to_owned(), 1.0);
                    }
                }
            });
        }
        let each = value / whole.max(f32::MIN_POSITIVE) / length.clamp(1, READ) as f32;
        for (word, times) in here {
            *found.entry(word).or_default() += times * each;
        }
    }
    let mut found: Vec<(String, f32)> = found.into_iter().collect();
    // By the word where two are equal, so that the same search has the same answer every time.
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.truncate(LOOKED_UP);
    let mut shares = Vec::with_capacity(found.len());
    for (word, part) in found {
        let term = Term::from_field_text(scorer.text(), &word);
        let (weight, having) = scorer.weight(&word, &term)?;
        // A word of one record finds no other.
        if having > 1 {
            shares.push(Share { term, share: part * weight });
        }
    }
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares.truncate(WORDS);
    let whole: f32 = shares.iter().map(|one| one.share).sum();
    shares.iter_mut().for_each(|one| one.share /= whole.max(f32::MIN_POSITIVE));
    Ok(shares)
}
