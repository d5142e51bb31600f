//! What can only be seen with all tools in view.

use std::collections::HashMap;

use serde_json::Value;

use super::paths::{self, Found};
use crate::code::{self, Code};
use crate::diagnostic::{Findings, escape};
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

/// Whether a text of a contract speaks of others, so that [`check`] has something to look at.
pub(crate) fn speaks_of_others(text: &str) -> bool {
    ["\"compensation\"", "\"probe\"", "\"replacement\""].iter().any(|mark| text.contains(mark))
}

/// Checks `compensation`, `probe` and `deprecated.replacement` of one contract. It may have errors
/// of other kinds: what is not there, or not what it should be, is passed over here.
pub(crate) fn check<'a>(
    contract: &Value,
    find: &dyn Fn(&str) -> Option<&'a Value>,
    known: &[&str],
) -> Findings {
    let mut out = Findings::default();
    let name = |pointer: &str| contract.pointer(pointer).and_then(Value::as_str);
    if let Some(tool) = name("/compensation/tool")
        && let Some(target) = named(tool, "/compensation/tool", find, known, &mut out)
    {
        undoes(contract, tool, target, &mut out);
        let (at, code) = ("/compensation", &code::COMPENSATION);
        Mapping { contract, tool, target, at, code, result: true }.check(&mut out);
    }
    if let Some(tool) = name("/probe/tool")
        && let Some(target) = named(tool, "/probe/tool", find, known, &mut out)
    {
        if writes(target) {
            let message = format!("`{tool}` writes; a probe only looks");
            out.contract(&code::PROBE, "/probe/tool", message);
        }
        let (at, code) = ("/probe", &code::PROBE);
        Mapping { contract, tool, target, at, code, result: false }.check(&mut out);
        if let Some(pointer) = name("/probe/happened") {
            happened(tool, target, pointer, &mut out);
        }
        if let Some(pointer) = name("/probe/result") {
            answer(contract, tool, target, pointer, &mut out);
        }
    }
    if let Some(replacement) = name("/deprecated/replacement") {
        named(replacement, "/deprecated/replacement", find, known, &mut out);
    }
    out
}

fn writes(contract: &Value) -> bool {
    contract.get("sideEffects").is_some_and(|effects| effects == "writes")
}

fn undoes(contract: &Value, tool: &str, target: &Value, out: &mut Findings) {
    if !writes(target) {
        let message = format!("`{tool}` does not write, so it cannot undo anything");
        out.contract(&code::COMPENSATION, "/compensation/tool", message);
    }
    if target.get("compensation").is_some() {
        let message = match contract.get("toolId").is_some_and(|own| own == tool) {
            true => "a tool cannot undo itself".to_owned(),
            false => format!("`{tool}` has a compensation itself"),
        };
        out.contract(&code::COMPENSATION, "/compensation/tool", message)
            .help("what undoes is not undone; name a tool without one");
    }
}

fn named<'a>(
    name: &str,
    at: &'static str,
    find: &dyn Fn(&str) -> Option<&'a Value>,
    known: &[&str],
    out: &mut Findings,
) -> Option<&'a Value> {
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
    contract: &'a Value,
    /// The id of the target.
    tool: &'a str,
    target: &'a Value,
    at: &'static str,
    code: &'static Code,
    /// Whether there is a result to take arguments from.
    result: bool,
}

impl Mapping<'_> {
    fn check(&self, out: &mut Findings) {
        // Without parameters to hold the mapping against, the target has findings of its own.
        let Some(wanted) = self.target.get("parameters").filter(|schema| schema.is_object()) else {
            return;
        };
        let required: Vec<&str> = wanted
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let arguments = self.contract.pointer(&format!("{}/arguments", self.at));
        let arguments = arguments.and_then(Value::as_object);
        for name in &required {
            if arguments.is_none_or(|arguments| !arguments.contains_key(*name)) {
                let message = format!("`{}` needs `{name}`", self.tool);
                out.contract(self.code, format!("{}/arguments", self.at), message).help(format!(
                    "say where it comes from: \"{name}\": {{\"from\": \"/result/…\"}}"
                ));
            }
        }
        for (name, argument) in arguments.into_iter().flatten() {
            let at = format!("{}/arguments/{}", self.at, escape(name));
            match paths::find(wanted, name) {
                Found::Schema(schema) => {
                    let required = required.contains(&name.as_str());
                    self.argument(schema, argument, required.then_some(name), &at, out);
                }
                Found::Open => {}
                Found::Nothing(known) => {
                    let message = format!("`{}` has no parameter `{name}`", self.tool);
                    out.contract_key(self.code, at, message).help(nearest::suggest(name, &known));
                }
            }
        }
    }

    /// `required` is the name of an argument that has to be there.
    fn argument(
        &self,
        wanted: &Value,
        argument: &Value,
        required: Option<&String>,
        at: &str,
        out: &mut Findings,
    ) {
        if let Some(value) = argument.get("value") {
            self.value(wanted, value, at, out);
        }
        let Some(from) = argument.get("from").and_then(Value::as_str) else { return };
        match self.source(from) {
            Err(why) => {
                out.contract(self.code, format!("{at}/from"), why);
            }
            Ok(Found::Nothing(known)) => {
                let last = from.rsplit('/').next().unwrap_or(from);
                out.contract(self.code, format!("{at}/from"), format!("`{from}` leads nowhere"))
                    .help(nearest::suggest(last, &known));
            }
            Ok(Found::Schema(given)) if !compatible(given, wanted) => {
                let message =
                    format!("`{from}` is {}, but {} is wanted", types(given), types(wanted));
                out.contract(self.code, format!("{at}/from"), message);
            }
            Ok(Found::Schema(_)) => self.presence(from, required, at, out),
            Ok(Found::Open) => {}
        }
    }

    fn value(&self, wanted: &Value, value: &Value, at: &str, out: &mut Findings) {
        let whole = self.target.get("parameters").unwrap_or(wanted);
        let alone = paths::standing(whole, wanted);
        if let Ok(validator) = haft_core::validator::compile(&alone) {
            for (_, why) in haft_core::validator::errors(&validator, value) {
                let message = format!("it would be refused: {why}");
                out.contract(self.code, format!("{at}/value"), message);
            }
        }
    }

    /// What is only sometimes there cannot be what is always needed.
    fn presence(&self, from: &str, required: Option<&String>, at: &str, out: &mut Findings) {
        let Some(name) = required else { return };
        let (pointer, schema, filled) = match (below(from, "/arguments"), below(from, "/result")) {
            // Defaults are filled in before a call, and never into a result.
            (Some(pointer), _) => (pointer, self.contract.get("parameters"), true),
            (None, Some(pointer)) => (pointer, self.contract.get("output"), false),
            (None, None) => return,
        };
        if schema.is_some_and(|schema| paths::may_be_missing(schema, pointer, filled)) {
            let message =
                format!("`{from}` may be missing, and `{}` always needs `{name}`", self.tool);
            out.contract(self.code, format!("{at}/from"), message).help(match filled {
                true => {
                    "make it required, give it a default, or take something that is always there"
                }
                false => "make it required, or take something that is always there",
            });
        }
    }

    fn source(&self, from: &str) -> Result<Found<'_>, String> {
        let schema = |name: &str| self.contract.get(name);
        if let (Some(pointer), Some(own)) = (below(from, "/arguments"), schema("parameters")) {
            return Ok(paths::find_pointer(own, pointer));
        }
        match (below(from, "/result"), schema("output")) {
            (Some(_), _) if !self.result => {
                Err("a probe is asked when there is no result; take it from `/arguments`".into())
            }
            (Some(pointer), Some(output)) => Ok(paths::find_pointer(output, pointer)),
            (Some(_), None) => Err("there is no `output` to take it from".into()),
            (None, _) if below(from, "/arguments").is_some() => Ok(Found::Open),
            (None, _) => Err(format!("`{from}` does not start with `/arguments` or `/result`")),
        }
    }
}

/// The rest of a pointer below `root`; `/results` is not below `/result`.
fn below<'a>(pointer: &'a str, root: &str) -> Option<&'a str> {
    pointer.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a pointer leads to in the result of a probe.
fn of_result<'a>(target: &'a Value, pointer: &str) -> Found<'a> {
    match (below(pointer, "/result"), target.get("output")) {
        (Some(pointer), Some(output)) => paths::find_pointer(output, pointer),
        (Some(_), None) => Found::Open,
        (None, _) => Found::Nothing(Vec::new()),
    }
}

/// What is taken for the answer of this tool could be one.
fn answer(contract: &Value, tool: &str, target: &Value, pointer: &str, out: &mut Findings) {
    let message = match (of_result(target, pointer), contract.get("output")) {
        (Found::Nothing(_), _) => format!("`{pointer}` is nothing in `{tool}`'s result"),
        (Found::Schema(given), Some(own)) if !compatible(given, own) => {
            format!("`{pointer}` is {}, but this tool answers {}", types(given), types(own))
        }
        (Found::Schema(_), Some(own)) => match lacking(target, pointer, own) {
            Some(name) => {
                format!("`{pointer}` has no `{name}`, which this tool's `output` requires")
            }
            None => return,
        },
        (Found::Schema(_), None) | (Found::Open, _) => return,
    };
    out.contract(&code::PROBE, "/probe/result", message)
        .help("point at what this tool would have answered, or leave `result` out");
}

/// A member that answers always have, and what the pointer leads to never has.
fn lacking<'a>(target: &Value, pointer: &str, own: &'a Value) -> Option<&'a str> {
    let required = own.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    required.find(|name| {
        let member = format!("{pointer}/{}", escape(name));
        matches!(of_result(target, &member), Found::Nothing(_))
    })
}

fn happened(tool: &str, target: &Value, pointer: &str, out: &mut Findings) {
    let good = match of_result(target, pointer) {
        Found::Schema(schema) => paths::is(schema, "boolean"),
        Found::Open => true,
        Found::Nothing(_) => false,
    };
    if !good {
        let message = format!("`{pointer}` is not a boolean of `{tool}`'s result");
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
