//! What the client was told about one key.

use crate::dice;
use crate::words::Act;

/// The last word on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    None,
    Done,
    Failed,
    Unknown,
}

#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) act: Act,
    pub(crate) item: u64,
    pub(crate) occurrence: u32,
    pub(crate) word: Word,
    pub(crate) receipt: Option<u64>,
    /// A success was followed by something else, or by another success.
    pub(crate) denied: Option<&'static str>,
    /// The effect's call, where it is needed: to probe, to undo.
    pub(crate) call: Option<String>,
    /// Calls that are said to have failed.
    pub(crate) failed: Vec<String>,
    pub(crate) undone: bool,
    pub(crate) tries: u8,
}

impl Told {
    pub(crate) fn new(act: Act, item: u64, occurrence: u32) -> Self {
        Self {
            act,
            item,
            occurrence,
            word: Word::None,
            receipt: None,
            denied: None,
            call: None,
            failed: Vec::new(),
            undone: false,
            tries: 0,
        }
    }

    /// Whether the same act is meant twice, under two occurrences.
    pub(crate) fn twin(&self) -> bool {
        matches!(self.act, Act::Order | Act::Book)
            && dice::permille(&["twin", &self.item.to_string()]) < 10
    }

    /// Whether it may be asked once more.
    pub(super) fn asks(&mut self, most: u8) -> bool {
        self.tries = self.tries.saturating_add(1);
        self.tries <= most
    }

    pub(super) fn done(&mut self, receipt: Option<u64>) {
        if let (Some(before), Some(now)) = (self.receipt, receipt)
            && before != now
        {
            self.denied = Some("two successes with different answers");
        }
        self.receipt = self.receipt.or(receipt);
        self.word = Word::Done;
    }

    pub(super) fn failed(&mut self, _kind: &str, call: String, after_done: bool) {
        self.failed.push(call);
        match self.word {
            Word::Done if after_done => self.denied = Some("a failure after a success"),
            Word::Done => {}
            Word::None | Word::Failed | Word::Unknown => self.word = Word::Failed,
        }
    }

    /// Returns whether that is new.
    pub(super) fn unknown(&mut self, call: String, after_done: bool) -> bool {
        match self.word {
            Word::Done if after_done => {
                self.denied = Some("unknown after a success");
                false
            }
            Word::Done => false,
            Word::Unknown if self.call.as_ref() == Some(&call) => false,
            Word::None | Word::Failed | Word::Unknown => {
                self.word = Word::Unknown;
                self.call = Some(call);
                true
            }
        }
    }
}
