//! The steps of sessions and blocks.

use haft_core::call::Principal;
use haft_core::port::{ANSWERS_BYTES, StoreError};
use haft_core::session::{Block, Session};
use serde_json::Value;

use super::journal::written;
use crate::machine::later;
use crate::tables::{Res, Tables};

pub(crate) fn save(on: &mut impl Tables, mut session: Session) -> Res<Session> {
    match (on.revision(&session.tenant, &session.id)?, session.revision) {
        (None, 0) => {}
        (None, _) => return Err(StoreError::Missing),
        (Some(stored), revision) if stored == revision => {}
        (Some(_), _) => return Err(StoreError::Stale),
    }
    session.revision += 1;
    on.put_session(&session)?;
    Ok(session)
}

/// Answers go into a place of their own: a session is read and written with every call.
pub(crate) fn save_answer(
    on: &mut impl Tables,
    session: Session,
    call: &str,
    answer: &Value,
) -> Res<Session> {
    let session = save(on, session)?;
    on.put_answer(&session, call, written(answer)?)?;
    let mut bytes = 0_usize;
    for (place, call, length) in on.answers(&session)? {
        bytes = bytes.saturating_add(length);
        if bytes > ANSWERS_BYTES || session.recent.iter().all(|recent| recent.id != call) {
            on.drop_answer(&session, place)?;
        }
    }
    Ok(session)
}

/// A block that still runs is extended from its end on; one that is over begins anew.
pub(crate) fn block(
    on: &mut impl Tables,
    tenant: &str,
    principal: &Principal,
    for_ms: u64,
    reason: &str,
) -> Res<(Block, bool)> {
    let now_ms = on.now_ms();
    let running = on.block(tenant, principal)?.filter(|block| block.until_ms > now_ms);
    let from = running.as_ref().map_or(now_ms, |block| block.until_ms);
    let block = Block {
        tenant: tenant.to_owned(),
        principal: principal.clone(),
        until_ms: later(from, for_ms),
        reason: reason.to_owned(),
    };
    on.put_block(&block)?;
    Ok((block, running.is_some()))
}

pub(crate) fn unblock(on: &mut impl Tables, tenant: &str, principal: &Principal) -> Res<()> {
    if on.drop_block(tenant, principal)? { Ok(()) } else { Err(StoreError::Missing) }
}
