//! What can only be seen with all tools in view.

use std::collections::{BTreeMap, HashMap};

use haft_core::contract::{Argument, SideEffects};
use haft_core::registry::Tool;
use serde_json::Value;

use super::paths::{self, Found};
use crate::code::{self, Code};
use crate::diagnostic::{At, File};
use crate::diagnostic::{Findings, Part, escape};
use haft_core::nearest;

/// Folder names whose ids are the same, or differ only in letter case.
pub(crate) fn names(folders: &[String]) -> Vec<(String, &'static Code, String)> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut clashes = Vec::new();
    for folder in folders {
        let id = haft_core::names::id_of_folder(folder);
        match seen.get(&id.to_lowercase()) {
            Some(first) if haft_core::names::id_of_folder(first) == id => clashes.push((
                folder.clone(),
                &code::SAME_ID,
                format!("the folders `{first}` and `{folder}` are both `{id}`"),
            )),
            Some(first) => clashes.push((
                folder.clone(),
                &code::LOOKALIKE_IDS,
                format!("`{first}` and `{folder}` are the same but for letter case"),
            )),
            None => {
                seen.insert(id.to_lowercase(), folder);
            }
        }
    }
    clashes
}

/// Whether a tool speaks of others, so that [`check`] has something to look at.
pub(crate) fn speaks_of_others(entry: &str) -> bool {
    ["\"compensation\":{", "\"probe\":{", "\"replacement\":\""]
        .iter()
        .any(|mark| entry.contains(mark))
}

/// Checks `compensation`, `probe` and `deprecated.replacement` of one tool.
pub(crate) fn check<'a>(
    tool: &Tool,
    find: &dyn Fn(&str) -> Option<&'a Tool>,
    known: &[&str],
) -> Findings {
    let mut out = Findings::default();
    let contract = &tool.contract;
    if let Some(compensation) = &contract.compensation
        && let Some(target) = named(&compensation.tool, "/compensation/tool", find, known, &mut out)
    {
        if target.contract.side_effects != SideEffects::Writes {
            let message =
                format!("`{}` does not write, so it cannot undo anything", compensation.tool);
            out.contract(&code::COMPENSATION, "/compensation/tool", message);
        }
        if target.contract.compensation.is_some() {
            let message = match compensation.tool == contract.tool_id {
                true => "a tool cannot undo itself".to_owned(),
                false => format!("`{}` has a compensation itself", compensation.tool),
            };
            out.contract(&code::COMPENSATION, "/compensation/tool", message)
                .help("what undoes is not undone; name a tool without one");
        }
        let mapping =
            Mapping { tool, target, at: "/compensation", code: &code::COMPENSATION, result: true };
        mapping.check(&compensation.arguments, &mut out);
    }
    if let Some(probe) = &contract.probe
        && let Some(target) = named(&probe.tool, "/probe/tool", find, known, &mut out)
    {
        if target.contract.side_effects == SideEffects::Writes {
            let message = format!("`{}` writes; a probe only looks", probe.tool);
            out.contract(&code::PROBE, "/probe/tool", message);
        }
        let mapping = Mapping { tool, target, at: "/probe", code: &code::PROBE, result: false };
        mapping.check(&probe.arguments, &mut out);
        happened(target, &probe.happened, &mut out);
    }
    if let Some(replacement) = contract.deprecated.as_ref().and_then(|d| d.replacement.as_ref()) {
        named(replacement, "/deprecated/replacement", find, known, &mut out);
    }
    out
}

fn named<'a>(
    name: &str,
    at: &'static str,
    find: &dyn Fn(&str) -> Option<&'a Tool>,
    known: &[&str],
    out: &mut Findings,
) -> Option<&'a Tool> {
    // A tool that is there but does not compile has findings of its own.
    if !known.contains(&name) {
        out.contract(&code::UNKNOWN_TOOL, at, format!("there is no tool `{name}` in this toolset"))
            .help(match nearest::find(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a tool of this toolset by its `toolId`".to_owned(),
            });
    }
    find(name)
}

struct Mapping<'a> {
    tool: &'a Tool,
    target: &'a Tool,
    at: &'static str,
    code: &'static Code,
    /// Whether there is a result to take arguments from.
    result: bool,
}

impl Mapping<'_> {
    fn check(&self, arguments: &BTreeMap<String, Argument>, out: &mut Findings) {
        let wanted = &self.target.contract.parameters;
        let names = wanted.get("required").and_then(Value::as_array);
        for name in names.into_iter().flatten().filter_map(Value::as_str) {
            if !arguments.contains_key(name) {
                let message = format!("`{}` needs `{name}`", self.target.contract.tool_id);
                out.contract(self.code, format!("{}/arguments", self.at), message).help(format!(
                    "say where it comes from: \"{name}\": {{\"from\": \"/result/…\"}}"
                ));
            }
        }
        for (name, argument) in arguments {
            let at = format!("{}/arguments/{}", self.at, escape(name));
            match paths::find(wanted, name) {
                Found::Schema(schema) => self.argument(schema, argument, at, out),
                Found::Open => {}
                Found::Nothing(known) => {
                    let message =
                        format!("`{}` has no parameter `{name}`", self.target.contract.tool_id);
                    let place = At::Pointer(File::Contract, at, Part::Key);
                    out.add(self.code, place, message).help(nearest::suggest(name, &known));
                }
            }
        }
    }

    fn argument(&self, wanted: &Value, argument: &Argument, at: String, out: &mut Findings) {
        match argument {
            Argument::Value { value } => {
                let alone = paths::standing(&self.target.contract.parameters, wanted);
                if let Ok(validator) = haft_core::validator::compile(&alone) {
                    for (_, why) in haft_core::validator::errors(&validator, value) {
                        out.contract(
                            self.code,
                            format!("{at}/value"),
                            format!("it would be refused: {why}"),
                        );
                    }
                }
            }
            Argument::From { from } => match self.source(from) {
                Err(why) => {
                    out.contract(self.code, format!("{at}/from"), why);
                }
                Ok(Found::Nothing(known)) => {
                    let last = from.rsplit('/').next().unwrap_or(from);
                    out.contract(
                        self.code,
                        format!("{at}/from"),
                        format!("`{from}` leads nowhere"),
                    )
                    .help(nearest::suggest(last, &known));
                }
                Ok(Found::Schema(given)) if !compatible(given, wanted) => {
                    let message =
                        format!("`{from}` is {}, but {} is wanted", types(given), types(wanted));
                    out.contract(self.code, format!("{at}/from"), message);
                }
                Ok(Found::Schema(_) | Found::Open) => {}
            },
        }
    }

    fn source(&self, from: &str) -> Result<Found<'_>, String> {
        let contract = &self.tool.contract;
        if let Some(pointer) = below(from, "/arguments") {
            return Ok(paths::find_pointer(&contract.parameters, pointer));
        }
        match (below(from, "/result"), &contract.output) {
            (Some(_), _) if !self.result => {
                Err("a probe is asked when there is no result; take it from `/arguments`".into())
            }
            (Some(pointer), Some(output)) => Ok(paths::find_pointer(output, pointer)),
            (Some(_), None) => Err("there is no `output` to take it from".into()),
            (None, _) => Err(format!("`{from}` does not start with `/arguments` or `/result`")),
        }
    }
}

/// The rest of a pointer below `root`; `/results` is not below `/result`.
fn below<'a>(pointer: &'a str, root: &str) -> Option<&'a str> {
    pointer.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn happened(target: &Tool, pointer: &str, out: &mut Findings) {
    let found = match (below(pointer, "/result"), &target.contract.output) {
        (Some(pointer), Some(output)) => paths::find_pointer(output, pointer),
        (Some(_), None) => Found::Open,
        (None, _) => Found::Nothing(Vec::new()),
    };
    let good = match found {
        Found::Schema(schema) => paths::is(schema, "boolean"),
        Found::Open => true,
        Found::Nothing(_) => false,
    };
    if !good {
        let message =
            format!("`{pointer}` is not a boolean of `{}`'s result", target.contract.tool_id);
        out.contract(&code::PROBE, "/probe/happened", message).help("write `/result/<field>`");
    }
}

fn types(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(name)) => format!("a value of type `{name}`"),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            format!("a value of type {}", nearest::list(&names))
        }
        _ => "any value".to_owned(),
    }
}

/// Whether a value of the one type could be one of the other.
fn compatible(given: &Value, wanted: &Value) -> bool {
    let named = ["string", "number", "integer", "boolean", "object", "array", "null"];
    if given.get("type").is_none() || wanted.get("type").is_none() {
        return true;
    }
    named.iter().any(|name| {
        paths::is(given, name)
            && (paths::is(wanted, name) || (*name == "integer" && paths::is(wanted, "number")))
    })
}
