//! Credentials, attached at the last moment and to the declared hosts alone.

use haft_core::connection::{Lease, Presented};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Auth, Job};
use hyper::header::{HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::client::Request;
use super::late::Late;
use super::template::encoded;
use super::written::meet;

/// Signs the requests of one call.
pub(super) struct Signer<'a> {
    auth: Option<&'a Auth>,
    lease: Option<Lease>,
}

impl<'a> Signer<'a> {
    /// The credentials that the call was given.
    pub(super) fn of(job: &'a Job) -> Result<Self, ToolError> {
        let needed = job.tool.contract.connection.as_ref();
        if let Some(needed) = needed.filter(|needed| needed.required && job.auth.is_none()) {
            return Err(missing(&needed.provider));
        }
        Ok(Self::with(job.auth.as_deref()))
    }

    pub(super) fn with(auth: Option<&'a Auth>) -> Self {
        Self { auth, lease: None }
    }

    /// Puts the credentials into a request to one of their hosts; others go without.
    pub(super) async fn sign(&mut self, request: &mut Request) -> Result<(), ToolError> {
        let Some(auth) = self.auth else { return Ok(()) };
        let host = request.url.host_str().unwrap_or_default().to_owned();
        if !auth.hosts().iter().any(|one| one.eq_ignore_ascii_case(&host)) {
            return Ok(());
        }
        if self.lease.is_none() {
            self.lease = Some(auth.lease().await?);
        }
        let Some(lease) = &self.lease else { return Ok(()) };
        if !auth.covers(lease, &host) {
            let message = "the connection may not be used with this service";
            return Err(ToolError::new(ErrorKind::Auth, message)
                .suggest("ask an administrator to list the service's host for the connection")
                .caused_by(format!("the connection does not list `{host}`")));
        }
        present(request, &lease.presented)
    }

    /// After the service did not accept them: whether there is something better to try.
    pub(super) async fn renew(&mut self) -> bool {
        match (self.auth, self.lease.take()) {
            (Some(auth), Some(lease)) => auth.refused(&lease).await,
            (_, _) => false,
        }
    }
}

/// Puts credentials into a request, or rather what stands for them until it is written.
pub(crate) fn present(request: &mut Request, presented: &Presented) -> Result<(), ToolError> {
    let unusable =
        || ToolError::new(ErrorKind::Auth, "the connection's credentials cannot be sent");
    match presented {
        Presented::Header { name, value } => {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable())?;
            // One line, and of characters that every server reads the same.
            if !value.expose().bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
                return Err(unusable());
            }
            let late = late(Zeroizing::new(value.expose().to_owned()))?;
            let mark = HeaderValue::from_str(late.mark()).map_err(|_| unusable())?;
            request.headers.insert(name, mark);
            request.late = Some(late);
        }
        Presented::Query { name, value } => {
            // Of two values under one name, services take whichever they like; of one within the other as well.
            if request.url.query_pairs().any(|(own, _)| meet(&own, name)) {
                let message = format!("`{name}` is where the connection's credentials go");
                return Err(ToolError::new(ErrorKind::InvalidArguments, message)
                    .suggest("leave it out of the arguments"));
            }
            let late = late(Zeroizing::new(encoded(value.expose())))?;
            let pair = format!("{}={}", encoded(name), late.mark());
            let query = match request.url.query() {
                Some(query) if !query.is_empty() => format!("{query}&{pair}"),
                Some(_) | None => pair,
            };
            request.url.set_query(Some(&query));
            request.late = Some(late);
        }
    }
    Ok(())
}

/// For a secret that goes in when the request is written.
fn late(secret: Zeroizing<String>) -> Result<Late, ToolError> {
    Late::new(secret).map_err(|why| {
        let message = "the system gives no random numbers";
        ToolError::new(ErrorKind::Internal, message).caused_by(why)
    })
}

fn missing(provider: &str) -> ToolError {
    ToolError::new(ErrorKind::Auth, format!("no connection to {provider} is set up here"))
        .suggest("ask the user or an administrator to connect the account")
}
