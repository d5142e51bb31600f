//! Making tools out of what somebody wrote down outside of any toolset.

use serde_json::Value;

use crate::registry::Tool;

/// A tool as it was written: its contract, and its documents where there are any.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// The canonical id that it is to have.
    pub id: &'a str,
    /// The contract, as a tool's folder would hold it.
    pub contract: &'a Value,
    /// What is always in the prompt; the contract's description when left out.
    pub summary: Option<&'a str>,
    /// The full document.
    pub doc: Option<&'a str>,
}

/// Something that is wrong with a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Whether it keeps the tool from being made.
    pub is_error: bool,
    /// Where: a JSON pointer into `{contract, summary, doc}`.
    pub pointer: String,
    /// The stable code, `H122` say.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// Compiles drafts by the rules that toolsets are compiled by.
pub trait Define: Send + Sync {
    /// The tool, where nothing is wrong with it, and whatever there is to say. The same draft gives
    /// the same tool.
    fn define(&self, draft: &Draft<'_>) -> (Option<Tool>, Vec<Flaw>);

    /// What is wrong with what a tool says about others: the tool that undoes it, the one that can
    /// tell whether it happened.
    fn relate(&self, tool: &Tool, others: &[&Tool]) -> Vec<Flaw>;
}
