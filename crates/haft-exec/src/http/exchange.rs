//! Requests of providers whose server is the operator's to name, with the credentials of a call.
//!
//! A calendar server stands in the configuration, not in a contract. So it is the connection that
//! says where its credentials may go: to the hosts that it was added with, and to no others.

use std::time::Duration;

use bytes::Bytes;
use haft_core::connection::Lease;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::Auth;
use hyper::Method;
use hyper::header::{ETAG, HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;
use url::Url;

use super::attach::present;
use super::client::{Client, Fault, Request, Response};

/// What is asked of a server.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// `PUT`, `REPORT`.
    pub method: &'a str,
    /// Where.
    pub url: &'a str,
    /// Headers beside those of the connection.
    pub headers: &'a [(&'static str, &'a str)],
    /// The body.
    pub body: &'a str,
    /// How long it may take, connecting included.
    pub patience: Duration,
    /// The longest answer.
    pub most: u64,
}

/// What a server said.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The version of what was read or written.
    pub etag: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no reply.
#[derive(Clone, Debug)]
pub enum Unanswered {
    /// The request was not made: no credentials, a host that they may not go to.
    Refused(ToolError),
    /// Nothing was sent. Why is for the log.
    Unsent(String),
    /// The request may have been acted on. Why is for the log.
    Lost(String),
}

impl Client {
    /// Asks a server with the credentials of a call, once more where they can be renewed.
    ///
    /// # Errors
    ///
    /// There is no reply.
    pub async fn ask(&self, auth: &Auth, question: Question<'_>) -> Result<Reply, Unanswered> {
        let end = Instant::now() + question.patience;
        let lease = auth.lease().await.map_err(Unanswered::Refused)?;
        let response = self.sent(&lease, question, end).await?;
        // Whoever does not know who asks has done nothing.
        if response.status == 401 && auth.refused(&lease).await {
            let lease = auth.lease().await.map_err(Unanswered::Refused)?;
            return Ok(reply(self.sent(&lease, question, end).await?));
        }
        Ok(reply(response))
    }

    async fn sent(
        &self,
        lease: &Lease,
        question: Question<'_>,
        end: Instant,
    ) -> Result<Response, Unanswered> {
        let mut request = request(question)?;
        let host = request.url.host_str().unwrap_or_default();
        if !lease.account.hosts.iter().any(|one| one.eq_ignore_ascii_case(host)) {
            let error =
                ToolError::new(ErrorKind::Auth, "the connection may not be used with this server")
                    .suggest(
                        "an administrator adds the connection with `--host` and the server's name",
                    )
                    .caused_by(format!("the connection does not list `{host}`"));
            return Err(Unanswered::Refused(error));
        }
        present(&mut request, &lease.presented).map_err(Unanswered::Refused)?;
        self.send(request, end).await.map_err(|fault| match fault {
            Fault::Refused { why } => Unanswered::Refused(super::refused(why)),
            Fault::Unsent { why, .. } => Unanswered::Unsent(why),
            Fault::Lost { why, .. } | Fault::TooLong { why, .. } => Unanswered::Lost(why),
        })
    }
}

fn request(question: Question<'_>) -> Result<Request, Unanswered> {
    let fault = |what: &str, why: String| {
        let error = ToolError::new(ErrorKind::Internal, format!("the request has no {what}"));
        Unanswered::Refused(error.caused_by(why))
    };
    let url = Url::parse(question.url).map_err(|why| fault("address", why.to_string()))?;
    let method = Method::from_bytes(question.method.as_bytes())
        .map_err(|why| fault("method", why.to_string()))?;
    let mut headers = HeaderMap::new();
    for (name, value) in question.headers {
        let value = HeaderValue::from_str(value).map_err(|why| fault("header", why.to_string()))?;
        headers.insert(HeaderName::from_static(name), value);
    }
    let body = Bytes::copy_from_slice(question.body.as_bytes());
    Ok(Request::new(method, url, headers, body, question.most))
}

fn reply(response: Response) -> Reply {
    let etag = response.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    Reply { status: response.status, etag, body: response.body }
}
