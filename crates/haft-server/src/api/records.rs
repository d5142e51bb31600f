//! Calls on record, in the view that redaction allows.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::Uri;
use axum::response::Response;
use haft_core::ErrorKind;
use haft_core::port::{CallFilter, CallStats, Slice, tool_meant};
use haft_core::record::InvocationRecord;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::audit::ordered;
use super::confirmations::unreadable;
use super::need;
use super::paging::{Paging, placed};
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// Which calls.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Of this agent.
    pub(crate) agent: Option<String>,
    /// Of this tool, by id or by a short name that only one of those on record has.
    pub(crate) tool: Option<String>,
    /// Of this session.
    pub(crate) session: Option<String>,
    /// That ended in this kind of error.
    #[param(value_type = Option<String>)]
    pub(crate) error: Option<ErrorKind>,
    /// Only those that ended well, or only those that did not.
    pub(crate) ok: Option<bool>,
    /// Begun not before, in milliseconds of the Unix epoch.
    pub(crate) since_ms: Option<i64>,
    /// Begun not after.
    pub(crate) until_ms: Option<i64>,
    /// Only those after this one in the list: `Link` says the address of the next page.
    pub(crate) after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

impl Filter {
    async fn of(self, door: &Door, who: &Who) -> Result<CallFilter, Problem> {
        ordered(self.since_ms, self.until_ms)?;
        Ok(CallFilter {
            tenant: who.tenant.to_string(),
            agent: self.agent,
            or_tool: self.tool.clone(),
            tool: named(door, who, self.tool).await?,
            session: self.session,
            error: self.error,
            ok: self.ok,
            since_ms: self.since_ms,
            until_ms: self.until_ms,
            call: None,
            after: self.after,
            limit: self.limit.unwrap_or(100).min(1_001),
        })
    }
}

/// The id of the tool that a name means, among those on record. What was refused under the name itself does
/// not make it another tool's.
pub(crate) async fn named(
    door: &Door,
    who: &Who,
    tool: Option<String>,
) -> Result<Option<String>, Problem> {
    let Some(name) = tool else { return Ok(None) };
    let store = door.runtime.store();
    match tool_meant(&**store, &who.tenant, &name).await.map_err(unreadable)? {
        Ok(id) => Ok(Some(id)),
        Err(several) => {
            let why = format!("`{name}` is several tools: {}", several.join(", "));
            Err(Problem::malformed(why).advise("name one of them"))
        }
    }
}

/// Calls, newest first.
#[utoipa::path(get, path = "/v1/calls", tag = "records",
    operation_id = "list_calls", params(Filter),
    responses(
        (status = 200, description = "The calls.", body = Vec<shapes::CallRecord>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn calls(
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
    Ok(page.respond(&uri, "after", found, |one| one.call.to_string(), |one| json!(one)))
}

/// The calls that a filter means.
pub(crate) async fn found(
    door: &Door,
    who: &Who,
    filter: Filter,
) -> Result<Vec<InvocationRecord>, Problem> {
    need(who, Role::Operator)?;
    let wanted = filter.of(door, who).await?;
    door.runtime.store().calls(wanted).await.map_err(unreadable)
}

/// One call.
pub(crate) async fn one(door: &Door, who: &Who, call: &str) -> Result<InvocationRecord, Problem> {
    need(who, Role::Operator)?;
    let wanted = CallFilter {
        tenant: who.tenant.to_string(),
        call: Some(call.to_owned()),
        limit: 1,
        ..CallFilter::default()
    };
    let found = door.runtime.store().calls(wanted).await.map_err(unreadable)?;
    found.into_iter().next().ok_or_else(|| Problem::missing("call"))
}

/// Per tool: calls, errors, latency.
pub(crate) async fn figures(
    door: &Door,
    who: &Who,
    filter: Filter,
) -> Result<Vec<CallStats>, Problem> {
    need(who, Role::Operator)?;
    let wanted = filter.of(door, who).await?;
    door.runtime.store().stats(wanted).await.map_err(unreadable)
}

/// So many slices or tools are told at once.
const MOST: usize = 1_000;

/// How long a slice is, where nobody says.
const STEP_MS: u64 = 60_000;

/// Which calls, and in which slices.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OverTime {
    /// How long a slice is, in milliseconds; a minute where absent. More than 1,000 slices are 400.
    #[param(minimum = 1)]
    step_ms: Option<u64>,
    /// Of this agent.
    agent: Option<String>,
    /// Of this tool, by id or by a short name that only one of those on record has.
    tool: Option<String>,
    /// Not before, in milliseconds of the Unix epoch.
    since_ms: Option<i64>,
}

/// Calls over time: how many, how they ended, how long they took.
#[utoipa::path(get, path = "/v1/series", tag = "records",
    operation_id = "show_series", params(OverTime),
    responses(
        (status = 200, description = "Slices of time with calls in them, oldest first.",
            body = Vec<shapes::Slice>),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn series(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(asked): Params<OverTime>,
) -> Result<Json<Value>, Problem> {
    let step_ms = asked.step_ms.unwrap_or(STEP_MS);
    if step_ms == 0 {
        let why = "`step_ms`: a slice is at least a millisecond long";
        return Err(Problem::malformed(why).advise("leave it out for a minute"));
    }
    let OverTime { agent, tool, since_ms, .. } = asked;
    let filter = Filter { agent, tool, since_ms, ..Filter::default() };
    let slices = slices(&door, &who, filter, step_ms).await?;
    if slices.len() > MOST {
        let why = format!("this is {} slices, and {MOST} are told at once", slices.len());
        return Err(Problem::malformed(why).advise("ask with a larger `step_ms` or `since_ms`"));
    }
    Ok(Json(json!(slices)))
}

/// Calls in slices of time.
pub(crate) async fn slices(
    door: &Door,
    who: &Who,
    filter: Filter,
    step_ms: u64,
) -> Result<Vec<Slice>, Problem> {
    need(who, Role::Operator)?;
    // Every call in the time that is asked about, not only as many as a list would have.
    let wanted = CallFilter { limit: 0, ..filter.of(door, who).await? };
    door.runtime.store().series(wanted, step_ms).await.map_err(unreadable)
}

/// Per tool: calls, errors, latency; of the 1,000 tools with the most calls.
#[utoipa::path(get, path = "/v1/stats", tag = "records",
    operation_id = "show_stats", params(Filter),
    responses(
        (status = 200, description = "The figures.", body = Vec<shapes::CallStats>),
        (status = 400, description = "Not a filter.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoRole))]
pub(crate) async fn stats(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(filter): Params<Filter>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(json!(most_called(figures(&door, &who, filter).await?))))
}

/// Agents make names up, and each is a row: those that were called most stay, in their order.
fn most_called(mut figures: Vec<CallStats>) -> Vec<CallStats> {
    if figures.len() > MOST {
        figures.sort_by_key(|one| std::cmp::Reverse(one.calls));
        figures.truncate(MOST);
        figures.sort_by(|a, b| a.tool.cmp(&b.tool));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_were_made_up_push_no_tool_out_of_the_figures() {
        let row = |tool: String, calls: u64| CallStats { tool, calls, ..CallStats::default() };
        let mut all: Vec<_> = (0..3_000).map(|at| row(format!("made_up_{at:04}"), 1)).collect();
        all.push(row("shop__pay".into(), 2));
        let told = most_called(all);
        assert_eq!((told.len(), told.last().map(|one| one.calls)), (MOST, Some(2)));
        assert_eq!(most_called(told.clone()), told);
    }
}
