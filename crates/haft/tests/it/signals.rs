//! Signals: any of them, once, twice and three times, and while there is work.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::shop;

const CALLS: &str = "/v1/agents/default/calls";

/// A service that takes a request and never answers, and says when it has one.
fn silent() -> (u16, Receiver<TcpStream>) {
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

fn intact(project: &Project) {
    let verified = project.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn whichever_signal_and_however_often_it_ends_in_order() {
    let project = Project::new();
    for signal in ["-TERM", "-INT", "-HUP"] {
        for times in 1..=3 {
            let server = Server::start(&project);
            let body = json!({"tool": "greet", "arguments": {"text": "a"}});
            assert_eq!(server.send("POST", CALLS, Some(body)).unwrap().0, 200);
            for _ in 0..times {
                server.tell(signal);
            }
            assert_eq!(server.ended(), Some(0), "{signal}, {times} times");
            intact(&project);
        }
    }
}

/// As `nohup` starts it: the terminal goes, the server stays.
#[cfg(target_os = "linux")]
#[test]
fn a_server_that_is_to_outlive_its_terminal_does() {
    let project = Project::new();
    let mut command = Command::new("sh");
    command.current_dir(project.command().get_current_dir().unwrap());
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(project.command().get_program());
    command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::null());
    let server = Server::started(&project, command).unwrap();
    let call = || {
        let body = json!({"tool": "greet", "arguments": {"text": "a"}});
        assert_eq!(server.send("POST", CALLS, Some(body)).unwrap().0, 200);
    };
    call();
    // It serves, so it listens for whatever it listens for. A signal that is ignored is gone at once.
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    assert_eq!(
        u64::from_str_radix(caught.trim(), 16).unwrap() & 1,
        0,
        "SIGHUP is caught: {status}"
    );
    server.tell("-HUP");
    call();
    server.stop();
    intact(&project);
}

#[test]
fn told_while_it_drains_it_leaves_an_effect_as_nobody_knows_it() {
    let (port, seen) = silent();
    let project = shop(port, "", "leave_s = 0");
    let server = Server::start(&project);
    let body = json!({"tool": "buy", "arguments": {"item": "lamp"}, "idempotency_key": "k"});
    let text = body.to_string();
    let mut open = TcpStream::connect(server.address()).unwrap();
    write!(
        open,
        "POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
        project.read(".haft/admin.key").trim(),
        text.len()
    )
    .unwrap();
    let held = seen.recv_timeout(Duration::from_secs(60)).unwrap();
    server.tell("-TERM");
    // It takes nobody in any more, and waits for the effect.
    while TcpStream::connect(server.address()).is_ok() {
        std::thread::yield_now();
    }
    for signal in ["-HUP", "-TERM", "-INT"] {
        server.tell(signal);
    }
    assert_eq!(server.ended(), Some(1), "an effect was left, and its request");
    drop(held);
    intact(&project);
    // The next one takes it over, and does not order again.
    let server = Server::start(&project);
    let effect = loop {
        let (_, found) = server.send("GET", "/v1/effects", None).unwrap();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
        if found[0]["state"] != "started" {
            break found[0].clone();
        }
        std::thread::yield_now();
    };
    assert_eq!(effect["state"], "unknown", "{effect}");
    let (_, again): (u16, Value) = server.send("POST", CALLS, Some(body)).unwrap();
    assert_eq!(again["error"]["kind"], "unknown_outcome", "{again}");
    assert!(seen.try_recv().is_err(), "it was ordered twice");
    server.stop();
    intact(&project);
}
