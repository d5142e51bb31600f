//! Whether the server is up, and whether it would take work.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::ErrorKind;

use crate::door::Door;
use crate::problem::Problem;

/// Whether the process is up.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "It is up.", body = String)))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether calls that write would be taken.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()),
    responses(
        (status = 200, description = "It takes work.", body = String),
        (status = 503, description = "Writes would be refused now.", body = String)))]
pub(crate) async fn readyz(State(door): State<Arc<Door>>) -> Response {
    match door.is_ready().await {
        true => (StatusCode::OK, "ready\n").into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be written\n").into_response(),
    }
}

/// What a code means and what to do about it, in Markdown.
#[utoipa::path(get, path = "/errors/{code}", tag = "health", security(()),
    params(("code" = String, Path, description = "A code of a problem or an envelope.")),
    responses(
        (status = 200, description = "Its page.", body = String, content_type = "text/markdown"),
        (status = 404, description = "There is no such code.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn page(Path(code): Path<String>) -> Result<Response, Problem> {
    let markdown = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    if let Some(kind) = ErrorKind::parse(&code) {
        return Ok((markdown, kind.page()).into_response());
    }
    let own = Problem::own().into_iter().find(|problem| problem.code() == code);
    let page = own.map(|problem| problem.page()).ok_or_else(|| Problem::missing("code"))?;
    Ok((markdown, page).into_response())
}
