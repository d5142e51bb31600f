//! An endpoint that speaks OpenAI's embeddings API.
//!
//! A request goes to the address that was named and nowhere else: no redirects, no proxy from the
//! environment. The key is a header that nothing prints.

use std::fmt;
use std::io::Read as _;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::blocking::Client;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::json;

use super::{Embed, Purpose, normal};
use crate::kb::base::KbError;

/// Texts in one request.
const BATCH: usize = 64;
/// The most of an answer that is read: 64 vectors of 4,096 numbers, written out.
const MOST: u64 = 32 << 20;
const CONNECT: Duration = Duration::from_secs(5);
/// Somebody waits for a search.
const SEARCH: Duration = Duration::from_secs(3);
const IMPORT: Duration = Duration::from_secs(120);
/// How often an import tries, and how long it waits at first.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(500);

/// Where the model is.
#[derive(Clone)]
pub struct EndpointSetup {
    /// Up to `/v1`; `/embeddings` is added.
    pub url: String,
    /// The model's name.
    pub model: String,
    /// The key, where it needs one.
    pub key: Option<String>,
    /// How long the vectors shall be, for models that can be told.
    pub dimensions: Option<u32>,
}

/// A model behind an endpoint.
pub struct Endpoint {
    setup: EndpointSetup,
    headers: HeaderMap,
    /// Made by the first request: it must not be made where async work is driven.
    client: OnceLock<Client>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.setup.url)
            .field("model", &self.setup.model)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Whether it may work a moment later, and when it says that it would.
enum Failed {
    ForNow(String, Option<Duration>),
    ForGood(String),
}

/// The longest that an import waits because it was told to.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

impl Endpoint {
    /// Prepares requests.
    ///
    /// # Errors
    ///
    /// The address or the key cannot be used.
    pub fn new(setup: EndpointSetup) -> Result<Self, String> {
        let known = ["http://", "https://"].iter().any(|scheme| setup.url.starts_with(scheme));
        if !known {
            return Err(format!("`{}` is no http or https address", setup.url.escape_debug()));
        }
        let mut headers = HeaderMap::new();
        if let Some(key) = &setup.key {
            let value = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut value =
                value.map_err(|_| "the key has characters that no header can carry".to_owned())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { setup, headers, client: OnceLock::new() })
    }

    fn client(&self) -> Result<&Client, Failed> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::builder()
            .default_headers(self.headers.clone())
            .connect_timeout(CONNECT)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|why| Failed::ForGood(format!("no HTTP client could be made: {why}")))?;
        Ok(self.client.get_or_init(|| client))
    }

    fn request(&self, texts: &[String], limit: Duration) -> Result<Vec<Vec<f32>>, Failed> {
        let mut body =
            json!({ "model": self.setup.model, "input": texts, "encoding_format": "float" });
        if let (Some(dimensions), Some(body)) = (self.setup.dimensions, body.as_object_mut()) {
            body.insert("dimensions".into(), dimensions.into());
        }
        let url = format!("{}/embeddings", self.setup.url.trim_end_matches('/'));
        let sent = self
            .client()?
            .post(url)
            .timeout(limit)
            .header("content-type", "application/json")
            .body(body.to_string())
            .send();
        let response = sent.map_err(|why| {
            let (why, url) = (deepest(&why.without_url()), self.address());
            let what = format!(
                "`{url}` cannot be reached ({why}); see that the model is being served there"
            );
            Failed::ForNow(what, None)
        })?;
        let status = response.status().as_u16();
        let pause = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let pause = pause.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let mut bytes = Vec::new();
        response
            .take(MOST + 1)
            .read_to_end(&mut bytes)
            .map_err(|why| Failed::ForNow(format!("its answer broke off: {why}"), None))?;
        let said = || {
            format!("`{}` answers with status {status}: {}", self.address(), self.excerpt(&bytes))
        };
        match status {
            200 => read(&bytes, texts.len()),
            408 | 409 | 425 | 429 | 500..=599 => Err(Failed::ForNow(said(), pause)),
            401 | 403 => {
                Err(Failed::ForGood(format!("{}; `key_env` names the key's variable", said())))
            }
            404 => Err(Failed::ForGood(format!(
                "{}; see that `url` ends before `/embeddings` and that `{}` is a model there",
                said(),
                self.setup.model
            ))),
            _ => Err(Failed::ForGood(said())),
        }
    }

    /// Where it is, without anything that could be a secret.
    fn address(&self) -> String {
        let end = self.setup.url.find(['?', '#']).unwrap_or(self.setup.url.len());
        let url = self.setup.url.get(..end).unwrap_or_default();
        match url.split_once("://") {
            Some((scheme, rest)) => match rest.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://{host}"),
                None => url.to_owned(),
            },
            None => url.to_owned(),
        }
    }

    /// The beginning of what it said, without the key.
    fn excerpt(&self, bytes: &[u8]) -> String {
        let said = String::from_utf8_lossy(bytes.get(..500.min(bytes.len())).unwrap_or_default())
            .into_owned();
        let said = match &self.setup.key {
            Some(key) if !key.is_empty() => said.replace(key.as_str(), "[key]"),
            _ => said,
        };
        said.chars().filter(|c| !c.is_control()).collect()
    }

    fn batch(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, KbError> {
        let (limit, tries) = match purpose {
            Purpose::Import => (IMPORT, TRIES),
            Purpose::Search => (SEARCH, 1),
        };
        let mut pause = PAUSE;
        let mut left = tries;
        loop {
            left -= 1;
            match self.request(texts, limit) {
                Ok(vectors) => return Ok(vectors),
                Err(Failed::ForNow(_, asked)) if left > 0 => {
                    std::thread::sleep(asked.unwrap_or(pause).min(LONGEST_PAUSE));
                    pause *= 3;
                }
                Err(Failed::ForNow(why, _) | Failed::ForGood(why)) => {
                    return Err(KbError::Model(why));
                }
            }
        }
    }
}

impl Embed for Endpoint {
    fn name(&self) -> String {
        let EndpointSetup { url, model, dimensions, .. } = &self.setup;
        format!(
            "{url} {model} {}",
            dimensions.map_or_else(String::new, |number| number.to_string())
        )
    }

    fn embed(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, KbError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            vectors.extend(self.batch(batch, purpose)?);
        }
        Ok(vectors)
    }
}

/// The cause that says something.
fn deepest(error: &dyn std::error::Error) -> String {
    let mut here = error;
    while let Some(source) = here.source() {
        here = source;
    }
    here.to_string()
}

/// The vectors in the order of the texts.
fn read(bytes: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, Failed> {
    let wrong = |why: &str| Failed::ForGood(format!("its answer cannot be used: {why}"));
    if bytes.len() as u64 > MOST {
        return Err(wrong("it is too long"));
    }
    let answer: Answer =
        serde_json::from_slice(bytes).map_err(|_| wrong("it is no list of embeddings"))?;
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; texts];
    for (one, place) in answer.data.into_iter().zip(0..) {
        let vector = normal(one.embedding).ok_or_else(|| wrong("an embedding is empty"))?;
        let slot = vectors
            .get_mut(one.index.unwrap_or(place))
            .ok_or_else(|| wrong("it has more embeddings than texts"))?;
        *slot = Some(vector);
    }
    let vectors: Option<Vec<Vec<f32>>> = vectors.into_iter().collect();
    let vectors = vectors.ok_or_else(|| wrong("an embedding is missing"))?;
    let length = vectors.first().map_or(0, Vec::len);
    match vectors.iter().all(|vector| vector.len() == length) {
        true => Ok(vectors),
        false => Err(wrong("its embeddings differ in length")),
    }
}
