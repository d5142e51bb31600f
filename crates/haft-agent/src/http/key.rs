//! The key, known so that it can be kept out of whatever the server says.

use haft_runtime::redact::{Scrubber, Secret};

use crate::model::Refusal;

/// Takes the key out of texts, in every spelling that a [`Scrubber`] knows.
pub(super) struct Hidden(Option<Scrubber>);

impl Hidden {
    /// `None` is a server that needs no key.
    pub(super) fn new(key: Option<&str>) -> Result<Self, String> {
        let Some(key) = key else { return Ok(Self(None)) };
        let unfit = |why: String| format!("the key of the model cannot be used: {why}");
        let secret = Secret::new("model-key", key).map_err(|why| unfit(why.to_string()))?;
        Scrubber::new(&[secret])
            .map(|known| Self(Some(known)))
            .map_err(|why| unfit(why.to_string()))
    }

    pub(super) fn text(&self, text: String) -> String {
        match self.0.as_ref().map(|known| known.text(&text)) {
            None => text,
            Some(Ok(clean)) => clean.into_owned(),
            Some(Err(why)) => format!("(withheld: {why})"),
        }
    }

    pub(super) fn refusal(&self, refusal: Refusal) -> Refusal {
        Refusal { message: self.text(refusal.message), ..refusal }
    }
}
