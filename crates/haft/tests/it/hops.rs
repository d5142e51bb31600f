//! Two servers whose tools call each other.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::{listen, request};

const CALLS: &str = "/v1/agents/default/calls";

/// Passes requests on to an address that is not known yet, and tells of both sides.
fn passing_on(to: Arc<OnceLock<String>>) -> (u16, Receiver<(String, String)>) {
    let (port, listener) = listen();
    let (send, seen) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = request(&mut stream) else { continue };
            let mut other = TcpStream::connect(to.get().unwrap()).unwrap();
            other.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            other.read_to_string(&mut answer).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            if send.send((request, answer)).is_err() {
                return;
            }
        }
    });
    (port, seen)
}

/// A project with one tool, `relay`, that makes a call at another server, with that server's key.
fn relaying(port: u16, key_file: &Path) -> Project {
    let project = Project::new();
    let text = json!({"type": "string"});
    let call = json!({"type": "object", "additionalProperties": false,
        "required": ["tool", "arguments", "idempotency_key"],
        "properties": {"tool": text, "arguments": text, "idempotency_key": text}});
    let document = json!({"openapi": "3.1.0", "servers": [{"url": format!("http://127.0.0.1:{port}")}],
        "paths": {(CALLS): {"post": {"operationId": "relay", "requestBody": {"required": true,
            "content": {"application/json": {"schema": call}}}}}}});
    project.write("api.json", &document.to_string());
    project.write(
        "haft.toml",
        &format!(
            "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n[http]\nallow = [\"127.0.0.1\"]\n\
             [server]\nlog = \"json\"\n[[tenants]]\nid = \"default\"\n\
             [[agents]]\nid = \"default\"\ntenant = \"default\"\nconnections = {{ peer = \"peer\" }}\n\
             [[connections.accounts]]\nid = \"peer\"\nprovider = \"peer\"\nkind = \"bearer\"\n\
             hosts = [\"127.0.0.1\"]\nsecret_file = \"{}\"\n\
             [[grants]]\ntenant = \"default\"\nconnection = \"peer\"\nprovider = \"peer\"\nprincipals = [\"*\"]\n\
             tools = [\"*\"]\n",
            key_file.display()
        ),
    );
    let said = project.run(&["import", "api.json", "--toolset", "api", "--provider", "peer"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    let file = "api/tools/relay/schema.json";
    let unasked = project.read(file).replace("Confirmation\": true", "Confirmation\": false");
    project.write(file, &unasked);
    project
}

/// Has `relay` call what is inside.
fn relay(inner: &Value) -> Value {
    let arguments = inner["arguments"].to_string();
    json!({"tool": "relay", "idempotency_key": "outer", "arguments": {
        "tool": inner["tool"], "arguments": arguments, "idempotency_key": "inner"}})
}

#[test]
fn a_call_that_comes_back_through_another_server_is_refused() {
    let back = Arc::new(OnceLock::new());
    let (port, seen) = passing_on(back.clone());
    let place = Project::new();
    let other = relaying(port, &place.folder.join("key"));
    let far = Server::start(&other);
    let own = relaying(far.port(), &other.folder.join(".haft/admin.key"));
    let near = Server::start(&own);
    place.write("key", own.read(".haft/admin.key").trim());
    back.set(format!("127.0.0.1:{}", near.port())).unwrap();

    // From the other server alone it arrives: what is refused below is refused for where it came from.
    let last = json!({"tool": "nothing_like_that", "arguments": {}});
    far.send("POST", CALLS, Some(relay(&last))).unwrap();
    let (request, answer) = seen.recv().unwrap();
    assert!(!answer.starts_with("HTTP/1.1 508"), "{request}\n{answer}");
    let (status, told) = near.send("POST", CALLS, Some(relay(&relay(&last)))).unwrap();
    assert_eq!(told["ok"], json!(false), "{status}: {told}");
    let (request, answer) = seen.recv().unwrap();
    assert!(answer.starts_with("HTTP/1.1 508"), "{request}\n{answer}");
    let marks = request.lines().find_map(|line| line.strip_prefix("haft-hop: ")).unwrap();
    let marks: Vec<&str> = marks.split(", ").collect();
    assert!(marks.len() == 2 && marks[0] != marks[1], "{marks:?}");
    assert!(seen.try_recv().is_err(), "nobody tried again");
    let (_, calls) = near.send("GET", "/v1/calls", None).unwrap();
    let tools: Vec<&Value> = calls.as_array().unwrap().iter().map(|one| &one["tool"]).collect();
    assert_eq!(tools.iter().filter(|tool| tool.as_str().unwrap().ends_with("relay")).count(), 1);
    near.stop();
    far.stop();
}
