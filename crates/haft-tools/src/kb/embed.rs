//! Texts as vectors, by a model that somebody runs: nothing here makes them up.

mod endpoint;
#[cfg(feature = "local-model")]
mod local;

use std::fmt;

use super::base::KbError;
use super::record::Record;

pub use endpoint::{Endpoint, EndpointSetup};
#[cfg(feature = "local-model")]
pub use local::Local;

/// Why texts are turned into vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be kept: it may take its time, and is tried again.
    Import,
    /// Somebody waits.
    Search,
}

/// Something that turns texts into vectors.
pub trait Embed: Send + Sync + fmt::Debug {
    /// What it is: vectors under another name are not compared with its own.
    fn name(&self) -> String;

    /// One vector a text, all of one length.
    ///
    /// # Errors
    ///
    /// The model cannot be reached, refuses, or answers what cannot be used.
    fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, KbError>;
}

/// So many words make a passage: what small models read at once.
const PASSAGE: usize = 180;
/// So many words of the passage before are repeated, lest a sentence fall between two.
const SHARED: usize = 40;
/// Of a very long text the beginning.
const MAX_PASSAGES: usize = 64;

/// What of a record is turned into vectors: its title with each passage of its text.
pub(super) fn passages(record: &Record) -> Vec<String> {
    let words: Vec<&str> = record.body.split_whitespace().collect();
    if words.len() <= PASSAGE + SHARED {
        return vec![joined(&record.title, &words)];
    }
    let step = PASSAGE - SHARED;
    let starts = (0..words.len().saturating_sub(SHARED)).step_by(step).take(MAX_PASSAGES);
    starts
        .map(|start| {
            let end = (start + PASSAGE).min(words.len());
            joined(&record.title, words.get(start..end).unwrap_or_default())
        })
        .collect()
}

fn joined(title: &str, words: &[&str]) -> String {
    match words.is_empty() {
        true => title.to_owned(),
        false => format!("{title}. {}", words.join(" ")),
    }
}

/// A vector of length one, or nothing where it cannot be one.
pub(super) fn normal(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    if !length.is_finite() || length <= f32::MIN_POSITIVE {
        return None;
    }
    vector.iter_mut().for_each(|part| *part /= length);
    Some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each passage, without its title.
    fn lengths(words: usize) -> Vec<usize> {
        let body: String = (0..words).map(|n| format!("w{n} ")).collect();
        let record = serde_json::json!({
            "id": "a", "type": "doc", "title": "t", "body": body, "namespace": "n",
            "source_type": "s", "last_updated": "2026-01-01T00:00:00Z",
        });
        let record: Record = serde_json::from_value(record).unwrap();
        passages(&record).iter().map(|text| text.split_whitespace().count() - 1).collect()
    }

    #[test]
    fn long_texts_are_cut_with_an_overlap() {
        assert_eq!(lengths(0), [0]);
        assert_eq!(lengths(220), [220]);
        assert_eq!(lengths(221), [180, 81]);
        assert_eq!(lengths(600), [180, 180, 180, 180]);
        assert_eq!(lengths(1_000_000).len(), MAX_PASSAGES);
    }

    #[test]
    fn a_direction_has_length_one_or_is_none() {
        assert_eq!(normal(vec![3.0, 4.0]), Some(vec![0.6, 0.8]));
        for none in [vec![], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0]] {
            assert_eq!(normal(none), None);
        }
    }
}
