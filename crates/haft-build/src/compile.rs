//! One tool: from its folder to its entry in the registry.

mod draft;
mod run_by;
mod seal;

use haft_core::contract::Capability;
use haft_core::names;
use haft_core::registry::{Entry, Implementation, Tool};
use haft_core::{Contract, Digest, Parameter, parameters};
use serde_json::Value;

use crate::code::{self, Code, Severity};
use crate::contract_shape;
use crate::diagnostic::{At, Diagnostic, File, Findings, Part, Texts};
use crate::folder::{self, Folder, Scan};
use crate::handler;
use crate::lint;
use crate::resolve;
use crate::shape;
use crate::toolset::{TOOLS, Toolset};

pub use draft::Drafts;

/// What became of one folder.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    /// What there is to say.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The entry, when nothing was wrong.
    pub(crate) entry: Option<Entry>,
}

impl Compiled {
    /// Whether the same comes of the same files the next time: a machine that had no thread to give may
    /// have one then.
    pub(crate) fn is_lasting(&self) -> bool {
        !self.diagnostics.iter().any(|one| one.message.starts_with(handler::js::UNREAD))
    }
}

/// Compiles the folder that was scanned.
pub(crate) fn tool(toolset: &Toolset, scan: &Scan) -> Compiled {
    let mut out = Findings::default();
    let folder = folder::read(scan, &mut out);
    folder_name(&toolset.namespace, &folder.name, &mut out);
    check_texts(&folder, &mut out);
    let whole = folder.text(&File::Contract).and_then(|text| contract(text, toolset, &mut out));
    if let Some(contract) = &whole {
        check_contract(&folder.name, contract, &mut out);
    }
    let summary = folder.text(&File::Summary).unwrap_or_default();
    if folder.text(&File::Summary).is_some() {
        lint::docs::summary(summary, &mut out);
    }
    let usable = whole.as_ref().filter(|_| !out.has_errors_under("/parameters"));
    let example =
        folder.text(&File::Doc).and_then(|text| lint::docs::document(text, usable, &mut out));
    check_tests(&folder, whole.as_ref(), usable.is_some(), &mut out);
    let implementation = run_by::find(&folder, scan, whole.as_ref(), &mut out);

    let allowed = allowances(whole.as_ref());
    idle_answers(&allowed, &mut out);
    let place = format!("{TOOLS}/{}", folder.name);
    let resolved = match (whole, implementation, blocked(&out, &allowed)) {
        (Some(Value::Object(raw)), Some(handler), false) => resolve::contract(raw)
            .map_err(|why| {
                out.contract(&code::WRONG_TYPE, "", format!("the contract cannot be read: {why}"));
            })
            .ok()
            .map(|contract| (contract, handler)),
        _ => None,
    };
    let entry = resolved.and_then(|(contract, handler)| {
        let doc = folder.text(&File::Doc).unwrap_or_default();
        sealed(&toolset.namespace, contract, example, summary.trim(), doc, handler)
    });
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    Compiled { diagnostics: out.locate(&place, &allowed, &folder), entry }
}

fn check_texts(folder: &Folder, out: &mut Findings) {
    // The contract is looked at when it is read.
    for file in [File::Summary, File::Doc, File::Tests, Folder::js()] {
        if let Some(text) = folder.text(&file) {
            lint::text::check(&file, text, out);
        }
    }
    // A script is read by people too, whatever language it is in.
    if let Some(binary) = &folder.binary
        && !binary.bytes.contains(&0)
        && let Ok(text) = std::str::from_utf8(&binary.bytes)
    {
        lint::text::check(&File::Named(binary.file.clone()), text, out);
    }
}

fn folder_name(namespace: &names::Namespace, name: &str, out: &mut Findings) {
    let id = names::id_of_folder(name);
    if let Err(why @ names::NameError::TooLong(_)) = names::canonical_id(namespace, &id) {
        out.add(&code::CANONICAL_ID, At::Whole(File::Folder), why.to_string())
            .help("shorten the folder's name or the namespace");
    }
    if !names::is_tool_id(&names::id_of_folder(name)) {
        out.add(
            &code::FOLDER_NAME,
            At::Whole(File::Folder),
            format!("`{name}` cannot be the name of a tool"),
        )
        .help("use ASCII letters, digits and single `-`, starting with a letter: `kb-search`");
    }
}

/// Reads the contract strictly and checks its shape.
fn contract(text: &str, toolset: &Toolset, out: &mut Findings) -> Option<Value> {
    let value = json(text, &File::Contract, out)?;
    let Value::Object(mut contract) = value else {
        out.contract(&code::WRONG_TYPE, "", "a contract is a JSON object");
        return None;
    };
    resolve::with_defaults(&mut contract, &toolset.defaults);
    let whole = Value::Object(contract);
    // What is escaped in the file is plain to the model; without escapes the file says it all.
    match text.contains("\\u") {
        true => lint::text::values(&whole, out),
        false => lint::text::check(&File::Contract, text, out),
    }
    if has_inexact(&whole) {
        inexact(&whole, String::new(), out);
    }
    shape::check(&contract_shape::CONTRACT, &whole, &File::Contract, "", out);
    Some(whole)
}

/// A contract stands three levels deep in a registry, which is read with a limit of its own.
const MAX_DEPTH: usize = haft_adm::strict::MAX_DEPTH - 7;

/// Reads a JSON file strictly; each thing that is wrong with it is a finding.
fn json(text: &str, file: &File, out: &mut Findings) -> Option<Value> {
    use haft_adm::ErrorKind;
    use haft_adm::strict::Problem;
    let limits = haft_adm::strict::Limits::default().with_depth(MAX_DEPTH);
    let errors = match haft_adm::strict::parse(text, limits) {
        Ok(value) => return Some(value),
        Err(errors) => errors,
    };
    for error in errors.iter() {
        let start = error.position.map_or(0, |position| position.offset);
        let at = At::Bytes(file.clone(), start..crate::diagnostic::token_end(text, start));
        let code: &'static Code = match &error.kind {
            ErrorKind::Text(Problem::DuplicateKey { .. }) => &code::DUPLICATE_KEY,
            ErrorKind::Text(Problem::TooDeep { .. }) => &code::TOO_DEEP,
            ErrorKind::Text(
                Problem::IntegerTooLarge { .. }
                | Problem::NumberTooLarge { .. }
                | Problem::NumberInexact { .. },
            ) => &code::INEXACT_NUMBER,
            ErrorKind::Text(_)
            | ErrorKind::Shape(_)
            | ErrorKind::Declaration(_)
            | ErrorKind::Schema(_)
            | ErrorKind::Argument(_)
            | ErrorKind::Outcome(_) => &code::NOT_JSON,
        };
        let finding = out.add(code, at, error.kind.to_string());
        if let Some(hint) = crate::diagnostic::json_hint(text, start) {
            finding.help(hint);
        }
    }
    None
}

/// Beyond this, canonical JSON (and every JavaScript reader) would round an integer.
const MAX_EXACT: f64 = 9_007_199_254_740_991.0;

fn is_inexact(number: &serde_json::Number) -> bool {
    let size = number.as_f64().unwrap_or_default().abs();
    size.fract() == 0.0 && size > MAX_EXACT
}

/// Hardly any contract has such a number; only one that does is walked with pointers.
fn has_inexact(value: &Value) -> bool {
    match value {
        Value::Number(number) => is_inexact(number),
        Value::Array(list) => list.iter().any(has_inexact),
        Value::Object(map) => map.values().any(has_inexact),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn inexact(value: &Value, at: String, out: &mut Findings) {
    match value {
        Value::Number(number) => {
            if is_inexact(number) {
                out.contract(
                    &code::INEXACT_NUMBER,
                    at,
                    format!("{number} would be rounded by some readers"),
                )
                .help("whole numbers are exact up to 9007199254740991; use a text beyond that");
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                inexact(value, format!("{at}/{index}"), out);
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                inexact(value, format!("{at}/{}", crate::diagnostic::escape(name)), out);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn check_contract(folder: &str, contract: &Value, out: &mut Findings) {
    lint::contract::check(folder, contract, out);
    let allowed: Vec<&str> = contract
        .pointer("/portability/allow")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut used = Vec::new();
    if let Some(schema) = contract.get("parameters") {
        used = lint::schema::check(schema, lint::schema::Role::Parameters, &allowed, out);
    }
    if let Some(schema) = contract.get("output") {
        lint::schema::check(schema, lint::schema::Role::Output, &allowed, out);
    }
    for (index, keyword) in allowed.iter().enumerate().filter(|(_, k)| !used.contains(k)) {
        let message = format!("`{keyword}` is allowed but not used in `parameters`");
        out.contract(&code::IDLE_ALLOWANCE, format!("/portability/allow/{index}"), message);
    }
    lint::reach::check(contract, out);
    lint::condition::check(contract, out);
    lint::gateway::check(contract, out);
}

/// `judge`: the parameters are sound, so arguments can be held against them.
fn check_tests(folder: &Folder, contract: Option<&Value>, judge: bool, out: &mut Findings) {
    let Some(text) = folder.text(&File::Tests) else { return };
    let Some(tests) = json(text, &File::Tests, out) else { return };
    handler::tests_file::check(&tests, &capabilities(contract), out);
    let schema = contract.filter(|_| judge).and_then(|contract| contract.get("parameters"));
    let Some(validator) = schema.and_then(|schema| haft_core::validator::compile(schema).ok())
    else {
        return;
    };
    for (index, test) in
        tests.get("tests").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        let wants_refusal =
            test.pointer("/expect/error/kind").and_then(Value::as_str) == Some("invalid_arguments");
        let Some(args) = test.get("args").filter(|_| !wants_refusal) else { continue };
        if validator.is_valid(args) || is_repaired(contract, test) {
            continue;
        }
        for (pointer, why) in haft_core::validator::errors(&validator, args) {
            let at = At::Pointer(File::Tests, format!("/tests/{index}/args{pointer}"), Part::Value);
            out.add(&code::TESTS, at, format!("these arguments would be refused: {why}"))
                .help("mend them, or expect the error kind `invalid_arguments`");
        }
    }
}

/// Whether the runtime would mend or reduce the arguments of a test before it judges them, so that
/// only running it can tell.
fn is_repaired(contract: Option<&Value>, test: &Value) -> bool {
    let Some(contract) = contract else { return false };
    let said = contract.get("arguments");
    let mode = said.and_then(|said| said.get("mode").or(Some(said))).and_then(Value::as_str);
    let writes = contract.get("sideEffects").and_then(Value::as_str) == Some("writes");
    let lenient = mode.map_or(!writes, |mode| mode == "lenient");
    let mode = test.get("mode").and_then(Value::as_str).unwrap_or("text");
    let known = |name: &String| {
        let properties = contract.pointer("/parameters/properties");
        properties.is_some_and(|properties| properties.get(name).is_some())
    };
    let named = test.get("args").and_then(Value::as_object).is_some_and(|a| a.keys().all(known));
    named && (lenient || contract.pointer(&format!("/modes/{mode}/clamp")).is_some())
}

fn capabilities(contract: Option<&Value>) -> Vec<Capability> {
    contract
        .and_then(|contract| contract.get("capabilities"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|name| serde_json::from_value(name.clone()).ok())
        .collect()
}

/// The codes that the contract answers, with a reason.
fn allowances(contract: Option<&Value>) -> Vec<String> {
    let allow = contract.and_then(|contract| contract.pointer("/lint/allow"));
    allow.and_then(Value::as_object).into_iter().flatten().map(|(id, _)| id.clone()).collect()
}

/// An answer to something that nobody asks any more would answer the next one unseen.
fn idle_answers(allowed: &[String], out: &mut Findings) {
    for id in allowed {
        let asked = out.list().iter().any(|finding| finding.code.id == id.as_str());
        if !asked && Code::find(id).is_some_and(|code| code.allowable) {
            let at = format!("/lint/allow/{}", crate::diagnostic::escape(id));
            let message = format!("`{id}` is allowed, but nothing here is reported as {id}");
            out.contract_key(&code::IDLE_ALLOWANCE, at, message).help("take it out");
        }
    }
}

fn blocked(out: &Findings, allowed: &[String]) -> bool {
    out.list().iter().any(|finding| {
        finding.code.severity == Severity::Error
            && !(finding.code.allowable && allowed.iter().any(|id| id == finding.code.id))
    })
}

fn sealed(
    namespace: &names::Namespace,
    contract: Contract,
    example: Option<Value>,
    summary: &str,
    doc: &str,
    handler: Implementation,
) -> Option<Entry> {
    let id = names::canonical_id(namespace, &contract.tool_id).ok()?;
    let mut typed = parameters::view(&contract.parameters);
    borrow_examples(&mut typed, example.as_ref());
    let tool = Tool {
        id,
        digest: Digest::of_bytes(b""),
        contract,
        parameters: typed,
        summary: summary.to_owned(),
        doc: doc.to_owned(),
        handler,
    };
    Some(seal::entry(&tool))
}

/// A parameter without an example of its own takes the one from the document.
fn borrow_examples(parameters: &mut [Parameter], example: Option<&Value>) {
    for parameter in parameters.iter_mut().filter(|parameter| parameter.example.is_none()) {
        parameter.example = example.and_then(|example| example.get(&parameter.name)).cloned();
    }
}
