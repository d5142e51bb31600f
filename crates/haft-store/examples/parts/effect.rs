//! One effect as a call makes it: claimed, settled, and on record.

use std::error::Error;

use haft_core::Digest;
use haft_core::call::Principal;
use haft_core::contract::{Mode, SideEffectPolicy};
use haft_core::ledger::{Claim, Claimed, Effect, Ending, Keep, State};
use haft_core::port::Ledger;
use haft_core::record::{InvocationRecord, Stage};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

pub(super) async fn call<L: Ledger>(store: &L, caller: u64, number: u64) -> Outcome<()> {
    let call = format!("call_{number:012}_{caller:02}");
    let arguments = json!({ "to": "mara@example.org", "amount": number });
    let claim = claim(&format!("{caller} {number}"), &call, &arguments);
    let Claimed::Fresh(ticket) = store.claim(claim).await? else {
        return Err("a fresh key was not fresh".into());
    };
    let record = record(call, "core__send_money", &arguments, number);
    let ending = Ending {
        state: State::Succeeded,
        result: Some(json!({ "ok": true, "id": number })),
        error: None,
        intents: Vec::new(),
    };
    store.settle(&ticket, ending, Some(record)).await?;
    Ok(())
}

fn claim(key: &str, call: &str, arguments: &Value) -> Claim {
    let key = Digest::of_bytes(key.as_bytes());
    Claim {
        fingerprint: key.clone(),
        act: key.clone(),
        deed_unconnected: None,
        place: None,
        deed: key.clone(),
        key: key.clone(),
        other: None,
        lease_ms: 30_000,
        again_within_ms: u64::MAX,
        keep: Keep { result_ms: 86_400_000, key_ms: 2_592_000_000 },
        confirmation: None,
        despite_similar: false,
        effect: Effect {
            call: call.into(),
            tenant: "acme".into(),
            agent: "assistant".into(),
            actor: Principal::agent("assistant"),
            subject: None,
            session: None,
            turn: 1,
            turn_group: None,
            mode: Mode::Text,
            tool: "core__send_money".into(),
            tool_version: "1.0.0".into(),
            tool_digest: key,
            registry_version: "1.0.00000000".into(),
            policy: SideEffectPolicy::Irreversible,
            arguments: arguments.clone(),
            connection: None,
            account_made_ms: None,
            within: None,
            part_of: None,
            compensates: None,
            relies_on_its_key: false,
            first_at_ms: None,
            provider_key: None,
            after: None,
            raw_arguments: None,
        },
    }
}

pub(super) fn record(call: String, tool: &str, arguments: &Value, took: u64) -> InvocationRecord {
    InvocationRecord {
        call: call.into(),
        model_call: None,
        tenant: "acme".into(),
        agent: "assistant".into(),
        actor: Principal::agent("assistant"),
        subject: None,
        session: None,
        turn: 1,
        mode: Mode::Text,
        tool: tool.into(),
        tool_version: Some("1.0.0".into()),
        registry_version: Some("1.0.00000000".into()),
        arguments: Some(arguments.clone().into()),
        result: Some(json!({ "ok": true }).into()),
        error: None,
        message: None,
        stage: Stage::Publish,
        rule: None,
        cached: false,
        attempts: 1,
        warnings: Vec::new(),
        started_at_ms: 1,
        duration_us: took,
    }
}
