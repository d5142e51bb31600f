//! The first page: what was called, how it ended, how long it took, and what waits for somebody.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use haft_core::ErrorKind;
use haft_core::ledger::State as Stands;
use haft_core::port::{CallStats, Slice};
use maud::{Markup, html};
use serde::Deserialize;

use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor};
use super::plot::{Drawn, Line, Plot, Unit, share};
use super::{HOME, encode};
use crate::api::{effects, records};
use crate::door::Door;
use crate::who::Role;

/// How far back.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
enum Span {
    #[serde(rename = "1h")]
    Hour,
    #[default]
    #[serde(rename = "24h")]
    Day,
    #[serde(rename = "7d")]
    Week,
}

impl Span {
    const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Hour, "1h", "1 hour"),
        (Self::Day, "24h", "24 hours"),
        (Self::Week, "7d", "7 days"),
    ];

    /// How long a slice is, how many there are, and how its time is written.
    fn slices(self) -> (i64, i64, &'static str) {
        const MINUTE: i64 = 60_000;
        match self {
            Self::Hour => (MINUTE, 60, "%H:%M"),
            Self::Day => (30 * MINUTE, 48, "%H:%M"),
            Self::Week => (3 * 60 * MINUTE, 56, "%a %H:%M"),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    span: Span,
}

/// The overview; for whoever may only approve, the questions.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    let who = &visitor.who;
    if !who.is(Role::Operator) {
        return Ok(Redirect::to("/console/confirmations").into_response());
    }
    let (step, count, _) = asked.span.slices();
    let now = door.runtime.store().now_ms();
    let since = now - now.rem_euclid(step) - (count - 1) * step;
    let filter = || records::Filter { since_ms: Some(since), ..records::Filter::default() };
    let found = records::slices(&door, who, filter(), step.unsigned_abs()).await?;
    let stats = records::figures(&door, who, filter()).await?;
    let mut unsettled = Vec::new();
    for (state, name) in [(Stands::Unknown, "Unknown effects"), (Stands::Stuck, "Stuck effects")] {
        let limit = Some(COUNTED + 1);
        let filter = effects::Filter { state: Some(state), limit, ..Default::default() };
        unsettled.push((state, name, effects::found(&door, who, filter).await?.len()));
    }
    let slices = filled(found, since, step, count);
    let content = html! {
        div .head {
            h1 { "Overview" }
            (spans(asked.span))
        }
        (tiles(&door, &visitor, &slices, &unsettled))
        div .plots { @for plot in plots(&slices, asked.span) { (plot.render()) } }
        h2 { "By tool" }
        (by_tool(&stats))
    };
    Ok(page::page(&visitor, "", "Overview", &content))
}

fn spans(current: Span) -> Markup {
    html! {
        nav .choices aria-label="How far back" {
            @for (span, word, name) in Span::ALL {
                a href={ (HOME) "?span=" (word) } aria-current=[(span == current).then_some("true")] { (name) }
            }
        }
    }
}

/// Every slice of the time, those without calls too.
fn filled(found: Vec<Slice>, since: i64, step: i64, count: i64) -> Vec<Slice> {
    let mut found = found.into_iter().peekable();
    let slice = |n: i64| {
        let at_ms = since + n * step;
        while found.next_if(|slice| slice.at_ms < at_ms).is_some() {}
        let own = found.next_if(|slice| slice.at_ms == at_ms);
        own.unwrap_or(Slice { at_ms, ..Slice::default() })
    };
    (0..count).map(slice).collect()
}

/// How a call that did not go well ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Refused,
    /// The tool ran, and what it had to do is done; its answer is not one that is passed on.
    Withheld,
    Failed,
    Unknown,
}

fn class(kind: ErrorKind) -> Class {
    match kind {
        ErrorKind::Unavailable
        | ErrorKind::Denied
        | ErrorKind::Blocked
        | ErrorKind::ConfirmationRefused
        | ErrorKind::ConfirmationRequired
        | ErrorKind::RateLimited
        | ErrorKind::BudgetExceeded
        | ErrorKind::InvalidArguments
        | ErrorKind::IdempotencyKeyRequired
        | ErrorKind::RequestExpired
        | ErrorKind::ResultExpired
        | ErrorKind::SessionInactive
        | ErrorKind::InFlight
        | ErrorKind::Conflict
        | ErrorKind::Superseded
        | ErrorKind::Cancelled => Class::Refused,
        ErrorKind::InvalidOutput | ErrorKind::RedactionFailed => Class::Withheld,
        ErrorKind::UnknownOutcome => Class::Unknown,
        ErrorKind::NotFound
        | ErrorKind::Timeout
        | ErrorKind::Transient
        | ErrorKind::StoreUnavailable
        | ErrorKind::Permanent
        | ErrorKind::Auth
        | ErrorKind::Internal => Class::Failed,
    }
}

fn ended(slice: &Slice, wanted: Class) -> u64 {
    let of = |word: &str| ErrorKind::parse(word).map_or(Class::Failed, class);
    slice.errors.iter().filter(|(word, _)| of(word) == wanted).map(|(_, calls)| calls).sum()
}

fn went_well(slice: &Slice) -> u64 {
    slice.calls - slice.errors.values().sum::<u64>().min(slice.calls)
}

fn plots<'a>(slices: &[Slice], span: Span) -> [Plot<'a>; 3] {
    let (_, _, format) = span.slices();
    let times = || {
        let time = |slice: &Slice| {
            let at = jiff::Timestamp::from_millisecond(slice.at_ms).unwrap_or_default();
            at.strftime(format).to_string()
        };
        slices.iter().map(time).collect()
    };
    let row = |name, tone, value: &dyn Fn(&Slice) -> Option<f64>| Line {
        name,
        tone,
        values: slices.iter().map(value).collect(),
    };
    let any = |slice: &Slice, value: f64| (slice.calls > 0).then_some(value);
    let share = |slice: &Slice, part: u64| any(slice, part as f64 * 100.0 / slice.calls as f64);
    [
        Plot {
            title: "Calls",
            drawn: Drawn::Bars,
            unit: Unit::Count,
            times: times(),
            lines: vec![row("calls", "t1", &|slice| any(slice, slice.calls as f64))],
        },
        Plot {
            title: "Latency",
            drawn: Drawn::Lines,
            unit: Unit::Time,
            times: times(),
            lines: vec![
                row("half within", "t1", &|slice| any(slice, slice.p50_us as f64)),
                row("99 % within", "t2", &|slice| any(slice, slice.p99_us as f64)),
            ],
        },
        Plot {
            title: "Outcomes",
            drawn: Drawn::Bars,
            unit: Unit::Share,
            times: times(),
            lines: vec![
                row("ok", "good", &|slice| share(slice, went_well(slice))),
                row("refused", "dull", &|slice| share(slice, ended(slice, Class::Refused))),
                row("done, answer withheld", "note", &|slice| {
                    share(slice, ended(slice, Class::Withheld))
                }),
                row("failed", "bad", &|slice| share(slice, ended(slice, Class::Failed))),
                row("unknown", "wait", &|slice| share(slice, ended(slice, Class::Unknown))),
            ],
        },
    ]
}

/// So many effects of a state are counted, and so many tools are listed.
const COUNTED: usize = 1_000;
const LISTED: usize = 100;

fn tiles(
    door: &Door,
    visitor: &Visitor,
    slices: &[Slice],
    unsettled: &[(Stands, &str, usize)],
) -> Markup {
    let calls: u64 = slices.iter().map(|slice| slice.calls).sum();
    let well: u64 = slices.iter().map(went_well).sum();
    let (registry, tenant) = (door.runtime.current(), &visitor.who.tenant);
    let own = door.runtime.own_tools(tenant).len();
    let version = door.runtime.version_for(tenant);
    let may_approve = visitor.who.is(Role::Approver);
    html! {
        dl .tiles {
            div { dt { "Calls" } dd { (calls) } }
            div { dt { "Went well" } dd { @if calls == 0 { "–" } @else { (share(well, calls)) } } }
            @if may_approve {
                div { dt { "Wait for approval" } dd { a href={ (HOME) "/confirmations" } { (page::counted(visitor.waiting)) } } }
            }
            @for (state, name, many) in unsettled {
                div { dt { (name) } dd { a href={ (HOME) "/effects?state=" (state.as_str()) } {
                    (many.min(&COUNTED)) @if *many > COUNTED { "+" }
                } } }
            }
            div { dt { "Tools" } dd { a href={ (HOME) "/tools" } { (registry.tools.len() + own) } } }
            div { dt { "Registry" } dd .small { code { (version) } } }
        }
    }
}

fn by_tool(stats: &[CallStats]) -> Markup {
    if stats.is_empty() {
        return page::nothing("No calls in this time.");
    }
    let (all, mut stats): (usize, Vec<_>) = (stats.len(), stats.iter().collect());
    stats.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.cmp(&b.tool)));
    let rows = stats.into_iter().take(LISTED).map(|one| {
        html! {
            tr role="row" {
                th scope="row" role="rowheader" data-label="Tool" { a href={ (HOME) "/events?tool=" (encode(&one.tool)) } { (page::id(&one.tool)) } }
                td .number role="cell" data-label="Calls" { (one.calls) }
                td .number role="cell" data-label="Not ok" { (one.errors) }
                td .number role="cell" data-label="Half within" { (page::span(one.p50_us)) }
                td .number role="cell" data-label="99 % within" { (page::span(one.p99_us)) }
            }
        }
    });
    let head = ["Tool", "Calls#", "Not ok#", "Half within#", "99 % within#"];
    html! {
        (page::table("Calls by tool", &head, rows))
        @if all > LISTED { p .note { "The " (LISTED) " that were called most, of " (all) " tools." } }
    }
}
