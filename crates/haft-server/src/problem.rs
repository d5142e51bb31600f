//! What goes wrong, as `application/problem+json` (RFC 9457): one edge, one table of statuses.

mod documented;
mod kinds;
mod named;

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

pub(crate) use self::documented::{Absent, NoKey, NoRole, NoSession, Outdated, Unchanged};
pub(crate) use self::kinds::retry_after;
pub use self::kinds::status;

/// Where this server shows the page of each code.
pub(crate) const PAGES: &str = "/errors/";

/// A request that was not carried out, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// The address of the code's page.
    #[serde(rename = "type")]
    kind: String,
    /// The HTTP status in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What went wrong.
    detail: String,
    /// The stable code: one of the kinds of error, or a word of HTTP's own.
    code: String,
    /// What to do next.
    suggestion: String,
    /// More, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::shapes::Open>)]
    details: Option<Value>,
    /// Seconds to wait.
    #[serde(skip)]
    retry_after: Option<u64>,
}

impl Problem {
    fn new(status: StatusCode, code: &str, detail: impl Into<String>, suggestion: &str) -> Self {
        Self {
            kind: format!("{PAGES}{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            suggestion: suggestion.to_owned(),
            details: None,
            retry_after: None,
        }
    }

    /// With other words on what to do.
    pub(crate) fn advise(mut self, suggestion: &str) -> Self {
        suggestion.clone_into(&mut self.suggestion);
        self
    }

    /// With how many seconds to wait.
    pub(crate) fn again_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// How many seconds to wait, where that is known.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// With more for programs.
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// More for programs.
    pub(crate) fn details(&self) -> Option<&Value> {
        self.details.as_ref()
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn suggestion(&self) -> &str {
        &self.suggestion
    }

    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// What went wrong and what to do, in one line.
    pub(crate) fn in_words(&self) -> String {
        format!("{}; {}", self.detail, self.suggestion)
    }

    /// The page of a code that is no kind of a call's end.
    pub(crate) fn page(&self) -> String {
        let detail = match self.code.as_str() {
            "too_large" => "the body has more bytes than `server.max_body_bytes`",
            _ => &self.detail,
        };
        let (code, status, title) = (&self.code, self.status, &self.title);
        format!("# {code}\n\n{status} {title}: {detail}.\n\nWhat to do: {}.\n", self.suggestion)
    }

    /// How many seconds to wait, said anew to each.
    pub(crate) fn wait(&self) -> Option<HeaderValue> {
        self.retry_after.map(|seconds| HeaderValue::from(spread(seconds)))
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let status = self.status();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(wait) = self.wait() {
            headers.insert(header::RETRY_AFTER, wait);
        }
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"haft\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        // For doors whose clients read another shape.
        response.extensions_mut().insert(self);
        response
    }
}

/// So many seconds at most are added to a wait.
const SPREAD: u64 = 5;

/// A wait, or a little more: those who were turned away together do not come back together.
fn spread(seconds: u64) -> u64 {
    // Each state hashes nothing to another number; nobody's safety hangs on which.
    let number = RandomState::new().build_hasher().finish();
    seconds + number % (seconds.min(SPREAD) + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn those_who_are_told_to_wait_are_told_to_wait_differently() {
        let told = |problem: fn() -> Problem| -> BTreeSet<u64> {
            let wait = |_| {
                let response = problem().into_response();
                let wait = response.headers().get(header::RETRY_AFTER).unwrap();
                wait.to_str().unwrap().parse().unwrap()
            };
            (0..1_000).map(wait).collect()
        };
        assert_eq!(told(Problem::overloaded), BTreeSet::from([1, 2]));
        assert_eq!(told(Problem::too_often), (60..=65).collect());
    }
}
