//! The command and the server where the store can only be read.

use std::process::Command;

use serde_json::json;

use crate::project::Project;
use crate::server::Server;

const WHERE: &str = "HAFT_ONLY_READ";

/// Whether this process may mount something where nobody else sees it.
fn mounts() -> bool {
    Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success())
}

/// By its file system where that may be made one of its own, and else by the rights of whoever is not root.
fn bar(folder: &str, bars: bool) {
    let script = match (mounts(), bars) {
        (true, true) => "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"",
        (true, false) => "umount \"$0\"",
        (false, true) => "chmod -R a-w \"$0\"",
        (false, false) => "chmod -R u+w \"$0\"",
    };
    assert!(Command::new("bash").args(["-c", script, folder]).status().unwrap().success());
}

fn are_read(project: &Project) {
    for words in [
        &["calls"] as &[&str],
        &["calls", "--stats"],
        &["effects"],
        &["confirmations"],
        &["connections", "list"],
        &["audit", "verify"],
        &["why", "default"],
    ] {
        let said = project.run(words);
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
    }
    let (code, calls) = project.json(&["calls", "--json"]);
    assert_eq!((code, calls.as_array().map(Vec::len)), (0, Some(1)), "{calls}");
    let order = ["call", "order", "--args", r#"{"message": "a"}"#];
    let greet = ["call", "greet", "--args", r#"{"text": "a"}"#];
    let before = project.read("tools/order/schema.json");
    let unasked =
        before.replace("\"requiresConfirmation\": true", "\"requiresConfirmation\": false");
    assert_ne!(before, unasked);
    for (contract, call, stage) in [
        (&before, greet, None),
        (&before, order, Some("confirm")),
        (&unasked, order, Some("claim")),
    ] {
        project.write("tools/order/schema.json", contract);
        let (code, told) = project.json(&[&call[..], &["--dry-run", "--json"]].concat());
        let refusal = &told["data"]["refusal"];
        let kind = stage.map(|_| "store_unavailable");
        let said = (&told["data"]["wouldRun"], &refusal["kind"], &refusal["stage"]);
        let expected = (&json!(stage.is_none()), &json!(kind), &json!(stage));
        assert_eq!((code, said), (i32::from(stage.is_some()), expected), "{told}");
    }
    project.write("tools/order/schema.json", &before);
    let said = project.run(&["audit", "checkpoint"]);
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("make it and its folder writable, then restart"), "{said:?}");
}

fn are_served(project: &Project) {
    let server = Server::start(project);
    let (status, why) = server.send("GET", "/readyz", None).unwrap();
    let why = why.as_str().unwrap_or_default();
    assert!(status == 503 && why.starts_with("the store cannot be written: "), "{status}: {why}");
    for path in ["/v1/calls", "/v1/effects", "/v1/audit", "/v1/stats"] {
        let (status, said) = server.send("GET", path, None).unwrap();
        assert_eq!(status, 200, "{path}: {said}");
    }
    let call = |tool: &str, arguments| {
        let body = json!({"tool": tool, "arguments": arguments, "idempotency_key": "k"});
        server.send("POST", "/v1/agents/default/calls", Some(body)).unwrap()
    };
    let (status, said) = call("greet", json!({"text": "a"}));
    assert_eq!((status, &said["ok"]), (200, &json!(true)), "{said}");
    let (status, said) = call("order", json!({"message": "a"}));
    assert_eq!((status, &said["error"]["kind"]), (503, &json!("store_unavailable")), "{said}");
    server.stop();
}

/// Does nothing unless it was started where a folder can be made read-only.
#[test]
fn a_folder_is_made_read_only_under_a_project() {
    if std::env::var_os(WHERE).is_none() {
        return;
    }
    let project = Project::new();
    // What it makes once: a key for whoever administers it, and the registry that sessions keep.
    Server::start(&project).stop();
    assert_eq!(project.run(&["call", "greet", "--args", r#"{"text": "a"}"#]).code, 0);
    let store = project.folder.join(".haft");
    let store = store.to_str().unwrap();
    bar(store, true);
    are_read(&project);
    are_served(&project);
    bar(store, false);
    let said = project.run(&["call", "greet", "--args", r#"{"text": "a"}"#]);
    assert_eq!(said.code, 0, "it goes on: {said:?}");
    println!("stood it");
}

#[cfg(target_os = "linux")]
#[test]
fn reads_are_served_from_a_read_only_file_system_and_effects_are_refused() {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let mut command = match mounts() {
        true => Command::new("unshare"),
        // Rights are nothing to root.
        false if is_root => {
            assert!(std::env::var_os("CI").is_none(), "this must not be left out");
            println!("left out: root, who may not mount, can write everything");
            return;
        }
        false => Command::new("env"),
    };
    if mounts() {
        command.arg("-m");
    }
    let inner = "still::a_folder_is_made_read_only_under_a_project";
    let command = command.arg(std::env::current_exe().unwrap()).args(["--exact", inner]);
    let output = command.arg("--nocapture").env(WHERE, "here").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("stood it"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn what_may_not_be_read_is_said_to_be_a_matter_of_rights() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let project = Project::new();
    assert_eq!(project.run(&["call", "greet", "--args", r#"{"text": "a"}"#]).code, 0);
    let store = project.folder.join(".haft");
    let bar = |(name, mode): &(&str, u32)| {
        set_permissions(store.join(name), Permissions::from_mode(*mode)).unwrap();
    };
    let before = [("", 0o700), ("haft.db", 0o600), ("haft.db-wal", 0o600)];
    for (barred, words) in [
        (&[("haft.db", 0o000)][..], "haft.db` cannot be read: Permission denied"),
        (&[("haft.db", 0o400), ("haft.db-wal", 0)], "-wal` cannot be read: Permission denied"),
        (&[("", 0o000)], "cannot be read: Permission denied"),
    ] {
        barred.iter().for_each(bar);
        for command in [&["calls"][..], &["effects"], &["audit", "verify"]] {
            let said = project.run_without_power(command);
            assert!(said.code == 3 && said.err.contains(words), "{barred:?} {command:?}: {said:?}");
        }
        before.iter().for_each(bar);
    }
    assert_eq!(project.run_without_power(&["calls"]).code, 0);
}
