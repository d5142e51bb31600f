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
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
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
            if send.send(stream.unwrap()).is_err() {
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
