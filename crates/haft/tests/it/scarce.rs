//! Little memory, few threads: degraded, never wrong.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::{service, shop};

const CALLS: &str = "/v1/agents/default/calls";
const MIB: u64 = 1 << 20;

/// `haft serve` under a limit of the shell's.
fn limited(project: &Project, limit: &str) -> Command {
    let mut command = Command::new("sh");
    let haft = env!("CARGO_BIN_EXE_haft");
    let line = format!("ulimit {limit} && exec '{haft}' serve --listen 127.0.0.1:0");
    command.current_dir(&project.folder).args(["-c", &line]).stderr(Stdio::null());
    command
}

fn order(key: &str) -> Value {
    json!({"tool": "buy", "arguments": {"item": key}, "idempotency_key": key})
}

#[cfg(target_os = "linux")]
#[test]
fn with_little_address_space_it_does_less_and_nothing_wrong() {
    let (port, seen) = service();
    let project = shop(port, "", "");
    let (mut said_done, mut served, mut refused) = (Vec::new(), 0, 0);
    for mib in [64, 128, 256, 384, 512, 768, 1024, 2048, 4096] {
        let limit = format!("-v {}", mib * MIB / 1024);
        let Some(server) = Server::started(&project, limited(&project, &limit)) else {
            refused += 1;
            continue;
        };
        served += 1;
        for at in 0..4 {
            let key = format!("{mib}-{at}");
            // Whoever is not answered has been promised nothing.
            let Ok((status, answer)) = server.send("POST", CALLS, Some(order(&key))) else { break };
            match answer["ok"].as_bool() {
                Some(true) => said_done.push(key),
                Some(false) => {}
                None => assert!(status == 0 || status >= 400, "{mib} MiB: {status} {answer}"),
            }
        }
        server.kill();
    }
    assert!(served > 0 && served + refused == 9, "{served} served, {refused} did not start");
    assert!(!said_done.is_empty(), "nothing was done at all");
    // With room again: what was said to be done is there, once, and is not done again.
    let verified = project.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let mut ordered: Vec<String> = seen.try_iter().collect();
    let times = |ordered: &[String], key: &str| {
        ordered.iter().filter(|one| one.ends_with(&format!("{{\"item\":\"{key}\"}}"))).count()
    };
    let server = Server::start(&project);
    for key in &said_done {
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
