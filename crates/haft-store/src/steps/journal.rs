//! The journal's steps: notes and records of calls.

use haft_core::ToolError;
use haft_core::ledger::{Claim, Effect, Ending, State, Ticket};
use haft_core::port::StoreError;
use haft_core::record::InvocationRecord;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::proof::Proof;
use crate::machine::Head;
use crate::tables::{Res, Tables};

/// The audit entry of a settled effect, and of an outcome that came too late.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settlement<'a> {
    call: &'a str,
    epoch: u64,
    state: State,
    /// The late outcome is nowhere else, so that all of it is here.
    #[serde(skip_serializing_if = "Option::is_none")]
    late: Option<Late<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<&'a InvocationRecord>,
    #[serde(flatten)]
    proof: Option<Proof>,
}

/// The kind of the audit entries of effects that have begun: without one, whoever removed such an effect
/// from the ledger, or changed its class, could have it done again.
pub(crate) const BEGIN: &str = "begin";

/// The kind of the audit entries that say that somebody has looked into the trail.
pub(crate) const ACKNOWLEDGE: &str = "acknowledge";

/// The kind of the audit entry that says which key the trail is signed with.
pub(crate) const SIGNING: &str = "signing";

#[derive(Serialize)]
struct Begun<'a> {
    call: &'a str,
    tool: &'a str,
    epoch: u64,
    state: State,
    #[serde(flatten)]
    proof: Option<Proof>,
}

#[derive(Serialize)]
struct Late<'a> {
    /// Where the effect stood.
    found: State,
    result: Option<&'a Value>,
    error: Option<&'a ToolError>,
}

/// The part of an audit entry that is the record of a call.
#[derive(Deserialize)]
struct Recorded {
    record: InvocationRecord,
}

pub(crate) fn begun(on: &mut impl Tables, claim: &Claim, epoch: u64, id: i64) -> Res<String> {
    let Effect { call, tool, .. } = &claim.effect;
    let proof = Proof::under(on, &claim.key.raw(), id)?;
    written(&Begun { call, tool, epoch, state: State::Started, proof })
}

pub(crate) fn settled(
    on: &mut impl Tables,
    ticket: &Ticket,
    ending: &Ending,
    record: Option<&InvocationRecord>,
    head: &Head,
) -> Res<String> {
    let late = crate::machine::on_settle(head, ticket.epoch, ending.state)
        != crate::machine::Settling::Write;
    let ended = (ending.state, Some(on.now_ms()));
    let proof = Proof::of(on, head, ended)?;
    written(&Settlement {
        call: &ticket.call,
        epoch: ticket.epoch,
        state: ending.state,
        late: late.then_some(Late {
            found: head.state,
            result: ending.result.as_ref(),
            error: ending.error.as_ref(),
        }),
        record,
        proof,
    })
}

/// The record of a call, as the audit trail has it.
pub(crate) fn recorded(kind: &str, body: &str) -> Res<InvocationRecord> {
    let read = if kind == "call" {
        serde_json::from_str(body)
    } else {
        serde_json::from_str::<Recorded>(body).map(|recorded| recorded.record)
    };
    read.map_err(|error| StoreError::Tampered(format!("a call's record cannot be read: {error}")))
}

pub(crate) fn record(on: &mut impl Tables, record: &InvocationRecord) -> Res<()> {
    on.append_record(&record.tenant, "call", written(record)?, record)
}

pub(crate) fn note(on: &mut impl Tables, tenant: &str, kind: &str, body: &Value) -> Res<()> {
    on.append(tenant, kind, written(body)?).map(drop)
}

/// JSON. Our own words always can be written; were one not to, nothing is stored.
pub(crate) fn written(value: &impl Serialize) -> Res<String> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::Unavailable(format!("a value cannot be written: {error}")))
}
