//! Words and meaning together.
//!
//! Both are on the scale of scores, so they can be added: what matches by words and by meaning is
//! before what matches by one of them.

use std::collections::HashSet;

use super::base::Open;
use super::filter::Filter;
use super::meaning::{Background, Joined};
use super::rank::{Scored, Scorer, Share};
use super::vectors::Asked;

/// How much meaning counts.
const COUNTS: f32 = 0.5;

/// What one query finds by meaning.
pub(super) struct Fusion<'a> {
    joined: &'a Joined,
    asked: &'a Asked,
    near: Vec<Scored>,
    background: Background,
}

impl<'a> Fusion<'a> {
    pub(super) fn new(
        open: &Open,
        joined: &'a Joined,
        asked: &'a Asked,
        filter: &Filter,
        most: usize,
    ) -> tantivy::Result<Self> {
        let (near, background) = joined.best(asked, &open.searcher, &open.fields, filter, most)?;
        Ok(Self { joined, asked, near, background })
    }

    /// Adds what words alone have not found; says how many of those share no word at all.
    pub(super) fn join(
        &self,
        scorer: &Scorer<'_>,
        shares: &[Share],
        best: &mut Vec<Scored>,
    ) -> tantivy::Result<usize> {
        let known: HashSet<_> = best.iter().map(|one| one.at).collect();
        let near = self.near.iter().filter(|one| self.background.stands_out(one.value));
        let others: Vec<Scored> = near.filter(|one| !known.contains(&one.at)).copied().collect();
        let values = scorer.some(shares, &others)?;
        let without = values.iter().filter(|value| **value == 0.0).count();
        best.extend(others.into_iter().zip(values).map(|(one, value)| Scored { value, ..one }));
        Ok(without)
    }

    /// The candidates by both.
    pub(super) fn reorder(&self, best: Vec<Scored>) -> Vec<Scored> {
        let mut both: Vec<Scored> = best
            .into_iter()
            .map(|one| {
                let alike = self.joined.alike(self.asked, one.at);
                let meaning = alike.map_or(0.0, |alike| self.background.value(alike));
                Scored { value: (1.0 - COUNTS) * one.value + COUNTS * meaning, ..one }
            })
            .collect();
        both.sort_unstable();
        both
    }
}
