//! `haft show`

use anyhow::anyhow;
use haft_core::contract::{Confirmation, Mode};
use haft_core::parameters::Parameter;
use haft_core::registry::{Registry, Tool};
use serde_json::json;

use crate::bundled;
use crate::cli::Show;
use crate::output::{Exit, Output, table};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Show, out: &mut Output) -> anyhow::Result<Exit> {
    let at = &bundled::or_here(at, options.registry.as_deref(), out)?;
    let registry = at.registry(options.registry.as_deref(), out)?;
    match (&options.tool, options.json) {
        (Some(name), json) => {
            let tool = find(&registry, name)?;
            if json { out.json(tool)? } else { out.result(&in_full(tool)) }
        }
        (None, true) => out.json(&json!({
            "version": registry.version,
            "digest": registry.digest,
            "namespace": registry.namespace,
            "build": registry.build,
            "tools": registry.tools,
        }))?,
        (None, false) => {
            out.result(&overview(&registry));
            out.line(&format!("\nversion {}, {} tools", registry.version, registry.tools.len()));
        }
    }
    Ok(Exit::Done)
}

/// A tool by its name, or what could have been meant.
pub(crate) fn find<'a>(registry: &'a Registry, name: &str) -> anyhow::Result<&'a Tool> {
    registry.find(name).ok_or_else(|| {
        let ids = registry.tools.iter().map(|tool| tool.contract.tool_id.as_str());
        match haft_core::nearest::find(name, ids) {
            Some(near) => anyhow!("there is no tool `{name}`; did you mean `{near}`?"),
            None => anyhow!("there is no tool `{name}`; `haft show` lists them"),
        }
    })
}

/// The tools as a table.
pub(crate) fn overview(registry: &Registry) -> String {
    let rows: Vec<Vec<String>> = registry.tools.iter().map(row).collect();
    table(
        &["TOOL", "VERSION", "CATEGORY", "EFFECT", "CLASS", "MODES", "BUDGET", "CONFIRM", "RUN BY"],
        &rows,
    )
}

fn row(tool: &Tool) -> Vec<String> {
    let contract = &tool.contract;
    vec![
        tool.id.clone(),
        contract.version.to_string(),
        contract.category.as_str().to_owned(),
        contract.effect.as_str().to_owned(),
        contract.side_effect_policy.as_str().to_owned(),
        modes(&contract.allowed_modes),
        format!("{} ms", contract.latency_budget_ms),
        confirmation(&contract.requires_confirmation).to_owned(),
        tool.handler.as_str().to_owned(),
    ]
}

fn modes(modes: &[Mode]) -> String {
    modes.iter().map(|mode| mode.as_str()).collect::<Vec<_>>().join(", ")
}

fn confirmation(confirmation: &Confirmation) -> &'static str {
    match confirmation {
        Confirmation::Always(true) => "yes",
        Confirmation::Always(false) => "no",
        Confirmation::When { .. } => "sometimes",
    }
}

fn in_full(tool: &Tool) -> String {
    let contract = &tool.contract;
    let mut facts = vec![
        ("tool", tool.id.clone()),
        ("version", contract.version.to_string()),
        ("digest", tool.digest.to_string()),
        ("description", contract.description.clone()),
        ("category", contract.category.as_str().to_owned()),
        ("side effects", contract.side_effects.as_str().to_owned()),
        ("effect", contract.effect.as_str().to_owned()),
        ("class", contract.side_effect_policy.as_str().to_owned()),
        ("idempotent", yes(contract.idempotent).to_owned()),
        (
            "confirmation",
            match &contract.requires_confirmation {
                Confirmation::When { when } => format!("when {when}"),
                other => confirmation(other).to_owned(),
            },
        ),
        ("modes", modes(&contract.allowed_modes)),
        ("latency budget", format!("{} ms", contract.latency_budget_ms)),
        ("run by", tool.handler.as_str().to_owned()),
    ];
    let capabilities: Vec<&str> = contract.capabilities.iter().map(|c| c.as_str()).collect();
    for (name, value) in [
        ("capabilities", capabilities.join(", ")),
        ("connection", contract.connection.as_ref().map_or(String::new(), |c| c.provider.clone())),
        ("undone by", contract.compensation.as_ref().map_or(String::new(), |c| c.tool.clone())),
        ("probed by", contract.probe.as_ref().map_or(String::new(), |p| p.tool.clone())),
        (
            "available when",
            contract.availability.as_ref().map_or(String::new(), |a| a.condition.clone()),
        ),
        ("deprecated", contract.deprecated.as_ref().map_or(String::new(), |d| d.reason.clone())),
        ("tags", contract.tags.join(", ")),
        ("summary", tool.summary.clone()),
    ] {
        if !value.is_empty() {
            facts.push((name, value));
        }
    }
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text: String =
        facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect();
    text.push('\n');
    let mut rows = Vec::new();
    parameters(&tool.parameters, 0, &mut rows);
    match rows.is_empty() {
        true => text.push_str("no parameters\n"),
        false => text.push_str(&table(
            &["PARAMETER", "KIND", "CARDINALITY", "REQUIRED", "DEFAULT", "EXAMPLE", "DESCRIPTION"],
            &rows,
        )),
    }
    text
}

fn parameters(list: &[Parameter], depth: usize, rows: &mut Vec<Vec<String>>) {
    for parameter in list {
        let kind = match parameter.allowed.as_slice() {
            [] => parameter.kind.as_str().to_owned(),
            values => {
                let values: Vec<String> = values.iter().map(plain).collect();
                format!("{} ({})", parameter.kind.as_str(), values.join(" | "))
            }
        };
        rows.push(vec![
            format!("{}{}", "  ".repeat(depth), parameter.name),
            kind,
            parameter.cardinality.as_str().to_owned(),
            yes(parameter.required).to_owned(),
            parameter.default.as_ref().map(plain).unwrap_or_default(),
            parameter.example.as_ref().map(plain).unwrap_or_default(),
            parameter.description.clone(),
        ]);
        parameters(&parameter.fields, depth + 1, rows);
    }
}

fn plain(value: &serde_json::Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(40) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

fn yes(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
