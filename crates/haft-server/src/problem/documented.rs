//! What routes may answer beside what they are for, for the OpenAPI document.

use utoipa::IntoResponses;

use super::Problem;

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

/// What a route may answer that heeds `If-Match` and does not require it.
#[derive(IntoResponses)]
#[response(
    status = 412,
    description = "`If-Match` was sent, and it has changed since or is another by now.",
    content_type = "application/problem+json"
)]
#[expect(dead_code, reason = "describes an answer in the OpenAPI document")]
pub(crate) struct Outdated(Problem);

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
