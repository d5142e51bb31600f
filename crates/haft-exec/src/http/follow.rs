//! Redirects, where a contract allows them: each is a new request to an address that is judged anew.

use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::Ended;
use hyper::Method;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, HeaderMap, LOCATION};
use url::Url;

use super::client::{Request, Response};
use super::{Trip, answer};

/// Makes a request and follows at most so many redirects. Credentials and the contract's headers go
/// to the first host alone.
pub(super) async fn send(
    trip: &mut Trip<'_>,
    request: Request,
    most: u8,
) -> Result<Response, Ended> {
    // An effect goes to the address that was approved.
    let reads = matches!(request.method, Method::GET | Method::HEAD);
    let first = request.url.clone();
    let mut here = request;
    for _ in 0..most {
        let next = here.copy();
        let own = next.url.origin() == first.origin();
        let response = match own {
            true => trip.send(here).await?,
            false => trip.client.send(here, trip.end).await.map_err(answer::fault_on_the_way)?,
        };
        if !reads || !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(response);
        }
        here = step(next, &response.headers, &first)?;
    }
    match here.url.origin() == first.origin() {
        true => trip.send(here).await,
        false => trip.client.send(here, trip.end).await.map_err(answer::fault_on_the_way),
    }
}

/// The request to where a response points.
fn step(mut request: Request, headers: &HeaderMap, first: &Url) -> Result<Request, Ended> {
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let next = target.and_then(|target| request.url.join(target).ok());
    let next = next.filter(|next| may_follow(&request.url, next));
    let Some(next) = next else {
        let message = "the service sent the request to a place that is not followed";
        return Err(Ended::Failed(ToolError::new(ErrorKind::Permanent, message)));
    };
    if next.origin() != first.origin() {
        request.headers.retain_only(&[ACCEPT, ACCEPT_ENCODING]);
    }
    request.url = next;
    Ok(request)
}

/// Never out of encryption, never with a name before the host, never beyond the usual ports.
fn may_follow(from: &Url, to: &Url) -> bool {
    let secure = to.scheme() == "https" || (to.scheme() == "http" && from.scheme() == "http");
    let usual = to.port().is_none() || to.port() == from.port();
    secure && usual && to.username().is_empty() && to.password().is_none()
}

trait Retain {
    fn retain_only(&mut self, names: &[hyper::header::HeaderName]);
}

impl Retain for HeaderMap {
    fn retain_only(&mut self, names: &[hyper::header::HeaderName]) {
        let mut kept = HeaderMap::new();
        for name in names {
            if let Some(value) = self.remove(name) {
                kept.insert(name, value);
            }
        }
        *self = kept;
    }
}
