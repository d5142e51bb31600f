//! How long it takes to render a catalog, anew and from what was kept, for each target; `bench/run
//! render` runs it beside the converters of the official SDKs:
//!
//! ```text
//! cargo run --release -p haft-wire --example render_speed -- DEFINITIONS.json [TOOLS]
//! ```
#![expect(clippy::print_stdout, reason = "a measurement prints what it found")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use haft_core::registry::{Entry, Implementation};
use haft_core::{Contract, Digest, Tool};
use haft_wire::{Renderings, Target};
use serde_json::{Value, json};

type Failed = Box<dyn std::error::Error>;

const RUNS: u32 = 5;
/// Some systems count a thread's time in steps of milliseconds.
const RENDERS: u32 = 20;
const LOOKS: u32 = 2_000;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        return Err("usage: render_speed DEFINITIONS.json [TOOLS]".into());
    };
    let wanted = arguments.next().map_or(Ok(500), |number| number.parse())?;
    let import = haft_build::import::functions(&std::fs::read_to_string(file)?)
        .map_err(|why| format!("the definitions cannot be read: {why:?}"))?;
    let mut tools = Vec::with_capacity(wanted);
    for imported in import.tools.iter().take(wanted) {
        let text = imported.file("schema.json").ok_or("a tool without a contract")?;
        tools.push(tool(serde_json::from_str(text)?)?);
    }
    let tools: Vec<&Tool> = tools.iter().collect();
    for target in Target::ALL {
        let mut shown = 0;
        let anew = fastest(RUNS, || {
            for _ in 0..RENDERS {
                let rendering = target.render(tools.iter().copied());
                shown = tools.len() - rendering.quarantined.len();
                let _ = black_box(serde_json::to_string(&rendering.tools));
            }
        });
        say(target, "haft, rendered anew", anew / RENDERS, tools.len(), shown);
        let kept = Renderings::default();
        black_box(kept.get(target, &tools));
        let again = fastest(RUNS, || {
            for _ in 0..LOOKS {
                black_box(kept.get(target, &tools));
            }
        });
        say(target, "haft, kept", again / LOOKS, tools.len(), shown);
    }
    Ok(())
}

fn say(target: Target, name: &str, took: Duration, tools: usize, shown: usize) {
    let ms = took.as_secs_f64() * 1e3;
    let target = target.name();
    let line = json!({"target": target, "name": name, "ms": ms, "tools": tools, "shown": shown});
    println!("{line}");
}

fn fastest(runs: u32, mut run: impl FnMut()) -> Duration {
    let one = |_| {
        let (begun, worked) = (Instant::now(), processor());
        run();
        processor().zip(worked).map_or_else(|| begun.elapsed(), |(after, before)| after - before)
    };
    (0..runs).map(one).min().unwrap_or_default()
}

/// The time that this thread, which is the only one, had on a processor; Linux says it.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

/// The imported contract with what a compiler fills in.
fn tool(mut contract: Value) -> Result<Tool, Failed> {
    let fields = contract.as_object_mut().ok_or("a contract is an object")?;
    fields.insert("effect".to_owned(), json!("state_change"));
    fields.insert("sideEffectPolicy".to_owned(), json!("irreversible"));
    fields.insert("arguments".to_owned(), json!({"mode": "strict", "fraction": "refuse"}));
    let contract: Contract = serde_json::from_value(contract)?;
    let mut tool = Tool {
        id: format!("imported__{}", contract.tool_id),
        digest: Digest::of_bytes(b""),
        parameters: Vec::new(),
        summary: String::new(),
        doc: String::new(),
        handler: Implementation::Unbound,
        contract,
    };
    tool.digest = Entry::seal(&tool).digest;
    Ok(tool)
}
