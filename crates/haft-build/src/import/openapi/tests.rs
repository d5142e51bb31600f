//! A garden's API, with everything that an import has an opinion about.

use serde_json::{Value, json};

use super::super::{Import, Overwrite, Severity, openapi, write};
use crate::build::{Reuse, check as build};
use crate::code::Severity as Lint;

const GARDEN: &str = include_str!("garden.yaml");

fn contract(import: &Import, folder: &str) -> Value {
    let tool = import.tools.iter().find(|tool| tool.folder == folder).expect(folder);
    serde_json::from_str(tool.file("schema.json").unwrap()).unwrap()
}

/// What the report says at this severity, as `source: what`.
fn said(import: &Import, severity: Severity) -> Vec<String> {
    let entries = import.report.entries.iter().filter(|entry| entry.severity == severity);
    entries.map(|entry| format!("{}: {}", entry.source, entry.what)).collect()
}

#[test]
fn every_operation_becomes_a_tool_or_an_error() {
    let import = openapi(GARDEN, None).unwrap();
    let folders: Vec<&str> = import.tools.iter().map(|tool| tool.folder.as_str()).collect();
    assert_eq!(folders, ["listPlants", "plants-add", "put-notes"]);
    assert_eq!(
        said(&import, Severity::Error),
        [
            "clearNotes: the document names no host; give a base URL",
            "options_/notes: a tool has no use for `OPTIONS`",
            "trace_/notes: a tool has no use for `TRACE`",
            "remote: `other.yaml#/Q` is outside of the definition; nothing is fetched",
            "upload: its body is required and not JSON; write a handler for it",
        ]
    );
    let import = openapi(GARDEN, Some("https://base.example")).unwrap();
    let url = contract(&import, "clearNotes")["gateway"]["url"].clone();
    assert_eq!(url, "https://base.example/v2/notes");
}

#[test]
fn a_request_is_made_of_parameters() {
    let import = openapi(GARDEN, None).unwrap();
    for (folder, expected) in [
        (
            "listPlants",
            json!({
                "kind": "http", "method": "GET",
                "url": "https://eu.garden.example/v1/beds/{bedId}/plants",
                "query": {"filter[kind]": "filter_kind", "limit": "limit", "bedId": "bedId_query"},
                "headers": {"X-Trace": "X-Trace"}
            }),
        ),
        (
            "plants-add",
            json!({
                "kind": "http", "method": "POST",
                "url": "https://eu.garden.example/v1/beds/{bedId}/plants",
                "body": {"kind": "kind", "height": "height", "parent": "parent"}
            }),
        ),
        (
            "put-notes",
            json!({
                "kind": "http", "method": "PUT",
                "url": "https://eu.garden.example/v1/notes", "bodyFrom": "body"
            }),
        ),
    ] {
        assert_eq!(contract(&import, folder)["gateway"], expected, "{folder}");
    }
}

#[test]
fn effects_and_credentials_follow_the_document() {
    let import = openapi(GARDEN, None).unwrap();
    for (folder, category, effects, idempotent, confirmed, needed) in [
        ("listPlants", "retrieval", "read_only", true, false, true),
        ("plants-add", "action", "writes", false, true, true),
        ("put-notes", "action", "writes", true, true, false),
    ] {
        let contract = contract(&import, folder);
        let found =
            ["category", "sideEffects", "idempotent", "requiresConfirmation"].map(|f| &contract[f]);
        assert_eq!(
            found,
            [&json!(category), &json!(effects), &json!(idempotent), &json!(confirmed)]
        );
        let connection =
            json!({"provider": "key", "hosts": ["eu.garden.example"], "required": needed});
        assert_eq!(contract["connection"], connection);
        assert!(contract.get("handler").is_none());
    }
}

#[test]
fn the_documents_say_what_the_source_says() {
    let import = openapi(GARDEN, None).unwrap();
    let doc = import.tools[0].file("doc.md").unwrap();
    assert!(doc.contains(
        "## Failure Modes\n\n- 404: No such bed.\n- default: Something else \\`went\\` wrong.\n"
    ));
    let doc = import.tools[1].file("doc.md").unwrap();
    assert!(doc.contains(
        "```json\n{\n  \"bedId\": \"0c1f0d3e-7a43-4b0e-9a53-1d2f3a4b5c6d\",\n  \"kind\": \"herb\""
    ));
}

#[test]
fn contracts_and_report() {
    let import = openapi(GARDEN, None).unwrap();
    let contracts: Vec<&str> =
        import.tools.iter().filter_map(|tool| tool.file("schema.json")).collect();
    insta::assert_snapshot!("contracts", contracts.join("\n"));
    let lines: Vec<String> = import
        .report
        .entries
        .iter()
        .map(|e| format!("{} {:?} {:?} {}: {}", e.tool, e.severity, e.part, e.pointer, e.what))
        .collect();
    insta::assert_snapshot!("report", lines.join("\n"));
}

#[test]
fn the_linter_has_no_errors() {
    let dir = tempfile::tempdir().unwrap();
    write(&openapi(GARDEN, Some("https://base.example")).unwrap(), dir.path(), Overwrite::Refuse)
        .unwrap();
    let checked = build(dir.path(), Reuse::Nothing, &|_, _| {}).unwrap();
    let errors = checked.diagnostics.iter().filter(|d| d.severity == Lint::Error);
    let errors: Vec<String> = errors.map(crate::diagnostic::Diagnostic::one_line).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(checked.entries.len(), 4);
}

#[test]
fn json_is_read_as_well_and_other_documents_are_not() {
    let document = json!({
        "openapi": "3.1.0", "servers": [{"url": "https://h.example"}],
        "paths": {"/x": {"get": {"responses": {}}}, "/y/{z}": {"get": {"responses": {}}}}
    });
    let import = openapi(&document.to_string(), None).unwrap();
    assert_eq!(import.tools[0].folder, "get-x");
    assert_eq!(import.report.summary().errors, 1, "a slot that nothing fills");
    for text in [
        "swagger: '2.0'\n",
        "{}",
        "[]",
        "a: b: c",
        "{\"openapi\": \"3.0.0\", \"openapi\": \"3.0.0\"}",
    ] {
        assert!(openapi(text, None).is_err(), "{text}");
    }
}

#[test]
fn what_looks_like_a_secret_and_dots_in_a_path_lose_no_operation() {
    let document = r##"
openapi: 3.1.0
info: { title: t, version: "1" }
servers: [{ url: "https://api.example.com" }]
paths:
  /revoke:
    post:
      operationId: revoke
      summary: Revoke credentials
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [credential]
              properties: { credential: { type: string, description: What to revoke. } }
            example: { credential: ghp_1234567890abcdef1234567890abcdef12345678 }
  /compare/{base}...{head}:
    get:
      operationId: compare
      summary: Compare two things
      parameters:
        - { name: base, in: path, required: true, schema: { type: string } }
        - { name: head, in: path, required: true, schema: { type: string } }
  /up/../down:
    get: { operationId: escape, summary: Leaves }
"##;
    let import = openapi(document, None).unwrap();
    assert_eq!(
        said(&import, Severity::Error),
        ["escape: `/up/../down` is no path that a call can be sent to"]
    );
    let folders: Vec<&str> = import.tools.iter().map(|tool| tool.folder.as_str()).collect();
    assert_eq!(folders, ["revoke", "compare"]);
    let dropped = said(&import, Severity::Dropped);
    assert!(dropped.iter().any(|what| what.contains("looks like a secret")), "{dropped:?}");
    let all = format!("{:?} {:?}", import.tools, import.report);
    assert!(!all.contains("ghp_1234"), "{all}");
    assert_eq!(
        contract(&import, "compare")["gateway"]["url"],
        "https://api.example.com/compare/{base}...{head}"
    );
}
