//! Words and meaning together.
//!
//! Both are on the scale of scores, so they can be added: what matches by words and by meaning is
//! before what matches by one of them. The best of that move the query a little towards what they
//! mean, and everything is compared once more.

use std::collections::HashSet;

use super::base::Open;
use super::feedback;
use super::filter::Filter;
use super::meaning::{Background, Joined};
use super::rank::{Scored, Scorer, Share, bent};
use super::vectors::Asked;

/// How much meaning counts.
const COUNTS: f32 = 0.5;

/// So many of the first finds say what is meant.
const RECORDS: usize = 5;

/// Ranks by words and meaning.
pub(super) struct Fusion<'a> {
    pub(super) open: &'a Open,
    pub(super) joined: &'a Joined,
    pub(super) scorer: &'a Scorer<'a>,
    pub(super) shares: &'a [Share],
    pub(super) typical: &'a [Share],
    pub(super) filter: &'a Filter,
    /// How many candidates are looked at.
    pub(super) most: usize,
}

impl Fusion<'_> {
    /// The candidates by both, with those that words alone have not found; and how many share no
    /// word at all. `best` has scores.
    pub(super) fn rank(
        &self,
        asked: &Asked,
        best: Vec<Scored>,
        total: usize,
    ) -> tantivy::Result<(Vec<Scored>, usize)> {
        let mut candidates = best;
        let (background, mut without) = self.near(asked, &mut candidates)?;
        let first = self.order(asked, background, &candidates);
        let known = feedback::wanted(total).min(RECORDS);
        let moved = match first.get(..known).filter(|known| !known.is_empty()) {
            Some(known) => self.joined.toward(asked, known),
            None => None,
        };
        let Some(moved) = moved else { return Ok((first, without)) };
        let (background, more) = self.near(&moved, &mut candidates)?;
        without += more;
        Ok((self.order(&moved, background, &candidates), without))
    }

    /// Adds what is near in meaning.
    fn near(
        &self,
        asked: &Asked,
        candidates: &mut Vec<Scored>,
    ) -> tantivy::Result<(Background, usize)> {
        let (near, background) = self.joined.best(asked, self.open, self.filter, self.most)?;
        let known: HashSet<_> = candidates.iter().map(|one| one.at).collect();
        let mut others: Vec<Scored> = near
            .into_iter()
            .filter(|one| background.stands_out(one.value) && !known.contains(&one.at))
            .collect();
        let values = self.scorer.some(self.shares, &others)?;
        let without = values.iter().filter(|value| **value == 0.0).count();
        others.iter_mut().zip(values).for_each(|(one, value)| one.value = value);
        feedback::mix(self.scorer, self.typical, &mut others)?;
        others.iter_mut().for_each(|one| one.value = bent(one.value));
        candidates.extend(others);
        Ok((background, without))
    }

    fn order(&self, asked: &Asked, background: Background, candidates: &[Scored]) -> Vec<Scored> {
        let mut both: Vec<Scored> = candidates
            .iter()
            .map(|one| {
                let alike = self.joined.alike(asked, one.at);
                let meaning = alike.map_or(0.0, |alike| background.value(alike));
                Scored { value: (1.0 - COUNTS) * one.value + COUNTS * meaning, at: one.at }
            })
            .collect();
        both.sort_unstable();
        both
    }
}
