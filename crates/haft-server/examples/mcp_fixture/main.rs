//! A server for the public MCP conformance suites: every tool that they ask for is a haft tool, run
//! by a native function through the one path.
//!
//! `cargo run -p haft-server --example mcp_fixture -- 3001` listens on that port of this machine; with
//! `--stdio` it serves one client on standard input and output. `scripts/mcp-check` runs the suites.
#![allow(missing_docs, reason = "a program")]

mod functions;
mod shown;
mod tools;

use std::sync::{Arc, OnceLock};

use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::AUTHORIZATION;
use axum::middleware::map_request;
use haft_core::{Caller, Principal};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_runtime::toolbox::Records;
use haft_server::mcp::{Names, Seat, Settings};
use haft_server::who::facts::Facts;
use haft_server::who::{Key, Keys, Role, hash_of};
use haft_server::{Door, Hub, Limits};
use haft_store::Memory;
use tokio::net::TcpListener;

/// The suites send no key, so the fixture puts this one to every request, as a proxy would.
const KEY: &str = "haft_fixture_00000000000000000000000000000000";

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "3001".to_owned());
    let door = Arc::new(door()?);
    if argument == "--stdio" {
        let seat = Seat::local(Caller::agent("fixture", "tester"));
        let (from, to) = (tokio::io::stdin(), tokio::io::stdout());
        haft_server::mcp::serve_lines(door, seat, from, to).await?;
        return Ok(());
    }
    let listener = TcpListener::bind(("127.0.0.1", argument.parse::<u16>()?)).await?;
    let app = haft_server::router(door).layer(map_request(with_key));
    axum::serve(listener, app).await?;
    Ok(())
}

async fn with_key(mut request: Request) -> Request {
    let key = HeaderValue::from_str(&format!("Bearer {KEY}"));
    if let Ok(key) = key {
        request.headers_mut().entry(AUTHORIZATION).or_insert(key);
    }
    request
}

fn door() -> Result<Door, Box<dyn std::error::Error>> {
    let registry = tools::registry(0, 0);
    let rules = Rules { allow: vec!["fixture__*".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    let policy = Policy::load(&source, &[&registry]).map_err(|problems| format!("{problems:?}"))?;
    let hub = Hub::default();
    let own: Arc<OnceLock<Runtime>> = Arc::default();
    let executor = Arc::new(functions::all(own.clone()));
    let runtime = Runtime::builder(registry, Arc::new(Memory::new()), executor)
        .policy(Arc::new(policy))
        .rules(rules)
        .records(Records::of_one("fixture", "tester"))
        .publish(Arc::new(hub.clone()))
        .build()?;
    drop(own.set(runtime.clone()));
    let keys = Keys::load(&[Key {
        id: "fixture".to_owned(),
        sha256: hash_of(KEY),
        tenant: "fixture".to_owned(),
        principal: Principal::agent("tester"),
        subject: None,
        roles: vec![Role::Agent],
        agents: None,
        name: None,
        expires: None,
        user: Facts::default(),
    }])?;
    let settings = Settings {
        names: Names::Short,
        prompts: vec![Arc::new(shown::Shown)],
        resources: vec![Arc::new(shown::Shown)],
        instructions: Some("tools for the conformance suites".to_owned()),
        ..Settings::default()
    };
    let hosts = ["127.0.0.1", "localhost", "::1"].map(str::to_owned).to_vec();
    Ok(Door::new(runtime, hub, keys, hosts, Limits::default()).with_mcp(settings))
}
