//! `gate`: cheap checks that need no arguments, so that most calls that must not run end here.

use std::ops::Deref;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use haft_core::call::Credential;
use haft_core::contract::{Category, Rate, SideEffectPolicy};
use haft_core::port::{Standing, Verdict};
use haft_core::record::Stage;
use haft_core::session::{Phase, Recent, Turn};
use haft_core::{Caller, ErrorKind, Tool, ToolError};
use serde_json::json;

use super::Refusal;
use super::key::Key;
use super::resolve::Resolved;
use crate::policy::Budget;
use crate::rate::Rates;
use crate::runtime::Inner;
use crate::session;

/// A call that may be looked at more closely.
pub(crate) struct Admitted {
    found: Resolved,
    pub(crate) standing: Standing,
}

impl Deref for Admitted {
    type Target = Resolved;

    fn deref(&self) -> &Resolved {
        &self.found
    }
}

/// (What a turn has left is asked where the call takes its place in the session: a call that was made
/// before is answered, whatever has been used up since.)
pub(crate) async fn admit(inner: &Arc<Inner>, found: Resolved) -> Result<Admitted, Refusal> {
    let_in(inner, &found.call.caller)?;
    depth(inner, &found)?;
    requested(&found)?;
    if let Err(refusal) = heard(inner, &found).await
        && !has_its_answer(inner, &found).await
    {
        return Err(refusal);
    }
    let policy = inner.policy();
    let standing = policy.standing(&found.ask());
    if let Standing::Settled(decision) = &standing
        && decision.verdict == Verdict::Deny
    {
        return Err(denied(Stage::Gate, decision));
    }
    // Last: a call that is refused for another reason does not use the rate up.
    rate(inner, &found)?;
    Ok(Admitted { found, standing })
}

/// The refusal for a decision. The rule is for operators; the model learns what would help.
pub(crate) fn denied(stage: Stage, decision: &haft_core::port::Decision) -> Refusal {
    let mut error = ToolError::new(ErrorKind::Denied, "this call is not allowed here");
    if let Some(enable) = &decision.enable {
        error = error.suggest(&**enable);
    }
    Refusal::at(stage, error.caused_by(&decision.why)).by(decision.rule.clone())
}

/// Whether what the caller came in with still holds, for the tenant that they came to. Calls wait for places and for
/// each other, and what was revoked meanwhile opens nothing: it is looked here, before people are asked, and again
/// whenever something is about to begin.
pub(crate) fn let_in(inner: &Inner, caller: &Caller) -> Result<(), Refusal> {
    if inner.is_over(caller) {
        return Err(Refusal::at(Stage::Gate, Inner::of_nobody()).by("tenant:removed"));
    }
    let why = match caller.credential.as_deref() {
        Some(Credential::Key { kept: Some(key), .. }) if !inner.has_key(key) => {
            "the key that this was asked with has been revoked"
        }
        Some(Credential::Key { ends_at_ms: Some(at), .. }) if *at <= inner.store.now_ms() => {
            "the key that this was asked with has expired"
        }
        Some(Credential::Token { last_s }) if *last_s < machine_s() => {
            "the token that this was asked with has expired"
        }
        Some(Credential::Key { .. } | Credential::Token { .. }) | None => return Ok(()),
    };
    let error = ToolError::new(ErrorKind::Denied, why).suggest("ask with one that is valid");
    Err(Refusal::at(Stage::Gate, error).by("credential"))
}

/// The second of the Unix epoch that it is for whoever checks tokens.
fn machine_s() -> u64 {
    UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

/// A turn that a newer message has ended.
pub(crate) fn superseded() -> ToolError {
    ToolError::new(
        ErrorKind::Superseded,
        "a newer message has replaced this turn; nothing was done",
    )
}

fn depth(inner: &Inner, found: &Resolved) -> Result<(), Refusal> {
    let through = &found.call.through;
    let refuse = |why: String| {
        let error = ToolError::new(ErrorKind::Denied, why);
        Err(Refusal::at(Stage::Gate, error).by("call_tool:depth"))
    };
    if through.len() > inner.settings.max_depth {
        return refuse(format!("tools call tools more than {} deep", inner.settings.max_depth));
    }
    if through.iter().any(|one| **one == *found.tool.tool.id) {
        return refuse(format!("`{}` would call itself", found.tool.tool.id));
    }
    Ok(())
}

/// The connection is one of those that this request was given; the grants are policy's business.
fn requested(found: &Resolved) -> Result<(), Refusal> {
    match &found.call.connection {
        Some(connection) if !found.call.connections.contains(connection) => {
            let error = ToolError::new(ErrorKind::Denied, "this connection may not be used here");
            Err(Refusal::at(Stage::Gate, error).by("connection:not-requested"))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether the session and its user are heard at all.
async fn heard(inner: &Inner, found: &Resolved) -> Result<(), Refusal> {
    blocked(inner, found).await?;
    // What a key of the caller's own stands for is known once the arguments are.
    let may_be_done = found.call.key.is_some() && found.class() != SideEffectPolicy::Pure;
    match is_over(found) && !may_be_done {
        true => Err(ended()),
        false => Ok(()),
    }
}

pub(super) fn is_over(found: &Resolved) -> bool {
    found.session.as_ref().is_some_and(|session| session.phase != Phase::Active)
}

fn ended() -> Refusal {
    Refusal::at(Stage::Gate, ToolError::new(ErrorKind::SessionInactive, "the session has ended"))
}

/// What was done is told in a session that has ended, too, by whoever knows it: the session, or under a key of the
/// caller's own the ledger.
pub(super) async fn outlasts_its_session(
    inner: &Inner,
    found: &Resolved,
    key: Option<&Key>,
) -> Result<(), Refusal> {
    if !is_over(found) || has_its_answer(inner, found).await {
        return Ok(());
    }
    match key {
        Some(key) => match key.is_taken(inner).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ended()),
            Err(error) => Err(Refusal::at(Stage::Gate, error)),
        },
        None => Err(ended()),
    }
}

/// Whether the session keeps the answer of a call that is sent again, perhaps of the very one that has
/// ended it or blocked its user. It is told what was done, and nothing is begun for it.
async fn has_its_answer(inner: &Inner, found: &Resolved) -> bool {
    let (Some(session), Some(id)) = (&found.session, &found.call.id) else { return false };
    let answered = session.recent.iter().any(|one| one.id == *id && one.answered);
    answered && matches!(inner.book.answer(&found.call.caller, &session.id, id).await, Ok(Some(_)))
}

/// (A user who is blocked gets no turn. What they did before may be looked into and undone all the same:
/// it is others who do that.)
async fn blocked(inner: &Inner, found: &Resolved) -> Result<(), Refusal> {
    if !inner.store.any_blocks() || found.call.purpose.is_after_the_fact() {
        return Ok(());
    }
    let caller = &found.call.caller;
    match inner.blocked(caller).await {
        Ok(()) => Ok(()),
        Err(error) => Err(Refusal::at(Stage::Gate, error).by("block")),
    }
}

/// Whether a turn has room for one more call of a tool.
pub(crate) fn within_budget(turn: &Turn, tool: &Tool, budget: &Budget) -> Result<(), ToolError> {
    let exceeded = |what: &str, most: u32, help: &str| {
        Err(ToolError::new(
            ErrorKind::BudgetExceeded,
            format!("this turn's budget of {most} {what} is used up"),
        )
        .suggest(help)
        .with_details(json!({ "budget": what, "limit": most })))
    };
    if let Some(most) = budget.calls_per_turn
        && turn.calls >= most
    {
        return exceeded("calls", most, "answer with what you have");
    }
    if tool.contract.category != Category::Retrieval {
        return Ok(());
    }
    if turn.retrieval_calls >= budget.retrieval_calls {
        let help = "answer with what you have found";
        return exceeded("retrieval calls", budget.retrieval_calls, help);
    }
    if !budget.repeat_search && turn.searched && session::searches(tool) {
        return Err(ToolError::new(ErrorKind::BudgetExceeded, "this turn has searched already")
            .suggest(
                "fetch records by the ids that the search gave, or answer with what you have",
            ));
    }
    Ok(())
}

/// (A dry run asks in [`within_rate`], once everything else is known.)
fn rate(inner: &Inner, found: &Resolved) -> Result<(), Refusal> {
    match found.call.dry_run {
        true => Ok(()),
        false => rated(inner, found, Rates::take),
    }
}

/// Whether a call would be within its rates now. Nothing is counted.
pub(crate) fn within_rate(inner: &Inner, found: &Resolved) -> Result<(), Refusal> {
    rated(inner, found, Rates::look)
}

/// Which rate is used up, and in how many milliseconds a call is taken again.
type UsedUp = (Rate, u64);

fn rated(
    inner: &Inner,
    found: &Resolved,
    ask: impl Fn(&Rates, &str, &str, &str, &[Rate], i64) -> Result<(), UsedUp>,
) -> Result<(), Refusal> {
    let caller = &found.call.caller;
    let policy = inner.policy();
    let of_mode = policy.budget(found.mode).rate;
    let rates: Vec<Rate> = [found.tool.limits.rate, of_mode].into_iter().flatten().collect();
    if rates.is_empty() || is_resent(found) {
        return Ok(());
    }
    let who = caller.principal().to_string();
    let asked = ask(&inner.rates, &caller.tenant, &who, &found.tool.tool.id, &rates, found.now_ms);
    asked.map_err(|(rate, wait_ms)| {
        let message = format!(
            "`{}` may be called {} times in {} ms",
            found.tool.tool.id, rate.calls, rate.window_ms
        );
        let error = ToolError::new(ErrorKind::RateLimited, message)
            .suggest(format!("call it again in {wait_ms} ms or later"))
            .with_details(json!({ "retryAfterMs": wait_ms }));
        Refusal::at(Stage::Gate, error).by("rate")
    })
}

/// Whether the session knows the model's id of this call, so that nothing will be run for it: it is
/// answered again, or waits for the effect that is under way.
fn is_resent(found: &Resolved) -> bool {
    let pure = found.class() == SideEffectPolicy::Pure;
    let known = |id: &String| {
        let same = |one: &Recent| one.id == *id && (one.answered || !pure);
        found.session.as_ref().is_some_and(|session| session.recent.iter().any(same))
    };
    found.call.id.as_ref().is_some_and(known)
}
