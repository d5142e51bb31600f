//! `If-Match` where it may be said and need not be: what is changed must then be what the request has read.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;

use crate::problem::Problem;

/// The versions that a change is meant for; whichever there is where none is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct OnlyIf(Option<Vec<String>>);

impl OnlyIf {
    /// Whether it is one of them.
    pub(crate) fn is(&self, tag: &str) -> Result<(), Problem> {
        let Some(tags) = &self.0 else { return Ok(()) };
        match tags.iter().any(|one| one == "*" || one == tag) {
            true => Ok(()),
            false => {
                Err(Problem::precondition_failed("it has changed since, or is another by now"))
            }
        }
    }
}

impl<S: Sync> FromRequestParts<S> for OnlyIf {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let said = parts.headers.get_all(header::IF_MATCH).iter();
        // What cannot be read is no version of anything.
        let tags = said.flat_map(|line| line.to_str().unwrap_or_default().split(','));
        let tags: Vec<_> = tags.map(|tag| tag.trim().to_owned()).collect();
        Ok(Self((!tags.is_empty()).then_some(tags)))
    }
}
