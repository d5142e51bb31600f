//! `haft mcp` that is told to stop: what has begun is finished and on record.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::project::Project;
use crate::service::shop;

/// A client of `haft mcp`.
struct Client {
    child: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn start(project: &Project) -> Self {
        let mut command = project.command();
        command.arg("mcp").stderr(Stdio::null());
        Self::started(command)
    }

    fn started(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut client = Self { child, to, from: BufReader::new(from).lines() };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        client.send(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(client.next().unwrap()["id"], 0);
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: Value) {
        writeln!(self.to, "{message}").unwrap();
    }

    /// What there is to call.
    fn tools(&mut self) -> Vec<String> {
        self.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
        let listed = self.next().unwrap();
        let tools = listed["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    fn buys(&mut self) {
        let params = json!({"name": "buy", "arguments": {"item": "lamp"}});
        self.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    }

    /// What it says next; none when it has ended.
    fn next(&mut self) -> Option<Value> {
        self.from.next().map(|line| serde_json::from_str(&line.unwrap()).unwrap())
    }

    fn tell(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Its end, while its client still holds both of its ends.
    fn ended(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// A service that takes requests, and leaves it to the test when each is answered.
fn slow() -> (u16, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, seen) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            // A client that is answered before it has asked asks again.
            let _ = stream.peek(&mut [0]);
            if send.send(stream).is_err() {
                return;
            }
        }
    });
    (port, seen)
}

fn effects(project: &Project) -> Value {
    project.json(&["effects", "--json"]).1
}

#[test]
fn told_to_stop_it_finishes_what_it_has_begun_and_the_same_call_finds_it() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let (port, seen) = slow();
        let project = shop(port, "", "");
        let mut client = Client::start(&project);
        client.buys();
        let mut held = seen.recv_timeout(Duration::from_secs(60)).unwrap();
        client.tell(signal);
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
        held.write_all(answer.as_bytes()).unwrap();
        let told = client.next().unwrap();
        assert_eq!((&told["id"], &told["result"]["isError"]), (&json!(1), &json!(false)), "{told}");
        assert_eq!((client.next(), client.ended()), (None, Some(0)), "{signal}");
        assert_eq!(effects(&project)[0]["state"], "succeeded", "{signal}");
        let mut again = Client::start(&project);
        again.buys();
        let told = again.next().unwrap();
        assert_eq!(told["result"]["_meta"]["haft/replayed"], true, "{signal}: {told}");
        assert!(seen.try_recv().is_err(), "it was ordered twice");
        again.tell(signal);
        assert_eq!(again.ended(), Some(0), "{signal}, with nothing to finish");
    }
}

#[test]
fn told_twice_it_leaves_an_effect_as_nobody_knows_it() {
    let (port, seen) = slow();
    let project = shop(port, "", "");
    let mut client = Client::start(&project);
    client.buys();
    let held = seen.recv_timeout(Duration::from_secs(60)).unwrap();
    // Two that come at once may be one.
    while client.child.try_wait().unwrap().is_none() {
        client.tell("-TERM");
    }
    assert_eq!(client.ended(), Some(1), "an effect was left");
    drop(held);
    // The next one takes it over.
    drop(Client::start(&project));
    assert_eq!(effects(&project)[0]["state"], "unknown");
}

/// The command for MCP clients that a server prints when it starts with these arguments.
fn printed(project: &Project, arguments: &[&str]) -> String {
    let mut command = project.command();
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line.starts_with("connect an MCP client")).unwrap();
    let command = lines.next().unwrap();
    let _ = child.kill();
    child.wait().unwrap();
    command
}

#[test]
fn the_command_that_a_server_prints_serves_the_same_from_any_folder() {
    // Without a file in it, a folder is looked for in those around it: the checkout's, say.
    let outside = std::env::temp_dir();
    for (file, arguments) in [
        (Some("toolset = \".\"\n[policy]\nallow = [\"shop__*\"]\n"), &[][..]),
        (Some("[policy]\nallow = [\"shop__*\"]\n"), &[]),
        (Some("toolset = \"other\"\n[policy]\nallow = [\"shop__*\"]\n"), &["--toolset", "."]),
        (Some("[policy]\nallow = [\"shop__*\"]\n"), &["--registry", "built.json"]),
        (None, &[]),
    ] {
        let project = Project::at(outside.clone());
        assert_eq!(project.run(&["build", "--out", "built.json"]).code, 0);
        match file {
            Some(text) => project.write("haft.toml", text),
            None => std::fs::remove_file(project.folder.join("haft.toml")).unwrap(),
        }
        let line = printed(&project, arguments);
        let mut command = Command::new("sh");
        command.current_dir(&outside).args(["-c", &line]).stderr(Stdio::null());
        let mut client = Client::started(command);
        let mut tools = client.tools();
        tools.retain(|tool| !tool.starts_with("haft__"));
        // Without a file, no policy lets anybody use them; the bundled example has one.
        let expected = if file.is_some() { &["shop__greet", "shop__order"][..] } else { &[] };
        assert_eq!(tools, expected, "{line}");
        assert!(project.folder.join(".haft/haft.db").exists(), "{line}");
        drop(client.to);
        client.child.wait().unwrap();
    }
}

#[test]
fn a_subject_that_nobody_may_act_for_is_warned_of() {
    let delegation = "[[delegations]]\ntenant = \"default\"\nactor = \"agent:default\"\n\
                      subject = \"user:mara\"\ntools = [\"shop__*\"]\n";
    for (file, subject, is_warned) in [
        ("", "user:mara", true),
        ("", "agent:default", false),
        (&format!("{delegation}until = \"2999-01-01T00:00:00Z\"\n"), "user:mara", false),
        (&format!("{delegation}until = \"2999-01-01T00:00:00Z\"\n"), "user:eve", true),
        (&format!("{delegation}until = \"2020-01-01T00:00:00Z\"\n"), "user:mara", true),
    ] {
        let project = Project::new();
        project.write("haft.toml", &format!("{}{file}", project.read("haft.toml")));
        let said = project.fed(&["mcp", "--subject", subject], b"");
        assert_eq!(said.err.contains("no delegation"), is_warned, "{subject}: {said:?}");
    }
}
