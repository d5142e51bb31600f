//! Models over HTTP: any endpoint that speaks OpenAI's, Anthropic's or Gemini's API, by its URL and
//! a key.
//!
//! A request is sent once, to the host that was named and no other: no retries, no redirects, no
//! proxy from the environment. The key is a header that nothing prints, and it is taken out of whatever
//! the server reports as its error.

mod key;
mod provider;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use haft_core::hop::{self, Chain};
use haft_core::port::Boxed;
use haft_core::secret::SecretText;
use haft_wire::Dialect;
use haft_wire::decode::{self, Limits};
use parking_lot::Mutex;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};

pub use key::Keys;
pub use provider::Provider;

use crate::model::{Model, Refusal, Retry, Stream};
use crate::wait::retry_after;
use key::{Hidden, Used};

/// The most of an error's body that is read.
const MOST_ERROR: usize = 64 * 1024;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Where a model is.
pub struct Endpoint {
    /// What it speaks.
    pub provider: Provider,
    /// The base of its URLs; the provider's own when absent.
    pub url: Option<String>,
    /// The model's name.
    pub model: String,
    /// The key; some servers need none.
    pub key: Option<String>,
}

impl Endpoint {
    /// The host that requests go to; empty where the URL is none.
    #[must_use]
    pub fn host(&self) -> String {
        let base = self.url.as_deref().unwrap_or(self.provider.default_url());
        let url = Url::parse(base).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    /// Says what is wrong with the URL, before anything is done; `has_key` where a key comes from
    /// elsewhere.
    ///
    /// # Errors
    ///
    /// The URL is none, or would send the key in the clear.
    pub fn check(&self, has_key: bool) -> Result<(), BadEndpoint> {
        self.requests(has_key).map(drop)
    }

    /// Where requests go.
    fn requests(&self, has_key: bool) -> Result<Url, BadEndpoint> {
        let base = self.url.as_deref().unwrap_or(self.provider.default_url());
        let url = self.provider.url(base, &self.model).map_err(BadEndpoint)?;
        let has_key = has_key || self.key.is_some();
        if has_key && url.scheme() == "http" && !is_loopback(&url) {
            return Err(BadEndpoint(format!(
                "{} would send the key in the clear; use https, or no key",
                provider::shown(base)
            )));
        }
        Ok(url)
    }
}

/// A model over HTTP.
pub struct Http {
    provider: Provider,
    model: String,
    url: Url,
    client: reqwest::Client,
    /// Asked before each request, where the key may change.
    keys: Option<Arc<dyn Keys>>,
    used: Mutex<Used>,
}

/// Why an endpoint cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadEndpoint(String);

impl fmt::Display for BadEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadEndpoint {}

impl Http {
    /// A model at an endpoint.
    ///
    /// # Errors
    ///
    /// The URL is none, would send the key in the clear, or the key cannot be a header or is too short to
    /// be told from ordinary text.
    pub fn new(endpoint: Endpoint) -> Result<Self, BadEndpoint> {
        let key = endpoint.key.as_deref().map(SecretText::new);
        let made = Self::made(endpoint, None)?;
        if let Some(key) = key {
            made.use_key(&key).map_err(BadEndpoint)?;
        }
        Ok(made)
    }

    /// A model whose key is asked for before each request: it may be renewed or replaced.
    ///
    /// # Errors
    ///
    /// The URL is none, or would send the key in the clear.
    pub fn keyed(endpoint: Endpoint, keys: Arc<dyn Keys>) -> Result<Self, BadEndpoint> {
        Self::made(endpoint, Some(keys))
    }

    fn made(endpoint: Endpoint, keys: Option<Arc<dyn Keys>>) -> Result<Self, BadEndpoint> {
        let url = endpoint.requests(keys.is_some())?;
        let Endpoint { provider, model, .. } = endpoint;
        let mut headers = HeaderMap::new();
        for (name, value) in provider.headers() {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let client = reqwest::Client::builder()
            .default_headers(headers)
            .connect_timeout(CONNECT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|why| BadEndpoint(format!("no HTTP client could be made: {why}")))?;
        Ok(Self { provider, model, url, client, keys, used: Mutex::default() })
    }

    /// What is sent with this key. Others may use another one at the same time.
    fn use_key(&self, key: &SecretText) -> Result<Used, String> {
        let mut used = self.used.lock();
        *used = used.with(key, self.provider)?;
        Ok(used.clone())
    }

    fn hidden(&self) -> Arc<Hidden> {
        self.used.lock().hidden.clone()
    }

    async fn used(&self) -> Result<Used, String> {
        match &self.keys {
            Some(keys) => self.use_key(&keys.key().await?),
            None => Ok(self.used.lock().clone()),
        }
    }

    async fn send(&self, body: String, marks: String) -> Result<Box<dyn Stream>, Refusal> {
        let used = self.used().await;
        let used = used.map_err(|why| self.hidden().refusal(Refusal::lasting(why)))?;
        let hidden = used.hidden.clone();
        self.post(body, marks, used).await.map_err(|why| hidden.refusal(why))
    }

    async fn post(
        &self,
        body: String,
        marks: String,
        used: Used,
    ) -> Result<Box<dyn Stream>, Refusal> {
        let Used { header, hidden, .. } = used;
        let request = self
            .client
            .post(self.url.clone())
            .headers(header.into_iter().collect())
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .header(hop::HEADER, marks)
            .body(body);
        let response = request.send().await.map_err(|why| self.unsent(why))?;
        match response.status().is_success() {
            true => Ok(Box::new(Bytes { response, hidden })),
            false => Err(self.refused(response).await),
        }
    }

    fn unsent(&self, why: reqwest::Error) -> Refusal {
        let place = self.place();
        Refusal::passing(match () {
            () if why.is_connect() => {
                format!("{place} cannot be reached: {}", deepest(&why.without_url()))
            }
            () if why.is_timeout() => format!("{place} did not answer in time"),
            () => format!("the request to {place} failed: {}", deepest(&why.without_url())),
        })
    }

    /// What a provider says with a status that is no success.
    async fn refused(&self, mut response: Response) -> Refusal {
        let status = response.status().as_u16();
        let pause = asked_pause(response.headers());
        let mut body = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > MOST_ERROR {
                break;
            }
        }
        let said = decode::message(self.provider.dialect(), Limits::default(), &body).end.fault;
        let code = said.as_ref().and_then(|fault| fault.code.clone());
        let message = match said.map(|fault| fault.message).filter(|text| !text.is_empty()) {
            Some(message) => format!("{} refused the request: {message}", self.place()),
            None => format!("{} refused the request", self.place()),
        };
        let passes = matches!(status, 408 | 409 | 425 | 429 | 500..=599)
            && code.as_deref() != Some("insufficient_quota");
        let retry = match pause {
            _ if !passes => Retry::Never,
            Some(pause) => Retry::After(pause),
            None => Retry::Soon,
        };
        Refusal { retry, status: Some(status), code, message }
    }
}

/// What the provider asks for: `retry-after-ms` where it is more exact than `retry-after` can be.
fn asked_pause(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let exact = text("retry-after-ms").and_then(|ms| ms.trim().parse::<u64>().ok());
    exact
        .map(Duration::from_millis)
        .or_else(|| retry_after(text("retry-after")?, jiff::Timestamp::now()))
}

/// The cause that says something.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut here = error;
    while let Some(source) = here.source() {
        here = source;
    }
    here.to_string()
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let plain = host.trim_start_matches('[').trim_end_matches(']');
            plain.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

impl Model for Http {
    fn dialect(&self) -> Dialect {
        self.provider.dialect()
    }

    fn name(&self) -> &str {
        &self.model
    }

    fn place(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    fn ask<'a>(&'a self, body: String) -> Boxed<'a, Result<Box<dyn Stream>, Refusal>> {
        Box::pin(self.send(body, Chain::default().and_own()))
    }

    fn ask_via<'a>(
        &'a self,
        body: String,
        via: &'a Chain,
    ) -> Boxed<'a, Result<Box<dyn Stream>, Refusal>> {
        Box::pin(self.send(body, via.and_own()))
    }

    fn hide(&self, text: String) -> String {
        self.hidden().text(text)
    }
}

struct Bytes {
    response: Response,
    hidden: Arc<Hidden>,
}

impl Stream for Bytes {
    fn next<'a>(&'a mut self) -> Boxed<'a, Result<Option<Vec<u8>>, Refusal>> {
        Box::pin(async {
            match self.response.chunk().await {
                Ok(piece) => Ok(piece.map(|piece| piece.to_vec())),
                Err(why) => {
                    let why = format!("the connection broke: {}", deepest(&why.without_url()));
                    Err(self.hidden.refusal(Refusal::passing(why)))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_sent_with_the_request_that_it_was_asked_for() {
        let (url, model) = (None, "m".to_owned());
        let endpoint = Endpoint { provider: Provider::OpenAi, url, model, key: None };
        let http = Http::new(endpoint).unwrap();
        let used = ["sk-first-one", "sk-second-one", "sk-first-one"]
            .map(|key| (key, http.use_key(&SecretText::new(key)).unwrap()));
        for (key, used) in used {
            let (_, value) = used.header.unwrap();
            assert_eq!(value.to_str().unwrap(), format!("Bearer {key}"));
        }
    }
}
