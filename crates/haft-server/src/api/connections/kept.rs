//! Where connections are kept, and why one cannot be read or written there.

use std::sync::Arc;

use haft_core::connection::Account;
use haft_core::port::{Connections as Port, StoreError};
use haft_runtime::connections::Wrong;

use crate::api::need;
use crate::api::only_if::OnlyIf;
use crate::door::Door;
use crate::problem::Problem;
use crate::who::{Role, Who};

/// Where connections are kept, for a change of one that is there and not declared.
pub(super) async fn own<'a>(
    door: &'a Door,
    who: &Who,
    id: &str,
) -> Result<&'a Arc<dyn Port>, Problem> {
    need(who, Role::Administrator)?;
    let kept = kept(door)?;
    if kept.is_declared(&who.tenant, id) {
        return Err(Problem::declared());
    }
    find(&**kept, who, id).await?;
    Ok(kept)
}

/// Its version: of another account under the same id it is another, and so it is after every change and
/// whenever a token is renewed. Grants are things of their own.
pub(super) fn tag(made_ms: i64, revision: u64) -> String {
    format!("\"{made_ms}-{revision}\"")
}

/// Whether a request is meant for the account that there is. What is declared has no version.
pub(in crate::api) async fn meant(
    door: &Door,
    who: &Who,
    id: &str,
    only_if: &OnlyIf,
) -> Result<(), Problem> {
    need(who, Role::Administrator)?;
    let kept = kept(door)?;
    if kept.is_declared(&who.tenant, id) {
        return Ok(());
    }
    let account = find(&**kept, who, id).await?;
    only_if.is(&tag(account.made_ms, account.revision))
}

/// The account of an id.
pub(super) async fn find(kept: &dyn Port, who: &Who, id: &str) -> Result<Account, Problem> {
    let all = kept.accounts(&who.tenant).await.map_err(unopened)?;
    all.into_iter().find(|one| one.id == id).ok_or_else(|| Problem::missing("connection"))
}

pub(super) fn kept(door: &Door) -> Result<&Arc<dyn Port>, Problem> {
    door.runtime
        .accounts()
        .ok_or_else(|| Problem::no_sealing_key("this server keeps no connections"))
}

/// Grants hold for new calls when the answer comes back. Where the store cannot be read at this moment,
/// they do a second later: a server looks again all the time.
pub(super) async fn in_force(door: &Door) {
    let _ = door.runtime.refresh().await;
}

/// What makes no sense, by the name of the field.
pub(in crate::api) fn mistaken(wrong: Wrong) -> Problem {
    Problem::invalid_configuration(format!("`{}`: {}", wrong.part, wrong.why))
        .advise("correct the field that is named; nothing was changed")
}

/// Why a record cannot be opened. Which key was wanted is for whoever runs the server.
pub(super) fn unopened(why: StoreError) -> Problem {
    match why {
        StoreError::Missing => Problem::missing("connection"),
        StoreError::WrongState(ref said) => {
            tracing::warn!(event = "connection_not_opened", why = %said);
            Problem::no_sealing_key("the connection's secret was sealed with another key")
        }
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::Tampered(_) => crate::api::confirmations::unreadable(why),
    }
}

/// Why a record cannot be written.
pub(super) fn unsealed(why: StoreError) -> Problem {
    let StoreError::WrongState(said) = &why else { return unopened(why) };
    tracing::warn!(event = "connection_not_sealed", why = %said);
    Problem::no_sealing_key("this server has no key to seal secrets with")
}
