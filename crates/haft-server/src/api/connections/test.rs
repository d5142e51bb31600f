//! Whether a connection's credentials can be had, and whether a service takes them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, Uri};
use haft_core::ErrorKind;
use haft_core::connection::Account;
use haft_core::port::Want;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kept::{find, kept, meant};
use crate::api::consents::in_words;
use crate::api::need;
use crate::api::only_if::OnlyIf;
use crate::body;
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Outdated, Problem};
use crate::who::{Role, Who};

/// So many results are remembered.
const MOST: usize = 10_000;

/// What is to be tried.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Trial {
    /// An address of one of the connection's own hosts, which is asked (`GET`) with the credentials.
    /// Absent, it is only seen whether they can be had.
    pub(crate) url: Option<String>,
}

/// What came of a test.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tested {
    /// In one word.
    pub(crate) result: Verdict,
    /// What the service answered, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// In words.
    pub(crate) detail: String,
    /// When, in milliseconds of the Unix epoch.
    pub(crate) tested_at_ms: i64,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// The credentials are there; no service was asked.
    Found,
    /// The service takes them.
    Accepted,
    /// The service refuses them.
    Rejected,
    /// The service's answer says nothing about them.
    Unclear,
    /// They cannot be had, or the service cannot be reached.
    Failed,
}

impl Verdict {
    /// The word, for people.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Unclear => "unclear",
            Self::Failed => "failed",
        }
    }
}

/// The last results, by tenant and connection. They go with the server.
#[derive(Default)]
pub(crate) struct Tests(Mutex<BTreeMap<(String, String), Tested>>);

impl Tests {
    pub(crate) fn of(&self, tenant: &str, id: &str) -> Option<Tested> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&(tenant.to_owned(), id.to_owned())).cloned()
    }

    fn note(&self, tenant: &str, id: &str, tested: Tested) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MOST {
            let oldest = all.iter().min_by_key(|(_, one)| one.tested_at_ms);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                all.remove(&key);
            }
        }
        all.insert((tenant.to_owned(), id.to_owned()), tested);
    }

    pub(crate) fn forget(&self, tenant: &str, id: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&(tenant.to_owned(), id.to_owned()));
    }
}

/// Gets the credentials of a connection, renewing a token where one has ended, and asks an address with
/// them where one is named. Tenants' addresses are reached as their tools reach theirs.
#[utoipa::path(post, path = "/v1/connections/{id}/test", tag = "connections",
    operation_id = "test_connection",
    params(("id" = String, Path, description = "The connection."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    request_body = Trial,
    responses((status = 200, description = "What came of it.", body = Tested),
        NoKey, NoRole, Absent, Outdated,
        (status = 422, description = "The address is not one of the connection's hosts.",
            body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn run(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    only_if: OnlyIf,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Tested>, Problem> {
    need(&who, Role::Administrator)?;
    let trial: Trial = body::shape(body::json(&headers, body, &door.limits).await?)?;
    meant(&door, &who, &id, &only_if).await?;
    tested(&door, &who, &id, trial.url.as_deref()).await.map(Json)
}

/// Tests a connection of the tenant, and remembers what came of it.
pub(crate) async fn tested(
    door: &Door,
    who: &Who,
    id: &str,
    url: Option<&str>,
) -> Result<Tested, Problem> {
    need(who, Role::Administrator)?;
    let account = find(&**kept(door)?, who, id).await?;
    if let Some(url) = url {
        listed(&account, url)?;
    }
    let (result, status, detail) = tried(door, &account, url).await;
    let tested_at_ms = door.runtime.store().now_ms();
    let tested = Tested { result, status, detail, tested_at_ms };
    door.tests.note(&who.tenant, id, tested.clone());
    Ok(tested)
}

/// An address that the credentials may be sent to.
fn listed(account: &Account, url: &str) -> Result<(), Problem> {
    let no = |why: String| {
        let fix = "name an address of one of the connection's own `hosts`";
        Err(Problem::invalid_configuration(format!("`url`: {why}")).advise(fix))
    };
    let parsed: Option<Uri> = url.parse().ok();
    let scheme = parsed.as_ref().and_then(Uri::scheme_str);
    let host =
        parsed.as_ref().and_then(Uri::host).filter(|_| matches!(scheme, Some("https" | "http")));
    let Some(host) = host else { return no("this is not an `https` address".to_owned()) };
    if !account.hosts.iter().any(|one| one.eq_ignore_ascii_case(host)) {
        return no(format!("the connection does not list the host `{}`", host.escape_debug()));
    }
    Ok(())
}

/// What is said is ours, never the provider's: a provider could repeat what it was sent.
async fn tried(
    door: &Door,
    account: &Account,
    url: Option<&str>,
) -> (Verdict, Option<u16>, String) {
    let failed = |why: &str| (Verdict::Failed, None, why.to_owned());
    let Some(broker) = door.runtime.broker() else {
        return failed("this server has nothing that gets credentials");
    };
    let want = Want {
        tenant: account.tenant.clone(),
        connection: account.id.clone(),
        provider: account.provider.clone(),
    };
    let lease = match broker.lease(&want).await {
        Ok(lease) => lease,
        Err(error) => return failed(&in_words(&error)),
    };
    let Some(url) = url else {
        return (Verdict::Found, None, "its credentials are there".to_owned());
    };
    match broker.ask(&lease, url).await {
        Ok(status @ 200..=299) => {
            (Verdict::Accepted, Some(status), format!("the service takes them ({status})"))
        }
        Ok(status @ (401 | 403)) => {
            (Verdict::Rejected, Some(status), format!("the service refuses them ({status})"))
        }
        Ok(status) => {
            let detail = format!("the service answers {status}, which says nothing about them");
            (Verdict::Unclear, Some(status), detail)
        }
        // Before anything was sent: the address itself is refused.
        Err(error) if error.kind == ErrorKind::Permanent => failed(
            "the address is not allowed here, and nothing was sent; whoever runs this server may allow it \
             (`definitions.allow` in haft.toml)",
        ),
        Err(error) => failed(&in_words(&error)),
    }
}
