//! Which version bump a tool owes, and which it made.

use haft_core::Contract;
use serde::Serialize;

use super::change::{Change, Impact};

/// The bump that a tool's changes ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bump {
    /// Nothing changed.
    None,
    /// The last number.
    Patch,
    /// The middle number.
    Minor,
    /// The first number.
    Major,
}

impl Bump {
    /// What `changes` to a contract of this version ask for.
    ///
    /// Before 1.0 the middle number takes the place of the first and the last that of the middle,
    /// as Cargo and npm read it.
    pub(super) fn owed(old: &Contract, changes: &[Change]) -> Self {
        let stable = old.version.major > 0;
        match (changes.iter().map(|change| change.impact).min(), stable) {
            (Some(Impact::Breaking), true) => Self::Major,
            (Some(Impact::Breaking), false) | (Some(Impact::Compatible), true) => Self::Minor,
            (Some(Impact::Compatible), false) | (Some(Impact::Internal | Impact::Wording), _) => {
                Self::Patch
            }
            (None, _) => Self::None,
        }
    }

    /// The word used in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        }
    }
}

/// The step from the old version to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// The new version is lower than the old one.
    Backwards,
    /// The versions are the same (what follows a `+` does not count).
    None,
    /// The last number rose.
    Patch,
    /// The middle number rose.
    Minor,
    /// The first number rose.
    Major,
}

impl Made {
    pub(super) fn between(old: &Contract, new: &Contract) -> Self {
        let (old, new) = (&old.version, &new.version);
        match new.cmp_precedence(old) {
            std::cmp::Ordering::Less => Self::Backwards,
            std::cmp::Ordering::Equal => Self::None,
            std::cmp::Ordering::Greater if new.major != old.major => Self::Major,
            std::cmp::Ordering::Greater if new.minor != old.minor => Self::Minor,
            std::cmp::Ordering::Greater if new.patch != old.patch => Self::Patch,
            // Only the pre-release moved. `2.0.0-beta` stands for the step to 2.0.0, which nobody
            // relies on before it is out.
            std::cmp::Ordering::Greater => match (new.minor, new.patch) {
                (0, 0) => Self::Major,
                (_, 0) => Self::Minor,
                (_, _) => Self::Patch,
            },
        }
    }

    /// Whether this step is large enough.
    #[must_use]
    pub fn pays(self, owed: Bump) -> bool {
        let enough = match owed {
            Bump::None => Self::None,
            Bump::Patch => Self::Patch,
            Bump::Minor => Self::Minor,
            Bump::Major => Self::Major,
        };
        self >= enough
    }
}
