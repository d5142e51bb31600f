//! A service on this machine that remembers what it was sent.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};

use crate::project::Project;

/// A port of this machine that nobody else has.
pub(crate) fn listen() -> (u16, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    (listener.local_addr().unwrap().port(), listener)
}

/// Answers every request with an empty object, and passes on what it was sent.
pub(crate) fn service() -> (u16, Receiver<String>) {
    answering("200 OK", "{}".to_owned())
}

/// The same with another answer.
pub(crate) fn answering(status: &'static str, body: String) -> (u16, Receiver<String>) {
    let (port, listener) = listen();
    let (send, seen) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let Some(request) = request(&mut stream) else { continue };
            if send.send(request).is_err() {
                return;
            }
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
                 connection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(body.as_bytes());
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

/// Answers every request with a cookie, and keeps connections open for more. Passes on the number of the
/// connection with what came over it.
pub(crate) fn keeping_service() -> (u16, Receiver<(usize, String)>) {
    let (port, listener) = listen();
    let (send, seen) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (mut stream, send) = (stream.unwrap(), send.clone());
            thread::spawn(move || {
                while let Some(request) = request(&mut stream) {
                    let _ = send.send((number, request));
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
                         connection: keep-alive\r\nset-cookie: visit={number}; Path=/\r\n\r\n{{}}"
                    );
                    let _ = stream.write_all(answer.as_bytes());
                }
            });
        }
    });
    (port, seen)
}

/// The next request; none where the connection ends instead.
pub(crate) fn request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(text);
            }
        }
        let read = stream.read(&mut part).unwrap_or(0);
        if read == 0 && text.is_empty() {
            return None;
        }
        assert!(read > 0, "the request breaks off: {text}");
        bytes.extend_from_slice(&part[..read]);
    }
}
