//! The steps of asking for approval.

use haft_core::Digest;
use haft_core::call::{Principal, PrincipalKind};
use haft_core::port::{Asking, Put, StoreError};
use haft_core::record::{Confirmation, ConfirmationStatus};
use serde_json::json;

use super::ledger;
use crate::tables::{Res, Tables};

pub(crate) fn ask(on: &mut impl Tables, asking: &Asking) -> Res<Put> {
    let (asked, now_ms) = (&asking.confirmation, on.now_ms());
    // First: what it was approved with is spent, so that another question would be put for what is on
    // its way.
    if let Some(sought) = &asking.sought
        && ledger::answers(on, sought)?
    {
        return Ok(Put::Begun);
    }
    // A person who has declined is not asked the same again.
    let open = |known: &Confirmation| {
        known.status != ConfirmationStatus::Spent && known.expires_at_ms > now_ms
    };
    for known in on.bound(&asked.tenant, &asked.binding.raw())?.into_iter().filter(open) {
        // What cannot be used would keep the question from being asked.
        if known.status != ConfirmationStatus::Approved || on.is_approved(&known)? {
            return Ok(Put::Stands(Box::new(known)));
        }
    }
    if on.confirmation(&asked.tenant, &asked.id)?.is_some() {
        return Err(StoreError::WrongState(
            "a confirmation with this id was asked for before; take a new id".to_owned(),
        ));
    }
    // All last equally long: what was asked earlier has expired.
    let lasts_ms = asked.expires_at_ms.saturating_sub(asked.asked_at_ms);
    if let Some(most) = asking.most
        && on.waiting(&asked.tenant, &asker(asked), now_ms.saturating_sub(lasts_ms))? >= most
    {
        return Ok(Put::Full);
    }
    on.put_confirmation(asked)?;
    Ok(Put::Stands(Box::new(asked.clone())))
}

/// Whose questions count together: those of an agent and whoever acts through it. What would be void when it is approved
/// counts no more.
pub(crate) fn asker(asked: &Confirmation) -> [u8; 32] {
    let Confirmation { tenant, agent, actor, policy_version, .. } = asked;
    Digest::of_json(&(tenant, agent, actor, policy_version)).raw()
}

pub(crate) fn decide(
    on: &mut impl Tables,
    tenant: &str,
    id: &str,
    approve: bool,
    by: &Principal,
) -> Res<Confirmation> {
    let mut confirmation = on.confirmation(tenant, id)?.ok_or(StoreError::Missing)?;
    may_decide(&confirmation, approve, by, on.now_ms())?;
    confirmation.status =
        if approve { ConfirmationStatus::Approved } else { ConfirmationStatus::Denied };
    confirmation.decided_by = Some(by.clone());
    on.put_confirmation(&confirmation)?;
    let body = json!({
        "id": id, "status": confirmation.status.as_str(), "by": by, "agent": confirmation.agent,
        "tool": confirmation.tool, "session": confirmation.session,
        "turn": confirmation.turn, "call": confirmation.call,
        "binding": confirmation.binding, "expiresAtMs": confirmation.expires_at_ms,
    });
    on.append(tenant, "confirmation", body.to_string())?;
    Ok(confirmation)
}

/// Opens what somebody has approved again.
pub(crate) fn withdraw(on: &mut impl Tables, tenant: &str, by: &Principal) -> Res<usize> {
    open_again(on, tenant, by, |one| one.decided_by.as_ref() == Some(by))
}

/// Opens again what was approved to be done through a connection that is another account from now on, or none.
pub(crate) fn withdraw_through(
    on: &mut impl Tables,
    tenant: &str,
    connection: &str,
    by: &Principal,
) -> Res<usize> {
    open_again(on, tenant, by, |one| one.connection.as_deref() == Some(connection))
}

fn open_again(
    on: &mut impl Tables,
    tenant: &str,
    by: &Principal,
    which: impl Fn(&Confirmation) -> bool,
) -> Res<usize> {
    let mut own = on.approved(tenant)?;
    own.retain(|one| which(one));
    for confirmation in &mut own {
        confirmation.status = ConfirmationStatus::Pending;
        confirmation.decided_by = None;
        on.put_confirmation(confirmation)?;
        let body = json!({
            "id": confirmation.id, "status": "withdrawn", "by": by, "agent": confirmation.agent,
            "tool": confirmation.tool, "session": confirmation.session,
            "turn": confirmation.turn, "call": confirmation.call,
        });
        on.append(tenant, "confirmation", body.to_string())?;
    }
    Ok(own.len())
}

/// Whoever acts cannot approve, and neither can the agent through which they do, nor any program:
/// behind a service may stand the same model.
fn may_decide(confirmation: &Confirmation, approve: bool, by: &Principal, now_ms: i64) -> Res<()> {
    let wrong = |why: &str| Err(StoreError::WrongState(why.to_owned()));
    let person = match by.kind {
        PrincipalKind::User => true,
        PrincipalKind::Agent | PrincipalKind::Service => false,
    };
    if *by == confirmation.actor || !person {
        return wrong(
            "whoever asks cannot approve, and no agent or service can; a person has to decide",
        );
    }
    match confirmation.status {
        ConfirmationStatus::Spent => wrong("the approval has been used"),
        _ if confirmation.expires_at_ms <= now_ms => wrong("the confirmation has expired"),
        ConfirmationStatus::Pending => Ok(()),
        // Nothing has begun yet, and a no is one whoever said yes before.
        ConfirmationStatus::Approved if !approve => Ok(()),
        ConfirmationStatus::Approved => wrong("the confirmation has been approved already"),
        ConfirmationStatus::Denied => wrong("the confirmation has been declined already"),
    }
}
