//! `reg_search`: the tools that fit a task.

use haft_core::{Parameter, Tool, ToolError};
use serde_json::{Value, json};

use super::{Document, Seen, is_ours};

pub(super) fn run(seen: &Seen<'_>, arguments: &Value) -> Result<Value, ToolError> {
    let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
    let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(5);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // Ours are shown anyhow.
    let of = |tool: &Tool| seen.catalog.get(&tool.id).filter(|tool| !is_ours(&tool.tool));
    let found = seen.shelf.search(query, limit, |tool| of(tool).is_some());
    let tools: Vec<Value> = found
        .into_iter()
        .filter_map(|tool| of(tool))
        .map(|tool| {
            let summary = match tool.tool.summary.trim() {
                "" => &tool.tool.contract.description,
                summary => summary,
            };
            let category = tool.tool.contract.category;
            json!({ "tool": tool.tool.id, "summary": summary, "category": category })
        })
        .collect();
    let known = seen.catalog.list().filter(|tool| !is_ours(&tool.tool)).count();
    Ok(json!({ "tools": tools, "known": known }))
}

/// A tool, as the index reads it.
pub(crate) fn document(tool: &Tool) -> Document {
    let mut parameters = Vec::new();
    collect(&tool.parameters, &mut parameters);
    Document {
        name: tool.id.clone(),
        description: tool.contract.description.clone(),
        summary: tool.summary.clone(),
        tags: tool.contract.tags.clone(),
        parameters,
    }
}

/// Parameters at every depth, with what they say and the values that they list.
fn collect(from: &[Parameter], into: &mut Vec<(String, String)>) {
    for parameter in from {
        let listed = parameter.allowed.iter().filter_map(Value::as_str);
        let said: Vec<&str> =
            std::iter::once(parameter.description.as_str()).chain(listed).collect();
        into.push((parameter.name.clone(), said.join(" ")));
        collect(&parameter.fields, into);
    }
}
