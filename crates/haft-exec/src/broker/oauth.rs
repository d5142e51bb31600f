//! OAuth 2: a token for the program itself, a token out of a person's consent, and a new one out of
//! an old one.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use haft_core::connection::{Access, ClientAuth, Consent, OAuth, OAuthGrant, Presented, Refusal};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::secret::SecretText;
use hyper::Method;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use url::Url;
use zeroize::Zeroizing;

use crate::http::{Client, Fault, Request, Response, encoded, present};
use crate::said::{MAX_TEXT, shortened};

/// What an address for consent is given; what else it has is the provider's affair.
const OURS: [&str; 6] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
];

/// How long a provider may take to give a token.
const PATIENCE: Duration = Duration::from_secs(20);
/// A token and what is said with it is short.
const LONGEST: u64 = 256 << 10;
/// No token is believed to live longer than ten years.
const LONGEST_LIFE_S: i64 = 315_360_000;

/// Prepares to ask a person for consent.
///
/// # Errors
///
/// The address is none, or the system gives no random numbers.
pub fn consent(authorize_url: &str, oauth: &OAuth, redirect: &str) -> Result<Consent, ToolError> {
    let verifier = random()?;
    let state = random()?.expose().to_owned();
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose().as_bytes()));
    let mut url = Url::parse(authorize_url)
        .map_err(|why| fault("the address for consent is not a URL").caused_by(why))?;
    // Of two values under one name, providers take whichever they like.
    if let Some((name, _)) = url.query_pairs().find(|(name, _)| OURS.contains(&&**name)) {
        return Err(fault(&format!("the address for consent has a `{name}` of its own")));
    }
    {
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &oauth.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("state", &state)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !oauth.scopes.is_empty() {
            query.append_pair("scope", &oauth.scopes.join(" "));
        }
        if let Some(audience) = &oauth.audience {
            query.append_pair("audience", audience);
        }
    }
    Ok(Consent { url: url.into(), state, verifier, redirect: redirect.to_owned() })
}

/// Makes tokens out of the code that came back with the browser.
///
/// # Errors
///
/// The provider refuses, cannot be reached, or answers something else.
pub async fn redeem(
    client: &Client,
    oauth: &OAuth,
    consent: &Consent,
    code: &str,
    now_ms: i64,
) -> Result<OAuth, ToolError> {
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &consent.redirect),
        ("code_verifier", consent.verifier.expose()),
    ];
    ask(client, oauth, "the code", &fields, now_ms).await
}

/// A new token out of what there is.
pub(super) async fn renew(client: &Client, oauth: &OAuth, now_ms: i64) -> Result<OAuth, ToolError> {
    let scopes = oauth.scopes.join(" ");
    let mut fields: Vec<(&str, &str)> = Vec::new();
    match (oauth.grant, &oauth.refresh) {
        (OAuthGrant::ClientCredentials, _) => {
            fields.push(("grant_type", "client_credentials"));
            if !scopes.is_empty() {
                fields.push(("scope", &scopes));
            }
            if let Some(audience) = &oauth.audience {
                fields.push(("audience", audience));
            }
        }
        (OAuthGrant::AuthorizationCode, Some(refresh)) => {
            fields.push(("grant_type", "refresh_token"));
            fields.push(("refresh_token", refresh.expose()));
        }
        (OAuthGrant::AuthorizationCode, None) => {
            return Err(ToolError::new(ErrorKind::Auth, "the connection's token has ended")
                .suggest("ask the user to connect the account again"));
        }
    }
    ask(client, oauth, "a new token", &fields, now_ms).await
}

async fn ask(
    client: &Client,
    oauth: &OAuth,
    what: &str,
    fields: &[(&str, &str)],
    now_ms: i64,
) -> Result<OAuth, ToolError> {
    let request = request(oauth, fields)?;
    let response = client.send(request, Instant::now() + PATIENCE).await.map_err(unanswered)?;
    let told = read(&response, what);
    // Whatever it was, there may be tokens in it.
    drop(Zeroizing::new(response.body));
    let told = told?;
    let mut fresh = oauth.clone();
    let life = told.expires_in.map(|s| s.clamp(0, LONGEST_LIFE_S).saturating_mul(1000));
    fresh.access = Some(Access {
        token: SecretText::new(told.access_token),
        until_ms: life.map(|ms| now_ms.saturating_add(ms)),
    });
    // A provider that gives a new one has taken the old one back.
    if let Some(refresh) = told.refresh_token.filter(|text| !text.is_empty()) {
        fresh.refresh = Some(SecretText::new(refresh));
    }
    Ok(fresh)
}

fn request(oauth: &OAuth, fields: &[(&str, &str)]) -> Result<Request, ToolError> {
    let url = Url::parse(&oauth.token_url)
        .map_err(|why| fault("the address for tokens is not a URL").caused_by(why))?;
    let mut fields = fields.to_vec();
    let mut in_header = None;
    match (&oauth.client_secret, oauth.client_auth) {
        (Some(secret), ClientAuth::Basic) => {
            let secret = SecretText::new(encoded(secret.expose()));
            let value = super::basic(&encoded(&oauth.client_id), &secret);
            in_header = Some(Presented::Header { name: "authorization".to_owned(), value });
        }
        (Some(secret), ClientAuth::Body) => {
            fields.push(("client_id", &oauth.client_id));
            fields.push(("client_secret", secret.expose()));
        }
        (None, _) => fields.push(("client_id", &oauth.client_id)),
    }
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, kind);
    let body = Bytes::from_owner(form(&fields));
    let mut request = Request::new(Method::POST, url, headers, body, LONGEST);
    if let Some(presented) = in_header {
        present(&mut request, &presented)?;
    }
    Ok(request)
}

/// Fields as forms write them; wiped when they go.
fn form(fields: &[(&str, &str)]) -> Zeroizing<Vec<u8>> {
    let written = |(name, value): &(&str, &str)| {
        let value = Zeroizing::new(encoded(value));
        Zeroizing::new(format!("{name}={}", *value))
    };
    let fields: Vec<Zeroizing<String>> = fields.iter().map(written).collect();
    // As long as it becomes: what grows leaves copies behind.
    let length = fields.iter().map(|field| field.len() + 1).sum();
    let mut body = Zeroizing::new(Vec::with_capacity(length));
    for field in &fields {
        if !body.is_empty() {
            body.push(b'&');
        }
        body.extend_from_slice(field.as_bytes());
    }
    body
}

#[derive(Deserialize)]
struct Told {
    access_token: String,
    #[serde(default)]
    token_type: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    expires_in: Option<i64>,
    #[serde(default)]
    refresh_token: Option<String>,
}

/// Some write the number as text.
fn seconds<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let value = Option::<serde_json::Value>::deserialize(from)?;
    Ok(value.and_then(|value| match value.as_str() {
        Some(text) => text.trim().parse().ok(),
        None => value.as_i64().or(value.as_f64().map(|s| s as i64)),
    }))
}

#[derive(Default, Deserialize)]
struct Refused {
    #[serde(default)]
    error: String,
}

fn read(response: &Response, what: &str) -> Result<Told, ToolError> {
    if response.status >= 500 || response.status == 429 {
        let message = "the provider gives no token now";
        return Err(ToolError::new(ErrorKind::Transient, message)
            .caused_by(format!("status {}", response.status)));
    }
    if !(200..300).contains(&response.status) {
        let said: Refused = serde_json::from_slice(&response.body).unwrap_or_default();
        return Err(refused(response.status, &said, what));
    }
    let told: Told = serde_json::from_slice(&response.body).map_err(|_| {
        // Some say that they refuse with the status of a success.
        match serde_json::from_slice::<Refused>(&response.body) {
            Ok(said) if !said.error.is_empty() => refused(response.status, &said, what),
            Ok(_) | Err(_) => fault("the provider's answer holds no token"),
        }
    })?;
    let bearer = told.token_type.as_deref().is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if told.access_token.is_empty() || !bearer {
        return Err(fault("the provider gave a token of a kind that is not known"));
    }
    if !told.access_token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(fault("the provider gave a token that no header can carry"));
    }
    Ok(told)
}

/// Which of the words that there are it was, and what to do about it. Another word is in the log alone.
fn refused(status: u16, said: &Refused, what: &str) -> ToolError {
    let word: String = said.error.chars().filter(|c| !c.is_control()).collect();
    let why = format!("status {status}: {}", shortened(&word, MAX_TEXT));
    let error = match Refusal::parse(&said.error) {
        Some(refusal) => {
            let kind = if refusal.passes() { ErrorKind::Transient } else { ErrorKind::Auth };
            let message = format!("the provider refused {what} (`{}`)", refusal.as_str());
            ToolError::new(kind, message).suggest(refusal.fix())
        }
        None => fault(&format!("the provider refused {what}")),
    };
    error.caused_by(why)
}

fn unanswered(fault: Fault) -> ToolError {
    match fault {
        Fault::Refused { why } => crate::http::refused(why),
        Fault::Unsent { why, .. } | Fault::Lost { why, .. } | Fault::TooLong { why, .. } => {
            let message = "the provider of the token cannot be reached";
            ToolError::new(ErrorKind::Transient, message).caused_by(why)
        }
    }
}

fn fault(message: &str) -> ToolError {
    ToolError::new(ErrorKind::Auth, message)
}

/// 43 characters that nobody can guess.
fn random() -> Result<SecretText, ToolError> {
    let mut bytes = Zeroizing::new([0_u8; 32]);
    getrandom::fill(&mut *bytes)
        .map_err(|why| fault("the system gives no random numbers").caused_by(why))?;
    Ok(SecretText::new(URL_SAFE_NO_PAD.encode(*bytes)))
}
