//! How fast a warm call of a JavaScript handler is, next to the bare round trip to a child process
//! over the same kind of pipes, in one run; how much children do in a row and what a call costs; and how
//! soon after its deadline a handler is stopped:
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
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::contract::{Capability, Mode};
use haft_core::error::ToolError;
use haft_core::port::{Boxed, Ended, Execute as _, Host, Job, Scope, SessionView};
use haft_core::registry::{Implementation, Tool};
use haft_core::{Caller, Digest};
use haft_exec::Js;
use haft_exec::js::{Settings, serve_if_asked};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::{Value, json};
use tokio::net::unix::pipe;

// What the `haft` binary has: a child must get along with it, too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The first block is not counted.
const BLOCKS: usize = 11;
const ROUNDS: usize = 200;
const STOP: Duration = Duration::from_millis(100);
const STOPS: usize = 20;
const ECHO: &str = "echo";
const HOT: &str = "hot";
/// About as much as a call of `kb_search` carries.
const MESSAGE: usize = 512;

/// How many calls a caller makes in a row.
const LOAD: usize = 5_000;

const PLAIN: &str = "export const execute = ({ args }) => ({ ok: true, data: args });";
const ASKING: &str = "export async function execute({ args, context }) {
    const { results, total } = await context.kb.search({ query: args.query });
    return { ok: true, data: { results, total } };
}";

fn pool(children: usize) -> Arc<Js> {
    Arc::new(Js::new(Settings { warm: children, most: children, ..Settings::default() }))
}

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
    match std::env::args().nth(1).as_deref() {
        Some(ECHO) => return echo(|_| {}),
        Some(HOT) => return hot(),
        _ => {}
    }
    for (name, runtime) in [
        ("one thread", tokio::runtime::Builder::new_current_thread()),
        ("many threads", tokio::runtime::Builder::new_multi_thread()),
    ] {
        let mut runtime = runtime;
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async { tokio::spawn(measure(name)).await.unwrap() });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(loads()).await.unwrap() });
    runtime.block_on(async { tokio::spawn(stops()).await.unwrap() });
}

/// How much children can do, with as many callers as there are children, and what a call costs.
async fn loads() {
    println!("one caller a child, {LOAD} calls each");
    for (name, source) in [("a plain handler", PLAIN), ("one capability", ASKING)] {
        for children in [1, 2] {
            let js = pool(children);
            let tool = tool(source);
            js.isolation().await.unwrap();
            let (start, before) = (Instant::now(), processor(UsageWho::RUSAGE_SELF));
            let callers: Vec<_> = (0..children)
                .map(|_| {
                    let (js, tool) = (js.clone(), tool.clone());
                    tokio::spawn(async move {
                        for round in 0..LOAD {
                            call(&js, &tool, round).await;
                        }
                    })
                })
                .collect();
            for caller in callers {
                caller.await.unwrap();
            }
            let (took, calls) = (start.elapsed(), (children * LOAD) as f64);
            let parent = processor(UsageWho::RUSAGE_SELF) - before;
            println!(
                "  {name}, {children} of them {:>8.0} calls/s  cpu a call: parent {:5.1}  child {:6.1} µs",
                calls / took.as_secs_f64(),
                parent.as_secs_f64() * 1e6 / calls,
                ended(js).await.as_secs_f64() * 1e6 / calls,
            );
        }
    }
}

/// The processor time of the children that end with a pool.
async fn ended(js: Arc<Js>) -> Duration {
    let before = processor(UsageWho::RUSAGE_CHILDREN);
    drop(js);
    let mut last = Duration::ZERO;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = processor(UsageWho::RUSAGE_CHILDREN).saturating_sub(before);
        if now == last && now > Duration::ZERO {
            return now;
        }
        last = now;
    }
}

fn processor(who: UsageWho) -> Duration {
    let usage = getrusage(who).unwrap();
    let times = [usage.user_time(), usage.system_time()];
    times.iter().map(|time| Duration::from_micros(time.num_microseconds().unsigned_abs())).sum()
}

/// Handlers that never end: some the engine can stop, of some it must be rid with its process.
const ENDLESS: [(&str, &str); 4] = [
    ("a loop", "for (;;);"),
    ("a loop that catches everything", "for (;;) { try { null.x } catch {} finally { continue } }"),
    ("one native call", "Array.prototype.copyWithin.call({ length: 2 ** 30 }, 0, 1);"),
    (
        "native calls on long texts",
        "const a = 'a'.repeat(4e6); for (;;) a.indexOf('a'.repeat(2e6) + 'b');",
    ),
];

async fn stops() {
    println!("stopped after a deadline of {} ms", STOP.as_millis());
    let js = Js::new(Settings { warm: 1, most: 1, ..Settings::default() });
    for (name, text) in ENDLESS {
        let tool = tool(&format!("export function execute() {{ {text} }}"));
        let mut late = Vec::new();
        for round in 0..STOPS {
            js.isolation().await.unwrap();
            let start = Instant::now();
            let ended = js.execute(job(&tool, round, STOP)).await;
            late.push(start.elapsed().saturating_sub(STOP).as_secs_f64() * 1e3);
            assert!(matches!(ended, Ended::Lost(_)), "{ended:?}");
        }
        late.sort_by(f64::total_cmp);
        let (middle, last) = (late.get(STOPS / 2).unwrap(), late.last().unwrap());
        println!("  {name:40} p50 {middle:5.1}  most {last:5.1} ms late");
    }
}

/// The bare child: gives every message back.
fn echo(mut with: impl FnMut(&mut [u8; MESSAGE])) {
    let mut buffer = [0; MESSAGE];
    let (mut from, mut to) = (std::io::stdin().lock(), std::io::stdout().lock());
    while from.read_exact(&mut buffer).is_ok() {
        with(&mut buffer);
        to.write_all(&buffer).unwrap();
        to.flush().unwrap();
    }
}

/// The same with an engine that stays, and is not confined: the least that the plain handler can take.
fn hot() {
    let runtime = rquickjs::Runtime::new().unwrap();
    let context = rquickjs::Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let text = "const execute = ({ args }) => ({ ok: true, data: args });
            (text) => JSON.stringify(execute({ args: JSON.parse(text) }))";
        let run: rquickjs::Function = ctx.eval(text).unwrap();
        let arguments = arguments().to_string();
        echo(|buffer| {
            let answer: String = run.call((arguments.as_str(),)).unwrap();
            for (to, from) in buffer.iter_mut().zip(answer.bytes()) {
                *to = from;
            }
        });
    });
}

async fn measure(name: &str) {
    println!("runtime with {name}");
    let (plain, asking) = (tool(PLAIN), tool(ASKING));
    let (one, two) = (pool(1), pool(2));
    let (rested, hurried) = (Pace::Rested, Pace::AtOnce);
    let (mut bare, mut hot) = (Echo::start(ECHO), Echo::start(HOT));
    let mut series = [
        Series::new("bare round trip, rested", rested, None),
        Series::new("bare round trip, back to back", hurried, None),
        Series { is_hot: true, ..Series::new("one engine for all calls, rested", rested, None) },
        Series { is_hot: true, ..Series::new("one engine for all calls, b.t.b.", hurried, None) },
        Series::new("call, rested", rested, Some((&one, &plain))),
        Series::new("call and one capability, rested", rested, Some((&one, &asking))),
        Series::new("call, back to back, 1 child", hurried, Some((&one, &plain))),
        Series::new("call, back to back, 2 children", hurried, Some((&two, &plain))),
        Series::new("call and one capability, b.t.b., 2 ch.", hurried, Some((&two, &asking))),
    ];
    // Interleaved: whatever else the machine does hits all of them alike.
    for block in 0..BLOCKS {
        for series in &mut series {
            let echo = if series.is_hot { &mut hot } else { &mut bare };
            series.run(echo, block > 0).await;
        }
    }
    bare.end();
    hot.end();
    for row in &series {
        let bare = series.iter().find(|bare| bare.is_bare_of(row.pace));
        row.show(bare.unwrap_or(row));
    }
}

/// When the next call comes.
#[derive(Clone, Copy, PartialEq)]
enum Pace {
    /// After a while in which the child has put its engine back.
    Rested,
    /// At once: the child puts its engine back meanwhile.
    AtOnce,
}

const REST: Duration = Duration::from_millis(2);

struct Series<'a> {
    name: &'static str,
    pace: Pace,
    calls: Option<(&'a Js, &'a Arc<Tool>)>,
    /// Whether the child that is not ours has an engine.
    is_hot: bool,
    times: Vec<Duration>,
}

impl<'a> Series<'a> {
    fn new(name: &'static str, pace: Pace, calls: Option<(&'a Arc<Js>, &'a Arc<Tool>)>) -> Self {
        let calls = calls.map(|(js, tool)| (js.as_ref(), tool));
        Self { name, pace, calls, is_hot: false, times: Vec::new() }
    }

    fn is_bare_of(&self, pace: Pace) -> bool {
        self.calls.is_none() && !self.is_hot && self.pace == pace
    }

    async fn run(&mut self, echo: &mut Echo, counts: bool) {
        for round in 0..ROUNDS {
            if self.pace == Pace::Rested {
                tokio::time::sleep(REST).await;
            }
            let took = match self.calls {
                None => echo.round().await,
                Some((js, tool)) => call(js, tool, round).await,
            };
            if counts {
                self.times.push(took);
            }
        }
    }

    fn at(&self, part: f64) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort();
        let index = (sorted.len() as f64 * part) as usize;
        sorted.get(index).copied().unwrap_or_default().as_secs_f64() * 1e6
    }

    fn show(&self, bare: &Self) {
        println!(
            "  {:40} p10 {:6.1}  p50 {:6.1}  p99 {:7.1} µs  of bare: p10 {:5.2}  p50 {:5.2}",
            self.name,
            self.at(0.1),
            self.at(0.5),
            self.at(0.99),
            self.at(0.1) / bare.at(0.1),
            self.at(0.5) / bare.at(0.5),
        );
    }
}

/// The bare child and its pipes.
struct Echo {
    child: Child,
    to: pipe::Sender,
    from: pipe::Receiver,
}

impl Echo {
    fn start(kind: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(kind)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let to = OwnedFd::from(child.stdin.take().unwrap());
        let from = OwnedFd::from(child.stdout.take().unwrap());
        let to = pipe::Sender::from_owned_fd(to).unwrap();
        Self { child, to, from: pipe::Receiver::from_owned_fd(from).unwrap() }
    }

    async fn round(&mut self) -> Duration {
        let mut buffer = [0; MESSAGE];
        let start = Instant::now();
        self.to.writable().await.unwrap();
        assert_eq!(self.to.try_write(&buffer).unwrap(), MESSAGE);
        let mut read = 0;
        while read < MESSAGE {
            self.from.readable().await.unwrap();
            read += self.from.try_read(&mut buffer).unwrap_or(0);
        }
        start.elapsed()
    }

    fn end(mut self) {
        drop(self.to);
        self.child.wait().unwrap();
    }
}

fn arguments() -> Value {
    json!({"query": "lighting lead", "filters": {"type": "person"}, "top_k": 3})
}

fn job(tool: &Arc<Tool>, round: usize, limit: Duration) -> Job {
    let scope = Arc::new(Scope {
        call: format!("call_{round}").into(),
        caller: Caller::agent("studio", "assistant"),
        mode: Mode::Text,
        session: SessionView::default(),
        connection: None,
        only: None,
        through: Vec::new(),
    });
    Job::new(tool.clone(), arguments(), scope, Arc::new(Answers), limit, None)
}

async fn call(js: &Js, tool: &Arc<Tool>, round: usize) -> Duration {
    let job = job(tool, round, Duration::from_secs(5));
    let start = Instant::now();
    let ended = js.execute(job).await;
    let took = start.elapsed();
    assert!(matches!(ended, Ended::Returned { .. }), "{ended:?}");
    took
}

fn tool(source: &str) -> Arc<Tool> {
    let contract = json!({
        "toolId": "probe", "version": "1.0.0", "description": "a tool to measure with",
        "category": "retrieval", "sideEffects": "read_only", "effect": "read_only",
        "sideEffectPolicy": "pure", "idempotent": true, "requiresConfirmation": false,
        "allowedModes": ["text"], "latencyBudgetMs": 1000, "parameters": { "type": "object" },
        "redaction": { "allow": [] }, "arguments": { "mode": "strict", "fraction": "refuse" },
        "capabilities": ["kb"], "limits": {},
    });
    Arc::new(Tool {
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
    })
}
