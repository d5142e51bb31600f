//! What a form was made for. Names stay while what they stand for becomes another: a form counts for what
//! its page showed, and for nothing else.

use haft_core::{Digest, Tool};
use maud::{Markup, html};

use super::posted::Posted;

/// The hidden field.
const FIELD: &str = "made-for";

/// What a form was made for, as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MadeFor(String);

impl MadeFor {
    /// A tool: its fields are in the places that its parameters have.
    pub(crate) fn tool(tool: &Tool) -> Self {
        Self(tool.digest.to_string())
    }

    /// An account elsewhere. New secrets and tokens do not make it another.
    pub(crate) fn account(
        made_ms: Option<i64>,
        provider: &str,
        kind: &str,
        hosts: &[String],
    ) -> Self {
        Self(Digest::of_json(&(made_ms, provider, kind, hosts)).to_string())
    }

    /// The field in the form.
    pub(crate) fn field(&self) -> Markup {
        html! { input type="hidden" name=(FIELD) value=(self.0); }
    }

    /// The same for one of several things that the form lets somebody choose.
    pub(crate) fn field_of(&self, one: &str) -> Markup {
        html! { input type="hidden" name={ (FIELD) "." (one) } value=(self.0); }
    }

    /// Whether a form was made for this.
    pub(crate) fn is_in(&self, form: &Posted) -> bool {
        form.one(FIELD) == Some(&self.0)
    }

    /// Whether a form was made for this where one of several was chosen.
    pub(crate) fn is_chosen_in(&self, form: &Posted, one: &str) -> bool {
        form.one(&format!("{FIELD}.{one}")) == Some(&self.0)
    }
}
