//! Handlers that call tools with handlers, more of them at once than there are children and programs.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use haft_core::names::Namespace;
use haft_core::port::Invoke as _;
use haft_core::registry::{Build, Implementation, Tool};
use haft_core::{Call, Caller, Digest, Registry};
use haft_exec::{Executors, Js, Process, process};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_store::Memory;
use serde_json::json;

use crate::rig::{js, settings, tool_with};

/// Both call the first of the tools that they are given with the rest of them.
const JS: &str = "export async function execute({ args, context }) {
    const [next, ...rest] = args.tools;
    return { ok: true, data: next ? await context.callTool(next, { tools: rest }) : 'done' };
}";
const PROGRAM: &str = r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    tools, answer = asked["args"]["tools"], {"ok": True, "value": "done"}
    if tools:
        call, args = "call_tool." + tools[0], {"tools": tools[1:]}
        print(json.dumps({"id": asked["id"], "call": call, "args": args}), flush=True)
        answer = json.loads(sys.stdin.readline())
    end = {"id": asked["id"], "ok": answer["ok"], "data": answer.get("value"), "error": answer.get("error")}
    print(json.dumps(end), flush=True)
"#;

fn tool(name: &str, handler: Implementation) -> Tool {
    let mut tool = tool_with(handler, &json!(["call_tool"]));
    let mut contract = json!(tool.contract);
    contract["toolId"] = json!(name);
    contract["limits"] = json!({ "maxRuntimeMs": 20_000 });
    tool.contract = serde_json::from_value(contract).unwrap();
    tool.id = format!("core__{name}");
    tool
}

/// Three tools of each kind, with a place for each kind.
fn runtime(folder: &Path) -> Runtime {
    let file = folder.join("handler.py");
    std::fs::write(&file, PROGRAM).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = || Implementation::Process {
        file: "handler.py".into(),
        digest: Digest::of_bytes(PROGRAM.as_bytes()),
    };
    let kinds = ["a", "b", "c"]
        .map(|name| [tool(&format!("js_{name}"), js(JS)), tool(&format!("run_{name}"), program())]);
    let registry = Registry {
        version: "1.0.00000000".to_owned(),
        digest: Digest::of_bytes(b"nested"),
        namespace: Namespace::parse("core").unwrap(),
        prompts: BTreeMap::new(),
        tools: kinds.into_iter().flatten().collect(),
        build: Build {
            at: "2026-01-01T00:00:00Z".to_owned(),
            by: "a test".to_owned(),
            commit: None,
        },
    };
    let mut programs = process::Settings::new(folder.to_owned(), folder.join("run"));
    programs.starter = Some(env!("CARGO_BIN_EXE_haft-sandbox").into());
    programs.most = 1;
    let executors = Executors::new().with(Js::new(settings(1))).with(Process::new(programs));
    let rules = Rules { allow: vec!["core__*".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    let policy = Policy::load(&source, &[&registry]).unwrap();
    Runtime::builder(registry, Arc::new(Memory::default()), Arc::new(executors))
        .policy(Arc::new(policy))
        .rules(rules)
        .build()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn handlers_that_call_handlers_do_not_wait_for_one_another() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime(folder.path());
    let ways = [
        ["js_a", "js_b", "js_c"],
        ["run_a", "run_b", "run_c"],
        ["js_a", "run_a", "js_b"],
        ["run_a", "js_a", "run_b"],
    ];
    let calls = ways.iter().cycle().take(16).map(|[first, rest @ ..]| {
        let caller = Caller::agent("default", "default");
        runtime.invoke(Call::new(caller, *first, json!({ "tools": rest })))
    });
    for (at, envelope) in join_all(calls).await.into_iter().enumerate() {
        assert_eq!(envelope.result.unwrap(), "done", "{:?}", ways[at % ways.len()]);
    }
}
