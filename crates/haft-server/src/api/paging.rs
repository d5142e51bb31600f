//! Lists that grow, a page at a time: the newest first, and a link to what comes after.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

use crate::problem::Problem;

/// The most that a page has.
const MOST: usize = 1_000;
/// What it has where nobody says.
const USUAL: usize = 100;

/// One page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paging(usize);

impl Paging {
    pub(crate) fn new(limit: Option<usize>) -> Result<Self, Problem> {
        most(limit).map(Self)
    }

    /// How many to look for: one more than are shown says whether there are more.
    pub(crate) fn wanted(self) -> usize {
        self.0 + 1
    }

    /// The page, and as a `Link` the address of the next one: this request's, after the last that
    /// is shown.
    pub(crate) fn respond<T>(
        self,
        uri: &Uri,
        by: &str,
        mut found: Vec<T>,
        name: impl Fn(&T) -> String,
        shown: impl Fn(&T) -> Value,
    ) -> Response {
        let more = found.len() > self.0;
        found.truncate(self.0);
        let page: Vec<Value> = found.iter().map(shown).collect();
        let mut response = Json(page).into_response();
        if let Some(last) = found.last().filter(|_| more)
            && let Ok(link) = HeaderValue::from_str(&next(uri, by, &name(last)))
        {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}

/// How many a page has. Nobody who asks for none means it, and whoever asks for more than there may be
/// would take a part for the whole.
pub(crate) fn most(limit: Option<usize>) -> Result<usize, Problem> {
    match limit.unwrap_or(USUAL) {
        wanted @ 1..=MOST => Ok(wanted),
        _ => {
            let advice = format!("ask for 1 to {MOST}, or leave it out for {USUAL}");
            Err(Problem::malformed(format!("`limit`: a page has 1 to {MOST}")).advise(&advice))
        }
    }
}

/// What is not in a list cannot be gone on after.
pub(crate) fn no_place(after: impl std::fmt::Display) -> Problem {
    let why = format!("`after`: there is nothing with the id `{after}`");
    Problem::malformed(why)
        .advise("follow the `Link` of the page before, or leave `after` out to begin at the newest")
}

/// An empty page is the end of a list only where there is what it is to come after.
pub(crate) async fn placed<T, U>(
    found: &[T],
    after: Option<&str>,
    last: impl Future<Output = Result<U, Problem>>,
) -> Result<(), Problem> {
    let Some(after) = after.filter(|_| found.is_empty()) else { return Ok(()) };
    match last.await {
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => Err(no_place(after)),
        Err(problem) => Err(problem),
        Ok(_) => Ok(()),
    }
}

fn next(uri: &Uri, by: &str, last: &str) -> String {
    let own = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(own.filter(|(name, _)| name != by)).append_pair(by, last);
    format!("<{}?{}>; rel=\"next\"", uri.path(), query.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uri: &str, last: &str, expected: &str) {
        assert_eq!(next(&uri.parse().unwrap(), "after", last), expected);
    }

    #[test]
    fn the_next_page_is_this_request_after_the_last_one() {
        check("/v1/calls", "c1", "</v1/calls?after=c1>; rel=\"next\"");
        check("/v1/calls?ok=true&after=c1", "c2", "</v1/calls?ok=true&after=c2>; rel=\"next\"");
        check(
            "/v1/calls?tool=a%26b",
            "a&b>",
            "</v1/calls?tool=a%26b&after=a%26b%3E>; rel=\"next\"",
        );
    }

    #[test]
    fn a_page_has_as_many_as_were_asked_for_within_bounds() {
        for (limit, wanted) in [(None, 101), (Some(1), 2), (Some(7), 8), (Some(1_000), 1_001)] {
            assert_eq!(Paging::new(limit).unwrap().wanted(), wanted, "{limit:?}");
        }
        for limit in [0, 1_001, usize::MAX] {
            assert!(Paging::new(Some(limit)).is_err(), "{limit}");
        }
    }
}
