//! Connections: accounts elsewhere that a tenant's tools use, kept by its administrators.
//!
//! A secret goes in and never comes out: no answer, error, log line or record holds one. What a tenant
//! writes here is reached as its own tools are, never as the operator's.

pub(crate) mod grants;
pub(crate) mod test;
mod wanted;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::connection::{Account, AuthKind, Credentials, OAuth, OAuthGrant, Origin};
use haft_core::port::{Connections as Port, Expect, StoreError};
use haft_core::secret::SecretText;
use haft_runtime::connections::{Wanted, Wrong, doubt, with_secret};
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use test::{Tested, Tests};
use wanted::{NewConnection, NewSecret};

use self::grants::Given;
use super::admin::Page;
use super::consents::{self, Asker, Consent};
use super::need;
use super::paging::most;
use crate::body::{self, Params};
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::{Absent, NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// So many connections may a tenant's administrators make.
const MOST: usize = 1_000;
/// How often others may write first before a new secret is given up: a token is renewed now and then.
const RACES: usize = 8;

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

impl Tokens {
    fn of(credentials: &Credentials) -> Option<Self> {
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
async fn with_tokens(door: &Door, who: &Who, mut one: Connection) -> Result<Connection, Problem> {
    let kinds = [AuthKind::ClientCredentials, AuthKind::AuthorizationCode];
    if kinds.iter().any(|kind| kind.as_str() == one.kind) {
        let opened = kept(door)?.open(&who.tenant, &one.id).await.ok();
        one.oauth = opened.and_then(|(_, credentials)| Tokens::of(&credentials));
    }
    Ok(one)
}

fn shown(
    door: &Door,
    kept: &dyn Port,
    account: &Account,
    grants: &[(String, Given)],
) -> Connection {
    let declared = kept.is_declared(&account.tenant, &account.id);
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
        last_test: door.tests.of(&account.tenant, &account.id),
        warnings: Vec::new(),
    }
}

/// Makes a connection. Its secret is sealed and never shown again; nobody may use it until it is
/// granted. One of a person (`authorization-code`) takes a browser: the answer is the address at which
/// they agree, and the connection is made when the browser comes back.
#[utoipa::path(post, path = "/v1/connections", tag = "connections",
    operation_id = "make_connection", request_body = NewConnection,
    responses((status = 201, description = "The connection.", body = Connection),
        (status = 202, description = "A person is asked; `Location` says how that stands.",
            body = Consent),
        NoKey, NoRole,
        (status = 409, description = "There is one of this id, or as many as there may be.",
            body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn make(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Extension(credential): Extension<Credential>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    let (mut new, secret) = NewConnection::read(body::json(&headers, body, &door.limits).await?)?;
    let authorize_url = new.authorize_url.take();
    let wanted = new.wanted();
    if wanted.kind == AuthKind::AuthorizationCode {
        let base = crate::mcp::base(&door, &headers);
        let asker = Asker { who, credential: Some(credential), base };
        let asked = consents::begun(&door, asker, wanted, authorize_url, secret).await?;
        return Ok(consents::accepted(asked));
    }
    if authorize_url.is_some() {
        let why = "this is for `authorization-code`, where a person agrees".to_owned();
        return Err(mistaken(Wrong { part: "authorize_url", why }));
    }
    let made = made(&door, &who, &wanted, secret).await?;
    let place = format!("/v1/connections/{}", made.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(made)).into_response())
}

/// Makes a connection in the tenant of `who`.
pub(crate) async fn made(
    door: &Door,
    who: &Who,
    wanted: &Wanted,
    secret: Option<SecretText>,
) -> Result<Connection, Problem> {
    need(who, Role::Administrator)?;
    let credentials = wanted.credentials(secret).map_err(mistaken)?;
    let account = written(door, who, wanted, &credentials).await?;
    let mut made = shown(door, &**kept(door)?, &account, &grants::all(door, who).await?);
    made.oauth = Tokens::of(&credentials);
    made.warnings.extend(doubt(&wanted.id, &credentials));
    Ok(made)
}

/// Writes a connection that there is not yet.
pub(super) async fn written(
    door: &Door,
    who: &Who,
    wanted: &Wanted,
    credentials: &Credentials,
) -> Result<Account, Problem> {
    is_free(door, who, &wanted.id).await?;
    let account = wanted.account(&who.tenant, Origin::Tenant);
    let by = Some(&who.principal);
    let put = kept(door)?.put(account, credentials, Expect::Nothing, by).await;
    put.map_err(|why| match why == StoreError::Stale {
        true => Problem::exists("connection"),
        false => unsealed(why),
    })
}

/// Whether a connection of this id can be made.
pub(super) async fn is_free(door: &Door, who: &Who, id: &str) -> Result<(), Problem> {
    let kept = kept(door)?;
    let there = kept.accounts(&who.tenant).await.map_err(unopened)?;
    if kept.is_declared(&who.tenant, id) {
        return Err(Problem::declared());
    }
    if there.iter().any(|one| one.id == id) {
        return Err(Problem::exists("connection"));
    }
    if there.len() >= MOST {
        let why = format!("the tenant has {MOST} connections, which is as many as there may be");
        return Err(Problem::full(why));
    }
    Ok(())
}

/// One connection, without its secret.
#[utoipa::path(get, path = "/v1/connections/{id}", tag = "connections",
    operation_id = "show_connection", params(("id" = String, Path, description = "Its id.")),
    responses((status = 200, description = "The connection.", body = Connection),
        NoKey, NoRole, Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Json<Connection>, Problem> {
    one(&door, &who, &id).await.map(Json)
}

/// A connection of the tenant.
pub(crate) async fn one(door: &Door, who: &Who, id: &str) -> Result<Connection, Problem> {
    let mut all = all(door, who).await?.into_iter();
    let one = all.find(|one| one.id == id).ok_or_else(|| Problem::missing("connection"))?;
    with_tokens(door, who, one).await
}

/// Replaces the secret of a connection; the next call uses the new one. It is never shown.
#[utoipa::path(put, path = "/v1/connections/{id}/secret", tag = "connections",
    operation_id = "change_connection_secret",
    params(("id" = String, Path, description = "The connection.")), request_body = NewSecret,
    responses((status = 200, description = "The connection.", body = Connection),
        NoKey, NoRole, Absent,
        (status = 409, description = "Declared in `haft.toml`, or changed by others meanwhile.",
            body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn secret(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Connection>, Problem> {
    need(&who, Role::Administrator)?;
    let secret = NewSecret::read(body::json(&headers, body, &door.limits).await?)?;
    changed(&door, &who, &id, &secret).await.map(Json)
}

/// Replaces a secret.
pub(crate) async fn changed(
    door: &Door,
    who: &Who,
    id: &str,
    secret: &SecretText,
) -> Result<Connection, Problem> {
    let kept = own(door, who, id).await?;
    for _ in 0..RACES {
        let (account, before) = kept.open(&who.tenant, id).await.map_err(unopened)?;
        let after = with_secret(id, before, secret.clone()).map_err(mistaken)?;
        let expect = Expect::Revision(account.revision);
        match kept.put(account, &after, expect, Some(&who.principal)).await {
            // A token was renewed meanwhile.
            Err(StoreError::Stale) => {}
            Err(why) => return Err(unsealed(why)),
            Ok(account) => {
                door.tests.forget(&who.tenant, id);
                let mut now = shown(door, &**kept, &account, &grants::all(door, who).await?);
                now.oauth = Tokens::of(&after);
                now.warnings.extend(doubt(id, &after));
                return Ok(now);
            }
        }
    }
    Err(Problem::busy("others change the connection at the same time"))
}

/// A connection of a person, whose consent may be asked for again.
pub(super) async fn of_person(
    door: &Door,
    who: &Who,
    id: &str,
) -> Result<(Account, Box<OAuth>), Problem> {
    let kept = own(door, who, id).await?;
    match kept.open(&who.tenant, id).await.map_err(unopened)? {
        (account, Credentials::OAuth(oauth)) if oauth.grant == OAuthGrant::AuthorizationCode => {
            Ok((account, oauth))
        }
        (_, _) => Err(consents::not_a_persons()),
    }
}

/// The same connection as it is now; not another that was made under its id since.
pub(super) async fn still(
    door: &Door,
    who: &Who,
    before: &Account,
) -> Result<(Account, Box<OAuth>), Problem> {
    let (account, oauth) = of_person(door, who, &before.id).await?;
    match account.made_ms == before.made_ms {
        true => Ok((account, oauth)),
        false => Err(Problem::busy("another connection has this id by now")),
    }
}

/// Gives a connection the tokens of a new consent; who may use it stays as it is.
pub(super) async fn agreed(
    door: &Door,
    who: &Who,
    before: &Account,
    fresh: &OAuth,
) -> Result<(), Problem> {
    for _ in 0..RACES {
        let (account, mut oauth) = still(door, who, before).await?;
        if oauth.refresh.is_some() && fresh.refresh.is_none() {
            let why = "the provider gave no refresh token, so the connection has what it had";
            let fix = "have it give one (many want `access_type=offline` or `prompt=consent` in the \
                       address for consent), then ask again";
            return Err(Problem::invalid_configuration(why).advise(fix));
        }
        oauth.authorize_url.clone_from(&fresh.authorize_url);
        oauth.refresh.clone_from(&fresh.refresh);
        oauth.access.clone_from(&fresh.access);
        let expect = Expect::Revision(account.revision);
        let after = Credentials::OAuth(oauth);
        match kept(door)?.put(account, &after, expect, Some(&who.principal)).await {
            // A token was renewed meanwhile, or the client's secret replaced.
            Err(StoreError::Stale) => {}
            Err(why) => return Err(unsealed(why)),
            Ok(_) => {
                door.tests.forget(&who.tenant, &before.id);
                return Ok(());
            }
        }
    }
    Err(Problem::busy("others change the connection at the same time"))
}

/// Forgets a connection, its secret and its grants.
#[utoipa::path(delete, path = "/v1/connections/{id}", tag = "connections",
    operation_id = "remove_connection", params(("id" = String, Path, description = "Its id.")),
    responses((status = 204, description = "It is gone."), NoKey, NoRole, Absent,
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn remove(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    removed(&door, &who, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Forgets a connection.
pub(crate) async fn removed(door: &Door, who: &Who, id: &str) -> Result<(), Problem> {
    let kept = own(door, who, id).await?;
    kept.remove(&who.tenant, id, &who.principal).await.map_err(unopened)?;
    door.tests.forget(&who.tenant, id);
    in_force(door).await;
    Ok(())
}

/// Whether a tenant has connections of its own that are stored.
pub(crate) async fn any(door: &Door, tenant: &str) -> Result<bool, Problem> {
    let Some(kept) = door.runtime.accounts() else { return Ok(false) };
    let all = kept.accounts(tenant).await.map_err(unopened)?;
    Ok(all.iter().any(|one| !kept.is_declared(tenant, &one.id)))
}

/// Where connections are kept, for a change of one that is there and not declared.
async fn own<'a>(door: &'a Door, who: &Who, id: &str) -> Result<&'a Arc<dyn Port>, Problem> {
    need(who, Role::Administrator)?;
    let kept = kept(door)?;
    if kept.is_declared(&who.tenant, id) {
        return Err(Problem::declared());
    }
    find(&**kept, who, id).await?;
    Ok(kept)
}

/// The account of an id.
async fn find(kept: &dyn Port, who: &Who, id: &str) -> Result<Account, Problem> {
    let all = kept.accounts(&who.tenant).await.map_err(unopened)?;
    all.into_iter().find(|one| one.id == id).ok_or_else(|| Problem::missing("connection"))
}

fn kept(door: &Door) -> Result<&Arc<dyn Port>, Problem> {
    door.runtime
        .accounts()
        .ok_or_else(|| Problem::no_sealing_key("this server keeps no connections"))
}

/// Grants hold for new calls when the answer comes back. Where the store cannot be read at this moment,
/// they do a second later: a server looks again all the time.
async fn in_force(door: &Door) {
    let _ = door.runtime.refresh().await;
}

/// What makes no sense, by the name of the field.
pub(super) fn mistaken(wrong: Wrong) -> Problem {
    Problem::invalid_configuration(format!("`{}`: {}", wrong.part, wrong.why))
        .advise("correct the field that is named; nothing was changed")
}

/// Why a record cannot be opened. Which key was wanted is for whoever runs the server.
fn unopened(why: StoreError) -> Problem {
    match why {
        StoreError::Missing => Problem::missing("connection"),
        StoreError::WrongState(ref said) => {
            tracing::warn!(event = "connection_not_opened", why = %said);
            Problem::no_sealing_key("the connection's secret was sealed with another key")
        }
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::Tampered(_) => super::confirmations::unreadable(why),
    }
}

/// Why a record cannot be written.
fn unsealed(why: StoreError) -> Problem {
    let StoreError::WrongState(said) = &why else { return unopened(why) };
    tracing::warn!(event = "connection_not_sealed", why = %said);
    Problem::no_sealing_key("this server has no key to seal secrets with")
}
