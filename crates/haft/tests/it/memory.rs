//! What stays in a server's memory of the secrets that its calls were made with.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::BufRead as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::json;

use crate::project::Project;
use crate::server::Server;
use crate::service::service;

/// How often a secret, and what is sent of it, stands in memory where nothing is under way: once in the table of
/// what is taken out of texts. Making the search for it may leave one more.
const IN_TABLE: usize = 2;

/// Before the first look, so that everything that is made once has been made.
const WARM: usize = 32;
const CALLS: usize = 400;
const AT_ONCE: usize = 4;

/// Kinds of connections with what they need beside the secret; each is an agent's.
const KINDS: [(&str, &[&str]); 4] = [
    ("bearer", &[]),
    ("header", &["--name", "x-key"]),
    ("query", &["--name", "key"]),
    ("basic", &["--user", "mara"]),
];

/// Begins with a character that is rare in memory, so that it is found quickly.
fn secret(kind: &str) -> String {
    format!("~canary~{kind}~7Qd0xW5vRk")
}

/// The secret as requests carry it, where that is not the secret itself.
fn sent(kind: &str) -> String {
    match kind {
        // `mara:~canary~basic~7Qd0xW5vRk`
        "basic" => "bWFyYTp+Y2FuYXJ5fmJhc2ljfjdRZDB4VzV2Ums".to_owned(),
        kind => secret(kind),
    }
}

fn set_up(port: u16) -> Project {
    let project = Project::new();
    let document = json!({"openapi": "3.1.0", "servers": [{"url": format!("http://127.0.0.1:{port}")}],
        "paths": {"/me": {"get": {"operationId": "me"}}}});
    project.write("api.json", &document.to_string());
    let agents = KINDS.map(|(kind, _)| {
        format!("[[agents]]\nid = \"{kind}\"\ntenant = \"default\"\nconnections = {{ tracker = \"{kind}\" }}\n")
    });
    let config = "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n[http]\nallow = [\"127.0.0.1\"]\n\
        [server]\nlog = \"json\"\n[[tenants]]\nid = \"default\"\n";
    project.write("haft.toml", &format!("{config}{}", agents.concat()));
    let said = project.run(&["import", "api.json", "--toolset", "api", "--provider", "tracker"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    for (kind, more) in KINDS {
        let add = ["connections", "add", kind, "--provider", "tracker", "--kind", kind];
        let said = project
            .fed(&[&add, &["--host", "127.0.0.1"][..], more].concat(), secret(kind).as_bytes());
        assert_eq!(said.code, 0, "{said:?}");
        let said = project.run(&["connections", "grant", kind, "--to", "*", "--tools", "*"]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    project
}

/// Calls of each agent, some of them at once.
fn call(server: &Server<'_>, times: usize) {
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                for at in 0..times / AT_ONCE {
                    let (kind, _) = KINDS[at % KINDS.len()];
                    let path = format!("/v1/agents/{kind}/calls");
                    let body = json!({"tool": "me", "arguments": {}});
                    let (status, told) = server.send("POST", &path, Some(body)).unwrap();
                    assert_eq!((status, &told["ok"]), (200, &json!(true)), "{told}");
                }
            });
        }
    });
}

/// The memory of a process that can be written to and is really there, run by run.
fn memory(id: u32) -> Vec<Vec<u8>> {
    const PAGE: u64 = 4096;
    let maps = std::fs::read_to_string(format!("/proc/{id}/maps")).unwrap();
    let open = |name: &str| File::open(format!("/proc/{id}/{name}")).unwrap();
    let (bytes, pages) = (open("mem"), open("pagemap"));
    let mut found = Vec::new();
    for line in maps.lines() {
        let mut words = line.split(' ');
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        if !rights.starts_with("rw") {
            continue;
        }
        let (start, end) = range.split_once('-').unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap() / PAGE;
        let (start, end) = (number(start), number(end));
        let mut about = vec![0; usize::try_from((end - start) * 8).unwrap()];
        if pages.read_exact_at(&mut about, start * 8).is_err() {
            continue;
        }
        // Memory that was reserved and never touched is nobody's.
        let there: Vec<bool> = about.chunks(8).map(|entry| entry[7] & 0xc0 != 0).collect();
        let mut at = 0;
        for run in there.chunk_by(|one, other| one == other) {
            if run[0] {
                let mut here = vec![0; run.len() * PAGE as usize];
                if bytes.read_exact_at(&mut here, (start + at) * PAGE).is_ok() {
                    found.push(here);
                }
            }
            at += run.len() as u64;
        }
    }
    found
}

fn count(memory: &[Vec<u8>], text: &str) -> usize {
    let (first, rest) = text.as_bytes().split_first().unwrap();
    let of = |bytes: &Vec<u8>| {
        let (mut left, mut found) = (bytes.as_slice(), 0);
        while left.skip_until(*first).unwrap() > 0 {
            found += usize::from(left.starts_with(rest));
        }
        found
    };
    memory.iter().map(of).sum()
}

/// How often each secret is there, and what is sent of it where that is not the same.
fn left(server: &Server<'_>) -> Vec<(String, usize)> {
    let memory = memory(server.id());
    let texts = KINDS.into_iter().flat_map(|(kind, _)| [secret(kind), sent(kind)]);
    let mut texts: Vec<String> = texts.collect();
    texts.dedup();
    texts.into_iter().map(|text| (text.clone(), count(&memory, &text))).collect()
}

/// Raised before it starts, so that it is the server that lowers it.
#[test]
fn no_secret_is_in_the_environment_or_gets_into_a_dump() {
    let (port, _seen) = service();
    let project = set_up(port);
    let mut command = Command::new("sh");
    let haft = env!("CARGO_BIN_EXE_haft");
    let line = format!("ulimit -c $(ulimit -H -c) && exec '{haft}' serve --listen 127.0.0.1:0");
    command.current_dir(&project.folder).args(["-c", &line]).stderr(Stdio::null());
    let server = Server::started(&project, command).unwrap();
    call(&server, WARM);
    let all = Path::new("/proc").join(server.id().to_string());
    let limits = std::fs::read_to_string(all.join("limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    let children = std::fs::read_to_string(all.join(format!("task/{}/children", server.id())));
    let children = children.unwrap();
    for id in [server.id().to_string().as_str()].into_iter().chain(children.split_whitespace()) {
        let environ = std::fs::read(Path::new("/proc").join(id).join("environ")).unwrap();
        let environ = String::from_utf8_lossy(&environ);
        assert!(!environ.contains("canary"), "{id}: {environ}");
    }
    server.stop();
}

#[test]
fn no_call_leaves_a_secret_in_memory() {
    let (port, seen) = service();
    let project = set_up(port);
    let server = Server::start(&project);
    assert!(left(&server).iter().all(|(_, times)| *times == 0), "{:?}", left(&server));
    call(&server, WARM);
    let before = left(&server);
    call(&server, CALLS);
    let after = left(&server);
    let arrived: Vec<String> = seen.try_iter().collect();
    server.stop();
    for (kind, _) in KINDS {
        let with = arrived.iter().filter(|one| one.contains(&sent(kind))).count();
        assert_eq!(with, (CALLS + WARM) / KINDS.len(), "{kind}");
    }
    for ((text, before), (_, after)) in before.iter().zip(&after) {
        assert!(after <= before, "{text}: {before} and then {after}");
        assert!((1..=IN_TABLE).contains(after), "{text}: {after}");
    }
}
