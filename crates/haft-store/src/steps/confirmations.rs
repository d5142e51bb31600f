//! The steps of asking for approval.

use haft_core::call::{Principal, PrincipalKind};
use haft_core::port::StoreError;
use haft_core::record::{Confirmation, ConfirmationStatus};
use serde_json::json;

use crate::tables::{Res, Tables};

pub(crate) fn ask(on: &mut impl Tables, asked: &Confirmation) -> Res<Confirmation> {
    let now_ms = on.now_ms();
    // A person who has declined is not asked the same again.
    let open = |known: &Confirmation| {
        known.status != ConfirmationStatus::Spent && known.expires_at_ms > now_ms
    };
    for known in on.bound(&asked.tenant, &asked.binding.raw())?.into_iter().filter(open) {
        // What cannot be used would keep the question from being asked.
        if known.status != ConfirmationStatus::Approved || on.is_approved(&known)? {
            return Ok(known);
        }
    }
    if on.confirmation(&asked.tenant, &asked.id)?.is_some() {
        return Err(StoreError::WrongState(
            "a confirmation with this id was asked for before; take a new id".to_owned(),
        ));
    }
    on.put_confirmation(asked)?;
    Ok(asked.clone())
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
    let mut own = on.approved(tenant)?;
    own.retain(|one| one.decided_by.as_ref() == Some(by));
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
