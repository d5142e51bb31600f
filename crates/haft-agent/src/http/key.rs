//! The key, known so that it can be kept out of whatever the server says.

use std::sync::Arc;

use haft_core::port::Boxed;
use haft_core::secret::SecretText;
use haft_runtime::redact::{Scrubber, Secret};
use reqwest::header::{HeaderName, HeaderValue};

use super::Provider;
use crate::model::Refusal;

/// So many keys that were used before are still known: an answer may be under way with one.
const BEFORE: usize = 4;

/// Where a key comes from that may change while a program runs.
pub trait Keys: Send + Sync {
    /// The key as it is now, or why there is none, in words for people.
    fn key<'a>(&'a self) -> Boxed<'a, Result<SecretText, String>>;
}

/// Keys that were used, the last one first.
#[derive(Clone, Default)]
pub(super) struct Used {
    texts: Vec<SecretText>,
    pub(super) header: Option<(HeaderName, HeaderValue)>,
    pub(super) hidden: Arc<Hidden>,
}

impl Used {
    /// With this key as the last one.
    pub(super) fn with(&self, key: &SecretText, provider: Provider) -> Result<Self, String> {
        let key = SecretText::new(key.expose().trim());
        if self.texts.first().is_some_and(|last| last.expose() == key.expose()) {
            return Ok(self.clone());
        }
        let (name, value) = provider.authorization(key.expose());
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| {
            "the key of the model has characters that no header can have, a line break say; copy it \
             anew"
                .to_owned()
        })?;
        value.set_sensitive(true);
        let before = self.texts.iter().filter(|one| one.expose() != key.expose());
        let before: Vec<SecretText> = before.take(BEFORE).cloned().collect();
        let texts: Vec<SecretText> = std::iter::once(key).chain(before).collect();
        let hidden = Arc::new(Hidden::new(&texts)?);
        Ok(Self { texts, header: Some((HeaderName::from_static(name), value)), hidden })
    }
}

/// Takes the keys out of texts, in every spelling that a [`Scrubber`] knows.
#[derive(Default)]
pub(super) struct Hidden(Option<Scrubber>);

impl Hidden {
    fn new(keys: &[SecretText]) -> Result<Self, String> {
        let unfit = |why: String| format!("the key of the model cannot be used: {why}");
        let secret = |key: &SecretText| {
            Secret::new("model-key", key.expose()).map_err(|why| unfit(why.to_string()))
        };
        let secrets = keys.iter().map(secret).collect::<Result<Vec<_>, _>>()?;
        Scrubber::new(&secrets).map(|known| Self(Some(known))).map_err(|why| unfit(why.to_string()))
    }

    pub(super) fn text(&self, text: String) -> String {
        match self.0.as_ref().map(|known| known.text(&text)) {
            None => text,
            Some(Ok(clean)) => clean.into_owned(),
            Some(Err(why)) => format!("(withheld: {why})"),
        }
    }

    pub(super) fn refusal(&self, refusal: Refusal) -> Refusal {
        let code = refusal.code.map(|code| self.text(code));
        Refusal { message: self.text(refusal.message), code, ..refusal }
    }
}
