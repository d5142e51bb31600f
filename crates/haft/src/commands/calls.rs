//! `haft calls`

use haft_core::ErrorKind;
use haft_core::port::{CallFilter, CallStats, Journal as _, Store as _, tool_meant};
use haft_core::record::InvocationRecord;
use haft_store::Sqlite;

use crate::assembly::{block_on, open_store, plain};
use crate::cli::Calls;
use crate::config::Config;
use crate::named;
use crate::output::{Exit, Output, instant, misuse};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Calls, out: &mut Output) -> anyhow::Result<Exit> {
    let error = match &options.error {
        Some(word) => Some(kind(word)?),
        None => None,
    };
    block_on(async {
        let config = at.config()?;
        let store = open_store(&config)?;
        let since = options.since.as_deref().map(age_ms).transpose()?;
        let mut filter = CallFilter {
            tenant: options.tenant.clone(),
            agent: options.agent.clone(),
            tool: None,
            or_tool: None,
            session: options.session.clone(),
            error,
            ok: None,
            since_ms: since.map(|age| store.now_ms().saturating_sub(age)),
            until_ms: None,
            call: options.call.clone(),
            after: None,
            limit: if options.stats { usize::MAX } else { options.limit.saturating_add(1) },
        };
        if let Some(name) = &options.tool {
            filter.tool = Some(meant(&store, &options.tenant, name).await?);
            filter.or_tool = Some(name.clone());
        }
        if options.stats {
            let found = store.stats(filter).await?;
            if found.is_empty() {
                known(&store, &config, options).await?;
            }
            return stats(&found, options, out);
        }
        let mut calls = store.calls(filter).await?;
        if calls.is_empty() {
            known(&store, &config, options).await?;
        }
        out.cut(&mut calls, options.limit);
        if let Some(call) = options.call.as_deref().filter(|_| calls.is_empty()) {
            let (call, tenant) = (plain(call), plain(&options.tenant));
            return Err(misuse(format!(
                "--call: tenant `{tenant}` has no call `{call}`; `haft calls` lists them, `--tenant` \
                 says whose"
            )));
        }
        if options.json || options.call.is_some() {
            out.json(&calls)?;
        } else if calls.is_empty() {
            out.line("no calls");
        } else {
            let rows: Vec<Vec<String>> = calls.iter().map(row).collect();
            out.table(&["CALL", "END", "TOOL", "TIME", "AGENT", "MODE", "MS"], 3, &rows);
        }
        Ok(Exit::Done)
    })
}

/// There are none of what exists: whoever is told so has not mistyped a name.
async fn known(store: &Sqlite, config: &Config, options: &Calls) -> anyhow::Result<()> {
    let tenant = &options.tenant;
    named::tenant(store, config, tenant).await?;
    named::agent(store, config, tenant, options.agent.as_deref()).await?;
    named::session(store, tenant, options.session.as_deref()).await
}

/// The tool that a name means, among those on record of a tenant.
pub(super) async fn meant(store: &Sqlite, tenant: &str, name: &str) -> anyhow::Result<String> {
    tool_meant(store, tenant, name).await?.map_err(|several| {
        misuse(format!("--tool: `{name}` is several tools: {}; name one", several.join(", ")))
    })
}

fn row(call: &InvocationRecord) -> Vec<String> {
    let end = match call.error {
        Some(kind) => kind.to_string(),
        None if call.cached => "ok (replayed)".to_owned(),
        None => "ok".to_owned(),
    };
    vec![
        call.call.as_ref().to_owned(),
        end,
        call.tool.as_ref().to_owned(),
        instant(call.started_at_ms),
        call.agent.as_ref().to_owned(),
        call.mode.as_str().to_owned(),
        millis(call.duration_us),
    ]
}

fn stats(stats: &[CallStats], options: &Calls, out: &mut Output) -> anyhow::Result<Exit> {
    if options.json {
        out.json(&stats)?;
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = stats
        .iter()
        .map(|tool| {
            vec![
                tool.tool.clone(),
                tool.calls.to_string(),
                tool.errors.to_string(),
                millis(tool.p50_us),
                millis(tool.p99_us),
            ]
        })
        .collect();
    out.table(&["TOOL", "CALLS", "ERRORS", "P50 MS", "P99 MS"], 3, &rows);
    Ok(Exit::Done)
}

#[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
fn millis(us: u64) -> String {
    format!("{:.2}", us as f64 / 1000.0)
}

fn kind(word: &str) -> anyhow::Result<ErrorKind> {
    let words: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
    ErrorKind::parse(word).ok_or_else(|| {
        misuse(format!(
            "--error: `{word}` is not an error kind; {}",
            haft_core::nearest::suggest(word, &words)
        ))
    })
}

/// `90s`, `15m`, `24h`, `7d` in milliseconds.
fn age_ms(text: &str) -> anyhow::Result<i64> {
    let wrong = || misuse(format!("--since: `{text}` is not an age; write 90s, 15m, 24h or 7d"));
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let number = text.strip_suffix(unit).unwrap_or_default();
    let number: i64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds * 1000).filter(|age| *age >= 0).ok_or_else(wrong)
}
