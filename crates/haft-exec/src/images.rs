//! The `images` capability, by any endpoint that speaks OpenAI's images API.
//!
//! The endpoint is the operator's to name, the credentials are those of the call's connection. What
//! comes back is believed only as far as it can be checked: JSON, an image in base64 that is one, or
//! an address with `https`. Where the images are kept on this machine is nobody's business: they have
//! an id, and an address where the operator serves them.

mod picture;
mod shelf;

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use haft_core::contract::{may_have_acted, status_kind};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Auth, Binding, Boxed, Provide, Scope};
use hyper::Method;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use url::{Host, Url};

use crate::http::{Client, Fault, Request, Response, own_words, present};

/// The longest response: four images and their names.
const LONGEST: u64 = 48 << 20;
/// How long an image may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// Where images are had, and where they are kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The base of the endpoint's addresses.
    pub url: String,
    /// The model.
    pub model: String,
    /// Where images that come as bytes are kept.
    pub folder: PathBuf,
    /// Under which address that folder is served; images that are kept have none when absent.
    pub public_url: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            url: "https://api.openai.com/v1".to_owned(),
            model: "gpt-image-1".to_owned(),
            folder: PathBuf::from(".haft/images"),
            public_url: None,
        }
    }
}

/// Provides `images` to handlers.
pub struct Images {
    client: Arc<Client>,
    settings: Settings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    prompt: String,
    size: String,
    count: u8,
    quality: String,
}

impl Images {
    /// With a client and an endpoint.
    #[must_use]
    pub fn new(client: Arc<Client>, settings: Settings) -> Self {
        Self { client, settings }
    }

    async fn generate(&self, binding: Binding<'_>, asked: Value) -> Result<Value, ToolError> {
        let asked: Asked = serde_json::from_value(asked).map_err(|why| {
            fault("`images.generate` takes `{prompt, size, count, quality}`", why)
        })?;
        let auth = binding.auth.ok_or_else(unconnected)?;
        let mut request = self.request(&asked)?;
        request.via = binding.scope.caller.via.clone();
        attach(&mut request, auth).await?;
        let sent = self.client.send(request, Instant::now() + PATIENCE).await;
        let response = sent.map_err(unanswered)?;
        self.read(&response, &asked)
    }

    /// An image that was kept before.
    fn find(&self, asked: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Wanted {
            id: String,
        }
        let wanted: Wanted = serde_json::from_value(asked)
            .map_err(|why| fault("`images.find` takes `{id}`", why))?;
        let kept = shelf::find(&self.settings, &wanted.id).ok_or_else(|| {
            ToolError::new(ErrorKind::NotFound, "no image is kept under this id").suggest(
                "use an id exactly as it was returned, or the image's link where it has one",
            )
        })?;
        Ok(kept.shown())
    }

    fn request(&self, asked: &Asked) -> Result<Request, ToolError> {
        let text = format!("{}/images/generations", self.settings.url.trim_end_matches('/'));
        let url = Url::parse(&text)
            .map_err(|why| fault("the endpoint for images is not set up correctly", why))?;
        let mut body = json!({
            "model": self.settings.model, "prompt": asked.prompt, "n": asked.count,
            "size": asked.size,
        });
        let quality = match (self.settings.model.as_str(), asked.quality.as_str()) {
            (model, "high") if model.starts_with("gpt-image") => Some("high"),
            (model, _) if model.starts_with("gpt-image") => Some("medium"),
            ("dall-e-3", "high") => Some("hd"),
            ("dall-e-3", _) => Some("standard"),
            // Others have no common word for it.
            (_, _) => None,
        };
        if let (Some(quality), Value::Object(body)) = (quality, &mut body) {
            body.insert("quality".to_owned(), json!(quality));
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let body = Bytes::from(body.to_string());
        Ok(Request::new(Method::POST, url, headers, body, LONGEST))
    }

    fn read(&self, response: &Response, asked: &Asked) -> Result<Value, ToolError> {
        if let Some(kind) = status_kind(response.status) {
            let said =
                own_words(&response.body).map(|text| format!(": {text}")).unwrap_or_default();
            let message = format!("the image service refused ({}){said}", response.status);
            let mut error = ToolError::new(kind, message);
            error.partial_side_effects = may_have_acted(response.status);
            return Err(error);
        }
        let told: Told = serde_json::from_slice(&response.body).map_err(|why| {
            // Some say with a success that there was none.
            match own_words(&response.body) {
                Some(text) => lie(&format!("holds no image: {text}"), why),
                None => lie("is not what an image service says", why),
            }
        })?;
        if told.data.is_empty() {
            return Err(lie("holds no image", ""));
        }
        let count = usize::from(asked.count);
        let made = told.data.iter().take(count).map(|one| self.image(one));
        let images = made.collect::<Result<Vec<Made>, ToolError>>()?;
        let mut notes: Vec<String> =
            images.iter().filter_map(|made| made.differs(&asked.size)).collect();
        let sent = told.data.len();
        match sent.cmp(&count) {
            Ordering::Greater => {
                notes.push(format!("the service sent {sent} images; {count} of them asked for"));
            }
            Ordering::Less => {
                notes.push(format!("the service sent {sent} of the {count} images asked for"));
            }
            Ordering::Equal => {}
        }
        let images: Vec<Value> = images.into_iter().map(|made| made.shown).collect();
        Ok(match notes.is_empty() {
            true => json!({ "images": images }),
            false => json!({ "images": images, "notes": notes }),
        })
    }

    fn image(&self, told: &One) -> Result<Made, ToolError> {
        match (&told.b64_json, &told.url) {
            (Some(text), _) => self.keep(text),
            (None, Some(url)) => Ok(Made { shown: elsewhere(url)?, size: None }),
            (None, None) => Err(lie("holds neither an image nor an address", "")),
        }
    }

    fn keep(&self, text: &str) -> Result<Made, ToolError> {
        let bytes =
            STANDARD.decode(text.trim()).map_err(|why| lie("is cut off or not base64", why))?;
        let picture = picture::of(&bytes).ok_or_else(|| lie("is not an image", ""))?;
        let kept = shelf::keep(&self.settings, &bytes, &picture)
            .map_err(|why| lie("cannot be kept here", why))?;
        let mut shown = kept.shown();
        if let (Some((width, height)), Value::Object(shown)) = (picture.size, &mut shown) {
            shown.insert("width".to_owned(), json!(width));
            shown.insert("height".to_owned(), json!(height));
        }
        Ok(Made { shown, size: picture.size })
    }
}

/// An image that came, and how large it is where that can be seen.
struct Made {
    shown: Value,
    size: Option<(u32, u32)>,
}

impl Made {
    /// What is to be said where it is of another size than was asked for.
    fn differs(&self, asked: &str) -> Option<String> {
        let (width, height) = self.size?;
        let made = format!("{width}x{height}");
        let id = self.shown.get("id").and_then(Value::as_str).unwrap_or_default();
        (made != asked).then(|| format!("`{id}` is {made}, not {asked} as it was asked for"))
    }
}

impl Provide for Images {
    fn provide<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a str,
        _: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async { Err(unconnected()) })
    }

    fn provide_bound<'a>(
        &'a self,
        binding: Binding<'a>,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            match method {
                "generate" => self.generate(binding, arguments).await,
                "find" => self.find(arguments),
                _ => {
                    let message = "`images` has `generate` and `find`";
                    Err(ToolError::new(ErrorKind::Internal, message))
                }
            }
        })
    }

    fn reads_connection(&self) -> bool {
        false
    }

    fn writes(&self, method: &str) -> bool {
        method != "find"
    }
}

#[derive(Deserialize)]
struct Told {
    data: Vec<One>,
}

#[derive(Deserialize)]
struct One {
    b64_json: Option<String>,
    url: Option<String>,
}

/// The endpoint is the operator's choice: the contract lists its host, or the connection does.
async fn attach(request: &mut Request, auth: &Auth) -> Result<(), ToolError> {
    let lease = auth.lease().await?;
    let host = request.url.host_str().unwrap_or_default().to_owned();
    let own = lease.account.hosts.iter().any(|one| one.eq_ignore_ascii_case(&host));
    if !own && !auth.covers(&lease, &host) {
        return Err(ToolError::new(
            ErrorKind::Auth,
            "the connection may not be used with this endpoint",
        )
        .suggest("add the connection with `--host` and the host of the endpoint")
        .caused_by(format!("neither the contract nor the connection lists `{host}`")));
    }
    present(request, &lease.presented)
}

/// An address that the service keeps the image at.
fn elsewhere(url: &str) -> Result<Value, ToolError> {
    let parsed = Url::parse(url).map_err(|why| lie("names an address that is none", why))?;
    if parsed.scheme() != "https" || url.len() > 4096 {
        return Err(lie("names an address that is not `https`", ""));
    }
    // Who opens it must not be sent to a machine nearby, nor be given somebody's name and password.
    let named = match parsed.host() {
        Some(Host::Domain(name)) => !is_nearby(name),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) | None => false,
    };
    if !named || !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(lie("names an address without a public host's name, or with a password", ""));
    }
    let media_type = match parsed.path().rsplit('.').next() {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("webp") => "image/webp",
        Some(_) | None => "image/png",
    };
    let digest = haft_core::Digest::of_bytes(url.as_bytes());
    let id = format!("img_{}", digest.hex().get(..24).unwrap_or_default());
    Ok(json!({ "id": id, "url": url, "mediaType": media_type }))
}

/// Names that mean another machine to everybody who asks for them, or this one.
fn is_nearby(name: &str) -> bool {
    const LAST: [&str; 7] = ["localhost", "local", "internal", "lan", "home", "corp", "arpa"];
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.rsplit_once('.').is_none_or(|(_, last)| LAST.contains(&last))
}

fn unconnected() -> ToolError {
    ToolError::new(ErrorKind::Auth, "image generation is not set up: there is no connection for it").suggest(
        "an administrator adds one: `haft connections add images --provider openai-images --kind bearer`, \
         then `haft connections grant images --to 'agent:*' --tools '*image_generate'`, and sets `[images]` \
         in haft.toml for another endpoint than OpenAI's",
    )
}

fn fault(message: &str, why: impl std::fmt::Display) -> ToolError {
    ToolError::new(ErrorKind::Internal, message).caused_by(why)
}

/// The service took the request and answered nonsense: the image may have been paid for.
fn lie(what: &str, why: impl std::fmt::Display) -> ToolError {
    let message = format!("the image service's answer {what}");
    let mut error = ToolError::new(ErrorKind::Permanent, message)
        .suggest("tell the user that it may have been charged, and ask before trying again")
        .caused_by(why);
    error.partial_side_effects = true;
    error
}

fn unanswered(fault: Fault) -> ToolError {
    match fault {
        Fault::Unsent { why, .. } => {
            ToolError::new(ErrorKind::Transient, "the image service cannot be reached")
                .caused_by(why)
        }
        Fault::Refused { why } => crate::http::refused(why),
        Fault::Lost { why, timeout, .. } => {
            let kind = if timeout { ErrorKind::Timeout } else { ErrorKind::Transient };
            let mut error = ToolError::new(kind, "the image service broke off").caused_by(why);
            error.partial_side_effects = true;
            error
        }
        // The service has said that it did it.
        Fault::TooLong { why, status: 200..=299 } => {
            let message =
                "the image service says that it is done, and its answer is longer than is taken";
            let mut error = ToolError::new(ErrorKind::InvalidOutput, message)
                .suggest(
                    "tell the user that it was done and may have been charged, and ask before trying again \
                     with fewer or smaller images",
                )
                .caused_by(why);
            error.partial_side_effects = true;
            error
        }
        Fault::TooLong { why, .. } => unanswered(Fault::Lost { why, timeout: false, status: None }),
    }
}
