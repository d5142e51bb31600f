//! Every problem that is no kind of a call's end, in its own words.

use axum::http::StatusCode;
use haft_core::hop::Looped;

use super::Problem;

impl Problem {
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

    /// As many sessions of MCP as there may be: of one tenant, where a share is given.
    pub(crate) fn too_many_sessions(share: Option<usize>, seconds: u64) -> Self {
        let detail = match share {
            Some(share) => format!("the tenant has {share} MCP sessions, which is its share"),
            None => "there are as many MCP sessions as there may be".to_owned(),
        };
        let fix = "end those that nobody needs (DELETE with their `Mcp-Session-Id`), or wait until one that is \
                   idle ends by itself; version 2026-07-28 needs none";
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail, fix);
        problem.retry_after = Some(seconds);
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

    /// As much as one connection may have under way.
    pub(crate) fn crowded(detail: impl Into<String>) -> Self {
        let fix = "wait until some of it has ended, then send the same again";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail, fix)
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
}
