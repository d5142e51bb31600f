//! How fast a warm call of a JavaScript handler is, next to the bare round trip to a child process
//! over the same kind of pipes, in one run:
//!
//! ```text
//! cargo run --release -p haft-exec --example js_speed
//! ```
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement prints what it found and stops at the first surprise"
)]

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::contract::{Capability, Mode};
use haft_core::error::ToolError;
use haft_core::port::{Boxed, Ended, Execute as _, Host, Job, Scope, SessionView};
use haft_core::registry::{Implementation, Tool};
use haft_core::{Caller, Digest};
use haft_exec::Js;
use haft_exec::js::{Settings, serve_if_asked};
use serde_json::{Value, json};
use tokio::net::unix::pipe;

// What the `haft` binary has: a child must get along with it, too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUNDS: usize = 5_000;
const ECHO: &str = "echo";
/// About as much as a call of `kb_search` carries.
const MESSAGE: usize = 512;

struct Answers;

impl Host for Answers {
    fn call<'a>(
        &'a self,
        _: Capability,
        _: &'a str,
        _: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async { Ok(json!({"results": [], "total": 0})) })
    }
}

fn main() {
    serve_if_asked();
    if std::env::args().nth(1).as_deref() == Some(ECHO) {
        return echo();
    }
    for (name, runtime) in [
        ("one thread", tokio::runtime::Builder::new_current_thread()),
        ("many threads", tokio::runtime::Builder::new_multi_thread()),
    ] {
        let mut runtime = runtime;
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async { tokio::spawn(measure(name)).await.unwrap() });
    }
}

/// The bare child: gives every message back.
fn echo() {
    let mut buffer = [0; MESSAGE];
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout().lock());
    while from.read_exact(&mut buffer).is_ok() {
        to.write_all(&buffer).unwrap();
        to.flush().unwrap();
    }
}

async fn measure(name: &str) {
    println!("runtime with {name}");
    let bare = bare().await;
    show("bare round trip", &bare, &bare);
    let plain = "export const execute = ({ args }) => ({ ok: true, data: args });";
    let asking = "export async function execute({ args, context }) {
        const { results, total } = await context.kb.search({ query: args.query });
        return { ok: true, data: { results, total } };
    }";
    for children in [1, 2] {
        let js = Js::new(Settings { warm: children, most: children, ..Settings::default() });
        println!("  with {children} children");
        for (name, source) in [("a call", plain), ("a call and one capability", asking)] {
            show(&format!("{name}, child ready"), &calls(&js, source, Pace::Ready).await, &bare);
            show(&format!("{name}, back to back"), &calls(&js, source, Pace::AtOnce).await, &bare);
        }
    }
}

/// When the next call comes.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    /// When a child has its next engine ready: what a caller sees who is not alone in a hurry.
    Ready,
    /// At once: the child puts away the last engine and makes the next one meanwhile.
    AtOnce,
}

async fn bare() -> Vec<Duration> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg(ECHO)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let to = pipe::Sender::from_owned_fd(OwnedFd::from(child.stdin.take().unwrap())).unwrap();
    let from = pipe::Receiver::from_owned_fd(OwnedFd::from(child.stdout.take().unwrap())).unwrap();
    let mut buffer = [0; MESSAGE];
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        to.writable().await.unwrap();
        assert_eq!(to.try_write(&buffer).unwrap(), MESSAGE);
        let mut read = 0;
        while read < MESSAGE {
            from.readable().await.unwrap();
            read += from.try_read(&mut buffer).unwrap_or(0);
        }
        times.push(start.elapsed());
    }
    drop(to);
    child.wait().unwrap();
    times
}

async fn calls(js: &Js, source: &str, pace: Pace) -> Vec<Duration> {
    let tool = Arc::new(tool(source));
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS + 100 {
        let arguments =
            json!({"query": "lighting lead", "filters": {"type": "person"}, "top_k": 3});
        let scope = Arc::new(Scope {
            call: format!("call_{round}"),
            caller: Caller::agent("studio", "assistant"),
            mode: Mode::Text,
            session: SessionView::default(),
            connection: None,
            only: None,
            through: Vec::new(),
        });
        let limit = Duration::from_secs(5);
        let job = Job::new(tool.clone(), arguments, scope, Arc::new(Answers), limit, None);
        if pace == Pace::Ready {
            js.isolation().await.unwrap();
        }
        let start = Instant::now();
        let ended = js.execute(job).await;
        let took = start.elapsed();
        assert!(matches!(ended, Ended::Returned { .. }), "{ended:?}");
        if round >= 100 {
            times.push(took);
        }
    }
    times
}

fn tool(source: &str) -> Tool {
    let contract = json!({
        "toolId": "probe", "version": "1.0.0", "description": "a tool to measure with",
        "category": "retrieval", "sideEffects": "read_only", "effect": "read_only",
        "sideEffectPolicy": "pure", "idempotent": true, "requiresConfirmation": false,
        "allowedModes": ["text"], "latencyBudgetMs": 1000, "parameters": { "type": "object" },
        "redaction": { "allow": [] }, "arguments": { "mode": "strict", "fraction": "refuse" },
        "capabilities": ["kb"], "limits": {},
    });
    Tool {
        id: "core__probe".into(),
        digest: Digest::of_bytes(b"probe"),
        contract: serde_json::from_value(contract).unwrap(),
        parameters: Vec::new(),
        summary: String::new(),
        doc: String::new(),
        handler: Implementation::Js {
            digest: Digest::of_bytes(source.as_bytes()),
            source: source.into(),
        },
    }
}

fn show(name: &str, times: &[Duration], bare: &[Duration]) {
    let at = |times: &[Duration], part: f64| {
        let mut sorted = times.to_vec();
        sorted.sort();
        let index = (sorted.len() as f64 * part) as usize;
        sorted.get(index).copied().unwrap_or_default().as_secs_f64() * 1e6
    };
    println!(
        "  {name:40} p10 {:6.1}  p50 {:6.1}  p99 {:7.1} µs  p10 {:4.1} of bare",
        at(times, 0.1),
        at(times, 0.5),
        at(times, 0.99),
        at(times, 0.1) / at(bare, 0.1),
    );
}
