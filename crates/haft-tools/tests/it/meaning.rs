//! What a real model says about a few texts: `all-MiniLM-L6-v2`, worked out from its weights by
//! `scripts/minilm-vectors.py` and kept in `meaning/vectors.jsonl`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Two dozen records about as many things.
pub(crate) const RECORDS: &str = include_str!("meaning/records.jsonl");
const VECTORS: &str = include_str!("meaning/vectors.jsonl");

/// Questions that share no word with the record that answers them.
pub(crate) const QUESTIONS: [(&str, &str); 5] = [
    ("boat trip across the bay", "doc:ferry"),
    ("how much money do we still have", "doc:budget"),
    ("I am sick today", "doc:illness"),
    ("forgot my login", "doc:password"),
    ("baking a loaf", "doc:bread"),
];

#[derive(Deserialize)]
struct Line {
    text: String,
    scale: f32,
    parts: String,
}

/// The vectors by text.
pub(crate) static KNOWN: LazyLock<HashMap<String, Vec<f32>>> = LazyLock::new(|| {
    let lines = VECTORS.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
    lines.map(|line| (line.text.clone(), line.vector())).collect()
});

impl Line {
    fn vector(&self) -> Vec<f32> {
        let byte = |at: usize| u8::from_str_radix(&self.parts[at..at + 2], 16).unwrap();
        let parts = (0..self.parts.len()).step_by(2).map(byte);
        parts.map(|byte| f32::from(byte.cast_signed()) * self.scale).collect()
    }
}
