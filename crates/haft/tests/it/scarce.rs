//! Little memory, few threads, a part of a processor: degraded, never wrong.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::thread;

use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::{service, shop};

const CALLS: &str = "/v1/agents/default/calls";
const MIB: u64 = 1 << 20;

/// A shop with a tool that orders (`buy`) and one that only looks (`greet`).
fn stall() -> (Project, Receiver<String>) {
    let (port, seen) = service();
    let project = shop(port, "", "leave_s = 0");
    let made = project.run(&["new", "greet", "--toolset", "api"]);
    assert_eq!(made.code, 0, "{made:?}");
    (project, seen)
}

/// `haft serve` under a limit of the shell's, with its log in a file.
fn limited(project: &Project, limit: &str) -> Command {
    let mut command = Command::new("sh");
    let haft = env!("CARGO_BIN_EXE_haft");
    let line = format!("{limit} && exec '{haft}' serve --listen 127.0.0.1:0");
    let log = File::options().create(true).append(true).open(project.folder.join("server.log"));
    command.current_dir(&project.folder).args(["-c", &line]).stderr(Stdio::from(log.unwrap()));
    command
}

fn order(key: &str) -> Value {
    json!({"tool": "buy", "arguments": {"item": key}, "idempotency_key": key})
}

/// What was heard under all limits.
#[derive(Default)]
struct Heard {
    /// Keys of which somebody was told that it is done.
    done: Vec<String>,
    /// How many looks were answered.
    looks: usize,
    served: usize,
    unstarted: usize,
}

impl Heard {
    /// Looks and orders a few times, each order twice at once under one key.
    fn try_out(&mut self, server: &Server, name: &str) {
        self.served += 1;
        for at in 0..4 {
            let look = json!({"tool": "greet", "arguments": {"text": "a b"}});
            match told(server, look, name) {
                Some(answer) if answer["ok"] == true => {
                    assert_eq!(answer["data"], json!({"words": 2}), "{name}: {answer}");
                    self.looks += 1;
                }
                _ => {}
            }
            let key = format!("{name}-{at}");
            let both = thread::scope(|scope| {
                let sent = [0, 1].map(|_| scope.spawn(|| told(server, order(&key), name)));
                sent.map(|one| one.join().unwrap())
            });
            if both.iter().flatten().any(|answer| answer["ok"] == true) {
                self.done.push(key);
            }
        }
    }

    /// With room again: what was said to be done is there, once, and is not done again.
    fn holds(self, project: &Project, seen: &Receiver<String>) {
        assert!(!self.done.is_empty() && self.looks > 0, "nothing was done at all");
        let verified = project.run(&["audit", "verify"]);
        assert_eq!(verified.code, 0, "{verified:?}");
        let mut ordered: Vec<String> = seen.try_iter().collect();
        let times = |ordered: &[String], key: &str| {
            ordered.iter().filter(|one| one.ends_with(&format!("{{\"item\":\"{key}\"}}"))).count()
        };
        let server = Server::start(project);
        for key in &self.done {
            assert_eq!(times(&ordered, key), 1, "{key}: {ordered:?}");
            let (_, again) = server.send("POST", CALLS, Some(order(key))).unwrap();
            assert_eq!(
                (&again["ok"], &again["meta"]["cached"]),
                (&json!(true), &json!(true)),
                "{again}"
            );
        }
        server.stop();
        ordered.extend(seen.try_iter());
        ordered.sort_unstable();
        let all = ordered.len();
        ordered.dedup();
        assert_eq!(ordered.len(), all, "something was ordered twice");
    }
}

/// What a call is told. Whoever is not answered has been promised nothing; a refusal is one of ours.
fn told(server: &Server, call: Value, name: &str) -> Option<Value> {
    let (status, answer) = server.send("POST", CALLS, Some(call)).ok()?;
    if answer["ok"].is_null() {
        assert!(status == 0 || status >= 400, "{name}: {status} {answer}");
    }
    Some(answer)
}

/// Nothing in it gave up on itself.
fn no_panic(project: &Project) {
    let log = project.read("server.log");
    let panicked: Vec<&str> = log.lines().filter(|line| line.contains("panicked")).collect();
    assert!(panicked.is_empty(), "{panicked:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn with_little_address_space_it_does_less_and_nothing_wrong() {
    let (project, seen) = stall();
    let mut heard = Heard::default();
    for mib in [64, 128, 256, 384, 512, 768, 1024, 2048, 4096] {
        let limit = format!("ulimit -v {}", mib * MIB / 1024);
        match Server::started(&project, limited(&project, &limit)) {
            Some(server) => {
                heard.try_out(&server, &mib.to_string());
                server.kill();
            }
            None => heard.unstarted += 1,
        }
    }
    assert!(heard.served > 0 && heard.served + heard.unstarted == 9);
    heard.holds(&project, &seen);
}

/// A log that may not become longer is a disk that fails, and not the end of whoever writes it.
#[cfg(target_os = "linux")]
#[test]
fn where_files_may_not_become_long_it_refuses_effects_and_goes_on() {
    let (project, seen) = stall();
    let (server, mut heard) = (Server::start(&project), Heard::default());
    heard.try_out(&server, "before");
    server.stop();
    let server = Server::started(&project, limited(&project, "ulimit -f 1600")).unwrap();
    let refused = (0..400).find_map(|at| {
        let key = format!("short-{at}");
        let answer = told(&server, order(&key), &key).expect("it is there");
        if answer["ok"] == true {
            heard.done.push(key);
            return None;
        }
        Some(answer)
    });
    let refused = refused.expect("the log became as long as it liked");
    let kind = refused["error"]["kind"].as_str().unwrap_or_default();
    assert!(["store_unavailable", "unknown_outcome"].contains(&kind), "{refused}");
    let (status, effects) = server.send("GET", "/v1/effects", None).unwrap();
    assert_eq!(status, 200, "{effects}");
    server.kill();
    no_panic(&project);
    heard.holds(&project, &seen);
}

/// A limit on processes does not bind root, and counts whatever else its user runs. So each thread gets a
/// stack so large that only so many fit into the address space; everything else has room.
#[cfg(target_os = "linux")]
#[test]
fn with_few_threads_it_does_less_and_nothing_wrong() {
    const STACK: u64 = 1024 * MIB;
    const REST: u64 = 2048 * MIB;
    let (project, seen) = stall();
    let mut heard = Heard::default();
    for threads in (0..=14).chain([24]) {
        let kib = (REST + threads * STACK) / 1024;
        let limit = format!("export RUST_MIN_STACK={STACK} && ulimit -v {kib}");
        let Some(server) = Server::started(&project, limited(&project, &limit)) else {
            heard.unstarted += 1;
            continue;
        };
        let running = format!("/proc/{}/task", server.id());
        let running = std::fs::read_dir(running).map(Iterator::count).unwrap_or_default() as u64;
        assert!(running <= threads + 2, "{running} run where {threads} should fit");
        heard.try_out(&server, &format!("threads-{threads}"));
        server.tell("-TERM");
        assert_eq!(server.ended(), Some(0), "{threads} threads");
    }
    assert!(heard.unstarted > 0, "threads were never too few");
    no_panic(&project);
    // What did not start said why.
    let log = project.read("server.log");
    let said = log.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>();
    assert_eq!(said.len(), heard.unstarted, "{said:#?}");
    assert!(said.iter().all(|line| line.contains("thread")), "{said:#?}");
    heard.holds(&project, &seen);
}

/// Lets a process run for a tenth of the time only, whoever runs it and on whatever machine.
#[cfg(target_os = "linux")]
struct Tenth {
    of: u32,
    shell: std::process::Child,
}

#[cfg(target_os = "linux")]
impl Tenth {
    fn of(of: u32) -> Self {
        let line = "while kill -STOP $0; do sleep 0.09; kill -CONT $0; sleep 0.01; done";
        let mut command = Command::new("sh");
        command.args(["-c", line, &of.to_string()]).stderr(Stdio::null());
        Self { of, shell: command.spawn().unwrap() }
    }

    /// Runs (`R`), waits (`S`), is stopped (`T`), or has ended and nobody has asked how (`Z`).
    fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.of)).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Tenth {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        let _ = Command::new("kill").args(["-CONT", &self.of.to_string()]).status();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn with_a_tenth_of_a_processor_it_is_slower_and_not_wrong() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (project, seen) = stall();
    let server = Server::started(&project, limited(&project, "true")).unwrap();
    let tenth = Tenth::of(server.id());
    let is_over = AtomicBool::new(false);
    let (all, states) = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut states = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                states.extend(tenth.state());
                thread::sleep(std::time::Duration::from_millis(1));
            }
            states
        });
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let server = &server;
                scope.spawn(move || {
                    let mut heard = Heard::default();
                    (0..3).for_each(|round| heard.try_out(server, &format!("{client}-{round}")));
                    heard
                })
            })
            .collect();
        let all: Vec<Heard> = clients.into_iter().map(|one| one.join().unwrap()).collect();
        is_over.store(true, Ordering::Relaxed);
        (all, watching.join().unwrap())
    });
    let stopped = states.iter().filter(|state| **state == 'T').count();
    assert!(stopped * 2 > states.len(), "it was stopped {stopped} times of {}", states.len());
    server.tell("-TERM");
    // As slow as it is, it ends by itself.
    while tenth.state().is_some_and(|state| state != 'Z') {
        thread::yield_now();
    }
    drop(tenth);
    assert_eq!(server.ended(), Some(0));
    no_panic(&project);
    let mut heard = Heard::default();
    for one in all {
        heard.done.extend(one.done);
        heard.looks += one.looks;
    }
    // A little late is not too late.
    assert_eq!((heard.done.len(), heard.looks), (48, 48));
    heard.holds(&project, &seen);
}
