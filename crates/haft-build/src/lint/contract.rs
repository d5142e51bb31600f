//! What the fields of a contract say together.

use haft_core::names;
use serde_json::Value;

use crate::code::{self, Code};
use crate::diagnostic::{Findings, escape};

/// Checks the contract of the tool in `folder`.
pub(crate) fn check(folder: &str, contract: &Value, out: &mut Findings) {
    identity(folder, contract, out);
    description(contract, out);
    retrieval(contract, out);
    effects(contract, out);
    changes(contract, out);
    modes(contract, out);
    answers(contract, out);
    native(contract, out);
    mappings(contract, out);
    origin(contract, out);
    if contract.get("output").is_none() {
        out.contract(&code::NO_OUTPUT, "", "there is no `output`: results are not checked")
            .help("describe the result as a JSON Schema");
    }
}

fn text<'a>(contract: &'a Value, field: &str) -> Option<&'a str> {
    contract.get(field).and_then(Value::as_str)
}

fn identity(folder: &str, contract: &Value, out: &mut Findings) {
    let expected = names::id_of_folder(folder);
    // A folder that cannot be a tool's is reported as that.
    let fit = names::is_tool_id(&expected);
    if let Some(id) = text(contract, "toolId").filter(|id| fit && *id != expected) {
        out.contract(
            &code::NAME_MISMATCH,
            "/toolId",
            format!("`{id}` stands in the folder `{folder}`, whose tool is `{expected}`"),
        )
        .help(format!("write `{expected}`, or rename the folder"));
    }
    if let Some(version) = text(contract, "version")
        && let Err(why) = semver::Version::parse(version)
    {
        out.contract(&code::NOT_SEMVER, "/version", format!("`{version}` is not a version: {why}"))
            .help("write three numbers: `1.0.0`");
    }
}

/// What every provider takes as a description.
const MAX_DESCRIPTION: usize = 1000;

fn description(contract: &Value, out: &mut Findings) {
    let Some(description) = text(contract, "description") else { return };
    let length = description.chars().count();
    if description.contains('\n') {
        out.contract(&code::DESCRIPTION, "/description", "the description has several lines")
            .help("say in one line what the tool does; the rest belongs into `doc.md`");
    } else if length > MAX_DESCRIPTION {
        let message =
            format!("the description has {length} characters; at most {MAX_DESCRIPTION} are taken");
        out.contract(&code::DESCRIPTION, "/description", message);
    }
}

fn retrieval(contract: &Value, out: &mut Findings) {
    if text(contract, "category") != Some("retrieval") {
        return;
    }
    if text(contract, "sideEffects") == Some("writes") {
        out.contract(&code::RETRIEVAL_WRITES, "/sideEffects", "a retrieval tool must not write")
            .help("make it an `action`, or let it only read");
    }
    if contract.get("idempotent") == Some(&Value::Bool(false)) {
        out.contract(
            &code::RETRIEVAL_NOT_IDEMPOTENT,
            "/idempotent",
            "a retrieval tool must be idempotent",
        )
        .help("models search again and again; make it safe to repeat, or make it an `action`");
    }
}

fn effects(contract: &Value, out: &mut Findings) {
    let Some(side_effects) = text(contract, "sideEffects") else { return };
    let writes = side_effects == "writes";
    let effect = text(contract, "effect");
    let policy = text(contract, "sideEffectPolicy");
    let compensated = contract.get("compensation").is_some();
    let idempotent = contract.get("idempotent").and_then(Value::as_bool);
    let mut clash = |pointer: &'static str, message: String| {
        out.contract(&code::CONTRADICTION, pointer, message);
    };
    match (writes, effect) {
        (true, Some("read_only")) => {
            clash("/effect", "it writes, so its effect is not `read_only`".into());
        }
        (false, Some(effect)) if effect != "read_only" => {
            clash("/effect", format!("`{effect}` needs `\"sideEffects\": \"writes\"`"));
        }
        _ => {}
    }
    match (writes, policy) {
        (true, Some("pure")) => clash("/sideEffectPolicy", "it writes, so it is not `pure`".into()),
        (false, Some(policy)) if policy != "pure" => {
            clash(
                "/sideEffectPolicy",
                format!("it does not write, so it is `pure`, not `{policy}`"),
            );
        }
        (true, Some("compensatable")) if !compensated => {
            clash("/sideEffectPolicy", "`compensatable` needs a `compensation`".into());
        }
        (true, Some("irreversible")) if compensated => {
            clash(
                "/sideEffectPolicy",
                "it has a `compensation`, so it is not `irreversible`".into(),
            );
        }
        (true, Some("idempotent")) if idempotent == Some(false) => {
            clash("/sideEffectPolicy", "`idempotent` is false".into());
        }
        _ => {}
    }
    let number = |pointer: &str| contract.pointer(pointer).and_then(Value::as_u64);
    if let (Some(budget), Some(most)) = (number("/latencyBudgetMs"), number("/limits/maxRuntimeMs"))
        && budget > most
    {
        clash("/limits/maxRuntimeMs", format!("it ends a call before its budget of {budget} ms"));
    }
    let derived = idempotent.map(|idempotent| writes && idempotent);
    let is_idempotent = policy.map_or(derived, |policy| Some(policy == "idempotent"));
    if number("/limits/providerKeyWindowMs").is_some() && is_idempotent == Some(false) {
        clash(
            "/limits/providerKeyWindowMs",
            "only an `idempotent` tool is asked again while its provider knows the key".into(),
        );
    }
    for field in ["compensation", "probe"] {
        if !writes && contract.get(field).is_some() {
            let pointer = if field == "probe" { "/probe" } else { "/compensation" };
            clash(pointer, format!("`{field}` is for tools that write"));
        }
    }
    let confirmed = contract.get("requiresConfirmation");
    if writes && confirmed == Some(&Value::Bool(false)) {
        out.contract(
            &code::UNCONFIRMED_WRITES,
            "/requiresConfirmation",
            "this tool writes and nobody is asked first",
        )
        .help("set `requiresConfirmation`, or say under `lint.allow` why nobody need be asked");
    }
}

/// A capability of which there is nothing that a tool could use without writing.
fn changes(contract: &Value, out: &mut Findings) {
    if !matches!(text(contract, "sideEffects"), Some("none" | "read_only")) {
        return;
    }
    let listed = contract.get("capabilities").and_then(Value::as_array);
    for (index, name) in listed.into_iter().flatten().enumerate() {
        if name == "moderation" {
            let message = "`moderation` blocks users, and this tool does not write";
            out.contract(&code::CHANGES_UNSAID, format!("/capabilities/{index}"), message)
                .help("say `\"sideEffects\": \"writes\"`, or take it out of the list");
        }
    }
}

fn modes(contract: &Value, out: &mut Findings) {
    let allowed = contract.get("allowedModes").and_then(Value::as_array);
    for (mode, _) in contract.get("modes").and_then(Value::as_object).into_iter().flatten() {
        if allowed.is_some_and(|allowed| !allowed.iter().any(|name| name == mode)) {
            let message = format!("`{mode}` is not among `allowedModes`");
            out.contract_key(&code::CONTRADICTION, format!("/modes/{mode}"), message);
        }
    }
}

fn answers(contract: &Value, out: &mut Findings) {
    for (id, _) in contract.pointer("/lint/allow").and_then(Value::as_object).into_iter().flatten()
    {
        let why = match Code::find(id).filter(|code| code.id == id) {
            None => format!("`{id}` is not a code"),
            Some(code) if !code.allowable => format!("`{id}` cannot be allowed"),
            Some(_) => continue,
        };
        out.contract_key(&code::LINT_RULE, format!("/lint/allow/{}", escape(id)), why)
            .help("`haft explain CODE` says which lints a contract may answer");
    }
    let assumed: Vec<&str> = contract
        .pointer("/origin/assumed")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !assumed.is_empty() {
        let message = format!("the import assumed {}", haft_core::nearest::list(&assumed));
        out.contract(&code::ASSUMED, "/origin/assumed", message)
            .help("review these fields, then take them out of `origin.assumed`");
    }
}

/// The crate whose version the compiler knows, because it is released with it.
pub(crate) const OWN_CRATE: &str = "haft-tools";

/// Each argument of a compensation or probe comes from one place.
fn mappings(contract: &Value, out: &mut Findings) {
    for field in ["compensation", "probe"] {
        let pointer = format!("/{field}/arguments");
        for (name, source) in
            contract.pointer(&pointer).and_then(Value::as_object).into_iter().flatten()
        {
            if source.is_object() && source.get("from").is_some() == source.get("value").is_some() {
                let message = format!("`{name}` needs either `from` or `value`");
                out.contract(&code::MISSING_FIELD, format!("{pointer}/{}", escape(name)), message)
                    .help("`{\"from\": \"/arguments/…\"}`, `{\"from\": \"/result/…\"}` or `{\"value\": …}`");
            }
        }
    }
}

fn origin(contract: &Value, out: &mut Findings) {
    if let Some(digest) = contract.pointer("/origin/digest").and_then(Value::as_str)
        && let Err(why) = haft_core::Digest::try_from(digest.to_owned())
    {
        out.contract(&code::OUT_OF_RANGE, "/origin/digest", why);
    }
}

fn native(contract: &Value, out: &mut Findings) {
    let Some(handler) = contract.get("handler") else { return };
    let krate = handler.get("crate").and_then(Value::as_str);
    let foreign = krate.is_some_and(|krate| krate != OWN_CRATE);
    if foreign && handler.get("crateVersion").is_none() {
        out.contract(&code::MISSING_FIELD, "/handler", "`handler` has no `crateVersion`")
            .help("a native function counts with its crate's version");
    }
}
