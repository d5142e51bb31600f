//! Tools that are one HTTP request: `gateway: {"kind": "http", …}` in the contract.
//!
//! [`Http`] makes the request that the contract describes, with the credentials of the call's
//! connection where the contract asks for one. [`Fetch`] is the `http` capability of handlers: the
//! same client, the hosts that the contract lists, credentials attached by the host.
//!
//! A request is made once. What failed before anything was sent is a definite failure; what failed
//! afterwards is lost, and the path says what that means for the class of the tool.

mod address;
mod answer;
mod attach;
mod body;
mod client;
mod exchange;
mod fetch;
mod follow;
mod late;
mod pages;
mod resolve;
mod template;
mod written;

use std::sync::Arc;
use std::time::Duration;

use haft_core::contract::{Gateway, HttpGateway, SideEffectPolicy};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Ended, Execute, Host, Job};
use haft_core::registry::{Implementation, Tool};
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;
use tokio::time::Instant;

pub use address::Range;
pub(crate) use answer::{own_words, refused};
pub(crate) use attach::present;
pub use client::certificates;
pub use client::{Client, Settings};
pub(crate) use client::{Fault, Request, Response};
pub use exchange::{Question, Reply, Unanswered};
pub use fetch::Fetch;
pub use resolve::Resolve;
pub(crate) use template::encoded;

use crate::end;
use attach::Signer;
use haft_core::connection::Lease;

/// No call runs longer, whatever a contract says.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Runs tools whose contract has an HTTP gateway.
pub struct Http {
    client: Arc<Client>,
    /// For tools that tenants brought along.
    tenants: Arc<Client>,
}

impl Http {
    /// With a client for the tools of the toolset. Tools that tenants brought along get one like it
    /// that reaches public addresses alone: what the toolset may reach inside of a network is not for
    /// everybody who can write a contract.
    #[must_use]
    pub fn new(client: Arc<Client>) -> Self {
        let tenants = Arc::new(client.public_only());
        Self { tenants, client }
    }

    /// With another client for tools that tenants brought along.
    #[must_use]
    pub fn for_tenants(mut self, client: Arc<Client>) -> Self {
        self.tenants = client;
        self
    }

    fn client(&self, job: &Job) -> &Client {
        if job.of_tenant { &self.tenants } else { &self.client }
    }
}

/// Asks an address of one of an account's own hosts with its credentials, and gives the status.
///
/// # Errors
///
/// The account does not list the host, or nothing came back.
pub async fn ask_with(client: &Client, url: &str, lease: &Lease) -> Result<u16, ToolError> {
    let url = url::Url::parse(url).map_err(|why| {
        ToolError::new(ErrorKind::InvalidArguments, "this is no URL").caused_by(why)
    })?;
    let host = url.host_str().unwrap_or_default();
    if !lease.account.hosts.iter().any(|one| one.eq_ignore_ascii_case(host)) {
        let message = format!("the connection does not list the host `{host}`");
        return Err(ToolError::new(ErrorKind::Auth, message)
            .suggest("add the connection with `--host` for each host that it may be sent to"));
    }
    let headers = hyper::header::HeaderMap::new();
    let most = client.settings().response_bytes;
    let method = hyper::Method::GET;
    let mut request = Request::new(method, url, headers, bytes::Bytes::new(), most);
    present(&mut request, &lease.presented)?;
    let end = Instant::now() + Duration::from_secs(20);
    match client.send(request, end).await {
        Ok(response) => Ok(response.status),
        Err(Fault::Lost { status: Some(status), .. } | Fault::TooLong { status, .. }) => Ok(status),
        Err(Fault::Refused { why }) => Err(answer::refused(why)),
        Err(Fault::Unsent { why, .. } | Fault::Lost { why, .. }) => {
            Err(ToolError::new(ErrorKind::Transient, "the service cannot be reached")
                .caused_by(why))
        }
    }
}

fn gateway(tool: &Tool) -> Option<&HttpGateway> {
    match (&tool.handler, &tool.contract.gateway) {
        (Implementation::Gateway, Some(Gateway::Http(http))) => Some(http),
        _ => None,
    }
}

/// A tool that says that it does not write has no key and no entry in the ledger: a registry that was built
/// when nobody looked at the method does not change anything by it.
fn may_send(tool: &Tool, gateway: &HttpGateway) -> Result<(), ToolError> {
    let method = gateway.method;
    if tool.contract.side_effect_policy != SideEffectPolicy::Pure || !method.changes() {
        return Ok(());
    }
    let message = format!(
        "a `{}` changes something, and the contract says that this tool does not write; say \
         `\"sideEffects\": \"writes\"` in it",
        method.as_str(),
    );
    Err(ToolError::new(ErrorKind::Internal, message))
}

impl Execute for Http {
    fn can_run(&self, tool: &Tool) -> bool {
        gateway(tool).is_some()
    }

    /// What cannot be sent need not be approved.
    fn vet(&self, tool: &Tool, arguments: &Value) -> Result<(), ToolError> {
        let Some(gateway) = gateway(tool) else { return Ok(()) };
        may_send(tool, gateway)?;
        template::vet(gateway, arguments)
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        Box::pin(async move {
            let end = end::of(&job, LONGEST);
            match self.run(&job, end).await {
                Ok(data) => Ended::Returned { data, intents: Vec::new() },
                Err(ended) => ended,
            }
        })
    }
}

/// One call on its way.
struct Trip<'a> {
    client: &'a Client,
    gateway: &'a HttpGateway,
    signer: Signer<'a>,
    host: &'a dyn Host,
    end: Instant,
}

impl Http {
    async fn run(&self, job: &Job, end: Instant) -> Result<Value, Ended> {
        let Some(gateway) = gateway(&job.tool) else {
            let message = format!("`{}` has no HTTP gateway", job.tool.id);
            return Err(Ended::NotBegun(ToolError::new(ErrorKind::Internal, message)));
        };
        may_send(&job.tool, gateway).map_err(Ended::NotBegun)?;
        let client = self.client(job);
        let most = self.most(job, gateway);
        let mut request =
            template::request(gateway, &job.arguments, most).map_err(Ended::NotBegun)?;
        request.via = job.scope.caller.via.clone();
        if let (Some(name), Some(key)) = (&gateway.idempotency_header, &job.provider_key)
            && let (Ok(name), Ok(key)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(key))
        {
            request.headers.insert(name, key);
        }
        let signer = Signer::of(job).map_err(Ended::NotBegun)?;
        let mut trip = Trip { client, gateway, signer, host: &*job.host, end };
        match &gateway.pages {
            Some(pages) => pages::read(&mut trip, request, pages).await,
            None => {
                let response = trip.get(request).await?;
                answer::part(gateway, answer::read(gateway, &response)?)
            }
        }
    }
}

impl Http {
    /// How large an answer may be. What a tenant writes makes it smaller, never larger than whoever
    /// runs haft has room for.
    fn most(&self, job: &Job, gateway: &HttpGateway) -> u64 {
        let usual = self.client(job).settings().response_bytes;
        match gateway.max_response_bytes {
            Some(said) if job.of_tenant => said.min(usual),
            Some(said) => said,
            None => usual,
        }
    }
}

impl Trip<'_> {
    /// Makes a request with what belongs to it, and follows where the contract allows.
    async fn get(&mut self, request: Request) -> Result<Response, Ended> {
        match self.gateway.redirects {
            0 => self.send(request).await,
            most => follow::send(self, request, most).await,
        }
    }

    /// Makes one request. Credentials that are out of date are renewed once: a service that does
    /// not know who asks has done nothing.
    async fn send(&mut self, request: Request) -> Result<Response, Ended> {
        let again = request.copy();
        let response = self.once(request).await?;
        if response.status == 401 && self.signer.renew().await {
            return self.once(again).await;
        }
        Ok(response)
    }

    async fn once(&mut self, mut request: Request) -> Result<Response, Ended> {
        let waiting = tokio::time::timeout_at(self.end, self.signer.sign(&mut request)).await;
        let late = |_| {
            let message = "the connection's credentials were not there in time";
            Ended::NotBegun(ToolError::new(ErrorKind::Timeout, message))
        };
        waiting.map_err(late)?.map_err(Ended::NotBegun)?;
        // Credentials may have been waited for, and what let the call run may have gone meanwhile.
        if let Some(why) = self.host.withdrawn() {
            return Err(Ended::NotBegun(why));
        }
        self.client.send(request, self.end).await.map_err(answer::fault)
    }
}
