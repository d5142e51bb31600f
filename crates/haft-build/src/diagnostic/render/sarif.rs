//! SARIF 2.1.0, which code hosts and editors read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::code::Code;
use crate::diagnostic::Diagnostic;

/// Renders a SARIF log; `prefix` leads from the repository's root to the toolset.
#[must_use]
pub fn sarif(diagnostics: &[Diagnostic], prefix: &str) -> Value {
    let mut used: BTreeMap<&str, &'static Code> = BTreeMap::new();
    for diagnostic in diagnostics {
        used.insert(diagnostic.code.id, diagnostic.code);
    }
    let rules: Vec<Value> = used.values().map(|code| rule(code)).collect();
    let results: Vec<Value> =
        diagnostics.iter().map(|diagnostic| result(diagnostic, prefix)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "haft",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn rule(code: &Code) -> Value {
    json!({
        "id": code.id,
        "shortDescription": {"text": code.title()},
        "help": {"text": code.page, "markdown": code.page},
        "defaultConfiguration": {"level": code.severity.as_str()},
    })
}

fn result(diagnostic: &Diagnostic, prefix: &str) -> Value {
    let uri = format!("{prefix}{}", diagnostic.file);
    let mut place = json!({ "artifactLocation": {"uri": encode(&uri)} });
    if let (true, Some(map)) = (diagnostic.line > 0, place.as_object_mut()) {
        map.insert(
            "region".into(),
            json!({ "startLine": diagnostic.line, "startColumn": diagnostic.column }),
        );
    }
    let help = diagnostic.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    json!({
        "ruleId": diagnostic.code.id,
        "level": diagnostic.severity.as_str(),
        "message": {"text": format!("{}{help}", diagnostic.message)},
        "locations": [{"physicalLocation": place}],
    })
}

/// Percent-encodes what a URI reference cannot hold as it is.
fn encode(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
