//! One request, one connection, nothing behind anyone's back.
//!
//! There is no pool, no retry, no redirect, no proxy, no cookie and no cache. So it is always known
//! whether anything was sent: what fails before the request is handed to an open, verified
//! connection was certainly not, and what fails after that may have been.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use haft_core::contract::may_have_acted;
use haft_core::hop::{self, Chain};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::address::Range;
use super::body::{self, Unread};
use super::late::{Exchanged, Late};
use super::resolve::{Nowhere, Resolve, System, addresses};
use crate::end::is_past;

/// How requests are made.
#[derive(Clone)]
pub struct Settings {
    /// Addresses that may be reached although they are not public.
    pub allow: Vec<Range>,
    /// How long making a connection may take.
    pub connect: Duration,
    /// The longest response, where a contract does not say.
    pub response_bytes: u64,
    /// Certificates that are trusted beside the system's, as DER.
    pub roots: Vec<Vec<u8>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            connect: Duration::from_secs(10),
            response_bytes: 1 << 20,
            roots: Vec::new(),
        }
    }
}

/// Makes requests.
pub struct Client {
    settings: Settings,
    resolver: Arc<dyn Resolve>,
    tls: OnceLock<Result<Arc<ClientConfig>, String>>,
}

/// What is to be sent.
pub(crate) struct Request {
    pub(crate) method: hyper::Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The longest response.
    pub(crate) most: u64,
    /// The secret in it, which goes in when it is written.
    pub(crate) late: Option<Late>,
    /// The servers that led to it.
    pub(crate) via: Chain,
}

impl Request {
    /// One without credentials.
    pub(crate) fn new(
        method: hyper::Method,
        url: Url,
        headers: HeaderMap,
        body: Bytes,
        most: u64,
    ) -> Self {
        Self { method, url, headers, body, most, late: None, via: Chain::default() }
    }

    /// The same once more, for a second request of the same call.
    pub(crate) fn copy(&self) -> Self {
        Self {
            method: self.method.clone(),
            url: self.url.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            most: self.most,
            late: self.late.clone(),
            via: self.via.clone(),
        }
    }
}

/// What came back, whole.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Why the body is not there, of a response whose head says that nothing was done.
    pub(crate) unread: Option<String>,
}

/// Why there is no response. The texts are for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing was sent.
    Unsent { why: String, timeout: bool },
    /// Nothing was sent, and nothing ever will be: calls may not go there.
    Refused { why: String },
    /// Something may have been sent, and acted on. The status is there where it had come.
    Lost { why: String, timeout: bool, status: Option<u16> },
    /// It was acted on as the status says; the rest of the response is longer than it may be.
    TooLong { why: String, status: u16 },
}

impl Fault {
    fn unsent(why: impl Into<String>) -> Self {
        Self::Unsent { why: why.into(), timeout: false }
    }
}

impl From<Nowhere> for Fault {
    fn from(nowhere: Nowhere) -> Self {
        match nowhere {
            Nowhere::Unknown(why) => Self::unsent(why),
            Nowhere::Refused(why) => Self::Refused { why },
        }
    }
}

impl Client {
    /// A client that resolves names as the system does.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::resolving(settings, Arc::new(System))
    }

    /// A client with a resolver of one's own. What it finds is judged all the same.
    #[must_use]
    pub fn resolving(settings: Settings, resolver: Arc<dyn Resolve>) -> Self {
        Self { settings, resolver, tls: OnceLock::new() }
    }

    /// One like this that reaches public addresses alone.
    #[must_use]
    pub(crate) fn public_only(&self) -> Self {
        let settings = Settings { allow: Vec::new(), ..self.settings.clone() };
        Self::resolving(settings, self.resolver.clone())
    }

    /// How requests are made.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sends a request and reads its response, until `end`.
    pub(crate) async fn send(&self, request: Request, end: Instant) -> Result<Response, Fault> {
        let soon = end.min(Instant::now() + self.settings.connect);
        let open = tokio::time::timeout_at(soon, self.connect(&request.url)).await;
        let stream = open.map_err(|_| Fault::Unsent {
            why: "no connection was made in time".to_owned(),
            timeout: true,
        })??;
        if is_past(end) {
            let why = "the connection was there when it was too late".to_owned();
            return Err(Fault::Unsent { why, timeout: true });
        }
        let mut sent = None;
        let talk = exchange(stream, request, end, &mut sent);
        match tokio::time::timeout_at(end, talk).await {
            Ok(done) => done,
            Err(_) => Err(Fault::Lost {
                why: "the response did not come in time".to_owned(),
                timeout: true,
                status: sent,
            }),
        }
    }

    async fn connect(&self, url: &Url) -> Result<Box<dyn Stream>, Fault> {
        let found = addresses(url, &*self.resolver, &self.settings.allow).await;
        let mut last = "there is no address".to_owned();
        for address in found? {
            match TcpStream::connect(address).await {
                Ok(stream) => return self.secure(url, stream).await.map_err(Fault::unsent),
                Err(why) => last = format!("`{address}`: {why}"),
            }
        }
        Err(Fault::unsent(last))
    }

    async fn secure(&self, url: &Url, stream: TcpStream) -> Result<Box<dyn Stream>, String> {
        // A request is one write; waiting for more would cost it 40 ms.
        stream.set_nodelay(true).map_err(|why| why.to_string())?;
        if url.scheme() != "https" {
            return Ok(Box::new(stream));
        }
        let config = self.tls.get_or_init(|| tls(&self.settings.roots)).clone()?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(|why| why.to_string())?;
        let secured = TlsConnector::from(config).connect(name, stream).await;
        Ok(Box::new(secured.map_err(|why| format!("no trusted connection: {why}"))?))
    }
}

/// The certificates of a file in PEM.
///
/// # Errors
///
/// There is none in it, or one cannot be read.
pub fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|why| why.to_string())?;
    match found.is_empty() {
        true => Err("there is no certificate in it".to_owned()),
        false => Ok(found.iter().map(|one| one.to_vec()).collect()),
    }
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

fn tls(extra: &[Vec<u8>]) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    // One that cannot be read does not make the others worse.
    roots.add_parsable_certificates(found.certs);
    for certificate in extra {
        roots.add(certificate.clone().into()).map_err(|why| format!("`http.roots`: {why}"))?;
    }
    if roots.is_empty() {
        return Err("this machine has no trusted certificates; install `ca-certificates`".into());
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}

/// From here on the other side may act on what it gets.
async fn exchange(
    stream: Box<dyn Stream>,
    mut request: Request,
    end: Instant,
    seen: &mut Option<u16>,
) -> Result<Response, Fault> {
    let most = request.most;
    let head = request.method == hyper::Method::HEAD;
    let stream = Exchanged::new(stream, request.late.take(), end);
    let request = written(request).map_err(Fault::unsent)?;
    let lost = |why: String, status| Fault::Lost { why, timeout: false, status };
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(64 << 10)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|why| Fault::unsent(why.to_string()))?;
    // The connection lives as long as this exchange: dropping the task ends both.
    let task = Abort(tokio::spawn(async move {
        let _ = connection.await;
    }));
    let response = sender.try_send_request(request).await.map_err(|mut why| {
        // Given back unwritten: the other side has seen nothing of it.
        match why.take_message() {
            Some(_) => Fault::unsent(chain(why.error())),
            None => lost(chain(why.error()), None),
        }
    })?;
    let status = response.status().as_u16();
    *seen = Some(status);
    let (parts, incoming) = response.into_parts();
    let body = match head {
        true => Ok(Vec::new()),
        false => body::read(incoming, &parts.headers, most).await,
    };
    drop(task);
    let (body, unread) = match body {
        Ok(body) => (body, None),
        // What a refusal says besides does not make it less of one.
        Err(unread) if !may_have_acted(status) => (Vec::new(), Some(unread.why(most))),
        Err(Unread::Broken(why)) => return Err(lost(why, Some(status))),
        Err(unread @ Unread::TooLong) => {
            return Err(Fault::TooLong { why: unread.why(most), status });
        }
    };
    Ok(Response { status, headers: parts.headers, body, unread })
}

struct Abort(tokio::task::JoinHandle<()>);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn written(request: Request) -> Result<hyper::Request<Full<Bytes>>, String> {
    let Request { method, url, headers, body, via, .. } = request;
    let mut target = url.path().to_owned();
    if let Some(query) = url.query() {
        let _ = write!(target, "?{query}");
    }
    let host = match url.port() {
        Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
        None => url.host_str().unwrap_or_default().to_owned(),
    };
    let mut made = hyper::Request::new(Full::new(body));
    *made.method_mut() = method;
    *made.uri_mut() = target.parse().map_err(|_| "the URL cannot be sent".to_owned())?;
    *made.headers_mut() = headers;
    let host = HeaderValue::from_str(&host).map_err(|_| "the host cannot be sent".to_owned())?;
    made.headers_mut().insert(HOST, host);
    made.headers_mut()
        .insert(HeaderName::from_static("connection"), HeaderValue::from_static("close"));
    // Whatever a contract says: a server that gets its own request back refuses it.
    let marks = HeaderValue::from_str(&via.and_own()).map_err(|why| why.to_string())?;
    made.headers_mut().insert(HeaderName::from_static(hop::HEADER), marks);
    let agent = concat!("haft/", env!("CARGO_PKG_VERSION"));
    made.headers_mut().entry(USER_AGENT).or_insert(HeaderValue::from_static(agent));
    Ok(made)
}

/// An error with what caused it. Requests are not part of it, so no URL is.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut here = error.source();
    while let Some(cause) = here {
        let _ = write!(text, ": {cause}");
        here = cause.source();
    }
    text
}
