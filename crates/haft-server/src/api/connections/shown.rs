//! A connection as its administrators see it: everything but the secret.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::connection::{Account, AuthKind, Credentials};
use haft_core::port::Connections as Port;
use serde::Serialize;
use utoipa::ToSchema;

use super::grants::{self, Given};
use super::kept::{kept, tag, unopened};
use super::test::Tested;
use crate::api::admin::Page;
use crate::api::need;
use crate::api::paging::most;
use crate::body::Params;
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// A connection, as far as anybody may know it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Connection {
    /// The id that calls name.
    pub(crate) id: String,
    /// `stored` here, or `declared` in `haft.toml` and read-only.
    pub(crate) source: &'static str,
    /// Whose service it is an account of; tools name the same word.
    pub(crate) provider: String,
    /// How it proves who it is: `bearer`, `header`, `query`, `basic`, `client-credentials`,
    /// `authorization-code`.
    pub(crate) kind: &'static str,
    /// The only hosts that its credentials go to; those of each tool's contract where empty.
    pub(crate) hosts: Vec<String>,
    /// What is known of how its tokens are had, where they are: nothing of it is secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oauth: Option<Tokens>,
    /// Raised by every change, and whenever a token is renewed.
    pub(crate) version: u64,
    /// When it was made, in milliseconds of the Unix epoch; absent where it is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) made_at_ms: Option<i64>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at_ms: Option<i64>,
    /// Who may use it, and with which tools.
    pub(crate) grants: Vec<Given>,
    /// What came of the last test, since the server was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_test: Option<Tested>,
    /// What is probably not what was meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

/// How the tokens of a connection are had.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ConnectionTokens)]
pub(crate) struct Tokens {
    /// Where a person agrees, as far as that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) authorize_url: Option<String>,
    /// Where.
    pub(crate) token_url: String,
    /// Who the program is to the provider.
    pub(crate) client_id: String,
    /// What is asked for.
    pub(crate) scopes: Vec<String>,
    /// What the token is for, where the provider wants to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audience: Option<String>,
}

impl Connection {
    /// With its version as the tag.
    pub(super) fn respond(&self, status: StatusCode) -> Response {
        let mut response = (status, Json(self)).into_response();
        let tag = self.made_at_ms.map(|made_ms| tag(made_ms, self.version));
        if let Some(tag) = tag.and_then(|tag| tag.parse().ok()) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        response
    }
}

impl Tokens {
    pub(super) fn of(credentials: &Credentials) -> Option<Self> {
        let Credentials::OAuth(oauth) = credentials else { return None };
        Some(Self {
            authorize_url: oauth.authorize_url.clone(),
            token_url: oauth.token_url.clone(),
            client_id: oauth.client_id.clone(),
            scopes: oauth.scopes.clone(),
            audience: oauth.audience.clone(),
        })
    }
}

/// A part of a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct Connections {
    /// By id.
    items: Vec<Connection>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// The tenant's connections, declared and stored, without a secret.
#[utoipa::path(get, path = "/v1/connections", tag = "connections",
    operation_id = "list_connections", params(Page),
    responses((status = 200, description = "Some of them.", body = Connections), NoKey, NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(page): Params<Page>,
) -> Result<Json<Connections>, Problem> {
    let mut items = all(&door, &who).await?;
    if let Some(after) = &page.after {
        items.retain(|one| one.id > *after);
    }
    let most = most(page.limit)?;
    let more = items.len() > most;
    items.truncate(most);
    let next = items.last().filter(|_| more).map(|one| one.id.clone());
    let mut shown = Vec::with_capacity(items.len());
    for one in items {
        shown.push(with_tokens(&door, &who, one).await?);
    }
    Ok(Json(Connections { items: shown, next }))
}

/// Every connection of the tenant, by id.
pub(crate) async fn all(door: &Door, who: &Who) -> Result<Vec<Connection>, Problem> {
    need(who, Role::Administrator)?;
    let kept = kept(door)?;
    let mut accounts = kept.accounts(&who.tenant).await.map_err(unopened)?;
    accounts.sort_by(|one, other| one.id.cmp(&other.id));
    let grants = grants::all(door, who).await?;
    Ok(accounts.iter().map(|account| shown(door, &**kept, account, &grants)).collect())
}

/// With where its tokens come from. That is sealed with the secret; where the key is not there, the rest is
/// shown without it.
pub(super) async fn with_tokens(
    door: &Door,
    who: &Who,
    mut one: Connection,
) -> Result<Connection, Problem> {
    let kinds = [AuthKind::ClientCredentials, AuthKind::AuthorizationCode];
    if kinds.iter().any(|kind| kind.as_str() == one.kind) {
        let opened = kept(door)?.open(&who.tenant, &one.id).await.ok();
        one.oauth = opened.and_then(|(_, credentials)| Tokens::of(&credentials));
    }
    Ok(one)
}

pub(super) fn shown(
    door: &Door,
    kept: &dyn Port,
    account: &Account,
    grants: &[(String, Given)],
) -> Connection {
    let declared = kept.is_declared(&account.tenant, &account.id);
    // One that was called so before was another, also where another process removed it.
    let own_test = |test: &Tested| declared || test.tested_at_ms >= account.made_ms;
    let own = grants.iter().filter(|(connection, _)| *connection == account.id);
    Connection {
        id: account.id.clone(),
        source: if declared { "declared" } else { "stored" },
        provider: account.provider.clone(),
        kind: account.kind.as_str(),
        hosts: account.hosts.clone(),
        oauth: None,
        version: account.revision,
        made_at_ms: (!declared).then_some(account.made_ms),
        changed_at_ms: (!declared).then_some(account.changed_ms),
        grants: own.map(|(_, given)| given.clone()).collect(),
        last_test: door.tests.of(&account.tenant, &account.id).filter(own_test),
        warnings: Vec::new(),
    }
}

/// One connection, without its secret.
#[utoipa::path(get, path = "/v1/connections/{id}", tag = "connections",
    operation_id = "show_connection", params(("id" = String, Path, description = "Its id.")),
    responses((status = 200, description = "With its version as `ETag`.", body = Connection),
        NoKey, NoRole, Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    Ok(one(&door, &who, &id).await?.respond(StatusCode::OK))
}

/// A connection of the tenant.
pub(crate) async fn one(door: &Door, who: &Who, id: &str) -> Result<Connection, Problem> {
    let mut all = all(door, who).await?.into_iter();
    let one = all.find(|one| one.id == id).ok_or_else(|| Problem::missing("connection"))?;
    with_tokens(door, who, one).await
}
