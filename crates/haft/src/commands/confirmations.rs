//! `haft confirmations`

use haft_core::Principal;
use haft_core::port::{ConfirmationFilter, Confirmations as _, Store as _};
use haft_core::record::{Confirmation, ConfirmationStatus};
use serde_json::json;

use crate::assembly::{Desk, block_on, open_store, plain, said};
use crate::cli::{Confirmations, ConfirmationsAction};
use crate::named;
use crate::output::{Exit, Given as _, Output, instant};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Confirmations, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        match &options.action {
            None => list(at, options, out).await,
            Some(ConfirmationsAction::Approve { id }) => decide(at, options, id, true, out).await,
            Some(ConfirmationsAction::Deny { id }) => decide(at, options, id, false, out).await,
        }
    })
}

async fn list(at: &Place, options: &Confirmations, out: &mut Output) -> anyhow::Result<Exit> {
    let config = at.config()?;
    let store = open_store(&config)?;
    let status = (!options.all).then_some(ConfirmationStatus::Pending);
    let now = store.now_ms();
    let tenant = options.operator.tenant.clone();
    let filter = ConfirmationFilter { tenant, status, limit: usize::MAX, ..Default::default() };
    let mut found = store.confirmations(filter).await?;
    if found.is_empty() {
        named::tenant(&store, &config, &options.operator.tenant).await?;
    }
    if !options.all {
        found.retain(|one| one.expires_at_ms > now);
    }
    if options.json {
        out.json(&found)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        out.line("nothing waits for approval");
    }
    for one in &found {
        show(one, now, out)?;
    }
    Ok(Exit::Done)
}

/// Everything that is approved is shown, not only what the preview says.
fn show(one: &Confirmation, now: i64, out: &mut Output) -> anyhow::Result<()> {
    let expired = one.status == ConfirmationStatus::Pending && one.expires_at_ms <= now;
    let status = if expired { "expired" } else { one.status.as_str() };
    out.line(&format!("{}  {status}  until {}", one.id, instant(one.expires_at_ms)));
    out.line(&format!("  {}", plain(&one.preview)));
    out.line(&format!("  {} asks to call {}", one.actor, one.tool));
    out.line(&format!("  with {}", plain(&serde_json::to_string(&one.arguments)?)));
    for warning in &one.suspicious {
        out.line(&format!("  look twice: {}", plain(warning)));
    }
    Ok(())
}

async fn decide(
    at: &Place,
    options: &Confirmations,
    id: &str,
    approve: bool,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    let desk = Desk::open(at, None, out)?;
    let by = Principal::parse(&options.operator.actor).given("--as")?;
    let decided = desk.runtime.confirm(&options.operator.tenant, id, approve, &by).await;
    let decided = decided.map_err(said)?;
    if options.json {
        out.json(&json!({ "confirmation": decided.confirmation, "token": decided.token }))?;
        return Ok(Exit::Done);
    }
    out.line(&format!("{id}: {}", decided.confirmation.status.as_str()));
    if let Some(token) = &decided.token {
        out.note("make the same call again, or hand this to whoever makes it: --confirm");
        out.line(token);
    }
    Ok(Exit::Done)
}
