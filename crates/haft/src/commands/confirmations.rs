//! `haft confirmations`

use haft_core::Principal;
use haft_core::call::PrincipalKind;
use haft_core::port::{ConfirmationFilter, Confirmations as _, Store as _};
use haft_core::record::{Confirmation, ConfirmationStatus};
use serde_json::json;

use crate::assembly::{Desk, block_on, open_store, plain, said};
use crate::cli::{Confirmations, ConfirmationsAction};
use crate::named;
use crate::output::{Exit, Output, instant, misuse};
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
    let tenant = options.tenant.clone();
    let filter = ConfirmationFilter { tenant, status, limit: usize::MAX, ..Default::default() };
    let mut found = store.confirmations(filter).await?;
    if found.is_empty() {
        named::tenant(&store, &config, &options.tenant).await?;
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
    let actor = plain(&one.actor.to_string());
    out.line(&format!("  {actor} asks to call {}", plain(&one.tool)));
    let subject = one.subject.as_ref().map(ToString::to_string);
    let facts = [
        ("for", subject.as_deref()),
        ("agent", Some(one.agent.as_str())),
        ("session", one.session.as_deref()),
        ("connection", one.connection.as_deref()),
        ("call", one.call.as_deref()),
    ];
    for (name, fact) in facts {
        fact.iter().for_each(|fact| out.line(&format!("  {name} {}", plain(fact))));
    }
    out.line(&format!("  with {}", plain(&serde_json::to_string(&one.arguments)?)));
    for warning in &one.suspicious {
        out.line(&format!("  look twice: {}", plain(warning)));
    }
    Ok(())
}

/// Behind an agent or a service may stand the model that asks.
fn person(actor: &str) -> anyhow::Result<Principal> {
    let by = named::principal(actor, "--as")?;
    match by.kind {
        PrincipalKind::User => Ok(by),
        PrincipalKind::Agent | PrincipalKind::Service => {
            Err(misuse("--as: no agent or service answers these; name a person, `user:<id>`"))
        }
    }
}

async fn decide(
    at: &Place,
    options: &Confirmations,
    id: &str,
    approve: bool,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    let by = person(&options.actor)?;
    // Whoever declines needs no tool; what is approved has to be what would run.
    let desk = match approve {
        true => Desk::open(at, None, out)?,
        false => Desk::open_for_records(at, out)?,
    };
    let decided = desk.runtime.confirm(&options.tenant, id, approve, &by).await;
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
