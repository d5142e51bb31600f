//! Where a browser comes back to from a provider: open to all, since it comes from another site. What it
//! brings is worth nothing without a state that is waited for.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use futures_util::stream::empty;
use haft_core::secret::SecretText;
use maud::{Markup, html};

use super::guard::Failed;
use super::page;
use super::visible::visible;
use crate::api::consents::{Answer, Consent, Standing, answered, stands};
use crate::door::Door;
use crate::problem::Problem;

/// No word of a provider is shown beyond this.
const LONGEST: usize = 100;

/// Takes a code.
pub(crate) async fn back(State(door): State<Arc<Door>>, uri: Uri) -> Result<Response, Failed> {
    let asked = answered(&door, read(uri.query().unwrap_or_default())?).await?;
    Ok(page::open("Consent", &ended(&asked)))
}

/// Whoever looks at the address before the person follows it: the status that they would see, and
/// nothing is taken. How long a page will be that is not made yet is not said.
pub(crate) async fn looked(State(door): State<Arc<Door>>, uri: Uri) -> Result<Response, Failed> {
    let stands = stands(&door, &read(uri.query().unwrap_or_default())?)?;
    let mut page = page::open("Consent", &ended(&stands));
    if matches!(stands.status, Standing::Waiting | Standing::Redeeming) {
        *page.body_mut() = Body::from_stream(empty::<Result<Bytes, Infallible>>());
    }
    Ok(page)
}

/// What came of it, for whoever agreed: they may come back to this page.
fn ended(asked: &Consent) -> Markup {
    let (heading, tone) = match asked.status {
        Standing::Connected => ("Connected", "wait"),
        Standing::Waiting | Standing::Redeeming => ("Not connected yet", "wait"),
        Standing::Failed => ("Not connected", "bad"),
    };
    html! {
        div .card.sign-in {
            h1 { (heading) }
            @match asked.status {
                Standing::Connected if asked.renewal => p .notice.good role="status" {
                    "The account " (page::id(&asked.connection)) " has new tokens, sealed. Who may use it has not changed."
                },
                Standing::Connected => p .notice.good role="status" {
                    "The account " (page::id(&asked.connection)) " is kept, sealed. Nobody may use it until it is granted."
                },
                Standing::Waiting | Standing::Redeeming => p .notice.wait role="status" {
                    "Your answer is being taken to the provider. Reload this page in a moment."
                },
                Standing::Failed if asked.renewal => p { "The account " (page::id(&asked.connection)) " keeps the tokens that it has." },
                Standing::Failed => {},
            }
            @if let Some(detail) = &asked.detail { p .notice.(tone) role="status" { (visible(detail)) } }
            @if matches!(asked.status, Standing::Connected | Standing::Failed) { p { "You can close this page." } }
        }
    }
}

/// What the query says, each thing once.
fn read(query: &str) -> Result<Answer, Problem> {
    let one = |name: &str| {
        let mut all = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        let first = all.next().map(|(_, value)| value.into_owned());
        match all.next() {
            Some(_) => Err(Problem::malformed(format!("`{name}` is there twice"))),
            None => Ok(first.filter(|value| !value.is_empty())),
        }
    };
    let state = one("state")?.ok_or_else(|| Problem::malformed("`state` is missing"))?;
    let code = match (one("code")?, one("error")?) {
        (Some(code), None) => Ok(SecretText::new(code)),
        (_, Some(error)) => Err(error.chars().filter(|c| !c.is_control()).take(LONGEST).collect()),
        (None, None) => Err("no code".to_owned()),
    };
    Ok(Answer { state, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Result<(&str, Result<&str, &str>), &str>) {
        match (read(query), expected) {
            (Ok(answer), Ok((state, code))) => {
                assert_eq!(answer.state, state, "{query}");
                let found = answer.code.as_ref().map(SecretText::expose).map_err(String::as_str);
                assert_eq!(found, code, "{query}");
            }
            (Err(problem), Err(why)) => assert!(problem.detail().contains(why), "{query}"),
            (found, _) => panic!("{query}: {}", found.is_ok()),
        }
    }

    #[test]
    fn what_a_browser_brings_is_read_once_and_whole() {
        check("state=s&code=c", Ok(("s", Ok("c"))));
        check("code=a%2Fb&state=s%20t&iss=x", Ok(("s t", Ok("a/b"))));
        check("state=s&error=access_denied", Ok(("s", Err("access_denied"))));
        check("state=s&code=c&error=%00odd%0A", Ok(("s", Err("odd"))));
        check("state=s&code=", Ok(("s", Err("no code"))));
        check("code=c", Err("`state` is missing"));
        check("state=s&state=t&code=c", Err("`state` is there twice"));
        check("state=s&code=c&code=d", Err("`code` is there twice"));
        check("", Err("`state` is missing"));
    }
}
