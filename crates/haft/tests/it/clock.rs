//! A store whose time is far ahead of the machine's.

use rusqlite::Connection;
use serde_json::json;

use crate::project::Project;
use crate::server::Server;

const HOUR_MS: i64 = 60 * 60 * 1000;

#[test]
fn a_time_that_is_far_ahead_is_a_warning_wherever_the_trail_is_checked() {
    let project = Project::new();
    let called = project.run(&["call", "greet", "--args", "{\"text\": \"a\"}"]);
    assert_eq!(called.code, 0, "{called:?}");
    let fine = project.run(&["audit", "verify"]);
    assert!(fine.code == 0 && fine.err.is_empty(), "{fine:?}");
    assert!(project.json(&["audit", "verify", "--json"]).1["warning"].is_null());
    // As if the machine had been three years ahead for a while.
    let conn = Connection::open(project.folder.join(".haft").join("haft.db")).unwrap();
    conn.execute(
        "UPDATE clock SET now_ms = now_ms + ?1, held_ms = 0",
        [(3 * 365 * 24 + 1) * HOUR_MS],
    )
    .unwrap();
    drop(conn);
    let warned = project.run(&["audit", "verify"]);
    assert!(warned.code == 0 && warned.out.starts_with("intact"), "{warned:?}");
    let ahead = "the store's time is 1095 days ahead of this machine's clock";
    assert!(warned.err.contains(&format!("warning: {ahead}")), "{warned:?}");
    let (code, found) = project.json(&["audit", "verify", "--json"]);
    let told = found["warning"].as_str().unwrap_or_default();
    assert!(code == 0 && told.contains(ahead), "{found}");
    // What is written by that time says so, too, and nobody is kept from anything.
    let server = Server::start(&project);
    let call = json!({"tool": "order", "arguments": {"message": "a"}, "idempotency_key": "k"});
    let (status, said) = server.send("POST", "/v1/agents/default/calls", Some(call)).unwrap();
    assert_ne!(said["error"]["kind"], "store_unavailable", "{status} {said}");
    let (_, found) = server.send("POST", "/v1/audit/verify", Some(json!({}))).unwrap();
    let told = found["warning"].as_str().unwrap_or_default();
    assert!(found["broken"].is_null() && told.contains(ahead), "{found}");
    assert!(told.contains("entries of the trail are dated up to 1095 days later"), "{found}");
    server.stop();
}
