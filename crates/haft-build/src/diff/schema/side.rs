//! Who relies on a schema, and what a change of it does to them.

use crate::diff::change::Impact;

/// Who relies on the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::diff) enum Side {
    /// Callers, who send values.
    Arguments {
        /// Whether the tool changes something, so that a call that means something else does harm.
        writes: bool,
    },
    /// Readers, who receive them and pass over members that they do not know.
    Results,
}

/// How the set of accepted values moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    /// Everything accepted before still is, and more.
    Wider,
    /// Some values are no longer accepted, and none are new.
    Narrower,
    /// Both, or nobody can tell.
    Other,
}

impl Side {
    pub(super) fn impact(self, shift: Shift) -> Impact {
        match (self, shift) {
            (Self::Arguments { .. }, Shift::Wider) | (Self::Results, Shift::Narrower) => {
                Impact::Compatible
            }
            (Self::Arguments { .. }, Shift::Narrower)
            | (Self::Results, Shift::Wider)
            | (_, Shift::Other) => Impact::Breaking,
        }
    }

    /// Where the schema stands in a contract.
    pub(super) fn pointer(self) -> &'static str {
        match self {
            Self::Arguments { .. } => "/parameters",
            Self::Results => "/output",
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Arguments { .. } => "parameter",
            Self::Results => "result field",
        }
    }

    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Arguments { .. } => "takes",
            Self::Results => "gives",
        }
    }

    /// The subject of a sentence about the schema of this name; the root has none.
    pub(super) fn subject(self, name: &str) -> String {
        match (self, name) {
            (Self::Arguments { .. }, "") => "arguments".to_owned(),
            (Self::Results, "") => "result".to_owned(),
            (_, name) => format!("{} `{name}`", self.noun()),
        }
    }
}
