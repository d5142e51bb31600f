//! `haft effects`

use anyhow::Context as _;
use haft_adm::strict;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectFilter, Ledger as _};
use haft_core::{Caller, ErrorKind, ToolError};
use haft_runtime::effects::Found;
use serde_json::{Value, json};

use crate::assembly::{Desk, block_on, open_store, plain, said, text_of};
use crate::cli::{Effects, EffectsAction, YesNo};
use crate::named;
use crate::output::{Exit, Output, instant, misuse};
use crate::patience::{Patience, Words};
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
    // What is on record is told also where nothing can be written.
    if store.only_read().is_none()
        && let Err(why) = store.recover().await
    {
        out.note(&format!(
            "warning: what processes that are gone have left is shown as they left it: {why}"
        ));
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
    let effect = match action {
        EffectsAction::Probe { call } => probed(at, options, call, out).await?,
        EffectsAction::Settle { call, happened, note, answer } => {
            let found = found(*happened, answer.as_deref())?;
            // What somebody knows can be said whatever has become of the tools.
            let desk = Desk::open_for_records(at, out)?;
            desk.tend(out).await?;
            let by = by(&desk, options)?;
            Some(desk.runtime.settle(&by, call, found, note).await.map_err(refused)?)
        }
    };
    let Some(effect) = effect else { return Ok(Exit::Findings) };
    if options.json {
        out.json(&told(&effect, options))?;
    } else {
        let by = effect.resolution.as_ref().map_or("", |resolution| resolution.by.as_str());
        out.line(&format!("{}: {} (says {by})", effect.effect.call, effect.state.as_str()));
    }
    Ok(Exit::Done)
}

/// What the probe says; nothing where somebody would not wait for it.
async fn probed(
    at: &Place,
    options: &Effects,
    call: &str,
    out: &Output,
) -> anyhow::Result<Option<EffectRecord>> {
    let desk = Desk::open(at, None, out)?;
    desk.tend(out).await?;
    let by = by(&desk, options)?;
    let work = desk.runtime.probe(&by, call);
    match Patience::begin().wait(&desk, work, &left(call), out).await {
        Some(probed) => Ok(Some(probed.map_err(said)?.effect)),
        None => Ok(None),
    }
}

fn by(desk: &Desk, options: &Effects) -> anyhow::Result<Caller> {
    let operator = &options.operator;
    desk.caller("default", Some(&operator.tenant), Some(&operator.actor))
}

/// What is said to whoever interrupts a probe. It only reads.
fn left(call: &str) -> Words {
    let again = format!("`haft effects probe {}` asks again", plain(call));
    Words {
        nothing: format!(
            "unless its answer was recorded just then, the effect is as it was: {again}"
        ),
        begun: "the probe is being carried out".to_owned(),
        left: "nobody has heard what the probe would say".to_owned(),
        next: vec![format!("  help: {again}")],
    }
}

/// What was typed is wrong, or something else is.
fn refused(error: ToolError) -> anyhow::Error {
    let is_typed = error.kind == ErrorKind::InvalidArguments;
    let why = said(error);
    if is_typed { misuse(why.to_string()) } else { why }
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
