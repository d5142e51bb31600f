//! What whoever starts a server is told: where it is, and what to do next.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use haft_core::contract::{Confirmation, Mode, SideEffectPolicy};
use haft_core::parameters::{Cardinality, Kind, Parameter};
use haft_core::{Caller, Tool};
use serde_json::{Map, Value, json};

use super::administrator::{Administrator, quoted};
use crate::assembly::{Desk, IN_THE_CLEAR};
use crate::cli::Serve;
use crate::output::Output;
use crate::source::Place;

pub(crate) fn greet(
    desk: &Desk,
    meant: (&Place, &Serve),
    at: SocketAddr,
    admin: &Administrator,
    link: Option<&str>,
    out: &mut Output,
) {
    let registry = desk.runtime.current();
    let base = base(desk, at);
    let tools = match registry.tools.len() {
        1 => "1 tool".to_owned(),
        tools => format!("{tools} tools"),
    };
    out.line(&format!("haft serves {tools} (registry {}) on {base}", registry.version));
    let mut next = Vec::new();
    if let Some(link) = link {
        let title = "open the console (the link signs in once, within 15 minutes):";
        next.push((title, format!("{base}{link}")));
    }
    if let Some((agent, body)) = example(desk) {
        let line = format!(
            "curl -s {base}/v1/agents/{agent}/calls -H \"Authorization: Bearer {}\" \\\n    \
             -H 'Content-Type: application/json' -d {}",
            admin.text,
            quoted(&body.to_string())
        );
        next.push(("call a tool:", line));
    }
    if let Some(agent) = desk.config.records().agents.first() {
        let title = "connect an MCP client, which starts this (or give it /mcp and a key):";
        next.push((title, mcp(desk, meant, &agent.id)));
    }
    next.push(("read the API:", format!("curl -s {base}/v1/openapi.json")));
    for (title, line) in next {
        out.line(&format!("\n{title}\n  {line}"));
    }
    if !desk.store.is_sealing() {
        out.note(IN_THE_CLEAR);
    }
}

/// The command that speaks MCP for an agent, from any folder: with the same configuration, tools and store.
fn mcp(desk: &Desk, (at, options): (&Place, &Serve), agent: &str) -> String {
    let haft =
        std::env::current_exe().map_or_else(|_| "haft".into(), |path| path.display().to_string());
    let mut words = vec![quoted(&haft)];
    let has_file = desk.config.folder.is_some();
    if has_file {
        words.extend(flag("--config", Path::new(desk.config.file())));
    }
    if let Some(toolset) = toolset(desk, at) {
        words.extend(flag("--toolset", &toolset));
    }
    words.push("mcp".to_owned());
    if let Some(registry) = &options.registry {
        words.extend(flag("--registry", registry));
    }
    words.extend(["--agent".to_owned(), quoted(agent)]);
    let command = words.join(" ");
    match std::env::current_dir() {
        // What is remembered is in this folder then. A client starts one program, in a folder of its own.
        Ok(here) if !has_file => {
            let here = quoted(&here.display().to_string());
            format!("sh -c {}", quoted(&format!("cd {here} && exec {command}")))
        }
        Ok(_) | Err(_) => command,
    }
}

fn flag(name: &str, path: &Path) -> [String; 2] {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    [name.to_owned(), quoted(&whole.display().to_string())]
}

/// The toolset that is served, where the configuration alone does not lead to it.
fn toolset(desk: &Desk, at: &Place) -> Option<PathBuf> {
    let served = at.toolset().ok()?;
    let declared = desk.config.toolset.as_deref();
    let is_same = |other: &Path| other.canonicalize().ok() == served.canonicalize().ok();
    let is_found =
        at.toolset.is_none() && (desk.config.folder.is_none() || declared.is_some_and(is_same));
    (!is_found).then_some(served)
}

/// The address that a browser on this machine can use; beyond it, the first name that is declared.
fn base(desk: &Desk, at: SocketAddr) -> String {
    match (at.ip().is_unspecified(), desk.config.server.hosts.first()) {
        (true, Some(host)) => format!("http://{host}:{}", at.port()),
        (true, None) | (false, _) => format!("http://{at}"),
    }
}

/// A call that works: the first tool that reads, asks nobody, needs nothing from elsewhere, and
/// whose arguments can be made from its examples.
fn example(desk: &Desk) -> Option<(String, Value)> {
    let agent = desk.config.records().agents.first()?.clone();
    let caller = Caller::agent(&agent.tenant, &agent.id);
    let catalog = desk.runtime.catalog(&caller, Mode::Text);
    let registry = desk.runtime.current();
    let own = catalog.list().filter(|one| registry.find(&one.tool.id).is_some());
    let runs = own.filter(|one| desk.runtime.can_run(&one.tool));
    let asks_nobody = runs.filter(|one| one.requires_confirmation == Confirmation::Always(false));
    let mut made = asks_nobody.filter_map(|one| Some((&one.tool, filled(&one.tool)?)));
    let (tool, arguments) = made.next()?;
    let short = &tool.contract.tool_id;
    let name = if catalog.get(short).is_some() { short } else { &tool.id };
    Some((agent.id, json!({ "tool": name, "arguments": arguments })))
}

fn filled(tool: &Tool) -> Option<Value> {
    let contract = &tool.contract;
    let alone = contract.side_effect_policy == SideEffectPolicy::Pure
        && contract.capabilities.is_empty()
        && contract.connection.is_none()
        && contract.gateway.is_none()
        && !tool.parameters.is_empty();
    let required = tool.parameters.iter().filter(|one| one.required);
    let one = |parameter: &Parameter| Some((parameter.name.clone(), value(parameter)?));
    let members: Option<Map<String, Value>> = required.map(one).collect();
    members.filter(|_| alone).map(Value::Object)
}

fn value(parameter: &Parameter) -> Option<Value> {
    let given = parameter.example.as_ref().or(parameter.default.as_ref());
    if let Some(value) = given.or(parameter.allowed.first()) {
        return Some(value.clone());
    }
    let is_plain = matches!(parameter.cardinality, Cardinality::Single | Cardinality::Optional);
    (parameter.kind == Kind::String && is_plain).then(|| json!("two words"))
}
