//! A person's consent: their browser goes to the provider, comes back to this server with a code, and
//! the connection is made with the tokens that the code is redeemed for.
//!
//! Whoever started it is on record as who made the connection, and must still be allowed to when the
//! browser comes back. The state is random, known to them alone, and good once and not for long; the
//! code is bound to it by PKCE. Neither is in a log or a record.

mod desk;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use haft_core::connection::{AuthKind, Credentials};
use haft_core::secret::SecretText;
use haft_runtime::connections::{Wanted, Wrong, check_authorize_url};
use serde::Serialize;
use utoipa::ToSchema;

pub(crate) use desk::Consents;
use desk::{Pending, Seen};

use super::connections::{is_free, mistaken, written};
use super::need;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::{Absent, NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// Where browsers come back to: a page, for people.
pub(crate) const CALLBACK: &str = "/console/consent";

/// Who asks for a person's consent, and for what.
pub(crate) struct Asks {
    pub(crate) who: Who,
    /// What they came with; none where they visit the console.
    pub(crate) credential: Option<Credential>,
    /// This server's own address, as they know it.
    pub(crate) base: String,
    pub(crate) wanted: Wanted,
    pub(crate) authorize_url: Option<String>,
}

/// A person's consent that is asked for.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consent {
    /// What the browser must come back with: good once, and by it the consent is looked up.
    pub(crate) state: String,
    /// The connection that is made.
    pub(crate) connection: String,
    /// How it stands.
    pub(crate) status: Standing,
    /// Where the person agrees; absent once they have answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// Where the provider sends the browser back to: it must be told to the provider as allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) redirect_uri: Option<String>,
    /// What is to be known about how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
    /// Until when it is good, in milliseconds of the Unix epoch.
    pub(crate) expires_at_ms: i64,
}

/// How a consent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// Nobody has answered yet.
    Waiting,
    /// The browser is back, and the code is being redeemed.
    Redeeming,
    /// The connection is made.
    Connected,
    /// It is not made.
    Failed,
}

/// Begins to ask a person. Nothing is kept of it beyond this server's memory.
pub(crate) async fn begun(
    door: &Door,
    asks: Asks,
    secret: Option<SecretText>,
) -> Result<Consent, Problem> {
    need(&asks.who, Role::Administrator)?;
    let wrong = |part, why: &str| mistaken(Wrong { part, why: why.to_owned() });
    let Asks { who, credential, base, wanted, authorize_url } = asks;
    let url = authorize_url.unwrap_or_default();
    check_authorize_url(&url).map_err(mistaken)?;
    let (AuthKind::AuthorizationCode, Credentials::OAuth(oauth)) =
        (wanted.kind, wanted.credentials(secret).map_err(mistaken)?)
    else {
        return Err(wrong("kind", "only `authorization-code` takes a person's consent"));
    };
    is_free(door, &who, &wanted.id).await?;
    let broker = door.runtime.broker().ok_or_else(unable)?;
    let consent = broker.consent(&url, &oauth, &format!("{base}{CALLBACK}"));
    let consent = consent.map_err(|error| wrong("authorize_url", &error.message))?;
    let pending = Pending { who, credential, wanted, oauth, consent };
    door.consents.begin(pending, door.runtime.store().now_ms())
}

fn unable() -> Problem {
    Problem::no_sealing_key("this server has nothing that gets credentials")
}

/// How a consent stands that the same administrator has asked for.
#[utoipa::path(get, path = "/v1/consents/{state}", tag = "connections",
    operation_id = "show_consent", params(("state" = String, Path, description = "Its state.")),
    responses((status = 200, description = "How it stands.", body = Consent),
        NoKey, NoRole, Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(state): Path<String>,
) -> Result<Json<Consent>, Problem> {
    need(&who, Role::Administrator)?;
    door.consents.of(&who, &state).map(Json).ok_or_else(|| Problem::missing("consent"))
}

/// Calls a consent off that nobody has given yet: a browser that comes back with it is sent away.
#[utoipa::path(delete, path = "/v1/consents/{state}", tag = "connections",
    operation_id = "cancel_consent", params(("state" = String, Path, description = "Its state.")),
    responses((status = 204, description = "It is void."), NoKey, NoRole, Absent,
        (status = 409, description = "It was answered already.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(state): Path<String>,
) -> Result<StatusCode, Problem> {
    need(&who, Role::Administrator)?;
    door.consents.cancel(&who, &state)?;
    Ok(StatusCode::NO_CONTENT)
}

/// What a browser came back with.
pub(crate) struct Answer {
    pub(crate) state: String,
    /// What the provider gave, or the word with which it did not.
    pub(crate) code: Result<SecretText, String>,
}

/// Takes what a browser came back with, and makes the connection. Whoever closes the page stops
/// nothing: a code that was redeemed is good for nothing else.
pub(crate) async fn answered(door: &Arc<Door>, answer: Answer) -> Result<Consent, Problem> {
    let state = answer.state;
    let pending = door.consents.take(&state).ok_or_else(unknown)?;
    let who = pending.who.clone();
    let room = door.work(&who.tenant);
    let (told, asked) = ((door.clone(), state.clone()), who.clone());
    let work = async move {
        let (door, state) = told;
        let made = match room {
            Ok(_room) => made(&door, &pending, answer.code).await,
            Err(problem) => Err(problem.in_words()),
        };
        let seen = match made {
            Ok(detail) => Seen { status: Standing::Connected, detail },
            Err(why) => Seen { status: Standing::Failed, detail: Some(why) },
        };
        let (tenant, status) = (&*asked.tenant, seen.status);
        tracing::info!(event = "consent_answered", tenant, by = %asked.principal, ?status);
        door.consents.settle(&state, seen);
    };
    if tokio::spawn(work).await.is_err() {
        let why = Some("the server could not finish it".to_owned());
        door.consents.settle(&state, Seen { status: Standing::Failed, detail: why });
    }
    door.consents.of(&who, &state).ok_or_else(unknown)
}

/// Redeems a code and writes the connection; says what is to be known about it.
async fn made(
    door: &Door,
    pending: &Pending,
    code: Result<SecretText, String>,
) -> Result<Option<String>, String> {
    let Pending { who, credential, wanted, oauth, consent } = pending;
    let code = code.map_err(|why| format!("the provider did not agree: {why}"))?;
    let allowed = door.still_opens(credential.as_ref(), who).await && who.is(Role::Administrator);
    if !allowed {
        return Err("whoever asked for it may not make connections any more".to_owned());
    }
    let broker = door.runtime.broker().ok_or_else(|| unable().in_words())?;
    let agreed = broker.redeem(oauth, consent, code.expose()).await.map_err(|why| why.message)?;
    let lasts = agreed.refresh.is_some();
    let credentials = Credentials::OAuth(Box::new(agreed));
    let put = written(door, who, wanted, &credentials).await;
    put.map_err(|problem| problem.in_words())?;
    let ends = "the provider gave no refresh token: the connection ends with its token";
    Ok((!lasts).then(|| ends.to_owned()))
}

/// One that never was, was used or is over: nobody learns which.
fn unknown() -> Problem {
    let fix = "begin again where the connection was to be made; an address for consent is good once, \
               for ten minutes";
    Problem::malformed("this is not an answer that is waited for").advise(fix)
}
