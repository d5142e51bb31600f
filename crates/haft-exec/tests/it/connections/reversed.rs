//! A service repeats what it was sent, and a handler spells that backwards: no search finds a secret that
//! is spelled so, and so the handler must not have read it.

use std::os::unix::fs::PermissionsExt as _;

use haft_core::connection::Credentials;
use haft_core::port::{Connections as _, Expect};
use haft_core::registry::Implementation;
use haft_core::secret::SecretText;
use haft_core::{Digest, Tool};
use haft_exec::{Executors, Process};
use serde_json::json;

use super::world::{World, writing};
use super::{SECRET, echo};
use crate::http::server::{Server, json as says};
use crate::rig::{js, pool};

const PIN: &str = "483920";

const JS: &str = r#"export async function execute({ context }) {
  const { status, json } = await context.http.post({ url: "URL", json: {} });
  return { ok: true, data: { status, said: [...json.said].reverse().join("") } };
}"#;

const PYTHON: &str = r#"#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "call": "http.post", "args": {"url": "URL", "json": {}}}), flush=True)
    told = json.loads(sys.stdin.readline())["value"]
    data = {"status": told["status"], "said": told["json"]["said"][::-1]}
    print(json.dumps({"id": asked["id"], "ok": True, "data": data}), flush=True)
"#;

/// What the tool makes of an echo, for a secret and for one that could be guessed.
async fn check(server: &Server, mut tool: Tool, executors: Executors) {
    tool.contract.hosts = vec![server.at.to_string()];
    let world = World::running(tool, executors, &["acme".to_owned()]).await;
    world.add("acme", "work", Credentials::Bearer(SecretText::new(SECRET))).await;
    reads_none(&world, server, "a", SECRET).await;
    let (account, _) = world.vault.open("acme", "work").await.unwrap();
    let pin = Credentials::Bearer(SecretText::new(PIN));
    world.vault.put(account, &pin, Expect::Revision(1), None).await.unwrap();
    reads_none(&world, server, "b", PIN).await;
}

async fn reads_none(world: &World, server: &Server, key: &str, secret: &str) {
    let said = world.call("work", key).await.result.unwrap();
    assert_eq!(said["status"], json!(200));
    let read: String = said["said"].as_str().unwrap().chars().rev().collect();
    assert!(read.contains("authorization: Bearer [secret]"), "{read}");
    assert!(!read.contains(secret), "{read}");
    assert!(server.seen().last().unwrap().contains(secret), "the service has it");
}

async fn echoing() -> Server {
    Server::new(|_, request| says("200 OK", &echo(request))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_reads_no_secret_that_a_service_repeats() {
    let server = echoing().await;
    let source = JS.replace("URL", &server.url("/x"));
    let tool = writing(js(&source), &json!(["http"]));
    check(&server, tool, Executors::new().with(pool(1))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_reads_no_secret_that_a_service_repeats() {
    let server = echoing().await;
    let source = PYTHON.replace("URL", &server.url("/x"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("handler.py");
    std::fs::write(&path, &source).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let digest = Digest::of_bytes(source.as_bytes());
    let tool =
        writing(Implementation::Process { file: "handler.py".into(), digest }, &json!(["http"]));
    let mut settings =
        haft_exec::process::Settings::new(folder.path().to_owned(), folder.path().join("run"));
    settings.starter = Some(env!("CARGO_BIN_EXE_haft-sandbox").into());
    check(&server, tool, Executors::new().with(Process::new(settings))).await;
}
