//! What the ledger says, read after the run; and its audit trail, verified.

use std::path::Path;

use haft_core::Digest;
use haft_core::ledger::State;
use haft_core::port::{Ledger as _, StoreError};
use haft_store::{Options, Sqlite, sqlite};
use serde_json::{Value, json};

use super::client::Told;
use crate::victim::{WHO, key};
use crate::words::Act;

/// One key's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) state: State,
    pub(super) receipt: Option<u64>,
}

/// The entries of all keys, in their order; none where there is none.
pub(super) async fn read(db: &Path, told: &[Told]) -> anyhow::Result<Vec<Option<Entry>>> {
    let store = Sqlite::open(db, Options::default())?;
    store.recover().await?;
    let mut entries = Vec::with_capacity(told.len());
    for told in told {
        if told.act == Act::Look {
            entries.push(None);
            continue;
        }
        entries.push(match store.by_key(&digest(told)).await {
            Ok(record) => Some(Entry {
                state: record.state,
                receipt: record.result.and_then(|it| it.get("receipt").and_then(Value::as_u64)),
            }),
            Err(StoreError::Missing) => None,
            Err(error) => return Err(error.into()),
        });
    }
    drop(store);
    let signed = Sqlite::signing_key(db)?.public();
    let chain = sqlite::verify(db, &signed, &Sqlite::checkpoints(db))?;
    if let Err(broken) = chain {
        anyhow::bail!("the audit trail does not hold: {broken}");
    }
    Ok(entries)
}

/// The ledger's key of a caller's key: what `claim` makes of tenant, principal, tool and key.
fn digest(told: &Told) -> Digest {
    let source = json!(["key", key(told.item), told.occurrence]);
    let tool = format!("chaos__{}", told.act.as_str());
    Digest::of_json(&json!([WHO, format!("agent:{WHO}"), tool, source]))
}

/// What the provider sees of it begins with this; what follows tells the entries apart that one key has in turn.
pub(super) fn provider_key(told: &Told) -> String {
    format!("haft-{}", digest(told).hex())
}
