//! A service on this machine that remembers what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::project::Project;

/// Answers every request with an empty object, and passes on what it was sent.
pub(crate) fn service() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, seen) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            if send.send(request(&mut stream)).is_err() {
                return;
            }
            let _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                  connection: close\r\n\r\n{}",
            );
        }
    });
    (port, seen)
}

/// A project with a tool that orders something from a service at this port, and what else its
/// `haft.toml` says of policy and server.
pub(crate) fn shop(port: u16, policy: &str, server: &str) -> Project {
    let project = Project::new();
    let item = json!({"type": "object", "required": ["item"], "additionalProperties": false,
        "properties": {"item": {"type": "string"}}});
    let document = json!({"openapi": "3.1.0", "servers": [{"url": format!("http://127.0.0.1:{port}")}],
        "paths": {"/orders": {"post": {"operationId": "buy", "requestBody": {"required": true,
            "content": {"application/json": {"schema": item}}}}}}});
    project.write("api.json", &document.to_string());
    let toml = format!(
        "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n{policy}\n[http]\nallow = [\"127.0.0.1\"]\n\
         [server]\nlog = \"json\"\n{server}\n"
    );
    project.write("haft.toml", &toml);
    let said = project.run(&["import", "api.json", "--toolset", "api"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    // Whether a person is asked is for the policy to say.
    let contract = "api/tools/buy/schema.json";
    let mut said: Value = serde_json::from_str(&project.read(contract)).unwrap();
    said["requiresConfirmation"] = json!(false);
    project.write(contract, &said.to_string());
    project
}

fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "the request breaks off: {text}");
        bytes.extend_from_slice(&part[..read]);
    }
}
