//! A question, and what is found.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tantivy::DocAddress;
use tantivy::schema::IndexRecordOption;

use super::base::{Base, KbError, Open};
use super::embed::Purpose;
use super::feedback;
use super::filter::Filter;
use super::fuse::Fusion;
use super::rank::{Ranked, Scored, Scorer, bent};
use super::record::Record;
use super::snippet;
use super::vectors::Asked;
use super::words::{Reader, is_single, is_small};

/// Longer questions are cut here: what is looked for stands at their beginning.
const MAX_QUERY: usize = 2_000;
/// So many different words are looked for.
const MAX_WORDS: usize = 64;
/// The most that can be asked for at once.
pub(super) const MAX_RESULTS: usize = 1_000;
/// How many candidates are looked at a second time.
const CANDIDATES: usize = 200;

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// In words. Nothing in it is syntax.
    pub query: String,
    /// Only in these namespaces; in all where nothing is said.
    pub namespaces: Option<Vec<String>>,
    /// Only of this type.
    pub kind: Option<String>,
    /// Only with all of these tags.
    pub tags: Vec<String>,
    /// Only what was last updated then or later.
    pub since: Option<Timestamp>,
    /// Only what was last updated then or earlier.
    pub until: Option<Timestamp>,
    /// How many to return at most.
    pub limit: usize,
    /// Whether to show the passages that matched.
    pub snippets: bool,
}

/// One record that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The record.
    pub record: Record,
    /// How well it matches, from 0 to 1.
    pub score: f64,
    /// The passage that matched best.
    pub snippet: Option<String>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Best first, no record twice.
    pub hits: Vec<Hit>,
    /// How many match in all.
    pub total: usize,
    /// How long it took.
    pub took: Duration,
    /// Why it was searched by words alone though there are vectors.
    pub degraded: Option<String>,
}

impl Base {
    /// Finds records.
    ///
    /// # Errors
    ///
    /// The question has no words, or the index does not answer.
    pub fn search(&self, search: &Search) -> Result<Found, KbError> {
        let start = Instant::now();
        let open = self.now()?;
        let mut reader = open.memory.reader(open.commit.language);
        let words = words(&mut reader, &search.query)?;
        let filter = filter(search);
        let (asked, degraded) = self.asked(&open, &search.query);
        let limit = search.limit.min(MAX_RESULTS);
        let question = Question { words: &words, filter: &filter, asked: asked.as_ref(), limit };
        let (ranked, total) = ranked(&open, &mut reader, &question)?;
        let wanted: HashSet<String> = words.into_iter().map(|(word, _)| word).collect();
        reader.singles = wanted.iter().any(|word| is_single(word));
        let mut hits = Vec::with_capacity(ranked.len());
        for (value, record) in ranked {
            let snippet =
                search.snippets.then(|| snippet::best(&mut reader, &record.body, &wanted));
            hits.push(Hit { snippet, score: score(value), record });
        }
        reader.singles = false;
        open.memory.give_back_reader(reader);
        // Equal ones by their id, so that the order does not depend on where they are kept.
        hits.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| a.record.id.cmp(&b.record.id))
        });
        Ok(Found { hits, total, took: start.elapsed(), degraded })
    }

    /// The query's vector, where it has one. A model that does not answer leaves the words.
    fn asked(&self, open: &Open, query: &str) -> (Option<Asked>, Option<String>) {
        let (Some(joined), Some(embed)) = (&open.joined, &self.setup().embed) else {
            return (None, None);
        };
        if open.commit.embedder.as_ref() != Some(&embed.name()) {
            let why = "the vectors were made by another model; `haft kb import` makes them anew";
            return (None, Some(why.to_owned()));
        }
        let query: String = query.chars().take(MAX_QUERY).collect();
        match embed.embed(&[query], Purpose::Search) {
            Ok(vectors) => match vectors.first().map(|vector| Asked::new(vector)) {
                Some(asked) if joined.fits(&asked) => (Some(asked), None),
                Some(_) | None => {
                    let why = "the model gives vectors of another length than those of the index; \
                               `haft kb reindex` makes them anew";
                    (None, Some(why.to_owned()))
                }
            },
            Err(error) => (None, Some(error.to_string())),
        }
    }

    /// Records by their ids, in that order; those that are not there, or in none of the namespaces,
    /// are left out.
    ///
    /// # Errors
    ///
    /// The index does not answer.
    pub fn get(
        &self,
        ids: &[String],
        namespaces: Option<&[String]>,
    ) -> Result<Vec<Record>, KbError> {
        let open = self.now()?;
        let mut records = Vec::with_capacity(ids.len());
        for id in ids.iter().take(MAX_RESULTS) {
            let Some(at) = place(&open, id)? else { continue };
            let record = open.record(at)?;
            if namespaces.is_none_or(|readable| readable.contains(&record.namespace)) {
                records.push(record);
            }
        }
        Ok(records)
    }
}

/// Where the record of an id stands.
fn place(open: &Open, id: &str) -> Result<Option<DocAddress>, KbError> {
    let term = open.fields.of_id(id);
    for (segment, ordinal) in open.searcher.segment_readers().iter().zip(0..) {
        let index = segment.inverted_index(open.fields.id).map_err(|error| open.wrong(error))?;
        let blocks = index
            .read_block_postings(&term, IndexRecordOption::Basic)
            .map_err(|error| KbError::disk(&open.folder, error))?;
        let Some(blocks) = blocks else { continue };
        let alive = blocks.docs().iter().find(|document| !segment.is_deleted(**document));
        if let Some(document) = alive {
            return Ok(Some(DocAddress::new(ordinal, *document)));
        }
    }
    Ok(None)
}

/// The words of a question with how often they stand in it. Small ones count where there are no
/// others.
fn words(reader: &mut Reader, query: &str) -> Result<Vec<(String, f32)>, KbError> {
    let mut end = MAX_QUERY.min(query.len());
    while !query.is_char_boundary(end) {
        end -= 1;
    }
    let mut order: Vec<String> = Vec::new();
    let mut counts: HashMap<String, (f32, bool)> = HashMap::new();
    reader.each(query.get(..end).unwrap_or_default(), |word| {
        let count = counts.entry(word.stem.to_owned()).or_insert_with(|| {
            order.push(word.stem.to_owned());
            (0.0, is_small(word.plain))
        });
        count.0 += 1.0;
    });
    let some = counts.values().any(|(_, small)| !small);
    let words: Vec<(String, f32)> = order
        .into_iter()
        .filter_map(|word| counts.get(&word).map(|(times, small)| (word, *times, *small)))
        .filter(|(_, _, small)| !some || !small)
        .map(|(word, times, _)| (word, times))
        .take(MAX_WORDS)
        .collect();
    match words.is_empty() {
        true => Err(KbError::Question("the query has no words to look for".to_owned())),
        false => Ok(words),
    }
}

fn filter(search: &Search) -> Filter {
    let updated = match (search.since, search.until) {
        (None, None) => None,
        (since, until) => Some(
            since.map_or(i64::MIN, |time| time.as_second())
                ..=until.map_or(i64::MAX, |time| time.as_second()),
        ),
    };
    Filter {
        namespaces: search.namespaces.clone(),
        kind: search.kind.clone(),
        tags: search.tags.clone(),
        updated,
    }
}

/// A question as the index is asked.
struct Question<'a> {
    words: &'a [(String, f32)],
    filter: &'a Filter,
    asked: Option<&'a Asked>,
    limit: usize,
}

/// The best records with their values.
fn ranked(
    open: &Open,
    reader: &mut Reader,
    question: &Question<'_>,
) -> Result<(Vec<(f32, Record)>, usize), KbError> {
    let Question { words, filter, asked, limit } = *question;
    let wrong = |error| open.wrong(error);
    let scorer = Scorer::new(&open.searcher, &open.fields, &open.memory).map_err(wrong)?;
    let shares = scorer.shares(words).map_err(wrong)?;
    let candidates = CANDIDATES.max(limit.saturating_mul(10).min(MAX_RESULTS)).max(limit);
    let Ranked { mut best, mut total } = scorer.best(&shares, filter, candidates).map_err(wrong)?;
    let mut seen = Vec::new();
    for Scored { value, at } in best.iter().take(feedback::wanted(total)) {
        seen.push((*value, open.record(*at)?));
    }
    let places: Vec<DocAddress> = best.iter().take(seen.len()).map(|one| one.at).collect();
    let typical = feedback::typical(&scorer, reader, &seen).map_err(wrong)?;
    feedback::mix(&scorer, &typical, &mut best).map_err(wrong)?;
    best.iter_mut().for_each(|one| one.value = bent(one.value));
    match (asked, &open.joined) {
        (Some(asked), Some(joined)) => {
            let (scorer, shares, typical) = (&scorer, &shares, &typical);
            let fusion = Fusion { open, joined, scorer, shares, typical, filter, most: candidates };
            let without;
            (best, without) = fusion.rank(asked, best, total).map_err(wrong)?;
            total += without;
        }
        _ => best.sort_unstable(),
    }
    let records = seen.into_iter().map(|(_, record)| record);
    let mut known: HashMap<DocAddress, Record> = places.into_iter().zip(records).collect();
    let mut found = Vec::with_capacity(limit.min(best.len()));
    for Scored { value, at } in best.into_iter().take(limit) {
        let record = match known.remove(&at) {
            Some(record) => record,
            None => open.record(at)?,
        };
        found.push((value, record));
    }
    Ok((found, total))
}

/// To four places: what follows says nothing.
fn score(value: f32) -> f64 {
    (f64::from(value).clamp(0.0, 1.0) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kb::words::Language;

    #[track_caller]
    fn check(query: &str, expected: &[(&str, f32)]) {
        let found = words(&mut Reader::new(Language::English), query).unwrap();
        let found: Vec<(&str, f32)> =
            found.iter().map(|(word, times)| (word.as_str(), *times)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn small_words_count_only_among_themselves() {
        check("What is the budget of the festival?", &[("budget", 1.0), ("festiv", 1.0)]);
        check("the who", &[("the", 1.0), ("who", 1.0)]);
        check("light lights", &[("light", 2.0)]);
    }

    #[test]
    fn a_question_is_bounded() {
        let long = (0..500).map(|n| format!("word{n} ")).collect::<String>();
        assert_eq!(words(&mut Reader::new(Language::English), &long).unwrap().len(), MAX_WORDS);
        assert!(words(&mut Reader::new(Language::English), "?!").is_err());
    }

    #[test]
    fn scores_are_from_none_to_all() {
        assert_eq!([0.0, 1.0, 2.0].map(|value| score(bent(value))), [0.0, 1.0, 1.0]);
        assert!((score(bent(1.0 / 2.2)) - 0.7273).abs() < 0.001);
    }
}
