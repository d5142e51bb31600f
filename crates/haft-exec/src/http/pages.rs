//! A long list, read page by page until its end, the contract's number of pages, or too much.

use haft_core::contract::{PageKind, Pages};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::Ended;
use hyper::header::{HeaderMap, LINK};
use serde_json::{Value, json};
use url::Url;

use super::client::Request;
use super::template::encoded;
use super::{Trip, answer};

/// All pages together hold at most so many bytes, or as many as one may hold.
const MOST_BYTES: u64 = 4 << 20;

/// Where the next page is.
enum Next {
    At(Url),
    End,
    /// There is more, at a place where it is not fetched from.
    Elsewhere,
}

pub(super) async fn read(
    trip: &mut Trip<'_>,
    request: Request,
    pages: &Pages,
) -> Result<Value, Ended> {
    let most = request.most.max(MOST_BYTES);
    let first = request.url.clone();
    let (mut items, mut bytes, mut complete) = (Vec::new(), 0_u64, false);
    let mut here = request;
    if pages.by == PageKind::Page {
        here.url = with(&first, pages, "1");
    }
    for page in 1..=pages.max_pages {
        let again = here.copy();
        let response = trip.get(here).await?;
        let whole = answer::read(trip.gateway, &response)?;
        let list = listed(&whole, pages)?;
        let empty = list.is_empty();
        items.extend(list.iter().cloned());
        bytes += response.body.len() as u64;
        let next = match pages.by {
            PageKind::Link => linked(&response.headers, &again.url, &first),
            PageKind::Cursor => cursor(&whole, pages, &first),
            PageKind::Page | PageKind::Offset if empty => Next::End,
            PageKind::Page => Next::At(with(&first, pages, &(page + 1).to_string())),
            PageKind::Offset => Next::At(with(&first, pages, &items.len().to_string())),
        };
        here = again;
        match next {
            Next::End => {
                complete = true;
                break;
            }
            Next::At(url) if bytes < most => here.url = url,
            Next::At(_) | Next::Elsewhere => break,
        }
    }
    Ok(json!({ "items": items, "complete": complete }))
}

fn listed<'v>(whole: &'v Value, pages: &Pages) -> Result<&'v Vec<Value>, Ended> {
    let pointer = pages.items.as_deref().unwrap_or_default();
    whole.pointer(pointer).and_then(Value::as_array).ok_or_else(|| {
        let message = "the service's answer does not hold the list that it should";
        let error = ToolError::new(ErrorKind::Permanent, message);
        Ended::Lost(error.caused_by(format!("no list at `{pointer}`")))
    })
}

fn with(first: &Url, pages: &Pages, value: &str) -> Url {
    let mut url = first.clone();
    if let Some(name) = &pages.query {
        let pair = format!("{}={}", encoded(name), encoded(value));
        let query = match first.query() {
            Some(query) => format!("{query}&{pair}"),
            None => pair,
        };
        url.set_query(Some(&query));
    }
    url
}

fn cursor(whole: &Value, pages: &Pages, first: &Url) -> Next {
    let found = pages.next.as_deref().and_then(|pointer| whole.pointer(pointer));
    match found {
        Some(Value::String(text)) if !text.is_empty() => Next::At(with(first, pages, text)),
        Some(Value::Number(number)) => Next::At(with(first, pages, &number.to_string())),
        Some(_) | None => Next::End,
    }
}

/// The link whose relation is `next`, at the same origin.
fn linked(headers: &HeaderMap, here: &Url, first: &Url) -> Next {
    let all = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let target = all.flat_map(|line| line.split(',')).find_map(|link| {
        let (target, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = |one: &str| {
            let (name, value) = one.trim().split_once('=').unwrap_or_default();
            name.trim().eq_ignore_ascii_case("rel")
                && value.trim().trim_matches('"').split_whitespace().any(|word| word == "next")
        };
        parameters.split(';').any(is_next).then_some(target)
    });
    match target.map(|target| here.join(target)) {
        None => Next::End,
        Some(Ok(url)) if url.origin() == first.origin() && url.username().is_empty() => {
            Next::At(url)
        }
        Some(_) => Next::Elsewhere,
    }
}
