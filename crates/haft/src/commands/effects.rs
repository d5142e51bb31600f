//! `haft effects`

use anyhow::Context as _;
use haft_adm::strict;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectFilter, Ledger as _};
use haft_runtime::effects::Found;
use serde_json::{Value, json};

use crate::assembly::{Desk, block_on, open_store, said, text_of};
use crate::cli::{Effects, EffectsAction, YesNo};
use crate::named;
use crate::output::{Exit, Output, instant, misuse};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Effects, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        match &options.action {
            None => list(at, options, out).await,
            Some(action) => settle(at, options, action, out).await,
        }
    })
}

async fn list(at: &Place, options: &Effects, out: &mut Output) -> anyhow::Result<Exit> {
    let states = match &options.state {
        Some(word) => vec![state(word)?],
        None => Vec::new(),
    };
    let config = at.config()?;
    let store = open_store(&config)?;
    if store.only_read().is_none() {
        store.recover().await?;
    }
    let tool = match &options.tool {
        Some(name) => Some(super::calls::meant(&store, &options.operator.tenant, name).await?),
        None => None,
    };
    let filter = EffectFilter {
        tenant: options.operator.tenant.clone(),
        states,
        tool,
        session: options.session.clone(),
        limit: options.limit.saturating_add(1),
        ..EffectFilter::default()
    };
    let mut effects = store.effects(filter).await?;
    if effects.is_empty() {
        named::tenant(&store, &config, &options.operator.tenant).await?;
        named::session(&store, &options.operator.tenant, options.session.as_deref()).await?;
    }
    out.cut(&mut effects, options.limit);
    if options.json {
        let shown: Vec<Value> = effects.iter().map(|one| told(one, options)).collect();
        out.json(&shown)?;
    } else if effects.is_empty() {
        out.line("no effects");
    } else {
        let rows: Vec<Vec<String>> = effects.iter().map(row).collect();
        out.table(&["CALL", "STATE", "TOOL", "TIME", "CLASS", "GROUP"], 3, &rows);
    }
    Ok(Exit::Done)
}

/// Arguments and answers may hold what the contract's redaction strips: they are shown to whoever says so.
fn told(record: &EffectRecord, options: &Effects) -> Value {
    match options.full {
        true => json!(record),
        false => haft_server::shown_effect(record),
    }
}

fn row(record: &EffectRecord) -> Vec<String> {
    vec![
        record.effect.call.clone(),
        record.state.as_str().to_owned(),
        record.effect.tool.clone(),
        instant(record.started_at_ms),
        record.effect.policy.as_str().to_owned(),
        record.effect.turn_group.clone().unwrap_or_default(),
    ]
}

async fn settle(
    at: &Place,
    options: &Effects,
    action: &EffectsAction,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    let desk = Desk::open(at, None, out)?;
    desk.tend(out).await?;
    let operator = &options.operator;
    let by = desk.caller("default", Some(&operator.tenant), Some(&operator.actor))?;
    let effect = match action {
        EffectsAction::Probe { call } => desk.runtime.probe(&by, call).await.map_err(said)?.effect,
        EffectsAction::Settle { call, happened, note, answer } => {
            let found = found(*happened, answer.as_deref())?;
            desk.runtime.settle(&by, call, found, note).await.map_err(said)?
        }
    };
    if options.json {
        out.json(&told(&effect, options))?;
    } else {
        let by = effect.resolution.as_ref().map_or("", |resolution| resolution.by.as_str());
        out.line(&format!("{}: {} (says {by})", effect.effect.call, effect.state.as_str()));
    }
    Ok(Exit::Done)
}

fn found(happened: YesNo, answer: Option<&str>) -> anyhow::Result<Found> {
    let Some(answer) = answer else { return Ok(Found::bare(happened == YesNo::Yes)) };
    if happened == YesNo::No {
        return Err(misuse("--answer: what did not happen has answered nothing"));
    }
    let text = text_of(answer).context("--answer")?;
    let answer = strict::parse(&text, strict::Limits::default())
        .map_err(|why| misuse(format!("--answer: {why}")))?;
    Ok(Found::Happened { answer: Some(answer) })
}

fn state(word: &str) -> anyhow::Result<State> {
    let words = State::ALL.map(State::as_str);
    State::parse(word).ok_or_else(|| {
        let fix = haft_core::nearest::suggest(word, &words);
        misuse(format!("--state: `{word}` is not a state; {fix}"))
    })
}
