//! One tool in a dialect's own shape.

use haft_core::Tool;
use serde_json::{Map, Value};

pub(super) use super::lower::{self, Lowered, object_of, word};
use super::plan::Plans;
use super::profile::Profile;
use super::target::{Schemas, Target};
use super::{adm, anthropic, gemini, limits, mcp, openai, spell};
use crate::Dialect;
use crate::loss::{Fate, Loss, Quarantined};

/// What the shapes are filled with.
pub(super) struct Shown<'t> {
    pub(super) tool: &'t Tool,
    pub(super) name: &'t str,
    pub(super) description: String,
    pub(super) parameters: Map<String, Value>,
    pub(super) output: Option<Value>,
}

/// A tool in its shape, and the way back.
pub(super) struct Written {
    pub(super) tool: Value,
    pub(super) plans: Plans,
    /// Whether arguments have to be changed back.
    pub(super) changed: bool,
    /// The parameters in the words of JSON Schema, where the tool has them in other letters.
    pub(super) schema: Option<Value>,
}

/// The tool in its shape and the way back, or why it is left out.
pub(super) fn show(
    target: Target,
    tool: &Tool,
    name: &str,
    report: &mut Vec<Loss>,
) -> Result<Written, Quarantined> {
    let profile = Profile::of(target);
    let lowered = lower::lower(profile, &tool.contract.parameters, "/parameters");
    let Lowered { schema, plans, mut losses } = lowered.map_err(|stop| Quarantined {
        tool: tool.id.clone(),
        pointer: stop.pointer,
        reason: stop.reason,
    })?;
    if is_gemini(target) && schema.contains_key("description") && !gemini::has_members(&schema) {
        let note = "a function without parameters has no place for it";
        losses.push(loss("/parameters/description", "description", Fate::Dropped, note));
    }
    if name != tool.id {
        let note = format!("said as `{name}`");
        losses.push(loss("", "toolId", Fate::Changed, &note));
    }
    let changed = !plans.change_nothing();
    let (parameters, own) = match letters(target) {
        Letters::Plain => (schema, None),
        Letters::Gemini => (spell::gemini(&schema), changed.then_some(Value::Object(schema))),
        Letters::Adm => (spell::adm(&schema), changed.then_some(Value::Object(schema))),
    };
    let shown = Shown {
        tool,
        name,
        description: description(tool, profile, &mut losses),
        parameters,
        output: output(target, tool, profile, &mut losses),
    };
    let mut written = shape(target, shown)?;
    losses.extend(limits::alone(target, &mut written));
    report.extend(losses.into_iter().map(|loss| Loss { tool: tool.id.clone(), ..loss }));
    Ok(Written { tool: written, plans, changed, schema: own })
}

fn shape(target: Target, shown: Shown<'_>) -> Result<Value, Quarantined> {
    Ok(match target.dialect {
        Dialect::OpenAiChat => openai::chat(shown, target.strictness),
        Dialect::OpenAiResponses => openai::responses(shown, target.strictness),
        Dialect::OpenAiRealtime => openai::realtime(shown),
        Dialect::Anthropic => anthropic::tool(shown, target.strictness),
        Dialect::Gemini | Dialect::GeminiLive => gemini::declaration(shown, target.schemas),
        Dialect::Mcp => mcp::tool(shown),
        Dialect::Adm => adm::declaration(shown)?,
    })
}

fn is_gemini(target: Target) -> bool {
    matches!(target.dialect, Dialect::Gemini | Dialect::GeminiLive)
}

/// How a dialect spells a schema.
enum Letters {
    /// As JSON Schema does.
    Plain,
    Gemini,
    Adm,
}

fn letters(target: Target) -> Letters {
    match (target.dialect, target.schemas) {
        (Dialect::Gemini | Dialect::GeminiLive, Schemas::Own) => Letters::Gemini,
        (Dialect::Adm, _) => Letters::Adm,
        (
            Dialect::Gemini
            | Dialect::GeminiLive
            | Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::OpenAiRealtime
            | Dialect::Anthropic
            | Dialect::Mcp,
            _,
        ) => Letters::Plain,
    }
}

/// The contract's description, or whatever says most of what the tool is.
fn description(tool: &Tool, profile: &Profile, losses: &mut Vec<Loss>) -> String {
    let texts = [tool.contract.description.as_str(), tool.summary.as_str(), tool.id.as_str()];
    let text = texts.into_iter().map(str::trim).find(|text| !text.is_empty()).unwrap_or("-");
    let text = match &tool.contract.deprecated {
        Some(deprecated) => format!("{text} (deprecated: {})", deprecated.reason.trim()),
        None => text.to_owned(),
    };
    // No text has more characters than bytes.
    let Some(most) = profile.description.filter(|most| text.len() > *most) else { return text };
    let line: String = text.chars().take(most).collect();
    if line.len() < text.len() {
        let note = format!("descriptions have at most {most} characters");
        losses.push(loss("/description", "description", Fate::Approximated, &note));
    }
    line
}

/// What the tool returns, where the dialect has a place for it.
fn output(
    target: Target,
    tool: &Tool,
    profile: &'static Profile,
    losses: &mut Vec<Loss>,
) -> Option<Value> {
    let output = tool.contract.output.as_ref()?;
    match target.dialect {
        Dialect::OpenAiResponses => Some(output.clone()),
        Dialect::Mcp if output.get("type").is_some_and(|name| name == "object") => {
            Some(output.clone())
        }
        Dialect::Mcp => {
            losses.push(loss("/output", "output", Fate::Dropped, "only objects can be described"));
            None
        }
        Dialect::Gemini | Dialect::GeminiLive => {
            let lowered = lower::lower(profile, output, "/output");
            // Results are sent as they are, so nothing that would have to be undone may be said.
            match lowered.ok().filter(|lowered| lowered.plans.change_nothing()) {
                Some(lowered) => {
                    losses.extend(lowered.losses);
                    Some(Value::Object(match letters(target) {
                        Letters::Plain => lowered.schema,
                        Letters::Gemini => spell::gemini(&lowered.schema),
                        Letters::Adm => spell::adm(&lowered.schema),
                    }))
                }
                None => {
                    let note = "results are sent as they are, and this schema would be another";
                    losses.push(loss("/output", "output", Fate::Dropped, note));
                    None
                }
            }
        }
        Dialect::OpenAiChat | Dialect::OpenAiRealtime | Dialect::Anthropic | Dialect::Adm => {
            losses.push(loss("/output", "output", Fate::Dropped, "results are not described"));
            None
        }
    }
}

fn loss(pointer: &str, keyword: &str, fate: Fate, note: &str) -> Loss {
    Loss {
        tool: String::new(),
        pointer: pointer.to_owned(),
        keyword: keyword.to_owned(),
        fate,
        note: note.to_owned(),
    }
}
