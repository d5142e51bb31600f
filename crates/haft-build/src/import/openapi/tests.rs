//! A garden's API, with everything that an import has an opinion about.

use serde_json::{Value, json};

use super::super::{Given, Import, Overwrite, Severity, openapi, write};
use crate::build::{Reuse, check as build};
use crate::code::Severity as Lint;

const GARDEN: &str = include_str!("garden.yaml");

fn at(base_url: &str) -> Given<'_> {
    Given { base_url: Some(base_url), provider: None }
}

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
    let import = openapi(GARDEN, Given::default()).unwrap();
    let folders: Vec<&str> = import.tools.iter().map(|tool| tool.folder.as_str()).collect();
    assert_eq!(folders, ["listPlants", "plants-add", "put-notes", "upload"]);
    assert_eq!(
        said(&import, Severity::Error),
        [
            "clearNotes: the document names no host; give a base URL",
            "options_/notes: a tool has no use for `OPTIONS`",
            "trace_/notes: a tool has no use for `TRACE`",
            "remote: `other.yaml#/Q` is outside of the definition; nothing is fetched: bundle it into one file",
        ]
    );
    let import = openapi(GARDEN, at("https://base.example")).unwrap();
    let url = contract(&import, "clearNotes")["gateway"]["url"].clone();
    assert_eq!(url, "https://base.example/v2/notes");
}

#[test]
fn a_request_is_made_of_parameters() {
    let import = openapi(GARDEN, Given::default()).unwrap();
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
    let import = openapi(GARDEN, Given::default()).unwrap();
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
    let import = openapi(GARDEN, Given::default()).unwrap();
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
    let import = openapi(GARDEN, Given::default()).unwrap();
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
    write(&openapi(GARDEN, at("https://base.example")).unwrap(), dir.path(), Overwrite::Refuse)
        .unwrap();
    let checked = build(dir.path(), Reuse::Nothing, &|_, _| {}).unwrap();
    let errors = checked.diagnostics.iter().filter(|d| d.severity == Lint::Error);
    let errors: Vec<String> = errors.map(crate::diagnostic::Diagnostic::one_line).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(checked.entries.len(), 5);
}

#[test]
fn json_is_read_as_well_and_other_documents_are_not() {
    let document = json!({
        "openapi": "3.1.0", "servers": [{"url": "https://h.example"}],
        "paths": {"/x": {"get": {"responses": {}}}, "/y/{z}": {"get": {"responses": {}}}}
    });
    let import = openapi(&document.to_string(), Given::default()).unwrap();
    assert_eq!(import.tools[0].folder, "get-x");
    assert_eq!(import.report.summary().errors, 1, "a slot that nothing fills");
    for text in [
        "swagger: '2.0'\n",
        "{}",
        "[]",
        "a: b: c",
        "{\"openapi\": \"3.0.0\", \"openapi\": \"3.0.0\"}",
    ] {
        assert!(openapi(text, Given::default()).is_err(), "{text}");
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
    let import = openapi(document, Given::default()).unwrap();
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

#[test]
fn parameters_of_the_path_and_its_slots_belong_together() {
    let parameter = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    let document = json!({
        "openapi": "3.1.0", "servers": [{"url": "https://h.example"}],
        "paths": {
            "/a/{id}": {
                "parameters": [parameter("lost")],
                "get": {"operationId": "more", "summary": "More", "parameters": [parameter("id"), parameter("idx")]},
            },
            "/b/{id}/{part}": {
                "get": {"operationId": "less", "summary": "Less", "parameters": [parameter("id")]},
            },
        },
    });
    let import = openapi(&document.to_string(), Given::default()).unwrap();
    assert_eq!(
        said(&import, Severity::Dropped),
        [
            "more: the path parameter `lost`: the path has no slot `{lost}`",
            "more: the path parameter `idx`: the path has no slot `{idx}`",
        ]
    );
    assert_eq!(
        said(&import, Severity::Error),
        ["less: the path has a slot `part` and no parameter for it; add one"]
    );
    let more = contract(&import, "more");
    assert_eq!(more["parameters"]["required"], json!(["id"]));
    assert_eq!(more["parameters"]["properties"].as_object().unwrap().len(), 1);
}

/// The gateway of the one operation that these lines describe, or why there is none.
#[track_caller]
fn gateway_of(method: &str, path: &str, operation: Value) -> Result<Value, String> {
    let document = json!({
        "openapi": "3.1.0", "servers": [{"url": "https://h.example"}],
        "paths": {path: {method: operation}},
        "components": {
            "parameters": {"Ids": {"name": "ids", "in": "query", "explode": false,
                "schema": {"$ref": "#/components/schemas/Ids"}}},
            "schemas": {
                "Ids": {"type": "array", "items": {"type": "integer"}},
                "Odd~/name{}": {"type": "object", "properties": {"x": {"type": "string"}}}
            },
            "requestBodies": {"F": {"required": true, "content": {"application/x-www-form-urlencoded":
                {"schema": {"$ref": "#/components/schemas/Odd~0~1name%7B%7D"}}}}}
        }
    });
    let import = openapi(&document.to_string(), Given::default()).unwrap();
    let Some(tool) = import.tools.first() else {
        return Err(said(&import, Severity::Error).join("; "));
    };
    let dir = tempfile::tempdir().unwrap();
    write(&import, dir.path(), Overwrite::Refuse).unwrap();
    let checked = build(dir.path(), Reuse::Nothing, &|_, _| {}).unwrap();
    let errors = checked.diagnostics.iter().filter(|d| d.severity == Lint::Error);
    let errors: Vec<String> = errors.map(crate::diagnostic::Diagnostic::one_line).collect();
    assert_eq!(errors, Vec::<String>::new(), "{}", tool.file("schema.json").unwrap());
    let mut gateway = contract(&import, &tool.folder)["gateway"].clone();
    for common in ["kind", "method", "url"] {
        gateway.as_object_mut().unwrap().remove(common);
    }
    Ok(gateway)
}

#[test]
fn a_parameter_is_written_as_its_style_says() {
    let list = || json!({"type": "array", "items": {"type": "string"}});
    let object = || json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (parameter, slot) in [
        (json!({"in": "query", "schema": list()}), json!("p")),
        (
            json!({"in": "query", "schema": list(), "explode": false}),
            json!({"from": "p", "style": "form", "explode": false}),
        ),
        (json!({"in": "query", "schema": object()}), json!({"from": "p", "style": "form"})),
        (
            json!({"in": "query", "schema": {"anyOf": [{"type": "string"}, object()]}}),
            json!({"from": "p", "style": "form"}),
        ),
        (
            json!({"in": "query", "schema": object(), "style": "deepObject", "explode": true}),
            json!({"from": "p", "style": "deepObject"}),
        ),
        (
            json!({"in": "query", "schema": list(), "style": "pipeDelimited"}),
            json!({"from": "p", "style": "pipeDelimited"}),
        ),
        (
            json!({"in": "query", "schema": list(), "style": "spaceDelimited", "explode": true}),
            json!("p"),
        ),
        (
            json!({"in": "query", "schema": {"type": "string"}, "allowReserved": true}),
            json!({"from": "p", "style": "form", "allowReserved": true}),
        ),
        (json!({"in": "query", "schema": {"type": "string"}, "style": "label"}), json!("p")),
        (
            json!({"in": "query", "content": {"application/json": {"schema": object()}}}),
            json!({"from": "p", "style": "json"}),
        ),
        (json!({"in": "header", "schema": list()}), json!("p")),
        (
            json!({"in": "header", "schema": object(), "explode": true}),
            json!({"from": "p", "style": "simple", "explode": true}),
        ),
    ] {
        let section = if parameter["in"] == "query" { "query" } else { "headers" };
        let mut parameter = parameter;
        parameter["name"] = json!("p");
        let found = gateway_of("get", "/x", json!({"parameters": [parameter]})).unwrap();
        assert_eq!(found, json!({section: {"p": slot}}), "{parameter}");
    }
    for (parameter, expected) in [
        (json!({"schema": {"type": "string"}}), json!({})),
        (json!({"schema": list()}), json!({"path": {"p": {"from": "p", "style": "simple"}}})),
        (
            json!({"schema": {"type": "string"}, "style": "matrix"}),
            json!({"path": {"p": {"from": "p", "style": "matrix"}}}),
        ),
        (
            json!({"schema": list(), "style": "label", "explode": true}),
            json!({"path": {"p": {"from": "p", "style": "label", "explode": true}}}),
        ),
    ] {
        let mut parameter = parameter;
        parameter["name"] = json!("p");
        parameter["in"] = json!("path");
        let found = gateway_of("get", "/x/{p}", json!({"parameters": [parameter]})).unwrap();
        assert_eq!(found, expected, "{parameter}");
    }
}

#[test]
fn references_lead_across_the_document() {
    let ids = json!({"parameters": [{"$ref": "#/components/parameters/Ids"}]});
    let expected = json!({"query": {"ids": {"from": "ids", "style": "form", "explode": false}}});
    assert_eq!(gateway_of("get", "/x", ids).unwrap(), expected);
    let form = json!({"requestBody": {"$ref": "#/components/requestBodies/F"}});
    assert_eq!(
        gateway_of("post", "/x", form).unwrap(),
        json!({"encoding": "form", "body": {"x": "x"}})
    );
    let schema = json!({"$ref": "#/components/requestBodies/F/content/application~1x-www-form-urlencoded/schema"});
    let nested = json!({"parameters": [{"name": "n", "in": "query", "schema": schema}]});
    assert_eq!(
        gateway_of("get", "/x", nested).unwrap(),
        json!({"query": {"n": {"from": "n", "style": "form"}}})
    );
}

#[test]
fn a_body_is_sent_as_its_media_type_says() {
    let body = |media: &str, schema: Value, more: Value| {
        let mut content = json!({"schema": schema});
        content.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"requestBody": {"required": true, "content": {media: content}}})
    };
    let form = "application/x-www-form-urlencoded";
    let order = json!({"type": "object", "required": ["item[id]"], "properties": {
        "item[id]": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object", "properties": {"street": {"type": "string"}}},
        "meta": {"type": "object", "additionalProperties": {"type": "string"}}}});
    assert_eq!(
        gateway_of(
            "post",
            "/x",
            body(
                form,
                order.clone(),
                json!({"encoding": {
            "meta": {"style": "deepObject", "explode": true},
            "tags": {"explode": false}}})
            )
        )
        .unwrap(),
        json!({"encoding": "form", "body": {
            "item[id]": "item_id", "tags": {"from": "tags", "style": "form", "explode": false},
            "address": {"from": "address", "style": "json"},
            "meta": {"from": "meta", "style": "deepObject"}}})
    );
    let mut optional = body(
        form,
        json!({"allOf": [{"type": "object", "required": ["a"],
        "properties": {"a": {"type": "string"}}}, {"$ref": "#/components/schemas/Odd~0~1name%7B%7D"}]}),
        json!({}),
    );
    optional["requestBody"]["required"] = json!(false);
    assert_eq!(
        gateway_of("post", "/x", optional).unwrap(),
        json!({"encoding": "form", "body": {"a": "body.a", "x": "body.x"}})
    );
    let text = json!({"type": "string"});
    for (media, schema, expected) in [
        (
            "application/merge-patch+json",
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"headers": {"Content-Type": {"value": "application/merge-patch+json"}}, "body": {"a": "a"}}),
        ),
        (
            "text/x-markdown",
            text.clone(),
            json!({"headers": {"Content-Type": {"value": "text/x-markdown"}}, "bodyFrom": "body", "encoding": "text"}),
        ),
        (
            "image/png",
            json!({}),
            json!({"headers": {"Content-Type": {"value": "image/png"}}, "bodyFrom": "body", "encoding": "base64"}),
        ),
        ("*/*", json!({"type": "array"}), json!({"bodyFrom": "body"})),
    ] {
        assert_eq!(gateway_of("post", "/x", body(media, schema, json!({}))).unwrap(), expected);
    }
    for media in ["multipart/form-data", "application/xml"] {
        for required in [true, false] {
            let mut operation = body(media, order.clone(), json!({}));
            operation["requestBody"]["required"] = json!(required);
            assert_eq!(
                gateway_of("post", "/x", operation).unwrap_err(),
                format!(
                    "post_/x: its body is `{media}`, and JSON, forms, text and plain bytes are what \
                         haft sends; write a handler for it"
                )
            );
        }
    }
    let cookie =
        json!({"parameters": [{"name": "c", "in": "cookie", "required": true, "schema": text}]});
    assert_eq!(
        gateway_of("get", "/x", cookie).unwrap_err(),
        "get_/x: its cookie parameter `c` is required, and cookies are not sent"
    );
}

#[test]
fn an_answer_is_read_as_its_media_type_says() {
    let of = |responses: Value| gateway_of("get", "/x", json!({ "responses": responses }));
    let says = |media: &str, schema: Value| json!({"content": {media: {"schema": schema}}});
    let text = || json!({"type": "string"});
    assert_eq!(of(json!({"200": says("text/html", text())})).unwrap(), json!({"response": "text"}));
    assert_eq!(
        of(json!({"200": says("application/vnd.api+json", json!({}))})).unwrap(),
        json!({"headers": {"Accept": {"value": "application/vnd.api+json"}}})
    );
    assert_eq!(of(json!({"200": says("*/*", json!({"type": "object"}))})).unwrap(), json!({}));
    assert_eq!(
        of(json!({"302": {"description": "Elsewhere."}})).unwrap(),
        json!({"response": "text", "redirects": 1})
    );
    assert_eq!(
        of(json!({"200": says("image/png", json!({"type": "string", "format": "binary"}))}))
            .unwrap_err(),
        "get_/x: its result is `image/png`, which is no text; write a handler for it"
    );
}

#[test]
fn a_result_is_one_of_the_successes() {
    let json = |schema: Value| json!({"content": {"application/json": {"schema": schema}}});
    for (responses, expected) in [
        (json!({"204": {}}), None),
        (json!({"200": json(json!({"type": "array"}))}), Some(json!({"type": "array"}))),
        (
            json!({"200": json(json!({"type": "array"})), "202": {}, "203": json(json!({"type": "array"}))}),
            Some(json!({"anyOf": [{"type": "array"}, {"type": "null"}]})),
        ),
    ] {
        let document = json!({
            "openapi": "3.1.0", "servers": [{"url": "https://h.example"}],
            "paths": {"/x": {"post": {"responses": responses}}}
        });
        let import = openapi(&document.to_string(), Given::default()).unwrap();
        assert_eq!(contract(&import, "post-x").get("output").cloned(), expected, "{document}");
    }
}

#[test]
fn a_provider_can_be_given() {
    let connection = |import: &Import, folder: &str| contract(import, folder)["connection"].clone();
    let given = Given { provider: Some("github"), base_url: None };
    let import = openapi(GARDEN, given).unwrap();
    let expected = json!({"provider": "github", "hosts": ["eu.garden.example"], "required": true});
    assert_eq!(connection(&import, "listPlants"), expected);
    assert_eq!(connection(&import, "put-notes")["required"], json!(false));
    let silent = json!({
        "openapi": "3.0.3", "servers": [{"url": "https://h.example"}],
        "paths": {"/x": {"get": {}}, "/open": {"get": {"security": []}}}
    });
    let import = openapi(&silent.to_string(), given).unwrap();
    let expected = json!({"provider": "github", "hosts": ["h.example"], "required": true});
    assert_eq!(connection(&import, "get-x"), expected);
    assert_eq!(connection(&import, "get-open"), json!(null));
    let assumed = contract(&import, "get-x")["origin"]["assumed"].clone();
    assert!(assumed.as_array().unwrap().contains(&json!("connection")), "{assumed}");
    let import = openapi(&silent.to_string(), Given::default()).unwrap();
    assert_eq!(connection(&import, "get-x"), json!(null));
    let about = import.report.entries.iter().find(|entry| entry.source == "security").unwrap();
    assert!(about.what.contains("`--provider NAME`"), "{about:?}");
}
