//! `gateway: {"kind": "http", …}`: how a request is made of arguments, and an answer of a response.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorKind;

/// One request, and what becomes of its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpGateway {
    /// The method.
    pub method: HttpMethod,
    /// Scheme and host are literal; `{name}` in the path is one encoded segment.
    pub url: String,
    /// What fills the slots of the path that are not simply an argument of the slot's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub path: BTreeMap<String, Slot>,
    /// What goes into the query.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Slot>,
    /// What goes into headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Slot>,
    /// What goes into the members of the body.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub body: BTreeMap<String, Slot>,
    /// The one argument that is the whole body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_from: Option<String>,
    /// How the body is written.
    #[serde(default, skip_serializing_if = "BodyEncoding::is_json")]
    pub encoding: BodyEncoding,
    /// What the response holds.
    #[serde(default, skip_serializing_if = "ResponseKind::is_json")]
    pub response: ResponseKind,
    /// JSON pointer into the response; the whole of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Status (`404`, or `4xx`) → what it means here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, ErrorKind>,
    /// How a long list is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<Pages>,
    /// How many redirects are followed. Only for requests that read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redirects: u8,
    /// The header in which the provider takes a key of its own and deduplicates by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_header: Option<String>,
    /// The longest response, in bytes, where it is not the common one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_response_bytes: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// What a place in a request is filled with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Slot {
    /// An argument; nothing when the call leaves it out.
    Argument(String),
    /// Always the same.
    Fixed {
        /// The value.
        value: Value,
    },
    /// An argument that is written in a way of its own.
    Written(Written),
}

impl Slot {
    /// The argument that fills it, where one does.
    #[must_use]
    pub fn argument(&self) -> Option<&str> {
        match self {
            Self::Argument(name) | Self::Written(Written { from: name, .. }) => Some(name),
            Self::Fixed { .. } => None,
        }
    }
}

/// How a list or an object becomes text, in the words of OpenAPI, which has them from RFC 6570.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Written {
    /// The argument; nothing when the call leaves it out.
    pub from: String,
    /// What stands between the values.
    pub style: Style,
    /// Whether each value stands by itself. Of `form` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explode: Option<bool>,
    /// Whether the signs that cannot end a value are left as they are. In a query only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_reserved: bool,
}

impl Written {
    /// Whether each value stands by itself.
    #[must_use]
    pub fn is_exploded(&self) -> bool {
        self.explode.unwrap_or(self.style == Style::Form)
    }
}

/// What stands between the values of a list or an object, and where that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Style {
    /// `a,b` in a path or a header.
    Simple,
    /// `.a.b` in a path.
    Label,
    /// `;name=a;name=b` in a path.
    Matrix,
    /// `name=a&name=b` in a query or a form.
    Form,
    /// `name=a%20b` in a query or a form.
    SpaceDelimited,
    /// `name=a%7Cb` in a query or a form.
    PipeDelimited,
    /// `name[a]=b` in a query or a form.
    DeepObject,
    /// The value as JSON, everywhere.
    Json,
}

/// HTTP methods that a gateway can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the variants are the methods themselves")]
pub enum HttpMethod {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
}

impl HttpMethod {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// Whether it only reads.
    #[must_use]
    pub fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::Head)
    }

    /// Whether it changes something, whatever the service. What a `POST` does only the service knows: many are
    /// searched by it.
    #[must_use]
    pub fn changes(self) -> bool {
        matches!(self, Self::Put | Self::Patch | Self::Delete)
    }
}

/// How a body is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BodyEncoding {
    /// As JSON.
    #[default]
    Json,
    /// As a form: `a=1&b=2`.
    Form,
    /// As the text that the argument is.
    Text,
    /// As the bytes that the argument holds in base64.
    Base64,
}

impl BodyEncoding {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_json(&self) -> bool {
        *self == Self::Json
    }
}

/// What a response holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseKind {
    /// JSON.
    #[default]
    Json,
    /// Text, which becomes one string.
    Text,
}

impl ResponseKind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_json(&self) -> bool {
        *self == Self::Json
    }
}

/// How a long list is read: the answer is `{"items": […], "complete": true|false}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pages {
    /// What leads to the next page.
    pub by: PageKind,
    /// JSON pointer to the list in each response; the whole of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
    /// With `cursor`: JSON pointer to what the next request is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// With `cursor`, `page` and `offset`: the query parameter that is given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// At most so many requests.
    pub max_pages: u32,
}

/// What leads to the next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageKind {
    /// The response's `Link` header with `rel="next"`, at the same host.
    Link,
    /// A value of the response.
    Cursor,
    /// A number that counts pages, from 1.
    Page,
    /// A number that counts items, from 0.
    Offset,
}

/// What a status means when the contract does not say: nothing for a success.
///
/// ```
/// use haft_core::contract::status_kind;
/// use haft_core::ErrorKind;
///
/// assert_eq!(status_kind(204), None);
/// assert_eq!(status_kind(404), Some(ErrorKind::NotFound));
/// assert_eq!(status_kind(503), Some(ErrorKind::Transient));
/// ```
#[must_use]
pub fn status_kind(status: u16) -> Option<ErrorKind> {
    Some(match status {
        200..=299 => return None,
        400 | 422 => ErrorKind::InvalidArguments,
        401 | 403 | 407 => ErrorKind::Auth,
        404 | 410 => ErrorKind::NotFound,
        408 => ErrorKind::Timeout,
        409 | 412 | 423 => ErrorKind::Conflict,
        429 => ErrorKind::RateLimited,
        425 | 500..=599 => ErrorKind::Transient,
        _ => ErrorKind::Permanent,
    })
}

/// Whether a request that writes may have been carried out, by the status of its answer: whatever does not
/// say that it was not.
///
/// A redirect by 300 to 303 is how many services answer a form that they have taken (RFC 9110, section
/// 15.4.4); 304 to 308 say that the request has to be made elsewhere, or need not be. 460 and 499 are what
/// proxies say of a request that somebody stopped waiting for, and gateways of gRPC of one that was cancelled:
/// what is behind them may have finished it. A number that is no status is one of a service that broke (section 15).
///
/// ```
/// use haft_core::contract::may_have_acted;
///
/// assert!(may_have_acted(204) && may_have_acted(303) && may_have_acted(503) && may_have_acted(999));
/// assert!(may_have_acted(408) && may_have_acted(499));
/// assert!(!may_have_acted(307) && !may_have_acted(404));
/// ```
#[must_use]
pub fn may_have_acted(status: u16) -> bool {
    // The request may have been whole when the service gave up on it.
    matches!(status, 408 | 460 | 499) || !matches!(status, 304..=308 | 400..=499)
}

impl HttpGateway {
    /// What a status means: the exact entry of the contract, the one of its class, or the common
    /// meaning. Nothing for a success.
    #[must_use]
    pub fn kind_of(&self, status: u16) -> Option<ErrorKind> {
        let usual = status_kind(status)?;
        let class = format!("{}xx", status / 100);
        let said = self.errors.get(&status.to_string()).or_else(|| self.errors.get(&class));
        Some(said.copied().unwrap_or(usual))
    }
}
