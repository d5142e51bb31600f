//! Registries in the words of others.
//!
//! What a format cannot say is listed as a [`Loss`], tool by tool; a tool that it cannot express
//! at all is left out and listed, and never stops the rest.

mod adm;
mod json_schema;

#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;

pub use adm::adm;
pub use json_schema::json_schema;

/// Something that the contract says and the export does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The tool's canonical id.
    pub tool: String,
    /// Where in the contract.
    pub pointer: String,
    /// The keyword or field.
    pub keyword: String,
    /// What became of it.
    pub what: Lost,
    /// What that means, in a sentence.
    pub note: String,
}

/// What became of something that a format cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// It is not said.
    Dropped,
    /// Something near it is said.
    Approximated,
    /// The whole tool is left out.
    LeftOut,
}
