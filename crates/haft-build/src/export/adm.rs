//! The ALTAR data model 1.0: six types, names, descriptions, lists of words, and no more.

mod lower;

use haft_adm::{DESCRIPTION_CHARACTERS, FunctionDeclaration, Tool as AdmTool};
use haft_core::{Registry, Tool};
use serde_json::json;

use super::{Loss, Lost};
use lower::Lower;

/// Every tool of the registry as a function of one ADM tool, and what was lost on the way. There
/// is no ADM tool when no function is left: the model has none without functions.
#[must_use]
pub fn adm(registry: &Registry) -> (Option<AdmTool>, Vec<Loss>) {
    let mut losses = Vec::new();
    let mut functions = Vec::with_capacity(registry.tools.len());
    for tool in &registry.tools {
        match declare(tool, &mut losses) {
            Ok(function) => functions.push(function),
            Err(note) => losses.push(Loss {
                tool: tool.id.clone(),
                pointer: "/parameters".to_owned(),
                keyword: "parameters".to_owned(),
                what: Lost::LeftOut,
                note,
            }),
        }
    }
    (AdmTool::new(functions).ok(), losses)
}

fn declare(tool: &Tool, losses: &mut Vec<Loss>) -> Result<FunctionDeclaration, String> {
    let contract = &tool.contract;
    let mut lower = Lower::new(&contract.parameters);
    let parameters = lower.root()?;
    if contract.output.is_some() {
        lower.lose("/output", "output", Lost::Dropped, "the model does not describe results");
    }
    let (line, cut) = description(tool);
    if cut {
        let note = "descriptions have at most 1,000 characters";
        lower.lose("/description", "description", Lost::Approximated, note);
    }
    let declaration = json!({"name": tool.id, "description": line, "parameters": parameters});
    let declaration =
        FunctionDeclaration::from_value(declaration).map_err(|errors| errors.to_string())?;
    losses.extend(lower.losses.into_iter().map(|loss| Loss { tool: tool.id.clone(), ..loss }));
    Ok(declaration)
}

/// The contract's description, or whatever says most of what the tool is.
fn description(tool: &Tool) -> (String, bool) {
    let texts = [tool.contract.description.as_str(), tool.summary.as_str(), tool.id.as_str()];
    let text = texts.into_iter().map(str::trim).find(|text| !text.is_empty()).unwrap_or("-");
    let line: String = text.chars().take(DESCRIPTION_CHARACTERS).collect();
    let cut = line.len() < text.len();
    (line, cut)
}
