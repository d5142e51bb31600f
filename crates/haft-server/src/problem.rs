//! What goes wrong, as `application/problem+json` (RFC 9457): one edge, one table of statuses.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::hop::Looped;
use haft_core::{ErrorKind, ToolError};
use haft_runtime::config::ChangeError;
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoResponses, ToSchema};

/// Where this server shows the page of each code.
pub(crate) const PAGES: &str = "/errors/";

/// A request that was not carried out, and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// The address of the code's page.
    #[serde(rename = "type")]
    kind: String,
    /// The HTTP status in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What went wrong.
    detail: String,
    /// The stable code: one of the kinds of error, or a word of HTTP's own.
    code: String,
    /// What to do next.
    suggestion: String,
    /// More, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::shapes::Open>)]
    details: Option<Value>,
    /// Seconds to wait.
    #[serde(skip)]
    retry_after: Option<u64>,
}

impl Problem {
    fn new(status: StatusCode, code: &str, detail: impl Into<String>, suggestion: &str) -> Self {
        Self {
            kind: format!("{PAGES}{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_owned(),
            suggestion: suggestion.to_owned(),
            details: None,
            retry_after: None,
        }
    }

    /// The request itself makes no sense.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        let fix = "correct the request; `/v1/openapi.json` has its shape";
        Self::new(StatusCode::BAD_REQUEST, "malformed_request", detail, fix)
    }

    /// Nobody whom this server knows.
    pub(crate) fn unauthenticated() -> Self {
        let fix = "send a key that this server knows as `Authorization: Bearer <key>`";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", "the request has no valid key", fix)
    }

    /// Somebody who was signed in.
    pub(crate) fn signed_out(detail: &str) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail, "sign in to the console")
    }

    /// Too many attempts.
    pub(crate) fn too_often() -> Self {
        let detail = "there were too many wrong keys in the last minute";
        let fix = "wait a minute, then try again";
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail, fix);
        problem.retry_after = Some(60);
        problem
    }

    /// As many sockets and streams as one may have.
    pub(crate) fn too_many_open(whose: &str) -> Self {
        let detail = format!("{whose} has as many sockets and streams open as it may");
        let fix = "close those that nobody needs, then try again";
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail, fix);
        problem.retry_after = Some(10);
        problem
    }

    /// As many people as one tenant may ask for their consent at once.
    pub(crate) fn too_many_asked(most: usize) -> Self {
        let detail =
            format!("the tenant has asked for {most} consents that nobody has answered yet");
        let fix = "call those off that nobody will answer (`DELETE /v1/consents/{state}`), or wait: each \
                   ends by itself after ten minutes";
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail, fix);
        problem.retry_after = Some(60);
        problem
    }

    /// As much work as one tenant may have.
    pub(crate) fn too_much_at_once() -> Self {
        let detail = "the tenant has as much work under way as it may have at once";
        let fix = "wait as `Retry-After` says, then send the same request with the same key";
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail, fix);
        problem.retry_after = Some(1);
        problem
    }

    /// Somebody who may not do this.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        let fix = "use a key with the role that this needs";
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail, fix)
    }

    /// Nothing that this caller could see.
    pub(crate) fn missing(what: &str) -> Self {
        let fix = "check the id, and whether your key's tenant has it";
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"), fix)
    }

    /// More than is taken at once.
    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = format!("the body has more than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail, "send less")
    }

    /// Something that this server does not read.
    pub(crate) fn unsupported(detail: impl Into<String>, suggestion: &str) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported", detail, suggestion)
    }

    /// Somebody who takes nothing that there is.
    pub(crate) fn not_acceptable(detail: impl Into<String>, suggestion: &str) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", detail, suggestion)
    }

    /// A page of another origin, or a name that is not ours.
    pub(crate) fn foreign(detail: impl Into<String>) -> Self {
        let fix = "add the host to `server.hosts` in `haft.toml` if it is yours";
        Self::new(StatusCode::FORBIDDEN, "foreign_host", detail, fix)
    }

    /// A tool of this server that calls this server.
    pub(crate) fn looped(how: Looped) -> Self {
        let detail = match how {
            Looped::Back => "the request comes from this server itself, through a tool or a model",
            Looped::TooLong => {
                "the request has come through too many servers, from one to the next"
            }
        };
        let fix = "point the address of the tool or the model at the service that it is meant for";
        Self::new(StatusCode::LOOP_DETECTED, "loop", detail, fix)
    }

    /// No room for more work now.
    pub(crate) fn overloaded() -> Self {
        let detail = "the server has as much work as it takes at once";
        let fix = "wait as `Retry-After` says, then send the same request with the same key";
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail, fix);
        problem.retry_after = Some(1);
        problem
    }

    /// A method that this page does not have.
    pub(crate) fn wrong_method() -> Self {
        let detail = "this page is there, but not with this method";
        let fix = "see `Allow`, or `/v1/openapi.json`";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", detail, fix)
    }

    /// The body did not come in time.
    pub(crate) fn too_slow() -> Self {
        let detail = "the request did not arrive in time";
        Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail, "send it faster, or less of it")
    }

    /// Something that `haft.toml` says.
    pub(crate) fn declared() -> Self {
        let detail = "this is declared in `haft.toml` and read-only here";
        let fix = "change it in `haft.toml`, or remove it there first";
        Self::new(StatusCode::CONFLICT, "declared", detail, fix)
    }

    /// Somebody else was there first.
    pub(crate) fn precondition_failed(detail: impl Into<String>) -> Self {
        let fix = "read it again, and send its `ETag` as `If-Match`";
        Self::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", detail, fix)
    }

    /// A change that does not say on what it is made.
    pub(crate) fn precondition_required() -> Self {
        let detail = "it exists, and the request does not say which version of it was read";
        let fix = "send the `ETag` that it was read with as `If-Match`";
        Self::new(StatusCode::PRECONDITION_REQUIRED, "precondition_required", detail, fix)
    }

    /// A configuration that makes no sense or does not fit.
    pub(crate) fn invalid_configuration(detail: impl Into<String>) -> Self {
        let fix = "correct what `details.problems` names; nothing was changed";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_configuration", detail, fix)
    }

    /// Looser rules that nobody has taken on themselves.
    pub(crate) fn looser(detail: impl Into<String>) -> Self {
        let fix = "send it with `approve: true` to take that on yourself; it goes on record";
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "looser_than_contract", detail, fix)
    }

    /// Something that others need.
    pub(crate) fn not_empty(detail: impl Into<String>) -> Self {
        let fix = "remove what belongs to it first";
        Self::new(StatusCode::CONFLICT, "not_empty", detail, fix)
    }

    /// A tenant that has an administrator of its own.
    pub(crate) fn administered() -> Self {
        let detail = "the tenant has an administrator, who makes its keys";
        let fix = "ask them for a key; they make it with `POST /v1/admin/keys`";
        Self::new(StatusCode::CONFLICT, "administered", detail, fix)
    }

    /// Something of the same name.
    pub(crate) fn exists(what: &str) -> Self {
        let detail = format!("there is a {what} of this id already");
        let fix = "choose another id, change the one that is there, or remove it first";
        Self::new(StatusCode::CONFLICT, "exists", detail, fix)
    }

    /// As many as there may be.
    pub(crate) fn full(detail: impl Into<String>) -> Self {
        let fix = "remove what nobody needs any more";
        Self::new(StatusCode::CONFLICT, "full", detail, fix)
    }

    /// What is over cannot be called off.
    pub(crate) fn ended() -> Self {
        let detail = "it has ended by itself, and nothing of it is left to be called off";
        let fix = "fetch its answer, and undo what it did where that can be undone";
        Self::new(StatusCode::CONFLICT, "ended", detail, fix)
    }

    /// Others were faster, again and again.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "busy", detail, "send the same request again")
    }

    /// Nothing to seal secrets with, or not what they were sealed with.
    pub(crate) fn no_sealing_key(detail: impl Into<String>) -> Self {
        let fix = "ask whoever runs this server to set `connections.key_file` or `connections.key_env` in \
                   `haft.toml`; its log says what is missing";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_sealing_key", detail, fix)
    }

    /// With other words on what to do.
    pub(crate) fn advise(mut self, suggestion: &str) -> Self {
        suggestion.clone_into(&mut self.suggestion);
        self
    }

    /// With how many seconds to wait.
    pub(crate) fn again_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// How many seconds to wait, where that is known.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// With more for programs.
    pub(crate) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// More for programs.
    pub(crate) fn details(&self) -> Option<&Value> {
        self.details.as_ref()
    }

    /// One of each that is no kind of a call's end.
    pub(crate) fn own() -> [Self; 23] {
        [
            Self::malformed("the request is not one that this server reads"),
            Self::unauthenticated(),
            Self::forbidden("the key's role does not allow this"),
            Self::too_large(0),
            Self::unsupported("the body is not in a form that is read here", "send plain JSON"),
            Self::not_acceptable(
                "the request takes no kind of answer that there is",
                "send `Accept` with the kinds that the page has",
            ),
            Self::foreign("the request is for another host, or from a page of another origin"),
            Self::looped(Looped::Back),
            Self::overloaded(),
            Self::wrong_method(),
            Self::too_slow(),
            Self::declared(),
            Self::precondition_failed("it is not as the request says that it was read"),
            Self::precondition_required(),
            Self::invalid_configuration("what was sent makes no sense, or does not fit the rest"),
            Self::looser("the overrides are looser than the tool's contract"),
            Self::not_empty("other things belong to what was to be removed"),
            Self::administered(),
            Self::exists("thing"),
            Self::full("there are as many as there may be"),
            Self::ended(),
            Self::busy("others change the same thing at the same time"),
            Self::no_sealing_key("this server has no key to seal secrets with"),
        ]
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn suggestion(&self) -> &str {
        &self.suggestion
    }

    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// What went wrong and what to do, in one line.
    pub(crate) fn in_words(&self) -> String {
        format!("{}; {}", self.detail, self.suggestion)
    }

    /// The page of a code that is no kind of a call's end.
    pub(crate) fn page(&self) -> String {
        let detail = match self.code.as_str() {
            "too_large" => "the body has more bytes than `server.max_body_bytes`",
            _ => &self.detail,
        };
        let (code, status, title) = (&self.code, self.status, &self.title);
        format!("# {code}\n\n{status} {title}: {detail}.\n\nWhat to do: {}.\n", self.suggestion)
    }

    /// Its status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        let mut problem =
            Self::new(status(error.kind), error.kind.as_str(), error.message, &error.suggestion);
        problem.details = error.details;
        problem.retry_after = retry_after(error.kind).filter(|_| error.retryable);
        problem
    }
}

/// So much of what is wrong with a change is told at a time.
const MOST_TOLD: usize = 50;

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        let said = error.to_string();
        match error {
            ChangeError::Declared => Self::declared(),
            ChangeError::Missing => Self::missing("entry"),
            ChangeError::Stale => Self::precondition_failed("it has changed since it was read"),
            ChangeError::Invalid(mut found) => {
                // Whoever has mended these is told the next ones.
                found.truncate(MOST_TOLD);
                let details = crate::api::admin::problems(&found);
                let said = ChangeError::Invalid(found).to_string();
                Self::invalid_configuration(said).with_details(details)
            }
            ChangeError::Looser(_) => Self::looser(said),
            ChangeError::NotEmpty(_) => Self::not_empty(said),
            ChangeError::Store(error) => crate::api::confirmations::unreadable(error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let status = self.status();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(spread(seconds)));
        }
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"haft\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

/// So many seconds at most are added to a wait.
const SPREAD: u64 = 5;

/// A wait, or a little more: those who were turned away together do not come back together.
fn spread(seconds: u64) -> u64 {
    // Each state hashes nothing to another number; nobody's safety hangs on which.
    let number = RandomState::new().build_hasher().finish();
    seconds + number % (seconds.min(SPREAD) + 1)
}

/// How long to wait before the same request makes sense again.
pub(crate) fn retry_after(kind: ErrorKind) -> Option<u64> {
    kind.is_retryable().then_some(1)
}

/// The HTTP status of a kind.
#[must_use]
pub fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Unavailable | ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Denied | ErrorKind::Blocked | ErrorKind::ConfirmationRefused => {
            StatusCode::FORBIDDEN
        }
        ErrorKind::RateLimited | ErrorKind::BudgetExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::InvalidArguments => StatusCode::UNPROCESSABLE_ENTITY,
        // Accepted, and waiting for a person.
        ErrorKind::ConfirmationRequired => StatusCode::ACCEPTED,
        ErrorKind::IdempotencyKeyRequired => StatusCode::BAD_REQUEST,
        ErrorKind::RequestExpired | ErrorKind::ResultExpired | ErrorKind::SessionInactive => {
            StatusCode::GONE
        }
        ErrorKind::InFlight
        | ErrorKind::Conflict
        | ErrorKind::UnknownOutcome
        | ErrorKind::Superseded
        | ErrorKind::Cancelled => StatusCode::CONFLICT,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Transient | ErrorKind::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Permanent | ErrorKind::Auth | ErrorKind::InvalidOutput => {
            StatusCode::BAD_GATEWAY
        }
        ErrorKind::RedactionFailed | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What every route that needs a key may answer.
#[derive(IntoResponses)]
#[response(status = 401, description = "No valid key.", content_type = "application/problem+json")]
#[expect(dead_code, reason = "describes an answer in the OpenAPI document")]
pub(crate) struct NoKey(Problem);

/// What every route that needs a role may answer.
#[derive(IntoResponses)]
#[response(
    status = 403,
    description = "Not for this role.",
    content_type = "application/problem+json"
)]
#[expect(dead_code, reason = "describes an answer in the OpenAPI document")]
pub(crate) struct NoRole(Problem);

/// What a route about one thing may answer.
#[derive(IntoResponses)]
#[response(
    status = 404,
    description = "There is none that you may know of.",
    content_type = "application/problem+json"
)]
#[expect(dead_code, reason = "describes an answer in the OpenAPI document")]
pub(crate) struct Absent(Problem);

/// What a route that changes one thing may answer.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers in the OpenAPI document")]
pub(crate) enum Unchanged {
    #[response(
        status = 409,
        description = "Declared in `haft.toml`, or others need it.",
        content_type = "application/problem+json"
    )]
    Fixed(Problem),
    #[response(
        status = 412,
        description = "It has changed since.",
        content_type = "application/problem+json"
    )]
    Stale(Problem),
    #[response(
        status = 422,
        description = "It makes no sense or does not fit.",
        content_type = "application/problem+json"
    )]
    Unfit(Problem),
    #[response(
        status = 428,
        description = "`If-Match` is missing.",
        content_type = "application/problem+json"
    )]
    Unread(Problem),
}

/// What a route about one session may answer.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "describes answers in the OpenAPI document")]
pub(crate) enum NoSession {
    #[response(
        status = 404,
        description = "No such agent.",
        content_type = "application/problem+json"
    )]
    NoAgent(Problem),
    #[response(
        status = 410,
        description = "No such session, or it has ended.",
        content_type = "application/problem+json"
    )]
    Over(Problem),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn those_who_are_told_to_wait_are_told_to_wait_differently() {
        let told = |problem: fn() -> Problem| -> BTreeSet<u64> {
            let wait = |_| {
                let response = problem().into_response();
                let wait = response.headers().get(header::RETRY_AFTER).unwrap();
                wait.to_str().unwrap().parse().unwrap()
            };
            (0..1_000).map(wait).collect()
        };
        assert_eq!(told(Problem::overloaded), BTreeSet::from([1, 2]));
        assert_eq!(told(Problem::too_often), (60..=65).collect());
    }
}
