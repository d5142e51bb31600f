//! A person's consent: their browser goes to the provider, comes back to this server with a code, and
//! the connection is made with the tokens that the code is redeemed for, or one that there is gets them.
//!
//! Whoever started it is on record as who made the connection, and must still be allowed to when the
//! browser comes back. The state is random, known to them alone, and good once and not for long; the
//! code is bound to it by PKCE. Neither is in a log or a record. Whoever brings the same answer again sees
//! what came of it.

mod desk;

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::ToolError;
use haft_core::connection::{Account, AuthKind, Credentials, OAuth, Origin, Refusal};
use haft_core::secret::SecretText;
use haft_runtime::connections::{Wanted, Wrong, check_authorize_url};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use utoipa::ToSchema;

pub(crate) use desk::Consents;
use desk::{Pending, Seen, Taken};

use super::connections::{self, is_free, mistaken, written};
use super::need;
use super::only_if::OnlyIf;
use crate::body;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::{Absent, NoKey, NoRole, Outdated, Problem};
use crate::who::{Role, Who};

/// Where browsers come back to: a page, for people.
pub(crate) const CALLBACK: &str = "/console/consent";

/// Who asks for a person's consent.
pub(crate) struct Asker {
    pub(crate) who: Who,
    /// What they came with; none where they visit the console.
    pub(crate) credential: Option<Credential>,
    /// This server's own address, as they know it.
    pub(crate) base: String,
}

/// What a person's tokens are for.
enum Aim {
    /// A connection that is to be made.
    New(Box<Wanted>),
    /// One that there is, and that keeps what it has until then.
    Again(Box<Account>),
}

impl Aim {
    fn id(&self) -> &str {
        match self {
            Self::New(wanted) => &wanted.id,
            Self::Again(account) => &account.id,
        }
    }

    /// What is said where whoever asked has lost the right to.
    fn unallowed(&self) -> &'static str {
        match self {
            Self::New(_) => {
                "whoever asked for it may not make connections any more, and none was made; an \
                 administrator has to ask"
            }
            Self::Again(_) => {
                "whoever asked for it may not change connections any more, and it has what it had; an \
                 administrator has to ask"
            }
        }
    }

    /// Who chose the address of tokens.
    fn origin(&self) -> Origin {
        match self {
            Self::New(_) => Origin::Tenant,
            Self::Again(account) => account.origin,
        }
    }
}

/// A person's consent that is asked for.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Consent {
    /// What the browser must come back with: good once, and by it the consent is looked up.
    pub(crate) state: String,
    /// The connection that is made, or that gets new tokens.
    pub(crate) connection: String,
    /// Whether it is a connection that there is already.
    pub(crate) renewal: bool,
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
    /// The connection is made, or has its new tokens.
    Connected,
    /// It is not made, or has what it had.
    Failed,
}

/// Begins to ask a person for a connection that there is not yet. Nothing is kept of it beyond this
/// server's memory.
pub(crate) async fn begun(
    door: &Door,
    asker: Asker,
    wanted: Wanted,
    authorize_url: Option<String>,
    secret: Option<SecretText>,
) -> Result<Consent, Problem> {
    need(&asker.who, Role::Administrator)?;
    let url = authorize_url.unwrap_or_default();
    check_authorize_url(&url).map_err(mistaken)?;
    let (AuthKind::AuthorizationCode, Credentials::OAuth(oauth)) =
        (wanted.kind, wanted.credentials(secret).map_err(mistaken)?)
    else {
        return Err(not_a_persons());
    };
    is_free(door, &asker.who, &wanted.id).await?;
    asked(door, asker, Aim::New(Box::new(wanted)), url, oauth)
}

/// Begins to ask a person anew, for a connection that there is. Where is known from the last time, or
/// named.
pub(crate) async fn begun_again(
    door: &Door,
    asker: Asker,
    id: &str,
    authorize_url: Option<String>,
) -> Result<Consent, Problem> {
    let (account, mut oauth) = connections::of_person(door, &asker.who, id).await?;
    let url = authorize_url.or_else(|| oauth.authorize_url.take()).unwrap_or_default();
    check_authorize_url(&url).map_err(mistaken)?;
    asked(door, asker, Aim::Again(Box::new(account)), url, oauth)
}

/// Begins to ask.
fn asked(
    door: &Door,
    asker: Asker,
    aim: Aim,
    url: String,
    mut oauth: Box<OAuth>,
) -> Result<Consent, Problem> {
    let Asker { who, credential, base } = asker;
    let broker = door.runtime.broker().ok_or_else(unable)?;
    let consent = broker.consent(&url, &oauth, &format!("{base}{CALLBACK}"));
    let consent = consent.map_err(|error| {
        mistaken(Wrong { part: "authorize_url", why: error.into_fault().message })
    })?;
    oauth.authorize_url = Some(url);
    let pending = Pending { who, credential, aim, oauth, consent };
    door.consents.begin(pending, door.runtime.store().now_ms())
}

/// One that no person can agree to.
fn not_a_persons() -> Problem {
    let why = "only `authorization-code` takes a person's consent".to_owned();
    mistaken(Wrong { part: "kind", why })
}

/// The answer to who asked.
pub(super) fn accepted(asked: Consent) -> Response {
    let place = format!("/v1/consents/{}", asked.state);
    (StatusCode::ACCEPTED, [(header::LOCATION, place)], Json(asked)).into_response()
}

/// How a person is to be asked anew.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewConsent {
    /// Where they agree, in a browser; where they did the last time, where absent.
    authorize_url: Option<String>,
}

/// Asks a person anew for a connection that there is: it keeps its id, its grants and its old tokens until
/// the new ones are there.
#[utoipa::path(post, path = "/v1/connections/{id}/consent", tag = "connections",
    operation_id = "renew_consent",
    params(("id" = String, Path, description = "The connection."),
        ("If-Match" = Option<String>, Header, description = "Only where this is its `ETag`.")),
    request_body = NewConsent,
    responses((status = 202, description = "A person is asked; `Location` says how that stands.",
            body = Consent),
        NoKey, NoRole, Absent, Outdated,
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "It makes no sense.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn renew(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Extension(credential): Extension<Credential>,
    Path(id): Path<String>,
    only_if: OnlyIf,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    need(&who, Role::Administrator)?;
    let new: NewConsent = body::shape(body::json(&headers, body, &door.limits).await?)?;
    connections::meant(&door, &who, &id, &only_if).await?;
    let base = crate::mcp::base(&door, &headers);
    let asker = Asker { who, credential: Some(credential), base };
    begun_again(&door, asker, &id, new.authorize_url).await.map(accepted)
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

impl Answer {
    /// By which the same answer is known again. The code itself is kept nowhere.
    fn mark(&self) -> [u8; 32] {
        let (kind, text) = match &self.code {
            Ok(code) => (b'c', code.expose()),
            Err(word) => (b'e', word.as_str()),
        };
        Sha256::new().chain_update([kind]).chain_update(text).finalize().into()
    }
}

/// Takes what a browser came back with, and makes the connection. Whoever closes the page stops
/// nothing: a code that was redeemed is good for nothing else. Whoever reloads it is told how that stands.
pub(crate) async fn answered(door: &Arc<Door>, answer: Answer) -> Result<Consent, Problem> {
    let pending = match door.consents.take(&answer.state, answer.mark()).ok_or_else(unknown)? {
        Taken::Now(pending) => pending,
        Taken::Before(stands) => return Ok(stands),
    };
    let state = answer.state;
    let who = pending.who.clone();
    let room = door.work(&who.tenant);
    let (told, asked) = ((door.clone(), state.clone()), who.clone());
    let work = async move {
        let (door, state) = told;
        let made = match room {
            Ok(_room) => made(&door, &pending, answer.code).await,
            // The code was not redeemed, and is good for nothing once the browser is told.
            Err(_) => {
                Err("the server has as much to do as it may; ask again in a moment".to_owned())
            }
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
        let why =
            Some("the server could not finish it; see what it has, then ask again".to_owned());
        door.consents.settle(&state, Seen { status: Standing::Failed, detail: why });
    }
    door.consents.of(&who, &state).ok_or_else(unknown)
}

/// How it stands with an answer that is looked at, and not taken.
pub(crate) fn stands(door: &Door, answer: &Answer) -> Result<Consent, Problem> {
    door.consents.look(&answer.state, answer.mark()).ok_or_else(unknown)
}

/// Redeems a code and writes the connection; says what is to be known about it.
async fn made(
    door: &Door,
    pending: &Pending,
    code: Result<SecretText, String>,
) -> Result<Option<String>, String> {
    let Pending { who, credential, aim, oauth, consent } = pending;
    let code = code.map_err(|word| disagreed(&word))?;
    let allowed = door.still_opens(credential.as_ref(), who).await && who.is(Role::Administrator);
    if !allowed {
        return Err(aim.unallowed().to_owned());
    }
    let broker = door.runtime.broker().ok_or_else(|| unable().in_words())?;
    let said = |problem: Problem| problem.in_words();
    let mut oauth = oauth.clone();
    if let Aim::Again(before) = aim {
        // The client's secret may be another by now, and the tokens must be those of this consent alone.
        let now = connections::still(door, who, before).await.map_err(said)?.1;
        oauth.client_secret = now.client_secret;
        (oauth.refresh, oauth.access) = (None, None);
    }
    let redeemed = broker.redeem(aim.origin(), &oauth, consent, code.expose()).await;
    let agreed = redeemed.map_err(|why| in_words(&why))?;
    let lasts = agreed.refresh.is_some();
    match aim {
        Aim::New(wanted) => {
            let credentials = Credentials::OAuth(Box::new(agreed));
            written(door, who, wanted, &credentials).await.map_err(said)?;
        }
        Aim::Again(before) => {
            connections::agreed(door, who, before, &agreed).await.map_err(said)?;
        }
    }
    let ends = "the provider gave no refresh token: the connection ends with its token";
    Ok((!lasts).then(|| ends.to_owned()))
}

/// What went wrong at the provider, and what to do about it.
pub(super) fn in_words(error: &ToolError) -> String {
    format!("{}; {}", error.message, error.suggestion)
}

/// Why a provider sent no code. A word that is none of OAuth's is shown as it is: it is short, and text.
fn disagreed(word: &str) -> String {
    match Refusal::parse(word) {
        Some(refusal) => {
            format!("the provider did not agree (`{}`); {}", refusal.as_str(), refusal.fix())
        }
        None => {
            format!("the provider did not agree: {word}; ask it what this means, then ask again")
        }
    }
}

/// One that never was, was used or is over: nobody learns which.
fn unknown() -> Problem {
    let fix = "begin again where the connection was to be made; an address for consent is good once, \
               for ten minutes";
    Problem::malformed("this is not an answer that is waited for").advise(fix)
}
