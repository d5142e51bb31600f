//! What a tenant has used of what it may use.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use serde::Serialize;
use utoipa::ToSchema;

use super::confirmations::unreadable;
use super::need;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// What a tenant has used.
#[derive(Serialize, ToSchema)]
pub(crate) struct Usage {
    /// Tokens of models; absent where the tenant may use as many as it likes.
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<TokensUsed>,
}

/// Tokens of models, in and out, as their providers count them.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TokensUsed {
    /// What was used in the period.
    used: u64,
    /// What may be used in it.
    most: u64,
    /// `hour`, `day` or `month`, of the calendar in UTC.
    per: &'static str,
    /// When it began, in milliseconds of the Unix epoch.
    since_ms: i64,
    /// When the next begins, and `used` with 0.
    resets_at_ms: i64,
}

/// What the tenant has used of its budgets.
#[utoipa::path(get, path = "/v1/usage", tag = "records", operation_id = "usage",
    responses((status = 200, description = "What was used.", body = Usage), NoKey, NoRole))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Json<Usage>, Problem> {
    need(&who, Role::Operator)?;
    let standing = door.spending.of(&door.runtime, &who.tenant).await.map_err(unreadable)?;
    let tokens = standing.map(|one| TokensUsed {
        used: one.used,
        most: one.budget.most,
        per: one.budget.per.as_str(),
        since_ms: one.since_ms,
        resets_at_ms: one.resets_at_ms,
    });
    Ok(Json(Usage { tokens }))
}
