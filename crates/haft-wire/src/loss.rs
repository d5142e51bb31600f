//! What a dialect could not say, and what was done about it.

use serde::Serialize;

/// Something that a contract says and a rendering says otherwise or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The tool's canonical id.
    pub tool: String,
    /// Where in the contract: a JSON pointer.
    pub pointer: String,
    /// The keyword of JSON Schema, or the contract's field.
    pub keyword: String,
    /// What became of it.
    pub fate: Fate,
    /// What that means, in a sentence.
    pub note: String,
}

/// How the notes begin of what holds for no value at all.
pub(crate) const IDLE: &str = "it says nothing";

impl Loss {
    /// Whether it is of a rule that values are held to, or of what happens without one: not of words
    /// about them.
    pub(crate) fn binds(&self) -> bool {
        let words = ["title", "description", "examples", "deprecated"];
        !words.contains(&self.keyword.as_str()) && !self.note.starts_with(IDLE)
    }
}

/// What became of something that a dialect cannot say. Later variants lose more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is said in another form, which is undone when arguments come back.
    Changed,
    /// The description says it: the model is told, the provider does not hold it to that.
    Described,
    /// Something near it is said.
    Approximated,
    /// It is not said.
    Dropped,
}

impl Fate {
    /// Every fate, from the least loss to the most.
    pub const ALL: [Self; 4] = [Self::Changed, Self::Described, Self::Approximated, Self::Dropped];

    /// The word used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Described => "described",
            Self::Approximated => "approximated",
            Self::Dropped => "dropped",
        }
    }

    /// Whether anything is lost: what is undone on the way back is not.
    #[must_use]
    pub fn is_loss(self) -> bool {
        match self {
            Self::Changed => false,
            Self::Described | Self::Approximated | Self::Dropped => true,
        }
    }
}

/// A tool that is left out, because what could be said of it would be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    /// The tool's canonical id.
    pub tool: String,
    /// Where in the contract: a JSON pointer.
    pub pointer: String,
    /// Why, in a sentence.
    pub reason: String,
}
