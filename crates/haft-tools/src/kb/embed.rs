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
