//! What searches of one state of the index leave for the next ones: bounded, and gone with the
//! state, so nothing in it can be out of date.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::bits::Bits;
use super::words::{Language, Reader};

/// The sets of documents together have no more bytes than this.
const SETS: usize = 64 << 20;
/// Of so many words it is remembered how many records have them.
const WORDS: usize = 50_000;
/// So many slates and readers wait for a search: about as many as search at once.
const SPARE: usize = 8;

/// One memory for all searches of a state.
#[derive(Default)]
pub(super) struct Memory {
    sets: Mutex<Sets>,
    words: Mutex<HashMap<String, u64>>,
    slates: Mutex<Vec<Slate>>,
    readers: Mutex<Vec<Reader>>,
}

#[derive(Default)]
struct Sets {
    bytes: usize,
    /// By segment and field, then by value.
    known: HashMap<(u32, u32), HashMap<String, Arc<Bits>>>,
}

impl Memory {
    /// The documents of a segment that have a value.
    pub(super) fn set(&self, place: (u32, u32), value: &str) -> Option<Arc<Bits>> {
        self.sets.lock().known.get(&place)?.get(value).cloned()
    }

    pub(super) fn keep_set(&self, place: (u32, u32), value: &str, bits: &Arc<Bits>) {
        let mut sets = self.sets.lock();
        if sets.bytes.saturating_add(bits.bytes()) > SETS {
            *sets = Sets::default();
        }
        sets.bytes = sets.bytes.saturating_add(bits.bytes());
        sets.known.entry(place).or_default().insert(value.to_owned(), bits.clone());
    }

    /// How many records have a word; counted where nobody has asked before.
    pub(super) fn having(
        &self,
        word: &str,
        count: impl FnOnce() -> tantivy::Result<u64>,
    ) -> tantivy::Result<u64> {
        if let Some(known) = self.words.lock().get(word) {
            return Ok(*known);
        }
        let having = count()?;
        let mut words = self.words.lock();
        if words.len() >= WORDS {
            words.clear();
        }
        words.insert(word.to_owned(), having);
        Ok(having)
    }

    /// A reader of words, which remembers the stems of the searches before.
    pub(super) fn reader(&self, language: Language) -> Reader {
        self.readers.lock().pop().unwrap_or_else(|| Reader::new(language))
    }

    pub(super) fn give_back_reader(&self, reader: Reader) {
        let mut readers = self.readers.lock();
        if readers.len() < SPARE {
            readers.push(reader);
        }
    }

    /// A slate with room for the documents of a segment.
    pub(super) fn slate(&self, documents: u32) -> Slate {
        let mut slate = self.slates.lock().pop().unwrap_or_default();
        let documents = documents as usize;
        if slate.values.len() < documents {
            slate.values.resize(documents, 0.0);
        }
        slate
    }

    /// Takes a slate back that was wiped.
    pub(super) fn give_back(&self, slate: Slate) {
        let mut slates = self.slates.lock();
        if slates.len() < SPARE && slate.touched.is_empty() {
            slates.push(slate);
        }
    }
}

/// Values of documents, most of them none. Wiped by whoever reads it.
#[derive(Default)]
pub(super) struct Slate {
    values: Vec<f32>,
    touched: Vec<u32>,
}

impl Slate {
    /// Adds to a document's value; what is added is more than nothing.
    pub(super) fn add(&mut self, document: u32, more: f32) {
        if let Some(value) = self.values.get_mut(document as usize) {
            if *value == 0.0 {
                self.touched.push(document);
            }
            *value += more;
        }
    }

    /// Hands over the documents with a value, and wipes them.
    pub(super) fn wipe(&mut self, mut take: impl FnMut(u32, f32)) {
        let Self { values, touched } = self;
        for document in touched.drain(..) {
            if let Some(value) = values.get_mut(document as usize) {
                take(document, std::mem::take(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slate_is_clean_when_it_comes_back() {
        let memory = Memory::default();
        let mut slate = memory.slate(10);
        slate.add(3, 0.5);
        slate.add(7, 1.0);
        slate.add(3, 0.25);
        slate.add(99, 1.0);
        let mut seen = Vec::new();
        slate.wipe(|document, value| seen.push((document, value)));
        assert_eq!(seen, [(3, 0.75), (7, 1.0)]);
        memory.give_back(slate);
        let mut again = memory.slate(5);
        again.wipe(|_, _| unreachable!());
        assert!(again.values.iter().all(|value| *value == 0.0));
        assert_eq!(again.values.len(), 10);
        // One that was left in the middle is not used again.
        again.add(1, 1.0);
        memory.give_back(again);
        assert!(memory.slates.lock().is_empty());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let memory = Memory::default();
        let large = Arc::new(Bits::none((SETS * 8 / 2) as u32));
        for value in ["a", "b", "c"] {
            memory.keep_set((0, 0), value, &large);
        }
        assert!(memory.set((0, 0), "a").is_none() && memory.set((0, 0), "c").is_some());
        for number in 0..=WORDS {
            memory.having(&number.to_string(), || Ok(1)).unwrap();
        }
        assert!(memory.words.lock().len() <= WORDS);
        assert_eq!(memory.having("once", || Ok(7)).unwrap(), 7);
        assert_eq!(memory.having("once", || Ok(8)).unwrap(), 7);
    }
}
