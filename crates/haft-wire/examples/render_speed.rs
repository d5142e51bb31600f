//! How long it takes to render a catalog, for each target: the fastest of several runs over the first
//! 500 definitions.
//!
//! ```text
//! cargo run --release -p haft-wire --example render_speed -- DEFINITIONS.json [TOOLS]
//! ```
#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a measurement prints what it found"
)]

use std::time::{Duration, Instant};

use haft_core::registry::Implementation;
use haft_core::{Contract, Digest, Tool};
use haft_wire::Target;
use serde_json::{Value, json};

type Failed = Box<dyn std::error::Error>;

const RUNS: usize = 5;

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
    println!("{} tools", tools.len());
    for target in Target::ALL {
        let mut fastest = Duration::MAX;
        let mut shown = 0;
        for _ in 0..RUNS {
            let begin = Instant::now();
            let rendering = std::hint::black_box(target.render(&tools));
            fastest = fastest.min(begin.elapsed());
            shown = tools.len() - rendering.quarantined.len();
        }
        let each = fastest.as_secs_f64() * 1e6 / tools.len().max(1) as f64;
        let whole = fastest.as_secs_f64() * 1e3;
        println!(
            "{:<24} {each:>7.1} µs per tool {whole:>8.2} ms in all, {shown} shown",
            target.name()
        );
    }
    Ok(())
}

/// The imported contract with what a compiler fills in.
fn tool(mut contract: Value) -> Result<Tool, Failed> {
    let fields = contract.as_object_mut().ok_or("a contract is an object")?;
    fields.insert("effect".to_owned(), json!("state_change"));
    fields.insert("sideEffectPolicy".to_owned(), json!("irreversible"));
    fields.insert("arguments".to_owned(), json!({"mode": "strict", "fraction": "refuse"}));
    let contract: Contract = serde_json::from_value(contract)?;
    Ok(Tool {
        id: format!("imported__{}", contract.tool_id),
        digest: Digest::of_bytes(b""),
        parameters: Vec::new(),
        summary: String::new(),
        doc: String::new(),
        handler: Implementation::Unbound,
        contract,
    })
}
