//! The system prompt of an agent: the toolset's own texts, what each tool is for, and the loop.
//!
//! Only summaries stand in it. Full documents come on demand, so that a prompt stays short however
//! many tools there are.

use haft_core::contract::{Category, Mode};
use haft_core::registry::{Implementation, Registry, Tool};

/// Composes the prompt for one mode, with every tool that is allowed there.
#[must_use]
pub fn compose(registry: &Registry, mode: Mode) -> String {
    let offered: Vec<&Tool> = registry.tools.iter().filter(|tool| is_offered(tool, mode)).collect();
    compose_for(registry, mode, &offered, &[])
}

/// Composes the prompt for one mode with these tools, and with remarks about them.
#[must_use]
pub fn compose_for(registry: &Registry, mode: Mode, tools: &[&Tool], remarks: &[String]) -> String {
    let mut parts = Vec::new();
    let text = |name: &str| registry.prompts.get(name).map(|text| body(text));
    parts.extend(text("core"));
    parts.extend(text(mode.as_str()));
    parts.push(listed(&registry.version, tools));
    parts.extend(remarks.iter().map(|remark| remark.trim().to_owned()));
    parts.push(agent_loop(mode).to_owned());
    parts.retain(|part| !part.is_empty());
    let mut prompt = parts.join("\n\n");
    prompt.push('\n');
    prompt
}

/// A prompt file's title is for its author; the model gets what is below it.
fn body(text: &str) -> String {
    let text = text.trim_start();
    let untitled = match text.strip_prefix("# ") {
        Some(rest) => rest.split_once('\n').map_or("", |(_, below)| below),
        None => text,
    };
    untitled.trim().to_owned()
}

fn listed(version: &str, tools: &[&Tool]) -> String {
    let mut text = format!("# Available Tools (v{version})");
    let mut offered = tools.to_vec();
    offered.sort_by_key(|tool| (rank(tool.contract.category), &tool.id));
    for tool in offered {
        let category = tool.contract.category.as_str();
        text.push_str(&format!("\n\n**{}** ({category}): {}", tool.id, tool.summary));
        if let Some(deprecated) = &tool.contract.deprecated {
            text.push_str(&format!(" Deprecated: {}", deprecated.reason));
        }
    }
    text
}

fn is_offered(tool: &Tool, mode: Mode) -> bool {
    tool.contract.allowed_modes.contains(&mode) && tool.handler != Implementation::Unbound
}

/// What finds things out is read first, because it is used first.
fn rank(category: Category) -> u8 {
    match category {
        Category::Retrieval => 0,
        Category::Action => 1,
        Category::Utility => 2,
    }
}

fn agent_loop(mode: Mode) -> &'static str {
    match mode {
        Mode::Text => include_str!("prompt/loop_text.md").trim_ascii_end(),
        Mode::Voice => include_str!("prompt/loop_voice.md").trim_ascii_end(),
    }
}
