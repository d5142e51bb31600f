//! Questions that people answer.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use haft_core::port::{ConfirmationFilter, StoreError};
use haft_core::record::{Confirmation, ConfirmationStatus};
use haft_core::{ErrorKind, Principal, ToolError};
use haft_runtime::runtime::{Decided, Void};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::need;
use super::paging::{Paging, placed};
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// Which questions.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// `pending`, `approved`, `denied` or `spent`; all where absent.
    #[param(value_type = Option<String>)]
    pub(crate) status: Option<ConfirmationStatus>,
    /// Asked in this session.
    pub(crate) session: Option<String>,
    /// Only those after this one in the list: `Link` says the address of the next page.
    pub(crate) after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
    /// Void later than this.
    #[serde(skip)]
    #[param(ignore)]
    pub(crate) open_after_ms: Option<i64>,
}

/// Questions, newest first, with the arguments that would be used.
#[utoipa::path(get, path = "/v1/confirmations", tag = "confirmations",
    operation_id = "list_confirmations", params(Filter),
    responses(
        (status = 200, description = "The questions.", body = Vec<shapes::Confirmation>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "No such status.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(filter): Params<Filter>,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(filter.limit)?;
    let wanted = Filter { limit: Some(page.wanted()), ..filter };
    let after = wanted.after.clone();
    let found = found(&door, &who, wanted).await?;
    let last = one(&door, &who, after.as_deref().unwrap_or_default());
    placed(&found, after.as_deref(), last).await?;
    let mut questions = Vec::with_capacity(found.len());
    for one in found {
        questions.push((one.id.clone(), shown(&door, &one).await));
    }
    Ok(page.respond(&uri, "after", questions, |(id, _)| id.clone(), |(_, one)| one.clone()))
}

/// One question, for whoever may see it in the list.
#[utoipa::path(get, path = "/v1/confirmations/{id}", tag = "confirmations",
    operation_id = "show_confirmation",
    params(("id" = String, Path, description = "The question.")),
    responses(
        (status = 200, description = "The question.", body = shapes::Confirmation),
        NoKey,
        NoRole,
        Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Approver)?;
    Ok(Json(shown(&door, &one(&door, &who, &id).await?).await))
}

/// A question, and where an approval of it would be refused, why.
async fn shown(door: &Door, one: &Confirmation) -> Value {
    let mut shown = json!(one);
    if let (Some(why), Some(members)) = (void(door, one).await, shown.as_object_mut()) {
        members.insert("void".to_owned(), json!(why));
    }
    shown
}

/// Why a question that nobody has answered can no longer be approved, in the word that whoever tries is
/// refused with.
async fn void(door: &Door, one: &Confirmation) -> Option<&'static str> {
    match one.status {
        ConfirmationStatus::Pending if one.expires_at_ms <= door.runtime.store().now_ms() => {
            Some("expired")
        }
        ConfirmationStatus::Pending => door.runtime.void(one).await.map(Void::as_str),
        ConfirmationStatus::Approved | ConfirmationStatus::Denied | ConfirmationStatus::Spent => {
            None
        }
    }
}

/// The questions that a filter means.
pub(crate) async fn found(
    door: &Door,
    who: &Who,
    filter: Filter,
) -> Result<Vec<Confirmation>, Problem> {
    need(who, Role::Approver)?;
    let wanted = ConfirmationFilter {
        tenant: who.tenant.to_string(),
        status: filter.status,
        open_after_ms: filter.open_after_ms,
        session: filter.session,
        after: filter.after,
        limit: filter.limit.unwrap_or(100).min(1_001),
    };
    door.runtime.store().confirmations(wanted).await.map_err(unreadable)
}

/// One question.
pub(crate) async fn one(door: &Door, who: &Who, id: &str) -> Result<Confirmation, Problem> {
    door.runtime.store().confirmation(&who.tenant, id).await.map_err(unreadable)
}

/// Approves or declines a question.
pub(crate) async fn answered(
    door: &Door,
    who: &Who,
    id: &str,
    approve: bool,
) -> Result<Decided, Problem> {
    need(who, Role::Approver)?;
    match door.runtime.confirm(&who.tenant, id, approve, &who.principal).await {
        Ok(decided) => Ok(decided),
        Err(error) => Err(by_whom(door, who, id, error).await.into()),
    }
}

/// Whose approval is taken back, where a question is declined that somebody has approved.
pub(crate) async fn approver(door: &Door, who: &Who, id: &str) -> Option<Principal> {
    let one = one(door, who, id).await.ok()?;
    one.decided_by.filter(|_| one.status == ConfirmationStatus::Approved)
}

/// Why an answer was not taken: where somebody was faster, who that was.
async fn by_whom(door: &Door, who: &Who, id: &str, mut error: ToolError) -> ToolError {
    let Ok(one) = one(door, who, id).await else { return error };
    let is_answered =
        matches!(one.status, ConfirmationStatus::Approved | ConfirmationStatus::Denied);
    let may_answer =
        one.actor != who.principal && one.expires_at_ms > door.runtime.store().now_ms();
    match one.decided_by {
        Some(by) if is_answered && may_answer && error.kind == ErrorKind::ConfirmationRefused => {
            error.message = format!("{}, by {by}", error.message);
            error.with_details(json!({ "decidedBy": by }))
        }
        Some(_) | None => error,
    }
}

pub(crate) fn unreadable(error: StoreError) -> Problem {
    if error == StoreError::Missing {
        return Problem::missing("entry");
    }
    ToolError::new(ErrorKind::StoreUnavailable, "the store cannot be read now")
        .caused_by(error)
        .into()
}

/// An answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// `true` to approve, `false` to decline.
    approve: bool,
}

/// Approves or declines, as the key's holder. Whoever asked cannot.
#[utoipa::path(post, path = "/v1/confirmations/{id}", tag = "confirmations",
    operation_id = "decide_confirmation",
    params(("id" = String, Path, description = "The question.")),
    request_body = Answer,
    responses(
        (status = 200, description = "The question, answered; approved ones with a token.",
            body = shapes::Decided),
        NoKey,
        (status = 403, description = "Not for this role, not this question's to give, or no longer what would run.",
            body = Problem, content_type = "application/problem+json"),
        (status = 404, description = "No such question.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn decide(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Approver)?;
    let answer: Answer = body::shape(body::json(&headers, body, &door.limits).await?)?;
    let approver = approver(&door, &who, &id).await.filter(|_| !answer.approve);
    let decided = answered(&door, &who, &id, answer.approve).await?;
    let mut said = json!({ "confirmation": decided.confirmation, "token": decided.token });
    if let (Some(approver), Some(members)) = (approver, said.as_object_mut()) {
        members.insert("tookBackFrom".to_owned(), json!(approver));
    }
    Ok(Json(said))
}
