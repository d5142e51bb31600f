//! Tools of an OpenAPI document, called as they were imported; what arrives is compared byte for byte.

use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::project::{Project, Said};
use crate::service::service;

fn document(port: u16) -> Value {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let object = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "additionalProperties": false});
    let form = |schema: Value, encoding: Value| {
        json!({"required": true, "content": {
        "application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}}})
    };
    json!({
        "openapi": "3.1.0",
        "servers": [{"url": format!("http://127.0.0.1:{port}/v1")}],
        "paths": {
            "/search/{ids}/{tags}": {"get": {"operationId": "search", "parameters": [
                {"name": "ids", "in": "path", "required": true, "schema": list},
                {"name": "tags", "in": "path", "required": true, "style": "matrix", "explode": true, "schema": list},
                {"name": "each", "in": "query", "schema": list},
                {"name": "comma", "in": "query", "explode": false, "schema": list},
                {"name": "pipe", "in": "query", "style": "pipeDelimited", "schema": list},
                {"name": "space", "in": "query", "style": "spaceDelimited", "schema": list},
                {"name": "deep", "in": "query", "style": "deepObject", "schema": object},
                {"name": "open", "in": "query", "allowReserved": true, "schema": {"type": "string"}},
                {"name": "filter", "in": "query", "content": {"application/json": {"schema": object}}},
                {"name": "X-Range", "in": "header", "explode": true, "schema": object}
            ]}},
            "/orders": {"put": {"operationId": "order", "requestBody": form(json!({"type": "object",
                "required": ["item[id]"], "properties": {"item[id]": {"type": "string"}, "notes": list,
                    "address": object, "meta": object}}),
                json!({"meta": {"style": "deepObject", "explode": true}}))}},
            "/pages/{page}": {
                "parameters": [{"name": "page", "in": "path", "required": true, "schema": {"type": "integer"}}],
                "put": {"operationId": "write", "requestBody": {"required": true, "content":
                    {"text/x-markdown": {"schema": {"type": "string"}}}}}},
            "/files": {
                "put": {"operationId": "upload", "requestBody": {"required": true, "content":
                    {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}},
                "post": {"operationId": "attach", "requestBody": {"content":
                    {"multipart/form-data": {"schema": object}}}}}
        }
    })
}

/// A project whose calls may go to this machine, with what importing the document said.
fn imported(port: u16) -> (Project, Said) {
    let project = Project::new();
    project.write("api.json", &document(port).to_string());
    project.write(
        "haft.toml",
        "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n[http]\nallow = [\"127.0.0.1\"]\n",
    );
    let said = project.run(&["import", "api.json", "--toolset", "api"]);
    assert_eq!(said.code, 1, "one operation cannot be imported: {said:?}");
    (project, said)
}

/// The request line, a header if it is there, and the body.
fn sent(project: &Project, seen: &Receiver<String>, tool: &str, arguments: &Value) -> String {
    let said = project.run(&[
        "call",
        tool,
        "--args",
        &arguments.to_string(),
        "--toolset",
        "api",
        "--json",
    ]);
    assert_eq!(said.code, 0, "{said:?}");
    let request = seen.recv().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let kept = |line: &&str| line.starts_with("content-type") || line.starts_with("x-range");
    let mut lines: Vec<&str> = head.lines().take(1).collect();
    lines.extend(head.lines().filter(kept));
    lines.push(body);
    lines.join("\n")
}

#[test]
fn imported_tools_send_what_their_document_says() {
    let (port, seen) = service();
    let (project, said) = imported(port);
    assert!(
        said.err.contains("`attach` was not imported: its body is `multipart/form-data`"),
        "{said:?}"
    );
    assert!(said.out.contains("`--provider NAME` gives them one"), "{said:?}");
    for tool in ["order", "write", "upload"] {
        let file = format!("api/tools/{tool}/schema.json");
        let text = project.read(&file);
        let confirmed = "\"requiresConfirmation\": true";
        assert!(text.contains(confirmed), "{text}");
        project.write(&file, &text.replace(confirmed, "\"requiresConfirmation\": false"));
    }
    for (tool, arguments, expected) in [
        (
            "search",
            json!({"ids": ["1", "a/b,c"], "tags": ["x", "y;z"], "each": ["1", "2&3"],
                "comma": ["a,b", "c"], "pipe": ["p", "q"], "space": ["s", "t"],
                "deep": {"a": "x", "b": 2}, "open": "a/b?c=d&e#f", "filter": {"a": "\"", "b": 1},
                "X-Range": {"a": "k", "b": 7}}),
            "GET /v1/search/1,a%2Fb%2Cc/;tags=x;tags=y%3Bz?comma=a%2Cb,c&deep%5Ba%5D=x&deep%5Bb%5D=2&\
             each=1&each=2%263&filter=%7B%22a%22%3A%22%5C%22%22%2C%22b%22%3A1%7D&\
             open=a/b?c=d%26e%23f&pipe=p%7Cq&space=s%20t HTTP/1.1\nx-range: a=k,b=7\n",
        ),
        (
            "order",
            json!({"item_id": "a&b=c", "notes": ["n 1", "n2"], "address": {"a": "Å", "b": 1},
                "meta": {"a": "x"}}),
            "PUT /v1/orders HTTP/1.1\ncontent-type: application/x-www-form-urlencoded\n\
             address=%7B%22a%22%3A%22%C3%85%22%2C%22b%22%3A1%7D&item%5Bid%5D=a%26b%3Dc&\
             meta%5Ba%5D=x&notes=n%201&notes=n2",
        ),
        (
            "write",
            json!({"page": 3, "body": "# Title\n"}),
            "PUT /v1/pages/3 HTTP/1.1\ncontent-type: text/x-markdown\n# Title\n",
        ),
        (
            "upload",
            json!({"body": "aGVsbG8KAA=="}),
            "PUT /v1/files HTTP/1.1\ncontent-type: application/octet-stream\nhello\n\0",
        ),
    ] {
        assert_eq!(sent(&project, &seen, tool, &arguments), expected, "{tool}");
    }
}

#[test]
fn what_no_request_can_be_made_of_is_nobodys_to_approve() {
    let (port, seen) = service();
    let (project, _) = imported(port);
    let call = |body: &str, more: &[&str]| {
        let arguments = json!({"body": body}).to_string();
        let call = ["call", "upload", "--args", &arguments, "--toolset", "api", "--json"];
        let (_, envelope) = project.json(&[&call, more].concat());
        envelope["error"].clone()
    };
    let asked = || {
        let (_, all) = project.json(&["confirmations", "--json"]);
        all.as_array().unwrap().len()
    };
    for bad in ["not base64!", "aGVsbG8", "aGVsbG8=\n"] {
        for more in [&[][..], &["--dry-run"]] {
            let error = call(bad, more);
            assert_eq!(error["kind"], "invalid_arguments", "{bad:?} {more:?}: {error}");
            assert!(error["message"].as_str().unwrap().contains("base64"), "{error}");
        }
    }
    assert_eq!(asked(), 0);
    assert_eq!(call("aGVsbG8=", &[])["kind"], "confirmation_required");
    assert_eq!(asked(), 1);
    assert!(seen.try_recv().is_err(), "nothing was sent");
}

#[test]
fn a_provider_is_a_name_and_belongs_to_requests() {
    let project = Project::new();
    project.write("api.json", &document(1).to_string());
    project.write("functions.json", r#"{"name": "f", "parameters": {}}"#);
    let import = |arguments: &[&str]| {
        project.run(&[&["import", "--toolset", "api", "--dry-run"], arguments].concat())
    };
    assert_eq!(import(&["api.json", "--provider", "a b"]).code, 2);
    let said = import(&["functions.json", "--provider", "github"]);
    assert!(said.code != 0 && said.err.contains("`--provider` is for OpenAPI"), "{said:?}");
    let said = import(&["api.json", "--provider", "github", "--json"]);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let about =
        |entry: &&Value| entry["what"].as_str().unwrap().contains("the connection `github`");
    assert_eq!(report["entries"].as_array().unwrap().iter().filter(about).count(), 4, "{report}");
}

#[test]
fn proxies_of_the_environment_are_not_asked() {
    let (port, seen) = service();
    let (proxy, asked) = service();
    let (project, _) = imported(port);
    let proxy = format!("http://127.0.0.1:{proxy}");
    let mut command = project.command();
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
    {
        command.env(name, &proxy);
    }
    let arguments = json!({"ids": ["1"], "tags": ["x"]}).to_string();
    command.args(["call", "search", "--args", &arguments, "--toolset", "api"]).env("NO_PROXY", "");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(seen.recv().unwrap().starts_with("GET /v1/search/1/;tags=x HTTP/1.1\r\n"));
    assert!(asked.try_recv().is_err(), "nobody asked the proxy");
}
