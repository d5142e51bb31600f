//! Side effects: what was done, what nobody knows, and how to settle or undo it.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use haft_core::ledger::{EffectRecord, State as Stands};
use haft_core::port::EffectFilter;
use haft_runtime::effects::{Found, Probed, UndoTarget, Undone};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::confirmations::unreadable;
use super::need;
use super::paging::{Paging, placed};
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// Which effects.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// In this state: `started`, `succeeded`, `failed`, `unknown`, `happened`, `not_happened`,
    /// `compensating`, `compensated` or `stuck`.
    #[param(value_type = Option<String>)]
    pub(crate) state: Option<Stands>,
    /// Of this tool, by id or by a short name that only one of those on record has.
    pub(crate) tool: Option<String>,
    /// Of this session.
    pub(crate) session: Option<String>,
    /// Of this chain of turns.
    pub(crate) turn_group: Option<String>,
    /// Only those after this one in the list: `Link` says the address of the next page.
    pub(crate) after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// What is shown of an effect: what identifies it and where it stands. Arguments and results may
/// hold what redaction strips, so only what is listed here is shown.
const SHOWN: [&str; 26] = [
    "call",
    "tenant",
    "agent",
    "actor",
    "subject",
    "session",
    "turn",
    "turnGroup",
    "mode",
    "tool",
    "toolVersion",
    "toolDigest",
    "registryVersion",
    "policy",
    "connection",
    "within",
    "compensates",
    "key",
    "state",
    "epoch",
    "startedAtMs",
    "endedAtMs",
    "confirmation",
    "resolution",
    "compensationId",
    "errorKind",
];

/// An effect without what redaction may strip, as every door and the command line show it.
#[must_use]
pub fn shown(record: &EffectRecord) -> Value {
    let mut shown = json!(record);
    if let Some(fields) = shown.as_object_mut() {
        if let Some(error) = &record.error {
            fields.insert("errorKind".to_owned(), json!(error.kind));
        }
        fields.retain(|name, _| SHOWN.contains(&name.as_str()));
    }
    shown
}

/// Effects, newest first.
#[utoipa::path(get, path = "/v1/effects", tag = "effects",
    operation_id = "list_effects", params(Filter),
    responses(
        (status = 200, description = "The effects.", body = Vec<shapes::Effect>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "No such state.", body = Problem,
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
    Ok(page.respond(&uri, "after", found, |one| one.effect.call.clone(), shown))
}

/// The effects that a filter means.
pub(crate) async fn found(
    door: &Door,
    who: &Who,
    filter: Filter,
) -> Result<Vec<EffectRecord>, Problem> {
    need(who, Role::Operator)?;
    let wanted = EffectFilter {
        tenant: who.tenant.to_string(),
        states: filter.state.into_iter().collect(),
        tool: super::records::named(door, who, filter.tool).await?,
        session: filter.session,
        turn_group: filter.turn_group,
        policy: None,
        after: filter.after,
        limit: filter.limit.unwrap_or(100).min(1_001),
    };
    door.runtime.store().effects(wanted).await.map_err(unreadable)
}

/// One effect.
pub(crate) async fn one(door: &Door, who: &Who, call: &str) -> Result<EffectRecord, Problem> {
    need(who, Role::Operator)?;
    door.runtime.store().effect(&who.tenant, call).await.map_err(unreadable)
}

/// Asks an effect's probe.
pub(crate) async fn probed(door: &Door, who: &Who, call: &str) -> Result<Probed, Problem> {
    need(who, Role::Operator)?;
    Ok(door.runtime.probe(&who.caller(""), call).await?)
}

/// Says what became of an effect.
pub(crate) async fn settled(
    door: &Door,
    who: &Who,
    call: &str,
    found: Found,
    note: &str,
) -> Result<EffectRecord, Problem> {
    one(door, who, call).await?;
    Ok(door.runtime.settle(&who.caller(""), call, found, note).await?)
}

/// Undoes effects.
pub(crate) async fn undone(
    door: &Door,
    who: &Who,
    target: &UndoTarget,
) -> Result<Vec<Undone>, Problem> {
    need(who, Role::Operator)?;
    Ok(door.runtime.undo(&who.caller(""), target).await?)
}

/// Asks the tool's probe whether an effect of unknown outcome happened, and settles it.
#[utoipa::path(post, path = "/v1/effects/{call}/probe", tag = "effects",
    operation_id = "probe_effect",
    params(("call" = String, Path, description = "The effect's call.")),
    responses(
        (status = 200, description = "What its probe found, and the effect as it stands now.",
            body = shapes::Probed),
        NoKey,
        NoRole,
        (status = 404, description = "No such effect, or no probe.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "Its outcome is known, or it may still come: ask again then.",
            body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn probe(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(call): Path<String>,
) -> Result<Json<Value>, Problem> {
    let probed = probed(&door, &who, &call).await?;
    Ok(Json(json!({ "tool": probed.tool, "effect": shown(&probed.effect) })))
}

/// What became of an effect, by someone who knows.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settle {
    /// Whether it happened.
    happened: bool,
    /// How that is known.
    #[schema(min_length = 1)]
    note: String,
    /// What it answered, where it happened and that is known: what undoes it may need it. It can be said later, too.
    answer: Option<Value>,
}

impl Settle {
    fn found(&mut self) -> Result<Found, Problem> {
        match (self.happened, self.answer.take()) {
            (true, answer) => Ok(Found::Happened { answer }),
            (false, None) => Ok(Found::DidNotHappen),
            (false, Some(_)) => {
                Err(Problem::malformed("`answer`: what did not happen has answered nothing"))
            }
        }
    }
}

/// Settles an effect of unknown outcome by hand.
#[utoipa::path(post, path = "/v1/effects/{call}/settle", tag = "effects",
    operation_id = "settle_effect",
    params(("call" = String, Path, description = "The effect's call.")),
    request_body = Settle,
    responses(
        (status = 200, description = "The effect, settled.", body = shapes::Effect),
        NoKey,
        NoRole,
        (status = 404, description = "No such effect.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "Its outcome is known.", body = Problem,
            content_type = "application/problem+json"),
        (status = 422, description = "The note is empty, or the answer does not fit.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn settle(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Operator)?;
    let mut said: Settle = body::shape(body::json(&headers, body, &door.limits).await?)?;
    let found = said.found()?;
    let effect = settled(&door, &who, &call, found, &said.note).await?;
    Ok(Json(shown(&effect)))
}

/// What to undo: one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// One effect, by its call.
    call: Option<String>,
    /// Every effect of a chain of turns.
    turn_group: Option<String>,
}

/// Undoes effects, newest first, each once.
#[utoipa::path(post, path = "/v1/effects/undo", tag = "effects",
    operation_id = "undo_effects", request_body = Undo,
    responses(
        (status = 200, description = "What became of each.", body = Vec<shapes::Undone>),
        (status = 400, description = "Neither or both are named.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole,
        (status = 404, description = "No such effect.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn undo(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Operator)?;
    let asked: Undo = body::shape(body::json(&headers, body, &door.limits).await?)?;
    let target = match (asked.call, asked.turn_group) {
        (Some(call), None) => UndoTarget::Call(call),
        (None, Some(group)) => UndoTarget::TurnGroup(group),
        (None, None) | (Some(_), Some(_)) => {
            return Err(Problem::malformed("name either `call` or `turn_group`"));
        }
    };
    Ok(Json(json!(undone(&door, &who, &target).await?)))
}
