//! `haft why`

use anyhow::Context as _;
use haft_core::call::{Call, RawArguments};
use haft_core::port::{Blocks as _, Invoke as _, Standing, Verdict};
use haft_core::session::Block;
use haft_core::{Caller, Envelope, Tool, nearest};
use haft_runtime::toolbox::{Catalog, Found, Unavailable};
use serde_json::{Value, json};

use crate::assembly::{Desk, block_on, plain, text_of};
use crate::cli::Why;
use crate::commands::call::{mode_of, on_behalf};
use crate::output::{Exit, Output, instant};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Why, out: &mut Output) -> anyhow::Result<Exit> {
    let arguments = options.args.as_deref().map(text_of).transpose().context("--args")?;
    block_on(async {
        let desk = Desk::open(at, options.registry.as_deref(), out)?;
        let (tenant, actor) = (options.tenant.as_deref(), options.actor.as_deref());
        let caller = desk.caller(&options.agent, tenant, actor)?;
        desk.known(&caller)?;
        let caller = on_behalf(&desk, caller, options.subject.as_deref(), options.user.as_deref())?;
        let catalog = desk.runtime.catalog(&caller, mode_of(options.mode));
        // What the tenant does not have exists for no agent; whoever asks here may know of it.
        let offers = desk.runtime.offers(&caller.tenant);
        let block = desk.store.blocked(&caller.tenant, caller.principal()).await?;
        let Some(name) = &options.tool else {
            return all(&catalog, &offers, block.as_ref(), options, out);
        };
        let mut answer = one(&catalog, &offers, name);
        if let (Found::Tool(tool), None) = (catalog.find(name), &options.connection) {
            own_connection(&mut answer, &desk.runtime.connections(&caller, &tool.tool));
        }
        if let Some(block) = &block {
            blocked(&mut answer, block);
        }
        if let Some(arguments) = arguments
            && !matches!(catalog.find(name), Found::Unknown)
        {
            // With arguments the rules can be asked to the end, and what they say then counts.
            let envelope = asked(&desk, caller, name, arguments, options).await;
            decided(&mut answer, &envelope);
        }
        if options.json {
            out.json(&answer)?;
        } else {
            text(&answer, name, options, out)?;
        }
        Ok(if is_allowed(&answer) { Exit::Done } else { Exit::Findings })
    })
}

/// A call that names no connection uses the agent's own, and is refused where that is not granted,
/// whatever others are.
fn own_connection(answer: &mut Value, granted: &[String]) {
    let Some(answer) = answer.as_object_mut() else { return };
    let own = answer.get("connection").and_then(Value::as_str).map(str::to_owned);
    let Some(own) = own.filter(|own| !granted.contains(own)) else { return };
    let mut say = |key: &str, value: Value| drop(answer.insert(key.to_owned(), value));
    say("allowed", json!(false));
    say("why", json!("connection_missing"));
    let words = format!(
        "a call that names none uses the agent's own connection `{own}`, which is not granted"
    );
    say("inWords", json!(words));
    say("rule", json!("connection:not-granted"));
    let help = match granted {
        [] => format!("grant it with `haft connections grant {own} --to <who> --tools <tools>`"),
        granted => format!("grant it, or have the call name one that is: {}", granted.join(", ")),
    };
    say("enable", json!(help));
}

/// Nobody acts for a user who is blocked, whatever rules say.
fn blocked(answer: &mut Value, block: &Block) {
    let Some(answer) =
        answer.as_object_mut().filter(|one| one.get("allowed") == Some(&json!(true)))
    else {
        return;
    };
    let mut say = |key: &str, value: Value| drop(answer.insert(key.to_owned(), value));
    say("allowed", json!(false));
    say("why", json!("blocked"));
    say("inWords", json!(in_words(block)));
    say("rule", json!("block"));
    say("enable", json!("the block ends by itself"));
}

fn in_words(block: &Block) -> String {
    format!("{} is blocked until {}", block.principal, instant(block.until_ms))
}

async fn asked(
    desk: &Desk,
    caller: Caller,
    name: &str,
    arguments: String,
    options: &Why,
) -> Envelope {
    let mut call = Call::new(caller, name, RawArguments::Text(arguments));
    call.mode = mode_of(options.mode);
    call.key = Some("haft-why".to_owned());
    call.connection.clone_from(&options.connection);
    call.connections = options.connection.iter().cloned().collect();
    (call.dry_run, call.sees_rules) = (true, true);
    desk.runtime.invoke(call).await
}

/// Puts what a call with these arguments would meet in the place of what is known without them.
fn decided(answer: &mut Value, envelope: &Envelope) {
    let Some(answer) = answer.as_object_mut() else { return };
    let mut say = |key: &str, value: Value| drop(answer.insert(key.to_owned(), value));
    match &envelope.result {
        Ok(plan) if plan.get("refusal").is_none_or(Value::is_null) => {
            let at = |pointer: &str| plan.pointer(pointer).cloned().unwrap_or_default();
            say("allowed", json!(true));
            say("decision", at("/decision"));
            say("requiresConfirmation", at("/confirmation/required"));
        }
        Ok(plan) => {
            let at = |pointer: &str| plan.pointer(pointer).cloned().unwrap_or_default();
            say("allowed", json!(false));
            say("why", at("/refusal/kind"));
            say("inWords", at("/refusal/message"));
            say("stage", at("/refusal/stage"));
            say("rule", at("/refusal/rule"));
            say("enable", at("/refusal/suggestion"));
        }
        Err(error) => {
            let of = |key: &str| {
                let decision = error.details.as_ref().and_then(|all| all.get("decision"));
                decision.and_then(|decision| decision.get(key)).cloned().unwrap_or_default()
            };
            say("allowed", json!(false));
            say("why", json!(error.kind));
            say("inWords", of("why"));
            say("stage", of("stage"));
            say("rule", of("rule"));
            say("enable", json!(error.suggestion));
        }
    }
    say("withArguments", json!(envelope));
}

fn is_allowed(answer: &Value) -> bool {
    answer.get("allowed") == Some(&Value::Bool(true))
}

fn one(catalog: &Catalog, offers: &[Unavailable], name: &str) -> Value {
    match catalog.find(name) {
        Found::Tool(tool) => {
            let decision = match &tool.standing {
                Standing::Settled(decision) => json!(decision),
                Standing::Open => {
                    json!({ "verdict": "depends", "why": "it depends on the arguments" })
                }
            };
            json!({
                "tool": tool.tool.id,
                "allowed": true,
                "decision": decision,
                "connection": tool.connection,
                "requiresConfirmation": match &tool.standing {
                    Standing::Settled(decision) if decision.verdict == Verdict::RequireApproval => {
                        json!(true)
                    }
                    Standing::Settled(_) | Standing::Open => json!(tool.requires_confirmation),
                },
            })
        }
        Found::Unavailable(tool) => refused(tool),
        Found::Narrowed(tool) => {
            json!({ "tool": tool.tool.id, "allowed": false, "why": "narrowed" })
        }
        Found::Ambiguous(ids) => json!({ "allowed": false, "why": "ambiguous", "tools": ids }),
        Found::Unknown => match offered(offers, name) {
            Some(tool) => refused(tool),
            None => json!({
                "allowed": false,
                "why": "unknown",
                "inWords": "there is no such tool for this agent's tenant",
                "enable": near(catalog, name),
            }),
        },
    }
}

fn refused(tool: &Unavailable) -> Value {
    json!({
        "tool": tool.tool.id,
        "allowed": false,
        "why": tool.why.as_str(),
        "inWords": tool.why.in_words(),
        "rule": tool.rule,
        "enable": tool.enable,
    })
}

/// A tool that the tenant could have, by its id or by a short name that no other has.
fn offered<'a>(offers: &'a [Unavailable], name: &str) -> Option<&'a Unavailable> {
    let mut short = offers.iter().filter(|one| one.tool.contract.tool_id == name);
    let whole = offers.iter().find(|one| one.tool.id == name);
    whole.or_else(|| short.next().filter(|_| short.next().is_none()))
}

/// The tool that was perhaps meant.
fn near(catalog: &Catalog, name: &str) -> String {
    let missing = catalog.unavailable();
    let there = catalog.list().map(|tool| &tool.tool);
    let tools = there.chain(missing.iter().map(|tool| &tool.tool));
    let names: Vec<&str> = match name.contains("__") {
        true => tools.map(|tool| tool.id.as_str()).collect(),
        false => tools.map(|tool| tool.contract.tool_id.as_str()).collect(),
    };
    match nearest::find(name, names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "`haft why <agent>` lists what there is".to_owned(),
    }
}

fn text(answer: &Value, name: &str, options: &Why, out: &mut Output) -> anyhow::Result<()> {
    let say =
        |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
    let mode = mode_of(options.mode).as_str();
    let with = if options.args.is_some() { " with these arguments" } else { "" };
    let agent = plain(&options.agent);
    if is_allowed(answer) {
        out.line(&format!("`{agent}` may use `{}` in {mode} mode{with}", say("/tool")));
        out.line(&format!("  verdict: {}", say("/decision/verdict")));
        out.line(&format!("  rule:    {}", say("/decision/rule")));
        out.line(&format!("  because: {}", say("/decision/why")));
        let asks = answer.get("requiresConfirmation").cloned().unwrap_or_default();
        out.line(&format!("  asks a person: {asks}"));
    } else {
        let (name, words) = (plain(name), plain(&say("/inWords")));
        out.line(&format!("`{agent}` may not use `{name}` in {mode} mode{with}: {words}"));
        out.line(&format!("  why:    {}", say("/why")));
        if answer.get("stage").is_some() {
            out.line(&format!("  stage:  {}", say("/stage")));
        }
        out.line(&format!("  rule:   {}", say("/rule")));
        out.line(&format!("  enable: {}", plain(&say("/enable"))));
    }
    if let Some(connection) = answer.get("connection").and_then(Value::as_str) {
        let connection = plain(connection);
        out.line(&format!("  connection: {connection}, the agent's own where a call names none"));
    }
    if let Some(plan) = answer.get("withArguments") {
        out.line("  with these arguments:");
        out.json(plan)?;
    }
    Ok(())
}

fn all(
    catalog: &Catalog,
    offers: &[Unavailable],
    block: Option<&Block>,
    options: &Why,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    if let Some(block) = block {
        out.note(&format!("{}: no tool runs before then", plain(&in_words(block))));
    }
    let unavailable = [catalog.unavailable(), offers.to_vec()].concat();
    if options.json {
        let usable: Vec<Value> =
            catalog.list().map(|tool| one(catalog, offers, &tool.tool.id)).collect();
        let until = block.map(|block| instant(block.until_ms));
        let other: Vec<Value> = unavailable.iter().map(refused).collect();
        out.json(&json!({ "available": usable, "unavailable": other, "blockedUntil": until }))?;
        return Ok(Exit::Done);
    }
    let row = |tool: &Tool, status: &str, enable: &str| {
        vec![tool.id.clone(), status.to_owned(), enable.to_owned()]
    };
    let mut rows: Vec<Vec<String>> =
        catalog.list().map(|tool| row(&tool.tool, "available", "")).collect();
    rows.extend(unavailable.iter().map(|tool| row(&tool.tool, tool.why.as_str(), &tool.enable)));
    out.table(&["TOOL", "STATUS", "WHAT WOULD ENABLE IT"], 2, &rows);
    Ok(Exit::Done)
}
