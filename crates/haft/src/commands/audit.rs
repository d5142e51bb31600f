//! `haft audit`

use anyhow::Context as _;
use haft_core::call::PrincipalKind;
use haft_core::config::Kind;
use haft_core::port::{Configs as _, Store as _, StoreError};
use haft_runtime::effects::is_empty_note;
use haft_store::{Sqlite, Verified, sqlite};
use serde_json::json;

use crate::assembly::{block_on, open_store};
use crate::cli::{Audit, AuditAction};
use crate::config::Config;
use crate::named;
use crate::output::{Exit, Output, misuse};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Audit, out: &mut Output) -> anyhow::Result<Exit> {
    match &options.action {
        AuditAction::Verify { json } => verify(at, *json, out),
        AuditAction::Checkpoint => checkpoint(at, out),
        AuditAction::Acknowledge { actor, note } => acknowledge(at, actor, note, out),
    }
}

fn verify(at: &Place, as_json: bool, out: &mut Output) -> anyhow::Result<Exit> {
    let path = at.config()?.database();
    let verified = match sqlite::verify_here(&path) {
        Err(StoreError::Missing) => {
            anyhow::bail!("there is no store at `{}` yet: make a call first", path.display())
        }
        verified => verified?,
    };
    let (exit, text, mut json) = match &verified {
        Ok(found) => (Exit::Done, intact(found), {
            let (entries, forgotten) = (found.entries, found.forgotten);
            json!({
                "intact": true, "entries": entries, "forgotten": forgotten,
                "checkpoints": found.checkpoints, "head": found.head,
            })
        }),
        Err(broken) => (
            Exit::Findings,
            format!("not intact: {broken}"),
            json!({ "intact": false, "entry": broken.number, "why": broken.to_string() }),
        ),
    };
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let warning = sqlite::ahead(&path, now_ms)?;
    if as_json {
        if let (Some(json), Some(warning)) = (json.as_object_mut(), warning) {
            json.insert("warning".to_owned(), warning.into());
        }
        out.json(&json)?
    } else {
        out.line(&text);
        warning.iter().for_each(|warning| out.note(&format!("warning: {warning}")));
    }
    Ok(exit)
}

fn intact(found: &Verified) -> String {
    let entries = match found.forgotten {
        0 => format!("{} entries", found.entries),
        gone => format!("{} entries ({gone} older ones were forgotten)", found.entries),
    };
    match found.checkpoints {
        0 => format!(
            "intact as far as it goes: {entries}, head {}; there is no checkpoint yet, so nobody can \
             tell whether entries were removed from the end; `haft audit checkpoint` signs one",
            found.head
        ),
        signed => format!("intact: {entries}, {signed} checkpoints, head {}", found.head),
    }
}

fn checkpoint(at: &Place, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        let config = at.config()?;
        let store = open_store(&config)?;
        let key = Sqlite::signing_key(&config.database())?;
        let made = store.checkpoint(&key).await.context("no checkpoint was written")?;
        out.line(&format!(
            "signed entry {} in {}",
            made.number,
            Sqlite::checkpoints(&config.database()).display()
        ));
        Ok(Exit::Done)
    })
}

/// Whether nothing is wrong with the trail and no effects are refused because of it.
async fn is_trusted(store: &Sqlite, config: &Config) -> anyhow::Result<bool> {
    let mut tenants: Vec<String> = config.records().tenants.into_iter().map(|one| one.id).collect();
    tenants.extend(store.entries(Kind::Tenant, None).await?.into_iter().map(|one| one.id));
    for tenant in &tenants {
        if store.trusts(tenant).await.is_err() {
            return Ok(false);
        }
    }
    Ok(sqlite::verify_here(&config.database())?.is_ok())
}

fn acknowledge(at: &Place, actor: &str, note: &str, out: &mut Output) -> anyhow::Result<Exit> {
    let by = named::principal(actor, "--as")?;
    if by.kind == PrincipalKind::Agent {
        return Err(misuse(
            "--as: an agent cannot vouch for the trail; name a person or a service",
        ));
    }
    if is_empty_note(note) {
        return Err(misuse(
            "--note: the note is empty; say what was looked at, it stands on record",
        ));
    }
    block_on(async {
        let config = at.config()?;
        let store = open_store(&config)?;
        if is_trusted(&store, &config).await? {
            out.line(
                "the trail is intact: there was nothing to acknowledge, and nothing was noted",
            );
            return Ok(Exit::Done);
        }
        store.acknowledge(&by, note).await?;
        out.line("noted in the trail; side effects are taken again");
        Ok(Exit::Done)
    })
}
