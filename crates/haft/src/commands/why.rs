//! `haft why`

use haft_core::Tool;
use haft_core::call::Call;
use haft_core::port::{Invoke as _, Standing, Verdict};
use haft_runtime::toolbox::{Catalog, Found};
use serde_json::{Value, json};

use crate::assembly::{Desk, block_on, plain};
use crate::cli::Why;
use crate::commands::call::mode;
use crate::output::{Exit, Output, table};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Why, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        let desk = Desk::open(at, options.registry.as_deref(), out)?;
        let caller = desk.caller(&options.agent, None, None)?;
        desk.known(&caller)?;
        let catalog = desk.runtime.catalog(&caller, mode(options.mode));
        let Some(name) = &options.tool else { return all(&catalog, options, out) };
        let mut answer = one(&catalog, name);
        if let Some(args) = &options.args {
            // With arguments the rules can be asked to the end.
            let mut call = Call::new(caller, name.clone(), args.as_str());
            call.mode = mode(options.mode);
            call.key = Some("haft-why".to_owned());
            (call.dry_run, call.sees_rules) = (true, true);
            let envelope = desk.runtime.invoke(call).await;
            if let Some(answer) = answer.as_object_mut() {
                answer.insert("withArguments".to_owned(), json!(envelope));
            }
        }
        if options.json {
            out.json(&answer)?;
        } else {
            text(&answer, name, options, out)?;
        }
        Ok(if is_allowed(&answer) { Exit::Done } else { Exit::Findings })
    })
}

fn is_allowed(answer: &Value) -> bool {
    answer.get("allowed") == Some(&Value::Bool(true))
}

fn one(catalog: &Catalog, name: &str) -> Value {
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
                "requiresConfirmation": match &tool.standing {
                    Standing::Settled(decision) if decision.verdict == Verdict::RequireApproval => {
                        json!(true)
                    }
                    Standing::Settled(_) | Standing::Open => json!(tool.requires_confirmation),
                },
            })
        }
        Found::Unavailable(tool) => json!({
            "tool": tool.tool.id,
            "allowed": false,
            "why": tool.why.as_str(),
            "inWords": tool.why.in_words(),
            "rule": tool.rule,
            "enable": tool.enable,
        }),
        Found::Narrowed(tool) => {
            json!({ "tool": tool.tool.id, "allowed": false, "why": "narrowed" })
        }
        Found::Ambiguous(ids) => json!({ "allowed": false, "why": "ambiguous", "tools": ids }),
        Found::Unknown => json!({
            "allowed": false,
            "why": "unknown",
            "inWords": "there is no such tool for this agent's tenant, or no such agent",
        }),
    }
}

fn text(answer: &Value, name: &str, options: &Why, out: &mut Output) -> anyhow::Result<()> {
    let say =
        |pointer: &str| answer.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
    let mode = mode(options.mode).as_str();
    if is_allowed(answer) {
        out.line(&format!("`{}` may use `{}` in {mode} mode", options.agent, say("/tool")));
        out.line(&format!("  verdict: {}", say("/decision/verdict")));
        out.line(&format!("  rule:    {}", say("/decision/rule")));
        out.line(&format!("  because: {}", say("/decision/why")));
        let asks = answer.get("requiresConfirmation").cloned().unwrap_or_default();
        out.line(&format!("  asks a person: {asks}"));
    } else {
        out.line(&format!(
            "`{}` may not use `{}` in {mode} mode: {}",
            plain(&options.agent),
            plain(name),
            say("/inWords")
        ));
        out.line(&format!("  why:    {}", say("/why")));
        out.line(&format!("  rule:   {}", say("/rule")));
        out.line(&format!("  enable: {}", say("/enable")));
    }
    if let Some(plan) = answer.get("withArguments") {
        out.line("  with these arguments:");
        out.json(plan)?;
    }
    Ok(())
}

fn all(catalog: &Catalog, options: &Why, out: &mut Output) -> anyhow::Result<Exit> {
    let unavailable = catalog.unavailable();
    if options.json {
        let usable: Vec<Value> = catalog.list().map(|tool| one(catalog, &tool.tool.id)).collect();
        let other: Vec<Value> =
            unavailable.iter().map(|tool| one(catalog, &tool.tool.id)).collect();
        out.json(&json!({ "available": usable, "unavailable": other }))?;
        return Ok(Exit::Done);
    }
    let row = |tool: &Tool, status: &str, enable: &str| {
        vec![tool.id.clone(), status.to_owned(), enable.to_owned()]
    };
    let mut rows: Vec<Vec<String>> =
        catalog.list().map(|tool| row(&tool.tool, "available", "")).collect();
    rows.extend(unavailable.iter().map(|tool| row(&tool.tool, tool.why.as_str(), &tool.enable)));
    out.result(&table(&["TOOL", "STATUS", "WHAT WOULD ENABLE IT"], &rows));
    Ok(Exit::Done)
}
