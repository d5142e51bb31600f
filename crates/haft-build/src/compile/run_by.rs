//! What runs a tool, and whether it could.

use haft_core::Digest;
use haft_core::contract::{Capability, Handler};
use haft_core::registry::Implementation;
use serde_json::Value;

use super::capabilities;
use crate::code;
use crate::diagnostic::{At, File, Findings, Texts as _};
use crate::folder::{Folder, Scan};
use crate::handler::{self, js::May};

use crate::toolset::TOOLS;

/// The one thing that runs the tool; nothing when there is none, or more than one.
pub(super) fn find(
    folder: &Folder,
    scan: &Scan,
    contract: Option<&Value>,
    out: &mut Findings,
) -> Option<Implementation> {
    let files = Folder::handlers(scan);
    let declared: Option<Handler> =
        contract.and_then(|contract| contract.get("handler")).map(|handler| {
            match handler.get("kind").and_then(Value::as_str) {
                Some("unbound") => Handler::Unbound,
                _ => Handler::Native {
                    krate: String::new(),
                    crate_version: String::new(),
                    revision: 0,
                },
            }
        });
    let gateway = contract.is_some_and(|contract| contract.get("gateway").is_some());
    let mut ways: Vec<String> = files.iter().map(|file| format!("the file `{file}`")).collect();
    ways.extend(declared.as_ref().map(|_| "`handler` in the contract".to_owned()));
    ways.extend(gateway.then(|| "`gateway` in the contract".to_owned()));
    match (ways.as_slice(), declared) {
        // What the contract says about it cannot be read, and that is reported already.
        ([], _) if contract.is_none() => None,
        ([], _) => {
            out.add(&code::NO_HANDLER, At::Whole(File::Folder), "nothing runs this tool").help(
                "add `handler.js`, or name a `gateway` or a native `handler` in the contract",
            );
            None
        }
        ([_], Some(Handler::Native { .. })) => Some(Implementation::Native),
        ([_], Some(Handler::Unbound)) => {
            out.contract(&code::UNBOUND, "/handler", "nothing runs this tool yet")
                .help("it is listed and described, but cannot be called until it has a handler");
            Some(Implementation::Unbound)
        }
        ([_], None) if gateway => Some(Implementation::Gateway),
        ([_], None) => from_file(folder, contract, out),
        (ways, _) => {
            let message = format!("more than one thing would run this tool: {}", ways.join(", "));
            out.add(&code::TWO_HANDLERS, At::Whole(File::Folder), message).help("keep one");
            None
        }
    }
}

fn from_file(
    folder: &Folder,
    contract: Option<&Value>,
    out: &mut Findings,
) -> Option<Implementation> {
    if let Some(source) = folder.text(&Folder::js()) {
        match contract {
            Some(said) => {
                let effects = said.get("sideEffects").and_then(Value::as_str);
                let only_reads = matches!(effects, Some("none" | "read_only"));
                let may = May { capabilities: &capabilities(contract), only_reads };
                handler::js::check(source, &Folder::js(), may, out);
            }
            None => without_contract(source, out),
        }
        let digest = Digest::of_bytes(source.as_bytes());
        return Some(Implementation::Js { digest, source: source.to_owned() });
    }
    let binary = folder.binary.as_ref()?;
    handler::check_binary(&binary.file, &binary.path, &binary.bytes, out);
    let file = format!("{TOOLS}/{}/{}", folder.name, binary.file);
    let digest = Digest::of_bytes(&binary.bytes);
    Some(match binary.file.ends_with(".wasm") {
        true => Implementation::Wasm { file, digest },
        false => Implementation::Process { file, digest },
    })
}

/// Checks a handler whose contract cannot be read: everything but its capabilities.
fn without_contract(source: &str, out: &mut Findings) {
    let mut all = Findings::default();
    let may = May { capabilities: &Capability::ALL, only_reads: false };
    handler::js::check(source, &Folder::js(), may, &mut all);
    for finding in all.list() {
        let about = [&code::UNDECLARED_CAPABILITY, &code::UNUSED_CAPABILITY];
        if !about.contains(&finding.code) {
            out.add(finding.code, finding.at.clone(), finding.message.clone()).help =
                finding.help.clone();
        }
    }
}
