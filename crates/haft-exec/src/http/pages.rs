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

/// The link whose relation is `next`, at the same origin. What cannot be read may have been one.
fn linked(headers: &HeaderMap, here: &Url, first: &Url) -> Next {
    for value in headers.get_all(LINK) {
        let Ok(mut line) = value.to_str() else { return Next::Elsewhere };
        loop {
            match link(line) {
                Ok(None) => break,
                Ok(Some((link, _))) if link.is_next => return at(here.join(link.target), first),
                Ok(Some((_, rest))) => line = rest,
                Err(Unreadable) => return Next::Elsewhere,
            }
        }
    }
    Next::End
}

fn at(found: Result<Url, url::ParseError>, first: &Url) -> Next {
    match found {
        Ok(url) if url.origin() == first.origin() && url.username().is_empty() => Next::At(url),
        Ok(_) | Err(_) => Next::Elsewhere,
    }
}

struct Link<'h> {
    target: &'h str,
    is_next: bool,
}

#[derive(Debug, PartialEq)]
struct Unreadable;

/// The first link of a `Link` header (RFC 8288), and what comes after it. Targets have commas and semicolons of their
/// own, and so have parameters in quotes.
fn link(header: &str) -> Result<Option<(Link<'_>, &str)>, Unreadable> {
    let header = header.trim_start_matches([',', ' ', '\t']);
    if header.is_empty() {
        return Ok(None);
    }
    let (target, mut rest) =
        header.strip_prefix('<').and_then(|rest| rest.split_once('>')).ok_or(Unreadable)?;
    let mut rel = None;
    loop {
        let (parameter, after) = rest.split_at(end_of(rest)?);
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        // Of several the first counts.
        if name.trim().eq_ignore_ascii_case("rel") && rel.is_none() {
            rel = Some(value.trim().trim_matches('"'));
        }
        match after.strip_prefix(';') {
            Some(more) => rest = more,
            None => {
                let is_next = |word: &str| word.eq_ignore_ascii_case("next");
                let is_next = rel.is_some_and(|all| all.split_whitespace().any(is_next));
                return Ok(Some((Link { target, is_next }, after)));
            }
        }
    }
}

/// Where a parameter ends: at the next semicolon or comma that is not in quotes.
fn end_of(parameter: &str) -> Result<usize, Unreadable> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in parameter.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b';' | b',' if !quoted => return Ok(at),
            _ => {}
        }
    }
    if quoted { Err(Unreadable) } else { Ok(parameter.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        let here = Url::parse("https://api.example.com/items?page=1").unwrap();
        let next = "https://api.example.com/items?ids=1,2;3&page=2";
        for (headers, expected) in [
            (&[] as &[&str], Some(None)),
            (&[""], Some(None)),
            (&["<?page=9>; rel=\"last\""], Some(None)),
            (&["<?ids=1,2;3&page=2>; rel=next"], Some(Some(next))),
            (&["</items?ids=1,2;3&page=2>;rel=\"next\""], Some(Some(next))),
            (&["<?ids=1,2;3&page=2>; title=\"a, \\\"b\\\"; c\"; rel=\"next\""], Some(Some(next))),
            (
                &["<?page=1>; rel=\"first\", , <?ids=1,2;3&page=2> ; REL = \"prefetch Next\""],
                Some(Some(next)),
            ),
            (&["<?page=1>; rel=first", "<?ids=1,2;3&page=2>; rel=next"], Some(Some(next))),
            (&["<?page=1>; rel=first; rel=next"], Some(None)),
            (&["<?page=1>; title=\"rel=next\""], Some(None)),
            (&["<https://evil.example.com/>; rel=next"], None),
            (&["<https://user@api.example.com/>; rel=next"], None),
            (&["https://api.example.com/; rel=next"], None),
            (&["<?page=2; rel=next"], None),
            (&["<?page=1>; title=\"; rel=first"], None),
        ] {
            let mut all = HeaderMap::new();
            for header in headers {
                all.append(LINK, header.parse().unwrap());
            }
            let found = match linked(&all, &here, &here) {
                Next::End => Some(None),
                Next::At(url) => Some(Some(url.to_string())),
                Next::Elsewhere => None,
            };
            assert_eq!(found, expected.map(|next| next.map(str::to_owned)), "{headers:?}");
        }
    }
}
