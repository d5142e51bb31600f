//! Renders function definitions for every target, and each way of choosing among them as
//! `TARGET.choices.json`: `render DEFINITIONS.json OUTPUT_FOLDER`.
//!
//! `scripts/wire-check` gives what it writes to the providers' own SDKs.

use std::path::Path;

use haft_core::registry::Implementation;
use haft_core::{Contract, Digest, Tool};
use haft_wire::{Choice, Rendering, Target};
use serde_json::{Value, json};

type Failed = Box<dyn std::error::Error>;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(folder)) = (arguments.next(), arguments.next()) else {
        return Err("usage: render DEFINITIONS.json OUTPUT_FOLDER".into());
    };
    let import = haft_build::import::functions(&std::fs::read_to_string(file)?)
        .map_err(|why| format!("the definitions cannot be read: {why:?}"))?;
    let mut tools = Vec::with_capacity(import.tools.len());
    for imported in &import.tools {
        let text = imported.file("schema.json").ok_or("a tool without a contract")?;
        tools.push(tool(serde_json::from_str(text)?)?);
    }
    std::fs::create_dir_all(&folder)?;
    for target in Target::ALL {
        let rendering = target.render(&tools);
        let path = Path::new(&folder).join(format!("{}.json", target.name()));
        std::fs::write(path, rendering.tools.to_string())?;
        let path = Path::new(&folder).join(format!("{}.choices.json", target.name()));
        std::fs::write(path, json!(choices(&rendering, &tools)).to_string())?;
    }
    Ok(())
}

/// Everything that can be said about what to call.
fn choices(rendering: &Rendering, tools: &[Tool]) -> Vec<Value> {
    let ids: Vec<String> = tools.iter().map(|tool| tool.id.clone()).take(3).collect();
    let named = ids.first().cloned().map(Choice::Tool);
    [Choice::Auto, Choice::None, Choice::Required, Choice::Only(ids)]
        .iter()
        .chain(&named)
        .filter_map(|choice| Some(rendering.choice(choice)?.1))
        .collect()
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
