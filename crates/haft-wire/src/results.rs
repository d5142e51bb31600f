//! Outcomes → a provider's tool messages: everything that one turn asked for, answered in the
//! message and the order that the dialect wants.
//!
//! ```
//! use haft_core::outcome::{Envelope, Meta};
//! use haft_wire::results::{Answer, results};
//! use haft_wire::Dialect;
//! use serde_json::json;
//!
//! let envelope = Envelope { result: Ok(json!({"sum": 3})), intents: vec![], meta: Meta::default() };
//! let answer = Answer { id: Some("call_1"), name: "core__add", envelope: &envelope };
//! assert_eq!(
//!     results(Dialect::OpenAiChat, &[answer]),
//!     [json!({"role": "tool", "tool_call_id": "call_1", "content": "{\"sum\":3}"})]
//! );
//! ```

mod adm;
mod anthropic;
mod gemini;
mod malformed;
mod mcp;
mod openai;
mod told;

#[cfg(test)]
mod tests;

use haft_core::Envelope;
use serde_json::{Value, json};

use crate::Dialect;
pub use malformed::{error as malformed_error, malformed, unreadable};
pub use mcp::CallToolResult;
pub use told::{Told, told};

/// What one call of a turn came to.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The provider's id; absent where it gave none. A dialect that cannot do without one uses the
    /// envelope's.
    pub id: Option<&'a str>,
    /// The tool's name on the wire, as the model called it.
    pub name: &'a str,
    /// The end of the call.
    pub envelope: &'a Envelope,
}

impl Answer<'_> {
    /// The id by which a dialect pairs calls and answers.
    fn pair(&self) -> &str {
        self.id.unwrap_or(&self.envelope.meta.call_id)
    }
}

/// The answers to the calls of one turn, in the order of the calls: what is appended to the
/// conversation, after what the model said.
#[must_use]
pub fn results(dialect: Dialect, answers: &[Answer<'_>]) -> Vec<Value> {
    reply(dialect, answers, &[])
}

/// The answers to the calls of one turn, and what the user says with them: newer messages, or a
/// remark that belongs to no call. MCP and ADM have answers only.
#[must_use]
pub fn reply(dialect: Dialect, answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    match dialect {
        Dialect::OpenAiChat => openai::chat(answers, words),
        Dialect::OpenAiResponses => openai::responses(answers, words),
        Dialect::OpenAiRealtime => openai::realtime(answers, words),
        Dialect::Anthropic => anthropic::reply(answers, words),
        Dialect::Gemini => gemini::reply(answers, words),
        Dialect::GeminiLive => gemini::live(answers, words),
        Dialect::Mcp => {
            answers.iter().map(|answer| json!(CallToolResult::new(answer.envelope))).collect()
        }
        Dialect::Adm => answers.iter().map(adm::result).collect(),
    }
}

/// A message of the user.
#[must_use]
pub fn message(dialect: Dialect, text: &str) -> Vec<Value> {
    reply(dialect, &[], &[text])
}
