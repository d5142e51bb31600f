//! One change: where, what it is in the user's words, and whom it touches.

use serde::Serialize;
use serde_json::Value;

/// What a change does to those who use the tool. The order is that of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// A caller, a reader of results or someone's trust may break.
    Breaking,
    /// They can notice it, and it breaks nobody.
    Compatible,
    /// It happens behind the contract: the handler, tags, answers to lints.
    Internal,
    /// Only texts for models and people differ.
    Wording,
}

impl Impact {
    /// The word used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Compatible => "compatible",
            Self::Internal => "internal",
            Self::Wording => "wording",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What it does to callers.
    pub impact: Impact,
    /// A JSON pointer: into the new contract, or into the old one for what is gone. What is no
    /// part of the contract has the pointer of its field in the registry's entry.
    pub pointer: String,
    /// What changed, as a sentence.
    pub what: String,
    /// Whether the tool can now do more, or a safeguard is looser: a person should look at it,
    /// whatever it does to callers.
    pub review: bool,
    /// What stood there, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What stands there now, where that helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

impl Change {
    pub(super) fn new(impact: Impact, pointer: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            impact,
            pointer: pointer.into(),
            what: what.into(),
            review: false,
            before: None,
            after: None,
        }
    }

    pub(super) fn values(self, before: impl Into<Value>, after: impl Into<Value>) -> Self {
        self.optional_values(Some(before), Some(after))
    }

    pub(super) fn optional_values(
        self,
        before: Option<impl Into<Value>>,
        after: Option<impl Into<Value>>,
    ) -> Self {
        Self { before: before.map(Into::into), after: after.map(Into::into), ..self }
    }

    /// Asks a person to look at it.
    pub(super) fn look(self) -> Self {
        self.look_if(true)
    }

    pub(super) fn look_if(self, condition: bool) -> Self {
        Self { review: self.review || condition, ..self }
    }

    pub(super) fn is_breaking(&self) -> bool {
        self.impact == Impact::Breaking
    }
}

/// A value as a sentence shows it: JSON, cut where it would drown the sentence.
pub(super) fn shown(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Words in backticks, joined by commas.
pub(super) fn list<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{}`", word.as_ref())).collect();
    words.join(", ")
}
