//! The drill of `docs/operations.md`, with real processes: a copy of a store in use, and a server that is
//! killed after it has done more.

use std::fs::{self, File};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::project::Project;
use crate::server::Server;
use crate::service::{service, shop};

fn order(server: &Server<'_>, key: &str) -> (u16, Value) {
    let body = json!({"tool": "buy", "arguments": {"item": key}, "idempotency_key": key});
    server.send("POST", "/v1/agents/default/calls", Some(body)).unwrap()
}

fn copy(project: &Project) {
    let conn = Connection::open(project.folder.join(".haft/haft.db")).unwrap();
    let copy = project.folder.join("copy.db");
    conn.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
}

/// The log of the lost database must not be applied to the copy.
fn put_back(project: &Project) {
    for name in ["haft.db", "haft.db-wal", "haft.db-shm"] {
        let _ = fs::remove_file(project.folder.join(".haft").join(name));
    }
    fs::copy(project.folder.join("copy.db"), project.folder.join(".haft/haft.db")).unwrap();
}

#[test]
fn a_store_that_is_put_back_from_a_copy_orders_nothing_until_somebody_has_looked() {
    let (port, seen) = service();
    let project = shop(port, "", "");
    let first = Server::start(&project);
    for key in ["before-1", "before-2"] {
        assert_eq!(order(&first, key).1["ok"], true);
    }
    copy(&project);
    assert_eq!(order(&first, "since").1["ok"], true);
    first.kill();
    put_back(&project);

    let said = project.run(&["audit", "verify"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("an older copy of the store was put back"), "{said:?}");
    // Twice: what is written meanwhile does not make it go away.
    for start in 1..=2 {
        let log = project.folder.join("log");
        let server = Server::logging(&project, File::create(&log).unwrap().into());
        for key in ["since", "before-1", "new"] {
            let (status, refused) = order(&server, key);
            assert_eq!(
                (status, &refused["error"]["kind"]),
                (503, &json!("store_unavailable")),
                "{refused}"
            );
            let help = refused["error"]["suggestion"].as_str().unwrap();
            assert!(help.contains("haft audit acknowledge"), "{refused}");
        }
        let (status, why) = server.send("GET", "/readyz", None).unwrap();
        assert_eq!(status, 503, "{why}");
        let told = fs::read_to_string(&log).unwrap();
        assert!(told.contains("an older copy of the store was put back"), "start {start}: {told}");
        server.kill();
    }
    let server = Server::start(&project);
    let note = "`since` is on the bill; the customer was told";
    let said = project.run(&["audit", "acknowledge", "--as", "user:mara", "--note", note]);
    assert_eq!(said.code, 0, "{said:?}");
    for (key, cached) in [("before-1", true), ("before-2", true), ("after", false)] {
        let (_, done) = order(&server, key);
        assert_eq!(
            (&done["ok"], &done["meta"]["cached"]),
            (&json!(true), &json!(cached)),
            "{done}"
        );
    }
    server.stop();
    let server = Server::start(&project);
    assert_eq!(order(&server, "and-on").1["ok"], true, "it stays so");
    server.stop();
    assert_eq!(seen.try_iter().count(), 5, "nothing was ordered twice");
}

#[test]
fn a_database_that_was_removed_is_not_one_that_never_was() {
    let project = Project::new();
    let none = project.run(&["audit", "verify"]);
    assert!(none.code == 3 && none.err.contains("make a call first"), "{none:?}");
    assert_eq!(project.run(&["call", "greet", "--args", r#"{"text": "a"}"#]).code, 0);
    fs::remove_file(project.folder.join(".haft/haft.db")).unwrap();
    let said = project.run(&["audit", "verify"]);
    let words = "not intact: the database was removed";
    assert!(said.code == 1 && said.out.contains(words) && said.err.is_empty(), "{said:?}");
    for left in ["head", "checkpoints", "key"] {
        let (code, told) = project.json(&["audit", "verify", "--json"]);
        assert_eq!((code, &told["intact"]), (1, &json!(false)), "{left}: {told}");
        fs::remove_file(project.folder.join(".haft").join(format!("haft.db.{left}"))).unwrap();
    }
    assert_eq!(project.run(&["audit", "verify"]).code, 3);
}
