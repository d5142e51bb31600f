//! One tool that stands in no folder: what somebody sent, checked as a folder's would be, with each
//! finding at a pointer into what was sent.
//!
//! Only requests to services can be made this way. A handler is code, and code comes out of a toolset
//! that somebody has looked at and built.

use haft_core::Tool;
use haft_core::names::{self, Namespace, SEPARATOR};
use haft_core::port::{Define, Draft, Flaw};
use haft_core::registry::Implementation;
use serde_json::Value;

use super::{allowances, blocked, check_contract, has_inexact, idle_answers, inexact};
use super::{resolve, sealed};
use crate::code::{self, Severity};
use crate::contract_shape;
use crate::diagnostic::{At, File, Finding, Findings};
use crate::folder::Limit;
use crate::lint;
use crate::shape;

/// Far more than any contract needs, and little enough for the stack of whichever thread reads it.
const MAX_DEPTH: usize = 48;

/// Compiles what is sent.
///
/// ```
/// use haft_build::Drafts;
/// use haft_core::port::{Define as _, Draft};
///
/// let contract = serde_json::json!({ "toolId": "find_customer" });
/// let draft = Draft { id: "crm__find_customer", contract: &contract, summary: None, doc: None };
/// let (tool, flaws) = Drafts.define(&draft);
/// assert!(tool.is_none() && flaws.iter().any(|flaw| flaw.code == "H101"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Drafts;

impl Define for Drafts {
    fn define(&self, draft: &Draft<'_>) -> (Option<Tool>, Vec<Flaw>) {
        let mut out = Findings::default();
        let tool = compiled(draft, &mut out);
        let allowed = allowances(Some(draft.contract));
        let flaws = out.list().iter().filter_map(|one| flaw(one, &allowed, draft)).collect();
        (tool, flaws)
    }

    fn relate(&self, tool: &Tool, others: &[&Tool]) -> Vec<Flaw> {
        let Ok(contract) = serde_json::to_value(&tool.contract) else { return Vec::new() };
        if !lint::toolset::speaks_of_others(&contract.to_string()) {
            return Vec::new();
        }
        let mut known: Vec<(&str, Value)> = Vec::with_capacity(2 * others.len());
        for other in others {
            let Ok(contract) = serde_json::to_value(&other.contract) else { continue };
            known.push((&other.contract.tool_id, contract.clone()));
            known.push((&other.id, contract));
        }
        let find = |name: &str| known.iter().find(|(one, _)| *one == name).map(|(_, it)| it);
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let found = lint::toolset::check(&contract, &find, &names);
        let draft = Draft { id: &tool.id, contract: &contract, summary: None, doc: None };
        found.list().iter().filter_map(|one| flaw(one, &[], &draft)).collect()
    }
}

/// The tool, where nothing stands in its way.
fn compiled(draft: &Draft<'_>, out: &mut Findings) -> Option<Tool> {
    let namespace = named(draft.id, out);
    let own = draft.id.rsplit(SEPARATOR).next().unwrap_or_default();
    let whole = draft.contract;
    let Value::Object(raw) = whole else {
        out.contract(&code::WRONG_TYPE, "", "a contract is a JSON object");
        return None;
    };
    if is_deeper(whole, MAX_DEPTH) {
        let message = format!("the contract is nested more than {MAX_DEPTH} deep");
        out.contract(&code::TOO_DEEP, "", message);
        return None;
    }
    let (size, most) = (whole.to_string().len() as u64, Limit::CONTRACT.bytes());
    if size > most {
        let message = format!("the contract has {size} bytes; at most {most} are read");
        out.contract(&code::TOO_LARGE, "", message);
        return None;
    }
    if !lint::patterns::fit(whole, out) {
        return None;
    }
    lint::text::values(whole, out);
    if has_inexact(whole) {
        inexact(whole, String::new(), out);
    }
    shape::check(&contract_shape::CONTRACT, whole, &File::Contract, "", out);
    check_contract(own, whole, out);
    is_request(whole, out);
    let example = documents(draft, out);
    let allowed = allowances(Some(whole));
    idle_answers(&allowed, out);
    if blocked(out, &allowed) {
        return None;
    }
    let contract = match resolve::contract(raw.clone()) {
        Ok(contract) => contract,
        Err(why) => {
            out.contract(&code::WRONG_TYPE, "", format!("the contract cannot be read: {why}"));
            return None;
        }
    };
    let summary = draft.summary.unwrap_or(&contract.description).trim().to_owned();
    let doc = draft.doc.unwrap_or_default();
    let entry = sealed(&namespace?, contract, example, &summary, doc, Implementation::Gateway)?;
    serde_json::from_str(&entry.json).ok()
}

/// The namespace of an id.
fn named(id: &str, out: &mut Findings) -> Option<Namespace> {
    let at = || At::Whole(File::Folder);
    let help = "write `<namespace>__<toolId>`: `crm__find_customer`";
    let Some((namespace, own)) = id.rsplit_once(SEPARATOR) else {
        let message = format!("`{id}` is not the id of a tool");
        out.add(&code::CANONICAL_ID, at(), message).help(help);
        return None;
    };
    let parsed = Namespace::parse(namespace);
    let whole =
        parsed.and_then(|namespace| names::canonical_id(&namespace, own).map(|_| namespace));
    whole
        .map_err(|why| {
            out.add(&code::CANONICAL_ID, at(), why.to_string()).help(help);
        })
        .ok()
}

/// Checks the documents that there are. Returns the arguments of the first good example.
fn documents(draft: &Draft<'_>, out: &mut Findings) -> Option<Value> {
    if let Some(summary) = draft.summary {
        lint::text::check(&File::Summary, summary, out);
        lint::docs::summary(summary, out);
    }
    let doc = draft.doc?;
    lint::text::check(&File::Doc, doc, out);
    let usable = Some(draft.contract).filter(|_| !out.has_errors_under("/parameters"));
    lint::docs::document(doc, usable, out)
}

/// What runs the tool is one request to a service, and nothing else.
fn is_request(contract: &Value, out: &mut Findings) {
    let why = "only HTTP requests can be defined here: code is run out of toolsets alone, where \
               somebody has looked at it and built it";
    let help = "describe the request under `gateway` with `\"kind\": \"http\"`, or ask whoever runs \
                haft to add the tool to the toolset";
    if contract.get("handler").is_some() {
        out.contract(&code::GATEWAY, "/handler", why).help(help);
    }
    match contract.pointer("/gateway/kind").and_then(Value::as_str) {
        Some("http") => {}
        Some(_) => {
            out.contract(&code::GATEWAY, "/gateway/kind", why).help(help);
        }
        None if contract.get("gateway").is_none() && contract.get("handler").is_none() => {
            out.contract(&code::NO_HANDLER, "/gateway", "nothing runs this tool").help(help);
        }
        None => {}
    }
}

fn is_deeper(value: &Value, most: usize) -> bool {
    let Some(left) = most.checked_sub(1) else { return true };
    match value {
        Value::Array(list) => list.iter().any(|one| is_deeper(one, left)),
        Value::Object(map) => map.values().any(|one| is_deeper(one, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A finding as whoever sent the draft reads it; none where the contract answers it.
fn flaw(finding: &Finding, allowed: &[String], draft: &Draft<'_>) -> Option<Flaw> {
    let code = finding.code;
    let answered = code.allowable && allowed.iter().any(|id| id == code.id);
    let is_error = match (code.severity, answered) {
        (Severity::Error, answered) => !answered,
        (Severity::Warning, true) => return None,
        (Severity::Warning, false) => false,
    };
    let pointer = match &finding.at {
        At::Pointer(_, pointer, _) => format!("/contract{pointer}"),
        At::Whole(file) | At::Bytes(file, _) => match file {
            File::Summary => "/summary".to_owned(),
            File::Doc => "/doc".to_owned(),
            File::Folder | File::Contract | File::Tests | File::Named(_) => String::new(),
        },
    };
    let (message, help) = match *code == code::NAME_MISMATCH {
        // It stands in no folder.
        true => {
            let own = draft.id.rsplit(SEPARATOR).next().unwrap_or_default();
            let message = format!("the definition is of `{}`, whose `toolId` is `{own}`", draft.id);
            (message, Some(format!("write `{own}`, or define it under another id")))
        }
        false => (finding.message.clone(), finding.help.clone()),
    };
    let printable = lint::text::printable;
    let (message, help) = (printable(message), help.map(printable));
    Some(Flaw { is_error, pointer, code: code.id, message, help })
}
