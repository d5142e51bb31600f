//! What a call does to the world, and what follows from that when a contract does not say.

use serde::{Deserialize, Serialize};

/// Whether the tool reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffects {
    /// Touches nothing.
    None,
    /// Reads state outside of its arguments.
    ReadOnly,
    /// Changes state.
    Writes,
}

impl SideEffects {
    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ReadOnly => "read_only",
            Self::Writes => "writes",
        }
    }
}

/// How far an effect reaches. Later variants reach further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes.
    ReadOnly,
    /// State that we hold changes.
    StateChange,
    /// Something outside changes.
    ExternalSideEffect,
}

impl Effect {
    /// Every effect.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::StateChange, Self::ExternalSideEffect];

    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::StateChange => "state_change",
            Self::ExternalSideEffect => "external_side_effect",
        }
    }

    /// The effect of a contract that does not name one. `reaches_out`: it has a gateway, a
    /// connection, or the `http` or `messaging` capability.
    #[must_use]
    pub fn derive(side_effects: SideEffects, reaches_out: bool) -> Self {
        match (side_effects, reaches_out) {
            (SideEffects::None | SideEffects::ReadOnly, _) => Self::ReadOnly,
            (SideEffects::Writes, true) => Self::ExternalSideEffect,
            (SideEffects::Writes, false) => Self::StateChange,
        }
    }
}

/// What may be done when an outcome is unknown. Later variants forgive less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffectPolicy {
    /// Nothing happened, whatever happened.
    Pure,
    /// Repeating gives the same state.
    Idempotent,
    /// Another tool undoes it.
    Compensatable,
    /// Nothing undoes it.
    Irreversible,
}

impl SideEffectPolicy {
    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Idempotent => "idempotent",
            Self::Compensatable => "compensatable",
            Self::Irreversible => "irreversible",
        }
    }

    /// The policy of a contract that does not name one.
    ///
    /// ```
    /// use haft_core::contract::{SideEffectPolicy, SideEffects};
    /// let policy = SideEffectPolicy::derive(SideEffects::Writes, false, false);
    /// assert_eq!(policy, SideEffectPolicy::Irreversible, "what nobody has thought about is not repeated");
    /// ```
    #[must_use]
    pub fn derive(side_effects: SideEffects, idempotent: bool, compensation: bool) -> Self {
        match (side_effects, idempotent, compensation) {
            (SideEffects::None | SideEffects::ReadOnly, _, _) => Self::Pure,
            (SideEffects::Writes, true, _) => Self::Idempotent,
            (SideEffects::Writes, false, true) => Self::Compensatable,
            (SideEffects::Writes, false, false) => Self::Irreversible,
        }
    }
}
