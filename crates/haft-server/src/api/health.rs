//! Whether the server is up, and whether it would take work.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_build::code::Code;
use haft_core::ErrorKind;
use haft_core::ledger::State as Standing;
use haft_core::port::EffectFilter;

use crate::door::Door;
use crate::metrics::{counter, gauge};
use crate::problem::{NoKey, NoRole, Problem};
use crate::who::{Role, Who};

/// Whether the process is up.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "It is up.", body = String)))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Whether new connections are accepted and calls that write would be taken.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()),
    responses(
        (status = 200, description = "It takes work.", body = String),
        (status = 503, description = "It takes none now, and why.", body = String)))]
pub(crate) async fn readyz(State(door): State<Arc<Door>>) -> Response {
    match door.ready().await {
        Ok(()) => (StatusCode::OK, "ready\n").into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

/// What is counted, in Prometheus' text format. A key of the home tenant sees everybody's figures,
/// another one those of its own tenant.
#[utoipa::path(get, path = "/metrics", tag = "health", operation_id = "metrics",
    responses(
        (status = 200, description = "The figures.", body = String, content_type = "text/plain"),
        NoKey,
        NoRole))]
pub(crate) async fn metrics(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Response, Problem> {
    if !who.is(Role::Metrics) && !who.is(Role::Operator) {
        return Err(Problem::forbidden("this needs the role `metrics` or `operator`"));
    }
    let home = door.is_home(&who);
    let mut text = door.metrics.render((!home).then_some(&*who.tenant));
    effects(&door, (!home).then_some(&*who.tenant), &mut text).await;
    tokens(&door, (!home).then_some(&*who.tenant), &mut text).await;
    if home {
        whole(&door, &mut text).await;
    }
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}

/// So many effects are counted per tenant. Where more wait for somebody, how many is the smallest of
/// the problems.
const COUNTED: usize = 1_000;

/// Effects that somebody has to look at, and of the whole server those that are under way. What the
/// store cannot say now is left out.
async fn effects(door: &Door, tenant: Option<&str>, text: &mut String) {
    let configured = door.runtime.configured();
    let all = configured.records.tenants.iter().map(|one| one.id.as_str());
    let tenants: Vec<&str> = tenant.map_or_else(|| all.collect(), |one| vec![one]);
    let (mut unknown, mut stuck) = (0, 0);
    for tenant in tenants {
        let filter = EffectFilter {
            tenant: tenant.to_owned(),
            states: vec![Standing::Unknown, Standing::Stuck],
            limit: COUNTED,
            ..EffectFilter::default()
        };
        let Ok(found) = door.runtime.store().effects(filter).await else { return };
        let of = |state| found.iter().filter(|one| one.state == state).count();
        unknown += of(Standing::Unknown);
        stuck += of(Standing::Stuck);
    }
    text.push_str(
        "# HELP haft_effects Side effects that are under way, and those that wait for somebody\n\
         # TYPE haft_effects gauge\n",
    );
    let mut line = |state: Standing, count: usize| {
        let _ = writeln!(text, "haft_effects{{state=\"{}\"}} {count}", state.as_str());
    };
    line(Standing::Unknown, unknown);
    line(Standing::Stuck, stuck);
    if tenant.is_none() {
        line(Standing::Started, door.runtime.effects_running());
    }
}

/// What tenants that have a budget of tokens have used of it. What the store cannot say is left out.
async fn tokens(door: &Door, tenant: Option<&str>, text: &mut String) {
    let configured = door.runtime.configured();
    let all = configured.records.tenants.iter().filter(|one| one.tokens.is_some());
    let mut lines = [String::new(), String::new()];
    for one in all.filter(|one| tenant.is_none_or(|tenant| tenant == one.id)).take(COUNTED) {
        let Ok(Some(standing)) = door.spending.of(&door.runtime, &one.id).await else { continue };
        let [used, most] = &mut lines;
        let labels =
            format!("{{tenant=\"{}\",period=\"{}\"}}", one.id, standing.budget.per.as_str());
        let _ = writeln!(used, "haft_tenant_tokens_used{labels} {}", standing.used);
        let _ = writeln!(most, "haft_tenant_tokens_budget{labels} {}", standing.budget.most);
    }
    let [used, most] = lines;
    for (name, help, lines) in [
        ("haft_tenant_tokens_used", "Tokens of models that were used in the period", used),
        ("haft_tenant_tokens_budget", "Tokens of models that may be used in it", most),
    ] {
        if !lines.is_empty() {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{lines}");
        }
    }
}

/// What is everybody's.
async fn whole(door: &Door, text: &mut String) {
    let ready = u8::from(door.ready().await.is_ok());
    gauge(text, "haft_ready", "Whether work would be taken", ready);
    let busy = door.busy();
    gauge(text, "haft_http_requests_in_flight", "Requests that are worked on", busy);
    let changes = door.runtime.config_changes();
    gauge(text, "haft_config_changes", "Changes of the configuration that are in force", changes);
    let tools = door.runtime.current().tools.len();
    gauge(text, "haft_registry_tools", "Tools of the registry in use", tools);
    let condition = door.runtime.store().condition();
    let help = "Records of calls that could not be kept";
    counter(text, "haft_store_records_dropped_total", help, condition.dropped);
    let off = condition.clock_off_ms.unwrap_or_default() / 1000;
    let help = "By how much the machine's clock is off, where it has jumped and is not believed";
    gauge(text, "haft_store_clock_off_seconds", help, off);
    gauge(text, "haft_log_lines_dropped", "Log lines that nobody took", crate::logs::dropped());
}

/// What a code means and what to do about it, in Markdown.
#[utoipa::path(get, path = "/errors/{code}", tag = "health",
    operation_id = "show_error_page", security(()),
    params(("code" = String, Path, description = "A code of a problem, an envelope or a finding (`H120`).")),
    responses(
        (status = 200, description = "Its page.", body = String, content_type = "text/markdown"),
        (status = 404, description = "There is no such code.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn page(Path(code): Path<String>) -> Result<Response, Problem> {
    let markdown = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    if let Some(kind) = ErrorKind::parse(&code) {
        return Ok((markdown, kind.page()).into_response());
    }
    if let Some(lint) = Code::find(&code) {
        return Ok((markdown, lint.page).into_response());
    }
    let own = Problem::own().into_iter().find(|problem| problem.code() == code);
    let page = own.map(|problem| problem.page()).ok_or_else(|| Problem::missing("code"))?;
    Ok((markdown, page).into_response())
}
