//! Connections: accounts elsewhere that a tenant's tools use, kept by its administrators.
//!
//! A secret goes in and never comes out: no answer, error, log line or record holds one. What a tenant
//! writes here is reached as its own tools are, never as the operator's.

mod agreed;
pub(crate) mod grants;
mod kept;
pub(crate) mod shown;
pub(crate) mod test;
mod wanted;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::connection::{Account, AuthKind, Credentials, Origin};
use haft_core::port::{Expect, StoreError};
use haft_core::secret::SecretText;
use haft_runtime::connections::{Wanted, Wrong, doubt, with_secret};

pub(super) use agreed::{agreed, of_person, still};
pub(super) use kept::{meant, mistaken};
pub(crate) use shown::{Connection, all, one};
pub(crate) use test::{Tested, Tests};
use wanted::{NewConnection, NewSecret};

use self::kept::{in_force, kept, own, tag, unopened, unsealed};
use self::shown::{Tokens, shown};
use super::consents::{self, Asker, Consent};
use super::need;
use super::only_if::OnlyIf;
use crate::body;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::{Absent, NoKey, NoRole, Outdated, Problem};
use crate::who::{Role, Who};

/// So many connections may a tenant's administrators make.
const MOST: usize = 1_000;
/// How often others may write first before a new secret is given up: a token is renewed now and then.
const RACES: usize = 8;

/// Makes a connection. Its secret is sealed and never shown again; nobody may use it until it is
/// granted. One of a person (`authorization-code`) takes a browser: the answer is the address at which
/// they agree, and the connection is made when the browser comes back.
#[utoipa::path(post, path = "/v1/connections", tag = "connections",
    operation_id = "make_connection", request_body = NewConnection,
    responses((status = 201, description = "With its version as `ETag`.", body = Connection),
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
    let place = [(header::LOCATION, format!("/v1/connections/{}", made.id))];
    Ok((place, made.respond(StatusCode::CREATED)).into_response())
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

/// Replaces the secret of a connection; the next call uses the new one. It is never shown.
#[utoipa::path(put, path = "/v1/connections/{id}/secret", tag = "connections",
    operation_id = "change_connection_secret",
    params(("id" = String, Path, description = "The connection."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    request_body = NewSecret,
    responses((status = 200, description = "With its version as `ETag`.", body = Connection),
        NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`, or changed by others meanwhile.",
            body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn secret(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    only_if: OnlyIf,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    let secret = NewSecret::read(body::json(&headers, body, &door.limits).await?)?;
    Ok(changed(&door, &who, &id, &secret, &only_if).await?.respond(StatusCode::OK))
}

/// Replaces a secret.
pub(crate) async fn changed(
    door: &Door,
    who: &Who,
    id: &str,
    secret: &SecretText,
    only_if: &OnlyIf,
) -> Result<Connection, Problem> {
    let kept = own(door, who, id).await?;
    for _ in 0..RACES {
        let (account, before) = kept.open(&who.tenant, id).await.map_err(unopened)?;
        only_if.is(&tag(account.made_ms, account.revision))?;
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

/// Forgets a connection, its secret and its grants.
#[utoipa::path(delete, path = "/v1/connections/{id}", tag = "connections",
    operation_id = "remove_connection",
    params(("id" = String, Path, description = "Its id."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    responses((status = 204, description = "It is gone."), NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn remove(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    only_if: OnlyIf,
) -> Result<StatusCode, Problem> {
    meant(&door, &who, &id, &only_if).await?;
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
